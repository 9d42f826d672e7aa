//! Coverage-guided fuzzers: libFuzzer with the instrumentation that a stable compiler supports.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, ValueEnum};

use crate::failure::{Failure, at};
use crate::process::cargo;
use crate::project;
use crate::test::rust::TRIPLE;

/// Options of `cargo xtask fuzz`.
#[derive(Args)]
pub struct Options {
    /// Run one target only
    target: Option<Target>,
    /// Duration per target in seconds
    #[arg(long, default_value_t = 60)]
    seconds: u32,
}

/// A fuzz target.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Target {
    /// Captures: files that no program has recorded
    Capture,
    /// The library for DIOPI: tensors of a hostile host
    Diopi,
    /// The reader of manifests: made libraries
    Elf,
    /// The C SDK: random calls, invalid handles
    Sdk,
    /// The generator: damaged specs
    Spec,
}

/// Compiler flags that add coverage counters and trace comparisons. They enable the LLVM pass that `-Z sanitizer` uses.
/// The stable compiler accepts the pass by name.
const INSTRUMENTED: &str = "--cfg fuzzing -Cpasses=sancov-module -Ccodegen-units=1 -Cdebug-assertions=on \
    -Coverflow-checks=on -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

impl Target {
    const ALL: [Target; 5] = [Target::Capture, Target::Diopi, Target::Elf, Target::Sdk, Target::Spec];

    fn name(self) -> &'static str {
        match self {
            Target::Capture => "capture",
            Target::Diopi => "diopi",
            Target::Elf => "elf",
            Target::Sdk => "sdk",
            Target::Spec => "spec",
        }
    }

    /// Options of libFuzzer, in addition to the duration.
    fn flags(self) -> &'static [&'static str] {
        match self {
            Target::Capture | Target::Diopi => &["-max_len=1024", "-len_control=0", "-timeout=20"],
            // Inputs are short. Standard error is closed because the validation layer writes warnings to it.
            Target::Sdk => &["-max_len=1024", "-len_control=0", "-timeout=20", "-close_fd_mask=2"],
            Target::Elf => &["-max_len=65536", "-timeout=20", "-rss_limit_mb=1024"],
            Target::Spec => &["-max_len=65536", "-timeout=20"],
        }
    }

    /// Writes seed inputs, in addition to the committed corpus.
    fn seeds(self, to: &Path) -> Result<(), Failure> {
        let Target::Spec = self else { return Ok(()) };
        for entry in project::entries(&project::path("codegen/tests/bad"))? {
            if entry.extension().is_some_and(|extension| extension == "yaml") {
                copy(&entry, to)?;
            }
        }
        for folder in ["device", "paddle"] {
            for file in project::entries(&project::path("spec").join(folder))? {
                let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let text = fs::read_to_string(&file).map_err(at(&file))?;
                let seed = to.join(format!("{folder}-{name}"));
                let text = format!("# over: spec\n# file: {folder}/{name}\n{text}");
                fs::write(&seed, text).map_err(at(&seed))?;
            }
        }
        Ok(())
    }
}

/// Runs the fuzzers. Fails if one of them reports a finding.
pub fn run(options: &Options) -> Result<(), Failure> {
    let targets: Vec<Target> = Target::ALL
        .into_iter()
        .filter(|target| options.target.is_none_or(|wanted| wanted == *target))
        .collect();
    let built = project::path("target/fuzz");
    for target in &targets {
        cargo()
            .args(["build", "--quiet", "--release", "--package", "tenon-fuzz", "--features", "engine"])
            // With an explicit target, build scripts and macros are not instrumented.
            .args(["--bin", &format!("fuzz-{}", target.name()), "--target", TRIPLE, "--target-dir"])
            .arg(&built)
            .env("RUSTFLAGS", INSTRUMENTED)
            .run()?;
    }
    let mut lines = Vec::new();
    let mut findings = 0;
    for target in targets {
        let outcome = fuzz(target, &built, options.seconds)?;
        findings += outcome.findings;
        lines.push(outcome.line);
    }
    println!();
    lines.iter().for_each(|line| println!("{line}"));
    match findings {
        0 => Ok(()),
        _ => Err(Failure::Wrong(format!("{findings} findings, in {}", built.join("findings").display()))),
    }
}

struct Outcome {
    findings: usize,
    line: String,
}

/// Runs one fuzzer until the time is over or it reports a finding.
fn fuzz(target: Target, built: &Path, seconds: u32) -> Result<Outcome, Failure> {
    let name = target.name();
    let corpus = folder(built.join("corpus").join(name))?;
    let seeds = folder(built.join("seeds").join(name))?;
    let findings = folder(built.join("findings").join(name))?;
    target.seeds(&seeds)?;
    let before = project::entries(&findings)?.len();
    let program = built.join(TRIPLE).join("release").join(format!("fuzz-{name}"));
    let log = built.join(format!("{name}.log"));
    let output = fs::File::create(&log).map_err(at(&log))?;
    eprintln!("── {name}: {seconds} s, log in {}", log.display());
    let mut command = Command::new(&program);
    command
        .current_dir(project::root())
        .args([&corpus, &seeds, &project::path("tools/fuzz/corpus").join(name)])
        .arg(format!("-artifact_prefix={}/", findings.display()))
        .arg(format!("-max_total_time={seconds}"))
        .args(["-print_final_stats=1", "-rss_limit_mb=4096"])
        .args(target.flags())
        .stderr(output);
    command.status().map_err(at(&program))?;
    let text = fs::read_to_string(&log).map_err(at(&log))?;
    let found = project::entries(&findings)?.len() - before;
    let line = format!(
        "{name:<7} {:>10} executions, {:>5} inputs with new coverage, {} edges, {found} findings",
        figure(&text, "stat::number_of_executed_units:"),
        figure(&text, "stat::new_units_added:"),
        covered(&text),
    );
    Ok(Outcome { findings: found, line })
}

/// Returns the number after a key in the log; `?` if the fuzzer ended early and did not log it.
fn figure(log: &str, word: &str) -> String {
    let found = log.lines().rev().find_map(|line| line.strip_prefix(word));
    found.map_or("?".to_owned(), |figure| figure.trim().to_owned())
}

/// Returns the last number of covered edges, from lines such as `#1234 NEW cov: 5678 ft: …`.
fn covered(log: &str) -> String {
    let found = log.lines().rev().find_map(|line| line.split_once(" cov: "));
    found.and_then(|(_, rest)| rest.split(' ').next()).unwrap_or("?").to_owned()
}

fn folder(path: PathBuf) -> Result<PathBuf, Failure> {
    fs::create_dir_all(&path).map_err(at(&path))?;
    Ok(path)
}

fn copy(file: &Path, to: &Path) -> Result<(), Failure> {
    let to = to.join(file.file_name().unwrap_or_default());
    fs::copy(file, &to).map(|_| ()).map_err(at(&to))
}
