//! Captured work, launched.
#![cfg(not(loom))]

mod common;

use common::{Gate, Log, begin_capture, block, cpu, download, fails, upload};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use tenon::device::{CaptureStatus, Device, DeviceId, Graph, GraphExec, Stream};
use tenon_cpu::{Cpu, Error};

#[test]
fn captured_work_is_done_by_launches_only() {
    let (cpu, log) = (cpu(), Log::default());
    let (a, b) = (upload(&cpu, 0, b"aaaa"), upload(&cpu, 0, b"...."));
    let stream = begin_capture(&cpu);
    cpu.async_memory_copy_d2d(DeviceId(0), stream, b, a, 4).unwrap();
    cpu.async_memory_fill(DeviceId(0), stream, b, b"f", 2).unwrap();
    cpu.launch_kernel(DeviceId(0), stream, "kernel", log.writer(1)).unwrap();
    cpu.launch_callback(DeviceId(0), stream, log.writer(2)).unwrap();
    let graph = cpu.cuda_stream_end_capture(DeviceId(0), stream).unwrap();
    assert_eq!((download(&cpu, 0, b, 4), log.read()), (b"....".to_vec(), vec![]));
    let nodes = cpu.graph_get_nodes(graph).unwrap();
    assert_eq!(
        nodes.iter().map(|node| node.kind).collect::<Vec<_>>(),
        ["copy", "fill", "kernel", "callback"]
    );
    for pair in nodes.windows(2) {
        assert_eq!(pair[1].dependencies, [pair[0].handle]);
    }
    let exec = cpu.graph_instantiate(graph).unwrap();
    cpu.cuda_graph_destroy(graph).unwrap();
    for round in 1..=3 {
        cpu.device_memory_set(DeviceId(0), b, b'.', 4).unwrap();
        cpu.cuda_graph_launch(DeviceId(0), exec, stream).unwrap();
        cpu.synchronize_stream(DeviceId(0), stream).unwrap();
        assert_eq!(download(&cpu, 0, b, 4), b"ffaa");
        assert_eq!(log.read().len(), 2 * round);
    }
    assert_eq!(log.read(), [1, 2, 1, 2, 1, 2]);
    cpu.cuda_graph_exec_destroy(exec).unwrap();
}

#[test]
fn a_launch_keeps_its_place_in_the_stream() {
    let (cpu, log) = (cpu(), Log::default());
    let stream = begin_capture(&cpu);
    cpu.launch_kernel(DeviceId(0), stream, "graph", log.writer(2)).unwrap();
    let exec = finish(&cpu, stream);
    let other = cpu.create_stream(DeviceId(0)).unwrap();
    cpu.launch_kernel(DeviceId(0), other, "before", log.writer(1)).unwrap();
    cpu.cuda_graph_launch(DeviceId(0), exec, other).unwrap();
    cpu.launch_kernel(DeviceId(0), other, "after", log.writer(3)).unwrap();
    cpu.synchronize_stream(DeviceId(0), other).unwrap();
    assert_eq!(log.read(), [1, 2, 3]);
}

fn finish(cpu: &Cpu, stream: Stream) -> GraphExec {
    let graph = cpu.cuda_stream_end_capture(DeviceId(0), stream).unwrap();
    cpu.graph_instantiate(graph).unwrap()
}

/// Returns a graph that forks into `branches` and joins again.
fn forked(cpu: &Cpu, log: &Log, branches: usize) -> (Graph, GraphExec) {
    let stream = begin_capture(cpu);
    let fork = cpu.create_event(DeviceId(0)).unwrap();
    cpu.launch_kernel(DeviceId(0), stream, "head", log.writer(0)).unwrap();
    cpu.record_event(DeviceId(0), stream, fork).unwrap();
    let sides: Vec<_> = (1..=branches)
        .map(|value| {
            let side = cpu.create_stream(DeviceId(0)).unwrap();
            cpu.stream_wait_event(DeviceId(0), side, fork).unwrap();
            cpu.launch_kernel(DeviceId(0), side, "branch", log.writer(value)).unwrap();
            let join = cpu.create_event(DeviceId(0)).unwrap();
            cpu.record_event(DeviceId(0), side, join).unwrap();
            (side, join)
        })
        .collect();
    for &(_, join) in &sides {
        cpu.stream_wait_event(DeviceId(0), stream, join).unwrap();
    }
    cpu.launch_kernel(DeviceId(0), stream, "tail", log.writer(branches + 1)).unwrap();
    let graph = cpu.cuda_stream_end_capture(DeviceId(0), stream).unwrap();
    for (side, _) in sides {
        assert_eq!(cpu.stream_capture_info(DeviceId(0), side).unwrap().status, CaptureStatus::NONE);
        cpu.synchronize_stream(DeviceId(0), side).unwrap();
    }
    (graph, cpu.graph_instantiate(graph).unwrap())
}

#[test]
fn forks_and_joins_keep_their_order() {
    let (cpu, log) = (cpu(), Log::default());
    let (_, exec) = forked(&cpu, &log, 5);
    let stream = cpu.create_stream(DeviceId(0)).unwrap();
    for _ in 0..50 {
        cpu.cuda_graph_launch(DeviceId(0), exec, stream).unwrap();
    }
    cpu.launch_kernel(DeviceId(0), stream, "end", log.writer(99)).unwrap();
    cpu.synchronize_stream(DeviceId(0), stream).unwrap();
    let seen = log.read();
    assert_eq!((seen.len(), seen[seen.len() - 1]), (50 * 7 + 1, 99));
    for launch in seen[..350].chunks(7) {
        assert_eq!((launch[0], launch[6]), (0, 6));
        let mut middle = launch[1..6].to_vec();
        middle.sort_unstable();
        assert_eq!(middle, [1, 2, 3, 4, 5]);
    }
}

#[test]
fn branches_run_side_by_side() {
    let cpu = cpu();
    let stream = begin_capture(&cpu);
    let side = cpu.create_stream(DeviceId(0)).unwrap();
    let (fork, join) = (cpu.create_event(DeviceId(0)).unwrap(), cpu.create_event(DeviceId(0)).unwrap());
    cpu.record_event(DeviceId(0), stream, fork).unwrap();
    cpu.stream_wait_event(DeviceId(0), side, fork).unwrap();
    let (here, there) = (Gate::default(), Gate::default());
    let meet = |own: Gate, other: Gate| {
        move || {
            own.open();
            other.pass();
            Ok(())
        }
    };
    // Each waits for the other: one after the other, they would wait for ever.
    cpu.launch_kernel(DeviceId(0), stream, "here", meet(here.clone(), there.clone())).unwrap();
    cpu.launch_kernel(DeviceId(0), side, "there", meet(there, here)).unwrap();
    cpu.record_event(DeviceId(0), side, join).unwrap();
    cpu.stream_wait_event(DeviceId(0), stream, join).unwrap();
    let exec = finish(&cpu, stream);
    cpu.cuda_graph_launch(DeviceId(0), exec, stream).unwrap();
    cpu.synchronize_stream(DeviceId(0), stream).unwrap();
}

#[test]
fn launches_of_one_graph_do_not_overlap() {
    let (cpu, log) = (cpu(), Log::default());
    let running = Arc::new(AtomicUsize::new(0));
    let (_, forked) = forked(&cpu, &log, 2);
    let stream = begin_capture(&cpu);
    let (count, order) = (running.clone(), log.clone());
    cpu.launch_kernel(DeviceId(0), stream, "alone", move || {
        order.push(count.fetch_add(1, Ordering::SeqCst));
        thread::yield_now();
        count.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    })
    .unwrap();
    let single = finish(&cpu, stream);
    for _ in 0..100 {
        for exec in [single, forked] {
            let own = cpu.create_stream(DeviceId(0)).unwrap();
            cpu.cuda_graph_launch(DeviceId(0), exec, own).unwrap();
            cpu.destroy_stream(DeviceId(0), own).unwrap();
        }
    }
    cpu.synchronize_device(DeviceId(0)).unwrap();
    // Of the forked graph: 0, then 1 and 2 in any order, then 3. Of the other: always 0.
    let seen = log.read();
    assert_eq!(seen.iter().filter(|&&value| value == 3).count(), 100);
    let forked: Vec<_> = seen.iter().filter(|&&value| value != 0).collect();
    assert!(forked.chunks(3).all(|launch| *launch[2] == 3), "{forked:?}");
}

#[test]
fn a_failure_in_a_branch_reaches_the_launching_stream() {
    let cpu = cpu();
    let stream = begin_capture(&cpu);
    let side = cpu.create_stream(DeviceId(0)).unwrap();
    let event = cpu.create_event(DeviceId(0)).unwrap();
    cpu.record_event(DeviceId(0), stream, event).unwrap();
    cpu.stream_wait_event(DeviceId(0), side, event).unwrap();
    cpu.launch_kernel(DeviceId(0), stream, "good", || Ok(())).unwrap();
    cpu.launch_kernel(DeviceId(0), side, "bad", || panic!("branch")).unwrap();
    cpu.record_event(DeviceId(0), side, event).unwrap();
    cpu.stream_wait_event(DeviceId(0), stream, event).unwrap();
    let exec = finish(&cpu, stream);
    for _ in 0..2 {
        cpu.cuda_graph_launch(DeviceId(0), exec, stream).unwrap();
        let error = cpu.synchronize_stream(DeviceId(0), stream).unwrap_err();
        let reported = format!("on stream {:#x} failed", stream.addr());
        assert!(error.message.contains(&reported) && error.message.contains("branch"), "{error}");
    }
    cpu.synchronize_stream(DeviceId(0), side).unwrap();
}

#[test]
fn a_launch_checks_its_pointers_again() {
    let (cpu, log) = (cpu(), Log::default());
    let ptr = upload(&cpu, 0, b"....");
    let stream = begin_capture(&cpu);
    cpu.launch_kernel(DeviceId(0), stream, "first", log.writer(1)).unwrap();
    cpu.async_memory_fill(DeviceId(0), stream, ptr, &[1], 4).unwrap();
    let exec = finish(&cpu, stream);
    cpu.cuda_graph_launch(DeviceId(0), exec, stream).unwrap();
    cpu.synchronize_stream(DeviceId(0), stream).unwrap();
    cpu.device_memory_deallocate(DeviceId(0), ptr, 4).unwrap();
    assert_eq!(
        cpu.cuda_graph_launch(DeviceId(0), exec, stream),
        Err(Error::UnknownPointer { ptr: ptr.addr() }.into())
    );
    cpu.synchronize_stream(DeviceId(0), stream).unwrap();
    assert_eq!(log.read(), [1], "nothing of a refused launch runs");
}

#[test]
fn destroying_an_executable_graph_in_use() {
    let (cpu, log) = (cpu(), Log::default());
    let (graph, exec) = forked(&cpu, &log, 2);
    let stream = cpu.create_stream(DeviceId(0)).unwrap();
    let gate = block(&cpu, 0, stream);
    cpu.cuda_graph_launch(DeviceId(0), exec, stream).unwrap();
    cpu.cuda_graph_exec_destroy(exec).unwrap();
    cpu.cuda_graph_destroy(graph).unwrap();
    assert!(fails(cpu.cuda_graph_launch(DeviceId(0), exec, stream), "is not a live"));
    gate.open();
    cpu.synchronize_stream(DeviceId(0), stream).unwrap();
    assert_eq!(log.read().len(), 4);
}

#[test]
fn a_graph_launched_in_a_capture_becomes_part_of_it() {
    let (cpu, log) = (cpu(), Log::default());
    let (_, inner) = forked(&cpu, &log, 2);
    let stream = begin_capture(&cpu);
    cpu.launch_kernel(DeviceId(0), stream, "before", log.writer(10)).unwrap();
    cpu.cuda_graph_launch(DeviceId(0), inner, stream).unwrap();
    cpu.launch_kernel(DeviceId(0), stream, "after", log.writer(11)).unwrap();
    let outer = finish(&cpu, stream);
    assert_eq!(log.read(), [0; 0]);
    cpu.cuda_graph_launch(DeviceId(0), outer, stream).unwrap();
    cpu.synchronize_stream(DeviceId(0), stream).unwrap();
    let seen = log.read();
    assert_eq!((seen.len(), &seen[..2], &seen[4..]), (6, &[10, 0][..], &[3, 11][..]));
}

#[test]
fn dot_files() {
    let (cpu, log) = (cpu(), Log::default());
    let (graph, _) = forked(&cpu, &log, 2);
    let text = cpu.graph_dot(graph, false).unwrap();
    assert!(text.starts_with("digraph") && text.contains("head") && text.contains("->"));
    let path = std::env::temp_dir().join(format!("tenon-cpu-graph-{}.dot", std::process::id()));
    cpu.graph_debug_dot_print(graph, &path, false).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    std::fs::remove_file(&path).unwrap();
    let nowhere = std::path::Path::new("/nonexistent/graph.dot");
    assert!(matches!(cpu.graph_debug_dot_print(graph, nowhere, true), Err(Error::Io { .. })));
}
