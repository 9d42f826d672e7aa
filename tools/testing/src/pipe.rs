//! Named pipes, on which a program waits that opens them as files.

use std::ffi::CString;
use std::io;
use std::path::Path;

/// Makes a named pipe. The program `mkfifo` is not needed: not every machine has it.
pub fn make_pipe(path: &Path) {
    let name = CString::new(path.as_os_str().as_encoded_bytes()).expect("a path has no NUL");
    // SAFETY: the path is a text with a NUL at its end.
    let made = unsafe { libc::mkfifo(name.as_ptr(), 0o600) };
    assert_eq!(made, 0, "{}: {}", path.display(), io::Error::last_os_error());
}
