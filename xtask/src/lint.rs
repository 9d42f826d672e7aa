//! Format, lints and type checks.

use crate::process::{Failure, cargo, step};
use crate::project;
use crate::python::Venv;

const PYTHON: &[&str] = &["plugins/paddle/tests", "plugins/paddle/demo", "plugins/paddle/python"];

/// Everything that can be said of the sources without running them.
pub fn run() -> Result<(), Failure> {
    cargo().args(["fmt", "--all", "--check"]).run()?;
    cargo().args(["clippy", "--quiet", "--workspace", "--all-targets", "--", "--deny", "warnings"]).run()?;
    cargo()
        .args(["doc", "--quiet", "--workspace", "--no-deps", "--document-private-items"])
        .env("RUSTDOCFLAGS", "--deny warnings --allow rustdoc::private_intra_doc_links")
        .run()?;
    let venv = Venv::with("lint", &["ruff==0.14.5", "mypy==1.18.2", "pytest>=8", "numpy"])?;
    // Each folder has settings of its own, which ruff finds by itself.
    step(venv.program("ruff")).args(["format", "--check", "--quiet"]).args(PYTHON).run()?;
    step(venv.program("ruff")).args(["check", "--quiet", "--no-cache"]).args(PYTHON).run()?;
    step(venv.program("mypy"))
        .args(["--no-error-summary", "--cache-dir"])
        .arg(project::cache("mypy"))
        .args(["--config-file", "pyproject.toml"])
        .args(PYTHON.iter().map(|folder| project::path(folder)))
        .within(&project::path("plugins/paddle/tests"))
        .run()?;
    Ok(())
}
