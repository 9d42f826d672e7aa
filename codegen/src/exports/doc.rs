//! Documentation of exports: prose, and the tags of Doxygen behind it.
//!
//! Text after `[C]` in a paragraph or a tag is only for callers from C, and text after `[Python]` only for callers from Python:
//! the header has the former, and [`Doc`] the latter. The line of `[Python]` begins with it.

use crate::text::collapse;

/// The documentation of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Doc {
    /// Paragraphs, each on one line.
    pub paragraphs: Vec<String>,
    /// `@param`: name, direction and text.
    pub params: Vec<(String, Direction, String)>,
    /// `@retval`: the status, or `other`, and when.
    pub results: Vec<(String, String)>,
    /// `@return`: the returned value, unless it is a status.
    pub returned: String,
    /// `@par Threads`: who may call when.
    pub threads: String,
}

/// The direction of a parameter, by its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The caller.
    In,
    /// The function.
    Out,
    /// Both.
    InOut,
}

impl Doc {
    /// Reads the lines of a documentation comment.
    ///
    /// # Errors
    /// An error in a tag.
    pub fn parse(lines: &[String]) -> Result<Self, String> {
        let mut doc = Doc::default();
        for block in blocks(lines) {
            let Some(tagged) = block.strip_prefix('@') else {
                doc.paragraphs.push(block);
                continue;
            };
            let (tag, rest) = tagged.split_once(' ').unwrap_or((tagged, ""));
            let (word, text) = rest.split_once(' ').unwrap_or((rest, ""));
            match tag {
                "param[in]" => doc.params.push((word.to_owned(), Direction::In, text.to_owned())),
                "param[out]" => doc.params.push((word.to_owned(), Direction::Out, text.to_owned())),
                "param[in,out]" => doc.params.push((word.to_owned(), Direction::InOut, text.to_owned())),
                "retval" => doc.results.push((word.to_owned(), text.to_owned())),
                "return" => doc.returned = rest.to_owned(),
                "par" if word == "Threads" => doc.threads = text.to_owned(),
                _ => return Err(format!("the tag `@{tag}` has no meaning here")),
            }
        }
        Ok(doc)
    }

    /// Returns all paragraphs as one text.
    pub fn text(&self) -> String {
        self.paragraphs.join(" ")
    }
}

/// Splits a doc comment into paragraphs and tags, each on one line; leaves out text for users of Rust.
fn blocks(lines: &[String]) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut open = false;
    for line in lines.iter().take_while(|line| !line.trim_start().starts_with("# Safety")) {
        let line = line.trim();
        if line.is_empty() {
            open = false;
        } else if open && !line.starts_with('@') {
            let block = blocks.last_mut().into_iter();
            block.for_each(|block| *block = format!("{block} {line}"));
        } else {
            blocks.push(line.to_owned());
            open = true;
        }
    }
    blocks.iter().map(|block| for_python(block)).filter(|block| !block.is_empty()).collect()
}

/// Removes from a paragraph or a tag what is only for callers from C.
fn for_python(block: &str) -> String {
    let parts =
        block.split("[C]").enumerate().map(|(index, part)| match (index, part.split_once("[Python]")) {
            (0, None) => part.to_owned(),
            (0, Some((all, python))) => format!("{all} {python}"),
            (_, python) => python.map_or_else(String::new, |(_, python)| python.to_owned()),
        });
    collapse(&parts.collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn prose_and_tags_are_told_apart() {
        let doc = Doc::parse(&lines(
            "Opens it.\n\nEach\nonce.\n\n@param[in] type The type; null:\n    the first.\n@param[out] device Gets it.\n\
             @retval TENON_SUCCESS On success.\n@par Threads\n    Any.\n\n# Safety\nNone.",
        ));
        let expected = Doc {
            paragraphs: vec!["Opens it.".to_owned(), "Each once.".to_owned()],
            params: vec![
                ("type".to_owned(), Direction::In, "The type; null: the first.".to_owned()),
                ("device".to_owned(), Direction::Out, "Gets it.".to_owned()),
            ],
            results: vec![("TENON_SUCCESS".to_owned(), "On success.".to_owned())],
            returned: String::new(),
            threads: "Any.".to_owned(),
        };
        assert_eq!(doc, Ok(expected));
    }

    #[test]
    fn parts_for_callers_from_c_are_left_out() {
        assert_eq!(
            for_python("Begins. [C] Set `size`.\n[Python] Left out: usual."),
            "Begins. Left out: usual."
        );
        assert_eq!(for_python("@retval A [C] `x` is null."), "@retval A");
        assert_eq!(for_python("[C] With `x` null."), "");
    }

    #[test]
    fn a_tag_that_is_not_known_is_a_mistake() {
        assert!(Doc::parse(&lines("@retvals X y")).is_err());
    }
}
