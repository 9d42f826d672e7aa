//! PaddlePaddle: its wheels, its headers, and the runs of the plugin inside it.

pub mod examples;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::process::{Failure, at, step};
use crate::project;
use crate::sdk::wheel::{self, Wheel};
use crate::tools::python::{self, Venv};

/// A release that the plugin is tested with.
pub struct Release {
    /// The exact version on PyPI.
    pub version: &'static str,
    /// What has to be pinned beside it.
    pub beside: &'static [&'static str],
}

/// One version of each release in the spec, newest first.
pub const RELEASES: &[Release] = &[
    Release { version: "3.3.1", beside: &[] },
    Release { version: "3.2.2", beside: &[] },
    Release { version: "3.1.1", beside: &[] },
    Release { version: "3.0.0", beside: &[] },
    Release { version: "2.6.2", beside: &["numpy<2", "setuptools"] },
];

/// The wheel of a version, from PyPI or from an earlier run.
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
    // A download that was cut off must not be taken for the wheel by the next run.
    let partial = folder.join(format!("{version}.partial"));
    step(python::system())
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

/// Unpacks what of a wheel the layout tests compile: the declarations, and what they include.
const UNPACK: &str = r"
import re, sys, zipfile
wheel, target = sys.argv[1:]
wanted = re.compile(r'paddle/include/paddle/(phi/backends/device_ext|phi/capi/include/c_\w+|'
                    r'phi/common/(bfloat16|complex|float16)|phi/core/hostdevice|'
                    r'common/(hostdevice|backend_header))\.h')
with zipfile.ZipFile(wheel) as archive:
    archive.extractall(target, filter(wanted.fullmatch, archive.namelist()))
";

/// The folder of a release's headers.
fn headers_of(release: &Release) -> PathBuf {
    project::path("target/paddle-headers").join(release.version)
}

/// Whether the headers of every release are there.
pub fn has_headers() -> bool {
    RELEASES.iter().all(|release| headers_of(release).exists())
}

/// Fetches the headers of every release; the folder that holds one folder for each.
pub fn headers() -> Result<PathBuf, Failure> {
    let root = project::path("target/paddle-headers");
    for release in RELEASES {
        let folder = headers_of(release);
        if folder.exists() {
            continue;
        }
        let wheel = download(release.version)?;
        fs::create_dir_all(&root).map_err(at(&root))?;
        // A folder that is only half unpacked must not be taken for a whole one by the next run.
        let partial = root.join(format!("{}.partial", release.version));
        step(python::system()).args(["-c", UNPACK]).arg(&wheel).arg(&partial).run()?;
        fs::rename(&partial, &folder).map_err(at(&folder))?;
        eprintln!("headers of PaddlePaddle {}: {}", release.version, folder.display());
    }
    Ok(root)
}

/// An environment with a version of PaddlePaddle and the plugin, as a user would have it.
fn environment(release: &Release, plugin: &Path) -> Result<Venv, Failure> {
    let paddle = download(release.version)?;
    let paddle = paddle.to_string_lossy();
    let requirements: Vec<&str> =
        std::iter::once(&*paddle).chain(release.beside.iter().copied()).chain(["pytest>=8"]).collect();
    let venv = Venv::with(&format!("paddle-{}", release.version), &requirements)?;
    venv.put(plugin)?;
    Ok(venv)
}

/// What is tested inside a release: built once, and the same for all of them.
pub struct Built {
    /// The plugin's wheel.
    plugin: PathBuf,
    /// The folder of the examples.
    examples: PathBuf,
}

impl Built {
    /// Builds it.
    pub fn new() -> Result<Self, Failure> {
        Ok(Built { plugin: wheel::build(Wheel::Paddle, None)?, examples: examples::build()? })
    }
}

/// The environment of the newest release, with the plugin in it.
pub fn newest(built: &Built) -> Result<Venv, Failure> {
    environment(&RELEASES[0], &built.plugin)
}

/// Runs the plugin's tests inside a release.
pub fn test(release: &Release, built: &Built) -> Result<(), Failure> {
    let venv = environment(release, &built.plugin)?;
    let tests =
        venv.pytest().env("TENON_EXAMPLES", &built.examples).within(&project::path("plugins/paddle/tests"));
    tests.run_beside_others(&format!("PaddlePaddle {}", release.version))
}

/// How the demonstration is run.
#[derive(Args)]
pub struct DemoOptions {
    /// The version of PaddlePaddle
    #[arg(long, default_value = RELEASES[0].version)]
    paddle: String,
    /// Handed on to the demonstration; `-- --help` shows what it takes
    #[arg(last = true)]
    rest: Vec<String>,
}

/// Trains on the device and on PaddlePaddle's own CPU.
pub fn demo(options: &DemoOptions) -> Result<(), Failure> {
    let Some(release) = RELEASES.iter().find(|release| release.version == options.paddle) else {
        let known: Vec<&str> = RELEASES.iter().map(|release| release.version).collect();
        return Err(Failure::Wrong(format!(
            "PaddlePaddle {} is not one of {}",
            options.paddle,
            known.join(", ")
        )));
    };
    let venv = environment(release, &wheel::build(Wheel::Paddle, None)?)?;
    step(venv.python()).arg(project::path("plugins/paddle/demo/train.py")).args(&options.rest).run()?;
    Ok(())
}
