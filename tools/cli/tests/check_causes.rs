//! The effects of one error on a whole run: it is shown once, and only what was tested is named as failed.

mod common;

use common::{check, compile, text};
use serde_json::Value;

/// Returns a run of the faulty plugin with one error.
fn run(library: &str, fault: &str, arguments: &[&str]) -> (String, Value) {
    let library = compile("tools/conformance/tests/faulty/plugin.c", library);
    let output = |arguments: &[&str]| {
        let mut command = check();
        command.env("FAULT", fault).arg(&library).args(arguments).output().expect("the command runs")
    };
    let shown = output(arguments);
    assert_eq!(shown.status.code(), Some(1), "{}", text(&shown));
    let mut json = arguments.to_vec();
    json.push("--json");
    let report = serde_json::from_slice(&output(&json).stdout).expect("it is JSON");
    (text(&shown), report)
}

fn row<'a>(report: &'a Value, function: &str) -> &'a Value {
    let rows = report["functions"].as_array().expect("there are functions");
    rows.iter().find(|row| row["name"] == function).expect("each function has a row")
}

#[test]
fn an_address_that_is_not_written_is_one_cause() {
    let (text, report) = run("causes-address", "address-not-written", &[]);
    let blocks: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("FAILED ")).collect();
    // Its own cases: the same words, and what is seen of the place by itself.
    assert!(blocks.len() <= 3, "{text}");
    assert!(text.contains("not tested, for want of `device_memory_allocate`: "), "{text}");
    let causes = report["causes"].as_array().expect("there are causes");
    assert_eq!(causes.len(), blocks.len());
    assert_eq!(causes[0]["functions"], serde_json::json!(["device_memory_allocate"]));
    let blocked = causes[0]["blocked"].as_array().expect("it is a list");
    assert!(blocked.len() > 40, "{}", blocked.len());
    for function in ["memory_copy_h2d", "memory_copy_d2d", "async_memory_copy_d2d", "device_memory_set"] {
        let row = row(&report, function);
        assert_eq!((&row["failed"], &row["first_failure"]), (&0.into(), &Value::Null), "{function}");
        assert!(row["blocked"].as_u64() > Some(0), "{function}");
    }
    assert!(row(&report, "device_memory_allocate")["failed"].as_u64() > Some(0));
    let cases = report["cases"].as_array().expect("there are cases");
    let copy = cases.iter().find(|case| case["id"] == "copy.h2d.odd-lengths").expect("it was chosen");
    assert_eq!((&copy["verdict"], &copy["follows"]), (&"blocked".into(), &blocks[0].into()));
}

#[test]
fn a_copy_that_does_nothing_is_not_blamed_on_what_is_read_with_it() {
    let (text, report) = run("causes-copy", "nothing-is-read", &["--level", "required"]);
    for function in ["memory_copy_d2d", "async_memory_copy_d2d", "stream_wait_event", "memory_copy_p2p"] {
        let row = row(&report, function);
        assert_eq!(
            (&row["failed"], row["blocked"].as_u64() > Some(0)),
            (&0.into(), true),
            "{function}: {text}"
        );
    }
    assert!(row(&report, "memory_copy_d2h")["failed"].as_u64() > Some(0), "{text}");
}

#[test]
fn a_function_that_only_other_cases_need_is_named_all_the_same() {
    let junit = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("causes.xml");
    let path = junit.to_string_lossy();
    let (text, report) =
        run("causes-filter", "address-not-written", &["--filter", "copy.d2d", "--junit", &path]);
    assert_eq!(report["causes"].as_array().map(Vec::len), Some(1), "{text}");
    assert_eq!(row(&report, "device_memory_allocate")["failed"], 1, "{text}");
    assert_eq!(row(&report, "memory_copy_d2d")["failed"], 0, "{text}");
    let xml = std::fs::read_to_string(junit).expect("the report is there");
    assert!(
        xml.contains(" failures=\"1\" ") && xml.contains("<skipped message=\"not tested, since `copy."),
        "{xml}"
    );
}

#[test]
fn a_slot_that_holds_the_specs_fallback_is_no_work_of_the_author() {
    let library = compile("tools/conformance/tests/faulty/plugin.c", "causes-filled");
    let run = |filled: &str| {
        let mut command = check();
        command.env("FAULT", "query-lies").env("FILLED", filled).arg(&library);
        let output = command.args(["--filter", "stream.query", "--json"]).output().expect("the command runs");
        let report: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        (output.status.code(), report)
    };
    let (code, report) = run("");
    assert_eq!((code, &row(&report, "query_stream")["presence"]), (Some(1), &"native".into()));
    let (code, report) = run("init_device query_stream a_function_of_tomorrow");
    assert_eq!((code, &row(&report, "query_stream")["presence"]), (Some(0), &"filled".into()));
    let cases = report["cases"].as_array().expect("there are cases");
    let held = cases.iter().find(|case| case["id"] == "stream.query.held").expect("it was chosen");
    assert_eq!(held["verdict"], "skipped");
    assert!(held["message"].as_str().is_some_and(|reason| reason.contains("is a fallback")), "{held}");
}

/// The device refuses a stream of another device, and the stream of an asynchronous peer copy is one of either device.
#[test]
fn a_strict_device_passes_peer_copies_by_the_specs_fallback() {
    let library = compile("tools/conformance/tests/faulty/plugin.c", "causes-peer");
    let mut command = check();
    command.env("WITHOUT_ASYNC_P2P", "1").arg(&library);
    let output = command.args(["--fallbacks", "--filter", "peer.async"]).output().expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(text(&output).contains("fallback     1/1"), "{}", text(&output));
}
