//! Tests of devices that lack optional functions.

use std::sync::{Arc, Mutex};

use tenon::device::Function;
use tenon_acl::api::*;

use crate::test_runtime::{Hold, Thread, any, callback, host_function, lacking_runtime, refused};

#[test]
fn without_callbacks_host_functions_run_in_stream_order() {
    let runtime = lacking_runtime(&[Function::StreamAddCallback]);
    runtime.rt_set_device(0).unwrap();
    let stream = runtime.rt_create_stream().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = |number: i32| {
        let seen = seen.clone();
        move || seen.lock().unwrap().push(number)
    };
    let thread = Thread::start();
    runtime.rt_subscribe_report(thread.number, stream).unwrap();
    let hold = Hold::on(&runtime, stream);
    for number in 0..20 {
        match number % 3 {
            0 => runtime.rt_launch_host_func(stream, host_function(note(number))).unwrap(),
            1 => {
                let block = CallbackBlockType::BLOCK;
                runtime.rt_launch_callback(callback(note(number)), block, stream).unwrap();
            }
            _ => {
                let memory = runtime.rt_malloc_host(8).unwrap();
                runtime.rt_memset_async(any(memory), 8, 7, 8, stream).unwrap();
                let check = note(number);
                let function = host_function(move || {
                    // SAFETY: the fill is earlier in the same stream, and the memory is freed later.
                    assert_eq!(unsafe { memory.bytes(8) }, [7; 8]);
                    check();
                });
                runtime.rt_launch_host_func(stream, function).unwrap();
            }
        }
    }
    let acl = runtime.shared();
    let serving = thread.begin(move || while acl.rt_process_report(-1).is_ok() {});
    hold.open();
    runtime.rt_synchronize_stream(stream).unwrap();
    assert_eq!(*seen.lock().unwrap(), (0..20).collect::<Vec<_>>());
    runtime.rt_un_subscribe_report(thread.number, stream).unwrap();
    serving.recv().unwrap();
    thread.end();
    runtime.rt_reset_device(0).unwrap();
}

#[test]
fn without_callbacks_events_are_timed_and_reset() {
    let runtime = lacking_runtime(&[Function::StreamAddCallback]);
    runtime.rt_set_device(0).unwrap();
    let stream = runtime.rt_create_stream().unwrap();
    let [start, end] = [(); 2].map(|()| runtime.rt_create_event_with_flag(9).unwrap());
    for _ in 0..50 {
        runtime.rt_record_event(start, stream).unwrap();
        runtime.rt_record_event(end, stream).unwrap();
        runtime.rt_synchronize_event(end).unwrap();
        assert!(runtime.rt_event_elapsed_time(start, end).unwrap() >= 0.0);
        runtime.rt_reset_event(start, stream).unwrap();
        runtime.rt_synchronize_stream(stream).unwrap();
        refused(AclError::RT_INTERNAL_ERROR, runtime.rt_event_get_timestamp(start));
    }
    runtime.reset_and_end();
}

#[test]
fn without_device_times_elapsed_time_is_that_of_the_host() {
    let runtime = lacking_runtime(&[Function::EventElapsedTime]);
    runtime.rt_set_device(0).unwrap();
    let stream = runtime.rt_create_stream().unwrap();
    let [start, end] = [(); 2].map(|()| runtime.rt_create_event().unwrap());
    runtime.rt_record_event(start, stream).unwrap();
    runtime.rt_record_event(end, stream).unwrap();
    runtime.rt_synchronize_stream(stream).unwrap();
    assert!(runtime.rt_event_elapsed_time(start, end).unwrap() >= 0.0);
    runtime.reset_and_end();
}

#[test]
fn without_pinned_memory_host_memory_is_pageable() {
    let runtime = lacking_runtime(&[Function::HostMemoryAllocate, Function::HostMemoryDeallocate]);
    runtime.rt_set_device(0).unwrap();
    let host = runtime.rt_malloc_host(1000).unwrap();
    assert_eq!(host.addr() % 64, 0);
    let memory = runtime.rt_malloc(1000, MemMallocPolicy::HUGE_FIRST).unwrap();
    runtime.rt_memset_async(any(memory), 1000, 5, 1000, Stream::NULL).unwrap();
    let kind = MemcpyKind::DEVICE_TO_HOST;
    runtime.rt_memcpy_async(any(host), 1000, any(memory), 1000, kind, Stream::NULL).unwrap();
    runtime.rt_synchronize_stream(Stream::NULL).unwrap();
    // SAFETY: the stream is done.
    assert_eq!(unsafe { host.bytes(1000) }, [5; 1000]);
    runtime.rt_free_host(host).unwrap();
    runtime.rt_free(memory).unwrap();
    runtime.reset_and_end();
}

#[test]
fn failed_fill_leaks_nothing() {
    let runtime = lacking_runtime(&[Function::AsyncMemoryFill]);
    runtime.rt_set_device(0).unwrap();
    let memory = runtime.rt_malloc(64, MemMallocPolicy::HUGE_FIRST).unwrap();
    let before = runtime.alive();
    assert!(runtime.rt_memset_async(any(memory), 64, 1, 64, Stream::NULL).is_err());
    assert_eq!(runtime.alive(), before);
    runtime.reset_and_end();
}
