//! From the bytes of a file to text, and traces in it that are not part of any spec.

use std::io;
use std::string::FromUtf8Error;

use super::{FileId, Span};
use crate::diagnostic::{Code, Diagnostic};

/// The text of a file, and how its bytes had to be read.
#[derive(Debug, PartialEq, Eq)]
pub struct Decoded {
    /// Without a byte order mark.
    pub text: String,
    /// The encoding of the bytes, if they were not UTF-8.
    pub encoding: Encoding,
}

/// An encoding of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// The one that specs are written in.
    Utf8,
    /// Two bytes for most characters.
    Utf16,
    /// One byte for each character, at least for some.
    Latin1 {
        /// The position of the first character that is not UTF-8.
        first: usize,
        /// The number of them.
        count: usize,
    },
}

/// Decodes the result of [`super::Files::read`] in any known encoding.
///
/// # Errors
/// Errors of `read`, except about the encoding.
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

/// The text, if the bytes begin as UTF-16 does: with a byte order mark, or with two characters of ASCII.
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
    /// The encoding error.
    pub fn diagnostic(&self, file: FileId) -> Option<Diagnostic> {
        let place = |start: usize| {
            let length = self.text[start..].chars().next().map_or(0, char::len_utf8);
            Span { file, start, end: start + length }
        };
        match self.encoding {
            Encoding::Utf8 => None,
            Encoding::Utf16 => Some(
                Diagnostic::new(Code::NotUtf8, place(0), "this file is UTF-16, and a spec is UTF-8")
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

/// Traces of a merge, and characters that cannot be seen. A file with any of them is not read further.
pub fn traces(file: FileId, text: &str) -> Vec<Diagnostic> {
    let mut found = merge_markers(file, text);
    found.extend(invisible(file, text));
    found
}

/// One diagnostic for each region that a merge left, with all its markers.
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
                    Diagnostic::new(Code::MergeMarker, span, "a merge was left unfinished")
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
        ">>>>>>>" if is_marker => Some("and ends here"),
        _ => None,
    }
}

/// One diagnostic for each such character, at the first place where it stands.
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
            1 => "it cannot be seen".to_owned(),
            _ => format!("it cannot be seen; the first of {count} in this file"),
        };
        let help =
            format!("remove it, or write `\\u{:04x}` in double quotes where it is meant", u32::from(c));
        Some(Diagnostic::new(Code::Invisible, span, message).label(label).help(help))
    };
    seen.into_iter().filter_map(diagnostic).collect()
}

/// The name of a character that is invisible or looks like another one.
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

/// The first tab that indents a line, which YAML does not allow.
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
