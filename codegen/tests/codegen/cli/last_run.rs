//! A run that finds nothing changed does nothing; whatever did change, a run leaves what a complete one leaves.

use std::fs;
use std::time::{Duration, SystemTime};

use super::project::Project;
use crate::random::{Shift, rounds};

/// The folder of the records.
const CACHE: &str = ".codegen/cache";

/// Returns when the last complete run was recorded.
fn recorded(project: &Project) -> Option<SystemTime> {
    let mut runs = fs::read_dir(project.path(CACHE)).ok()?.filter_map(|entry| {
        let path = entry.ok()?.path();
        path.extension().is_some_and(|extension| extension == "run").then_some(path)
    });
    let run = runs.next()?;
    assert!(runs.next().is_none(), "a spec has one record");
    fs::metadata(run).and_then(|data| data.modified()).ok()
}

/// Waits until the clock of the file system has moved on: a run does not trust files that are as new as it is.
fn rest() {
    std::thread::sleep(Duration::from_millis(40));
}

/// Runs the generator, and again without a record: the second run finds nothing to do.
fn settle(project: &Project, step: &str) {
    let said = project.run(&["--overwrite"]);
    assert_eq!(said.code, 0, "{step}: {}", said.err);
    let _ = fs::remove_dir_all(project.path(CACHE));
    let complete = project.run(&["--verbose"]);
    assert_eq!(complete.code, 0, "{step}: {}", complete.err);
    for fate in ["created", "updated", "removed"] {
        assert!(!complete.out.contains(fate), "after: {step}\n{}", complete.out);
    }
}

#[test]
fn second_run_does_nothing_until_something_changes() {
    let project = Project::new("last-run");
    rest();
    project.run(&[]);
    let first = recorded(&project).expect("the first run is recorded");
    let said = project.run(&[]);
    assert!(said.out.starts_with("35 outputs, 35 unchanged, "), "{}", said.out);
    assert!(project.run(&["--check"]).out.contains("35 outputs, all up to date, "));
    assert_eq!(recorded(&project), Some(first), "a complete run is recorded anew");
    assert_eq!(project.read(&format!("{CACHE}/.gitignore")), "*\n");

    // A complete run for those who ask what there is.
    assert!(project.run(&["--verbose"]).out.contains("unchanged  include/sensor_bus.h"));
    assert!(recorded(&project) > Some(first));
    let formatter = project.run_with(".", &[], &[("RUSTFMT", "/nonexistent/rustfmt")]);
    assert_eq!(formatter.code, 2, "another formatter is a change");
}

#[test]
fn record_that_cannot_be_read_or_written_only_costs_time() {
    let project = Project::new("last-run-broken");
    rest();
    project.run(&[]);
    for entry in fs::read_dir(project.path(CACHE)).expect("the folder is there") {
        let path = entry.expect("the folder can be read").path();
        let text = fs::read_to_string(&path).expect("it is a file");
        fs::write(&path, &text[..text.len() / 2]).expect("it can be written");
    }
    settle(&project, "half a record");
    fs::remove_dir_all(project.path(CACHE)).expect("the folder is there");
    project.write(CACHE, "a file in its place\n");
    let said = project.run(&[]);
    assert_eq!((said.code, project.read(CACHE).as_str()), (0, "a file in its place\n"), "{}", said.err);
}

#[test]
fn whatever_changes_a_run_leaves_what_a_complete_run_leaves() {
    let project = Project::new("last-run-random");
    project.run(&[]);
    let mut random = Shift(0x9e37_79b9_7f4a_7c15);
    let mut at_once = 0;
    for round in 0..24 * rounds() {
        let step = change(&project, &mut random, round);
        // Half of the changes come right after a run that was recorded.
        if random.below(2) == 0 {
            let before = recorded(&project);
            let said = project.run(&["--overwrite"]);
            assert_eq!(said.code, 0, "{step}: {}", said.err);
            rest();
            project.run(&[]);
            let settled = recorded(&project);
            project.run(&[]);
            at_once += u32::from(settled.is_some() && settled == recorded(&project));
            assert!(settled >= before);
        } else {
            settle(&project, &step);
        }
    }
    settle(&project, "all");
    assert!(at_once > 3, "only {at_once} runs found nothing changed");
}

/// Changes one file, and says which.
fn change(project: &Project, random: &mut Shift, round: usize) -> String {
    const SPEC: [&str; 3] =
        ["spec/sensor_bus/bus.yaml", "spec/sensor_bus/sampling.yaml", "spec/sensor_log/log.yaml"];
    let outputs: Vec<String> =
        project.files().into_keys().filter(|path| !path.starts_with(".codegen")).collect();
    let output = &outputs[random.below(outputs.len())];
    let path = project.path(output);
    match random.below(6) {
        0 => {
            fs::remove_file(path).expect("it is a file");
            format!("{output} is deleted")
        }
        1 => {
            let text = project.read(output);
            project.write(output, &format!("{text}// {round}\n"));
            format!("{output} is edited")
        }
        2 => {
            // The length stays, and the time is set back.
            let before = fs::metadata(&path).and_then(|data| data.modified()).expect("it is there");
            let text = project.read(output);
            let last = text.len() - 2;
            project.write(output, &format!("{}~\n", text.get(..last).unwrap_or_default()));
            let file = fs::File::options().write(true).open(&path).expect("it can be opened");
            file.set_modified(before).expect("the time can be set");
            format!("{output} is edited, and its time is set back")
        }
        3 => {
            let other = &outputs[random.below(outputs.len())];
            fs::rename(&path, project.path(&format!("{other}.old"))).expect("it can be renamed");
            fs::remove_file(project.path(&format!("{other}.old"))).expect("it was renamed");
            format!("{output} is moved away")
        }
        4 => {
            let file = SPEC[random.below(SPEC.len())];
            let text = project.read(file);
            project.write(file, &format!("{text}# {round}\n"));
            format!("{file} has another comment")
        }
        _ => {
            let file = SPEC[random.below(SPEC.len())];
            let text = project.read(file);
            let line = text.lines().find(|line| line.starts_with("title: ")).expect("a group has a title");
            project.write(file, &text.replacen(line, &format!("title: Title {round}"), 1));
            format!("{file} has another title")
        }
    }
}
