//! Misuses and correct programs, each run under the validation layer. The table is that of `tests/misuse`.

#[path = "common/build.rs"]
mod build;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A row of the table.
struct Misuse {
    name: String,
    mistake: String,
    /// A rule or a status; empty for a correct program.
    caught_by: Option<String>,
    /// If nothing catches it.
    reason: String,
}

fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let folder = build::here().join("tests/misuse");
        let files = ["main", "memory", "frees", "handles", "order", "leaks", "correct"];
        let program = build::scratch("misuse").join("program");
        build::sources(&files.map(|file| folder.join(file).with_extension("c")), &program);
        program
    })
}

fn table() -> Vec<Misuse> {
    let output = build::run(Command::new(program()).arg("list"));
    let row = |line: &str| {
        let mut columns = line.split('\t').map(str::to_owned);
        let mut next = || columns.next().expect("a row has four columns");
        let (name, mistake, caught_by, reason) = (next(), next(), next(), next());
        Misuse { name, mistake, caught_by: (caught_by != "-").then_some(caught_by), reason }
    };
    String::from_utf8_lossy(&output.stdout).lines().map(row).collect()
}

/// Runs one program. Returns the rules that were reported and the statuses of calls that were refused.
fn found(misuse: &Misuse) -> (BTreeSet<String>, BTreeSet<String>) {
    let mut command = Command::new(program());
    for (variable, _) in std::env::vars().filter(|(variable, _)| variable.starts_with("TENON_")) {
        command.env_remove(variable);
    }
    // Backtraces take long, and say nothing here.
    command.env_remove("RUST_BACKTRACE");
    command.arg(&misuse.name).env("TENON_LAYERS", "validate").env("TENON_CPU_DEVICES", "2");
    // Programs with a mistake do not clean up.
    if misuse.caught_by.as_deref().is_none_or(|rule| !rule.is_empty() && rule != "V040") {
        command.env("TENON_VALIDATE_IGNORE", "V040");
    }
    let output = build::run(&mut command);
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(stdout.ends_with("done\n"), "{}: {output:?}", misuse.name);
    let rule = |line: &str| {
        let report = line.strip_prefix("tenon: error ").or_else(|| line.strip_prefix("tenon: warning "))?;
        Some(report.split(':').next()?.to_owned())
    };
    let statuses = stdout.lines().filter_map(|line| line.strip_prefix("answered ")).map(str::to_owned);
    (stderr.lines().filter_map(rule).collect(), statuses.collect())
}

#[test]
fn each_misuse_is_caught_as_the_table_says() {
    let rows: Vec<Misuse> = table().into_iter().filter(|row| row.caught_by.as_deref() != Some("")).collect();
    let mut wrong = Vec::new();
    for row in &rows {
        let (rules, statuses) = found(row);
        let expected = row.caught_by.iter().cloned().collect::<BTreeSet<_>>();
        // A rule that refuses the call answers TENON_REFUSED as well.
        let seen = if rules.is_empty() { &statuses } else { &rules };
        let caught = row.caught_by.as_deref().unwrap_or("not caught");
        println!("{:<32} {:<62} {caught} {}", row.name, row.mistake, row.reason);
        if *seen != expected {
            wrong.push(format!("{}: expected {expected:?}, found {rules:?} and {statuses:?}", row.name));
        }
    }
    let caught = rows.iter().filter(|row| row.caught_by.is_some()).count();
    println!("{caught} of {} are caught", rows.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(rows.iter().all(|row| row.caught_by.is_some() == row.reason.is_empty()), "each gap has a reason");
}

#[test]
fn correct_programs_are_left_alone() {
    let rows: Vec<Misuse> = table().into_iter().filter(|row| row.caught_by.as_deref() == Some("")).collect();
    assert!(!rows.is_empty());
    for row in rows {
        let (rules, statuses) = found(&row);
        assert!(rules.is_empty() && statuses.is_empty(), "{}: {rules:?}, {statuses:?}", row.name);
    }
}
