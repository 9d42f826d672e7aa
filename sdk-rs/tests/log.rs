//! Messages on the standard error: of a plugin that refuses to start, and at each level of `TENON_LOG`.
//!
//! The level is read once in a process, so each test runs the plugin in a child: this program with `IS_CHILD` set.

mod minimal;

use std::process::Command;
use std::ptr::null_mut;

use minimal::minimal;
use tenon::DevicePtr;
use tenon::device::*;

minimal!(tenon::device => Refusing {
    fn initialize(&self) -> Result<()> {
        Err(Error::new(Status::FAILED, "no driver"))
    }
});

const IS_CHILD: &str = "TENON_TEST_IS_CHILD";

/// Hands the plugin over, and calls a function that fails and then `initialize`.
///
/// The child of the tests below; it does nothing when it runs as a test itself.
#[test]
fn child() {
    if std::env::var_os(IS_CHILD).is_none() {
        return;
    }
    let release = Release::V3_3;
    let mut table = vec![0u64; release.table_size() / 8];
    table[0] = release.table_size() as u64;
    let mut params = [0u64; 12];
    params[0] = 96;
    params[1] = table.as_mut_ptr().expose_provenance() as u64;
    // SAFETY: the params begin with their size and with the table, which begins with its own.
    let met = unsafe { hand_over::<Refusing>(params.as_mut_ptr().cast(), c"toy") };
    if let Err(refusal) = met {
        assert!(table[1..].iter().all(|word| *word == 0), "a plugin that refuses writes nothing");
        eprintln!("refused: {refusal}");
        return;
    }
    // SAFETY: the vector holds the table of that release, and is aligned to its words.
    let table = unsafe { table.as_ptr().cast::<ffi::C_DeviceInterface>().read() };
    // SAFETY: null is refused before it is followed.
    assert_eq!(unsafe { table.set_device.unwrap()(null_mut()) }, Status::ERROR);
    // SAFETY: it takes no arguments.
    assert_eq!(unsafe { table.initialize.unwrap()() }, Status::FAILED);
}

/// Returns the lines that the child writes to standard error with a value of `TENON_LOG`.
fn lines(level: Option<&str>) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().expect("this program has a path"));
    child.args(["--exact", "child", "--nocapture"]).env(IS_CHILD, "1").env_remove("TENON_LOG");
    child.envs(level.map(|level| ("TENON_LOG", level)));
    let output = child.output().expect("this program can be run again");
    let text = String::from_utf8(output.stderr).expect("messages are UTF-8");
    assert!(output.status.success(), "{text}");
    text.lines().map(str::to_owned).collect()
}

const FAILED_CALL: &str = "tenon: set_device: `device` is null";
const REFUSAL: &str = "tenon: initialize: no driver";
const HANDED_OVER: &str = "tenon: toy: handed over to a host of release 3.3";

#[test]
fn initialize_failed_is_told_at_every_level() {
    for level in [None, Some(""), Some("off")] {
        assert_eq!(lines(level), [REFUSAL], "{level:?}");
    }
}

#[test]
fn level_error_tells_each_failure_once() {
    assert_eq!(lines(Some("error")), [FAILED_CALL, REFUSAL]);
}

#[test]
fn level_info_tells_the_release_of_the_host() {
    assert_eq!(lines(Some("info")), [HANDED_OVER, FAILED_CALL, REFUSAL]);
}

#[test]
fn level_unknown_is_refused_at_the_hand_over() {
    assert_eq!(lines(Some("verbose")), ["refused: TENON_LOG=verbose: expected `off`, `error` or `info`"]);
}
