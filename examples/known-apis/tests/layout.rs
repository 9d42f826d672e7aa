//! The structs of the generated headers against offsets and types that were read from ONNX Runtime's own headers.

use std::path::Path;
use std::process::Command;

/// A line of `onnxruntime.tsv`, `ggml.tsv` or `pjrt.tsv`.
struct Row<'a> {
    of: &'a str,
    member: &'a str,
    since: &'a str,
    bytes: u64,
    ty: &'a str,
}

fn rows(table: &str) -> Vec<Row<'_>> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    let row = |line| match str::split(line, '\t').collect::<Vec<_>>()[..] {
        [of, member, since, bytes, ty] => {
            Row { of, member, since, bytes: bytes.parse().expect("a number"), ty }
        }
        _ => panic!("five columns are expected in {line:?}"),
    };
    lines.map(row).collect()
}

/// Writes a type of the table as C++ does: `Status*(OrtEp*)` becomes a pointer to a function.
fn spelled(ty: &str) -> String {
    // The headers name it before the struct is known.
    let ty = ty.replace("const OrtEpApi*", "const void*");
    let words = ty.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_');
    let ty: String = words
        .map(|word| match word.strip_prefix("Status") {
            Some(rest) if !rest.starts_with(|c: char| c.is_alphanumeric()) => format!("OrtStatus{rest}"),
            _ => word.to_owned(),
        })
        .collect();
    match ty.split_once('(') {
        Some((result, parameters)) => format!("{result}(*)({parameters}"),
        None => ty,
    }
}

/// Compiles a header with an assertion for each line of a table. Sizes are those of the newest release.
fn holds(header: &str, table: &str, newest: &str) {
    let asserts =
        rows(table).into_iter().filter(|row| row.member != "size" || row.since == newest).map(|row| {
            let Row { of, member, bytes, ty, .. } = row;
            if member == "size" {
                return format!("static_assert(sizeof({of}) == {bytes}, \"size of {of}\");\n");
            }
            let offset =
                format!("static_assert(offsetof({of}, {member}) == {bytes}, \"offset of {of}.{member}\");\n");
            if ty.is_empty() {
                return offset;
            }
            let ty = spelled(ty);
            let same = format!("std::is_same<decltype({of}::{member}), {ty}>::value");
            format!("{offset}static_assert({same}, \"type of {of}.{member}\");\n")
        });
    let asserts: Vec<String> = asserts.collect();
    assert!(asserts.len() > 50, "the table was read: {} lines", asserts.len());
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(header).with_extension("cc");
    let text = format!("#include <type_traits>\n#include \"{header}\"\n{}", asserts.concat());
    std::fs::write(&file, text).expect("the folder for tests can be written");
    let output = Command::new("c++")
        .args(["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I"])
        .arg(here.join("include"))
        .arg(&file)
        .output()
        .expect("`c++` is not installed: apt-get install g++");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn structs_of_onnx_runtime_have_its_offsets_and_types() {
    holds("ort_provider_api.h", include_str!("onnxruntime.tsv"), "1.25");
}

#[test]
fn structs_of_ggml_have_its_offsets_and_types() {
    holds("ggml_objects.h", include_str!("ggml.tsv"), "1");
}

#[test]
fn structs_of_pjrt_have_its_offsets() {
    holds("pjrt_table.h", include_str!("pjrt.tsv"), "0.33");
}
