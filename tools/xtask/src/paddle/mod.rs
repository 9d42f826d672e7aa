//! PaddlePaddle: its wheels, its headers, and running the plugin inside it.

pub mod examples;
pub mod hidden;
pub mod watch;

use std::fs;
use std::path::PathBuf;

use clap::Args;

use crate::failure::{Failure, at};
use crate::process::{cargo, step};
use crate::project;
use crate::sdk::wheel::{self, Wheel};
use crate::side_by_side;
use crate::tools::python::Venv;
use crate::tools::system_python;

/// A release that the plugin is tested with.
pub struct Release {
    /// The exact version on PyPI.
    pub version: &'static str,
    /// Further requirements for this version.
    pub beside: &'static [&'static str],
}

/// What `fleet` needs before 3.3: it reads a member of messages that protobuf 7 does not have.
const OLDER_PROTOBUF: &str = "protobuf<7";

/// One version of each release in the spec, newest first.
pub const RELEASES: &[Release] = &[
    Release { version: "3.3.1", beside: &[] },
    Release { version: "3.2.2", beside: &[OLDER_PROTOBUF] },
    Release { version: "3.1.1", beside: &[OLDER_PROTOBUF] },
    Release { version: "3.0.0", beside: &[OLDER_PROTOBUF] },
    Release { version: "2.6.2", beside: &["numpy<2", "setuptools", OLDER_PROTOBUF] },
];

/// Returns the wheel of a version. Downloads it from PyPI unless an earlier run did.
fn download(version: &str) -> Result<PathBuf, Failure> {
    let folder = project::cache("wheels");
    let prefix = format!("paddlepaddle-{version}-");
    let find = || -> Option<PathBuf> {
        let entries = fs::read_dir(&folder).ok()?;
        entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix)))
    };
    if let Some(wheel) = find() {
        return Ok(wheel);
    }
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    eprintln!("downloading PaddlePaddle {version}");
    // Downloads to a temporary folder, so that the next run does not use an incomplete wheel.
    let partial = folder.join(format!("{version}.partial"));
    step(system_python())
        .args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"])
        .arg("--dest")
        .arg(&partial)
        .arg(format!("paddlepaddle=={version}"))
        .run()?;
    for entry in fs::read_dir(&partial).map_err(at(&partial))? {
        let path = entry.map_err(at(&partial))?.path();
        let Some(name) = path.file_name() else { continue };
        let to = folder.join(name);
        fs::rename(&path, &to).map_err(at(&to))?;
    }
    fs::remove_dir_all(&partial).map_err(at(&partial))?;
    find()
        .ok_or_else(|| Failure::Wrong(format!("PyPI has no wheel of PaddlePaddle {version} for this Python")))
}

/// Extracts from a wheel the headers that the layout tests compile, and the headers that these include.
const UNPACK: &str = r"
import re, sys, zipfile
wheel, target = sys.argv[1:]
wanted = re.compile(r'paddle/include/paddle/(phi/backends/device_ext|phi/capi/include/c_\w+|'
                    r'phi/common/(bfloat16|complex|float16)|phi/core/hostdevice|'
                    r'common/(hostdevice|backend_header))\.h')
with zipfile.ZipFile(wheel) as archive:
    archive.extractall(target, filter(wanted.fullmatch, archive.namelist()))
";

/// Returns the folder of the headers of a version.
fn headers_of(version: &str) -> PathBuf {
    project::path("target/paddle-headers").join(version)
}

/// Returns true if the headers of all releases are extracted.
pub fn has_headers() -> bool {
    RELEASES.iter().all(|release| headers_of(release.version).exists())
}

/// Downloads the headers of all releases. Returns the folder that contains one folder per release.
pub fn headers() -> Result<PathBuf, Failure> {
    for release in RELEASES {
        extract(release.version)?;
    }
    Ok(project::path("target/paddle-headers"))
}

/// Returns the folder of the headers of a version. Downloads its wheel unless an earlier run did.
fn extract(version: &str) -> Result<PathBuf, Failure> {
    let folder = headers_of(version);
    if folder.exists() {
        return Ok(folder);
    }
    let wheel = download(version)?;
    // Extracts to a temporary folder, so that the next run does not use an incomplete one.
    let partial = folder.with_file_name(format!("{version}.partial"));
    fs::create_dir_all(&partial).map_err(at(&partial))?;
    step(system_python()).args(["-c", UNPACK]).arg(&wheel).arg(&partial).run()?;
    fs::rename(&partial, &folder).map_err(at(&folder))?;
    eprintln!("headers of PaddlePaddle {version}: {}", folder.display());
    Ok(folder)
}

/// Creates a virtual environment with a version of PaddlePaddle and the installed plugin.
fn environment(release: &Release, wheels: &[PathBuf]) -> Result<Venv, Failure> {
    let paddle = download(release.version)?;
    let paddle = paddle.to_string_lossy();
    let requirements: Vec<&str> =
        std::iter::once(&*paddle).chain(release.beside.iter().copied()).chain(["pytest>=8"]).collect();
    let venv = Venv::with(&format!("paddle-{}", release.version), &requirements)?;
    wheels.iter().try_for_each(|wheel| venv.put(wheel))?;
    Ok(venv)
}

/// Builds what people install: the plugin, and the Python SDK, which has the report.
fn wheels() -> Result<[PathBuf; 2], Failure> {
    Ok([wheel::build(Wheel::Paddle, None)?, wheel::build(Wheel::Sdk, None)?])
}

/// Creates the virtual environment of the newest release, with the plugin.
pub fn newest() -> Result<Venv, Failure> {
    environment(&RELEASES[0], &wheels()?)
}

/// Runs the tests of the plugin inside the newest or inside each release. They load the example plugins too, which
/// [`examples::build`] has built.
pub fn test(each: bool) -> Result<(), Failure> {
    let wheels = wheels()?;
    let releases = if each { RELEASES } else { &RELEASES[..1] };
    test_onednn(&environment(&RELEASES[0], &wheels)?)?;
    side_by_side::each(releases, |release| {
        let venv = environment(release, &wheels)?;
        venv.pytest()
            .env("TENON_EXAMPLES", examples::folder())
            .within(&project::path("plugins/paddle/tests"))
            .run_beside_others(&format!("PaddlePaddle {}", release.version))
    })
}

/// The tests of every operator that oneDNN may compute: products of matrices, convolutions, attention and recurrent
/// networks.
const PROVIDED: &[&str] = &["test_networks.py", "test_products.py", "test_dygraph.py", "test_recurrent.py"];

/// Runs the tests of `tenon-onednn` with the library in PaddlePaddle's wheel, and those of [`PROVIDED`] operators in
/// PaddlePaddle without it and with it wherever it can compute.
fn test_onednn(venv: &Venv) -> Result<(), Failure> {
    cargo()
        .args(["test", "--quiet", "--workspace", "--test", "onednn"])
        .env("TENON_DNNL", onednn(venv)?)
        .run()?;
    for (value, title) in [("off", "PaddlePaddle without oneDNN"), ("always", "PaddlePaddle with oneDNN")] {
        venv.pytest()
            .args(PROVIDED)
            .env("TENON_DNNL", value)
            .within(&project::path("plugins/paddle/tests"))
            .run_beside_others(title)?;
    }
    Ok(())
}

/// Returns the path of the oneDNN library in PaddlePaddle's wheel.
fn onednn(venv: &Venv) -> Result<String, Failure> {
    let library = "import paddle, pathlib; print(pathlib.Path(paddle.__file__).parent / 'libs/libdnnl.so.3')";
    Ok(step(venv.python()).args(["-c", library]).read()?.trim().to_owned())
}

/// Measures the share of the processor's peak that operators reach on one thread, with oneDNN and without it.
pub fn bench_peak() -> Result<(), Failure> {
    let library = onednn(&newest()?)?;
    for library in [library.as_str(), "off"] {
        cargo()
            .args(["bench", "--quiet", "--package", "tenon-cpu-operators", "--bench", "peak"])
            .env("TENON_DNNL", library)
            .env("OMP_NUM_THREADS", "1")
            .run()?;
    }
    Ok(())
}

/// Options of `cargo xtask demo`.
#[derive(Args)]
pub struct DemoOptions {
    /// The version of PaddlePaddle
    #[arg(long, default_value = RELEASES[0].version)]
    paddle: String,
    /// Arguments for the demo script; `-- --help` lists them
    #[arg(last = true)]
    rest: Vec<String>,
}

/// Trains on the plugin's device and on PaddlePaddle's CPU.
pub fn demo(options: &DemoOptions) -> Result<(), Failure> {
    let release = find(&options.paddle)?;
    let venv = environment(release, &wheels()?)?;
    step(venv.python()).arg(project::path("plugins/paddle/demo/train.py")).args(&options.rest).run()?;
    Ok(())
}

/// Measures models and operators on the plugin's device against PaddlePaddle's CPU, in the newest release.
pub fn bench(script: &str, arguments: &[String]) -> Result<(), Failure> {
    let script = project::path("plugins/paddle/benchmarks").join(script);
    step(newest()?.python()).arg(script).args(arguments).run()
}

/// Options of `cargo xtask coverage`.
#[derive(Args)]
pub struct CoverageOptions {
    /// Only this version of PaddlePaddle
    #[arg(long)]
    paddle: Option<String>,
    /// Arguments for the script; `-- --help` lists them
    #[arg(last = true)]
    rest: Vec<String>,
}

/// Reports in each release which operators of common networks run on the device, and what the others cost.
pub fn coverage(options: &CoverageOptions) -> Result<(), Failure> {
    let releases = chosen(options.paddle.as_deref())?;
    let wheels = wheels()?;
    for release in releases {
        println!("PaddlePaddle {}", release.version);
        let venv = environment(release, &wheels)?;
        let script = project::path("plugins/paddle/demo/coverage.py");
        step(venv.python()).arg(script).args(&options.rest).run()?;
    }
    Ok(())
}

/// Returns the release with a version, or all.
fn chosen(version: Option<&str>) -> Result<&'static [Release], Failure> {
    Ok(version.map(find).transpose()?.map_or(RELEASES, std::slice::from_ref))
}

/// Returns the release with a version.
fn find(version: &str) -> Result<&'static Release, Failure> {
    RELEASES.iter().find(|release| release.version == version).ok_or_else(|| {
        let known: Vec<&str> = RELEASES.iter().map(|release| release.version).collect();
        Failure::Wrong(format!("PaddlePaddle {version} is not one of {}", known.join(", ")))
    })
}
