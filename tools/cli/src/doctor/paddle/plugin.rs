//! A plugin's library: what its file contains, and what happens when it is loaded.

use std::path::Path;

use tenon_loader::InstalledPaddle;

use crate::doctor::child;
use crate::doctor::finding::Section;
use crate::doctor::image::Image;

use super::probe::{Loaded, Probed, Step, probe};

/// Examines the library of a plugin. Returns its type of devices, if it has some.
pub fn examine(path: &Path, paddle: Option<&InstalledPaddle>, section: &mut Section) -> Option<String> {
    if let Some(kind) = tenon_files::special(path) {
        section.problem_with_advice(
            format!("it is {kind}, and not a file: PaddlePaddle would wait for it, or act on it"),
            "remove it from the folder that PaddlePaddle searches",
        );
        return None;
    }
    if let Some(image) = Image::read(path)
        && !image.runs_here(section)
    {
        return None;
    }
    match probe(path, paddle) {
        Ok(probed) => judge(&probed, paddle, section),
        Err(error) => {
            section.problem(format!("it cannot be tried: {error}"));
            None
        }
    }
}

/// Judges the steps that a plugin came through. Returns its type of devices, if it has some.
fn judge(probed: &Probed, paddle: Option<&InstalledPaddle>, section: &mut Section) -> Option<String> {
    let mut loaded = None;
    for step in &probed.steps {
        match step {
            Step::Refused(message) => {
                section.problem(message.as_str());
                return None;
            }
            Step::Failed(message) => {
                section.problem_with_advice(
                    format!("it does not start: {message}"),
                    "check the driver of the device, and the variables that its maker documents",
                );
                return None;
            }
            Step::Loaded(table) => {
                check_table(table, paddle, section);
                loaded = Some(table);
            }
            Step::Devices(0) => {
                section.problem_with_advice(
                    "it reports no device",
                    "check that the driver sees the device, and which devices its variables make visible",
                );
                return None;
            }
            Step::Devices(count) => {
                let table = loaded?;
                let devices = if *count == 1 { "device" } else { "devices" };
                section.ok(format!(
                    "the device type `{}`, with {} functions of PaddlePaddle {} and {count} {devices}",
                    table.device_type, table.functions, table.release
                ));
                note_capitals(&table.device_type, section);
                return Some(table.device_type.clone());
            }
        }
    }
    let during =
        if loaded.is_some() { "in `initialize` or `get_device_count`" } else { "while it was loaded" };
    let said = probed.ended.stderr.lines().last().map(|line| format!(": {line}")).unwrap_or_default();
    section.problem_with_advice(
        format!("the process {} {during}{said}", child::describe(probed.ended.status)),
        "PaddlePaddle would end in the same way: run it under a debugger, or send it to its author",
    );
    None
}

/// Notes a device type that PaddlePaddle does not find again.
fn note_capitals(device_type: &str, section: &mut Section) {
    if device_type.chars().any(char::is_uppercase) {
        section.note(
            "the device type has capital letters: some functions of PaddlePaddle write it in small letters and do not \
             find the device, such as `pickle.loads` of a tensor and `paddle.amp.is_float16_supported`",
        );
    }
}

/// Compares the table of a plugin with the installed PaddlePaddle.
fn check_table(table: &Loaded, paddle: Option<&InstalledPaddle>, section: &mut Section) {
    if let Some(paddle) = paddle
        && let Some(release) = paddle.release()
        && release.name() != table.release
    {
        section.problem_with_advice(
            format!(
                "it was built for PaddlePaddle {}, and this is {}, whose table has other functions in the same places",
                table.release, paddle.version
            ),
            format!("take the plugin's build for PaddlePaddle {}", release.name()),
        );
    }
    if let Some(first) = table.unresolved.first() {
        let more = match table.unresolved.len() {
            1 => String::new(),
            count => format!(" and {} others", count - 1),
        };
        match paddle {
            Some(paddle) => section.problem_with_advice(
                format!("PaddlePaddle {} does not have `{first}`{more}, which it calls", paddle.version),
                "take the plugin's build for this release",
            ),
            None => section.note(format!(
                "it calls `{first}`{more} of PaddlePaddle: with `--paddle PYTHON` it is looked up there"
            )),
        }
    }
}
