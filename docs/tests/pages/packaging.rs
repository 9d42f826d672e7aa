//! The names on the page about wheels are those of the files that `tenon new` writes.

use crate::page::{blocks, read};

const PAGE: &str = "docs/src/guide/packaging.md";
const HOOK: &str = "tools/cli/templates/common/hatch_build.py.jinja";

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
    for text in ["force_include", "py3-none", "manylinux_", "paddle_custom_device/"] {
        assert!(read(PAGE).contains(text) && hook.contains(text), "{text} is not in {PAGE} and {HOOK}");
    }
}
