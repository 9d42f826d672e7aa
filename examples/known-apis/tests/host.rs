//! The library in hosts in C, which have the layouts of ONNX Runtime and ggml.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Compiles a host.
fn compile(source: &str) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(source).with_extension("");
    let output = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"])
        .arg(here.join("include"))
        .arg(here.join("c").join(source))
        .arg("-o")
        .arg(&program)
        .arg("-ldl")
        .output()
        .expect("`cc` is not installed: apt-get install gcc libc6-dev");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

fn library() -> PathBuf {
    let test = std::env::current_exe().expect("the path of the test");
    // Cargo builds all crate types of a library at once.
    test.parent().expect("a file has a folder").join("libexample_known_apis.so")
}

/// Runs the host with ONNX Runtime's tables, and returns what it prints to standard output and to standard error.
fn run(minor: u32, action: &str, variables: &[(&str, &str)]) -> (String, String) {
    static HOST: OnceLock<PathBuf> = OnceLock::new();
    let output = Command::new(HOST.get_or_init(|| compile("onnxruntime_host.c")))
        .arg(library())
        .args([&minor.to_string(), action])
        .env_remove("ADD_PROVIDER_WATCH")
        .envs(variables.iter().copied())
        .output()
        .expect("the host was compiled");
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success(), "{}: {out}{err}", output.status);
    (out, err)
}

#[test]
fn provider_computes_what_the_host_asks_for() {
    for (minor, stated) in [(23, 23), (24, 24), (25, 25), (32, 25)] {
        let (out, err) = run(minor, "run", &[]);
        let expected = format!(
            "1 factory, adder by Tenon, of release {stated}\n\
             device of adder\n\
             1 device, which is a CPU\n\
             provider adder of release {stated}\n\
             2 nodes\n\
             capability: 1 capability: the node has no operator\n\
             11 33 66\n\
             compute: 2 compute: the inputs of `Add` have different shapes\n\
             compute: 2 compute: only tensors of `float` can be added\n\
             0 alive\n"
        );
        assert_eq!(out, expected, "{err}");
        assert!(!err.contains("was asked for"), "{err}");
    }
}

#[test]
fn older_host_is_refused_with_a_status() {
    let (out, _) = run(22, "run", &[]);
    assert_eq!(out, "create: 1 this provider needs ONNX Runtime 1.23 or newer\n");
}

#[test]
fn objects_are_released_once_and_report_panics_and_bad_arguments() {
    let (out, err) = run(25, "streams", &[]);
    let expected = "1 factory, adder by Tenon, of release 25\n\
         stream of release 25, flush absent\n\
         wait: 1 wait_on_host: the device panicked: nothing was marked\n\
         wait on device: 2 wait_on_device: all streams are of the CPU, so none has to wait for another one\n\
         null: 2 create_notification: `stream` is null\n\
         nowhere: 2 create_notification: `notification` is null\n\
         0 alive\n";
    assert_eq!(out, expected, "{err}");
}

#[test]
fn use_after_release_is_found_while_objects_are_watched() {
    let (out, err) = run(25, "watched", &[("ADD_PROVIDER_WATCH", "1")]);
    let reported: Vec<&str> = out.lines().filter(|line| line.contains("is no live")).collect();
    let [released, other] = reported[..] else { panic!("two calls are refused: {out}{err}") };
    assert!(
        released.starts_with("after release: 2 activate: `notification` is no live `Notification`"),
        "{out}"
    );
    assert!(released.ends_with("is released"), "{out}");
    assert!(other.ends_with("is an object of the kind `Stream`"), "{out}");
    assert!(out.ends_with("0 alive\n"), "{out}");
}

/// Runs a host that only takes the library, and holds what it prints to what is expected.
fn prints(source: &str, expected: &str) {
    let output = Command::new(compile(source)).arg(library()).output().expect("the host was compiled");
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert_eq!(out, expected, "{err}");
    assert!(output.status.success(), "{}", output.status);
}

#[test]
fn backend_lends_its_device_and_makes_backends() {
    prints(
        "ggml_host.c",
        "idle, version 1, 1 device\n\
         further functions: no\n\
         the same device: 1, of this registry: 1, another one: 0\n\
         idle0: a device that does nothing, 1 of 2 MiB, type 2\n\
         buffers: of this device: 1, allocated: 0, aligned to 64, supported: 1\n\
         foreign buffers are supported: 0\n\
         backend with options: 0\n\
         backend of this device: 1, graphs: 0 0 -1\n",
    );
}

#[test]
fn plugin_returns_errors_that_are_read_through_structs_of_arguments() {
    prints(
        "pjrt_host.c",
        "table of 152 bytes, version 0.33 of 24 bytes\n\
         attributes: no\n\
         create: 3 client_create: 2 options, of which none is known\n\
         quiet, process 0\n\
         short: 3 client_platform_name: `args` has 16 bytes, but 40 are needed\n\
         1 call\n\
         await: 3 event_await: Event(0x2) is no event\n\
         destroy: 3 client_destroy: Client(0x10) is not alive\n",
    );
}
