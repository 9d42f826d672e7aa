//! Tests that memory does not grow when objects are created and destroyed many times, on several threads.

use tenon::AnyPtr;
use tenon_acl::api::*;

use crate::test_runtime::{Thread, callback, host_function, ready_runtime, runtime};

#[test]
fn ten_thousand_rounds_leak_nothing() {
    let runtime = ready_runtime();
    let thread = Thread::start();
    let round = || {
        let stream = runtime.rt_create_stream().unwrap();
        let event = runtime.rt_create_event_with_flag(9).unwrap();
        let memory = runtime.rt_malloc(256, MemMallocPolicy::HUGE_FIRST).unwrap();
        let any = AnyPtr::from_addr(memory.addr());
        runtime.rt_subscribe_report(1, stream).unwrap();
        runtime.rt_memset_async(any, 256, 1, 256, stream).unwrap();
        runtime.rt_record_event(event, stream).unwrap();
        runtime.rt_stream_wait_event(Stream::NULL, event).unwrap();
        runtime.rt_synchronize_event(event).unwrap();
        runtime.rt_destroy_event(event).unwrap();
        runtime.rt_destroy_stream(stream).unwrap();
        runtime.rt_free(memory).unwrap();
    };
    (0..100).for_each(|_| round());
    runtime.rt_synchronize_device().unwrap();
    let before = runtime.alive();
    (0..10_000).for_each(|_| round());
    runtime.rt_synchronize_device().unwrap();
    // Records keep a few events of the device, as many as were in use at the same time.
    assert!(runtime.alive() <= before + 64, "{before} became {}", runtime.alive());
    thread.end();
    runtime.rt_reset_device(0).unwrap();
    assert_eq!(runtime.alive(), 0);
    runtime.end();
}

#[test]
fn devices_and_contexts_leak_nothing() {
    let runtime = runtime();
    for round in 0..1000 {
        runtime.rt_set_device(round % 2).unwrap();
        let context = runtime.rt_create_context(round % 2).unwrap();
        runtime.rt_create_stream().unwrap();
        runtime.rt_destroy_context(context).unwrap();
        runtime.rt_reset_device(round % 2).unwrap();
        assert_eq!(runtime.alive(), 0);
    }
    runtime.end();
}

#[test]
fn racing_threads_leak_nothing() {
    let runtime = runtime();
    let threads: Vec<Thread> = (0..4).map(|_| Thread::start()).collect();
    let results: Vec<_> = threads
        .iter()
        .enumerate()
        .map(|(index, thread)| {
            let (acl, number) = (runtime.shared(), thread.number);
            thread.begin(move || {
                for round in 0..200 {
                    let device = (index + round) as i32 % 2;
                    acl.rt_set_device(device).unwrap();
                    let stream = acl.rt_create_stream().unwrap();
                    let event = acl.rt_create_event_ex_with_flag(1).unwrap();
                    acl.rt_subscribe_report(number, stream).unwrap();
                    acl.rt_launch_callback(callback(|| {}), CallbackBlockType::BLOCK, stream).unwrap();
                    acl.rt_record_event(event, stream).unwrap();
                    acl.rt_stream_wait_event(Stream::NULL, event).unwrap();
                    acl.rt_process_report(-1).unwrap();
                    acl.rt_synchronize_stream(Stream::NULL).unwrap();
                    acl.rt_un_subscribe_report(number, stream).unwrap();
                    acl.rt_destroy_event(event).unwrap();
                    acl.rt_destroy_stream(stream).unwrap();
                    acl.rt_reset_device(device).unwrap();
                }
            })
        })
        .collect();
    results.into_iter().for_each(|result| result.recv().unwrap());
    threads.into_iter().for_each(Thread::end);
    runtime.end();
}

/// Returns the result of a call, and checks that a failure has a code and a message.
#[track_caller]
fn tried<T>(result: Result<T>) -> Option<T> {
    result
        .inspect_err(|error| {
            assert_ne!(error.status, AclError::SUCCESS);
            assert!(error.message.len() >= 8, "{error}");
        })
        .ok()
}

/// Uses device 0, which another thread may reset at any time. No copy uses the memory: a program must not
/// free memory during a copy.
fn use_the_device(acl: &tenon_acl::Runtime) {
    tried(acl.rt_set_device(0));
    let stream = tried(acl.rt_create_stream());
    let event = tried(acl.rt_create_event());
    let memory = tried(acl.rt_malloc(64, MemMallocPolicy::HUGE_FIRST));
    if let (Some(stream), Some(event), Some(memory)) = (stream, event, memory) {
        tried(acl.rt_launch_host_func(stream, host_function(|| {})));
        tried(acl.rt_record_event(event, stream));
        tried(acl.rt_synchronize_event(event));
        tried(acl.rt_synchronize_stream(stream));
        tried(acl.rt_free(memory));
        tried(acl.rt_destroy_event(event));
        tried(acl.rt_destroy_stream(stream));
    }
}

#[test]
fn forced_reset_races_with_users_of_the_device() {
    let runtime = runtime();
    let threads: Vec<Thread> = (0..3).map(|_| Thread::start()).collect();
    let results: Vec<_> = threads
        .iter()
        .map(|thread| {
            let acl = runtime.shared();
            thread.begin(move || (0..200).for_each(|_| use_the_device(&acl)))
        })
        .collect();
    for _ in 0..100 {
        tried(runtime.rt_reset_device_force(0));
        std::thread::yield_now();
    }
    results.into_iter().for_each(|result| result.recv().unwrap());
    threads.into_iter().for_each(Thread::end);
    // No thread keeps the device: it can be set and used as before.
    runtime.rt_set_device(0).unwrap();
    runtime.rt_synchronize_device().unwrap();
    runtime.end();
}
