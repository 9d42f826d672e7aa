//! Prose whose parts are for different readers.

use std::fmt;
use std::ops::Deref;

/// The readers of a part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All readers.
    All,
    /// For a parameter that is read and written: describes the value that is passed.
    In,
    /// For such a parameter: describes the value that is written.
    Out,
    /// Callers in C, who pass pointers, and implementers.
    C,
    /// Callers in Python, who receive return values instead of passing pointers.
    Python,
    /// Implementers. Describes the host that calls them.
    Host,
}

impl Part {
    /// The parts and their keys, in reading order.
    pub const KEYS: [(Part, &'static str); 6] = [
        (Part::All, "all"),
        (Part::In, "in"),
        (Part::Out, "out"),
        (Part::C, "c"),
        (Part::Python, "python"),
        (Part::Host, "host"),
    ];
}

/// A text with its parts. As a `str` it is the text for implementers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prose {
    parts: Vec<(Part, String)>,
    /// The separator of two parts.
    gap: &'static str,
    implementers: String,
}

impl Prose {
    /// Makes a text from its parts; `paragraphs` makes each part a paragraph.
    pub fn new(parts: Vec<(Part, String)>, paragraphs: bool) -> Self {
        let gap = if paragraphs { "\n\n" } else { " " };
        let mut prose = Prose { parts, gap, implementers: String::new() };
        prose.implementers = prose.join(&[Part::All, Part::In, Part::Out, Part::C, Part::Host]);
        prose
    }

    /// Returns the parts that exist.
    pub fn parts(&self) -> impl Iterator<Item = (Part, &str)> {
        self.parts.iter().map(|(part, text)| (*part, text.as_str()))
    }

    /// Returns the text for callers in C.
    pub fn callers(&self) -> String {
        self.join(&[Part::All, Part::In, Part::Out, Part::C])
    }

    /// Returns the text for callers in Python about a value that they pass.
    pub fn passed(&self) -> String {
        self.bare(&[Part::All, Part::In, Part::Python])
    }

    /// Returns the text for callers in Python about a value that they receive.
    pub fn returned(&self) -> String {
        self.bare(&[Part::All, Part::Out, Part::Python])
    }

    fn bare(&self, readers: &[Part]) -> String {
        let parts = self.parts().filter(|(part, _)| readers.contains(part));
        self.joined(parts.map(|(_, text)| text.to_owned()))
    }

    fn join(&self, readers: &[Part]) -> String {
        let parts = self.parts().filter(|(part, _)| readers.contains(part));
        self.joined(parts.map(|(part, text)| match part {
            Part::In => format!("In: {}.", text.trim_end_matches('.')),
            Part::Out => format!("Out: {}.", text.trim_end_matches('.')),
            _ => text.to_owned(),
        }))
    }

    /// Joins parts: clauses with semicolons, sentences with the gap.
    fn joined(&self, parts: impl Iterator<Item = String>) -> String {
        parts.fold(String::new(), |text, part| match text.as_str() {
            "" => part,
            _ if text.ends_with(['.', '!', '?', ':']) || self.gap != " " => text + self.gap + &part,
            _ => text + "; " + &part,
        })
    }
}

impl Deref for Prose {
    type Target = str;

    fn deref(&self) -> &str {
        &self.implementers
    }
}

impl fmt::Display for Prose {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_selected_by_reader() {
        let part = |part, text: &str| (part, text.to_owned());
        let prose = Prose::new(
            vec![
                part(Part::All, "Makes it."),
                part(Part::Python, "A new one."),
                part(Part::Host, "The host asks."),
            ],
            false,
        );
        assert_eq!(&*prose, "Makes it. The host asks.");
        assert_eq!(prose.callers(), "Makes it.");
        assert_eq!(prose.passed(), "Makes it. A new one.");
    }

    #[test]
    fn clauses_are_separated_by_semicolons() {
        let parts = vec![(Part::All, "it failed".to_owned()), (Part::Host, "the host ends".to_owned())];
        assert_eq!(&*Prose::new(parts, false), "it failed; the host ends");
    }

    #[test]
    fn in_and_out_values_have_separate_texts() {
        let parts = vec![(Part::In, "the new one".to_owned()), (Part::Out, "the old one".to_owned())];
        let prose = Prose::new(parts, false);
        assert_eq!(prose.callers(), "In: the new one. Out: the old one.");
        assert_eq!((prose.passed(), prose.returned()), ("the new one".to_owned(), "the old one".to_owned()));
    }
}
