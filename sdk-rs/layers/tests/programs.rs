//! Tests of validation with whole programs, plugins and threads.

mod common;

use std::sync::Arc;

use common::faulty::{ADDRESS, FAULTY, faulty};
use common::{ID, OTHER, Validated, cpu, validated, validated_cpu};
use tenon::device::*;
use tenon::{DevicePtr, HostPtr};
use tenon_cpu::Cpu;
use tenon_layers::validate::{Checker, Options, Rule};

fn allocate(cpu: &Validated<Cpu>, size: usize) -> DevicePtr {
    cpu.device.device_memory_allocate(ID, size).unwrap()
}

fn free(cpu: &Validated<Cpu>, memory: DevicePtr, size: usize) {
    cpu.device.device_memory_deallocate(ID, memory, size).unwrap();
}

fn host(bytes: &[u8]) -> HostPtr {
    HostPtr::from_ptr(bytes.as_ptr())
}

#[test]
fn leaks_are_reported_at_the_end_of_the_program() {
    let cpu = validated_cpu();
    allocate(&cpu, 64);
    assert_eq!(cpu.validate.finish().len(), 1);
    let text = cpu.report(Rule::Leak);
    assert!(text.contains("64 bytes of device memory at 0x"), "{text}");
    assert!(cpu.validate.finish().is_empty(), "once is enough");
}

#[test]
fn an_order_between_streams_is_order_for_memory_too() {
    let cpu = validated_cpu();
    let (a, b) = (cpu.device.create_stream(ID).unwrap(), cpu.device.create_stream(ID).unwrap());
    let (to, from) = (allocate(&cpu, 64), allocate(&cpu, 64));
    let event = cpu.device.create_event(ID).unwrap();
    for wait in ["event", "stream", "device", "query"] {
        let memory = allocate(&cpu, 64);
        cpu.device.async_memory_copy_d2d(ID, a, memory, from, 64).unwrap();
        cpu.device.record_event(ID, a, event).unwrap();
        cpu.device.stream_wait_event(ID, b, event).unwrap();
        cpu.device.async_memory_copy_d2d(ID, b, to, from, 64).unwrap();
        match wait {
            "event" => cpu.device.synchronize_event(ID, event).unwrap(),
            "stream" => cpu.device.synchronize_stream(ID, b).unwrap(),
            "device" => cpu.device.synchronize_device(ID).unwrap(),
            _ => while !cpu.device.query_stream(ID, b).unwrap() {},
        }
        free(&cpu, memory, 64);
        cpu.silent();
    }
}

#[test]
fn what_a_call_did_not_do_changes_nothing() {
    let cpu = validated_cpu();
    let (memory, event) = (allocate(&cpu, 64), cpu.device.create_event(ID).unwrap());
    // Refused by validation, which comes first.
    cpu.refused(Rule::HandleOfOtherDevice, cpu.device.destroy_event(OTHER, event));
    // The memory of a device is not endless: a failure, or null for «out of memory».
    let more = cpu.device.device_memory_allocate(ID, 1 << 40);
    assert!(more.is_err() || more.unwrap().is_null());
    assert_eq!(cpu.validate.leaks().len(), 2);
    cpu.device.destroy_event(ID, event).unwrap();
    free(&cpu, memory, 64);
    assert!(cpu.validate.leaks().is_empty());
}

#[test]
fn work_of_a_capture_is_not_in_flight() {
    let cpu = validated_cpu();
    let stream = cpu.device.create_stream(ID).unwrap();
    let (a, b) = (allocate(&cpu, 64), allocate(&cpu, 64));
    let event = cpu.device.create_event(ID).unwrap();
    cpu.device.cuda_stream_begin_capture(ID, stream, CaptureMode::RELAXED).unwrap();
    cpu.device.async_memory_copy_d2d(ID, stream, a, b, 64).unwrap();
    cpu.device.record_event(ID, stream, event).unwrap();
    cpu.device.stream_wait_event(ID, stream, event).unwrap();
    let mut graph = cpu.device.cuda_stream_end_capture(ID, stream).unwrap();
    let made = cpu.device.cuda_graph_instantiate(&mut graph, None).unwrap();
    cpu.device.cuda_graph_launch(ID, made.exec, stream).unwrap();
    cpu.device.synchronize_stream(ID, stream).unwrap();
    cpu.device.cuda_graph_exec_destroy(made.exec).unwrap();
    cpu.device.cuda_graph_destroy(graph).unwrap();
    cpu.refused(Rule::DestroyedTwice, cpu.device.cuda_graph_destroy(graph));
    cpu.device.destroy_stream(ID, stream).unwrap();
    free(&cpu, a, 64);
    free(&cpu, b, 64);
    cpu.silent();
}

#[test]
fn rules_can_be_left_out() {
    let cpu = validated("cpu", cpu(), Options { ignore: vec![Rule::UnknownDevice], ..Options::default() });
    let error = cpu.device.set_device(DeviceId(9)).unwrap_err();
    assert_eq!(Rule::of_error(&error), None, "the device's own: {error}");
    cpu.silent();
}

#[test]
fn many_threads_are_seen_as_they_are() {
    let cpu = validated_cpu();
    let work = |thread: usize| {
        let bytes = vec![thread as u8; 256];
        for round in 0..200 {
            let size = 16 + (round * 7 + thread) % 200;
            let memory = allocate(&cpu, size);
            let stream = cpu.device.create_stream(ID).unwrap();
            let event = cpu.device.create_event(ID).unwrap();
            cpu.device.async_memory_copy_h2d(ID, stream, memory, host(&bytes), size).unwrap();
            cpu.device.record_event(ID, stream, event).unwrap();
            cpu.device.synchronize_event(ID, event).unwrap();
            cpu.device.synchronize_stream(ID, stream).unwrap();
            cpu.device.destroy_event(ID, event).unwrap();
            cpu.device.destroy_stream(ID, stream).unwrap();
            free(&cpu, memory, size);
        }
    };
    std::thread::scope(|scope| (0..8).for_each(|thread| drop(scope.spawn(move || work(thread)))));
    cpu.silent();
    assert!(cpu.validate.leaks().is_empty());
    let memory = allocate(&cpu, 64);
    let freed: Vec<bool> = std::thread::scope(|scope| {
        let free = || cpu.device.device_memory_deallocate(ID, memory, 64).is_ok();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(free)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(freed.iter().filter(|freed| **freed).count(), 1, "one of many frees goes through");
    assert!(cpu.reports().iter().all(|report| report.rule == Rule::FreedTwice));
}

#[test]
fn host_memory_that_becomes_device_memory_is_looked_up_again() {
    let (one, other) = (faulty(), validated("other", &FAULTY, Options::default()));
    let bytes = [0u8; 64];
    let to = one.device.device_memory_allocate(ID, 64).unwrap();
    for _ in 0..3 {
        one.device.async_memory_copy_h2d(ID, Stream::NULL, to, host(&bytes), 64).unwrap();
    }
    ADDRESS.set(bytes.as_ptr().addr());
    let taken = other.device.device_memory_allocate(ID, 64).unwrap();
    let copy = || one.device.async_memory_copy_h2d(ID, Stream::NULL, to, host(&bytes), 64);
    one.refused(Rule::DeviceAsHost, copy());
    other.device.device_memory_deallocate(ID, taken, 64).unwrap();
    copy().unwrap();
    one.silent();
}

#[test]
fn what_could_not_be_destroyed_is_alive() {
    let faulty = faulty();
    let memory = faulty.device.device_memory_allocate(ID, 13).unwrap();
    let stream = faulty.device.create_stream(ID).unwrap();
    for _ in 0..2 {
        let error = faulty.device.device_memory_deallocate(ID, memory, 13).unwrap_err();
        assert_eq!(error.message, "unlucky");
        assert_eq!(faulty.device.destroy_stream(ID, stream).unwrap_err().message, "not today");
    }
    faulty.device.memory_copy_h2d(ID, memory, &[0; 13]).unwrap();
    faulty.device.synchronize_stream(ID, stream).unwrap();
    assert_eq!(faulty.validate.leaks().len(), 2);
    faulty.silent();
}

#[test]
fn one_handle_for_all_is_destroyed_as_often_as_it_was_made() {
    let faulty = faulty();
    let (a, b) = (faulty.device.create_stream(ID).unwrap(), faulty.device.create_stream(ID).unwrap());
    assert_eq!(a, b);
    for _ in 0..3 {
        assert_eq!(faulty.device.destroy_stream(ID, a).unwrap_err().message, "not today");
    }
    faulty.device.synchronize_stream(ID, b).unwrap();
    faulty.silent();
}

#[test]
fn a_plugin_that_cannot_be_asked_gets_the_benefit_of_a_wait_only() {
    let faulty = faulty();
    let stream = faulty.device.create_stream(ID).unwrap();
    let memory = faulty.device.device_memory_allocate(ID, 8).unwrap();
    let bytes = [0; 8];
    faulty.device.async_memory_copy_h2d(ID, stream, memory, host(&bytes), 8).unwrap();
    faulty.device.device_memory_deallocate(ID, memory, 8).unwrap();
    let text = faulty.report(Rule::FreedInFlight);
    assert!(text.contains("was not waited for"), "{text}");
    let memory = faulty.device.device_memory_allocate(ID, 8).unwrap();
    faulty.device.async_memory_copy_h2d(ID, stream, memory, host(&bytes), 8).unwrap();
    faulty.device.synchronize_device(ID).unwrap();
    faulty.device.device_memory_deallocate(ID, memory, 8).unwrap();
    faulty.silent();
}

#[test]
fn fatal_ends_the_process() {
    const CHILD: &str = "TENON_TEST_FATAL";
    if std::env::var_os(CHILD).is_some() {
        let checker = Checker::new(Options::from_env().unwrap());
        let cpu = cpu();
        let layer = checker.layer("cpu", cpu) as Arc<dyn Layer>;
        let device = Layered::new(WithFallbacks(cpu), vec![layer]);
        let _ = device.synchronize_event(ID, Event::from_addr(8));
        std::process::exit(0);
    }
    let run = |fatal| {
        std::process::Command::new(std::env::current_exe().unwrap())
            .args(["fatal_ends_the_process", "--exact", "--nocapture"])
            .env(CHILD, "1")
            .env("TENON_VALIDATE_FATAL", fatal)
            .output()
            .unwrap()
    };
    let (fatal, lenient) = (run("1"), run("0"));
    let text = String::from_utf8_lossy(&fatal.stderr);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&fatal.status), Some(libc::SIGABRT), "{text}");
    assert!(text.contains("tenon: error V010: synchronize_event(event) on cpu:0: "), "{text}");
    assert!(lenient.status.success());
}
