//! Tests of events: creation, queries and elapsed time.

use std::sync::atomic::Ordering;

use tenon::AnyPtr;
use tenon::device::Function;
use tenon_acl::api::*;

use crate::test_runtime::{Hold, Thread, counting_runtime, host_function, ready_runtime, refused, runtime};

const SYNC: u32 = 1;
const TIME_LINE: u32 = 8;

#[test]
fn query_functions_have_opposite_values() {
    let runtime = ready_runtime();
    let stream = runtime.rt_create_stream().unwrap();
    let event = runtime.rt_create_event().unwrap();
    assert_eq!(runtime.rt_query_event(event).unwrap(), EventStatus(0), "never recorded");
    assert_eq!(runtime.rt_query_event_status(event).unwrap(), EventRecordedStatus(1));
    let hold = Hold::on(&runtime, stream);
    runtime.rt_record_event(event, stream).unwrap();
    assert_eq!(runtime.rt_query_event(event).unwrap(), EventStatus(1));
    assert_eq!(runtime.rt_query_event_status(event).unwrap(), EventRecordedStatus(0));
    hold.open();
    runtime.rt_synchronize_event(event).unwrap();
    assert_eq!(runtime.rt_query_event(event).unwrap(), EventStatus(0));
    assert_eq!(runtime.rt_query_event_status(event).unwrap(), EventRecordedStatus(1));
    runtime.rt_destroy_event(event).unwrap();
    refused(AclError::RT_INVALID_HANDLE, runtime.rt_query_event(event));
    refused(AclError::INVALID_PARAM, runtime.rt_destroy_event(Event::NULL));
    runtime.reset_and_end();
}

#[test]
fn repeatable_event_refuses_the_older_queries() {
    let runtime = ready_runtime();
    let event = runtime.rt_create_event_ex_with_flag(SYNC | TIME_LINE).unwrap();
    assert_eq!(runtime.rt_query_event_status(event).unwrap(), EventRecordedStatus::COMPLETE);
    refused(AclError::RT_FEATURE_NOT_SUPPORT, runtime.rt_query_event(event));
    refused(AclError::RT_FEATURE_NOT_SUPPORT, runtime.rt_query_event_wait_status(event));
    runtime.rt_synchronize_event(event).unwrap();
    runtime.rt_destroy_event(event).unwrap();
    runtime.reset_and_end();
}

#[test]
fn flags_are_checked() {
    let runtime = ready_runtime();
    for wrong in [0, 4, 0x80, 0x21] {
        refused(AclError::INVALID_PARAM, runtime.rt_create_event_with_flag(wrong));
        refused(AclError::INVALID_PARAM, runtime.rt_create_event_ex_with_flag(wrong));
    }
    refused(AclError::RT_FEATURE_NOT_SUPPORT, runtime.rt_create_event_with_flag(0x10));
    runtime.reset_and_end();
}

#[test]
fn wait_keeps_its_record() {
    let runtime = ready_runtime();
    let [first, second, waiting] = [(); 3].map(|()| runtime.rt_create_stream().unwrap());
    let event = runtime.rt_create_event_ex_with_flag(SYNC).unwrap();
    let early = Hold::on(&runtime, first);
    let late = Hold::on(&runtime, second);
    runtime.rt_record_event(event, first).unwrap();
    runtime.rt_stream_wait_event(waiting, event).unwrap();
    // Recorded again, on a stream that is blocked longer: the wait must not move there.
    runtime.rt_record_event(event, second).unwrap();
    assert_eq!(runtime.rt_stream_query(waiting).unwrap(), StreamStatus::NOT_READY);
    early.open();
    runtime.rt_synchronize_stream(waiting).unwrap();
    assert_eq!(runtime.rt_query_event_status(event).unwrap(), EventRecordedStatus::NOT_READY);
    // A destroyed event still blocks the streams that wait for it.
    runtime.rt_stream_wait_event(waiting, event).unwrap();
    runtime.rt_destroy_event(event).unwrap();
    assert_eq!(runtime.rt_stream_query(waiting).unwrap(), StreamStatus::NOT_READY);
    late.open();
    runtime.rt_synchronize_stream(waiting).unwrap();
    runtime.reset_and_end();
}

#[test]
fn a_stream_waits_for_an_event_of_another_device() {
    let runtime = runtime();
    runtime.rt_set_device(1).unwrap();
    let far = runtime.rt_create_stream().unwrap();
    let event = runtime.rt_create_event().unwrap();
    let hold = Hold::on(&runtime, far);
    runtime.rt_record_event(event, far).unwrap();
    runtime.rt_set_device(0).unwrap();
    let near = runtime.rt_create_stream().unwrap();
    refused(AclError::RT_PARAM_INVALID, runtime.rt_record_event(event, near));
    runtime.rt_stream_wait_event(near, event).unwrap();
    assert_eq!(runtime.rt_stream_query(near).unwrap(), StreamStatus::NOT_READY);
    hold.open();
    runtime.rt_synchronize_stream(near).unwrap();
    assert_eq!(runtime.rt_query_event_status(event).unwrap(), EventRecordedStatus::COMPLETE);
    runtime.rt_reset_device(0).unwrap();
    runtime.rt_reset_device(1).unwrap();
    runtime.end();
}

#[test]
fn event_wait_past_its_timeout_fails_the_stream() {
    let runtime = ready_runtime();
    let [held, waiting] = [(); 2].map(|()| runtime.rt_create_stream().unwrap());
    let event = runtime.rt_create_event().unwrap();
    refused(AclError::INVALID_PARAM, runtime.rt_stream_wait_event_with_timeout(waiting, event, 0));
    let hold = Hold::on(&runtime, held);
    runtime.rt_record_event(event, held).unwrap();
    runtime.rt_stream_wait_event_with_timeout(waiting, event, 5).unwrap();
    refused(AclError::RT_WAIT_TIMEOUT, runtime.rt_synchronize_stream(waiting));
    runtime.rt_synchronize_stream(waiting).unwrap();
    hold.open();
    runtime.rt_stream_wait_event_with_timeout(waiting, event, 60_000).unwrap();
    runtime.rt_synchronize_stream(waiting).unwrap();
    runtime.reset_and_end();
}

#[test]
fn wait_status_follows_the_waits() {
    let runtime = ready_runtime();
    let [held, waiting] = [(); 2].map(|()| runtime.rt_create_stream().unwrap());
    let event = runtime.rt_create_event_with_flag(SYNC).unwrap();
    assert_eq!(runtime.rt_query_event_wait_status(event).unwrap(), EventWaitStatus::COMPLETE);
    let hold = Hold::on(&runtime, held);
    runtime.rt_record_event(event, held).unwrap();
    assert_eq!(runtime.rt_query_event_wait_status(event).unwrap(), EventWaitStatus::COMPLETE);
    runtime.rt_stream_wait_event(waiting, event).unwrap();
    assert_eq!(runtime.rt_query_event_wait_status(event).unwrap(), EventWaitStatus::NOT_READY);
    hold.open();
    runtime.rt_synchronize_stream(waiting).unwrap();
    assert_eq!(runtime.rt_query_event_wait_status(event).unwrap(), EventWaitStatus::COMPLETE);
    runtime.reset_and_end();
}

#[test]
fn reset_event_is_unrecorded_in_stream_order() {
    let runtime = ready_runtime();
    let stream = runtime.rt_create_stream().unwrap();
    let plain = runtime.rt_create_event().unwrap();
    let timed = runtime.rt_create_event_with_flag(TIME_LINE).unwrap();
    let repeated = runtime.rt_create_event_ex_with_flag(SYNC | TIME_LINE).unwrap();
    for event in [plain, timed, repeated] {
        runtime.rt_reset_event(event, stream).unwrap();
        runtime.rt_record_event(event, stream).unwrap();
        runtime.rt_synchronize_stream(stream).unwrap();
        runtime.rt_event_get_timestamp(event).unwrap();
        let hold = Hold::on(&runtime, stream);
        runtime.rt_reset_event(event, stream).unwrap();
        runtime.rt_event_get_timestamp(event).unwrap();
        hold.open();
        runtime.rt_synchronize_stream(stream).unwrap();
        refused(AclError::RT_INTERNAL_ERROR, runtime.rt_event_get_timestamp(event));
        runtime.rt_record_event(event, stream).unwrap();
        runtime.rt_synchronize_event(event).unwrap();
        runtime.rt_event_get_timestamp(event).unwrap();
    }
    runtime.reset_and_end();
}

#[test]
fn event_waits_have_timeouts() {
    let runtime = ready_runtime();
    let stream = runtime.rt_create_stream().unwrap();
    let event = runtime.rt_create_event().unwrap();
    refused(AclError::INVALID_PARAM, runtime.rt_synchronize_event_with_timeout(event, 0));
    runtime.rt_synchronize_event_with_timeout(event, 1).unwrap();
    let hold = Hold::on(&runtime, stream);
    runtime.rt_record_event(event, stream).unwrap();
    refused(AclError::RT_EVENT_SYNC_TIMEOUT, runtime.rt_synchronize_event_with_timeout(event, 5));
    hold.open();
    runtime.rt_synchronize_event_with_timeout(event, -1).unwrap();
    runtime.reset_and_end();
}

#[test]
fn time_passes_between_two_events() {
    let runtime = ready_runtime();
    let stream = runtime.rt_create_stream().unwrap();
    let [start, end] = [(); 2].map(|()| runtime.rt_create_event().unwrap());
    refused(AclError::RT_INTERNAL_ERROR, runtime.rt_event_elapsed_time(start, end));
    runtime.rt_record_event(start, stream).unwrap();
    let sleep = host_function(|| std::thread::sleep(std::time::Duration::from_millis(20)));
    runtime.rt_launch_host_func(stream, sleep).unwrap();
    let hold = Hold::on(&runtime, stream);
    runtime.rt_record_event(end, stream).unwrap();
    runtime.rt_synchronize_event(start).unwrap();
    let text = refused(AclError::RT_EVENT_TIMESTAMP_INVALID, runtime.rt_event_elapsed_time(start, end));
    assert!(text.contains("end_event"), "{text}");
    hold.open();
    runtime.rt_synchronize_stream(stream).unwrap();
    assert!(runtime.rt_event_elapsed_time(start, end).unwrap() >= 20.0);
    refused(AclError::RT_EVENT_TIMESTAMP_REVERSAL, runtime.rt_event_elapsed_time(end, start));
    assert_eq!(runtime.rt_event_elapsed_time(end, end).unwrap(), 0.0);
    let times = [start, end].map(|event| runtime.rt_event_get_timestamp(event).unwrap());
    assert!(times[1] - times[0] >= 20_000, "{times:?}");
    let untimed = runtime.rt_create_event_with_flag(SYNC).unwrap();
    runtime.rt_record_event(untimed, stream).unwrap();
    runtime.rt_synchronize_event(untimed).unwrap();
    refused(AclError::RT_EVENT_TIMESTAMP_INVALID, runtime.rt_event_elapsed_time(start, untimed));
    runtime.reset_and_end();
}

#[test]
fn elapsed_time_is_measured_by_the_device() {
    let (runtime, calls) = counting_runtime(Function::EventElapsedTime);
    runtime.rt_set_device(0).unwrap();
    let stream = runtime.rt_create_stream().unwrap();
    let [start, end] = [(); 2].map(|()| runtime.rt_create_event().unwrap());
    for event in [start, end] {
        runtime.rt_record_event(event, stream).unwrap();
    }
    runtime.rt_synchronize_stream(stream).unwrap();
    assert!(runtime.rt_event_elapsed_time(start, end).unwrap() >= 0.0);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    // No device compares its clock with that of another, or with its own from before a reset.
    runtime.rt_set_device(1).unwrap();
    let far = runtime.rt_create_event().unwrap();
    runtime.rt_record_event(far, Stream::NULL).unwrap();
    runtime.rt_synchronize_event(far).unwrap();
    assert!(runtime.rt_event_elapsed_time(end, far).unwrap() >= 0.0);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    for device in [0, 1] {
        runtime.rt_reset_device(device).unwrap();
    }
    runtime.end();
}

#[test]
fn events_have_numbers_and_are_counted() {
    let runtime = ready_runtime();
    let most = runtime.rt_get_event_avail_num().unwrap();
    assert_eq!(most, 65536);
    let events = [(); 3].map(|()| runtime.rt_create_event().unwrap());
    assert_eq!(runtime.rt_get_event_avail_num().unwrap(), most - 3);
    let ids = events.map(|event| runtime.rt_get_event_id(event).unwrap());
    assert!(ids[0] != ids[1] && ids[1] != ids[2]);
    runtime.rt_destroy_event(events[0]).unwrap();
    assert_eq!(runtime.rt_get_event_avail_num().unwrap(), most - 2);
    runtime.reset_and_end();
}

#[test]
fn pipeline_of_streams_and_events_is_correct() {
    let runtime = ready_runtime();
    let context = runtime.rt_get_current_context().unwrap();
    let threads: Vec<Thread> = (0..3).map(|_| Thread::start()).collect();
    let results: Vec<_> = threads
        .iter()
        .enumerate()
        .map(|(index, thread)| {
            let acl = runtime.shared();
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
    runtime.reset_and_end();
}

#[test]
fn event_from_before_a_reset_blocks_no_stream() {
    let runtime = ready_runtime();
    let event = runtime.rt_create_event_with_flag(SYNC).unwrap();
    runtime.rt_record_event(event, Stream::NULL).unwrap();
    runtime.rt_stream_wait_event(Stream::NULL, event).unwrap();
    runtime.rt_reset_device(0).unwrap();
    runtime.rt_set_device(0).unwrap();
    assert_eq!(runtime.rt_query_event_status(event), Ok(EventRecordedStatus::COMPLETE));
    assert_eq!(runtime.rt_query_event_wait_status(event), Ok(EventWaitStatus::COMPLETE));
    runtime.rt_synchronize_event(event).unwrap();
    runtime.rt_stream_wait_event(Stream::NULL, event).unwrap();
    runtime.rt_stream_wait_event_with_timeout(Stream::NULL, event, 60_000).unwrap();
    runtime.rt_synchronize_stream(Stream::NULL).unwrap();
    runtime.rt_destroy_event(event).unwrap();
    runtime.reset_and_end();
}
