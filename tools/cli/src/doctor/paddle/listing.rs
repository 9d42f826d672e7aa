//! Imports PaddlePaddle, and compares the device types that it lists with those of the plugins.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use tenon_loader::InstalledPaddle;

use crate::doctor::child;
use crate::doctor::finding::Section;

/// The start of the line with the answer, because PaddlePaddle prints too.
const MARK: &str = "tenon-listed ";

const PROGRAM: &str = r#"
import json
import paddle
print("\ntenon-listed " + json.dumps(paddle.device.get_all_custom_device_type()))
"#;

/// An import that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(300);

/// Most lines of a failed import that are shown.
const LINES: usize = 6;

/// Imports PaddlePaddle, and says which of the device types it lists.
pub fn compare(paddle: &InstalledPaddle, types: &[(PathBuf, String)], section: &mut Section) {
    let ended = match child::run(Command::new(&paddle.python).args(["-c", PROGRAM]), LIMIT) {
        Ok(ended) => ended,
        Err(error) => return section.problem(format!("`import paddle` cannot be tried: {error}")),
    };
    let answer = ended.stdout.lines().find_map(|line| line.strip_prefix(MARK));
    let listed: Option<Vec<String>> = answer.and_then(|answer| serde_json::from_str(answer).ok());
    let Some(listed) = listed else {
        let last = child::last_lines(&ended.stderr, LINES);
        return section.problem(format!("`import paddle` {}:\n{last}", child::describe(ended.status)));
    };
    if listed.is_empty() {
        section.note("`import paddle` works and lists no custom device");
    } else {
        section.ok(format!("`import paddle` works and lists {}", quoted(&listed)));
    }
    for (path, device_type) in types {
        if !listed.contains(device_type) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let said: Vec<&str> = ended.stderr.lines().filter(|line| line.contains(&*name)).collect();
            let said = if said.is_empty() { String::new() } else { format!(":\n{}", said.join("\n")) };
            section.problem(format!("PaddlePaddle does not list `{device_type}` of `{name}`{said}"));
        }
    }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
