//! The ACL interface as C and C++ have it: its headers alone, the examples, and a program with invalid calls.

#[allow(dead_code, reason = "other tests compile plugins and programs of their own")]
#[path = "common/build.rs"]
mod build;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A language that programs for Ascend are written in, and the compiler and the standard of it.
struct Language {
    name: &'static str,
    compiler: &'static str,
    flags: &'static [&'static str],
}

const LANGUAGES: [Language; 2] = [
    Language { name: "c", compiler: "cc", flags: &["-x", "c", "-std=c11"] },
    Language { name: "cxx", compiler: "c++", flags: &["-x", "c++", "-std=c++17"] },
];

fn compiler(language: &Language, source: &Path) -> Command {
    let mut command = Command::new(language.compiler);
    command.args(["-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-pthread", "-I"]);
    command.arg(build::here().join("include")).args(language.flags).arg(source).args(["-x", "none"]);
    command
}

/// Compiles a program of the repository with the name that the library has on Ascend.
fn program(source: &str, language: &Language) -> PathBuf {
    let folder = build::scratch("acl");
    let made = folder.join(format!("{}_{}", source.replace(['/', '.'], "_"), language.name));
    let mut command = compiler(language, &build::here().join("..").join(source));
    command.arg("-L").arg(build::library()).args(["-lascendcl", "-ltenon", "-o"]).arg(&made);
    build::run(command.args(build::rpath(build::library())));
    made
}

/// Returns a command that runs a program. Cargo sets `LD_LIBRARY_PATH` to folders with libraries of other names.
fn runs(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", build::library());
    command
}

/// Returns the output of a program that must succeed without a report of the validation layer.
fn faultless(source: &str, language: &Language) -> String {
    let mut command = runs(&program(source, language));
    command.env("TENON_LAYERS", "validate").env_remove("TENON_PLUGIN_PATH").env_remove("TENON_ACL_DEVICE");
    let output = build::run(command.env("TENON_CPU_DEVICES", "2"));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{source} in {}", language.name);
    String::from_utf8(output.stdout).expect("the examples print ASCII")
}

#[test]
fn each_header_stands_by_itself_in_c_and_in_cxx() {
    let folder = build::here().join("include/acl");
    let mut headers: Vec<_> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    headers.retain(|header| folder.join(header).is_file());
    headers.push("ops/acl_dvpp.h".into());
    headers.sort();
    assert!(headers.len() >= 4, "{headers:?}");
    for header in headers {
        let header = header.to_string_lossy();
        let source = build::scratch("acl").join(format!("only_{}.c", header.replace('/', "_")));
        fs::write(&source, format!("#include <acl/{header}>\n#include <acl/{header}>\n")).unwrap();
        for language in &LANGUAGES {
            build::run(compiler(language, &source).arg("-fsyntax-only"));
        }
    }
}

#[test]
fn numbers_and_layouts_are_the_published_ones() {
    let source = build::here().join("tests/programs/acl_numbers.c");
    for language in &LANGUAGES {
        build::run(compiler(language, &source).arg("-fsyntax-only"));
    }
}

#[test]
fn the_sequence_goes_there_and_back() {
    for language in &LANGUAGES {
        assert_eq!(faultless("examples/acl/sequence.c", language), "there and back again\n");
    }
}

#[test]
fn two_streams_share_the_work() {
    for language in &LANGUAGES {
        let printed = faultless("examples/acl/pipeline.c", language);
        assert!(printed.starts_with("16 pieces of 1048576 bytes, 0 wrong\n"), "{printed}");
        assert!(printed.ends_with(" ms\n"), "{printed}");
    }
}

#[test]
fn callbacks_run_in_the_thread_that_is_subscribed() {
    for language in &LANGUAGES {
        assert_eq!(faultless("examples/acl/callback.c", language), "8 callbacks, sum right\n");
    }
}

#[test]
fn mistakes_are_answered_with_codes_and_words() {
    for language in &LANGUAGES {
        assert_eq!(faultless("sdk-c/tests/programs/acl.c", language), "done\n");
    }
}

#[test]
fn what_only_c_has_works_from_c() {
    for language in &LANGUAGES {
        assert_eq!(faultless("sdk-c/tests/programs/acl_only_in_c.c", language), "done\n");
    }
}

#[test]
fn two_processes_share_memory() {
    for language in &LANGUAGES {
        assert_eq!(faultless("sdk-c/tests/programs/acl_processes.c", language), "done\n");
        let printed = faultless("examples/acl/two_processes.c", language);
        assert_eq!(printed, "1024 numbers of two processes, 0 wrong\n");
    }
}

#[test]
fn a_call_may_fail_while_a_thread_or_the_process_ends() {
    for language in &LANGUAGES {
        let mut command = runs(&program("sdk-c/tests/programs/acl_late.c", language));
        for variable in ["TENON_LAYERS", "TENON_ACL_DEVICE", "TENON_PLUGIN_PATH", "TENON_LOG"] {
            command.env_remove(variable);
        }
        assert_eq!(String::from_utf8_lossy(&build::run(&mut command).stdout), "done\n");
    }
}

#[test]
fn it_lives_beside_the_librarys_own_functions_on_any_device() {
    let required = build::scratch("acl_required").join("librequired.so");
    build::plugin("required.c", &required, &["-pthread"]);
    let program = program("sdk-c/tests/programs/acl_library.c", &LANGUAGES[0]);
    for (path, device_type) in [(None, None), (Some(&required), Some("required"))] {
        let mut command = runs(&program);
        // Without validation: it ends the library while devices are in use, and that is reported.
        for variable in ["TENON_LAYERS", "TENON_ACL_DEVICE", "TENON_PLUGIN_PATH"] {
            command.env_remove(variable);
        }
        command.envs(path.map(|path| ("TENON_PLUGIN_PATH", path))).args(device_type);
        assert_eq!(String::from_utf8_lossy(&build::run(&mut command).stdout), "done\n");
    }
}
