//! Checks that committed outputs are up to date, and that every link of the reference has a target.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use codegen::emit::{Inputs, emit};
use codegen::out::FileMap;
use codegen::source::Folder;

use crate::root;
use crate::specs::load;

/// Emits the reference of a spec, in memory.
fn reference(project: &Path) -> FileMap {
    let mut loaded = load(&Folder::new(project.join("spec")));
    let template = loaded
        .spec
        .outputs
        .place(&codegen::grammar::outputs::SUMMARY)
        .map(|place| project.join(place.read("template")));
    let summary = template.map(|path| std::fs::read_to_string(path).expect("the template is there"));
    loaded.spec.outputs.places.retain(|place| ["reference", "summary"].contains(&place.key));
    emit(&Inputs {
        loaded: &loaded,
        folder: "spec",
        summary: summary.as_deref(),
        exports: None,
        last_run: None,
    })
    .expect("the outputs can be emitted")
}

/// Runs the command, which also reads the exports that are written by hand.
fn is_up_to_date(project: &Path) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_codegen"));
    let output = command.arg("--check").arg("--spec").arg(project.join("spec")).output();
    let output = output.expect("the command was built with this test");
    let [said, failed] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success(), "{said}{failed}");
}

#[test]
fn the_outputs_of_the_spec_are_up_to_date() {
    is_up_to_date(root());
}

#[test]
fn the_outputs_of_the_example_are_up_to_date() {
    is_up_to_date(&root().join("examples/custom-spec"));
    is_up_to_date(&root().join("examples/codec-spec"));
    is_up_to_date(&root().join("examples/known-apis"));
}

/// Finds the targets of links to other pages in a Markdown text.
fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://")).collect()
}

/// Follows a link from a page.
fn resolve(page: &str, target: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Computes the ids that mdBook gives to the headings of a page.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter_map(|line| line.strip_prefix('#'));
    let id = |heading: &str| {
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        heading
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-'))
            .collect::<String>()
            .replace(' ', "-")
    };
    headings.map(id).collect()
}

#[test]
fn every_link_of_the_reference_leads_somewhere() {
    for project in [root().to_owned(), root().join("examples/custom-spec")] {
        let files = reference(&project);
        let pages: Vec<_> = files.outputs().iter().filter(|output| output.path.ends_with(".md")).collect();
        let mut followed = 0;
        for page in &pages {
            for link in links(&page.text) {
                let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
                let target = if target.is_empty() { page.path.clone() } else { resolve(&page.path, target) };
                let found = files.outputs().iter().find(|output| output.path == target);
                let by_hand = || project.join(&target).is_file();
                assert!(
                    found.is_some() || by_hand(),
                    "`{}` links to `{link}`, which is not there",
                    page.path
                );
                if let (Some(found), false) = (found, anchor.is_empty()) {
                    assert!(
                        anchors(&found.text).contains(anchor),
                        "`{}` has no heading for `{link}`",
                        target
                    );
                }
                followed += 1;
            }
        }
        assert!(followed > pages.len(), "the pages have hardly any links");
    }
}

#[test]
fn every_page_is_in_the_table_of_contents() {
    let files = reference(root());
    let summary = files.outputs().iter().find(|output| output.path.ends_with("SUMMARY.md"));
    let summary = summary.expect("the spec asks for a table of contents");
    let listed: BTreeSet<String> =
        links(&summary.text).into_iter().map(|link| resolve(&summary.path, link)).collect();
    for page in
        files.outputs().iter().filter(|output| output.path.ends_with(".md") && output.path != summary.path)
    {
        assert!(listed.contains(&page.path), "`{}` is not in the table of contents", page.path);
    }
}

#[test]
fn functions_of_objects_are_listed_by_release() {
    let files = reference(root());
    let page =
        files.outputs().iter().find(|output| output.path.ends_with("reference/onnxruntime_objects/index.md"));
    let page = &page.expect("the interface has a page").text;
    let row = |function: &str| {
        let line = page.lines().find(|line| line.contains(&format!("[`{function}`]"))).expect(function);
        line.split('|').map(str::trim).filter(|cell| ["✓", "–"].contains(cell)).collect::<String>()
    };
    assert!(page.contains("| Group | Function | 1.24 | 1.25 |"));
    assert_eq!(row("GetCapability"), "✓".repeat(9));
    // Of `OrtEp`, since 1.25 and 1.26.
    assert_eq!(row("CreateProfiler"), "–✓✓✓✓✓✓✓✓");
    assert_eq!(row("IsGraphCaptureEnabled"), "––✓✓✓✓✓✓✓");
    assert!(page.contains("The host refuses the object."));
}
