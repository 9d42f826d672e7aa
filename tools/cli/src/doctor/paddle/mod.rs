//! PaddlePaddle: which one a Python has, which plugins it finds, and what becomes of them.

mod framework;
mod listing;
mod plugin;
pub mod probe;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tenon_loader::InstalledPaddle;

use super::finding::Section;

/// Examines an installed PaddlePaddle, the plugins that it finds, and others.
pub(super) fn examine(python: Option<&Path>, plugins: &[PathBuf]) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut files = plugins.to_vec();
    let mut paddle = None;
    let mut installed = Vec::new();
    if let Some(python) = python {
        let mut section = Section::new(python.to_string_lossy());
        match InstalledPaddle::find(python) {
            Ok(found) => {
                installed = framework::examine(&found, &mut section);
                note_others(plugins, &installed, &mut section);
                files.extend(installed.iter().filter(|file| !contains(plugins, file)).cloned());
                paddle = Some(found);
            }
            Err(error) => {
                section.problem_with_advice(error.to_string(), "name another interpreter: `--paddle PYTHON`")
            }
        }
        sections.push(section);
    }
    let mut types = Vec::new();
    for file in &files {
        let mut section = Section::new(file.to_string_lossy());
        if let Some(device_type) = plugin::examine(file, paddle.as_ref(), &mut section) {
            types.push((file.clone(), device_type));
        }
        sections.push(section);
    }
    report_duplicates(&types, &mut sections);
    if let Some(paddle) = &paddle {
        types.retain(|(file, _)| contains(&installed, file));
        let mut section = Section::new("import paddle");
        if installed.iter().any(|file| tenon_files::special(file).is_some()) {
            section.note("not tried, because it would open a file that is none")
        } else {
            listing::compare(paddle, &types, &mut section)
        }
        sections.push(section);
    }
    sections
}

/// Reports plugins that PaddlePaddle does not find.
fn note_others(plugins: &[PathBuf], installed: &[PathBuf], section: &mut Section) {
    for plugin in plugins.iter().filter(|plugin| !contains(installed, plugin)) {
        section.note(format!(
            "`{}` is not in the folder that PaddlePaddle searches: CUSTOM_DEVICE_ROOT can name its folder",
            plugin.display()
        ));
    }
}

/// Returns true if a list has a file, under any path.
fn contains(files: &[PathBuf], file: &Path) -> bool {
    let real = |file: &Path| file.canonicalize().unwrap_or_else(|_| file.into());
    files.iter().any(|other| real(other) == real(file))
}

/// Reports device types that several plugins have.
fn report_duplicates(types: &[(PathBuf, String)], sections: &mut [Section]) {
    let mut owners = BTreeMap::<&str, &Path>::new();
    for (file, device_type) in types {
        let Some(first) = owners.get(device_type.as_str()) else {
            owners.insert(device_type, file);
            continue;
        };
        let title = file.to_string_lossy();
        if let Some(section) = sections.iter_mut().find(|section| section.title == title) {
            section.problem_with_advice(
                format!(
                    "`{}` has the device type `{device_type}` too: PaddlePaddle uses only one",
                    first.display()
                ),
                "remove one of them from the folder",
            );
        }
    }
}
