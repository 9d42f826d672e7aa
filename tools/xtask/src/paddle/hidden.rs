//! Trainings in PaddlePaddle with each optional function of the device hidden in turn.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use serde_json::Value;

use super::{chosen, environment, examples, wheels};
use crate::docs;
use crate::failure::{Failure, at};
use crate::process::step;
use crate::project;

/// Options of `cargo xtask hidden`.
#[derive(Args)]
pub struct Options {
    /// Only this version of PaddlePaddle
    #[arg(long)]
    paddle: Option<String>,
    /// Write the results as a page of the guide to this file
    #[arg(long)]
    page: Option<PathBuf>,
}

/// Runs the trainings in each release.
pub fn run(options: &Options) -> Result<(), Failure> {
    let releases = chosen(options.paddle.as_deref())?;
    examples::build()?;
    let abi = abi()?;
    let wheels = wheels()?;
    let script = project::path("plugins/paddle/demo/hidden.py");
    let results = project::cache("hidden.json");
    if results.exists() {
        fs::remove_file(&results).map_err(at(&results))?;
    }
    for release in releases {
        let venv = environment(release, &wheels)?;
        step(venv.python())
            .arg(&script)
            .arg("--layers")
            .arg(examples::folder().join("between/libtenon_paddle_layers.so"))
            .arg("--results")
            .arg(&results)
            .args(optional_functions(&abi, release.version))
            .run()?;
    }
    if let Some(page) = &options.page {
        let venv = environment(&releases[0], &wheels)?;
        step(venv.python()).arg(&script).arg("--results").arg(&results).arg("--page").arg(page).run()?;
    }
    Ok(())
}

/// Returns the layouts of the table in all releases.
fn abi() -> Result<Value, Failure> {
    let json = docs::codegen()?.args(["--format", "json", "abi"]).read()?;
    serde_json::from_str(&json)
        .map_err(|error| Failure::Wrong(format!("the answer of `codegen abi` is not JSON: {error}")))
}

/// Returns the names of the functions that a device may lack in a version, in the order of the table.
fn optional_functions<'a>(abi: &'a Value, version: &str) -> Vec<&'a str> {
    let layouts = abi["layouts"].as_array().into_iter().flatten();
    let is_of_version = |layout: &&Value| {
        let release = layout["release"].as_str().unwrap_or_default();
        version.strip_prefix(release).is_some_and(|patch| patch.starts_with('.'))
    };
    let members = layouts.filter(is_of_version).filter_map(|layout| layout["members"].as_array()).flatten();
    members
        .filter(|member| member["optional"] == true)
        .filter_map(|member| member["function"].as_str())
        .collect()
}
