//! Plugins that hang, crash, exit or disturb the process that checks them get a verdict, and harm nothing else.

mod common;

use common::{check, compile, text};

/// A behaviour of `faulty/hostile.h`, a case that meets it, the exit status of `tenon check`, and a part of what it says.
const HOSTILE: [(&str, &str, i32, &str); 11] = [
    ("hangs", "device.list", 1, "the process did not end within 2s"),
    ("ignores-signals", "device.list", 1, "the process did not end within 2s"),
    ("overflows-the-stack", "device.list", 1, "the process died of signal 11 (segmentation fault)"),
    ("exits-with-success", "device.list", 1, "the process ended by itself with exit code 0"),
    ("leaves-at-once-with-success", "device.list", 1, "the process ended by itself with exit code 0"),
    ("closes-everything", "device.list", 1, "the process ended by itself with exit code 0"),
    ("kills-its-group", "device.list", 1, "the process died of signal 9 (killed)"),
    ("hangs-in-finalize", "lifecycle.", 1, "the process did not end within 2s"),
    ("closes-standard-output", "device.list", 0, "1 passed, 0 failed"),
    ("writes-much", "device.list", 0, "1 passed, 0 failed"),
    ("starts-many-helpers", "device.list", 0, "1 passed, 0 failed"),
];

#[test]
fn each_hostile_plugin_gets_a_verdict() {
    let library = compile("tools/conformance/tests/faulty/plugin.c", "faulty-hostile");
    let mut wrong = Vec::new();
    for (hostile, case, status, message) in HOSTILE {
        let output = check()
            .env("FAULT", hostile)
            .arg(&library)
            .args(["--level", "good", "--timeout", "2", "--filter", case])
            .output()
            .expect("the command runs");
        let text = text(&output);
        if output.status.code() != Some(status) || !text.contains(message) {
            wrong.push(format!(
                "`{hostile}`: {:?} instead of {status} and `{message}`:\n{text}",
                output.status
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
