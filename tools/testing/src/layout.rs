//! Generated headers against offsets and types that were read from the headers of another project.

use std::path::Path;
use std::process::Command;

/// A line of a table: a struct, a member or `size`, the first release with it, its offset or size in bytes, and its type.
struct Row<'a> {
    of: &'a str,
    member: &'a str,
    since: &'a str,
    bytes: u64,
    ty: &'a str,
}

fn rows(table: &str) -> impl Iterator<Item = Row<'_>> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| match line.split('\t').collect::<Vec<_>>()[..] {
        [of, member, since, bytes, ty] => {
            Row { of, member, since, bytes: bytes.parse().expect("a number"), ty }
        }
        _ => panic!("five columns are expected in {line:?}"),
    })
}

/// Writes a type of the table as C++ does: `Status*(OrtEp*)` becomes a pointer to a function.
fn spelled(ty: &str, statuses: &str) -> String {
    let words = ty.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_');
    let ty: String = words
        .map(|word| match word.strip_prefix("Status") {
            Some(rest) if !rest.starts_with(|c: char| c.is_alphanumeric()) => format!("{statuses}{rest}"),
            _ => word.to_owned(),
        })
        .collect();
    match ty.split_once('(') {
        Some((result, parameters)) => format!("{result}(*)({parameters}"),
        None => ty,
    }
}

/// Compiles headers with an assertion for each line of a table. Sizes are those of the newest release. In types, `Status`
/// stands for `statuses`.
///
/// # Panics
/// A struct differs, or there is no C++ compiler.
pub fn holds(include: &Path, headers: &[&str], table: &str, newest: &str, statuses: &str) {
    let is_meant = |row: &Row<'_>| row.member != "size" || row.since == newest;
    let asserts = rows(table).filter(is_meant).map(|row| {
        let Row { of, member, bytes, ty, .. } = row;
        if member == "size" {
            return format!("static_assert(sizeof({of}) == {bytes}, \"size of {of}\");\n");
        }
        let offset =
            format!("static_assert(offsetof({of}, {member}) == {bytes}, \"offset of {of}.{member}\");\n");
        if ty.is_empty() {
            return offset;
        }
        let ty = spelled(ty, statuses);
        let same = format!("std::is_same<decltype({of}::{member}), {ty}>::value");
        format!("{offset}static_assert({same}, \"type of {of}.{member}\");\n")
    });
    let asserts: Vec<String> = asserts.collect();
    assert!(asserts.len() > 50, "the table was read: {} lines", asserts.len());
    let includes: String = headers.iter().map(|header| format!("#include \"{header}\"\n")).collect();
    let file = tempfile(headers[0]);
    std::fs::write(&file, format!("#include <type_traits>\n{includes}{}", asserts.concat()))
        .expect("the folder for tests can be written");
    let output = Command::new("c++")
        .args(["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I"])
        .arg(include)
        .arg(&file)
        .output()
        .expect("`c++` is not installed: apt-get install g++");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Returns a path for a source beside the test program.
fn tempfile(header: &str) -> std::path::PathBuf {
    let test = std::env::current_exe().expect("the path of the test");
    let name = header.replace(['/', '.'], "_");
    test.with_file_name(format!("{name}-{}.cc", std::process::id()))
}
