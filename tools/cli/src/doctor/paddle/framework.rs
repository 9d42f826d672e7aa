//! An installed PaddlePaddle: its release, the folder that it searches, and the variables that it reads.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tenon::device::Release;
use tenon_loader::InstalledPaddle;

use crate::doctor::finding::Section;
use crate::environment;

/// The variable with the folder that is searched in place of the default one.
const ROOT: &str = "CUSTOM_DEVICE_ROOT";

/// Variables that change where operators run, and how.
const VARIABLES: [(&str, &str); 4] = [
    ("CUSTOM_DEVICE_BLACK_LIST", "these operators run on PaddlePaddle's CPU"),
    ("FLAGS_enable_api_kernel_fallback", "whether operators without a kernel run on PaddlePaddle's CPU"),
    ("FLAGS_allocator_strategy", "how PaddlePaddle allocates device memory"),
    ("LD_LIBRARY_PATH", "folders that are searched for libraries first"),
];

/// Examines the release, the folder and the variables. Returns the libraries in the folder.
pub fn examine(paddle: &InstalledPaddle, section: &mut Section) -> Vec<PathBuf> {
    let version = if paddle.version.is_empty() { "of an unknown version" } else { &paddle.version };
    match paddle.release() {
        Some(_) => section.ok(format!("PaddlePaddle {version}")),
        None => section.note(format!(
            "PaddlePaddle {version} is none of the releases whose table Tenon knows: {} to {}",
            Release::ALL[0].name(),
            Release::NEWEST.name()
        )),
    }
    let libraries = match env::var_os(ROOT) {
        Some(value) => chosen_folder(paddle, value, section),
        None => default_folder(paddle, section),
    };
    for (name, effect) in VARIABLES {
        if let Some(value) = env::var_os(name) {
            section.note(format!("{name}={}: {effect}", environment::shown(name, &value.to_string_lossy())));
        }
    }
    for (name, value) in env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("TENON_") {
            section.note(format!("{name}={}", environment::shown(&name, &value.to_string_lossy())));
        } else if name.starts_with("FLAGS_selected_") {
            let value = value.to_string_lossy();
            section.note(format!("{name}={value}: only these devices of the type can be used"));
        }
    }
    libraries
}

/// Lists the libraries of the folder that the variable names.
fn chosen_folder(paddle: &InstalledPaddle, value: OsString, section: &mut Section) -> Vec<PathBuf> {
    let shown = format!("{ROOT}={}", value.to_string_lossy());
    let advice = format!("unset {ROOT}, or set it to the one folder that contains the library of the plugin");
    let folder = PathBuf::from(&value);
    if value.is_empty() {
        section.problem_with_advice(
            format!("{ROOT} is set to nothing: PaddlePaddle then searches no folder"),
            advice,
        );
        return Vec::new();
    }
    if !folder.is_dir() {
        let why = match (folder.exists(), value.to_string_lossy().contains(':')) {
            (true, _) => "that is not a folder",
            (false, true) => "PaddlePaddle does not split it at colons, and there is no such folder",
            (false, false) => "there is no such folder",
        };
        let text = format!("{shown}: {why}. PaddlePaddle searches no other");
        section.problem_with_advice(text, advice);
        return Vec::new();
    }
    let libraries = libraries(&folder);
    match libraries.len() {
        0 => section.problem_with_advice(
            format!("{shown}: the folder has no file with the ending `.so`{}", other_names(&folder)),
            advice,
        ),
        _ => {
            section.note(format!("{shown}: searched in place of `{}`", searched_by_default(paddle).display()))
        }
    }
    libraries
}

/// Returns the folder that is searched if no variable names one.
fn searched_by_default(paddle: &InstalledPaddle) -> PathBuf {
    paddle.package.with_file_name("paddle_custom_device")
}

/// Lists the libraries of the folder that is searched if no variable names one.
fn default_folder(paddle: &InstalledPaddle, section: &mut Section) -> Vec<PathBuf> {
    let folder = searched_by_default(paddle);
    let libraries = libraries(&folder);
    let old = paddle.package.with_file_name("paddle-plugins");
    if !libraries.is_empty() {
        section.ok(format!("searches `{}`", folder.display()));
    } else if old.is_dir() {
        section.problem_with_advice(
            format!("`{}` is the folder of releases before 2.5, and is not searched", old.display()),
            format!("move its libraries to `{}`", folder.display()),
        );
    } else {
        let has = if folder.is_dir() { "has no file with the ending `.so`" } else { "does not exist" };
        section.problem_with_advice(
            format!(
                "no plugin is installed: `{}`, which PaddlePaddle searches, {has}{}",
                folder.display(),
                other_names(&folder)
            ),
            format!(
                "install the plugin's wheel for `{}`, or set {ROOT} to the folder of its library",
                paddle.python.display()
            ),
        );
    }
    libraries
}

/// Returns the files that PaddlePaddle opens, by name: those with the ending `.so`.
fn libraries(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = folder
        .read_dir()
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    files.retain(|file| file.to_string_lossy().ends_with(".so"));
    files.sort();
    files
}

/// Names files that look like libraries and have another ending.
fn other_names(folder: &Path) -> String {
    let entries = folder.read_dir().map(|entries| entries.flatten().collect()).unwrap_or_else(|_| Vec::new());
    let names = entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name.contains(".so.")).collect();
    names.sort();
    match names.first() {
        Some(first) => format!("; `{first}` has another ending"),
        None => String::new(),
    }
}
