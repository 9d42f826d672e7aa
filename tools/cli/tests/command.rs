//! The command, run.

use std::process::{Command, Output};

fn tenon(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tenon")).args(arguments).output().unwrap()
}

#[track_caller]
fn said(arguments: &[&str]) -> String {
    said_with_status(arguments, 0)
}

#[track_caller]
fn said_with_status(arguments: &[&str], status: i32) -> String {
    let output = tenon(arguments);
    let (out, error) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(status), "{out}{error}");
    out
}

/// A trace as a crash leaves it: the last line is cut off.
const TRACE: &str = r#"[
{"ph":"M","name":"process_name","pid":7,"tid":0,"args":{"name":"program"}},
{"ph":"X","name":"set_device","cat":"device","pid":7,"tid":8,"ts":1.000,"dur":0.500,"args":{"plugin":"cpu","device":0,"status":"success"}},
{"ph":"X","name":"set_device","cat":"device","pid":7,"tid":8,"ts":2.000,"dur":1.500,"args":{"plugin":"cpu","device":9,"status":"error"}},
{"ph":"X","name":"create_event","cat":"event","pid":7,"tid":8,"ts":4.000,"dur":7.000,"args":{"plugin":"cpu","device":0,"event":"0x1","status":"success"}},
{"ph":"C","name":"device memory cpu:0","pid":7,"tid":0,"ts":5.000,"args":{"bytes":2048}},
{"ph":"X","name":"set_de"#;

#[test]
fn a_summary_counts_what_is_there() {
    let file = format!("{}/summary.json", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(&file, TRACE).unwrap();
    let text = said_with_status(&["trace", "summary", &file], 1);
    assert!(text.starts_with("3 calls of 2 functions in 10.00µs; the file lacks its end\n"), "{text}");
    let by_time = text.split("by time").nth(1).unwrap();
    let rows: Vec<&str> = by_time.lines().skip(1).take(2).collect();
    let cells: Vec<&str> = rows[1].split_whitespace().collect();
    assert!(rows[0].starts_with("create_event "), "{text}");
    assert_eq!(cells, ["set_device", "2", "1", "2.00µs", "1.00µs", "500.00ns", "1.50µs", "1.50µs"], "{text}");
    assert!(text.contains("device memory cpu:0") && text.contains("2.0 KiB"), "{text}");
    let text = said_with_status(&["trace", "summary", &file, "--top", "1"], 1);
    assert_eq!(text.matches("create_event").count() + text.matches("set_device").count(), 2, "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&said_with_status(&["trace", "summary", &file, "--json"], 1)).unwrap();
    assert_eq!(json["functions"][1]["errors"], 1);
    assert_eq!(json["memory"][0]["peak_bytes"], 2048);
}

#[test]
fn a_summary_fails_where_events_are_missing() {
    let file = format!("{}/dropped.json", env!("CARGO_TARGET_TMPDIR"));
    let whole = format!("{}\n]\n", TRACE.rsplit_once(",\n").unwrap().0);
    std::fs::write(&file, &whole).unwrap();
    said(&["trace", "summary", &file]);
    let dropped = r#",{"ph":"M","name":"process_labels","pid":7,"tid":0,"args":{"labels":"3 events dropped","dropped":3}}"#;
    std::fs::write(&file, whole.replace("\n]", &format!("{}\n]", dropped.replace(",{", ",\n{")))).unwrap();
    assert!(said_with_status(&["trace", "summary", &file], 1).contains("3 events were dropped"));
}

#[test]
fn a_file_that_is_no_trace_is_named() {
    for (file, part) in [("/nowhere/trace.json", "/nowhere/trace.json"), ("Cargo.toml", "is it a trace")] {
        let output = tenon(&["trace", "summary", file]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains(part) && text.contains("TENON_LAYERS=trace"), "{text}");
    }
}

#[test]
fn an_answer_that_cannot_be_written_is_a_failure() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenon"));
    let output = command.arg("rules").stdout(full).stderr(std::process::Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot be written"));
}

#[test]
fn rules_are_explained() {
    let all = said(&["rules"]);
    assert!(all.lines().count() > 20 && all.contains("V001  error    an argument is not null"), "{all}");
    let one = said(&["rules", "v031"]);
    assert!(
        one.starts_with("V031 (warning): memory is freed after the queued work that uses it\n\n"),
        "{one}"
    );
    let output = tenon(&["rules", "V999"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no rule `V999`"));
}
