//! The plugin as people install it: a wheel that puts the library where PaddlePaddle looks for it.

use std::path::PathBuf;

use crate::process::{Failure, cargo, step};
use crate::python::Venv;
use crate::{project, python};

/// Builds the plugin and its wheel, and returns the wheel's path.
pub fn build() -> Result<PathBuf, Failure> {
    cargo().args(["build", "--quiet", "--release", "--package", "tenon-paddle"]).run()?;
    let printed = step(python::system())
        .arg(project::path("plugins/paddle/python/build_wheel.py"))
        .arg("--lib")
        .arg(project::path("target/release/libtenon_paddle.so"))
        .arg("--out")
        .arg(project::path("dist"))
        .installed_by("apt-get install python3")
        .read()?;
    let path = printed.lines().last().unwrap_or_default().trim();
    Ok(project::root().join(path))
}

/// Tests what is in the wheel, and that pip takes it.
pub fn test() -> Result<(), Failure> {
    build()?;
    let venv = Venv::with("wheel", &["pytest>=8", "twine>=6"])?;
    step(venv.python())
        .args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("TENON_PADDLE_LIB", project::path("target/release/libtenon_paddle.so"))
        .within(&project::path("plugins/paddle/python"))
        .run()
}
