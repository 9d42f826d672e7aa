//! Tests that errors of a plugin are detected, and that a correct plugin passes.

mod common;

use common::{check, compile, text};

/// An error of `faulty/plugin.c`, a case that detects it, and a part of the message.
const FAULTS: [(&str, &str, &str); 63] = [
    ("list-from-one", "device.list", "listed [1, 2], where a host calls with [0, 1]"),
    ("list-too-long", "device.list", "wrote 8 bytes past the end of the list of devices"),
    ("no-status", "device.list", "answered 17, which is not a status"),
    (
        "one-current-device",
        "device.current.per-thread",
        "another thread's `set_device` of 1 made it current here",
    ),
    ("no-synchronize-device", "presence.synchronize_device", "`synchronize_device` is missing"),
    ("threads-survive", "lifecycle.threads-end", "threads of the plugin are left after `finalize`"),
    ("misaligned", "memory.allocate.aligned", "4 bytes past a multiple of 16"),
    (
        "address-not-written",
        "memory.allocate.aligned",
        "`device_memory_allocate` answered `success` and wrote no address",
    ),
    ("out-of-memory-is-an-error", "memory.allocate.too-much", "`device_memory_allocate` answered `failed`"),
    ("null-free-is-an-error", "memory.free.null", "`device_memory_deallocate` answered `error`"),
    ("free-does-not-wait", "memory.free.queued-work", "whose source was freed after it was queued"),
    ("statistics-leak", "statistics.allocation-counts", "bytes were freed, and the free memory went from"),
    ("statistics-leak", "statistics.no-leak", "allocated and freed 64 times"),
    (
        "set-one-byte-short",
        "memory.set.every-length",
        "1 bytes set from offset 0 on: 1 of 600 bytes are wrong",
    ),
    (
        "writes-on-failure",
        "invalid-argument.device_memory_allocate.failure-writes-nothing.device",
        "`device_memory_allocate` failed and still wrote",
    ),
    (
        "answer-half-written",
        "contract.device_min_chunk_size.writes-its-answers",
        "left 4 of the 8 bytes of `count` as they were",
    ),
    ("nothing-is-read", "copy.d2h.odd-lengths", "bytes are wrong, the first at 0, 0xee where"),
    ("copy-drops-odd-bytes", "copy.h2d.odd-lengths", "1 bytes written at offset 0"),
    (
        "copy-writes-past-the-end",
        "contract.memory_copy_d2h.stays-in-bounds",
        "wrote 8 bytes past the end of `dst` of `memory_copy_d2h`, which has 64",
    ),
    ("d2d-backwards", "copy.d2d.odd-lengths", "2 bytes copied from offset 0 to offset 0"),
    (
        "zero-copy-of-null-is-an-error",
        "contract.memory_copy_h2d.nothing",
        "`memory_copy_h2d` answered `error`",
    ),
    ("copies-run-early", "async.d2d.not-early", "the copy ran although a callback before it"),
    (
        "pageable-does-not-wait",
        "async.h2d.pageable.held",
        "whose source was changed when the call had returned",
    ),
    ("pageable-does-not-wait", "async.d2h.pageable.held", "looked at when the call had returned"),
    ("unknown-stream-is-refused", "async.d2h.unknown-stream", "`async_memory_copy_d2h` answered `error`"),
    ("peer-copy-does-not-wait", "peer.async.source-first", "work on the source device was still to write"),
    ("stream-not-written", "stream.distinct", "`create_stream` answered `success` and wrote no stream"),
    ("stream-not-written", "contract.create_stream.writes-its-answers", "left 8 of the 8 bytes of `stream`"),
    ("destroy-drops-work", "stream.destroy.queued-work", "that was queued when its stream was destroyed"),
    ("query-lies", "stream.query.held", "a stream was said to be done while its callback ran"),
    (
        "synchronize-does-not-wait",
        "stream.synchronize.waits",
        "`synchronize_stream` returned while a callback",
    ),
    (
        "synchronize-device-skips-streams",
        "stream.synchronize-device.waits",
        "`synchronize_device` returned while a callback of one of its streams ran",
    ),
    (
        "stale-stream-crashes",
        "invalid-argument.synchronize_stream.destroyed.stream",
        "the process died of signal 11 (segmentation fault), in or after `synchronize_stream`",
    ),
    (
        "stale-stream-hangs",
        "invalid-argument.synchronize_stream.destroyed.stream",
        "the process did not end within 2s, in or after `synchronize_stream`",
    ),
    ("callback-twice", "callback.once", "callback 0 was called 2 times"),
    ("callbacks-overtake", "callback.in-order", "was called right after callback"),
    ("callback-status-unset", "callback.status", "the status was `failed` before the call"),
    ("callback-although-refused", "callback.refused", "failed, and the callback was called"),
    ("wait-ignored", "order.streams", "a copy behind the event of another stream"),
    (
        "wait-moves-with-the-event",
        "order.rerecord",
        "the process did not end within 2s, in or after `synchronize_stream`",
    ),
    (
        "wait-blocks-the-caller",
        "event.wait.at-once",
        "`stream_wait_event` returned only when the stream went on",
    ),
    ("destroyed-event-is-done", "order.event-destroyed", "a copy behind an event that was then destroyed"),
    (
        "record-is-done-at-once",
        "event.query.held",
        "an event was said to be done while the callback before it ran",
    ),
    ("fresh-event-is-not-done", "event.fresh.query", "an event that was never recorded is not done"),
    (
        "event-waits-for-the-device",
        "event.synchronize.no-further",
        "`synchronize_event` waited for a callback that was queued after the event",
    ),
    ("time-is-at-least-1", "event.elapsed.in-order", "the time from an event to an earlier one is 1 ns"),
    (
        "fresh-event-has-a-time",
        "event.elapsed.never-recorded",
        "`event_elapsed_time` answered `success` for an event that was never recorded",
    ),
    (
        "time-of-the-previous-record",
        "event.elapsed.pending",
        "`event_elapsed_time` answered `success` for an event that has not completed",
    ),
    ("few-events", "event.ten-thousand", "after 5000 events: `create_event` answered `failed`"),
    ("capture-runs", "graph.capture-does-not-run", "memory that a captured copy writes, before any launch"),
    ("graph-drops-a-node", "graph.replay", "what the graph copies, launch 1"),
    ("graph-drops-a-node", "graph.order", "a copy before a launch, the launch, and a copy behind it"),
    ("sums-all-but-the-last", "collective.all_reduce.2-processes", "the sums of 1 elements"),
    (
        "minimum-is-the-first",
        "collective.all_reduce.types.2-processes",
        "the reduction min of elements of the type float32",
    ),
    ("reduce-writes-everywhere", "collective.reduce.2-processes", "the receive buffer of another rank"),
    ("root-is-always-0", "collective.broadcast.2-processes", "1 elements of rank 1"),
    ("gathers-backwards", "collective.all_gather.4-processes", "the buffers of all ranks"),
    (
        "scatters-the-first-part",
        "collective.reduce_scatter.2-processes",
        "rank 1 of 2: the part of this rank",
    ),
    ("messages-lack-a-byte", "collective.messages.4-processes", "message 1 of 1 elements"),
    ("bracket-does-nothing", "collective.messages.bracket.2-processes", "the process did not end within 2s"),
    (
        "collectives-run-at-once",
        "collective.order.2-processes",
        "a copy of the sums that was queued behind the reduction",
    ),
    ("one-group-only", "collective.second-group.2-processes", "`xccl_comm_init_rank` answered `error`"),
    ("name-without-end", "collective.names.2-processes", "a name of 128 bytes has no zero byte"),
];

#[test]
fn each_mistake_is_found() {
    let library = compile("tools/conformance/tests/faulty/plugin.c", "faulty-each");
    let mut wrong = Vec::new();
    for (fault, case, message) in FAULTS {
        let output = check()
            .env("FAULT", fault)
            .arg(&library)
            .args(["--level", "good", "--timeout", "2", "--filter", case])
            .output()
            .expect("the command runs");
        let text = text(&output);
        let said =
            text.lines().skip_while(|line| *line != format!("FAILED {case}")).nth(1).unwrap_or_default();
        if output.status.code() != Some(1) || !said.contains(message) {
            wrong.push(format!("`{fault}` is not found by `{case}` with `{message}`:\n{text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_guide_lists_each_mistake() {
    let guide = include_str!("../../../docs/src/guide/conformance.md");
    for (fault, case, _) in FAULTS {
        assert!(
            guide.contains(&format!("| `{fault}` | `{case}` |")),
            "the guide lacks {fault}, found by {case}"
        );
    }
}

#[test]
fn a_plugin_without_mistakes_passes() {
    let library = compile("tools/conformance/tests/faulty/plugin.c", "faulty-none");
    let output = check().arg(&library).args(["--level", "good"]).output().expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
}

/// An error affects only its own cases.
#[test]
fn a_crash_costs_the_cases_that_crash() {
    let library = compile("tools/conformance/tests/faulty/plugin.c", "faulty-crash");
    let output = check()
        .env("FAULT", "stale-stream-crashes")
        .arg(&library)
        .args(["--filter", "invalid-argument.synchronize_", "--level", "good"])
        .output()
        .expect("the command runs");
    let text = text(&output);
    let failed: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("FAILED ")).collect();
    assert_eq!(failed[0], "invalid-argument.synchronize_stream.unknown-device.device", "{text}");
    for case in [
        "invalid-argument.synchronize_stream.null-device.device",
        "invalid-argument.synchronize_stream.destroyed.stream",
        "invalid-argument.synchronize_stream.garbage.stream",
        "invalid-argument.synchronize_stream.of-another-device.stream",
    ] {
        assert!(text.contains(case), "{case}: {text}");
    }
    assert!(text.contains(" passed, 5 failed for "), "{text}");
}

/// Returns the processes that run `sleep 3600`, which a plugin of the test has started.
fn helpers() -> Vec<String> {
    let commands = std::fs::read_dir("/proc").expect("this is Linux").flatten().filter_map(|entry| {
        let command = std::fs::read(entry.path().join("cmdline")).ok()?;
        (command == b"sleep\x003600\x00").then(|| entry.file_name().to_string_lossy().into_owned())
    });
    commands.collect()
}

#[test]
fn a_helper_that_a_plugin_leaves_behind_ends_with_its_case() {
    let library = compile("tools/conformance/tests/faulty/plugin.c", "faulty-helper");
    let start = std::time::Instant::now();
    let output = check()
        .env("FAULT", "leaves-a-helper")
        .arg(&library)
        .args(["--timeout", "5", "--filter", "device."])
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(start.elapsed().as_secs() < 60, "the helper was waited for");
    // The signal is sent before the command ends; the signal ends the helper when it is next scheduled.
    let deadline = start + std::time::Duration::from_secs(60);
    while !helpers().is_empty() && std::time::Instant::now() < deadline {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(helpers(), Vec::<String>::new());
}

#[test]
fn a_number_of_devices_that_can_only_be_a_mistake_is_refused() {
    let library = compile("tools/conformance/tests/faulty/plugin.c", "faulty-countless");
    let output = check().env("FAULT", "countless-devices").arg(&library).output().expect("the command runs");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("wrote 2147483648"), "{}", text(&output));
}

#[test]
fn a_name_that_a_terminal_would_obey_is_refused() {
    let library = compile("tools/conformance/tests/faulty/plugin.c", "faulty-name");
    let output = check().env("FAULT", "odd-name").arg(&library).output().expect("the command runs");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains(r"device type `\u{1b}"), "{}", text(&output));
    assert!(!text(&output).contains('\u{1b}'));
}

#[test]
fn a_plugin_that_cannot_be_loaded_is_no_failed_case() {
    let library = compile("tools/conformance/tests/faulty/plugin.c", "faulty-load");
    let output = check().env("FAULT", "crashes-on-load").arg(&library).output().expect("the command runs");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("died of signal 6 (abort)"), "{}", text(&output));
}
