//! Libraries of operators for hosts of DIOPI.

use crate::failure::Failure;
use crate::packages;
use crate::process::step;
use crate::project;
use crate::tools::python::Venv;

/// The packages that the tests need.
const REQUIREMENTS: &[&str] =
    &["numpy>=2", "scipy>=1.12", "pytest>=8", "ml_dtypes>=0.5", "hypothesis==6.170.15"];

/// Measures operators of the CPU device against NumPy and SciPy, and against PyTorch if it is installed.
pub fn bench(arguments: &[String]) -> Result<(), Failure> {
    packages::build(&["tenon-diopi-cpu"]).arg("--release").run()?;
    step(Venv::with("diopi", REQUIREMENTS)?.python())
        .arg(project::path("plugins/diopi/benchmarks/operators.py"))
        .args(arguments)
        .env("TENON_DIOPI_LIBRARY", project::target().join("release/libdiopi_impl.so"))
        .env("PYTHONPATH", project::path("plugins/diopi/tests"))
        .env("OMP_NUM_THREADS", "1")
        .env("OPENBLAS_NUM_THREADS", "1")
        .env("TENON_CPU_THREADS", "1")
        .run()
}

/// Tests the libraries of the CPU device and of the example with a host of our own.
pub fn test() -> Result<(), Failure> {
    packages::build(&["tenon-diopi-cpu", "example-rust-diopi"]).arg("--release").run()?;
    let built = project::target().join("release");
    Venv::with("diopi", REQUIREMENTS)?
        .pytest()
        .env("TENON_DIOPI_LIBRARY", built.join("libdiopi_impl.so"))
        .env("TENON_DIOPI_EXAMPLE", built.join("libexample_rust_diopi.so"))
        .within(&project::path("plugins/diopi/tests"))
        .run()
}
