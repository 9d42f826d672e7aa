//! The C headers: they compile in C and in C++ without a warning, and plugins can be written against them.

use std::path::{Path, PathBuf};
use std::process::Command;

use codegen::source::Folder;

use crate::specs::{self, headers, load};
use crate::{data, root};

/// Writes the headers of a spec in the repository.
fn generate(spec: &str, name: &str) -> PathBuf {
    headers(load(&Folder::new(root().join(spec))).spec, name)
}

/// A compiler, and the standards that a header must support.
const COMPILERS: [(&str, &[&str]); 4] = [
    ("cc", &["c11", "c17", "c2x"]),
    ("clang", &["c11", "c17", "c2x"]),
    ("c++", &["c++17", "c++20", "c++2b"]),
    ("clang++", &["c++17", "c++20", "c++2b"]),
];

/// Lists the compilers to test with, each with its standards. Required compilers are always included, so that their
/// absence is an error.
fn compilers() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    COMPILERS.into_iter().filter(|(compiler, _)| {
        !compiler.starts_with("clang")
            || crate::tools::has(compiler, "the C headers in every standard, with clang")
    })
}

/// Checks that a compiler accepts a file without a warning.
pub(super) fn accepts(compiler: &str, standard: &str, include: &Path, file: &Path) {
    let language = if compiler.contains("++") { "c++" } else { "c" };
    let standard = format!("-std={standard}");
    let flags = ["-x", language, &standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror"];
    if let Err(said) = specs::compile(compiler, &flags, include, file) {
        panic!("{compiler} {standard}:\n{said}");
    }
}

fn compiles_everywhere(include: &Path, header: &str) {
    compile_together_everywhere(include, &[header]);
}

fn compile_together_everywhere(include: &Path, headers: &[&str]) {
    let file =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.c", headers.join("-").replace('/', "-")));
    let lines: String = headers.iter().map(|header| format!("#include \"{header}\"\n")).collect();
    // Included twice, to test the guards.
    std::fs::write(&file, format!("{lines}{lines}int unused;\n"))
        .expect("the folder for tests can be written");
    for (compiler, standards) in compilers() {
        for standard in standards {
            accepts(compiler, standard, include, &file);
        }
    }
}

#[test]
fn the_headers_compile_in_every_standard() {
    let include = generate("spec", "headers");
    compiles_everywhere(&include, "tenon/device_ext.h");
    compiles_everywhere(&include, "tenon/paddle_capi.h");
    // `operators.h` includes a header that is written by hand.
    let by_hand = "tenon/operator_calls.h";
    std::fs::copy(root().join("sdk-c/include").join(by_hand), include.join(by_hand)).unwrap();
    compiles_everywhere(&include, by_hand);
    compiles_everywhere(&include, "tenon/operators.h");
}

#[test]
fn the_headers_of_the_sdk_compile_in_every_standard() {
    let include = generate("spec", "headers-of-sdk");
    compiles_everywhere(&include, "tenon/types.h");
    compiles_everywhere(&include, "tenon/functions.h");
    // A layer written in C needs both.
    compile_together_everywhere(&include, &["tenon/functions.h", "tenon/device_ext.h"]);
    compile_together_everywhere(&include, &["tenon/device_ext.h", "tenon/functions.h"]);
}

#[test]
fn each_header_of_an_export_stands_alone() {
    let include = generate("spec", "headers-of-acl");
    for header in ["acl/acl_base.h", "acl/acl_rt.h", "acl/acl_mdl.h", "acl/acl_op.h", "acl/acl.h"] {
        compiles_everywhere(&include, header);
    }
    compile_together_everywhere(&include, &["acl/acl_rt.h", "acl/acl.h", "tenon/functions.h"]);
}

#[test]
fn each_header_of_diopi_stands_alone() {
    let include = generate("spec", "headers-of-diopi");
    for header in [
        "diopi/diopirt.h",
        "diopi/conform_test.h",
        "diopi/functions.h",
        "diopi/functions_ext.h",
        "diopi/functions_lmdeploy.h",
        "diopi/functions_mmcv.h",
        "diopi/functions_sparse.h",
        "diopi/diopi.h",
    ] {
        compiles_everywhere(&include, header);
    }
}

#[test]
fn the_header_of_onednn_is_as_published() {
    let include = generate("spec", "header-of-onednn");
    compiles_everywhere(&include, "tenon/onednn.h");
    let claims = data("c/onednn.cc");
    accepts("c++", "c++17", &include, &claims);
}

#[test]
fn a_program_written_for_ascend_compiles_as_it_is() {
    let include = generate("spec", "headers-for-ascend");
    let tests = data("c");
    for (compiler, standards) in compilers() {
        for standard in standards {
            accepts(compiler, standard, &include, &tests.join("ascend.c"));
        }
    }
    for (compiler, standards) in compilers().filter(|(compiler, _)| compiler.contains("++")) {
        for standard in standards {
            accepts(compiler, standard, &include, &tests.join("ascend.cpp"));
        }
    }
}

#[test]
fn the_handles_of_the_sdk_are_told_apart() {
    let include = generate("spec", "headers-for-handles");
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("handles.c");
    let call = |argument: &str| {
        let text = format!(
            "#include \"tenon/functions.h\"\ntenon_status f(tenon_device device, tenon_stream stream, tenon_event event) {{\n  \
             return tenon_synchronize_event({argument});\n}}\n"
        );
        std::fs::write(&file, text).expect("the folder for tests can be written");
        specs::compile("cc", &["-std=c11", "-Wall", "-Werror"], &include, &file)
    };
    call("device, event").unwrap_or_else(|reason| panic!("{reason}"));
    call("device, stream").expect_err("a stream is no event");
}

#[test]
fn the_headers_of_the_example_compile_in_every_standard() {
    let include = generate("examples/custom-spec/spec", "example-headers");
    compiles_everywhere(&include, "sensor_bus.h");
    compiles_everywhere(&include, "sensor_log.h");
}

#[test]
fn header_with_owned_table_compiles_in_every_standard() {
    let include = generate("examples/codec-spec/spec", "codec-headers");
    compiles_everywhere(&include, "codec.h");
}

#[test]
fn headers_with_objects_and_host_tables_compile_in_every_standard() {
    let include = generate("examples/known-apis/spec", "known-headers");
    for header in [
        "ort_runtime.h",
        "ort_base.h",
        "ort_provider.h",
        "ort_provider_api.h",
        "ggml_objects.h",
        "pjrt_table.h",
    ] {
        compiles_everywhere(&include, header);
    }
}

#[test]
fn a_plugin_written_for_paddles_header_compiles_with_ours() {
    let include = generate("spec", "headers-for-plugin");
    let plugin = data("c/plugin.c");
    for (compiler, standard) in [("cc", "c11"), ("c++", "c++17")] {
        accepts(compiler, standard, &include, &plugin);
    }
}

/// Compiles a program from the files and runs it.
fn run(name: &str, include: &Path, files: &[&Path]) {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut command = Command::new("cc");
    command.args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"]).arg(include).args(files);
    let output = crate::tools::output(command.arg("-o").arg(&program));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(&program).output().expect("the program was just made");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} fails with {}: {said}", output.status);
}

#[test]
fn a_plain_c_plugin_knows_every_release() {
    let include = generate("spec", "headers-for-releases");
    run("releases", &include, &[&data("c/releases.c")]);
}

#[test]
fn one_table_fills_that_of_every_release() {
    let include = generate("spec", "headers-for-fill");
    run("fill", &include, &[&data("c/fill.c")]);
}

#[test]
fn a_plugin_for_one_release_is_told_so_when_it_is_compiled() {
    let include = generate("spec", "headers-for-note");
    let said = |plugin: &Path, more: &[&str]| {
        let mut compiler = Command::new("cc");
        compiler.args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I"]);
        let output = compiler.arg(&include).args(more).arg(plugin).output().expect("cc is installed");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let plain = data("c/plugin.c");
    let note = said(&plain, &[]);
    assert!(note.contains("this plugin takes hosts of release 3.3 alone: tenon_device_fill"), "{note}");
    assert_eq!(said(&plain, &["-DTENON_DEVICE_NEWEST_ONLY"]), "");
    assert_eq!(said(&root().join("examples/c-plugin/plugin.c"), &[]), "");
}

#[test]
fn function_later_than_the_oldest_release_is_an_error() {
    let include = generate("spec", "headers-for-since");
    let compile = |compiler: &str, standard: &str, more: &[&str]| {
        let mut command = Command::new(compiler);
        command.args([standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I"]);
        let output = command.arg(&include).args(more).arg(data("c/later.c")).output();
        let output = output.expect("a compiler is installed");
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for (compiler, standard) in [("cc", "-std=c11"), ("c++", "-std=c++17")] {
        for oldest in ["3_2", "3_3"] {
            let (accepted, said) = compile(compiler, standard, &[&format!("-DTENON_DEVICE_SINCE={oldest}")]);
            assert!(accepted, "{oldest}: {said}");
        }
        let (accepted, said) = compile(compiler, standard, &["-DTENON_DEVICE_SINCE=3_1"]);
        let named = "is_float16_supported_came_with_release_3_2_after_TENON_DEVICE_SINCE";
        assert!(!accepted && said.contains(named), "{said}");
        let (accepted, said) = compile(compiler, standard, &["-DTENON_DEVICE_SINCE=3_9"]);
        let known = "TENON_DEVICE_SINCE must be one of 2_6, 3_0, 3_1, 3_2, 3_3";
        assert!(!accepted && said.contains(known), "{said}");
    }
}

#[test]
fn the_driver_of_the_example_serves_every_station() {
    let include = generate("examples/custom-spec/spec", "example-for-driver");
    let example = root().join("examples/custom-spec/driver");
    run("station", &include, &[&example.join("thermometer.c"), &example.join("station.c")]);
}
