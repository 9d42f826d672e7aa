//! Tests of the Python SDK: installs the wheel into an environment of each installed Python, and runs the tests there.

use std::path::Path;

use crate::failure::Failure;
use crate::paddle::examples;
use crate::process::step;
use crate::project;
use crate::sdk::wheel::{self, Wheel};
use crate::side_by_side;
use crate::tools::python::{self, MYPY, PYRIGHT, Venv};

/// The requirements of the tests for every Python.
const TESTS: &[&str] = &["hypothesis>=6", "ml_dtypes", "numpy", "pytest>=8"];
/// The requirements of the tests that run once: tests of the wheel, and of the types of the package.
const ONCE: &[&str] = &["auditwheel>=6", "hatchling>=1.27", "matplotlib", "pyelftools>=0.31", "twine>=6"];

/// The folder of the tests of the wheel, its build and its types. Their results do not depend on the Python version.
const PACKAGING: &str = "tests/packaging";
/// The file name suffix of tests that need PaddlePaddle.
const PADDLE: &str = "_paddle.py";

/// Runs the tests with the newest or with each installed Python. The newest one also tests the wheel itself.
pub fn test(each: bool) -> Result<(), Failure> {
    let wheel = wheel::build(Wheel::Sdk, None)?;
    let interpreters = python::interpreters()?;
    let wanted = if each { interpreters.len() } else { 1 };
    side_by_side::each(&interpreters[..wanted], |interpreter| {
        let newest = interpreter.version == interpreters[0].version;
        let checkers = [MYPY, PYRIGHT];
        let requirements = if newest { [TESTS, ONCE, &checkers].concat() } else { TESTS.to_vec() };
        let venv = Venv::of(interpreter, "sdk", &requirements)?;
        venv.put(&wheel)?;
        let mut tests = pytest(&venv, &wheel).arg(format!("--ignore-glob=*{PADDLE}"));
        if !newest {
            tests = tests.arg("--ignore").arg(PACKAGING);
        }
        tests.run_beside_others(&format!("Python {}", interpreter.version))
    })
}

/// Runs the tests that need PaddlePaddle, in an environment that has it. They load a plugin that [`examples::build`] has
/// built.
pub fn test_with_paddle(venv: &Venv) -> Result<(), Failure> {
    let mut tests = project::entries(&project::path("sdk-py/tests"))?;
    tests.retain(|path| path.to_string_lossy().ends_with(PADDLE));
    if tests.is_empty() {
        return Err(Failure::Wrong(format!("`sdk-py/tests` has no `test_*{PADDLE}`")));
    }
    let wheel = wheel::build(Wheel::Sdk, None)?;
    venv.pip(["hypothesis>=6"])?;
    venv.put(&wheel)?;
    pytest(venv, &wheel).args(tests).env("TENON_EXAMPLES", examples::folder()).run()
}

fn pytest(venv: &Venv, wheel: &Path) -> crate::process::Step {
    venv.pytest().env("TENON_WHEEL", wheel).within(&project::path("sdk-py"))
}

/// The packages that the benchmarks use as baselines.
const COMPARED: &[&str] = &["cffi>=1.16", "numpy"];

/// Measures calls and copies, with ctypes, cffi and NumPy as baselines.
pub fn bench() -> Result<(), Failure> {
    let wheel = wheel::build(Wheel::Sdk, None)?;
    let venv = Venv::of(&python::newest()?, "bench", COMPARED)?;
    venv.put(&wheel)?;
    for name in ["calls.py", "copies.py"] {
        step(venv.python()).arg(project::path("sdk-py/benchmarks").join(name)).run()?;
    }
    Ok(())
}

/// Runs the command `tenon`, and draws its output.
pub fn pictures() -> Result<(), Failure> {
    let wheel = wheel::build(Wheel::Sdk, None)?;
    let venv = Venv::of(&python::newest()?, "pictures", &["matplotlib"])?;
    venv.put(&wheel)?;
    examples::build()?;
    step(venv.python())
        .arg(project::path("sdk-py/tools/pictures.py"))
        .arg(project::path("docs/src/guide"))
        .arg(examples::folder().join("c/libc_plugin.so"))
        .run()
}
