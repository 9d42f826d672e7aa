//! Loads a plugin in a process of its own, because it may crash, and reports each step on standard output.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clap::Args;
use serde::{Deserialize, Serialize};
use tenon::device::Release;
use tenon_loader::{Binding, InstalledPaddle, LoadOptions, PaddleLibraries, Plugin};

use crate::doctor::child::{self, Ended};

/// The name of the hidden command.
const COMMAND: &str = "probe";

/// The start of a line with a report, because the plugin may print too.
const MARK: &str = "tenon-probe ";

/// A plugin that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// The options of the hidden command.
#[derive(Debug, Args)]
pub struct Options {
    file: PathBuf,
    #[arg(long)]
    release: Option<String>,
    #[arg(long)]
    paddle: Option<PathBuf>,
}

/// A step of a plugin's start.
#[derive(Debug, Serialize, Deserialize)]
pub enum Step {
    /// The loader refused the plugin.
    Refused(String),
    /// The plugin filled its table.
    Loaded(Loaded),
    /// `initialize` or the count of devices failed.
    Failed(String),
    /// The plugin has this many devices.
    Devices(usize),
}

/// A plugin that filled its table.
#[derive(Debug, Serialize, Deserialize)]
pub struct Loaded {
    pub device_type: String,
    /// The name of the release whose table it filled.
    pub release: String,
    /// The number of functions that it has.
    pub functions: usize,
    /// Functions of PaddlePaddle that it calls and that were not found.
    pub unresolved: Vec<String>,
}

/// The steps that a plugin came through, and how its process ended.
#[derive(Debug)]
pub struct Probed {
    pub steps: Vec<Step>,
    pub ended: Ended,
}

/// Loads a plugin in another process.
pub fn probe(file: &Path, paddle: Option<&InstalledPaddle>) -> std::io::Result<Probed> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(COMMAND).arg(file);
    if let Some(paddle) = paddle {
        command.arg("--paddle").arg(&paddle.python);
        if let Some(release) = paddle.release() {
            command.args(["--release", release.name()]);
        }
    }
    let ended = child::run(&mut command, LIMIT)?;
    let reports = ended.stdout.lines().filter_map(|line| line.strip_prefix(MARK));
    let steps = reports.filter_map(|report| serde_json::from_str(report).ok()).collect();
    Ok(Probed { steps, ended })
}

/// Loads a plugin in this process, which then ends.
pub fn serve(options: &Options) -> ! {
    load(options);
    // Destructors of the plugin are not what is asked about.
    // SAFETY: ends the process; standard output was flushed after each report.
    unsafe { libc::_exit(0) }
}

fn load(options: &Options) {
    if let Some(python) = &options.paddle
        && let Err(error) = PaddleLibraries::find(python).and_then(|libraries| libraries.open())
    {
        // The plugin may not need them.
        eprintln!("{error}");
    }
    let wanted = options.release.as_deref();
    let preferred = Release::ALL.into_iter().find(|release| Some(release.name()) == wanted);
    let how = LoadOptions { preferred, binding: Binding::LaterForHost, ..LoadOptions::default() };
    let plugin = match Plugin::load(&options.file, &how) {
        Ok(plugin) => plugin,
        Err(error) => return report(&Step::Refused(error.to_string())),
    };
    let partial = plugin.partial();
    report(&Step::Loaded(Loaded {
        device_type: plugin.device_type().to_string_lossy().into_owned(),
        release: plugin.release().map_or("", Release::name).to_owned(),
        functions: plugin.functions().filter(|(function, _)| partial.provides(*function)).count(),
        unresolved: plugin.open_symbols().to_vec(),
    }));
    let device = plugin.device();
    if let Err(error) = device.initialize() {
        return report(&Step::Failed(error.to_string()));
    }
    report(&match device.get_device_count() {
        Ok(count) => Step::Devices(count),
        Err(error) => Step::Failed(error.to_string()),
    });
}

fn report(step: &Step) {
    let mut stdout = std::io::stdout().lock();
    // If the report cannot be written, the parent still sees that the process has ended.
    let _ = serde_json::to_string(step).map(|text| writeln!(stdout, "{MARK}{text}"));
    let _ = stdout.flush();
}
