//! An installed PaddlePaddle: its release, the folder that it searches, and the variables that it reads.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use tenon::device::Release;

use super::finding::Section;

/// Asks an interpreter for its PaddlePaddle, without importing it.
const QUERY: &str = r#"
import importlib.util, json, os, re, sys
sys.path[:] = [path for path in sys.path if path]
found = importlib.util.find_spec("paddle")
packages = list(found.submodule_search_locations or []) if found else []
version = None
for package in packages:
    try:
        with open(os.path.join(package, "version", "__init__.py")) as file:
            match = re.search(r"^full_version\s*=\s*['\"]([^'\"]+)", file.read(), re.MULTILINE)
            version = match and match.group(1)
    except OSError:
        pass
print(json.dumps({"package": packages[0] if packages else None, "version": version}))
"#;

/// The variable with the folder that is searched in place of the default one.
const ROOT: &str = "CUSTOM_DEVICE_ROOT";

/// Variables that change where operators run, and how.
const VARIABLES: [(&str, &str); 4] = [
    ("CUSTOM_DEVICE_BLACK_LIST", "these operators run on PaddlePaddle's CPU"),
    ("FLAGS_enable_api_kernel_fallback", "whether operators without a kernel run on PaddlePaddle's CPU"),
    ("FLAGS_allocator_strategy", "how PaddlePaddle allocates device memory"),
    ("LD_LIBRARY_PATH", "folders that are searched for libraries first"),
];

/// An interpreter that has PaddlePaddle.
#[derive(Debug)]
pub struct Framework {
    pub python: PathBuf,
    /// The version, such as `3.3.1`.
    pub version: String,
    /// The release with this version's table; `None` if Tenon does not know it.
    pub release: Option<Release>,
    /// The folder that contains the package `paddle`.
    site: PathBuf,
}

/// The reason why nothing is known about a PaddlePaddle.
#[derive(Debug, thiserror::Error)]
pub enum FrameworkError {
    /// The interpreter cannot be started.
    #[error("`{}` cannot be started: {source}", python.display())]
    Start { python: PathBuf, source: std::io::Error },
    /// The interpreter ended without the answer.
    #[error("`{}` is not a Python: {said}", python.display())]
    NoAnswer { python: PathBuf, said: String },
    /// The interpreter has no PaddlePaddle.
    #[error("`{}` has no PaddlePaddle", python.display())]
    NoPaddle { python: PathBuf },
}

impl FrameworkError {
    /// Returns what to do about it.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Start { .. } | Self::NoAnswer { .. } => "name the interpreter with `--paddle PYTHON`",
            Self::NoPaddle { .. } => {
                "name the Python of the environment that PaddlePaddle is installed in: `--paddle PYTHON`"
            }
        }
    }
}

#[derive(Deserialize)]
struct Answer {
    package: Option<PathBuf>,
    version: Option<String>,
}

impl Framework {
    /// Asks an interpreter for its PaddlePaddle.
    pub fn ask(python: &Path) -> Result<Self, FrameworkError> {
        let python = python.to_owned();
        let output = match Command::new(&python).args(["-c", QUERY]).output() {
            Ok(output) => output,
            Err(source) => return Err(FrameworkError::Start { python, source }),
        };
        let Ok(answer) = serde_json::from_slice::<Answer>(&output.stdout) else {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(FrameworkError::NoAnswer { python, said });
        };
        let Some(site) = answer.package.as_deref().and_then(Path::parent).map(Path::to_owned) else {
            return Err(FrameworkError::NoPaddle { python });
        };
        let version = answer.version.unwrap_or_else(|| "of an unknown version".to_owned());
        let release = Release::ALL.into_iter().find(|release| {
            version.strip_prefix(release.name()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        });
        Ok(Self { python, version, release, site })
    }

    /// Describes the release, the folder and the variables. Returns the libraries in the folder.
    pub fn examine(&self, section: &mut Section) -> Vec<PathBuf> {
        match self.release {
            Some(_) => section.ok(format!("PaddlePaddle {}", self.version)),
            None => section.note(format!(
                "PaddlePaddle {} is none of the releases whose table Tenon knows: {} to {}",
                self.version,
                Release::ALL[0].name(),
                Release::NEWEST.name()
            )),
        }
        let libraries = match env::var_os(ROOT) {
            Some(value) => self.chosen_folder(value, section),
            None => self.default_folder(section),
        };
        for (name, effect) in VARIABLES {
            if let Some(value) = env::var_os(name) {
                section.note(format!("{name}={}: {effect}", value.to_string_lossy()));
            }
        }
        for (name, value) in env::vars_os() {
            let name = name.to_string_lossy();
            if name.starts_with("TENON_") {
                section.note(format!("{name}={}", value.to_string_lossy()));
            } else if name.starts_with("FLAGS_selected_") {
                let value = value.to_string_lossy();
                section.note(format!("{name}={value}: only these devices of the type can be used"));
            }
        }
        libraries
    }

    /// Lists the libraries of the folder that the variable names.
    fn chosen_folder(&self, value: OsString, section: &mut Section) -> Vec<PathBuf> {
        let shown = format!("{ROOT}={}", value.to_string_lossy());
        let advice =
            format!("unset {ROOT}, or set it to the one folder that contains the library of the plugin");
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
            _ => section.note(format!("{shown}: searched in place of `{}`", self.default_path().display())),
        }
        libraries
    }

    fn default_path(&self) -> PathBuf {
        self.site.join("paddle_custom_device")
    }

    /// Lists the libraries of the folder that is searched if no variable names one.
    fn default_folder(&self, section: &mut Section) -> Vec<PathBuf> {
        let folder = self.default_path();
        let libraries = libraries(&folder);
        let old = self.site.join("paddle-plugins");
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
                    self.python.display()
                ),
            );
        }
        libraries
    }
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
