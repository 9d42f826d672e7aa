//! Layers by name.

mod common;

use std::sync::{Arc, Mutex};

use common::{ID, cpu};
use tenon::device::*;
use tenon_layers::trace::summary::Summary;
use tenon_layers::trace::{self, Trace};
use tenon_layers::validate::{self, Checker, Report, Severity};
use tenon_layers::{OpenError, Stack, open};

#[test]
fn names_are_told_apart() {
    assert!(open("").unwrap().is_empty());
    assert!(open(" , ").unwrap().is_empty());
    let error = open("validate,tarce").err().unwrap();
    assert!(matches!(&error, OpenError::UnknownLayer { name, nearest: Some("trace") } if name == "tarce"));
    assert_eq!(
        error.to_string(),
        "there is no layer `tarce`; did you mean `trace`? TENON_LAYERS takes trace, validate, capture, profile"
    );
    let stack = open(" validate ").unwrap();
    assert!(!stack.is_empty() && stack.checker().is_some());
}

#[test]
fn the_trace_shows_what_validation_refused() {
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("stack.json");
    let trace = Trace::start(trace::Options { file: file.clone(), ..Default::default() }).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let collected = seen.clone();
    let sink = Arc::new(move |report: &Report| collected.lock().unwrap().push(report.to_string()));
    let checker = Checker::new(validate::Options { sink, ..Default::default() });
    let stack = Stack::new(Some(trace), Some(checker));
    let cpu = cpu();
    let layers = stack.for_plugin("cpu", cpu);
    let again = stack.for_plugin("cpu", cpu);
    assert_eq!(layers.len(), 2);
    assert!(layers.iter().zip(&again).all(|(one, other)| Arc::ptr_eq(one, other)));
    let device = Layered::new(WithFallbacks(cpu), layers);
    assert!(device.destroy_stream(ID, Stream::from_addr(8)).is_err());
    device.create_event(ID).unwrap();
    let leaks = stack.finish();
    assert_eq!(leaks.len(), 1);
    assert_eq!(leaks[0].what, "Event");
    let checker = stack.checker().unwrap();
    assert_eq!((checker.count(Severity::Error), checker.count(Severity::Warning)), (1, 1));
    assert_eq!(seen.lock().unwrap().len(), 2);
    let summary = Summary::read(std::io::BufReader::new(std::fs::File::open(&file).unwrap())).unwrap();
    let errors = |name| summary.functions.iter().find(|function| function.name == name).unwrap().errors;
    assert_eq!((errors("destroy_stream"), errors("create_event")), (1, 0));
    assert!(stack.forget("cpu").is_empty(), "told already");
    std::fs::remove_file(file).unwrap();
}
