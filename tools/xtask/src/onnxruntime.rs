//! ONNX Runtime: its releases, and running the plugin inside them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, at};
use crate::packages;
use crate::paddle::examples;
use crate::process::{Step, step};
use crate::project;
use crate::sdk::wheel::{self, Wheel};
use crate::tools::python::Venv;

/// A version of each release that the plugin runs in, newest first, and what is tested in it.
const RELEASES: &[(&str, Tests)] = &[
    ("1.32.0", Tests::All),
    ("1.31.1", Tests::Sessions),
    ("1.30.0", Tests::Sessions),
    ("1.29.0", Tests::Sessions),
    ("1.28.0", Tests::Sessions),
    ("1.27.0", Tests::Sessions),
    ("1.26.0", Tests::Sessions),
    ("1.25.1", Tests::Sessions),
    ("1.24.4", Tests::Sessions),
    ("1.24.1", Tests::All),
];

/// The newest version that the plugin refuses.
const REFUSED: &str = "1.23.2";

/// What is tested in a release.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tests {
    /// All tests, with memory of the host and with memory of its own.
    All,
    /// Sessions, memory and errors, with memory of its own. ONNX's own cases and models take a minute.
    Sessions,
}

/// The packages that the tests need, and those that ONNX Runtime does.
const REQUIREMENTS: &[&str] = &[
    "numpy>=2",
    "onnx==1.23.2",
    "ml_dtypes>=0.5",
    "flatbuffers>=24",
    "protobuf>=5",
    "packaging>=24",
    "pyyaml>=6",
    "pytest>=8",
];

/// Returns the folder with a version of ONNX Runtime, without its requirements: ten versions share one environment.
fn release(venv: &Venv, version: &str) -> Result<PathBuf, Failure> {
    let folder = project::cache("onnxruntime").join(version);
    if folder.exists() {
        return Ok(folder);
    }
    eprintln!("downloading ONNX Runtime {version}");
    let partial = folder.with_extension("partial");
    if partial.exists() {
        fs::remove_dir_all(&partial).map_err(at(&partial))?;
    }
    step(venv.python())
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target"])
        .arg(&partial)
        .arg(format!("onnxruntime=={version}"))
        .run()?;
    fs::rename(&partial, &folder).map_err(at(&folder))?;
    Ok(folder)
}

/// Builds the plugin, and returns its path.
fn plugin() -> Result<PathBuf, Failure> {
    packages::build(&["tenon-onnxruntime-cpu"]).arg("--release").run()?;
    Ok(project::target().join("release/libtenon_onnxruntime_cpu.so"))
}

/// Runs the tests of the plugin inside the newest or inside each release. They load the example plugins too, which
/// [`examples::build`] has built.
pub fn test(each: bool) -> Result<(), Failure> {
    let plugin = plugin()?;
    let venv = Venv::with("onnxruntime", REQUIREMENTS)?;
    // It has the report on programs.
    venv.put(&wheel::build(Wheel::Sdk, None)?)?;
    let releases = if each { RELEASES } else { &RELEASES[..1] };
    for (version, tests) in releases {
        let folder = release(&venv, version)?;
        let memories: &[&str] = if *tests == Tests::All { &["host", "device"] } else { &["device"] };
        for memory in memories {
            eprintln!("ONNX Runtime {version}, memory of the {memory}");
            let mut pytest = venv.pytest();
            if *tests == Tests::Sessions {
                pytest = pytest.args(["test_provider.py", "test_control_flow.py", "test_vendors.py"]);
            } else if (*version, *memory) != (RELEASES[0].0, "host") {
                // They do not depend on the memory, and build wheels and libraries.
                let others = ["test_new_project.py", "test_doctor.py", "test_check.py"];
                pytest = pytest.args(others.map(|file| format!("--ignore={file}")));
            }
            pytest
                .env("PYTHONPATH", &folder)
                .env("TENON_ONNXRUNTIME_LIBRARY", &plugin)
                .env("TENON_ONNXRUNTIME_REFUSED", release(&venv, REFUSED)?)
                .env("TENON_ONNXRUNTIME_MEMORY", memory)
                .env("TENON_EXAMPLES", examples::folder())
                .env("TENON_PLUGIN_ARCHIVE", examples::archive())
                .within(&project::path("plugins/onnxruntime/tests"))
                .run()?;
        }
    }
    test_wheel(&venv)
}

/// Tests the content of the plugin's wheel, and that it runs in the newest release.
fn test_wheel(venv: &Venv) -> Result<(), Failure> {
    let wheel = wheel::build(Wheel::Onnxruntime, None)?;
    let (newest, _) = RELEASES[0];
    venv.pytest()
        .env("TENON_WHEEL", wheel)
        .env("TENON_ONNXRUNTIME", release(venv, newest)?)
        .within(&Wheel::Onnxruntime.project())
        .run()
}

/// Measures models on the device and on ONNX Runtime's CPU provider, in turns.
pub fn bench(arguments: &[String]) -> Result<(), Failure> {
    let plugin = plugin()?;
    let venv = Venv::with("onnxruntime", REQUIREMENTS)?;
    // The extra `onednn` of the wheel installs the same.
    step(venv.python())
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "onednn-cpu-gomp==2023.2.0"])
        .run()?;
    script(&venv, "compare.py", &plugin)?.args(arguments).run()
}

/// Measures what the layers in front of a provider cost.
pub fn bench_layers() -> Result<(), Failure> {
    let plugin = plugin()?;
    packages::build(&["tenon-onnxruntime-layers"]).arg("--release").run()?;
    let layers = project::target().join("release/libtenon_onnxruntime_layers.so");
    script(&Venv::with("onnxruntime", REQUIREMENTS)?, "layers.py", &plugin)?.arg(layers).run()
}

/// Returns the step that runs a benchmark in the newest release.
fn script(venv: &Venv, name: &str, plugin: &Path) -> Result<Step, Failure> {
    let (newest, _) = RELEASES[0];
    let folders = [release(venv, newest)?, project::path("plugins/onnxruntime/tests")];
    Ok(step(venv.python())
        .arg(project::path("plugins/onnxruntime/benchmarks").join(name))
        .env("TENON_ONNXRUNTIME_LIBRARY", plugin)
        .env("PYTHONPATH", std::env::join_paths(folders).unwrap_or_default()))
}
