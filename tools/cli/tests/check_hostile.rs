//! Plugins that hang, crash, exit or disturb the process that checks them get a verdict, and harm nothing else.

mod common;

use common::{check, compile, compile_with_cpp, text};

/// A behaviour of `faulty/hostile.h`, a case that meets it, the exit status of `tenon check`, and a part of what it says.
const HOSTILE: [(&str, &str, i32, &str); 14] = [
    ("hangs", "device.list", 1, "the process did not end within 2s"),
    ("ignores-signals", "device.list", 1, "the process did not end within 2s"),
    ("overflows-the-stack", "device.list", 1, "the process died of signal 11 (segmentation fault)"),
    ("exits-with-success", "device.list", 1, "the process ended by itself with exit code 1"),
    ("leaves-at-once-with-success", "device.list", 1, "the process ended by itself with exit code 0"),
    ("closes-everything", "device.list", 1, "the process ended by itself with exit code 0"),
    ("kills-its-group", "device.list", 1, "the process died of signal 9 (killed)"),
    ("hangs-in-finalize", "lifecycle.", 1, "the process did not end within 2s"),
    (
        "crashes-at-exit",
        "lifecycle.exit",
        1,
        "died of signal 11 (segmentation fault), in an exit handler or a destructor",
    ),
    ("hangs-at-exit", "lifecycle.exit", 1, "did not end within 2s, in an exit handler or a destructor"),
    ("fails-at-exit", "lifecycle.exit", 1, "exit code 7, in an exit handler or a destructor"),
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

/// Returns the processes with this command line, by number. One that has ended and was not collected has none.
fn processes(arguments: &[&str]) -> Vec<String> {
    let wanted: Vec<u8> =
        arguments.iter().flat_map(|argument| [argument.as_bytes(), b"\0"].concat()).collect();
    let entries = std::fs::read_dir("/proc").expect("the system lists processes").flatten();
    let is_wanted = |entry: &std::fs::DirEntry| {
        std::fs::read(entry.path().join("cmdline")).is_ok_and(|command| command == wanted)
    };
    entries.filter(is_wanted).map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn daemon_of_a_plugin_ends_with_its_case() {
    let library = compile("tools/conformance/tests/faulty/plugin.c", "faulty-daemon");
    for (fault, status) in [("starts-a-daemon", 0), ("starts-a-daemon-and-crashes", 1)] {
        let seconds = (1_000_000 + std::process::id()).to_string();
        let output = check()
            .env("FAULT", fault)
            .env("SECONDS", &seconds)
            .arg(&library)
            .args(["--filter", "device.list"])
            .output()
            .expect("the command runs");
        assert_eq!(output.status.code(), Some(status), "{}", text(&output));
        assert_eq!(processes(&["sleep", &seconds]), Vec::<String>::new());
    }
}

#[test]
fn exception_of_a_plugin_fails_the_case_with_the_function() {
    let library = compile_with_cpp(
        "tools/conformance/tests/faulty/plugin.c",
        "tools/conformance/tests/faulty/throw.cpp",
        "faulty-throws",
    );
    let output = check()
        .env("FAULT", "throws")
        .arg(&library)
        .args(["--filter", "device.list"])
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let message = "died of signal 6 (abort), in or after `get_device_list`";
    assert!(text(&output).contains(message), "{}", text(&output));
}

#[test]
fn threads_that_the_system_refuses_are_an_error() {
    let shim = compile("tools/conformance/tests/faulty/no_threads.c", "no-threads");
    // The first is the process that reads the results; the second is the one that runs the plugin.
    for (process, message) in
        [("check", "cannot start a thread"), ("__serve", "`initialize` answered `failed`")]
    {
        let output = check()
            .args(["--builtin", "cpu", "--filter", "device.list"])
            // By its name, since the loader splits this variable at spaces.
            .env("LD_PRELOAD", shim.file_name().expect("it is a file"))
            .env("LD_LIBRARY_PATH", shim.parent().expect("a file has a folder"))
            .env("NO_THREADS", process)
            .output()
            .expect("the command runs");
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(text(&output).contains(message), "{}", text(&output));
    }
}
