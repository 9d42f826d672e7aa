//! The YAML tree with a span on every node.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::{At, FileId, Span};
use crate::diagnostic::{Code, Diagnostic};

/// A YAML value and where it stood.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where it stood.
    pub span: Span,
    /// The value.
    pub content: Content,
}

/// What YAML can say.
#[derive(Clone, Debug)]
pub enum Content {
    /// `null`, `~`, or nothing at all.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A number with a point: in a spec always a release that lost its quotes.
    Float(f64),
    /// Text.
    Text(String),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, in the order in which it was written.
    Map(Vec<(At<String>, Node)>),
}

impl Node {
    /// The value of a key, if this is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|(name, _)| name.value == key).map(|(_, node)| node)
    }

    /// The entries of a mapping; none if it is something else.
    pub fn entries(&self) -> &[(At<String>, Node)] {
        match &self.content {
            Content::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The elements of a sequence; none if it is something else.
    pub fn items(&self) -> &[Node] {
        match &self.content {
            Content::List(items) => items,
            _ => &[],
        }
    }

    /// The text, if it is text.
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number, if it is a whole number.
    pub fn integer(&self) -> Option<i64> {
        match self.content {
            Content::Integer(number) => Some(number),
            _ => None,
        }
    }

    /// The truth value, if it is one.
    pub fn bool(&self) -> Option<bool> {
        match self.content {
            Content::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// Whether nothing was written.
    pub fn is_null(&self) -> bool {
        matches!(self.content, Content::Null)
    }

    /// Text with its place.
    pub fn at(&self) -> Option<At<String>> {
        Some(At { value: self.text()?.to_owned(), span: self.span })
    }

    /// What kind of value this is, for messages.
    pub fn kind(&self) -> &'static str {
        match self.content {
            Content::Null => "nothing",
            Content::Bool(_) => "true or false",
            Content::Integer(_) => "a whole number",
            Content::Float(_) => "a number with a point",
            Content::Text(_) => "text",
            Content::List(_) => "a list",
            Content::Map(_) => "a mapping",
        }
    }
}

/// Parses a file.
///
/// # Errors
/// A diagnostic with the place and the parser's reason when the text is no YAML.
pub fn parse(file: FileId, text: &str) -> Result<Node, Box<Diagnostic>> {
    serde_saphyr::from_str::<Raw>(text).map(|raw| raw.place(file)).map_err(|error| {
        let start = error
            .location()
            .and_then(|location| location.span().byte_offset())
            .map_or(0, |offset| (offset as usize).min(text.len()));
        let start = if text.is_char_boundary(start) { start } else { 0 };
        let end = text[start..].chars().next().map_or(start, |c| start + c.len_utf8());
        // Where the parser ran into the end of the file, the last character is what can be shown.
        let span = if start == text.len() {
            let last = text.trim_end().char_indices().last().map_or(0, |(index, _)| index);
            Span { file, start: last, end: text.trim_end().len() }
        } else {
            Span { file, start, end }
        };
        let reason = error.without_snippet().to_string();
        let reason = reason.split(" at line ").next().unwrap_or_default().to_owned();
        Box::new(Diagnostic::new(Code::Yaml, span, format!("this is not YAML: {reason}")))
    })
}

/// A node as serde-saphyr hands it over, not yet tied to a file.
struct Raw(Spanned<RawContent>);

enum RawContent {
    Null,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    List(Vec<Raw>),
    Map(Vec<(Spanned<String>, Raw)>),
}

fn span<T>(file: FileId, spanned: &Spanned<T>) -> Span {
    let range = spanned.referenced.span();
    let start = range.byte_offset().unwrap_or(0) as usize;
    Span { file, start, end: start + range.byte_len().unwrap_or(0) as usize }
}

impl Raw {
    fn place(self, file: FileId) -> Node {
        let span = span(file, &self.0);
        let content = match self.0.value {
            RawContent::Null => Content::Null,
            RawContent::Bool(value) => Content::Bool(value),
            RawContent::Integer(value) => Content::Integer(value),
            RawContent::Float(value) => Content::Float(value),
            RawContent::Text(value) => Content::Text(value),
            RawContent::List(items) => {
                Content::List(items.into_iter().map(|item| item.place(file)).collect())
            }
            RawContent::Map(entries) => Content::Map(
                entries
                    .into_iter()
                    .map(|(key, value)| {
                        let key_span = self::span(file, &key);
                        (At { value: key.value, span: key_span }, value.place(file))
                    })
                    .collect(),
            ),
        };
        Node { span, content }
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Spanned::<RawContent>::deserialize(deserializer).map(Raw)
    }
}

impl<'de> Deserialize<'de> for RawContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyVisitor)
    }
}

struct AnyVisitor;

impl<'de> Visitor<'de> for AnyVisitor {
    type Value = RawContent;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<RawContent, E> {
        Ok(RawContent::Null)
    }

    fn visit_none<E>(self) -> Result<RawContent, E> {
        Ok(RawContent::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<RawContent, E> {
        Ok(RawContent::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<RawContent, E> {
        Ok(RawContent::Integer(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<RawContent, E> {
        i64::try_from(value)
            .map(RawContent::Integer)
            .map_err(|_| E::custom(format!("{value} is too large a number")))
    }

    fn visit_f64<E>(self, value: f64) -> Result<RawContent, E> {
        Ok(RawContent::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<RawContent, E> {
        Ok(RawContent::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<RawContent, E> {
        Ok(RawContent::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<RawContent, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(RawContent::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<RawContent, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(RawContent::Map(entries))
    }
}
