//! Comments of a header as documentation: plain, or with the commands of Doxygen.

/// A comment, by its parts.
#[derive(Debug, Default)]
pub struct Comment {
    text: String,
    params: Vec<(String, String)>,
    returns: Option<String>,
}

impl Comment {
    /// Reads a comment without its marks.
    pub fn of(comment: &str) -> Self {
        let mut parts: Vec<(String, String)> = vec![(String::new(), String::new())];
        for line in comment.lines() {
            let command =
                line.trim_start().strip_prefix(['@', '\\']).map(|rest| rest.split_once(char::is_whitespace));
            match command {
                Some(Some((command, rest))) => parts.push((command.to_owned(), rest.trim().to_owned())),
                Some(None) => parts.push((line.trim_start()[1..].to_owned(), String::new())),
                None => {
                    if let Some((_, text)) = parts.last_mut() {
                        text.push(if line.trim().is_empty() { '\n' } else { ' ' });
                        text.push_str(line.trim());
                    }
                }
            }
        }
        let mut read = Comment::default();
        for (command, text) in parts {
            let text = plain(&text);
            match command.split(['[', '(']).next().unwrap_or_default() {
                "" | "brief" | "details" | "note" | "short" => {
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

/// Returns a text without marks that have a meaning in the docs of a spec, and without placeholders.
fn plain(text: &str) -> String {
    let text = text.replace('`', "'").replace(['\t', '\r'], " ");
    let placeholders = ["TODO", "FIXME", "XXX", "TBD"];
    placeholders.iter().fold(text, |text, word| text.replace(word, "")).trim().to_owned()
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
    fn plain_comment_is_a_text() {
        let comment = Comment::of("To open a `file`.\nIt stays open.");
        assert_eq!(comment.summary(""), "Serves to open a 'file'");
        assert_eq!(comment.doc(""), "To open a 'file'. It stays open.");
        assert_eq!(Comment::of("").summary("None"), "None");
    }
}
