//! The mistakes that `tenon check` finds in a plugin with the functions of PaddlePaddle's tutorial.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use tenon_conformance::{Options, Source};

use crate::page::{read, root};

#[test]
fn mistakes_on_the_page_are_those_that_the_cases_find() {
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libtutorial.so");
    let status = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-DTENON_DEVICE_NEWEST_ONLY"])
        .arg(format!("-I{}", root().join("sdk-c/include").display()))
        .arg(root().join("docs/tests/samples/tutorial.c"))
        .arg("-o")
        .arg(&library)
        .status();
    assert!(status.expect("the README requires `cc`").success());

    let source = Source::File { path: library, release: None, host: None };
    let options = Options { program: None, ..Options::default() };
    let outcome = tenon_conformance::run(&source, &options, &mut |_| {}).expect("the plugin can be tested");
    let found: BTreeSet<String> = outcome.failures().map(|(case, _)| case.id.to_string()).collect();

    let page = read("docs/src/guide/paddle-tutorial.md");
    let (_, section) = page.split_once("\n## Mistakes in the sample\n").expect("the page has the section");
    let table = section.split("\n## ").next().unwrap_or_default();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
    let cells = rows.filter_map(|row| row.split_once(" | "));
    let documented: BTreeSet<String> = cells
        .flat_map(|(ids, _)| ids.split("`").map(str::to_owned).collect::<Vec<_>>())
        .filter(|id| id.contains('.'))
        .collect();
    assert_eq!(documented, found);
}
