//! The YAML tree, with a span on every node.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{Error, Spanned};

use super::text::{indenting_tab, traces};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::source::{At, FileId, Span};

/// A YAML value with its location.
#[derive(Clone, Debug)]
pub struct Node {
    /// The span.
    pub span: Span,
    /// The value.
    pub content: Content,
}

/// A YAML value.
#[derive(Clone, Debug)]
pub enum Content {
    /// `null`, `~`, or an empty value.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Float(f64),
    /// An integer that is ambiguous or too large.
    Misread(Misread),
    /// Text.
    Text(String),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, in the order in which it was written.
    Map(Vec<(At<String>, Node)>),
}

/// The reason for which an integer is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misread {
    /// `010` is 8 in YAML 1.1 and 10 in YAML 1.2.
    LeadingZero {
        /// The value in YAML 1.1, if the digits are octal.
        octal: Option<i64>,
        /// The value in YAML 1.2.
        decimal: Option<i64>,
    },
    /// It does not fit into 64 bits.
    TooLarge,
}

impl Misread {
    /// Returns why `text`, which looks like an integer, is not accepted as one.
    fn of(text: &str) -> Option<Misread> {
        let digits = text.trim_start_matches(['-', '+']).replace('_', "");
        let in_radix = |prefix, radix| {
            let rest: Option<&str> = digits.strip_prefix(prefix);
            rest.is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_digit(radix)))
        };
        if in_radix("0x", 16) || in_radix("0o", 8) || in_radix("0b", 2) {
            return Some(Misread::TooLarge);
        }
        if !in_radix("", 10) {
            return None;
        }
        if digits.len() > 1 && digits.starts_with('0') {
            let sign = if text.starts_with('-') { -1 } else { 1 };
            let read = |radix| i64::from_str_radix(&digits, radix).ok().map(|number| sign * number);
            return Some(Misread::LeadingZero { octal: read(8), decimal: read(10) });
        }
        Some(Misread::TooLarge)
    }
}

impl Node {
    /// Returns the value of a key, if this is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|(name, _)| name.value == key).map(|(_, node)| node)
    }

    /// Returns the text of a key, if this is a mapping that has it.
    pub fn text_of(&self, key: &str) -> Option<&str> {
        self.get(key)?.text()
    }

    /// Returns the text of a key with its location, if this is a mapping that has it.
    pub fn name_of(&self, key: &str) -> Option<At<String>> {
        self.get(key)?.at()
    }

    /// Returns the elements of the sequence at a key; none if there is no such key.
    pub fn items_of(&self, key: &str) -> &[Node] {
        self.get(key).map_or(&[], Node::items)
    }

    /// Returns the entries of the mapping at a key; none if there is no such key.
    pub fn entries_of(&self, key: &str) -> &[(At<String>, Node)] {
        self.get(key).map_or(&[], Node::entries)
    }

    /// Returns the entries of a mapping; none for other values.
    pub fn entries(&self) -> &[(At<String>, Node)] {
        match &self.content {
            Content::Map(entries) => entries,
            _ => &[],
        }
    }

    /// Returns the elements of a sequence; none for other values.
    pub fn items(&self) -> &[Node] {
        match &self.content {
            Content::List(items) => items,
            _ => &[],
        }
    }

    /// Returns the text, if this is text.
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the text of a formula: that of the scalar.
    pub fn formula(&self) -> Option<Cow<'_, str>> {
        Some(match &self.content {
            Content::Text(text) => Cow::Borrowed(text),
            Content::Bool(truth) => Cow::Owned(truth.to_string()),
            Content::Integer(number) => Cow::Owned(number.to_string()),
            Content::Float(number) => Cow::Owned(format!("{number:?}")),
            Content::Null | Content::Misread(_) | Content::List(_) | Content::Map(_) => return None,
        })
    }

    /// Returns the number, if this is an integer.
    pub fn integer(&self) -> Option<i64> {
        match self.content {
            Content::Integer(number) => Some(number),
            _ => None,
        }
    }

    /// Returns the number, if this is one.
    pub fn number(&self) -> Option<f64> {
        match self.content {
            Content::Integer(number) => Some(number as f64),
            Content::Float(number) => Some(number),
            _ => None,
        }
    }

    /// Returns the boolean, if this is one.
    pub fn bool(&self) -> Option<bool> {
        match self.content {
            Content::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// Returns true if the value is empty or null.
    pub fn is_null(&self) -> bool {
        matches!(self.content, Content::Null)
    }

    /// Returns true if the file has a text for this value: `null`, and not nothing.
    pub fn is_written(&self) -> bool {
        self.span.end > self.span.start
    }

    /// Returns the text with its location.
    pub fn at(&self) -> Option<At<String>> {
        Some(At { value: self.text()?.to_owned(), span: self.span })
    }

    /// Returns the span from the first to the last byte of the value. The span of a block is only its first token.
    pub fn extent(&self) -> Span {
        let below = self.entries().iter().map(|(_, node)| node).chain(self.items());
        let end = below.map(|node| node.extent().end).fold(self.span.end, usize::max);
        Span { end, ..self.span }
    }

    /// Returns the kind of value, for messages.
    pub fn kind(&self) -> &'static str {
        match self.content {
            Content::Null => "nothing",
            Content::Bool(_) => "true or false",
            Content::Integer(_) => "an integer",
            Content::Float(_) => "a floating-point number",
            Content::Misread(Misread::LeadingZero { .. }) => "a number with a leading zero",
            Content::Misread(Misread::TooLarge) => "a number of more than 64 bits",
            Content::Text(_) => "text",
            Content::List(_) => "a list",
            Content::Map(_) => "a mapping",
        }
    }
}

/// Parses a file. A text that is not YAML has no tree. If a key is repeated, its first value is used.
pub fn parse(file: FileId, text: &str, diagnostics: &mut Diagnostics) -> Option<Node> {
    let traces = traces(file, text);
    if !traces.is_empty() {
        traces.into_iter().for_each(|trace| diagnostics.push(trace));
        return None;
    }
    // By default, the parser stops at the first duplicate key. With this option it returns all of them. YAML 1.2 has two
    // booleans: `n`, `no`, `on` and the like are text, such as the name of a parameter.
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        strict_booleans: true,
    };
    match serde_saphyr::from_str_with_options::<Raw>(text, options) {
        Ok(raw) => Some(raw.place(file, text, diagnostics)),
        Err(error) => {
            if let Some(tab) = indenting_tab(file, text) {
                diagnostics.push(tab);
                return None;
            }
            let diagnostic = Diagnostic::new(Code::Yaml, error_span(file, text, &error), reason(&error));
            let is_about = |words: &[&str]| words.iter().any(|words| diagnostic.message.contains(words));
            let (is_colon, is_open) =
                (is_about(&["mapping values"]), is_about(&["flow ", "quoted scalar", "':' indicator"]));
            diagnostics.push(match () {
                () if is_about(&["a key must be text"]) => {
                    diagnostic.help("a key such as `null` needs quotes")
                }
                () if is_colon => diagnostic.help("a value that contains `: ` or ` #` needs quotes"),
                () if is_open => diagnostic.label("a quote or a bracket before this is not closed"),
                () => diagnostic,
            });
            None
        }
    }
}

/// Returns the position at which the parser stopped.
fn error_span(file: FileId, text: &str, error: &Error) -> Span {
    let span = error.location().map(|location| location.span()).unwrap_or_default();
    // Errors of the scanner count characters; later errors also count bytes.
    let counted = || text.char_indices().nth(span.offset() as usize).map(|(byte, _)| byte);
    let start = span.byte_offset().map(|byte| byte as usize).or_else(counted).unwrap_or(text.len());
    // If the parser reached the end of the file, shows the last character.
    let start = match text.get(start..) {
        Some(rest) if !rest.trim().is_empty() => start,
        _ => text.trim_end().char_indices().last().map_or(0, |(byte, _)| byte),
    };
    let length = span.byte_offset().map_or(1, |_| span.len().max(1) as usize);
    let end = start + text[start..].chars().take(length).map(char::len_utf8).sum::<usize>();
    Span { file, start, end }
}

/// Describes the error without referring to the parser's API.
fn reason(error: &Error) -> String {
    match error.without_snippet() {
        Error::MultipleDocuments { .. } => {
            "a file must be one YAML document, but a second one begins here".into()
        }
        Error::NullIntoString { .. } => "a key must be text, but it is empty".into(),
        Error::Unexpected { expected, .. } if expected.contains("string") => "a key must be text".into(),
        error => {
            let reason = error.to_string();
            let reason = reason.split(" at line ").next().unwrap_or_default();
            format!("this is not YAML: {reason}")
        }
    }
}

/// A node as serde-saphyr returns it, without a file.
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
    fn place(self, file: FileId, text: &str, diagnostics: &mut Diagnostics) -> Node {
        let span = span(file, &self.0);
        if let Some(tag) = tag_before(text, span) {
            Diagnostic::new(Code::Yaml, tag, "a spec has no tags")
                .label("leave this out, or put the text in quotes")
                .add_to(diagnostics);
        }
        let misread = || Misread::of(text.get(span.start..span.end)?.trim_end());
        let content = match self.0.value {
            RawContent::Null => Content::Null,
            RawContent::Bool(value) => Content::Bool(value),
            RawContent::Integer(value) => Content::Integer(value),
            RawContent::Float(value) => misread().map_or(Content::Float(value), Content::Misread),
            RawContent::Text(value) => match misread() {
                // A hexadecimal number that is too large is returned as text.
                Some(Misread::TooLarge) => Content::Misread(Misread::TooLarge),
                _ => Content::Text(value),
            },
            RawContent::List(items) => {
                Content::List(items.into_iter().map(|item| item.place(file, text, diagnostics)).collect())
            }
            RawContent::Map(entries) => Content::Map(place_entries(entries, file, text, diagnostics)),
        };
        Node { span, content }
    }
}

/// Returns the place of the tag of a value: `!name`, before it or at its beginning.
fn tag_before(text: &str, value: Span) -> Option<Span> {
    let tag = |start: usize, word: &str| {
        (word.len() > 1 && word.starts_with('!')).then_some(Span { start, end: start + word.len(), ..value })
    };
    let word_at = |start: usize| text.get(start..)?.split(|c: char| c.is_whitespace() || c == ',').next();
    if let Some(found) = word_at(value.start).and_then(|word| tag(value.start, word)) {
        return Some(found);
    }
    let before = text.get(..value.start)?.trim_end();
    let start = before.rfind(|c: char| c.is_whitespace() || "[{,".contains(c)).map_or(0, |index| index + 1);
    // A comment above the value may end in such a word.
    let line = before.rfind('\n').map_or(0, |index| index + 1);
    if before[line..].contains('#') {
        return None;
    }
    tag(start, &before[start..])
}

fn place_entries(
    entries: Vec<(Spanned<String>, Raw)>,
    file: FileId,
    text: &str,
    diagnostics: &mut Diagnostics,
) -> Vec<(At<String>, Node)> {
    let mut placed: Vec<(At<String>, Node)> = Vec::new();
    for (key, value) in entries {
        let span = span(file, &key);
        let value = value.place(file, text, diagnostics);
        match placed.iter().find(|(known, _)| known.value == key.value) {
            None => placed.push((At { value: key.value, span }, value)),
            Some((first, _)) => {
                Diagnostic::new(Code::DuplicateName, span, format!("`{}` is repeated", key.value))
                    .label("repeated here")
                    .related(first.span, "first defined here")
                    .add_to(diagnostics)
            }
        }
    }
    placed
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

    fn visit_u64<E>(self, value: u64) -> Result<RawContent, E> {
        // A number that is too large is detected later by its text.
        Ok(i64::try_from(value).map_or(RawContent::Float(value as f64), RawContent::Integer))
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
