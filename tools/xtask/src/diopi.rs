//! Libraries of operators for hosts of DIOPI.

use crate::failure::Failure;
use crate::process::cargo;
use crate::project;
use crate::tools::python::Venv;

/// What the tests need.
const REQUIREMENTS: &[&str] = &["numpy>=2", "scipy>=1.12", "pytest>=8", "ml_dtypes>=0.5"];

/// Tests the libraries of the CPU device and of the example with a host of our own.
pub fn test() -> Result<(), Failure> {
    cargo()
        .args(["build", "--quiet", "--release"])
        .args(["--package", "tenon-diopi-cpu", "--package", "example-rust-diopi"])
        .run()?;
    let built = project::target().join("release");
    Venv::with("diopi", REQUIREMENTS)?
        .pytest()
        .env("TENON_DIOPI_LIBRARY", built.join("libdiopi_impl.so"))
        .env("TENON_DIOPI_EXAMPLE", built.join("libexample_rust_diopi.so"))
        .within(&project::path("plugins/diopi/tests"))
        .run()
}
