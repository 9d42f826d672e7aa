//! Compares the spec of DIOPI with data from its public headers.
//!
//! `diopi/` has the data. Types, layouts and numbers are compared in the generated headers, by a compiler. Names of
//! parameters are compared as text, because tensors that change places have the same type.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use codegen::model::{Coverage, Function, Interface, Spec, Type};
use heck::ToSnakeCase;

use crate::specs::{self, changed, headers, project};
use crate::{data, root};

/// Functions of the headers that the generated headers declare elsewhere: where, and the reason.
const MOVED: &[(&str, &str, &str)] = &[(
    "diopi_register.h",
    "diopirt.h",
    "the host has its functions, and `initLibrary` is in the other header",
)];

/// Functions whose linkage differs from the headers, and the reason.
const LINKAGE: &[(&str, &str)] = &[
    ("diopiGetImplVersion", "the test suite refers to it without a check"),
    ("diopiGetLastErrorString", "the test suite refers to it without a check"),
    ("diopiGetVendorName", "the test suite refers to it without a check"),
];

/// Names of the headers that the claims need and the spec does not have.
const PRELUDE: &str = "#include <cstddef>\n#include <type_traits>\n#include \"diopi/diopi.h\"\n\
                       typedef int8_t diopiDeviceIndex_t;\n";

/// A function as the headers declare it.
struct Declared {
    header: String,
    is_weak: bool,
    result: String,
    /// `None`: not verified.
    params: Option<Vec<String>>,
}

fn rows(file: &str) -> Vec<Vec<String>> {
    let path = data("diopi").join(file);
    let text = std::fs::read_to_string(path).expect("the data is part of the repository");
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

fn declared() -> BTreeMap<String, Declared> {
    let row = |row: Vec<String>| {
        let params = row[4].split(',').map(|param| param.trim().to_owned()).filter(|param| !param.is_empty());
        let declared = Declared {
            header: row[1].clone(),
            is_weak: row[2] == "weak",
            result: row[3].clone(),
            params: (row[4] != "?").then(|| params.collect()),
        };
        (row[0].clone(), declared)
    };
    rows("functions.tsv").into_iter().map(row).collect()
}

/// Splits a parameter into its type and its name: `const void* src`, `diopiStreamHandle_t* stream`.
fn split(param: &str) -> (&str, &str) {
    let start = param.rfind([' ', '*']).map_or(0, |space| space + 1);
    (param[..start].trim(), &param[start..])
}

fn interfaces(spec: &Spec) -> [&Interface; 2] {
    ["diopi_runtime", "diopi"].map(|name| spec.interface(name).expect("the spec has DIOPI"))
}

fn functions(spec: &Spec) -> impl Iterator<Item = (&Interface, &Function)> {
    interfaces(spec).into_iter().flat_map(|it| it.functions.iter().map(move |function| (it, function)))
}

/// Returns the differences from the data in names, headers and linkage.
fn differences(spec: &Spec) -> Vec<String> {
    let declared = declared();
    let mut wrong = Vec::new();
    for (interface, function) in functions(spec) {
        let name = &function.c_name;
        let Some(theirs) = declared.get(name) else {
            wrong.push(format!("{name} is declared by no header of DIOPI"));
            continue;
        };
        wrong.extend(params_differ(function, theirs));
        let ours = &interface.groups[function.group.0].header.value;
        let moved = MOVED.iter().find(|(from, ..)| *from == theirs.header);
        let expected = format!("diopi/{}", moved.map_or(theirs.header.as_str(), |(_, to, _)| to));
        if *ours != expected {
            wrong.push(format!("{name} is in `{ours}`, and `{expected}` is expected"));
        }
        let is_known = LINKAGE.iter().any(|(known, _)| known == name);
        if (function.is_optional() != theirs.is_weak) != is_known {
            wrong.push(format!("{name} has other linkage, or is listed and has not"));
        }
    }
    let ours: BTreeSet<&str> = functions(spec).map(|(_, function)| function.c_name.as_str()).collect();
    let missing = declared.keys().filter(|name| !ours.contains(name.as_str()));
    wrong.extend(missing.map(|name| format!("{name} is missing")));
    wrong
}

fn params_differ(function: &Function, theirs: &Declared) -> Option<String> {
    let name = &function.c_name;
    let ours: Vec<&str> = function.params.iter().map(|param| param.name.value.as_str()).collect();
    let theirs: Vec<String> =
        theirs.params.as_ref()?.iter().map(|param| split(param).1.to_snake_case()).collect();
    (ours != theirs).then(|| format!("{name} has the parameters {ours:?}, and {theirs:?} in the header"))
}

/// Generates assertions in C++ about the types of functions, the numbers, and the layouts of structs.
fn claims() -> String {
    let mut lines = Vec::new();
    for (name, function) in declared() {
        let Some(params) = function.params else { continue };
        let types: Vec<&str> = params.iter().map(|param| split(param).0).collect();
        let whole = format!("{} (*)({})", function.result, types.join(", "));
        lines.push(format!(
            "static_assert(std::is_same<decltype(&{name}), {whole}>::value, \"type of {name}\");"
        ));
    }
    for row in rows("constants.tsv") {
        let [name, value, of] = &row[..] else { panic!("three columns are expected") };
        lines.push(format!("static_assert((long long)({name}) == {value}, \"{name}\");"));
        lines.push(format!(
            "static_assert(std::is_same<decltype({name}), {of}>::value, \"{name} is of {of}\");"
        ));
    }
    for (of, member, ty, offset) in [
        ("diopiSize_t", "data", "const int64_t*", 0),
        ("diopiSize_t", "len", "int64_t", 8),
        ("diopiScalar_t", "stype", "diopiDtype_t", 0),
        ("diopiScalar_t", "fval", "double", 8),
        ("diopiScalar_t", "ival", "int64_t", 8),
    ] {
        let whole = format!("{of}::{member}");
        lines.push(format!("static_assert(offsetof({of}, {member}) == {offset}, \"offset of {whole}\");"));
        lines.push(format!(
            "static_assert(std::is_same<decltype({whole}), {ty}>::value, \"type of {whole}\");"
        ));
    }
    for (handle, pointee) in [
        ("diopiContextHandle_t", "diopiContext*"),
        ("diopiTensorHandle_t", "diopiTensor*"),
        ("diopiConstTensorHandle_t", "const diopiTensor*"),
        ("diopiGeneratorHandle_t", "diopiGenerator*"),
        ("diopiConstGeneratorHandle_t", "const diopiGenerator*"),
        ("diopiStreamHandle_t", "void*"),
    ] {
        lines.push(format!("static_assert(std::is_same<{handle}, {pointee}>::value, \"{handle}\");"));
    }
    lines.join("\n") + "\n"
}

/// Compiles assertions with the headers of a spec; returns the compiler's message if they fail.
fn compile(spec: Spec, test: &str) -> Result<(), String> {
    let include = headers(spec, &format!("diopi-{test}"));
    let file = include.join("claims.cc");
    std::fs::write(&file, PRELUDE.to_owned() + &claims()).expect("the folder for tests can be written");
    specs::compile("c++", &["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror"], &include, &file)
}

#[test]
fn names_headers_and_linkage_are_as_published() {
    let wrong = differences(&project());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn types_and_numbers_are_as_published() {
    if let Err(reason) = compile(project(), "published") {
        panic!("{reason}");
    }
}

#[test]
fn constants_are_all_in_the_data() {
    let known: BTreeSet<String> =
        rows("constants.tsv").into_iter().map(|mut row| row.swap_remove(0)).collect();
    let spec = project();
    let types = interfaces(&spec).into_iter().flat_map(|interface| &interface.types);
    let ours: BTreeSet<String> =
        types.flat_map(Type::enum_values).map(|value| value.c_name.clone()).collect();
    assert_eq!(ours, known);
}

#[test]
fn host_and_library_find_each_other() {
    let include = headers(project(), "diopi-programs");
    let files = data("c");
    for (compiler, language, standard) in [("cc", "c", "c11"), ("c++", "c++", "c++17")] {
        let compile = |file: &str, out: &Path, more: &[&str]| {
            let mut command = Command::new(compiler);
            command.arg(format!("-std={standard}")).args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"]);
            command.arg(&include).args(["-x", language]).arg(files.join(file)).args(["-x", "none"]);
            let output = crate::tools::output(command.args(more).arg("-o").arg(out));
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        };
        let library = include.join(format!("libdiopi_impl-{standard}.so"));
        compile("diopi_library.c", &library, &["-shared", "-fPIC"]);
        let host = include.join(format!("host-{standard}"));
        compile("diopi_host.c", &host, &["-rdynamic", &library.display().to_string()]);
        let status = Command::new(&host).status().expect("the program was just made");
        assert!(status.success(), "the host in {standard} fails with {status}");
    }
}

#[test]
fn wrong_name_is_blamed() {
    let cases = [
        (
            "diopi/about.yaml",
            "diopiGetVendorName",
            "diopiGetVendor",
            "diopiGetVendor is declared by no header",
        ),
        ("diopi/about.yaml", "diopiGetVendorName", "diopiGetVendor", "diopiGetVendorName is missing"),
        ("diopi_runtime/tensor.yaml", "itemsize:", "item_size:", "diopiGetTensorElemSize has the parameters"),
        (
            "diopi/device.yaml",
            "diopi/conform_test.h",
            "diopi/device.h",
            "device_malloc is in `diopi/device.h`",
        ),
        ("diopi_runtime/context.yaml", "    required: load\n", "", "diopiGetStream has other linkage"),
    ];
    for (path, from, to, blamed) in cases {
        let wrong = differences(&changed(path, from, to)).join("\n");
        assert!(wrong.contains(blamed), "`{blamed}` is not blamed:\n{wrong}");
    }
}

#[test]
fn wrong_type_or_number_is_blamed() {
    let cases = [
        (
            "number",
            "diopi_runtime/base.yaml",
            "c: diopiNoImplement, value: 13",
            "c: diopiNoImplement, value: 15",
            "diopiNoImplement",
        ),
        (
            "layout",
            "diopi_runtime/base.yaml",
            "fval: { type: f64",
            "fval: { type: f32",
            "type of diopiScalar_t::fval",
        ),
        (
            "const",
            "diopi_runtime/tensor.yaml",
            "th: { type: Tensor, const: true",
            "th: { type: Tensor",
            "type of diopiGetTensorDataConst",
        ),
    ];
    for (test, path, from, to, blamed) in cases {
        let reason = compile(changed(path, from, to), test).expect_err("a wrong claim compiles");
        assert!(reason.contains(blamed), "`{blamed}` is not blamed:\n{reason}");
    }
}

#[test]
fn documents_have_the_number_of_computed_operators() {
    let spec = project();
    let [_, library] = interfaces(&spec);
    let (all, computed) = spec.computable(library).fold((0, 0), |(all, computed), function| {
        (all + 1, computed + usize::from(function.coverage() != Coverage::Missing))
    });
    let wanted = format!("{computed} of the {all} operators");
    for document in ["README.md", "CHANGELOG.md"] {
        let text = std::fs::read_to_string(root().join(document)).expect("the document is there");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&wanted), "{document} does not say: {wanted}");
    }
}
