//! Measures what the builds of users cost: the processor time of cargo and of the compilers that it starts, from clean.

use std::fs;
use std::path::PathBuf;

use tenon_testing::processor_time_of_children;

use crate::failure::{Failure, at};
use crate::process::step;
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
        let before = processor_time_of_children();
        cargo().args(arguments).env("CARGO_TARGET_DIR", builds.join(folder)).quietly().read()?;
        println!("{:>7} s  {what}", processor_time_of_children().saturating_sub(before).as_secs());
    }
    fs::remove_dir_all(&builds).map_err(at(&builds))
}
