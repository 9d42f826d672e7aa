//! The names on the page about wheels are those of the files that `tenon new` writes.

use crate::page::{blocks, read};

const PAGE: &str = "docs/src/guide/packaging.md";
const HOOK: &str = "tools/cli/templates/common/hatch_build.py.jinja";
const MODULE: &str = "tools/cli/templates/common/package.py.jinja";
/// Chooses the folder of the library in the wheel.
const NEW: &str = "tools/cli/src/new/files.rs";

#[test]
fn names_of_the_page_are_in_the_build_hook() {
    let hook = read(HOOK);
    let text: String =
        blocks(PAGE).iter().filter(|block| block.language == "python").map(|block| &*block.text).collect();
    let names: Vec<&str> = text.lines().filter_map(|line| Some(line.split_once(" = ")?.0)).collect();
    assert_eq!(names, ["BUILD", "LIBRARY"]);
    for name in names {
        let is_assigned = hook.lines().any(|line| line.starts_with(&format!("{name} = ")));
        assert!(is_assigned, "{HOOK} does not assign {name}");
    }
    let named = [
        ("force_include", HOOK),
        ("py3-none", HOOK),
        ("manylinux_", HOOK),
        ("get_library_path()", MODULE),
        ("get_ep_name()", MODULE),
        ("get_ep_names()", MODULE),
        ("paddle_custom_device", NEW),
    ];
    for (text, file) in named {
        assert!(read(PAGE).contains(text) && read(file).contains(text), "{text} is not in {PAGE} and {file}");
    }
}
