//! Opens files that anybody may have made. Opening a FIFO blocks until another process writes to it, opening a device may
//! act on hardware, and `/dev/zero` has no end. So all commands open the files that users name with this crate, which
//! opens plain files only, and reads no more of them than the caller allows.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

/// The reason for which a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system's error.
    #[error(transparent)]
    System(#[from] io::Error),
    /// It is something else than a plain file.
    #[error("it is {0}, and a plain file is expected")]
    NotPlain(&'static str),
    /// It has more bytes than the caller reads.
    #[error("it has more than {0} bytes")]
    TooLarge(u64),
}

impl From<FileError> for io::Error {
    fn from(error: FileError) -> Self {
        match error {
            FileError::System(error) => error,
            FileError::NotPlain(_) => io::Error::new(io::ErrorKind::InvalidInput, error),
            FileError::TooLarge(_) => io::Error::new(io::ErrorKind::FileTooLarge, error),
        }
    }
}

/// Opens a plain file for reading. Links are followed.
///
/// # Errors
/// If the system cannot open it, or if it is not a plain file.
pub fn open(path: &Path) -> Result<File, FileError> {
    // Nothing but a plain file is opened: opening a device may act on it.
    check(&path.metadata()?)?;
    // Another process may have replaced the file since.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

/// Reads a plain file of at most `limit` bytes.
///
/// # Errors
/// As [`open`], and if the file has more bytes.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    // The length that the system states may be wrong: files in `/proc` have length 0.
    open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(FileError::TooLarge(limit)) } else { Ok(bytes) }
}

/// Reads a plain text file of at most `limit` bytes.
///
/// # Errors
/// As [`read`], and if the text is not UTF-8.
pub fn read_text(path: &Path, limit: u64) -> Result<String, FileError> {
    let text = String::from_utf8(read(path, limit)?);
    Ok(text.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?)
}

/// Names what lies at a path, if it is something else than a plain file or a folder: opening it may block.
pub fn special(path: &Path) -> Option<&'static str> {
    path.metadata().ok().and_then(|metadata| name(metadata.file_type()))
}

fn check(metadata: &Metadata) -> Result<(), FileError> {
    if metadata.is_dir() {
        return Err(FileError::NotPlain("a folder"));
    }
    name(metadata.file_type()).map_or(Ok(()), |name| Err(FileError::NotPlain(name)))
}

/// Names a kind of file that is neither plain nor a folder.
fn name(kind: FileType) -> Option<&'static str> {
    if kind.is_fifo() {
        Some("a named pipe")
    } else if kind.is_socket() {
        Some("a socket")
    } else if kind.is_char_device() || kind.is_block_device() {
        Some("a device")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::path::PathBuf;

    use super::*;

    /// Creates an empty folder for a test.
    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("tenon-files-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn message(path: &Path) -> String {
        read(path, 100).unwrap_err().to_string()
    }

    #[test]
    fn plain_file_is_read_up_to_the_limit() {
        let folder = folder("plain");
        let file = folder.join("file");
        fs::write(&file, "four").unwrap();
        symlink(&file, folder.join("link")).unwrap();
        assert_eq!(read(&file, 4).unwrap(), b"four");
        assert_eq!(read_text(&folder.join("link"), 4).unwrap(), "four");
        assert_eq!(read(&file, 3).unwrap_err().to_string(), "it has more than 3 bytes");
        assert_eq!(special(&file), None);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn everything_else_is_refused_without_waiting() {
        let folder = folder("special");
        let pipe = folder.join("pipe");
        let name = CString::new(pipe.to_str().unwrap()).unwrap();
        // SAFETY: the name is NUL-terminated.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        let socket = folder.join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        assert_eq!(message(&pipe), "it is a named pipe, and a plain file is expected");
        assert_eq!(message(&socket), "it is a socket, and a plain file is expected");
        assert_eq!(message(Path::new("/dev/zero")), "it is a device, and a plain file is expected");
        assert_eq!(special(&pipe), Some("a named pipe"));
        assert_eq!(message(&folder), "it is a folder, and a plain file is expected");
        assert!(message(&folder.join("absent")).starts_with("No such file"));
        fs::remove_dir_all(folder).unwrap();
    }
}
