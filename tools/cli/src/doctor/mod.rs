//! `tenon doctor`: says why a framework does not list a device.

pub mod child;
mod finding;
pub mod image;
pub mod onnxruntime;
pub mod paddle;
pub mod verdict;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use crate::Answer;
use finding::{Finding, Section};

/// The interpreter that is asked if no option names one.
const DEFAULT_PYTHON: &str = "python3";

/// Columns of a line of text.
const WIDTH: usize = 100;

const AFTER: &str = "\
Without a plugin, those are examined that PaddlePaddle finds, or with --onnxruntime those that
packages of providers contain. With a plugin and without a framework, only the plugin is examined.
Each plugin is loaded in a process of its own, and so is the framework.

Exit status: 0 if nothing is wrong, 1 if there is a problem.

Examples:
  tenon doctor                                  # why does PaddlePaddle of python3 list no device?
  tenon doctor --paddle venv/bin/python
  tenon doctor ./libmy_npu.so --paddle python3  # would this plugin work there?
  tenon doctor --onnxruntime python3            # why does ONNX Runtime list no device?
  tenon doctor ./libmy_npu.so --onnxruntime python3";

/// Says why a device does not show up, or that all is well.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub struct Options {
    /// Libraries of plugins, or of providers of ONNX Runtime
    #[arg(value_name = "PLUGIN")]
    plugins: Vec<PathBuf>,
    /// The Python that PaddlePaddle is installed for
    #[arg(long, value_name = "PYTHON")]
    paddle: Option<PathBuf>,
    /// The Python that ONNX Runtime is installed for
    #[arg(long, value_name = "PYTHON")]
    onnxruntime: Option<PathBuf>,
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
    let Options { plugins, paddle, onnxruntime, .. } = options;
    let mut sections = Vec::new();
    match (paddle, onnxruntime) {
        (None, Some(_)) => {}
        (None, None) if plugins.is_empty() => {
            sections.extend(paddle::examine(Some(Path::new(DEFAULT_PYTHON)), plugins));
        }
        (python, _) => sections.extend(paddle::examine(python.as_deref(), plugins)),
    }
    if let Some(python) = onnxruntime {
        sections.extend(onnxruntime::examine(python, plugins));
    }
    sections
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
