//! Measures what the builds of users cost: the processor time of cargo and of the compilers that it starts, from clean.

use std::fs;
use std::mem::MaybeUninit;
use std::path::PathBuf;
use std::time::Duration;

use crate::failure::{Failure, at};
use crate::process::{processor_time, step};
use crate::project;

/// The builds in their order: what they make, the folder that they share, and the arguments of cargo. A build finds what
/// earlier ones left in its folder.
const BUILDS: [(&str, &str, &[&str]); 5] = [
    ("`cargo run -p codegen`: the generator, and a run", "codegen", &["run", "-p", "codegen"]),
    ("a first device in Rust, debug", "device", &["build", "-p", "example-rust-plugin"]),
    ("the plugin for PaddlePaddle, release", "release", &["build", "--release", "-p", "tenon-paddle"]),
    ("the command `tenon`, release, after it", "release", &["build", "--release", "-p", "tenon-cli"]),
    ("`libdiopi_impl.so`, release, after both", "release", &["build", "--release", "-p", "tenon-diopi-cpu"]),
];

#[derive(clap::Args)]
pub struct Options {
    /// The checkout to build; by default the one of this command
    folder: Option<PathBuf>,
}

/// Prints the processor time of each build. Crates are downloaded before.
pub fn run(options: &Options) -> Result<(), Failure> {
    let root = options.folder.clone().unwrap_or_else(|| project::root().to_owned());
    let cargo = || step("cargo").within(&root);
    cargo().args(["fetch", "--quiet"]).run()?;
    let builds = project::cache("builds");
    if builds.exists() {
        fs::remove_dir_all(&builds).map_err(at(&builds))?;
    }
    println!("processor  build");
    for (what, folder, arguments) in BUILDS {
        let before = of_children();
        cargo().args(arguments).env("CARGO_TARGET_DIR", builds.join(folder)).quietly().read()?;
        println!("{:>7} s  {what}", of_children().saturating_sub(before).as_secs());
    }
    fs::remove_dir_all(&builds).map_err(at(&builds))
}

/// Returns the processor time of all programs that this one has waited for, and of those that they have waited for.
fn of_children() -> Duration {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the address is that of a struct of this type, which the function fills; zero is a value of it, too.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    processor_time(&usage)
}
