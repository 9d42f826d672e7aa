//! Checks that a library file is complete. The dynamic linker does not check this: it maps the segments that the
//! header lists, and if the file is shorter, the process ends with SIGBUS.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::error::LoadError;

/// Length of the header of a 64-bit ELF file.
const HEAD: usize = 64;
/// Start of a 64-bit ELF file in this machine's byte order. The dynamic linker rejects all other files itself.
const MAGIC: [u8; 6] = [0x7f, b'E', b'L', b'F', 2, if cfg!(target_endian = "little") { 1 } else { 2 }];
/// Type of a segment that the dynamic linker maps.
const PT_LOAD: u32 = 1;
const PROGRAM_HEADER: usize = 56;

/// Rejects a file that ends before its last mapped segment.
pub(crate) fn check_length(path: &Path) -> Result<(), LoadError> {
    let unreadable = |source| LoadError::Unreadable { path: path.into(), source };
    let file = tenon_files::open(path).map_err(|error| LoadError::of_file(path, error))?;
    let bytes = file.metadata().map_err(unreadable)?.len();
    let stated = match mapped_end(&file) {
        Ok(stated) => stated,
        // Too short for its own header; the linker's error is clearer.
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(()),
        Err(error) => return Err(unreadable(error)),
    };
    if stated > bytes { Err(LoadError::Truncated { path: path.into(), bytes, stated }) } else { Ok(()) }
}

/// Returns the end of the last mapped segment; 0 for a file that is not such an ELF file.
fn mapped_end(file: &File) -> std::io::Result<u64> {
    let mut head = [0; HEAD];
    file.read_exact_at(&mut head, 0)?;
    if !head.starts_with(&MAGIC) {
        return Ok(0);
    }
    let (start, count) = (u64_at(&head, 32), u16_at(&head, 56));
    let mut end = 0;
    for index in 0..u64::from(count) {
        let mut header = [0; PROGRAM_HEADER];
        file.read_exact_at(&mut header, start.saturating_add(index * PROGRAM_HEADER as u64))?;
        if u32_at(&header, 0) == PT_LOAD {
            end = end.max(u64_at(&header, 8).saturating_add(u64_at(&header, 32)));
        }
    }
    Ok(end)
}

fn array<const N: usize>(bytes: &[u8], offset: usize) -> [u8; N] {
    std::array::from_fn(|index| bytes[offset + index])
}

fn u16_at(bytes: &[u8], offset: usize) -> u16 {
    u16::from_ne_bytes(array(bytes, offset))
}

fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    u32::from_ne_bytes(array(bytes, offset))
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_ne_bytes(array(bytes, offset))
}
