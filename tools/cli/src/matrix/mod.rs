//! `tenon matrix`: plugins and the releases that each one supports.

mod output;
mod row;
mod runs;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use tenon_loader::{InstalledPaddle, PaddleError, PaddleLibraries};

use crate::Answer;
use row::Row;
use runs::Library;

const AFTER: &str = "\
A plugin made with Tenon has a manifest, which is read without loading the plugin. Another plugin
is loaded in a process of its own, and its release is that of the table it fills.

  yes     the plugin is made for this release
  loads   the release loads it, but the plugin is made for a later one (`since`)
  no      the release does not load it

With --conformance, `tenon check` tests each plugin in each release that has a `yes`, in processes
of their own. The table then shows the numbers of cases.

With --run or --onnxruntime, pip installs each release of PaddlePaddle or ONNX Runtime into a folder
of its own in the cache. Each plugin is used in each release in a process of its own. With
--onnxruntime, plugins are libraries of providers, or names of packages that pip installs.

  runs        operators run on its device
  idle        it works, and computes none of the operators
  no device   it lists no device
  refuses     it is not registered
  left out    a session on it fails, and Python makes one on the CPU in its place
  fails       a session or a run fails, or has a wrong result
  crashes     the process crashes, or does not end
  not loaded  it is no plugin or provider, or cannot be loaded

Exit status: 0 if all plugins were read and no case failed, or each one runs or refuses in each
release; 1 if not, 2 for wrong options.

Examples:
  tenon matrix ./libmy_npu.so
  tenon matrix plugins/*.so --conformance --markdown > matrix.md
  tenon matrix ./libnpu.so --paddle python3      # for a plugin with kernels in C++
  tenon matrix ./libmy_npu.so --json             # also the names of the functions and operators
  tenon matrix ./libmy_npu.so --run python3      # in PaddlePaddle 2.6 to 3.3: downloads some 900 MB
  tenon matrix ./libmy_npu.so onnxruntime-ep-webgpu==0.4.0 --onnxruntime python3
  tenon matrix ./libmy_npu.so --onnxruntime python3 --versions 1.24.1,1.32.0";

/// Lists plugins, and the releases of PaddlePaddle or ONNX Runtime that each one supports.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub struct Options {
    /// Libraries of plugins; with --onnxruntime, also names of packages
    #[arg(value_name = "PLUGIN", required = true)]
    plugins: Vec<PathBuf>,
    /// Test each plugin in each release that it is made for
    #[arg(long)]
    conformance: bool,
    /// Load the libraries of the PaddlePaddle of this Python first, for plugins that call them, such as those with
    /// kernels in C++
    #[arg(long, value_name = "PYTHON")]
    paddle: Option<PathBuf>,
    /// Run plugins in releases of PaddlePaddle, which pip installs for this Python
    #[arg(long, value_name = "PYTHON", group = "runs", conflicts_with_all = ["conformance", "paddle"])]
    run: Option<PathBuf>,
    /// Run providers in releases of ONNX Runtime, which pip installs for this Python
    #[arg(long, value_name = "PYTHON", group = "runs", conflicts_with_all = ["conformance", "paddle"])]
    onnxruntime: Option<PathBuf>,
    /// The versions of the host; default: one of each release from PaddlePaddle 2.6 or ONNX Runtime 1.23 on
    #[arg(long, value_name = "VERSION", value_delimiter = ',', requires = "runs")]
    versions: Vec<String>,
    /// Print a table in Markdown
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Print the table as JSON, with the manifests
    #[arg(long)]
    json: bool,
}

impl Options {
    /// Returns the versions that are wanted, or all.
    fn versions(&self, all: &[&str]) -> Vec<String> {
        let all = || all.iter().map(|version| (*version).to_owned()).collect();
        if self.versions.is_empty() { all() } else { self.versions.clone() }
    }
}

/// The reason for which there is no table.
#[derive(Debug, thiserror::Error)]
pub enum MatrixError {
    #[error(transparent)]
    Paddle(#[from] PaddleError),
    /// No release can be run.
    #[error("{0}")]
    Runs(String),
}

pub fn run(options: &Options) -> Result<Answer, MatrixError> {
    let sound = |rows: &[Library]| rows.iter().all(Library::is_sound);
    let (is_sound, table, json) = if let Some(python) = &options.onnxruntime {
        let versions = options.versions(&runs::onnxruntime::VERSIONS);
        let rows = runs::onnxruntime::run(python, &options.plugins, &versions).map_err(MatrixError::Runs)?;
        let table = output::of_runs(&rows, ["Provider", "Name"]);
        (sound(&rows), table, json!({ "providers": rows }))
    } else if let Some(python) = &options.run {
        let versions = options.versions(&runs::paddle::VERSIONS);
        let rows = runs::paddle::run(python, &options.plugins, &versions).map_err(MatrixError::Runs)?;
        let table = output::of_runs(&rows, ["Plugin", "Device type"]);
        (sound(&rows), table, json!({ "plugins": rows }))
    } else {
        let rows = plugins(options)?;
        (rows.iter().all(Row::is_sound), output::of_plugins(&rows), json!({ "plugins": rows }))
    };
    Ok(Answer {
        text: match (options.json, options.markdown) {
            (true, _) => crate::json(&json),
            (false, true) => output::markdown(&table),
            (false, false) => output::text(&table),
        },
        code: ExitCode::from(u8::from(!is_sound)),
    })
}

/// Examines plugins of PaddlePaddle.
fn plugins(options: &Options) -> Result<Vec<Row>, PaddleError> {
    let python = options.paddle.as_deref();
    let paddle = python.map(InstalledPaddle::find).transpose()?;
    let mut rows: Vec<Row> = options.plugins.iter().map(|plugin| Row::of(plugin, paddle.as_ref())).collect();
    if options.conformance {
        let libraries = python.map(PaddleLibraries::find).transpose()?;
        rows.iter_mut().for_each(|row| row.test(libraries.as_ref()));
    }
    Ok(rows)
}
