//! The table of crates on the page about the architecture, and the direction of their dependencies.

use std::collections::BTreeMap;

use crate::page::read;

/// The crates that run the generator. All others, and the devices made with them, build without it.
const USERS_OF_THE_GENERATOR: [&str; 2] = ["sdk-rs/spec-macros", "tools/fuzz"];

/// Crates that the page names in a sentence: they serve this repository alone.
const INTERNAL: [&str; 3] = ["tools/fuzz", "tools/testing", "tools/xtask"];

/// The crates of the workspace that a crate depends on, by its folder. Dependencies of tests are not among them.
type Crates = BTreeMap<String, Vec<String>>;

/// Reads the manifests of the workspace, apart from the documentation and the examples.
fn of_manifests() -> Crates {
    let workspace = read("Cargo.toml");
    let (_, members) = workspace.split_once("members = [").expect("the workspace has members");
    let (members, _) = members.split_once(']').expect("the list ends");
    members
        .split('"')
        .skip(1)
        .step_by(2)
        .filter(|member| *member != "docs" && !member.starts_with("examples/"))
        .map(|member| (member.to_owned(), dependencies(&read(&format!("{member}/Cargo.toml")))))
        .collect()
}

fn dependencies(manifest: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_inside = false;
    for line in manifest.lines() {
        if let Some(section) = line.strip_prefix('[') {
            is_inside = section.ends_with("dependencies]") && !section.contains("dev-");
        } else if is_inside {
            let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
            let is_ours = name == "codegen" || name == "tenon" || name.starts_with("tenon-");
            found.extend(is_ours.then(|| name.to_owned()));
        }
    }
    found.sort();
    found
}

/// Reads the table of the page.
fn of_page() -> Crates {
    let page = read("docs/src/guide/architecture.md");
    let (_, section) = page.split_once("\n## Crates\n").expect("the page has the section");
    let table = section.split("\n## ").next().unwrap_or_default();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let names = cells[3].split('`').skip(1).step_by(2).map(str::to_owned);
        (cells[1].trim_matches('`').to_owned(), names.collect())
    })
    .collect()
}

#[test]
fn table_has_the_dependencies_of_each_crate() {
    let mut expected = of_manifests();
    expected.retain(|folder, _| !INTERNAL.contains(&folder.as_str()));
    assert_eq!(of_page(), expected);
}

#[test]
fn crates_that_run_do_not_depend_on_the_generator() {
    let crates = of_manifests();
    let users: Vec<&String> = crates
        .iter()
        .filter(|(_, names)| names.iter().any(|name| name == "codegen" || name == "tenon-spec-macros"))
        .map(|(folder, _)| folder)
        .collect();
    assert_eq!(users, USERS_OF_THE_GENERATOR);
}
