//! `tenon doctor`: says why a framework does not list a device.

pub mod child;
mod finding;
mod framework;
pub mod image;
mod listing;
mod plugin;
pub mod probe;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use tenon_loader::InstalledPaddle;

use crate::Answer;
use finding::{Finding, Section};

/// The interpreter that is asked if no option names one.
const DEFAULT_PYTHON: &str = "python3";

/// Columns of a line of text.
const WIDTH: usize = 100;

const AFTER: &str = "\
Without a plugin, those are examined that PaddlePaddle finds. With a plugin and without --paddle,
only the plugin is examined. Each plugin is loaded in a process of its own, and so is PaddlePaddle.

Exit status: 0 if nothing is wrong, 1 if there is a problem.

Examples:
  tenon doctor                                  # why does PaddlePaddle of python3 list no device?
  tenon doctor --paddle venv/bin/python
  tenon doctor ./libmy_npu.so --paddle python3  # would this plugin work there?";

/// Says why a device does not show up, or that all is well.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub struct Options {
    /// Libraries of plugins
    #[arg(value_name = "PLUGIN")]
    plugins: Vec<PathBuf>,
    /// The Python that PaddlePaddle is installed for
    #[arg(long, value_name = "PYTHON")]
    paddle: Option<PathBuf>,
    /// For programs
    #[arg(long)]
    json: bool,
}

pub fn run(options: &Options) -> Answer {
    let sections = examine(options);
    let problems: usize = sections.iter().map(Section::problems).sum();
    let text = if options.json {
        crate::json(&serde_json::json!({ "problems": problems, "sections": sections }))
    } else {
        text(&sections, problems)
    };
    Answer { text, code: ExitCode::from(u8::from(problems > 0)) }
}

fn examine(options: &Options) -> Vec<Section> {
    let python = match (&options.paddle, options.plugins.is_empty()) {
        (Some(python), _) => Some(python.clone()),
        (None, true) => Some(PathBuf::from(DEFAULT_PYTHON)),
        (None, false) => None,
    };
    let mut sections = Vec::new();
    let mut files = options.plugins.clone();
    let mut paddle = None;
    let mut installed = Vec::new();
    if let Some(python) = python {
        let mut section = Section::new(python.to_string_lossy());
        match InstalledPaddle::find(&python) {
            Ok(found) => {
                installed = framework::examine(&found, &mut section);
                note_others(&options.plugins, &installed, &mut section);
                files.extend(installed.iter().filter(|file| !contains(&options.plugins, file)).cloned());
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

fn text(sections: &[Section], problems: usize) -> String {
    let mut text = String::new();
    for section in sections {
        text.push_str(&section.title);
        text.push('\n');
        section.findings.iter().for_each(|finding| text.push_str(&paragraph(finding)));
        text.push('\n');
    }
    text.push_str(match problems {
        0 => "No problem was found.",
        1 => "There is 1 problem.",
        _ => return text + &format!("There are {problems} problems.\n"),
    });
    text + "\n"
}

/// Returns a finding with its advice, wrapped and indented.
fn paragraph(finding: &Finding) -> String {
    let word = format!("  {:<9}", finding.severity.word());
    let indent = " ".repeat(word.len());
    // Paths and values stay whole, so that they can be copied.
    let options = textwrap::Options::new(WIDTH)
        .subsequent_indent(&indent)
        .break_words(false)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    let mut text = textwrap::fill(&finding.text, options.clone().initial_indent(&word)) + "\n";
    if let Some(advice) = &finding.advice {
        let first = format!("{indent}To do: ");
        text += &(textwrap::fill(advice, options.initial_indent(&first)) + "\n");
    }
    text
}
