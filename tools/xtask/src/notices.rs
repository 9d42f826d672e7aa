//! `THIRD-PARTY.txt`: the licence notices of the crates linked into the wheels and the installed library.
//!
//! The file is committed, so that source distributions and installs from them contain it. The lint step checks it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::failure::{Failure, at};
use crate::process::cargo;
use crate::project;

const FILE: &str = "THIRD-PARTY.txt";
/// The packages that are distributed as binaries.
const SHIPPED: &[&str] = &[
    "tenon-sdk-c",
    "tenon-ascendcl",
    "tenon-plugin",
    "tenon-cli",
    "tenon-cpu-operators-library",
    "tenon-paddle",
    "tenon-paddle-layers",
    "tenon-onnxruntime-cpu",
    "tenon-onnxruntime-layers",
];
/// The target whose dependencies are listed. Wheels are for Linux; both supported architectures link the same crates.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";
const HEAD: &str = "\
Notices of the Rust crates that are linked into Tenon's libraries, plugins and wheels.
Tenon itself is under the Apache License 2.0 (LICENSE).

Written by: cargo xtask notices
";

/// Writes `THIRD-PARTY.txt`.
pub fn run() -> Result<(), Failure> {
    let path = project::path(FILE);
    fs::write(&path, text()?).map_err(at(&path))
}

/// Fails if `THIRD-PARTY.txt` is out of date.
pub fn check() -> Result<(), Failure> {
    let path = project::path(FILE);
    let wanted = text()?;
    if fs::read_to_string(&path).is_ok_and(|committed| committed == wanted) {
        return Ok(());
    }
    Err(Failure::Wrong(format!("{} is not up to date: cargo xtask notices", path.display())))
}

/// A linked crate.
struct Linked {
    title: String,
    folder: PathBuf,
    licence: String,
}

fn text() -> Result<String, Failure> {
    // Crates with the same licence text share one copy of it.
    let mut notices: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for linked in linked()? {
        for notice in notices_of(&linked)? {
            notices.entry(notice).or_default().push(format!("{} ({})", linked.title, linked.licence));
        }
    }
    let mut by_crate: Vec<(Vec<String>, String)> = notices.into_iter().map(|(text, of)| (of, text)).collect();
    by_crate.sort();
    let rule = "-".repeat(80);
    let parts =
        by_crate.iter().map(|(crates, text)| format!("\n{rule}\n{}\n{rule}\n\n{text}\n", crates.join("\n")));
    Ok(format!("{HEAD}{}", parts.collect::<String>()))
}

/// Returns the third-party crates that the distributed packages link, by name and version.
fn linked() -> Result<Vec<Linked>, Failure> {
    let printed = cargo()
        .args(["metadata", "--format-version=1", "--locked", "--filter-platform", PLATFORM])
        .quietly()
        .read()?;
    let unreadable = || Failure::Wrong("the output of `cargo metadata` has an unexpected format".to_owned());
    let metadata: Value = serde_json::from_str(&printed).map_err(|_| unreadable())?;
    let packages = metadata["packages"].as_array().ok_or_else(unreadable)?;
    let nodes = metadata["resolve"]["nodes"].as_array().ok_or_else(unreadable)?;

    let shipped = packages.iter().filter(|package| {
        package["source"].is_null() && package["name"].as_str().is_some_and(|name| SHIPPED.contains(&name))
    });
    let mut waiting: Vec<&str> = shipped.filter_map(|package| package["id"].as_str()).collect();
    // A procedural macro runs in the compiler, so neither it nor its dependencies are distributed.
    let macros: BTreeSet<&str> = packages
        .iter()
        .filter(|package| is_macro(package))
        .filter_map(|package| package["id"].as_str())
        .collect();
    let mut reached = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        let Some(node) = nodes.iter().find(|node| node["id"] == id) else { continue };
        if !macros.contains(id) && reached.insert(id) {
            waiting.extend(
                node["deps"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter(is_linked)
                    .filter_map(|dep| dep["pkg"].as_str()),
            );
        }
    }

    let mut linked: Vec<Linked> = packages
        .iter()
        .filter(|package| {
            !package["source"].is_null() && package["id"].as_str().is_some_and(|id| reached.contains(id))
        })
        .map(|package| {
            let field = |name: &str| package[name].as_str().unwrap_or_default().to_owned();
            Linked {
                title: format!("{} {}", field("name"), field("version")),
                folder: Path::new(&field("manifest_path"))
                    .parent()
                    .map(Path::to_path_buf)
                    .unwrap_or_default(),
                licence: field("license"),
            }
        })
        .collect();
    linked.sort_by(|left, right| left.title.cmp(&right.title));
    Ok(linked)
}

/// Returns true for a normal dependency; false for a build or development dependency.
fn is_linked(dependency: &&Value) -> bool {
    dependency["dep_kinds"].as_array().into_iter().flatten().any(|kind| kind["kind"].is_null())
}

fn is_macro(package: &Value) -> bool {
    let kinds =
        package["targets"].as_array().into_iter().flatten().flat_map(|target| target["kind"].as_array());
    kinds.flatten().any(|kind| kind == "proc-macro")
}

/// Returns the licence under which a crate is distributed, and the notices that this licence requires.
///
/// If a crate offers a choice, this is the MIT licence, whose text names the authors.
fn notices_of(linked: &Linked) -> Result<Vec<String>, Failure> {
    let mut files = project::entries(&linked.folder)?;
    files.sort();
    let named = |path: &&PathBuf, words: &[&str]| {
        let name = path.file_name().map(|name| name.to_string_lossy().to_uppercase()).unwrap_or_default();
        path.is_file() && words.iter().any(|word| name.starts_with(word))
    };
    let licences: Vec<&PathBuf> =
        files.iter().filter(|path| named(path, &["LICENSE", "LICENCE", "COPYING", "UNLICENSE"])).collect();
    let is_mit = |path: &&&PathBuf| path.to_string_lossy().to_uppercase().ends_with("MIT");
    let chosen: Vec<&PathBuf> = match licences.iter().find(is_mit) {
        // All licences of an `AND` expression apply.
        Some(mit) if !linked.licence.contains(" AND ") => vec![mit],
        _ => licences,
    };
    let notices = files.iter().filter(|path| named(path, &["NOTICE"]));
    let texts = chosen.into_iter().chain(notices).map(|path| {
        let text = fs::read_to_string(path).map_err(at(path))?;
        let lines: Vec<&str> = text.trim().lines().map(str::trim_end).collect();
        Ok(lines.join("\n"))
    });
    let texts: Vec<String> = texts.collect::<Result<_, Failure>>()?;
    if texts.is_empty() {
        // Some crates name a licence but contain no licence text.
        return Ok(vec![format!("Licence: {}", linked.licence)]);
    }
    Ok(texts)
}
