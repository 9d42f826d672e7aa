//! The file that a trace becomes: whole, cut off, too long, and after a crash.

mod common;

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use common::faulty::FAULTY;
use common::{ID, OTHER, cpu, hold};
use serde_json::Value;
use tenon::DevicePtr;
use tenon::device::*;
use tenon_cpu::Cpu;
use tenon_layers::trace::summary::{Summary, SummaryError};
use tenon_layers::trace::{Options, Trace};

/// Returns a file of this test alone.
fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}.json", std::process::id()))
}

fn options(name: &str) -> Options {
    Options { file: path(name), ..Options::default() }
}

type Traced = Layered<WithFallbacks<&'static Cpu>>;

fn traced(options: Options) -> (Trace, Traced) {
    let trace = Trace::start(options).unwrap();
    let cpu = cpu();
    let layer = trace.layer("cpu", cpu) as Arc<dyn Layer>;
    (trace, Layered::new(WithFallbacks(cpu), vec![layer]))
}

fn read(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn summary(file: &Path) -> Summary {
    Summary::read(std::io::BufReader::new(std::fs::File::open(file).unwrap())).unwrap()
}

fn named<'a>(events: &'a [Value], phase: &str, name: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["ph"] == phase && event["name"] == name).collect()
}

/// Converts to exact nanoseconds.
fn times(event: &Value) -> (u64, u64) {
    let ns = |key: &str| (event[key].as_f64().unwrap() * 1000.0).round() as u64;
    (ns("ts"), ns("ts") + ns("dur"))
}

#[test]
fn a_collective_has_its_rank_and_its_bytes() {
    let (trace, device) = traced(options("collectives"));
    let memory = device.device_memory_allocate(ID, 64).unwrap();
    let mut id = vec![0; device.xccl_get_unique_id_size().unwrap()];
    device.xccl_get_unique_id(&mut id).unwrap();
    let comm = device.xccl_comm_init_rank(1, &mut id, 0).unwrap();
    for count in [4, 8] {
        let types = (DataType::FLOAT64, ReduceOp::SUM);
        device.xccl_all_reduce(memory, memory, count, types.0, types.1, comm, Stream::NULL).unwrap();
    }
    device.synchronize_device(ID).unwrap();
    device.xccl_destroy_comm(comm).unwrap();
    device.device_memory_deallocate(ID, memory, 64).unwrap();
    trace.finish();
    let events = read(trace.file());
    let calls = named(&events, "X", "xccl_all_reduce");
    let calls: Vec<&Value> = calls.into_iter().filter(|event| event["cat"] != "work").collect();
    let numbers = |event: &Value| ["rank", "ranks", "count", "bytes"].map(|name| event["args"][name].clone());
    assert_eq!(numbers(calls[0]), [0, 1, 4, 32]);
    assert_eq!(numbers(calls[1]), [0, 1, 8, 64]);
    let summary = summary(trace.file());
    let of_reduce = summary.functions.iter().find(|function| function.name == "xccl_all_reduce").unwrap();
    assert_eq!((of_reduce.count, of_reduce.bytes), (2, 96));
    let line = summary.to_string();
    let line = line.lines().skip_while(|line| !line.starts_with("bytes ")).nth(1).unwrap();
    assert_eq!(line.split_whitespace().collect::<Vec<_>>(), ["xccl_all_reduce", "2", "96", "B"]);
}

#[test]
fn a_call_is_written_with_its_arguments_and_its_end() {
    let (trace, device) = traced(options("calls"));
    let memory = device.device_memory_allocate(OTHER, 64).unwrap();
    device.memory_copy_h2d(OTHER, memory, &[1; 64]).unwrap();
    device.blas_axpby(OTHER, Stream::NULL, DataType::FLOAT32, 16, 0.5, memory, -1.5, memory).unwrap();
    device.synchronize_device(OTHER).unwrap();
    assert!(device.query_stream(OTHER, Stream::NULL).unwrap());
    assert!(device.set_device(DeviceId(-7)).is_err());
    device.device_memory_deallocate(OTHER, memory, 64).unwrap();
    trace.finish();
    let events = read(trace.file());
    let arguments = |name: &str| {
        let found = named(&events, "X", name);
        found.iter().find(|event| event["cat"] != "work").unwrap()["args"].clone()
    };
    let address = format!("{:#x}", memory.addr());
    assert_eq!(
        arguments("device_memory_allocate"),
        serde_json::json!({ "plugin": "cpu", "device": 1, "ptr": address, "size": 64, "status": "success" })
    );
    assert_eq!(
        arguments("blas_axpby"),
        serde_json::json!({
            "plugin": "cpu", "device": 1, "stream": "0x0", "dtype": "float32", "numel": 16, "alpha": 0.5,
            "x": address, "beta": -1.5, "y": address, "status": "success",
        })
    );
    let failed = arguments("set_device");
    assert_eq!((&failed["device"], &failed["status"]), (&Value::from(-7), &Value::from("error")));
    assert_eq!(arguments("query_stream")["answer"], true);
    assert_eq!(named(&events, "X", "memory_copy_h2d")[0]["cat"], "memory");
    std::fs::remove_file(trace.file()).unwrap();
}

#[test]
fn calls_of_a_thread_follow_each_other_and_memory_adds_up() {
    let (trace, device) = traced(Options { streams: false, ..options("threads") });
    const ROUNDS: usize = 500;
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let device = &device;
            let body = move || {
                for round in 0..ROUNDS {
                    let size = 64 * (1 + (round + thread) % 3);
                    let memory = device.device_memory_allocate(ID, size).unwrap();
                    device.memory_copy_h2d(ID, memory, &vec![0; size]).unwrap();
                    device.device_memory_deallocate(ID, memory, size).unwrap();
                }
            };
            std::thread::Builder::new().name(format!("worker {thread}")).spawn_scoped(scope, body).unwrap();
        }
    });
    trace.finish();
    let events = read(trace.file());
    let mut lanes: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    for event in events.iter().filter(|event| event["ph"] == "X") {
        lanes.entry(event["tid"].as_u64().unwrap()).or_default().push(times(event));
    }
    assert_eq!(lanes.len(), 4);
    for calls in lanes.values() {
        assert_eq!(calls.len(), 3 * ROUNDS);
        assert!(calls.windows(2).all(|pair| pair[0].1 <= pair[1].0), "calls of a thread overlap");
    }
    let mut names: Vec<_> = named(&events, "M", "thread_name")
        .iter()
        .map(|event| event["args"]["name"].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["worker 0", "worker 1", "worker 2", "worker 3"]);
    let counters = named(&events, "C", "device memory cpu:0");
    assert_eq!(counters.len(), 4 * ROUNDS * 2);
    let bytes = |event: &&Value| event["args"]["bytes"].as_u64().unwrap();
    assert!(counters.iter().map(bytes).max().unwrap() <= 4 * 192);
    assert_eq!(counters.iter().map(bytes).min(), Some(0), "all was freed at the end");
    let summary = summary(trace.file());
    assert_eq!((summary.calls, summary.dropped, summary.truncated), ((4 * 3 * ROUNDS) as u64, 0, false));
    assert_eq!(summary.functions.len(), 3);
    let copies = summary.functions.iter().find(|function| function.name == "memory_copy_h2d").unwrap();
    assert_eq!((copies.count, copies.errors), (4 * ROUNDS as u64, 0));
    assert!(
        copies.median_ns <= copies.p99_ns
            && copies.p99_ns <= copies.max_ns
            && copies.max_ns <= copies.total_ns
    );
    assert!(summary.memory[0].peak_bytes >= 192 && summary.memory[0].name == "device memory cpu:0");
    std::fs::remove_file(trace.file()).unwrap();
}

#[test]
fn streams_are_lanes_in_order() {
    let (trace, device) = traced(options("streams"));
    let (a, b) = (device.create_stream(ID).unwrap(), device.create_stream(ID).unwrap());
    // Each stream has its own memory, because nothing orders them.
    let [memory, other] = [(); 2].map(|()| device.device_memory_allocate(ID, 1 << 20).unwrap());
    let half = |memory: DevicePtr| DevicePtr::from_addr(memory.addr() + (1 << 19));
    for (stream, memory) in [(a, memory), (b, other)] {
        for _ in 0..20 {
            device.async_memory_copy_d2d(ID, stream, memory, half(memory), 1 << 19).unwrap();
        }
    }
    device.synchronize_device(ID).unwrap();
    // Captured work does not run, so the trace does not contain it yet.
    device.destroy_stream(ID, b).unwrap();
    device.cuda_stream_begin_capture(ID, a, CaptureMode::RELAXED).unwrap();
    device.async_memory_copy_d2d(ID, a, memory, half(memory), 1 << 19).unwrap();
    let graph = device.cuda_stream_end_capture(ID, a).unwrap();
    let mut nodes = 0;
    device.cuda_graph_get_nodes(graph, None, &mut nodes).unwrap();
    assert_eq!(nodes, 1, "the copy, and no callback");
    device.cuda_graph_destroy(graph).unwrap();
    device.synchronize_stream(ID, a).unwrap();
    device.destroy_stream(ID, a).unwrap();
    for memory in [memory, other] {
        device.device_memory_deallocate(ID, memory, 1 << 20).unwrap();
    }
    trace.finish();
    let events = read(trace.file());
    let lanes: Vec<&Value> = named(&events, "M", "thread_name")
        .into_iter()
        .filter(|event| event["args"]["name"].as_str().unwrap().starts_with("stream "))
        .collect();
    assert_eq!(lanes.len(), 2);
    for (lane, stream) in lanes.iter().zip([a, b]) {
        assert_eq!(lane["args"]["name"], format!("stream {:#x}", stream.addr()));
        let mut work: Vec<(u64, u64)> = events
            .iter()
            .filter(|event| event["ph"] == "X" && event["pid"] == lane["pid"] && event["tid"] == lane["tid"])
            .map(times)
            .collect();
        work.sort_unstable();
        assert_eq!(work.len(), 20, "the copies, and nothing of the capture");
        assert!(work.windows(2).all(|pair| pair[0].1 <= pair[1].0), "work of a stream overlaps: {work:?}");
    }
    assert!(events.iter().any(|event| event["args"]["name"] == "streams of cpu:0"));
    let summary = summary(trace.file());
    assert_eq!(summary.streams.iter().map(|stream| stream.count).collect::<Vec<_>>(), [20, 20]);
    assert!(summary.streams.iter().all(|stream| stream.busy_ns > 0 && stream.busy_ns <= summary.span_ns));
    std::fs::remove_file(trace.file()).unwrap();
}

#[test]
fn work_ends_when_the_stream_has_done_it() {
    let (trace, device) = traced(options("held"));
    let stream = device.create_stream(ID).unwrap();
    let event = device.create_event(ID).unwrap();
    let gate = hold(&device, ID, stream);
    device.record_event(ID, stream, event).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    gate.open();
    device.synchronize_stream(ID, stream).unwrap();
    trace.finish();
    let events = read(trace.file());
    let work: Vec<_> = events.iter().filter(|event| event["cat"] == "work").collect();
    let (start, end) = times(work.iter().find(|event| event["name"] == "stream_add_callback").unwrap());
    assert!(end - start >= 20_000_000, "the callback held the stream for 20 ms: {}", end - start);
    let (start, _) = times(work.iter().find(|event| event["name"] == "record_event").unwrap());
    assert!(start >= end, "what comes after it begins after it");
    std::fs::remove_file(trace.file()).unwrap();
}

#[test]
fn a_plugin_with_odd_callbacks_gets_lanes_once_or_none() {
    let trace = Trace::start(options("odd")).unwrap();
    let layer = trace.layer("odd", &FAULTY) as Arc<dyn Layer>;
    let device = Layered::new(WithFallbacks(&FAULTY), vec![layer]);
    let event = Event::from_addr(8);
    device.record_event(ID, Stream::NULL, event).unwrap();
    for _ in 0..20 {
        device.record_event(ID, Stream::from_addr(0x77), event).unwrap();
    }
    // After so many refusals in a row the plugin is left alone.
    device.record_event(ID, Stream::NULL, event).unwrap();
    trace.finish();
    let summary = summary(trace.file());
    let work: Vec<_> = summary.streams.iter().map(|stream| (stream.stream.as_str(), stream.count)).collect();
    // The refused callbacks were called before they were refused.
    assert_eq!(work, [("default stream", 1), ("stream 0x77", 16)]);
    std::fs::remove_file(trace.file()).unwrap();
}

#[test]
fn a_full_file_says_how_much_it_lacks() {
    let (trace, device) = traced(Options { limit: 100, streams: false, ..options("limit") });
    for _ in 0..250 {
        device.set_device(ID).unwrap();
    }
    trace.finish();
    device.set_device(ID).unwrap();
    assert_eq!(named(&read(trace.file()), "X", "set_device").len(), 100);
    let summary = summary(trace.file());
    assert_eq!((summary.calls, summary.dropped), (100, 150));
    assert!(summary.to_string().contains("150 events were dropped"), "{summary}");
    std::fs::remove_file(trace.file()).unwrap();
}

#[test]
fn more_than_a_ring_holds_is_not_lost() {
    let (trace, device) = traced(Options { streams: false, ..options("flood") });
    const CALLS: u64 = 60_000;
    (0..CALLS).for_each(|_| device.set_device(ID).unwrap());
    trace.finish();
    let summary = summary(trace.file());
    assert_eq!((summary.calls, summary.dropped), (CALLS, 0));
    std::fs::remove_file(trace.file()).unwrap();
}

#[test]
fn a_file_that_was_cut_off_is_read_as_far_as_it_goes() {
    let (trace, device) = traced(Options { streams: false, ..options("cut") });
    (0..50).for_each(|_| device.set_device(ID).unwrap());
    trace.finish();
    let whole = std::fs::read(trace.file()).unwrap();
    let last = whole.len() - "\n]\n".len();
    for end in [last, last - 1, last - 30] {
        let cut = Summary::read(&whole[..end]).unwrap();
        assert!(cut.truncated);
        assert_eq!(cut.calls, if end == last { 50 } else { 49 });
    }
    assert!(!Summary::read(&whole[..]).unwrap().truncated);
    assert!(matches!(Summary::read(&b"not a trace"[..]), Err(SummaryError::NoEvents)));
    std::fs::remove_file(trace.file()).unwrap();
}

#[test]
fn a_file_that_cannot_be_made_is_named() {
    let file = path("missing").join("trace.json");
    let error = Trace::start(Options { file: file.clone(), ..Options::default() }).err().unwrap();
    let text = error.to_string();
    assert!(text.contains(&*file.to_string_lossy()) && text.contains("TENON_TRACE_FILE"), "{text}");
}

/// The programs of child processes, by name, with the trace in a file.
const CHILD: &str = "TENON_TEST_CHILD";

/// Runs itself in a separate process.
fn child(end: &str) -> (Output, PathBuf) {
    let file = path(end);
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["child_process", "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, end)
        .env("TENON_TRACE_FILE", &file)
        .output()
        .unwrap();
    (output, file)
}

#[test]
fn child_process() {
    let Ok(end) = std::env::var(CHILD) else { return };
    let (_, device) = traced(Options { streams: false, ..Options::from_env().unwrap() });
    (0..1000).for_each(|_| device.set_device(ID).unwrap());
    match end.as_str() {
        "abort" => std::process::abort(),
        // SAFETY: there is nothing at this address, which is what is wanted.
        "segv" => unsafe { std::ptr::without_provenance_mut::<u8>(8).write_volatile(1) },
        // SAFETY: a signal as somebody else would send it.
        "sent" => unsafe {
            libc::raise(libc::SIGILL);
        },
        "exit" => std::process::exit(0),
        "panic" => panic!("as planned"),
        other => panic!("{other}?"),
    }
}

#[test]
fn a_crash_leaves_what_was_recorded() {
    for (end, signal) in [("abort", libc::SIGABRT), ("segv", libc::SIGSEGV), ("sent", libc::SIGILL)] {
        let (output, file) = child(end);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), Some(signal), "{end} still ends as it would have: {text}");
        let summary = summary(&file);
        assert!(summary.truncated, "{end}");
        assert_eq!(summary.calls, 1000, "{end}: {text}");
        std::fs::remove_file(file).unwrap();
    }
}

#[test]
fn the_end_of_a_process_ends_the_file() {
    for (end, code) in [("exit", 0), ("panic", 101)] {
        let (output, file) = child(end);
        assert_eq!(output.status.code(), Some(code), "{end}");
        let summary = summary(&file);
        assert_eq!((summary.calls, summary.truncated), (1000, false), "{end}");
        std::fs::remove_file(file).unwrap();
    }
}
