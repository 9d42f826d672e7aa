//! Builds the wheels of the Python SDK and of the plugins for PaddlePaddle and ONNX Runtime.
//!
//! Each wheel is a Python project that any build front end can build, such as `pip install`. This module builds them in
//! a cached environment, so that a build takes little longer than cargo itself.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::failure::Failure;
use crate::process::step;
use crate::project;
use crate::tools::python::Venv;

/// The build requirements, the same as in `pyproject.toml` of the projects.
const BUILD: &[&str] = &["hatchling>=1.27", "pyelftools>=0.31"];
/// The additional requirements of builds for older versions of glibc.
const ZIGBUILD: &[&str] = &["cargo-zigbuild>=0.20", "ziglang>=0.13"];

/// Calls the build hook as a build front end does. Prints the name of the wheel.
const BUILD_WHEEL: &str =
    "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))";

/// Options of `cargo xtask wheel`.
#[derive(Args)]
pub struct Options {
    /// Build one wheel only
    wheel: Option<Wheel>,
    /// Oldest glibc to support, such as 2.17; builds with cargo-zigbuild from PyPI
    #[arg(long, value_name = "VERSION")]
    glibc: Option<String>,
}

/// A wheel.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Wheel {
    /// The Python SDK: `tenon` and `acl`
    Sdk,
    /// The plugin for PaddlePaddle
    Paddle,
    /// The plugin for ONNX Runtime
    Onnxruntime,
}

impl Wheel {
    const ALL: [Wheel; 3] = [Wheel::Sdk, Wheel::Paddle, Wheel::Onnxruntime];

    /// Returns the folder of the project in the repository.
    pub fn project(self) -> PathBuf {
        project::path(match self {
            Wheel::Sdk => "sdk-py",
            Wheel::Paddle => "plugins/paddle/python",
            Wheel::Onnxruntime => "plugins/onnxruntime/python",
        })
    }
}

/// Builds the requested wheels, and prints the path of each.
pub fn run(options: &Options) -> Result<(), Failure> {
    for wheel in Wheel::ALL.into_iter().filter(|wheel| options.wheel.is_none_or(|wanted| wanted == *wheel)) {
        println!("{}", build(wheel, options.glibc.as_deref())?.display());
    }
    Ok(())
}

/// Builds a wheel for the glibc of this system or an older one, and returns its path in `dist/`.
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

/// Tests the content of the plugin's wheel, and that pip installs it.
pub fn test() -> Result<(), Failure> {
    let wheel = build(Wheel::Paddle, None)?;
    let venv = Venv::with("wheel", &["pytest>=8", "twine>=6"])?;
    venv.pytest().env("TENON_WHEEL", wheel).within(&Wheel::Paddle.project()).run()
}
