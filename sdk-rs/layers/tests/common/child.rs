//! Tests that run again as a child process, because they limit the process or end it.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// Starts this program again, for its test `child_process` alone. A variable tells it what to do, another one the file.
pub fn start(variable: &str, child: &str, file_variable: &str, file: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["child_process", "--exact", "--nocapture", "--test-threads=1"])
        .env(variable, child)
        .env(file_variable, file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits for a child, which has to end well, and returns its standard error.
pub fn ended(child: Child) -> String {
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    let text = String::from_utf8(stderr).unwrap();
    assert!(status.success(), "{status:?}, signal {:?}: {text}", status.signal());
    text
}

/// Limits the size of the files that this process writes.
pub fn limit_file_size(bytes: libc::rlim_t) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the limit is valid.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) }, 0);
}

/// Closes all descriptors but the standard ones, as daemons do, and programs before they start another.
pub fn close_all() {
    // SAFETY: only a layer owns descriptors here, and it must handle this.
    (3..64).for_each(|descriptor| unsafe {
        libc::close(descriptor);
    });
}
