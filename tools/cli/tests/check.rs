//! `tenon check`: the CPU device passes, reports are what programs read, and exit codes are what scripts ask for.

mod common;

use std::path::Path;

use common::{check, compile, compile_cpp, text};
use tenon_conformance::{Options, Presence, Source, run};

#[test]
fn the_cpu_device_passes_all_levels() {
    let output = check().args(["--builtin", "cpu", "--level", "good"]).output().expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(text(&output).contains(" passed, 0 failed, "), "{}", text(&output));
}

/// A plugin that lacks what its collectives need is not tested; the device does not lack it here.
#[test]
fn collectives_of_the_cpu_device_are_tested_in_two_and_four_processes() {
    if !tenon_testing::has_gloo() {
        return;
    }
    let output =
        check().args(["--builtin", "cpu", "--filter", "collective."]).output().expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(text(&output).contains("26 passed, 0 failed, 0 skipped"), "{}", text(&output));
    let output = check()
        .args(["--builtin", "cpu", "--filter", "collective."])
        .env("TENON_GLOO", "/nowhere")
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(text(&output).contains("0 passed, 0 failed, 26 skipped"), "{}", text(&output));
}

#[test]
fn the_example_in_c_keeps_what_is_promised() {
    let library = compile("examples/c-plugin/plugin.c", "example");
    for arguments in [&[][..], &["--fallbacks"], &["--release", "2.6"], &["--release", "3.0"]] {
        let output = check().arg(&library).args(arguments).output().expect("the command runs");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output));
    }
}

#[test]
fn the_example_with_streams_keeps_what_is_promised() {
    let library = compile_cpp("examples/cpp-streams/device.cpp", "streams");
    let output = check().arg(&library).output().expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    // These cases are skipped if a stream completes its work before calls return.
    for case in ["order.rerecord", "stream.query.held", "memory.free.queued-work", "event.elapsed.pending"] {
        let output = check().arg(&library).args(["--filter", case]).output().expect("the command runs");
        assert!(text(&output).contains("\n1 passed, 0 failed, 0 skipped"), "{case}: {}", text(&output));
    }
}

#[test]
fn fallbacks_are_tested_when_asked_for() {
    let library = compile("examples/c-plugin/plugin.c", "example-fallbacks");
    let source = Source::File { path: library, release: None, host: None };
    let row = |fallbacks: bool| {
        let options = Options {
            fallbacks,
            filters: vec!["memory.set".to_owned()],
            program: Some(env!("CARGO_BIN_EXE_tenon").into()),
            ..Options::default()
        };
        let outcome = run(&source, &options, &mut |_| {}).expect("it runs");
        outcome
            .functions
            .into_iter()
            .find(|row| row.name == "device_memory_set")
            .expect("each function has a row")
    };
    let (without, with) = (row(false), row(true));
    assert_eq!((without.presence, without.passed, without.skipped), (Presence::Fallback, 0, 2));
    assert_eq!((with.presence, with.passed, with.skipped), (Presence::Fallback, 2, 0));
}

#[test]
fn reports_are_written() {
    let junit = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report.xml");
    let output = check()
        .args(["--builtin", "cpu", "--filter", "event.", "--json", "--junit"])
        .arg(&junit)
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(report["plugin"]["device_type"], "cpu");
    assert_eq!(report["functions"].as_array().map(Vec::len), Some(tenon::device::Function::ALL.len()));
    let cases = report["cases"].as_array().expect("there are cases");
    let case = cases.iter().find(|case| case["id"] == "event.fresh.query").expect("it was chosen");
    assert_eq!((&case["verdict"], &case["level"]), (&"passed".into(), &"promised".into()));
    let xml = std::fs::read_to_string(junit).expect("the report is there");
    assert!(xml.contains("<testcase name=\"event.fresh.query\" classname=\"event\" time=\"0."), "{xml}");
    assert_eq!(xml.matches("<testcase ").count(), cases.len());
}

#[test]
fn failures_stand_in_the_reports() {
    let library = compile("tools/conformance/tests/faulty/plugin.c", "faulty-report");
    let junit = Path::new(env!("CARGO_TARGET_TMPDIR")).join("failure.xml");
    let output = check()
        .env("FAULT", "misaligned")
        .arg(&library)
        .args(["--filter", "memory.allocate.aligned", "--junit"])
        .arg(&junit)
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let xml = std::fs::read_to_string(junit).expect("the report is there");
    assert!(
        xml.contains(" failures=\"1\" ") && xml.contains(" type=\"promised\">1 bytes came at 0x"),
        "{xml}"
    );
    let again = format!("again:    tenon check {} --level promised --filter", library.display());
    assert!(text(&output).contains(&again), "{}", text(&output));
}

#[test]
fn what_cannot_run_exits_with_2() {
    for (arguments, message) in [
        (&["/no/such/plugin.so"][..], "there is no file `/no/such/plugin.so`"),
        (&["--builtin", "gpu"], "there is no built-in device `gpu`"),
        (
            &["--builtin", "cpu", "--filter", "no such case"],
            "no case matches `no such case` at level `promised`",
        ),
        (&["x.so", "--release", "9.9"], "there is no release `9.9`; the spec has 2.6, 3.0, 3.1, 3.2, 3.3"),
        (&["--builtin", "cpu", "--timeout", "0"], "expected a number of seconds above 0"),
        (&[], "required arguments were not provided"),
    ] {
        let output = check().args(arguments).output().expect("the command runs");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output));
        assert!(text(&output).contains(message), "{arguments:?}: {}", text(&output));
    }
}

#[test]
fn the_list_shows_each_promise() {
    let output = check().args(["--list", "--level", "required"]).output().expect("the command runs");
    let text = text(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("order.rerecord  required  stream_wait_event, record_event"), "{text}");
    assert!(text.contains("PaddlePaddle reuses events"), "{text}");
    assert!(!text.contains("  good  "), "{text}");

    let output =
        check().args(["--list", "--level", "required", "--json"]).output().expect("the command runs");
    let cases: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let cases = cases.as_array().expect("there are cases");
    let case = cases.iter().find(|case| case["id"] == "order.rerecord").expect("it is listed");
    assert_eq!(case["functions"], serde_json::json!(["stream_wait_event", "record_event"]));
    assert!(cases.iter().all(|case| case["level"] == "required"));
}

#[test]
fn cases_that_the_guide_names_exist() {
    let page =
        std::fs::read_to_string(common::root().join("docs/src/guide/contract.md")).expect("it is there");
    let known: Vec<&str> = tenon_conformance::all_cases().iter().map(|case| &*case.id).collect();
    // Cases are in brackets: [`order.stream`, `order.rerecord`].
    let brackets = page.split("[`").skip(1).filter_map(|rest| rest.split_once("`]"));
    let named: Vec<&str> =
        brackets.flat_map(|(names, _)| names.split(',')).map(|name| name.trim().trim_matches('`')).collect();
    let named: Vec<&str> = named.into_iter().filter(|name| !name.contains(' ')).collect();
    assert!(named.len() > 20, "{named:?}");
    for name in named {
        assert!(known.contains(&name), "there is no case `{name}`");
    }
}
