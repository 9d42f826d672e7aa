//! ThreadSanitizer and Miri, which need a nightly toolchain.

use clap::{Args, ValueEnum};

use crate::failure::Failure;
use crate::process::{Step, step};
use crate::project;
use crate::test::rust::TRIPLE;

/// Options of `cargo xtask sanitize`.
#[derive(Args)]
pub struct Options {
    /// Run one tool only
    tool: Option<Tool>,
}

/// A tool that observes the tests.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Tool {
    /// ThreadSanitizer: data races
    Thread,
    /// Miri: undefined behaviour
    Miri,
}

/// Tests of one package.
struct Tests {
    package: &'static str,
    /// The targets. Documentation tests are not built with the sanitizer.
    targets: &'static [&'static str],
    /// Arguments of the test programs: filters, and the tests that the tool cannot run.
    arguments: &'static [&'static str],
}

/// Tests for ThreadSanitizer. C programs cannot load the instrumented `libtenon`, because the run-time library of the
/// sanitizer is in the Rust programs only.
const THREADED: &[Tests] = &[
    Tests { package: "tenon", targets: &["--lib"], arguments: &[] },
    Tests { package: "tenon-cpu", targets: &["--lib", "--tests"], arguments: &[] },
    Tests {
        package: "tenon-layers",
        targets: &[
            "--lib",
            "--test=programs",
            "--test=stack",
            "--test=trace",
            "--test=trace_output",
            "--test=validate",
        ],
        // The sanitizer has its own handlers for the signals that this test raises.
        arguments: &["--skip=a_crash_leaves_what_was_recorded"],
    },
    Tests { package: "tenon-sdk-c", targets: &["--lib"], arguments: &[] },
    // This test reads memory in a loop until work of another thread changes it, which is a race on purpose.
    Tests {
        package: "tenon-acl",
        targets: &["--lib", "--tests"],
        arguments: &["--skip=stream_is_destroyed_after_its_host_work"],
    },
];

/// Tests for Miri. Without the filters for `tenon-cpu` it ends at `mlock`, `madvise` and allocations that must fail.
const INTERPRETED: &[Tests] = &[
    Tests { package: "tenon", targets: &["--lib"], arguments: &[] },
    Tests {
        package: "tenon-cpu",
        targets: &["--lib"],
        arguments: &["config::", "graph::", "memory::size::", "guarded_memory"],
    },
    Tests { package: "tenon-cpu", targets: &["--test=captures"], arguments: &[] },
];

/// Runs the tests under the tools. Fails if one of them has a finding.
pub fn run(options: &Options) -> Result<(), Failure> {
    let wanted = |tool| options.tool.is_none_or(|only| only == tool);
    if wanted(Tool::Thread) {
        THREADED.iter().try_for_each(|tests| {
            eprintln!("── ThreadSanitizer: {}", tests.package);
            // The standard library must be instrumented too: otherwise its locks are unknown, and each use is a race.
            let command = nightly(["test", "-Zbuild-std", "--target", TRIPLE])
                .env("RUSTFLAGS", "-Zsanitizer=thread")
                // Idle workers of libascendcl that have ended are joined when the next one starts.
                .env("TSAN_OPTIONS", "report_thread_leaks=0");
            test(command, tests)
        })?;
    }
    if wanted(Tool::Miri) {
        INTERPRETED.iter().try_for_each(|tests| {
            eprintln!("── Miri: {}", tests.package);
            let command = nightly(["miri", "test"])
                // Device memory is addressed by numbers, so provenance is exposed.
                .env("MIRIFLAGS", "-Zmiri-permissive-provenance -Zmiri-disable-isolation");
            test(command, tests)
        })?;
    }
    Ok(())
}

/// Creates a step that runs cargo of the nightly toolchain, with its own build folder.
fn nightly<const N: usize>(arguments: [&str; N]) -> Step {
    step("rustup")
        .args(["run", "nightly", "cargo"])
        .args(arguments)
        .arg("--target-dir")
        .arg(project::path("target/sanitize"))
}

/// Runs tests with a command.
fn test(command: Step, tests: &Tests) -> Result<(), Failure> {
    command
        .args(["--quiet", "--no-fail-fast", "--package", tests.package])
        .args(tests.targets)
        .arg("--")
        .args(tests.arguments)
        .run()
}
