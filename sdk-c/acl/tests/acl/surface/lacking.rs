//! Tests of devices that lack optional functions.

use std::sync::{Arc, Mutex};

use tenon::device::Function;
use tenon_acl::api::*;

use crate::world::{Hold, Thread, any, callback, host_function, lacking_world, refused};

#[test]
fn without_callbacks_host_functions_run_in_stream_order() {
    let world = lacking_world(&[Function::StreamAddCallback]);
    world.rt_set_device(0).unwrap();
    let stream = world.rt_create_stream().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = |number: i32| {
        let seen = seen.clone();
        move || seen.lock().unwrap().push(number)
    };
    let thread = Thread::start();
    world.rt_subscribe_report(thread.number, stream).unwrap();
    let hold = Hold::on(&world, stream);
    for number in 0..20 {
        match number % 3 {
            0 => world.rt_launch_host_func(stream, host_function(note(number))).unwrap(),
            1 => {
                let block = CallbackBlockType::BLOCK;
                world.rt_launch_callback(callback(note(number)), block, stream).unwrap();
            }
            _ => {
                let memory = world.rt_malloc_host(8).unwrap();
                world.rt_memset_async(any(memory), 8, 7, 8, stream).unwrap();
                let check = note(number);
                let function = host_function(move || {
                    // SAFETY: the fill is earlier in the same stream, and the memory is freed later.
                    assert_eq!(unsafe { memory.bytes(8) }, [7; 8]);
                    check();
                });
                world.rt_launch_host_func(stream, function).unwrap();
            }
        }
    }
    let acl = world.shared();
    let serving = thread.begin(move || while acl.rt_process_report(-1).is_ok() {});
    hold.open();
    world.rt_synchronize_stream(stream).unwrap();
    assert_eq!(*seen.lock().unwrap(), (0..20).collect::<Vec<_>>());
    world.rt_un_subscribe_report(thread.number, stream).unwrap();
    serving.recv().unwrap();
    thread.end();
    world.rt_reset_device(0).unwrap();
}

#[test]
fn without_callbacks_events_are_timed_and_reset() {
    let world = lacking_world(&[Function::StreamAddCallback]);
    world.rt_set_device(0).unwrap();
    let stream = world.rt_create_stream().unwrap();
    let [start, end] = [(); 2].map(|()| world.rt_create_event_with_flag(9).unwrap());
    for _ in 0..50 {
        world.rt_record_event(start, stream).unwrap();
        world.rt_record_event(end, stream).unwrap();
        world.rt_synchronize_event(end).unwrap();
        assert!(world.rt_event_elapsed_time(start, end).unwrap() >= 0.0);
        world.rt_reset_event(start, stream).unwrap();
        world.rt_synchronize_stream(stream).unwrap();
        refused(AclError::RT_INTERNAL_ERROR, world.rt_event_get_timestamp(start));
    }
    world.reset_and_end();
}

#[test]
fn without_device_times_elapsed_time_is_that_of_the_host() {
    let world = lacking_world(&[Function::EventElapsedTime]);
    world.rt_set_device(0).unwrap();
    let stream = world.rt_create_stream().unwrap();
    let [start, end] = [(); 2].map(|()| world.rt_create_event().unwrap());
    world.rt_record_event(start, stream).unwrap();
    world.rt_record_event(end, stream).unwrap();
    world.rt_synchronize_stream(stream).unwrap();
    assert!(world.rt_event_elapsed_time(start, end).unwrap() >= 0.0);
    world.reset_and_end();
}

#[test]
fn without_pinned_memory_host_memory_is_pageable() {
    let world = lacking_world(&[Function::HostMemoryAllocate, Function::HostMemoryDeallocate]);
    world.rt_set_device(0).unwrap();
    let host = world.rt_malloc_host(1000).unwrap();
    assert_eq!(host.addr() % 64, 0);
    let memory = world.rt_malloc(1000, MemMallocPolicy::HUGE_FIRST).unwrap();
    world.rt_memset_async(any(memory), 1000, 5, 1000, Stream::NULL).unwrap();
    let kind = MemcpyKind::DEVICE_TO_HOST;
    world.rt_memcpy_async(any(host), 1000, any(memory), 1000, kind, Stream::NULL).unwrap();
    world.rt_synchronize_stream(Stream::NULL).unwrap();
    // SAFETY: the stream is done.
    assert_eq!(unsafe { host.bytes(1000) }, [5; 1000]);
    world.rt_free_host(host).unwrap();
    world.rt_free(memory).unwrap();
    world.reset_and_end();
}

#[test]
fn failed_fill_leaks_nothing() {
    let world = lacking_world(&[Function::AsyncMemoryFill]);
    world.rt_set_device(0).unwrap();
    let memory = world.rt_malloc(64, MemMallocPolicy::HUGE_FIRST).unwrap();
    let before = world.alive();
    assert!(world.rt_memset_async(any(memory), 64, 1, 64, Stream::NULL).is_err());
    assert_eq!(world.alive(), before);
    world.reset_and_end();
}
