//! Tests of events: creation, queries and elapsed time.

use std::sync::atomic::Ordering;

use tenon::AnyPtr;
use tenon::device::Function;
use tenon_acl::api::*;

use crate::world::{Hold, Thread, counting_world, host_function, ready_world, refused, world};

const SYNC: u32 = 1;
const TIME_LINE: u32 = 8;

#[test]
fn query_functions_have_opposite_values() {
    let world = ready_world();
    let stream = world.rt_create_stream().unwrap();
    let event = world.rt_create_event().unwrap();
    assert_eq!(world.rt_query_event(event).unwrap(), EventStatus(0), "never recorded");
    assert_eq!(world.rt_query_event_status(event).unwrap(), EventRecordedStatus(1));
    let hold = Hold::on(&world, stream);
    world.rt_record_event(event, stream).unwrap();
    assert_eq!(world.rt_query_event(event).unwrap(), EventStatus(1));
    assert_eq!(world.rt_query_event_status(event).unwrap(), EventRecordedStatus(0));
    hold.open();
    world.rt_synchronize_event(event).unwrap();
    assert_eq!(world.rt_query_event(event).unwrap(), EventStatus(0));
    assert_eq!(world.rt_query_event_status(event).unwrap(), EventRecordedStatus(1));
    world.rt_destroy_event(event).unwrap();
    refused(AclError::RT_INVALID_HANDLE, world.rt_query_event(event));
    refused(AclError::INVALID_PARAM, world.rt_destroy_event(Event::NULL));
    world.reset_and_end();
}

#[test]
fn repeatable_event_refuses_the_older_queries() {
    let world = ready_world();
    let event = world.rt_create_event_ex_with_flag(SYNC | TIME_LINE).unwrap();
    assert_eq!(world.rt_query_event_status(event).unwrap(), EventRecordedStatus::COMPLETE);
    refused(AclError::RT_FEATURE_NOT_SUPPORT, world.rt_query_event(event));
    refused(AclError::RT_FEATURE_NOT_SUPPORT, world.rt_query_event_wait_status(event));
    world.rt_synchronize_event(event).unwrap();
    world.rt_destroy_event(event).unwrap();
    world.reset_and_end();
}

#[test]
fn flags_are_checked() {
    let world = ready_world();
    for wrong in [0, 4, 0x80, 0x21] {
        refused(AclError::INVALID_PARAM, world.rt_create_event_with_flag(wrong));
        refused(AclError::INVALID_PARAM, world.rt_create_event_ex_with_flag(wrong));
    }
    refused(AclError::RT_FEATURE_NOT_SUPPORT, world.rt_create_event_with_flag(0x10));
    world.reset_and_end();
}

#[test]
fn wait_keeps_its_record() {
    let world = ready_world();
    let [first, second, waiting] = [(); 3].map(|()| world.rt_create_stream().unwrap());
    let event = world.rt_create_event_ex_with_flag(SYNC).unwrap();
    let early = Hold::on(&world, first);
    let late = Hold::on(&world, second);
    world.rt_record_event(event, first).unwrap();
    world.rt_stream_wait_event(waiting, event).unwrap();
    // Recorded again, on a stream that is blocked longer: the wait must not move there.
    world.rt_record_event(event, second).unwrap();
    assert_eq!(world.rt_stream_query(waiting).unwrap(), StreamStatus::NOT_READY);
    early.open();
    world.rt_synchronize_stream(waiting).unwrap();
    assert_eq!(world.rt_query_event_status(event).unwrap(), EventRecordedStatus::NOT_READY);
    // A destroyed event still blocks the streams that wait for it.
    world.rt_stream_wait_event(waiting, event).unwrap();
    world.rt_destroy_event(event).unwrap();
    assert_eq!(world.rt_stream_query(waiting).unwrap(), StreamStatus::NOT_READY);
    late.open();
    world.rt_synchronize_stream(waiting).unwrap();
    world.reset_and_end();
}

#[test]
fn a_stream_waits_for_an_event_of_another_device() {
    let world = world();
    world.rt_set_device(1).unwrap();
    let far = world.rt_create_stream().unwrap();
    let event = world.rt_create_event().unwrap();
    let hold = Hold::on(&world, far);
    world.rt_record_event(event, far).unwrap();
    world.rt_set_device(0).unwrap();
    let near = world.rt_create_stream().unwrap();
    refused(AclError::RT_PARAM_INVALID, world.rt_record_event(event, near));
    world.rt_stream_wait_event(near, event).unwrap();
    assert_eq!(world.rt_stream_query(near).unwrap(), StreamStatus::NOT_READY);
    hold.open();
    world.rt_synchronize_stream(near).unwrap();
    assert_eq!(world.rt_query_event_status(event).unwrap(), EventRecordedStatus::COMPLETE);
    world.rt_reset_device(0).unwrap();
    world.rt_reset_device(1).unwrap();
    world.end();
}

#[test]
fn event_wait_past_its_timeout_fails_the_stream() {
    let world = ready_world();
    let [held, waiting] = [(); 2].map(|()| world.rt_create_stream().unwrap());
    let event = world.rt_create_event().unwrap();
    refused(AclError::INVALID_PARAM, world.rt_stream_wait_event_with_timeout(waiting, event, 0));
    let hold = Hold::on(&world, held);
    world.rt_record_event(event, held).unwrap();
    world.rt_stream_wait_event_with_timeout(waiting, event, 5).unwrap();
    refused(AclError::RT_WAIT_TIMEOUT, world.rt_synchronize_stream(waiting));
    world.rt_synchronize_stream(waiting).unwrap();
    hold.open();
    world.rt_stream_wait_event_with_timeout(waiting, event, 60_000).unwrap();
    world.rt_synchronize_stream(waiting).unwrap();
    world.reset_and_end();
}

#[test]
fn wait_status_follows_the_waits() {
    let world = ready_world();
    let [held, waiting] = [(); 2].map(|()| world.rt_create_stream().unwrap());
    let event = world.rt_create_event_with_flag(SYNC).unwrap();
    assert_eq!(world.rt_query_event_wait_status(event).unwrap(), EventWaitStatus::COMPLETE);
    let hold = Hold::on(&world, held);
    world.rt_record_event(event, held).unwrap();
    assert_eq!(world.rt_query_event_wait_status(event).unwrap(), EventWaitStatus::COMPLETE);
    world.rt_stream_wait_event(waiting, event).unwrap();
    assert_eq!(world.rt_query_event_wait_status(event).unwrap(), EventWaitStatus::NOT_READY);
    hold.open();
    world.rt_synchronize_stream(waiting).unwrap();
    assert_eq!(world.rt_query_event_wait_status(event).unwrap(), EventWaitStatus::COMPLETE);
    world.reset_and_end();
}

#[test]
fn reset_event_is_unrecorded_in_stream_order() {
    let world = ready_world();
    let stream = world.rt_create_stream().unwrap();
    let plain = world.rt_create_event().unwrap();
    let timed = world.rt_create_event_with_flag(TIME_LINE).unwrap();
    let repeated = world.rt_create_event_ex_with_flag(SYNC | TIME_LINE).unwrap();
    for event in [plain, timed, repeated] {
        world.rt_reset_event(event, stream).unwrap();
        world.rt_record_event(event, stream).unwrap();
        world.rt_synchronize_stream(stream).unwrap();
        world.rt_event_get_timestamp(event).unwrap();
        let hold = Hold::on(&world, stream);
        world.rt_reset_event(event, stream).unwrap();
        world.rt_event_get_timestamp(event).unwrap();
        hold.open();
        world.rt_synchronize_stream(stream).unwrap();
        refused(AclError::RT_INTERNAL_ERROR, world.rt_event_get_timestamp(event));
        world.rt_record_event(event, stream).unwrap();
        world.rt_synchronize_event(event).unwrap();
        world.rt_event_get_timestamp(event).unwrap();
    }
    world.reset_and_end();
}

#[test]
fn event_waits_have_timeouts() {
    let world = ready_world();
    let stream = world.rt_create_stream().unwrap();
    let event = world.rt_create_event().unwrap();
    refused(AclError::INVALID_PARAM, world.rt_synchronize_event_with_timeout(event, 0));
    world.rt_synchronize_event_with_timeout(event, 1).unwrap();
    let hold = Hold::on(&world, stream);
    world.rt_record_event(event, stream).unwrap();
    refused(AclError::RT_EVENT_SYNC_TIMEOUT, world.rt_synchronize_event_with_timeout(event, 5));
    hold.open();
    world.rt_synchronize_event_with_timeout(event, -1).unwrap();
    world.reset_and_end();
}

#[test]
fn time_passes_between_two_events() {
    let world = ready_world();
    let stream = world.rt_create_stream().unwrap();
    let [start, end] = [(); 2].map(|()| world.rt_create_event().unwrap());
    refused(AclError::RT_INTERNAL_ERROR, world.rt_event_elapsed_time(start, end));
    world.rt_record_event(start, stream).unwrap();
    let sleep = host_function(|| std::thread::sleep(std::time::Duration::from_millis(20)));
    world.rt_launch_host_func(stream, sleep).unwrap();
    let hold = Hold::on(&world, stream);
    world.rt_record_event(end, stream).unwrap();
    world.rt_synchronize_event(start).unwrap();
    let text = refused(AclError::RT_EVENT_TIMESTAMP_INVALID, world.rt_event_elapsed_time(start, end));
    assert!(text.contains("end_event"), "{text}");
    hold.open();
    world.rt_synchronize_stream(stream).unwrap();
    assert!(world.rt_event_elapsed_time(start, end).unwrap() >= 20.0);
    refused(AclError::RT_EVENT_TIMESTAMP_REVERSAL, world.rt_event_elapsed_time(end, start));
    assert_eq!(world.rt_event_elapsed_time(end, end).unwrap(), 0.0);
    let times = [start, end].map(|event| world.rt_event_get_timestamp(event).unwrap());
    assert!(times[1] - times[0] >= 20_000, "{times:?}");
    let untimed = world.rt_create_event_with_flag(SYNC).unwrap();
    world.rt_record_event(untimed, stream).unwrap();
    world.rt_synchronize_event(untimed).unwrap();
    refused(AclError::RT_EVENT_TIMESTAMP_INVALID, world.rt_event_elapsed_time(start, untimed));
    world.reset_and_end();
}

#[test]
fn elapsed_time_is_measured_by_the_device() {
    let (world, calls) = counting_world(Function::EventElapsedTime);
    world.rt_set_device(0).unwrap();
    let stream = world.rt_create_stream().unwrap();
    let [start, end] = [(); 2].map(|()| world.rt_create_event().unwrap());
    for event in [start, end] {
        world.rt_record_event(event, stream).unwrap();
    }
    world.rt_synchronize_stream(stream).unwrap();
    assert!(world.rt_event_elapsed_time(start, end).unwrap() >= 0.0);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    // No device compares its clock with that of another, or with its own from before a reset.
    world.rt_set_device(1).unwrap();
    let far = world.rt_create_event().unwrap();
    world.rt_record_event(far, Stream::NULL).unwrap();
    world.rt_synchronize_event(far).unwrap();
    assert!(world.rt_event_elapsed_time(end, far).unwrap() >= 0.0);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    for device in [0, 1] {
        world.rt_reset_device(device).unwrap();
    }
    world.end();
}

#[test]
fn events_have_numbers_and_are_counted() {
    let world = ready_world();
    let most = world.rt_get_event_avail_num().unwrap();
    assert_eq!(most, 65536);
    let events = [(); 3].map(|()| world.rt_create_event().unwrap());
    assert_eq!(world.rt_get_event_avail_num().unwrap(), most - 3);
    let ids = events.map(|event| world.rt_get_event_id(event).unwrap());
    assert!(ids[0] != ids[1] && ids[1] != ids[2]);
    world.rt_destroy_event(events[0]).unwrap();
    assert_eq!(world.rt_get_event_avail_num().unwrap(), most - 2);
    world.reset_and_end();
}

#[test]
fn pipeline_of_streams_and_events_is_correct() {
    let world = ready_world();
    let context = world.rt_get_current_context().unwrap();
    let threads: Vec<Thread> = (0..3).map(|_| Thread::start()).collect();
    let results: Vec<_> = threads
        .iter()
        .enumerate()
        .map(|(index, thread)| {
            let acl = world.shared();
            thread.begin(move || {
                acl.rt_set_current_context(context).unwrap();
                let [up, down] = [(); 2].map(|()| acl.rt_create_stream().unwrap());
                let event = acl.rt_create_event_ex_with_flag(SYNC).unwrap();
                let size = 100_000;
                let memory = acl.rt_malloc(size, MemMallocPolicy::HUGE_FIRST).unwrap();
                let host = acl.rt_malloc_host(size).unwrap();
                let [device, any] = [memory.addr(), host.addr()].map(AnyPtr::from_addr);
                for round in 0..50u8 {
                    let value = i32::from(round) + index as i32;
                    acl.rt_memset_async(device, size, value, size, up).unwrap();
                    acl.rt_record_event(event, up).unwrap();
                    acl.rt_stream_wait_event(down, event).unwrap();
                    acl.rt_memcpy_async(any, size, device, size, MemcpyKind::DEVICE_TO_HOST, down).unwrap();
                    acl.rt_record_event(event, down).unwrap();
                    acl.rt_stream_wait_event(up, event).unwrap();
                    acl.rt_synchronize_stream(down).unwrap();
                    // SAFETY: the stream is done, and only this thread has the memory.
                    assert!(unsafe { host.bytes(size) }.iter().all(|byte| i32::from(*byte) == value));
                }
                acl.rt_synchronize_stream(up).unwrap();
                acl.rt_free(memory).unwrap();
                acl.rt_free_host(host).unwrap();
                acl.rt_destroy_event(event).unwrap();
                acl.rt_destroy_stream(up).unwrap();
                acl.rt_destroy_stream(down).unwrap();
            })
        })
        .collect();
    results.into_iter().for_each(|result| result.recv().unwrap());
    threads.into_iter().for_each(Thread::end);
    world.reset_and_end();
}

#[test]
fn event_from_before_a_reset_blocks_no_stream() {
    let world = ready_world();
    let event = world.rt_create_event_with_flag(SYNC).unwrap();
    world.rt_record_event(event, Stream::NULL).unwrap();
    world.rt_stream_wait_event(Stream::NULL, event).unwrap();
    world.rt_reset_device(0).unwrap();
    world.rt_set_device(0).unwrap();
    assert_eq!(world.rt_query_event_status(event), Ok(EventRecordedStatus::COMPLETE));
    assert_eq!(world.rt_query_event_wait_status(event), Ok(EventWaitStatus::COMPLETE));
    world.rt_synchronize_event(event).unwrap();
    world.rt_stream_wait_event(Stream::NULL, event).unwrap();
    world.rt_stream_wait_event_with_timeout(Stream::NULL, event, 60_000).unwrap();
    world.rt_synchronize_stream(Stream::NULL).unwrap();
    world.rt_destroy_event(event).unwrap();
    world.reset_and_end();
}
