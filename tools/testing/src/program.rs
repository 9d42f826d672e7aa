//! Programs that tests make and start.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Copies a program, or a script, to a file that can be started at once.
///
/// Another process writes the copy. If this one did, a child that another test starts at the same time could still
/// have the file open for writing, and the system would refuse to start it ("Text file busy").
///
/// # Panics
/// If the file cannot be copied, or its mode cannot be set.
pub fn install(from: &Path, to: &Path) {
    let status = Command::new("cp").args([from, to]).status().expect("`cp` is one of the basic commands");
    assert!(status.success(), "{} cannot be copied", from.display());
    fs::set_permissions(to, Permissions::from_mode(0o755)).expect("the owner may change the mode");
}
