//! The list of tests that were skipped because this machine lacks something.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;

/// Adds a test to the list of skipped tests. Returns false if tests must not be skipped; then the test has to fail.
///
/// `cargo xtask test` permits it with the variable `TENON_LEFT_OUT`, which names the file of the list.
///
/// # Panics
/// If the file cannot be written.
#[must_use = "the test has to fail if it must not be skipped"]
pub fn leave_out(missing: &str, test: &str) -> bool {
    let Some(file) = env::var_os("TENON_LEFT_OUT") else { return false };
    let mut file = OpenOptions::new().append(true).create(true).open(file).expect("the file can be written");
    writeln!(file, "{missing}\t{test}").expect("the file can be written");
    true
}

/// Returns true if the process can load gloo. Otherwise the calling test ends, and is added to the list of skipped tests.
///
/// # Panics
/// If tests must not be skipped.
#[must_use = "a test cannot run without the library"]
pub fn has_gloo() -> bool {
    // SAFETY: the name is NUL-terminated. Initialisers of libraries have no preconditions.
    let is_here = unsafe { !libc::dlopen(c"libgloo.so.0".as_ptr(), libc::RTLD_NOW).is_null() };
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test of collectives");
    assert!(
        is_here || leave_out("libgloo.so.0", test),
        "there is no libgloo.so.0; on Debian and Ubuntu: apt-get install libgloo0 libgloo-dev"
    );
    is_here
}
