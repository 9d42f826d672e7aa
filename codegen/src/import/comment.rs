//! Comments of a header as documentation: plain, or with the commands of Doxygen.

/// A comment, by its parts.
#[derive(Debug, Default)]
pub struct Comment {
    text: String,
    params: Vec<(String, String)>,
    returns: Option<String>,
}

/// Commands of Doxygen that end with their line.
const OF_ONE_LINE: &[&str] = &["addtogroup", "def", "defgroup", "file", "ingroup", "name", "sa", "see"];
/// Commands within a line, about the word after them.
const INLINE: &[&str] = &["a", "b", "c", "e", "em", "p", "ref"];

fn push_line(parts: &mut [(String, String)], line: &str) {
    if let Some((_, text)) = parts.last_mut() {
        text.push(if line.trim().is_empty() { '\n' } else { ' ' });
        text.push_str(line.trim());
    }
}

impl Comment {
    /// Reads a comment without its marks.
    pub fn of(comment: &str) -> Self {
        let mut parts: Vec<(String, String)> = vec![(String::new(), String::new())];
        for line in comment.lines() {
            let command =
                line.trim_start().strip_prefix(['@', '\\']).map(|rest| rest.split_once(char::is_whitespace));
            match command {
                // Such a word in a text is no command of a line.
                Some(Some((command, _))) if INLINE.contains(&command) => push_line(&mut parts, line),
                Some(Some((command, rest))) => {
                    parts.push((command.to_owned(), rest.trim().to_owned()));
                    if OF_ONE_LINE.contains(&command) {
                        parts.push((String::new(), String::new()));
                    }
                }
                Some(None) => parts.push((line.trim_start()[1..].to_owned(), String::new())),
                None => push_line(&mut parts, line),
            }
        }
        let mut read = Comment::default();
        for (command, text) in parts {
            let text = plain(&text);
            match command.split(['[', '(']).next().unwrap_or_default() {
                "" | "brief" | "details" | "endcode" | "note" | "short" => {
                    read.text = format!("{} {text}", read.text).trim().to_owned();
                }
                "param" => {
                    if let Some((name, text)) = text.split_once(char::is_whitespace) {
                        read.params.push((name.to_owned(), text.trim().to_owned()));
                    }
                }
                "return" | "returns" | "result" => read.returns = Some(text),
                _ => {}
            }
        }
        read
    }

    /// Returns the first sentence, on one line; `instead` without a comment.
    pub fn summary(&self, instead: &str) -> String {
        let line = self.text.split('\n').next().unwrap_or_default();
        let sentence = line.split(". ").next().unwrap_or_default().trim();
        let words = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
        match words.as_str() {
            "" => instead.to_owned(),
            // An infinitive says what it is for.
            words if words.starts_with("To ") => format!("Serves to {}", &words[3..]),
            words => words.to_owned(),
        }
    }

    /// Returns the whole text; `instead` without a comment.
    pub fn doc(&self, instead: &str) -> String {
        if self.text.is_empty() { instead.to_owned() } else { self.text.clone() }
    }

    /// Returns the text about a parameter.
    pub fn param(&self, name: &str) -> Option<&str> {
        let found = self.params.iter().find(|(known, text)| known == name && !text.is_empty());
        found.map(|(_, text)| text.as_str())
    }

    /// Returns the text about the result.
    pub fn returns(&self) -> Option<&str> {
        self.returns.as_deref().filter(|text| !text.is_empty())
    }
}

/// Returns a text without marks that have a meaning in the docs of a spec, without commands, and without placeholders.
fn plain(text: &str) -> String {
    let text = text.replace('`', "'").replace(['\t', '\r'], " ");
    let placeholders = ["TODO", "FIXME", "XXX", "TBD"];
    let text = placeholders.iter().fold(text, |text, word| text.replace(word, ""));
    text.split('\n').map(without_commands).collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// Writes `\ref name` as the name, and `\ref name "words"` as the words.
fn without_commands(line: &str) -> String {
    let is_command = |word: &str| {
        word.trim_start_matches('(')
            .strip_prefix(['\\', '@'])
            .is_some_and(|command| INLINE.contains(&command))
    };
    let words: Vec<&str> = line.split(' ').collect();
    let (mut kept, mut index) = (Vec::new(), 0);
    while index < words.len() {
        let word = words[index];
        index += 1;
        if !is_command(word) {
            kept.push(word.to_owned());
            continue;
        }
        let opening = if word.starts_with('(') { "(" } else { "" };
        let title: String = words[index..].iter().skip(1).copied().collect::<Vec<_>>().join(" ");
        if let Some((title, _)) = title.strip_prefix('"').and_then(|title| title.split_once('"')) {
            // The name, and the words of the title, of which the last one may end with a comma.
            index += 1;
            let count = title.split(' ').count();
            let last =
                words.get(index + count - 1).and_then(|word| word.rsplit('"').next()).unwrap_or_default();
            index += count;
            kept.push(format!("{opening}{title}{last}"));
        } else if let Some(name) = words.get(index) {
            index += 1;
            kept.push(format!("{opening}{name}"));
        }
    }
    kept.join(" ")
}

#[cfg(test)]
mod tests {
    use super::Comment;

    #[test]
    fn commands_of_doxygen_are_parts() {
        let comment = Comment::of("@brief Opens a file. Now.\n@param path where\n@return a number\nof it");
        assert_eq!(comment.summary(""), "Opens a file");
        assert_eq!(comment.param("path"), Some("where"));
        assert_eq!(comment.returns(), Some("a number of it"));
    }

    #[test]
    fn commands_within_a_text_are_left_out() {
        let comment =
            Comment::of("\\ingroup kits\nOpens \\ref kit \"a kit\", and\n\\a all of it.\n\\see kit_close");
        assert_eq!(comment.doc(""), "Opens a kit, and all of it.");
        let comment = Comment::of("Text.\n\\code\nkit_open();\n\\endcode\nMore, see (\\ref kit).");
        assert_eq!(comment.doc(""), "Text. More, see (kit).");
    }

    #[test]
    fn plain_comment_is_a_text() {
        let comment = Comment::of("To open a `file`.\nIt stays open.");
        assert_eq!(comment.summary(""), "Serves to open a 'file'");
        assert_eq!(comment.doc(""), "To open a 'file'. It stays open.");
        assert_eq!(Comment::of("").summary("None"), "None");
    }
}
