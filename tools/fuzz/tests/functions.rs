//! Random programs with fixed seeds reach every function of `functions.h`, and find nothing.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use tenon::device::Function;
use tenon_fuzz::{Subject, Tally, program};

/// Number of programs of a test. Fewer than a quarter reach every function.
const PROGRAMS: u64 = 200;

/// Waits until no other test of this process uses the library.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    static ENVIRONMENT: Once = Once::new();
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the other tests only start programs, through the standard library.
    ENVIRONMENT.call_once(|| unsafe { program::set_environment() });
    guard
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

fn run(plugin: Option<CString>) -> Tally {
    let (subject, mut tally) = (Subject { plugin, layers: None }, Tally::default());
    for seed in 1..=PROGRAMS {
        if let Err(finding) = program::run(&subject, seed, &mut tally) {
            panic!("seed {seed}: {finding}");
        }
    }
    tally
}

/// Compiles a plugin in C.
fn compile(source: &str, name: &str) -> PathBuf {
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let output = Command::new("cc")
        .args(["-std=c11", "-O1", "-shared", "-fPIC", "-I"])
        .arg(root().join("sdk-c/include"))
        .arg(root().join(source))
        .arg("-o")
        .arg(&library)
        .arg("-lpthread")
        .output()
        .unwrap_or_else(|_| panic!("`cc` is not installed: apt-get install gcc libc6-dev"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    library
}

#[test]
fn cpu_device_every_function_is_reached() {
    let _alone = alone();
    let header = std::fs::read_to_string(root().join("sdk-c/include/tenon/functions.h")).unwrap();
    let declared: BTreeSet<&str> = header
        .lines()
        .filter_map(|line| line.strip_prefix("tenon_status tenon_")?.split('(').next())
        .collect();
    assert_eq!(declared, Function::ALL.iter().map(|function| function.name()).collect());
    let not_reached = run(None).not_reached();
    assert!(not_reached.is_empty(), "{not_reached:?}");
}

#[test]
fn c_plugin_programs_find_nothing() {
    let _alone = alone();
    let library = compile("examples/c-plugin/plugin.c", "libfuzz_c_plugin.so");
    let tally = run(Some(CString::new(library.to_str().unwrap()).unwrap()));
    assert!(!tally.not_reached().contains(&Function::MemoryCopyH2d));
}

#[test]
fn crash_names_the_function_and_the_seed() {
    let library = compile("tools/conformance/tests/faulty/plugin.c", "libfuzz_faulty.so");
    let output = Command::new(env!("CARGO_BIN_EXE_tenon-fuzz"))
        .env("FAULT", "overflows-the-stack")
        .arg("--plugin")
        .arg(&library)
        .args(["--seed", "7", "--programs", "50"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(text.contains("a signal ends the process in or after `"), "{text}");
    assert!(text.contains("to repeat it: --seed "), "{text}");
}
