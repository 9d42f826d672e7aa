//! Compares the newest wheel of PaddlePaddle with the spec.

use std::path::Path;

use clap::Args;

use super::{RELEASES, extract};
use crate::failure::Failure;
use crate::process::{cargo, step};
use crate::project;
use crate::tools::system_python;

/// The header of the device table, in the folder of a wheel's headers.
const DEVICE: &str = "paddle/phi/backends/device_ext.h";
/// The folder of the headers of the kernel C API.
const KERNELS: &str = "paddle/phi/capi/include";

/// The wheel to compare.
#[derive(Args)]
pub struct Options {
    /// This version instead of the newest
    #[arg(long)]
    version: Option<String>,
}

pub fn run(options: &Options) -> Result<(), Failure> {
    // The list is never empty.
    let tested = &RELEASES[0];
    let version = match &options.version {
        Some(version) => version.clone(),
        None => newest_on_pypi()?,
    };
    if version == tested.version {
        println!("PaddlePaddle {version} is the newest wheel, and the one that the tests use.");
        return Ok(());
    }
    let (folder, known) = (extract(&version)?, extract(tested.version)?);
    let mut differs = false;
    for interface in ["device", "paddle"] {
        let compare = |folder: &Path| {
            let include = folder.join("paddle/include");
            let mut headers = vec![DEVICE.to_owned()];
            if interface == "paddle" {
                let kernels = project::entries(&include.join(KERNELS))?;
                let names = kernels.iter().filter_map(|path| path.file_name());
                headers.extend(names.map(|name| format!("{KERNELS}/{}", name.to_string_lossy())));
            }
            cargo()
                .args(["run", "--quiet", "-p", "codegen", "--", "import"])
                .args(headers)
                .args(["-I".as_ref(), include.as_os_str()])
                .args(["--interface", interface, "--release", minor(&version)])
                // 1: it differs.
                .read_up_to(1)
        };
        // What the spec has and no header declares differs in all releases.
        let (told, told_of_known) = (compare(&folder)?, compare(&known)?);
        if told.is_empty() {
            return Err(Failure::Wrong(format!("the spec of `{interface}` could not be compared")));
        }
        if told != told_of_known {
            println!("{told}");
            differs = true;
        }
    }
    if differs {
        return Err(Failure::Wrong(format!("the headers of PaddlePaddle {version} differ from the spec")));
    }
    println!(
        "The headers of PaddlePaddle {version} are those of {}, which the spec describes.",
        tested.version
    );
    Ok(())
}

/// Returns the release of a version: `3.3` of `3.3.1`.
fn minor(version: &str) -> &str {
    let dots: Vec<usize> = version.match_indices('.').map(|(place, _)| place).collect();
    dots.get(1).map_or(version, |&end| &version[..end])
}

/// Returns the newest version that pip can install with this Python.
fn newest_on_pypi() -> Result<String, Failure> {
    let list = step(system_python())
        .args(["-m", "pip", "index", "versions", "--disable-pip-version-check", "paddlepaddle"])
        .quietly()
        .read()?;
    // The first line is `paddlepaddle (3.3.1)`.
    let version = list.lines().next().and_then(|line| line.split(['(', ')']).nth(1));
    version.map(str::to_owned).ok_or_else(|| Failure::Wrong(format!("pip lists no versions:\n{list}")))
}
