//! Wheels: the Python SDK, and the plugin that PaddlePaddle finds by itself.
//!
//! Each is a project of its own that any build front end takes, `pip install` among them. Here they are built in an
//! environment that is kept, so that it takes no longer than cargo does.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::process::{Failure, step};
use crate::project;
use crate::tools::python::Venv;

/// What builds a wheel; the projects name the same.
const BUILD: &[&str] = &["hatchling>=1.27", "pyelftools>=0.31"];
/// What builds for older systems.
const ZIGBUILD: &[&str] = &["cargo-zigbuild>=0.20", "ziglang>=0.13"];

/// What build front ends call; it answers with the name of the wheel.
const BUILD_WHEEL: &str =
    "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))";

/// Which wheels are built.
#[derive(Args)]
pub struct Options {
    /// One wheel, rather than both
    wheel: Option<Wheel>,
    /// Build for systems whose glibc is as old as this, such as 2.17, with cargo-zigbuild from PyPI
    #[arg(long, value_name = "VERSION")]
    glibc: Option<String>,
}

/// A wheel that there is.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Wheel {
    /// The Python SDK: `tenon` and `acl`
    Sdk,
    /// The plugin for PaddlePaddle
    Paddle,
}

impl Wheel {
    const ALL: [Wheel; 2] = [Wheel::Sdk, Wheel::Paddle];

    /// Its folder in the repository.
    fn project(self) -> PathBuf {
        project::path(match self {
            Wheel::Sdk => "sdk-py",
            Wheel::Paddle => "plugins/paddle/python",
        })
    }
}

/// Builds what is asked for, and prints the path of each wheel.
pub fn run(options: &Options) -> Result<(), Failure> {
    for wheel in Wheel::ALL.into_iter().filter(|wheel| options.wheel.is_none_or(|wanted| wanted == *wheel)) {
        println!("{}", build(wheel, options.glibc.as_deref())?.display());
    }
    Ok(())
}

/// Builds a wheel, for this system or for those with an older glibc, and returns its path in `dist/`.
pub fn build(wheel: Wheel, glibc: Option<&str>) -> Result<PathBuf, Failure> {
    let requirements = [BUILD, glibc.map_or(&[], |_| ZIGBUILD)].concat();
    let venv = Venv::with(if glibc.is_some() { "build-older" } else { "build" }, &requirements)?;
    let dist = project::path("dist");
    let mut hatchling = step(venv.python())
        .args(["-c", BUILD_WHEEL])
        .arg(&dist)
        .env("CARGO_TERM_QUIET", "true")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .within(&wheel.project());
    if let Some(glibc) = glibc {
        hatchling = hatchling.env("TENON_GLIBC", glibc).env("PATH", venv.path());
    }
    let printed = hatchling.read()?;
    Ok(dist.join(printed.lines().last().unwrap_or_default().trim()))
}

/// Tests what is in the plugin's wheel, and that pip takes it.
pub fn test() -> Result<(), Failure> {
    let wheel = build(Wheel::Paddle, None)?;
    let venv = Venv::with("wheel", &["pytest>=8", "twine>=6"])?;
    venv.pytest().env("TENON_WHEEL", wheel).within(&Wheel::Paddle.project()).run()
}
