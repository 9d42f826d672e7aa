//! The manifest of a plugin: a note of the ELF format, which programs read without loading the plugin.

/// An implementation that a manifest describes.
pub trait Described {
    /// The members of the manifest except the device type, as JSON.
    const MEMBERS: &'static str;
}

/// The owner of the note, with its zero byte.
const OWNER: [u8; 8] = *b"Tenon\0\0\0";

/// A note of the ELF format with a text.
///
/// The text has a multiple of four bytes, so that other notes can follow.
#[derive(Debug)]
#[repr(C, align(4))]
pub struct Note<const LENGTH: usize> {
    owner_size: u32,
    text_size: u32,
    kind: u32,
    owner: [u8; 8],
    text: [u8; LENGTH],
}

impl<const LENGTH: usize> Note<LENGTH> {
    /// Joins the parts of a manifest. `LENGTH` is [`note_length`] of the same parts.
    #[must_use]
    pub const fn of(parts: &[&str]) -> Self {
        let mut text = [b' '; LENGTH];
        let (mut end, mut part) = (0, 0);
        while part < parts.len() {
            let bytes = parts[part].as_bytes();
            let mut index = 0;
            while index < bytes.len() {
                text[end] = bytes[index];
                (end, index) = (end + 1, index + 1);
            }
            part += 1;
        }
        // `Tenon` with its zero byte. A text of more than 4 GiB does not compile in a reasonable time.
        Self { owner_size: 6, text_size: LENGTH as u32, kind: 1, owner: OWNER, text }
    }
}

/// Returns the length of a note's text: that of the parts, rounded up to four bytes.
#[must_use]
pub const fn note_length(parts: &[&str]) -> usize {
    let (mut length, mut part) = (0_usize, 0);
    while part < parts.len() {
        length += parts[part].len();
        part += 1;
    }
    length.next_multiple_of(4)
}

/// Puts a note with these texts into the library.
#[doc(hidden)]
#[macro_export]
macro_rules! __manifest_note {
    ($($part:expr),+) => {
        #[cfg(target_os = "linux")]
        const _: () = {
            const PARTS: &[&str] = &[$($part),+];
            #[used]
            #[unsafe(link_section = ".note.tenon")]
            static NOTE: $crate::support::Note<{ $crate::support::note_length(PARTS) }> =
                $crate::support::Note::of(PARTS);
        };
    };
}

/// Puts the manifest of a plugin into the library: its device type, which needs no escape in JSON, and its
/// implementation.
#[doc(hidden)]
#[macro_export]
macro_rules! __manifest {
    ($device_type:literal, $implementation:ty) => {
        $crate::__manifest_note!(
            concat!("{\"manifest\":1,\"device_type\":\"", $device_type, "\","),
            <$implementation as $crate::support::Described>::MEMBERS,
            "}"
        );
    };
}

#[cfg(test)]
mod tests {
    use super::{Note, note_length};

    #[test]
    fn note_is_padded_with_spaces() {
        const PARTS: &[&str] = &["{\"a\"", ":1}"];
        let note = Note::<{ note_length(PARTS) }>::of(PARTS);
        assert_eq!(&note.text, b"{\"a\":1} ");
        assert_eq!((note.owner_size, note.text_size, size_of_val(&note)), (6, 8, 28));
    }
}
