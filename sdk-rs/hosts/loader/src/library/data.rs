//! The bytes of a library file for readers of its headers and tables.

use std::fs::File;
use std::path::Path;

use object::ReadCache;
use object::read::ReadCacheOps;
use tenon_files::FileError;

/// Bytes that may be read in addition to [`TIMES`] the length of the file.
const ADDITIONAL: u64 = 64 << 20;
/// Readers look at a part of a sound file at most this often.
const TIMES: u64 = 4;

/// The bytes of a library file. Each part is kept after it was read, and parts may overlap: a made file can name the same
/// bytes in thousands of headers. So the bytes that are read are limited by the length of the file.
pub type LibraryData = ReadCache<LimitedFile>;

/// A file of which only some bytes are read.
#[derive(Debug)]
pub struct LimitedFile {
    file: File,
    left: u64,
}

/// Opens a library file to read its headers and tables.
///
/// # Errors
/// If it cannot be opened, or is not a plain file.
pub fn library_data(path: &Path) -> Result<LibraryData, FileError> {
    let file = tenon_files::open(path)?;
    let length = file.metadata()?.len();
    Ok(ReadCache::new(LimitedFile { file, left: length.saturating_mul(TIMES).saturating_add(ADDITIONAL) }))
}

impl LimitedFile {
    fn spend(&mut self, bytes: usize) -> Result<(), ()> {
        self.left = self.left.checked_sub(bytes as u64).ok_or(())?;
        Ok(())
    }
}

impl ReadCacheOps for LimitedFile {
    fn len(&mut self) -> Result<u64, ()> {
        ReadCacheOps::len(&mut self.file)
    }

    fn seek(&mut self, pos: u64) -> Result<u64, ()> {
        ReadCacheOps::seek(&mut self.file, pos)
    }

    fn read(&mut self, buf: &mut [u8]) -> Result<usize, ()> {
        let count = ReadCacheOps::read(&mut self.file, buf)?;
        self.spend(count)?;
        Ok(count)
    }

    fn read_exact(&mut self, buf: &mut [u8]) -> Result<(), ()> {
        self.spend(buf.len())?;
        ReadCacheOps::read_exact(&mut self.file, buf)
    }
}
