//! Plugins in releases of PaddlePaddle, from real runs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;
use tenon_loader::{exports, foreign_kind};

use super::Library;
use super::packages::{Needs, Packages};
use crate::doctor::child;
use crate::doctor::verdict::Verdict;

/// A version of each release that the spec describes, oldest first.
pub const VERSIONS: [&str; 5] = ["2.6.2", "3.0.0", "3.1.1", "3.2.2", "3.3.1"];

/// What releases need that their packages do not say.
const BESIDE: [(&str, &[&str]); 1] = [("2.6.", &["numpy<2", "setuptools"])];

const PROGRAM: &str = include_str!("run_paddle.py");
/// The start of a line with a report, because PaddlePaddle prints too.
const MARK: &str = "tenon-matrix ";
/// A release that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(120);
/// The function that PaddlePaddle looks up.
const ENTRY: &str = "InitPlugin";
/// What the program computes.
const EXPECTED: [f64; 4] = [2.0, 0.0, 6.0, 0.0];
/// Most lines of an output that are shown.
const LINES: usize = 4;

/// A report of the program.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Report {
    Begun(Step),
    /// The device types of the plugin.
    Types(Vec<String>),
    /// The operators of the program that the plugin has kernels for.
    Kernels(Vec<String>),
    Ran(Vec<f64>),
    /// The last step has raised an exception.
    Failed(String),
}

/// A step of the program.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Step {
    Import,
    Start,
    Run,
    End,
}

impl Step {
    /// Returns what the process was doing, as the end of a sentence.
    fn doing(self) -> &'static str {
        match self {
            Self::Import => "while it imported PaddlePaddle, which loads the plugin",
            Self::Start => "while it set the device",
            Self::Run => "while it ran operators",
            Self::End => "when it was about to end",
        }
    }
}

/// The verdict, the reason for it unless it is the best, and the device type.
type Found = (Verdict, Option<String>, Option<String>);

/// Runs plugins in versions of PaddlePaddle, which pip installs for a Python.
///
/// # Errors
/// A sentence, if the Python does not start.
pub fn run(python: &Path, plugins: &[PathBuf], versions: &[String]) -> Result<Vec<Library>, String> {
    let packages = Packages::of(python)?;
    let mut rows: Vec<Library> =
        plugins.iter().map(|plugin| Library::named(&plugin.to_string_lossy())).collect();
    for version in versions {
        let beside = BESIDE.iter().find(|(release, _)| version.starts_with(release));
        let beside = beside.map_or(&[][..], |(_, beside)| beside);
        let host = packages.folder(&format!("paddlepaddle=={version}"), beside, Needs::Own);
        for (row, plugin) in rows.iter_mut().zip(plugins) {
            let (verdict, reason, device) = match &host {
                Err(reason) => (Verdict::Unknown, Some(reason.clone()), None),
                Ok(host) => examine(plugin, python, host),
            };
            row.add(version, verdict, reason, device);
        }
    }
    Ok(rows)
}

/// Uses a plugin in the PaddlePaddle of a folder.
fn examine(plugin: &Path, python: &Path, host: &Path) -> Found {
    if let Some(kind) = foreign_kind(plugin) {
        return (Verdict::NotLoaded, Some(format!("it is not a library, but {kind}")), None);
    }
    match exports(plugin, ENTRY) {
        Err(error) => return (Verdict::NotLoaded, Some(error.to_string()), None),
        Ok(false) => {
            let reason = format!("it does not export `{ENTRY}`, which PaddlePaddle looks up");
            return (Verdict::NotLoaded, Some(reason), None);
        }
        Ok(true) => {}
    }
    match try_out(plugin, python, host) {
        Ok(ended) => judge(&ended, &plugin.file_name().unwrap_or_default().to_string_lossy()),
        Err(error) => (Verdict::Unknown, Some(format!("it cannot be tried: {error}")), None),
    }
}

/// Runs the program with a folder of plugins that contains only this one.
fn try_out(plugin: &Path, python: &Path, host: &Path) -> io::Result<child::Ended> {
    let folder = std::env::temp_dir().join(format!("tenon-matrix-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let name = plugin.file_name().unwrap_or_default();
    let ended = std::os::unix::fs::symlink(plugin.canonicalize()?, folder.join(name)).and_then(|()| {
        let others = std::env::var_os("PYTHONPATH").unwrap_or_default();
        let folders = std::iter::once(host.to_path_buf()).chain(std::env::split_paths(&others));
        let path = std::env::join_paths(folders).map_err(io::Error::other)?;
        let mut command = Command::new(python);
        command.args(["-c", PROGRAM]).env("PYTHONPATH", path).env("CUSTOM_DEVICE_ROOT", &folder);
        // An imported module of the current folder would stand in for that of the release.
        command.current_dir(&folder);
        child::run(&mut command, LIMIT)
    });
    // A folder that stays does no harm: the next one of this process replaces its content.
    let _ = fs::remove_dir_all(&folder);
    ended
}

fn judge(ended: &child::Ended, plugin: &str) -> Found {
    let reports: Vec<Report> =
        ended.stdout.lines().filter_map(|line| serde_json::from_str(line.strip_prefix(MARK)?).ok()).collect();
    let said = || match said(&ended.stderr, plugin) {
        last if last.is_empty() => last,
        last => format!(". It said:\n{last}"),
    };
    let (mut step, mut device, mut own, mut ran, mut failed) = (Step::Import, None, Vec::new(), None, None);
    for report in reports {
        match report {
            Report::Begun(begun) => step = begun,
            Report::Types(types) => device = Some(types.into_iter().next()),
            Report::Kernels(kernels) => own = kernels,
            Report::Ran(result) => ran = Some(result),
            Report::Failed(reason) => failed = Some(reason),
        }
    }
    let name = device.clone().flatten();
    if let Some(reason) = failed {
        return (Verdict::Fails, Some(format!("{reason} ({})", step.doing())), name);
    }
    if !ended.status.is_some_and(|status| status.success()) {
        let how = child::describe(ended.status);
        return (Verdict::Crashes, Some(format!("the process {how} {}{}", step.doing(), said())), name);
    }
    match (device, ran) {
        (Some(None), _) => {
            (Verdict::NoDevice, Some(format!("PaddlePaddle lists no custom device{}", said())), None)
        }
        (_, Some(found)) if found != EXPECTED => {
            (Verdict::Fails, Some(format!("relu(x + x) is {found:?} in place of {EXPECTED:?}")), name)
        }
        (_, Some(_)) if own.is_empty() => {
            let reason = "it has kernels for neither `add` nor `relu`, which run on the CPU";
            (Verdict::Idle, Some(reason.to_owned()), name)
        }
        (_, Some(_)) => (Verdict::Runs, None, name),
        (_, None) => (Verdict::Unknown, Some(format!("the program reported nothing{}", said())), name),
    }
}

/// Returns what was said about a plugin, or else the last lines, without those of PaddlePaddle's log that are no warnings.
fn said(output: &str, plugin: &str) -> String {
    let is_information = |line: &&str| {
        let mut start = line.chars();
        start.next() == Some('I') && start.take(4).all(|digit| digit.is_ascii_digit()) && line.contains("] ")
    };
    let lines: Vec<&str> = output.lines().filter(|line| !is_information(line)).collect();
    let about: Vec<&str> = lines.iter().copied().filter(|line| line.contains(plugin)).collect();
    child::last_lines(&if about.is_empty() { lines } else { about }.join("\n"), LINES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_about_the_plugin_is_shown() {
        let output = "I1128 20:58:56.26 1 init.cc:146] Try libnpu.so\nW1128 20:58:56.26 1 load.cc:44] Skipped libnpu.so\nother";
        assert_eq!(said(output, "libnpu.so"), "W1128 20:58:56.26 1 load.cc:44] Skipped libnpu.so");
        assert_eq!(said("I1128 1 a.cc:1] x\nInvalid\n", "libnpu.so"), "Invalid");
    }
}
