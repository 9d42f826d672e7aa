//! Names files that carry the name of a library and are something else.

use std::io::Read as _;
use std::path::Path;

/// Bytes of the start of a file that are looked at.
const HEAD: u64 = 512;

/// Starts of files, and what such a file is. Letters are compared without their case.
const STARTS: [(&[u8], &str); 16] = [
    (
        b"version https://git-lfs.github.com/spec/",
        "a pointer of git-LFS, and not the library itself: fetch it with `git lfs pull`",
    ),
    (b"<!doctype html", PAGE),
    (b"<html", PAGE),
    (b"<?xml", "a page in XML, and not the library itself: a download may have failed"),
    (b"!<arch>\n", "a static archive, like `.a` files: link its objects with `-shared`"),
    (b"!<thin>\n", "a static archive, like `.a` files: link its objects with `-shared`"),
    (b"PK\x03\x04", "a zip archive or a wheel: install it with pip, or unpack the library"),
    (b"\x1f\x8b", "compressed with gzip: unpack it"),
    (b"\xfd7zXZ", "compressed with xz: unpack it"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd: unpack it"),
    (b"BZh", "compressed with bzip2: unpack it"),
    (b"INPUT(", "a script of the linker: name the library that it mentions"),
    (b"GROUP(", "a script of the linker: name the library that it mentions"),
    (b"/* GNU ld script", "a script of the linker: name the library that it mentions"),
    (b"MZ", "a program or library for Windows: take the plugin's build for Linux"),
    (b"\xcf\xfa\xed\xfe", "a library for macOS: take the plugin's build for Linux"),
];

const PAGE: &str = "a web page, and not the library itself: a download may have failed";

/// The offset and the values of the type in an ELF header.
const TYPE: usize = 16;
const RELOCATABLE: u8 = 1;
const CORE: u8 = 4;

/// Describes a file that is no library, as the end of a sentence with advice. `None` for a library, a file that cannot be
/// read, and one of an unknown kind.
pub fn foreign_kind(path: &Path) -> Option<&'static str> {
    let mut head = Vec::new();
    tenon_files::open(path).ok()?.take(HEAD).read_to_end(&mut head).ok()?;
    kind_of(&head)
}

fn kind_of(head: &[u8]) -> Option<&'static str> {
    if head.is_empty() {
        return Some("empty: a download or a build was interrupted");
    }
    if head.starts_with(b"\x7fELF") {
        // The type is in the byte order of the file; its values are small.
        let kind = head.get(TYPE..TYPE + 2)?;
        return match kind[0].max(kind[1]) {
            RELOCATABLE => Some("an object file, like `.o` files: link it with `-shared`"),
            CORE => Some("the memory of a crashed program (a core dump)"),
            _ => None,
        };
    }
    let text = head.trim_ascii_start();
    let starts = |start: &[u8]| {
        let matches = |bytes: &[u8]| bytes.get(..start.len()).is_some_and(|s| s.eq_ignore_ascii_case(start));
        matches(head) || matches(text)
    };
    STARTS.into_iter().find(|(start, _)| starts(start)).map(|(_, kind)| kind)
}

/// Returns the description as a sentence after an error of the dynamic linker; empty if there is none.
pub(super) fn help(path: &Path) -> String {
    foreign_kind(path).map_or_else(String::new, |kind| format!(". It is {kind}"))
}

#[cfg(test)]
mod tests {
    use super::kind_of;

    #[test]
    fn kind_is_named_by_the_start() {
        for (head, part) in [
            (&b""[..], "empty"),
            (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "git lfs pull"),
            (b"\n<!DOCTYPE html><html>404</html>", "a web page"),
            (b"<HTML>", "a web page"),
            (b"!<arch>\n/   ", "a static archive"),
            (b"PK\x03\x04\x14", "a wheel"),
            (b"\x1f\x8b\x08", "gzip"),
            (b"GROUP ( libm.so.6 )", ""),
            (b"/* GNU ld script\n", "a script of the linker"),
            (b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x01\0", "an object file"),
            (b"\x7fELF\x02\x02\x01\0\0\0\0\0\0\0\0\0\0\x01", "an object file"),
            (b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0", ""),
            (b"\x7fELF", ""),
            (b"no library", ""),
        ] {
            let kind = kind_of(head);
            assert_eq!(kind.is_some(), !part.is_empty(), "{head:?}: {kind:?}");
            assert!(kind.unwrap_or_default().contains(part), "{head:?}: {kind:?}");
        }
    }
}
