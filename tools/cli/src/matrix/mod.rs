//! `tenon matrix`: plugins and the releases that each one supports.

mod output;
mod row;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use tenon_loader::{InstalledPaddle, PaddleError, PaddleLibraries};

use crate::Answer;
use row::Row;

const AFTER: &str = "\
A plugin made with Tenon has a manifest, which is read without loading the plugin. Another plugin
is loaded in a process of its own, and its release is that of the table it fills.

  yes     the plugin is made for this release
  loads   the release loads it, but the plugin is made for a later one: `since` or TENON_DEVICE_SINCE
  no      the release does not load it

With --conformance, `tenon check` tests each plugin in each release that has a `yes`, in processes
of their own. The table then shows the numbers of cases.

Exit status: 0 if all plugins were read and no case failed, 1 if not, 2 for wrong options.

Examples:
  tenon matrix ./libmy_npu.so
  tenon matrix plugins/*.so --conformance --markdown > matrix.md
  tenon matrix ./libnpu.so --paddle python3      # for a plugin with kernels in C++
  tenon matrix ./libmy_npu.so --json             # also the names of the functions and operators";

/// Lists plugins, and the releases of PaddlePaddle that each one supports.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub struct Options {
    /// Libraries of plugins
    #[arg(value_name = "PLUGIN", required = true)]
    plugins: Vec<PathBuf>,
    /// Test each plugin in each release that it is made for
    #[arg(long)]
    conformance: bool,
    /// Load the libraries of the PaddlePaddle of this Python first, for plugins that call them, such as those with
    /// kernels in C++
    #[arg(long, value_name = "PYTHON")]
    paddle: Option<PathBuf>,
    /// Print a table in Markdown
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Print the table as JSON, with the manifests
    #[arg(long)]
    json: bool,
}

pub fn run(options: &Options) -> Result<Answer, PaddleError> {
    let python = options.paddle.as_deref();
    let paddle = python.map(InstalledPaddle::find).transpose()?;
    let mut rows: Vec<Row> = options.plugins.iter().map(|plugin| Row::of(plugin, paddle.as_ref())).collect();
    if options.conformance {
        let libraries = python.map(PaddleLibraries::find).transpose()?;
        rows.iter_mut().for_each(|row| row.test(libraries.as_ref()));
    }
    let is_sound = rows.iter().all(Row::is_sound);
    Ok(Answer {
        text: match (options.json, options.markdown) {
            (true, _) => output::json(&rows),
            (false, true) => output::markdown(&rows),
            (false, false) => output::text(&rows),
        },
        code: ExitCode::from(u8::from(!is_sound)),
    })
}
