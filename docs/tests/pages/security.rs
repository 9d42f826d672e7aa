//! The table of files in `SECURITY.md`: each row names a test that exists.

use crate::page::read;

#[test]
fn each_row_names_a_test() {
    let page = read("SECURITY.md");
    let (_, section) = page.split_once("\n## Files\n").expect("the page has the section");
    let table = section.split("\n## ").next().unwrap_or_default();
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!(rows.len() > 5, "{table}");
    for row in rows {
        let cell = row.trim_end_matches([' ', '|']).rsplit('|').next().unwrap_or_default();
        let names: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
        let [test, file] = names[..] else { panic!("no `test` in `file`: {row}") };
        let text = read(file);
        let is_there =
            [format!("fn {test}("), format!("def {test}(")].iter().any(|start| text.contains(start));
        assert!(is_there, "{file} has no test {test}: {row}");
    }
}
