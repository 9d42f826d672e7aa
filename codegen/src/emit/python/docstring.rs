//! Docstrings: a summary, paragraphs, and sections in Google style.

use super::layout::PROSE;
use crate::text::{map_code_spans, sentence, sentences, wrap};

/// A docstring that is being built.
#[derive(Clone, Debug, Default)]
pub struct Docstring {
    /// A line of code at the start.
    signature: String,
    summary: String,
    blocks: Vec<Block>,
}

#[derive(Clone, Debug)]
enum Block {
    Paragraph(String),
    /// A title and its content: names with texts, or only a text.
    Section(&'static str, Vec<(String, String)>),
}

impl Docstring {
    /// Makes a docstring from a text: its first sentence is the summary, the rest a paragraph.
    pub fn new(text: &str) -> Self {
        let sentences = sentences(&sentence(text));
        let (summary, rest) =
            sentences.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
        let mut docstring = Docstring { summary: summary.to_owned(), ..Docstring::default() };
        docstring.paragraph(&rest.join(" "));
        docstring
    }

    /// Makes a docstring from paragraphs separated by empty lines; the first sentence is the summary.
    pub fn of_text(text: &str) -> Self {
        let (first, rest) = text.trim().split_once("\n\n").unwrap_or((text, ""));
        let mut docstring = Docstring::new(first);
        docstring.paragraphs(rest);
        docstring
    }

    /// Makes a docstring of one paragraph, for a field.
    pub fn flowing(text: &str) -> Self {
        Docstring { summary: sentence(text), ..Docstring::default() }
    }

    /// Adds a signature at the start, for functions whose parameters have no names in Python.
    pub fn signed(self, signature: String) -> Self {
        Docstring { signature, ..self }
    }

    /// Adds a paragraph unless the text is empty.
    pub fn paragraph(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.blocks.push(Block::Paragraph(sentence(text)));
        }
    }

    /// Adds paragraphs that are separated by empty lines.
    pub fn paragraphs(&mut self, text: &str) {
        text.split("\n\n").for_each(|paragraph| self.paragraph(paragraph));
    }

    /// Adds a section of names with their texts, unless there are none.
    pub fn entries(&mut self, title: &'static str, entries: Vec<(String, String)>) {
        if !entries.is_empty() {
            self.blocks.push(Block::Section(title, entries));
        }
    }

    /// Adds a section with one text, unless the text is empty.
    pub fn section(&mut self, title: &'static str, text: &str) {
        if !text.trim().is_empty() {
            self.blocks.push(Block::Section(title, vec![(String::new(), sentence(text))]));
        }
    }

    /// Returns the text with its quotes, indented by `margin` columns.
    pub fn text(&self, margin: usize) -> String {
        self.lines(margin).join("\n")
    }

    fn lines(&self, margin: usize) -> Vec<String> {
        let width = PROSE - margin;
        let mut lines = wrap(&self.summary, width);
        if !self.signature.is_empty() {
            let signature = wrap(&self.signature, width - 4).into_iter().enumerate();
            let indented =
                signature.map(|(index, line)| if index == 0 { line } else { format!("    {line}") });
            lines.splice(0..0, indented.chain([String::new()]));
        }
        for block in &self.blocks {
            lines.push(String::new());
            match block {
                Block::Paragraph(text) => lines.extend(wrap(text, width)),
                Block::Section(title, entries) => {
                    lines.push(format!("{title}:"));
                    lines.extend(entries.iter().flat_map(|(name, text)| entry(name, text, width)));
                }
            }
        }
        quoted(&lines, margin)
    }
}

fn entry(name: &str, text: &str, width: usize) -> Vec<String> {
    let text = if name.is_empty() { text.to_owned() } else { format!("{name}: {text}") };
    let mut lines = Vec::new();
    let (first, further) = ("    ", if name.is_empty() { "    " } else { "        " });
    for line in wrap(&text, width - further.len()) {
        lines.push(format!("{}{line}", if lines.is_empty() { first } else { further }));
    }
    lines
}

fn quoted(lines: &[String], margin: usize) -> Vec<String> {
    let indent = " ".repeat(margin);
    let escape = |line: &String| line.replace('\\', "\\\\").replace("\"\"\"", "\\\"\\\"\\\"");
    let mut lines: Vec<String> = lines
        .iter()
        .map(escape)
        .map(|line| if line.is_empty() { line } else { format!("{indent}{line}") })
        .collect();
    if let Some(first) = lines.first_mut() {
        first.insert_str(margin, "\"\"\"");
        // The last line must also fit the closing quotes, which must not follow a quote of the text.
        let fits = first.len() + 3 <= PROSE && !first.ends_with('"');
        match lines.as_mut_slice() {
            [only] if fits => only.push_str("\"\"\""),
            _ => lines.push(format!("{indent}\"\"\"")),
        }
    }
    lines
}

/// Converts Markdown code spans to those of docstrings, with two backticks. `rename` may replace names.
pub fn spans(text: &str, rename: impl Fn(&str) -> Option<String>) -> String {
    map_code_spans(text, |span| Some(format!("``{}``", rename(span).unwrap_or_else(|| span.to_owned()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_one_sentence_is_one_line() {
        assert_eq!(Docstring::new("waits").lines(4), ["    \"\"\"Waits.\"\"\""]);
    }

    #[test]
    fn text_has_summary_paragraph_and_sections() {
        let mut docstring = Docstring::new("Waits. It takes long.");
        docstring.entries("Args", vec![("device".to_owned(), "The device.".to_owned())]);
        docstring.section("Returns", "the time");
        let lines = docstring.lines(0);
        assert_eq!(
            lines,
            [
                "\"\"\"Waits.",
                "",
                "It takes long.",
                "",
                "Args:",
                "    device: The device.",
                "",
                "Returns:",
                "    The time.",
                "\"\"\""
            ]
        );
    }

    #[test]
    fn text_escapes_quotes_and_backslashes() {
        let lines = Docstring::new("A \\ and \"\"\" in it.").lines(0);
        assert_eq!(lines, ["\"\"\"A \\\\ and \\\"\\\"\\\" in it.\"\"\""]);
    }

    #[test]
    fn spans_doubles_backticks() {
        assert_eq!(spans("`a` of `b`", |span| (span == "b").then(|| "c".to_owned())), "``a`` of ``c``");
    }
}
