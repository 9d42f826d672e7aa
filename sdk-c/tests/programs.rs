//! Programs in C, compiled against the headers and run against the library.

#[path = "common/build.rs"]
mod build;

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Output};

/// Compiles a program and runs it; it says `done` when all was as it should be.
fn passes(source: &str, prepare: impl FnOnce(&mut Command)) -> String {
    // Tests run side by side, and some share a source.
    let test = std::thread::current().name().expect("a test's thread has its name").to_owned();
    let program = build::scratch(&test).join("program");
    build::program(source, &program);
    let mut command = Command::new(program);
    for (variable, _) in std::env::vars().filter(|(variable, _)| variable.starts_with("TENON_")) {
        command.env_remove(variable);
    }
    prepare(&mut command);
    let output = build::run(&mut command);
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("done\n"), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the plugin with the required functions only, compiled for one test.
fn required(folder: &str) -> PathBuf {
    let library = build::scratch(folder).join("librequired.so");
    build::plugin("required.c", &library, &["-pthread"]);
    library
}

#[test]
fn a_program_opens_copies_asks_and_is_told_its_mistakes() {
    passes("basics.c", |_| {});
}

#[test]
fn a_folder_of_plugins_good_and_bad_does_no_harm() {
    let folder = build::scratch("folder");
    build::plugin("idle.c", &folder.join("libidle.so"), &[]);
    build::plugin("lacking.c", &folder.join("liblacking.so"), &[]);
    std::fs::write(folder.join("text.so"), "no library").unwrap();
    std::fs::write(folder.join("bad.json"), "{\"tenon_manifest\": 1}").unwrap();
    let required = required("folder_required");
    passes("plugins.c", |program| {
        program.env("TENON_PLUGIN_PATH", &folder).arg(required);
    });
}

#[test]
fn devices_are_closed_while_threads_use_them() {
    passes("threads.c", |_| {});
}

#[test]
fn layers_refuse_see_and_report() {
    let said = passes("layers.c", |program| {
        program.env("TENON_CPU_DEVICES", "2");
    });
    assert!(said.contains("12345 bytes"), "the leak is not reported:\n{said}");
}

#[test]
fn validation_sees_blocks_of_the_pool_and_buffers() {
    let said = passes("validated_pool.c", |_| {});
    assert!(said.contains("V031"), "the free on the wrong stream is not reported:\n{said}");
    for bytes in [54321, 12321] {
        assert!(
            said.contains(&format!("{bytes} bytes")),
            "the leak of {bytes} bytes is not reported:\n{said}"
        );
    }
}

/// Checks that each call failed in turn, and nothing leaked.
fn survives(said: &str) {
    assert!(said.contains("calls made to fail"), "{said}");
    assert!(!said.contains("V040"), "something was leaked:\n{said}");
}

#[test]
fn each_call_to_the_cpu_device_may_fail() {
    survives(&passes("faults.c", |_| {}));
}

#[test]
fn each_call_to_a_plugin_may_fail_also_those_of_fallbacks() {
    let required = required("faults_required");
    survives(&passes("faults.c", |program| {
        program.arg(required);
    }));
}

#[test]
fn each_fallback_is_called_and_does_what_the_spec_says() {
    let required = required("fallbacks_required");
    passes("fallbacks.c", |program| {
        program.arg(required);
    });
}

#[test]
fn what_opens_and_closes_waits_for_what_goes_on_and_is_refused_from_inside() {
    passes("lifecycle.c", |program| {
        program.env("TENON_CPU_DEVICES", "2");
    });
}

#[test]
fn a_plugin_may_choose_the_current_device_have_too_many_and_explain_itself() {
    let library = build::scratch("vendor").join("libvendor.so");
    build::plugin("vendor.c", &library, &["-pthread"]);
    passes("vendor.c", |program| {
        program.arg(library);
    });
}

#[test]
fn a_trace_is_whole_also_when_its_layer_is_chosen_twice() {
    let file = build::scratch("traced").join("trace.json");
    passes("traced.c", |program| {
        program.env("TENON_LAYERS", "trace").env("TENON_TRACE_FILE", &file);
    });
    let trace = std::fs::read_to_string(&file).unwrap();
    let events: serde_json::Value = serde_json::from_str(&trace).unwrap();
    assert!(events.is_array() || events.is_object());
    assert_eq!(trace.matches("device_memory_allocate").count(), 20, "{trace}");
}

#[test]
fn the_end_of_host_memory_is_a_status() {
    for kind in ["events", "streams", "memory", "blocks", "buffers"] {
        passes("host_memory.c", |program| {
            // A budget that is not reached, and a thread of the device that has begun before the limit is set.
            program.arg(kind).env("TENON_CPU_MEMORY", "64GiB").env("TENON_CPU_THREADS", "1");
        });
    }
}

/// Runs a program with a plugin that throws. Returns what it wrote to the standard error before the abort.
fn throws(folder: &str, flags: &[&str]) -> String {
    let output = ends(folder, flags);
    assert_eq!(output.status.signal(), Some(6), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs a program with a plugin that ends it.
fn ends(folder: &str, flags: &[&str]) -> Output {
    let folder = build::scratch(folder);
    let (library, program) = (folder.join("libthrowing.so"), folder.join("program"));
    build::throwing_plugin(&library, flags);
    build::program("throwing.c", &program);
    Command::new(program).arg(library).output().unwrap()
}

#[test]
fn a_plugin_that_calls_exit_is_named_and_is_no_success() {
    let flags = ["-Wno-unused-function", "-Wno-unreachable-code"];
    let function = "in the function `synchronize_device` of the plugin libthrowing (";
    for (status, ended, text) in [("0", 1, "exit status 0"), ("5", 5, "exit status 5")] {
        let flag = format!("-DEXIT_STATUS={status}");
        let output = ends(&format!("exiting_{status}"), &[&flag, flags[0], flags[1]]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(text) && said.contains(function), "{said}");
        assert_eq!(output.status.code(), Some(ended), "{said}");
    }
    let output = ends("exiting_at_load", &["-DEXIT_AT_LOAD", flags[0], flags[1]]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("in the function `InitPlugin` of the plugin ") && said.contains("libthrowing.so"),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(1), "{said}");
}

#[test]
fn an_exception_ends_the_process_with_the_names_of_plugin_and_function() {
    let said = throws("throwing", &[]);
    assert!(
        said.contains("an exception left the function `synchronize_device` of the plugin libthrowing ("),
        "{said}"
    );
}

#[test]
fn an_exception_at_load_ends_the_process_with_the_name_of_the_plugin() {
    let said = throws("throwing_at_load", &["-DTHROW_AT_LOAD", "-Wno-unused-function"]);
    assert!(said.contains("an exception left the function `InitPlugin` of the plugin "), "{said}");
    assert!(said.contains("libthrowing.so"), "{said}");
}
