//! Decodes files, and detects merge markers and invisible characters in them.

use std::io;
use std::string::FromUtf8Error;

use crate::diagnostic::{Code, Diagnostic};
use crate::source::{FileId, Span};

/// The text of a file, and its encoding.
#[derive(Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The text without a byte order mark.
    pub text: String,
    /// The encoding of the bytes.
    pub encoding: Encoding,
}

/// An encoding of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// The encoding of specs.
    Utf8,
    /// Two bytes for most characters.
    Utf16,
    /// One byte for each character, for at least some characters.
    Latin1 {
        /// The position of the first character that is not UTF-8.
        first: usize,
        /// The number of such characters.
        count: usize,
    },
}

/// Decodes the result of [`Files::read`](crate::source::Files::read) in any known encoding.
///
/// # Errors
/// Errors of `read` that do not concern the encoding.
pub fn decode(read: io::Result<String>) -> io::Result<Decoded> {
    match read {
        Ok(text) => Ok(match utf16(text.as_bytes()) {
            Some(text) => Decoded { text, encoding: Encoding::Utf16 },
            None => Decoded { text: without_mark(&text).to_owned(), encoding: Encoding::Utf8 },
        }),
        Err(error) => match error.get_ref().and_then(|inner| inner.downcast_ref::<FromUtf8Error>()) {
            Some(bytes) => Ok(from_bytes(bytes.as_bytes())),
            None => Err(error),
        },
    }
}

fn from_bytes(bytes: &[u8]) -> Decoded {
    if let Some(text) = utf16(bytes) {
        return Decoded { text, encoding: Encoding::Utf16 };
    }
    let mut text = String::new();
    let (mut first, mut count) = (None, 0);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            first.get_or_insert(text.len());
            count += 1;
            text.push(char::from(*byte));
        }
    }
    Decoded { encoding: first.map_or(Encoding::Utf8, |first| Encoding::Latin1 { first, count }), text }
}

/// Returns the text, if the bytes begin like UTF-16: with a byte order mark, or with two ASCII characters.
fn utf16(bytes: &[u8]) -> Option<String> {
    let unit: fn([u8; 2]) -> u16 = match bytes {
        [0xff, 0xfe, ..] | [1..=255, 0, 1..=255, 0, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] | [0, 1..=255, 0, 1..=255, ..] => u16::from_be_bytes,
        _ => return None,
    };
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    let text: String = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    Some(without_mark(&text).to_owned())
}

fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

impl Decoded {
    /// Returns the diagnostic about the encoding, if it is not UTF-8.
    pub fn diagnostic(&self, file: FileId) -> Option<Diagnostic> {
        let place = |start: usize| {
            let length = self.text[start..].chars().next().map_or(0, char::len_utf8);
            Span { file, start, end: start + length }
        };
        match self.encoding {
            Encoding::Utf8 => None,
            Encoding::Utf16 => Some(
                Diagnostic::new(Code::NotUtf8, place(0), "this file is UTF-16, but a spec must be UTF-8")
                    .label("two bytes for each character")
                    .help("save it as UTF-8, for example with `iconv -f UTF-16 -t UTF-8`"),
            ),
            Encoding::Latin1 { first, count } => {
                let label = match count {
                    1 => "a single byte, as in Latin-1".to_owned(),
                    _ => format!("a single byte, as in Latin-1; the first of {count} in this file"),
                };
                let message = "this character is not UTF-8";
                Some(
                    Diagnostic::new(Code::NotUtf8, place(first), message)
                        .label(label)
                        .help("save the file as UTF-8, for example with `iconv -f LATIN1 -t UTF-8`"),
                )
            }
        }
    }
}

/// Detects merge markers and invisible characters. A file that contains any is not read further.
pub fn traces(file: FileId, text: &str) -> Vec<Diagnostic> {
    let mut found = merge_markers(file, text);
    found.extend(invisible(file, text));
    found
}

/// Returns one diagnostic for each unfinished merge, with all of its markers.
fn merge_markers(file: FileId, text: &str) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let span = Span { file, start, end: start + line.trim_end().len() };
        start += line.len();
        let Some(label) = merge_marker(line.trim_end()) else { continue };
        match found.pop() {
            Some(open) if !line.starts_with('<') => found.push(open.related(span, label)),
            before => {
                found.extend(before);
                found.push(
                    Diagnostic::new(Code::MergeMarker, span, "this merge is unfinished")
                        .label(label)
                        .help("keep one of the two sides, and remove the lines with the markers"),
                );
            }
        }
    }
    found
}

fn merge_marker(line: &str) -> Option<&'static str> {
    let (marker, rest) = line.split_at_checked(7)?;
    let is_marker = rest.is_empty() || rest.starts_with(' ') && marker != "=======";
    match marker {
        "<<<<<<<" if is_marker => Some("one side begins here"),
        "|||||||" if is_marker => Some("the common ancestor begins here"),
        "=======" if is_marker => Some("the other side begins here"),
        ">>>>>>>" if is_marker => Some("it ends here"),
        _ => None,
    }
}

/// Returns one diagnostic for each invisible character, at its first position.
fn invisible(file: FileId, text: &str) -> Vec<Diagnostic> {
    let mut seen: Vec<(char, Span, usize)> = Vec::new();
    for (start, c) in text.char_indices().filter(|(_, c)| name(*c).is_some()) {
        match seen.iter_mut().find(|(known, ..)| *known == c) {
            Some((_, _, count)) => *count += 1,
            None => seen.push((c, Span { file, start, end: start + c.len_utf8() }, 1)),
        }
    }
    let diagnostic = |(c, span, count): (char, Span, usize)| {
        let name = name(c)?;
        let message = format!("there is {name} (U+{:04X}) here", u32::from(c));
        let label = match count {
            1 => "it is invisible".to_owned(),
            _ => format!("it is invisible; the first of {count} in this file"),
        };
        let help =
            format!("remove it, or write `\\u{:04x}` in double quotes where it is meant", u32::from(c));
        Some(Diagnostic::new(Code::Invisible, span, message).label(label).help(help))
    };
    seen.into_iter().filter_map(diagnostic).collect()
}

/// Returns the name of a character that is invisible or looks like another one.
fn name(c: char) -> Option<&'static str> {
    match c {
        '\t' | '\n' | '\r' | ' '..='~' => None,
        '\u{a0}' | '\u{2007}' | '\u{202f}' => Some("a no-break space"),
        '\u{ad}' => Some("a soft hyphen"),
        '\u{200b}' => Some("a zero-width space"),
        '\u{200c}' | '\u{200d}' => Some("a zero-width joiner"),
        '\u{2060}' => Some("a word joiner"),
        '\u{feff}' => Some("a byte order mark within the text"),
        '\u{2028}' | '\u{2029}' => Some("a line separator"),
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            Some("a bidirectional control")
        }
        c if c.is_control() => Some("a control character"),
        _ => None,
    }
}

/// Returns a diagnostic for the first line that is indented with a tab, which YAML does not allow.
pub fn indenting_tab(file: FileId, text: &str) -> Option<Diagnostic> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        if let Some(tab) = line[..indent].find('\t')
            && !line.trim().is_empty()
        {
            let span = Span { file, start: start + tab, end: start + tab + 1 };
            let diagnostic = Diagnostic::new(Code::Yaml, span, "a tab indents this line");
            return Some(diagnostic.label("YAML is indented with spaces"));
        }
        start += line.len();
    }
    None
}
