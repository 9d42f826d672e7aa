//! Compares the spec of ACL with data from the public headers of its releases.
//!
//! `acl/` has the data. Functions are compared as text, since most handles are a `void*` to a compiler, which would
//! let swapped ones pass. Constants and structs are compared in the generated headers, by a compiler.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use codegen::emit::c::{Dialect, Speller};
use codegen::model::{FallbackKind, Function, Interface, Spec, Type, TypeKind};

use crate::specs::{self, changed, headers, project};
use crate::{data, root};

/// Functions and members whose type differs from the newest release. A difference that no longer exists fails the test.
const KNOWN_DIFFERENCES: &[(&str, &str)] = &[
    ("acldumpRegCallback", "the header writes the type of the callback in full"),
    (
        "aclrtUtilizationInfo.utilizationExtend",
        "`void*` in the spec, which does not describe the struct behind it",
    ),
];

/// Constants and structs that the data does not have, and why the spec has them.
const NOT_IN_DATA: &[(&str, &str)] = &[
    ("ACL_ERROR_RT_DEVIDE_OOM", "a spelling that was mended before release 8.5; programs still use it"),
    ("ACL_RT_MEM_TYPE_DEV", "documented for `aclrtCheckMemType`; the headers of the data have only numbers"),
    ("ACL_RT_MEM_TYPE_DVPP", "as `ACL_RT_MEM_TYPE_DEV`"),
    ("ACL_RT_MEM_TYPE_RSVD", "as `ACL_RT_MEM_TYPE_DEV`"),
    ("ACL_TRANS_N", "of `acl_op.h`, which is not in the data"),
    ("ACL_TRANS_T", "of `acl_op.h`, which is not in the data"),
    ("ACL_TRANS_NZ", "of `acl_op.h`, which is not in the data"),
    ("ACL_TRANS_NZ_T", "of `acl_op.h`, which is not in the data"),
    ("ACL_COMPUTE_HIGH_PRECISION", "of `acl_op.h`, which is not in the data"),
    ("ACL_COMPUTE_LOW_PRECISION", "of `acl_op.h`, which is not in the data"),
    ("aclmdlIODims", "of `acl_mdl.h`, which is not in the data"),
    ("aclprofMessage", "without a name outside its struct; held as `aclprofEventAttributes.message`"),
    ("aclrtRandomNumParam", "without a name in the header; held as `aclrtRandomNumFuncParaInfo.paramInfo`"),
];

/// Functions, constants, macros and structs of the headers that the spec does not have. `*` ends a prefix.
const NOT_DECLARED: &[(&str, &str)] = &[
    ("ACL_ERROR_GE_*", "of the header of the graph engine, whose functions are not part of the runtime"),
    ("ACL_DEPRECATED", "marks declarations for the compiler; it has no value"),
    ("ACL_DUMP_API", "as `ACL_DEPRECATED`"),
    ("ACL_DUMP_WEAK", "as `ACL_DEPRECATED`"),
    ("ACL_PROF_AICORE_SHAPE", "exceeds the 32 bits of an enum of the spec"),
    ("ACL_PROF_API_STATS", "as `ACL_PROF_AICORE_SHAPE`"),
];

/// Structs that the data has under their tag.
const TAGS: &[(&str, &str)] = &[("aclmdlRICondTaskParams", "tagAclmdlRICondTaskParams")];

fn acl(spec: &Spec) -> &Interface {
    spec.interface("acl").expect("the spec has ACL")
}

/// Reads the columns of each name in a file; if a name has several rows, those of the newest release.
fn rows(file: &str) -> BTreeMap<String, Vec<String>> {
    let path = data("acl").join(file);
    let text = std::fs::read_to_string(&path).expect("the data is part of the repository");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let row = |line: &str| {
        let mut columns = line.split('\t').map(str::to_owned);
        (columns.next().unwrap_or_default(), columns.collect())
    };
    lines.map(row).collect()
}

/// Normalises the type of a function: `aclError (const char *)` and `aclError (*)(const char*)` are the same.
fn normalised(function_type: &str) -> String {
    let text = function_type.replace("(*)", "").replace("(void)", "()").replace('*', " * ");
    let (result, params) = text.split_once('(').unwrap_or((&text, ""));
    let params = params.trim().trim_end_matches(')').split(',').map(parameter);
    format!("{}({})", parameter(result), params.collect::<Vec<_>>().join(", "))
}

/// Normalises the type of a parameter, without a top-level `const`.
fn parameter(ty: &str) -> String {
    let mut words: Vec<&str> = ty.split_whitespace().filter(|word| *word != "struct").collect();
    while words.len() > 1 && words.last() == Some(&"const") {
        words.pop();
    }
    if !words.contains(&"*") {
        words.retain(|word| *word != "const");
    }
    for word in words.iter_mut().filter(|word| **word == "int") {
        *word = "int32_t";
    }
    words.join(" ").replace(" *", "*")
}

fn is_known(name: &str) -> bool {
    KNOWN_DIFFERENCES.iter().any(|(known, _)| *known == name)
}

/// Lists the differences of functions, each with the function's name. Known differences that no longer exist count too.
fn function_differences(spec: &Spec) -> Vec<String> {
    let interface = acl(spec);
    let speller = Speller::new(spec, interface, None, Dialect::C);
    let (functions, unverified) = (rows("functions.tsv"), rows("unverified.tsv"));
    let of = |function: &Function| {
        let name = &function.c_name;
        let ours = normalised(&speller.function_type(function));
        let known = is_known(name);
        let theirs = match (functions.get(name), unverified.get(name)) {
            (Some(columns), None) => normalised(&columns[2]),
            (None, Some(columns)) => normalised(&columns[1]),
            (Some(_), Some(_)) => return Some(format!("{name} is in `functions.tsv`, so it is verified")),
            (None, None) => return Some(format!("{name} is declared by no header of ACL")),
        };
        match (ours == theirs, known) {
            (true, false) | (false, true) => None,
            (true, true) => Some(format!("{name} differs no longer: take it out of the known differences")),
            (false, false) => Some(format!("{name} is {ours}, and {theirs} in the header")),
        }
    };
    let mut wrong: Vec<String> = interface.functions.iter().filter_map(of).collect();
    let is_there = |name: &str| interface.functions.iter().any(|function| function.c_name == name);
    let known = KNOWN_DIFFERENCES.iter().map(|(name, _)| *name).filter(|name| !name.contains('.'));
    let listed = known.chain(unverified.keys().map(String::as_str));
    wrong.extend(listed.filter(|name| !is_there(name)).map(|name| format!("{name} is listed and not there")));
    wrong
}

/// Generates assertions in C++ about the constants and structs of the spec. Also returns the names that the data lacks.
fn claims(spec: &Spec) -> (String, Vec<String>) {
    let (constants, macros, structs) = (rows("constants.tsv"), rows("macros.tsv"), rows("structs.tsv"));
    let mut lines = Vec::new();
    let mut absent = Vec::new();
    for ty in &acl(spec).types {
        let name = &ty.c_name;
        match &ty.kind {
            TypeKind::Enum { values, .. } => {
                for value in values.iter().map(|value| &value.c_name) {
                    let (number, of) = match (constants.get(value), macros.get(value)) {
                        (Some(columns), _) => (&columns[2], Some(&columns[3])),
                        (None, Some(columns)) => (&columns[1], None),
                        (None, None) => {
                            absent.push(value.clone());
                            continue;
                        }
                    };
                    lines.push(format!(
                        "static_assert((long long)({value}) == (long long)({number}), \"{value}\");"
                    ));
                    if let Some(of) = of.filter(|of| !of.starts_with("var ")) {
                        lines.push(same(&format!("decltype({value})"), of, &format!("{value} is of {of}")));
                    }
                }
            }
            TypeKind::Struct { .. } => {
                let tag = TAGS.iter().find(|(known, _)| known == name).map_or(&**name, |(_, tag)| tag);
                match structs.get(tag) {
                    Some(columns) => lines.extend(struct_claims(ty, &columns[2], &columns[3])),
                    None => absent.push(name.clone()),
                }
            }
            TypeKind::Handle { .. } | TypeKind::Id { .. } | TypeKind::Callback { .. } => {}
        }
    }
    (lines.join("\n") + "\n", absent)
}

fn same(left: &str, right: &str, what: &str) -> String {
    format!("static_assert(std::is_same<{left}, {right}>::value, \"{what}\");")
}

/// Generates assertions about size, offsets and types; `members` is a JSON list of name, type and offset in bits.
fn struct_claims(ty: &Type, size: &str, members: &str) -> Vec<String> {
    let name = &ty.c_name;
    let members: Vec<(String, String, u64)> =
        serde_json::from_str(members).expect("the members are a list of name, type and offset");
    let mut lines = vec![format!("static_assert(sizeof({name}) == {size}, \"size of {name}\");")];
    // The spec has no arrays of unknown length, which follow the struct and do not change its size.
    let described = members.into_iter().filter(|(_, spelled, _)| !spelled.ends_with("[0]"));
    for (member, spelled, bits) in described {
        let (bytes, whole) = (bits / 8, format!("{name}.{member}"));
        lines.push(format!("static_assert(offsetof({name}, {member}) == {bytes}, \"offset of {whole}\");"));
        let ours = format!("decltype({name}::{member})");
        if is_known(&whole) {
            // The header may lack the type; if it has the type, both declarations are the same.
            lines.push(format!("struct {};", spelled.trim_end_matches([' ', '*'])));
            let gone = format!("{whole} differs no longer: take it out of the known differences");
            lines.push(format!("static_assert(!std::is_same<{ours}, {spelled}>::value, \"{gone}\");"));
        } else if !spelled.contains("unnamed") && !spelled.starts_with("union ") {
            lines.push(same(&ours, &spelled, &format!("type of {whole}")));
        }
    }
    lines
}

fn excuses(excuse: &str, name: &str) -> bool {
    match excuse.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => excuse == name,
    }
}

fn is_excused(name: &str) -> bool {
    NOT_DECLARED.iter().any(|(excuse, _)| excuses(excuse, name))
}

/// Lists the names of the data that the spec does not have, and excuses that no such name needs.
fn missing(spec: &Spec) -> Vec<String> {
    let interface = acl(spec);
    let mut declared: BTreeSet<&str> =
        interface.functions.iter().map(|function| function.c_name.as_str()).collect();
    for ty in &interface.types {
        let tag = TAGS.iter().find(|(known, _)| *known == ty.c_name).map_or(&*ty.c_name, |(_, tag)| tag);
        declared.insert(tag);
        if let TypeKind::Enum { values, .. } = &ty.kind {
            declared.extend(values.iter().map(|value| value.c_name.as_str()));
        }
    }
    let files = ["functions.tsv", "constants.tsv", "macros.tsv", "structs.tsv"];
    let names = files.iter().flat_map(|file| rows(file).into_keys());
    let names: Vec<String> = names.filter(|name| !declared.contains(&**name)).collect();
    let is_needed = |excuse: &str| names.iter().any(|name| excuses(excuse, name));
    let needless = NOT_DECLARED.iter().filter(|(excuse, _)| !is_needed(excuse));
    let needless: Vec<String> = needless.map(|(excuse, _)| format!("{excuse} (excused)")).collect();
    names.into_iter().filter(|name| !is_excused(name)).chain(needless).collect()
}

/// Generates assertions for the preprocessor: the macros of the data are macros.
fn macro_claims() -> String {
    let names = rows("macros.tsv").into_keys().filter(|name| !is_excused(name));
    names.map(|name| format!("#ifndef {name}\n#error \"{name} is no macro\"\n#endif\n")).collect()
}

/// Compiles a program that includes headers; returns the compiler's message if that fails.
fn compile_with(include: &Path, headers: &[&str], flags: &[&str], claims: &str) -> Result<(), String> {
    let is_c = flags.contains(&"-xc");
    let file = include.join(if is_c { "claims.c" } else { "claims.cc" });
    let includes: String = headers.iter().map(|header| format!("#include \"acl/{header}\"\n")).collect();
    std::fs::write(&file, includes + claims).expect("the folder for tests can be written");
    specs::compile(if is_c { "cc" } else { "c++" }, flags, include, &file)
}

/// Compiles assertions with all headers of a spec.
fn compile(spec: Spec, test: &str, claims: &str) -> Result<(), String> {
    let names = header_names(&spec);
    let include = headers(spec, &format!("acl-{test}"));
    let claims = format!("#include <cstddef>\n#include <type_traits>\n{claims}");
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    compile_with(&include, &names, &["-std=c++17", "-w"], &claims)
}

/// Returns the names of ACL's headers, without their folder.
fn header_names(spec: &Spec) -> BTreeSet<String> {
    let interface = acl(spec);
    let groups = interface.groups.iter().map(|group| &group.header.value);
    groups.chain([&interface.header]).map(|header| header.trim_start_matches("acl/").to_owned()).collect()
}

#[test]
fn functions_are_as_the_newest_release_declares_them() {
    let wrong = function_differences(&project());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn constants_and_structs_are_as_the_newest_release_has_them() {
    let spec = project();
    let (claims, absent) = claims(&spec);
    let mut excused: Vec<&str> = NOT_IN_DATA.iter().map(|(name, _)| *name).collect();
    let mut absent: Vec<&str> = absent.iter().map(String::as_str).collect();
    excused.sort_unstable();
    absent.sort_unstable();
    assert_eq!(absent, excused, "left: not in the data; right: excused");
    assert!(claims.lines().count() > 500, "there are claims");
    if let Err(reason) = compile(spec, "newest", &claims) {
        panic!("{reason}");
    }
}

#[test]
fn every_name_of_the_headers_is_declared_or_excused() {
    let missing = missing(&project());
    assert!(missing.is_empty(), "declared and excused, or neither: {}", missing.join(", "));
}

#[test]
fn a_missing_function_is_named() {
    let spec = changed("acl/buffer.yaml", "c: aclrtAllocBuf", "c: aclrtAlocBuf");
    assert_eq!(missing(&spec), ["aclrtAllocBuf"]);
}

#[test]
fn headers_compile_alone_and_together() {
    let spec = project();
    let names = header_names(&spec);
    let include = headers(spec, "acl-alone");
    let together: Vec<&str> = names.iter().map(String::as_str).collect();
    let alone = together.iter().map(std::slice::from_ref);
    for headers in alone.chain([&together[..]]) {
        for flags in [["-xc", "-std=c11"], ["-xc++", "-std=c++17"]] {
            let flags = [&flags[..], &["-Wall", "-Wextra", "-Wpedantic", "-Werror"]].concat();
            if let Err(reason) = compile_with(&include, headers, &flags, "int main(void) { return 0; }\n") {
                panic!("{headers:?} with {flags:?}:\n{reason}");
            }
        }
    }
    let used = "int main(void) { aclInit(0); aclFinalize(); return aclGetRecentErrMsg() != 0; }\n";
    if let Err(reason) = compile_with(&include, &["acl_rt.h"], &["-xc", "-std=c11"], used) {
        panic!("`acl_rt.h` alone lacks functions:\n{reason}");
    }
    if let Err(reason) = compile_with(&include, &together, &["-xc", "-std=c11"], &macro_claims()) {
        panic!("{reason}");
    }
}

#[test]
fn a_wrong_function_is_blamed_by_its_name() {
    let cases = [
        ("acl/buffer.yaml", "c: aclrtAllocBuf", "c: aclrtAlocBuf", "aclrtAlocBuf is declared by no header"),
        (
            "acl/event.yaml",
            "event: { type: Event, doc: \"The event to record.\" }\n      \
             stream: { type: Stream, doc: \"The stream to put it into.\" }",
            "stream: { type: Stream, doc: \"The stream to put it into.\" }\n      \
             event: { type: Event, doc: \"The event to record.\" }",
            "aclrtRecordEvent is aclError(aclrtStream, aclrtEvent), and aclError(aclrtEvent, aclrtStream)",
        ),
        (
            "acl/model.yaml",
            "c: aclmdlUnload\n",
            "c: aclmdlUnlod\n",
            "aclmdlUnlod is declared by no header of ACL\naclmdlUnload is listed and not there",
        ),
    ];
    for (path, from, to, blamed) in cases {
        let wrong = function_differences(&changed(path, from, to)).join("\n");
        assert!(wrong.contains(blamed), "`{blamed}` is not blamed:\n{wrong}");
    }
}

#[test]
fn a_wrong_number_or_layout_is_blamed_by_its_name() {
    let spec = changed(
        "acl/base.yaml",
        "c: ACL_ERROR_UNINITIALIZE, value: 100001",
        "c: ACL_ERROR_UNINITIALIZE, value: 100099",
    );
    let (claims, _) = claims(&spec);
    let reason = compile(spec, "number", &claims).expect_err("a wrong number compiles");
    assert!(reason.contains("ACL_ERROR_UNINITIALIZE"), "{reason}");

    let spec = changed("acl/memory.yaml", "id: { type: u32, doc: \"Number", "id: { type: u64, doc: \"Number");
    let reason = compile(spec, "layout", &claims).expect_err("a wrong layout compiles");
    for blamed in
        ["size of aclrtMemLocation", "offset of aclrtMemLocation.type", "type of aclrtMemLocation.id"]
    {
        assert!(reason.contains(blamed), "`{blamed}` is not blamed:\n{reason}");
    }
}

/// Formats the rows of the table in the guide: per header the functions of each release, and what the spec does with
/// them.
fn table(spec: &Spec) -> String {
    let interface = acl(spec);
    let mut rows = BTreeMap::<&str, [usize; 6]>::new();
    let text =
        std::fs::read_to_string(data("acl/functions.tsv")).expect("the data is part of the repository");
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let row = rows.entry(columns[1]).or_default();
        for (count, release) in row.iter_mut().zip(["8.5", "9.0", "9.1", "9.2b2"]) {
            *count += usize::from(columns[2].split(',').any(|has| has == release));
        }
        let Some(function) = interface.functions.iter().find(|function| function.c_name == columns[0]) else {
            continue;
        };
        if columns[2].contains("9.2b2") {
            let is_refused = matches!(
                &function.fallback,
                Some(fallback) if matches!(fallback.kind, FallbackKind::Refuse { .. })
            );
            row[4 + usize::from(is_refused)] += 1;
        }
    }
    let row = |(header, counts): (&str, [usize; 6])| {
        let counts = counts.map(|count| count.to_string()).join(" | ");
        format!("| `{header}` | {counts} |\n")
    };
    rows.into_iter().map(row).collect()
}

#[test]
fn the_guide_counts_the_functions_of_each_header() {
    let guide = std::fs::read_to_string(root().join("docs/src/guide/acl.md")).expect("there is a guide");
    let table = table(&project());
    assert!(guide.contains(&table), "the table in the guide should be\n{table}");
}
