//! Tests of streams: ownership, waits and timeouts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tenon_acl::api::*;

use crate::test_runtime::{Hold, Thread, callback, host_function, ready_runtime, refused, runtime};

#[test]
fn a_stream_is_used_in_its_context_only() {
    let runtime = runtime();
    let first = runtime.rt_create_context(0).unwrap();
    let stream = runtime.rt_create_stream().unwrap();
    let second = runtime.rt_create_context(0).unwrap();
    refused(AclError::RT_STREAM_CONTEXT, runtime.rt_synchronize_stream(stream));
    refused(AclError::RT_STREAM_CONTEXT, runtime.rt_stream_query(stream));
    refused(AclError::RT_STREAM_CONTEXT, runtime.rt_destroy_stream(stream));
    let event = runtime.rt_create_event().unwrap();
    refused(AclError::RT_STREAM_CONTEXT, runtime.rt_record_event(event, stream));
    refused(AclError::RT_STREAM_CONTEXT, runtime.rt_stream_wait_event(stream, event));
    runtime.rt_destroy_event(event).unwrap();
    runtime.rt_set_current_context(first).unwrap();
    runtime.rt_synchronize_stream(stream).unwrap();
    runtime.rt_destroy_stream(stream).unwrap();
    runtime.rt_destroy_context(first).unwrap();
    runtime.rt_destroy_context(second).unwrap();
    runtime.end();
}

#[test]
fn null_is_the_default_stream_and_has_a_handle_too() {
    let runtime = ready_runtime();
    let default = runtime.rt_ctx_get_current_default_stream().unwrap();
    assert!(!default.is_null());
    assert_eq!(runtime.rt_stream_get_id(default).unwrap(), runtime.rt_stream_get_id(Stream::NULL).unwrap());
    for stream in [Stream::NULL, default] {
        runtime.rt_synchronize_stream(stream).unwrap();
        refused(AclError::INVALID_PARAM, runtime.rt_destroy_stream(stream));
        refused(AclError::INVALID_PARAM, runtime.rt_destroy_stream_force(stream));
    }
    runtime.reset_and_end();
}

#[test]
fn destroyed_stream_is_invalid() {
    let runtime = ready_runtime();
    let stream = runtime.rt_create_stream().unwrap();
    runtime.rt_destroy_stream(stream).unwrap();
    refused(AclError::RT_INVALID_HANDLE, runtime.rt_destroy_stream(stream));
    refused(AclError::RT_INVALID_HANDLE, runtime.rt_synchronize_stream(stream));
    refused(AclError::RT_INVALID_HANDLE, runtime.rt_stream_get_id(stream));
    refused(AclError::RT_INVALID_HANDLE, runtime.rt_synchronize_stream(Stream::from_addr(0x70)));
    runtime.reset_and_end();
}

#[test]
fn destroying_waits_for_the_work() {
    let runtime = ready_runtime();
    let stream = runtime.rt_create_stream().unwrap();
    let hold = Hold::on(&runtime, stream);
    let ran = Arc::new(AtomicUsize::new(0));
    let counted = ran.clone();
    let function = host_function(move || _ = counted.fetch_add(1, Ordering::SeqCst));
    runtime.rt_launch_host_func(stream, function).unwrap();
    let (acl, thread) = (runtime.shared(), Thread::start());
    let context = runtime.rt_get_current_context().unwrap();
    let destroyed = thread.begin(move || {
        acl.rt_set_current_context(context).unwrap();
        acl.rt_destroy_stream(stream)
    });
    assert!(destroyed.try_recv().is_err());
    hold.open();
    destroyed.recv().unwrap().unwrap();
    assert_eq!(ran.load(Ordering::SeqCst), 1);
    thread.end();
    runtime.reset_and_end();
}

#[test]
fn stream_waits_have_timeouts() {
    let runtime = ready_runtime();
    let stream = runtime.rt_create_stream().unwrap();
    for wrong in [0, -2, i32::MIN] {
        refused(AclError::INVALID_PARAM, runtime.rt_synchronize_stream_with_timeout(stream, wrong));
        refused(AclError::INVALID_PARAM, runtime.rt_synchronize_device_with_timeout(wrong));
    }
    let hold = Hold::on(&runtime, stream);
    assert_eq!(runtime.rt_stream_query(stream).unwrap(), StreamStatus::NOT_READY);
    refused(AclError::RT_STREAM_SYNC_TIMEOUT, runtime.rt_synchronize_stream_with_timeout(stream, 5));
    refused(AclError::RT_STREAM_SYNC_TIMEOUT, runtime.rt_synchronize_device_with_timeout(5));
    runtime.rt_synchronize_stream_with_timeout(Stream::NULL, 1000).unwrap();
    hold.open();
    runtime.rt_synchronize_stream_with_timeout(stream, -1).unwrap();
    runtime.rt_synchronize_device_with_timeout(-1).unwrap();
    assert_eq!(runtime.rt_stream_query(stream).unwrap(), StreamStatus::COMPLETE);
    runtime.rt_destroy_stream(stream).unwrap();
    runtime.reset_and_end();
}

#[test]
fn blocked_stream_blocks_no_other() {
    let runtime = ready_runtime();
    let streams: Vec<Stream> = (0..4).map(|_| runtime.rt_create_stream().unwrap()).collect();
    let holds: Vec<Hold> = streams[..3].iter().map(|stream| Hold::on(&runtime, *stream)).collect();
    let ran = Arc::new(AtomicUsize::new(0));
    let counted = ran.clone();
    let function = host_function(move || _ = counted.fetch_add(1, Ordering::SeqCst));
    runtime.rt_launch_host_func(streams[3], function).unwrap();
    runtime.rt_synchronize_stream(streams[3]).unwrap();
    assert_eq!(ran.load(Ordering::SeqCst), 1);
    drop(holds);
    runtime.rt_synchronize_device().unwrap();
    runtime.reset_and_end();
}

#[test]
fn work_behind_a_blocked_point_keeps_its_order() {
    let runtime = ready_runtime();
    let stream = runtime.rt_create_stream().unwrap();
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let hold = Hold::on(&runtime, stream);
    for number in 0..100 {
        let seen = seen.clone();
        let function = host_function(move || seen.lock().unwrap().push(number));
        runtime.rt_launch_host_func(stream, function).unwrap();
    }
    assert!(seen.lock().unwrap().is_empty());
    hold.open();
    runtime.rt_synchronize_stream(stream).unwrap();
    assert_eq!(*seen.lock().unwrap(), (0..100).collect::<Vec<_>>());
    runtime.rt_destroy_stream(stream).unwrap();
    runtime.reset_and_end();
}

#[test]
fn host_function_may_not_wait_for_its_own_stream() {
    let runtime = ready_runtime();
    let context = runtime.rt_get_current_context().unwrap();
    let (stream, other) = (runtime.rt_create_stream().unwrap(), runtime.rt_create_stream().unwrap());
    let (acl, (sender, receiver)) = (runtime.shared(), std::sync::mpsc::channel());
    let function = host_function(move || {
        acl.rt_set_current_context(context).unwrap();
        let memory = acl.rt_malloc(64, MemMallocPolicy::HUGE_FIRST).unwrap();
        let any = tenon::AnyPtr::from_addr(memory.addr());
        acl.rt_memset_async(any, 64, 1, 64, other).unwrap();
        acl.rt_synchronize_stream(other).unwrap();
        acl.rt_free(memory).unwrap();
        sender.send(acl.rt_synchronize_stream(stream).unwrap_err().status).unwrap();
    });
    runtime.rt_launch_host_func(stream, function).unwrap();
    runtime.rt_launch_host_func(stream, host_function(|| {})).unwrap();
    assert_eq!(receiver.recv().unwrap(), AclError::RT_INTERNAL_ERROR);
    runtime.rt_synchronize_stream(stream).unwrap();
    runtime.reset_and_end();
}

#[test]
fn forced_destroy_ignores_unserved_callbacks() {
    let runtime = ready_runtime();
    let stream = runtime.rt_create_stream().unwrap();
    // A thread that never asks for its callbacks.
    runtime.rt_subscribe_report(4711, stream).unwrap();
    let never = callback(|| panic!("no thread processes the report"));
    runtime.rt_launch_callback(never, CallbackBlockType::BLOCK, stream).unwrap();
    let event = runtime.rt_create_event().unwrap();
    runtime.rt_record_event(event, stream).unwrap();
    refused(AclError::RT_STREAM_SYNC_TIMEOUT, runtime.rt_synchronize_stream_with_timeout(stream, 5));
    runtime.rt_destroy_stream_force(stream).unwrap();
    // A wait for an event that was never recorded returns at once.
    runtime.rt_synchronize_event(event).unwrap();
    runtime.rt_destroy_event(event).unwrap();
    runtime.reset_and_end();
}

#[test]
fn pending_work_can_be_aborted() {
    let runtime = ready_runtime();
    let stream = runtime.rt_create_stream().unwrap();
    let memory = runtime.rt_malloc_host(64).unwrap();
    // SAFETY: just allocated.
    unsafe { memory.bytes_mut(64) }.fill(0);
    runtime.rt_subscribe_report(4711, stream).unwrap();
    let never = callback(|| panic!("no thread processes the report"));
    runtime.rt_launch_callback(never, CallbackBlockType::BLOCK, stream).unwrap();
    let any = tenon::AnyPtr::from_addr(memory.addr());
    runtime.rt_memset_async(any, 64, 9, 64, stream).unwrap();
    runtime.rt_stream_abort(stream).unwrap();
    // SAFETY: all writes are done.
    assert_eq!(unsafe { memory.bytes(64) }, [0; 64]);
    runtime.rt_memset_async(any, 64, 8, 64, stream).unwrap();
    runtime.rt_synchronize_stream(stream).unwrap();
    // SAFETY: the stream is done.
    assert_eq!(unsafe { memory.bytes(64) }, [8; 64]);
    runtime.rt_free_host(memory).unwrap();
    runtime.rt_destroy_stream_force(stream).unwrap();
    runtime.reset_and_end();
}

#[test]
fn priorities_and_flags_are_kept_and_checked() {
    let runtime = ready_runtime();
    let stream = runtime.rt_create_stream_with_config(5, 3).unwrap();
    assert_eq!(runtime.rt_stream_get_priority(stream).unwrap(), 5);
    assert_eq!(runtime.rt_stream_get_flags(stream).unwrap(), 3);
    assert_eq!(runtime.rt_stream_get_priority(Stream::NULL).unwrap(), 0);
    refused(AclError::INVALID_PARAM, runtime.rt_create_stream_with_config(8, 0));
    refused(AclError::INVALID_PARAM, runtime.rt_create_stream_with_config(0, 0x40));
    refused(AclError::RT_FEATURE_NOT_SUPPORT, runtime.rt_create_stream_with_config(0, 0x20));
    runtime.rt_set_stream_failure_mode(stream, 1).unwrap();
    refused(AclError::INVALID_PARAM, runtime.rt_set_stream_failure_mode(stream, 2));
    refused(AclError::INVALID_PARAM, runtime.rt_set_stream_failure_mode(Stream::NULL, 1));
    runtime.rt_destroy_stream(stream).unwrap();

    let config = runtime.rt_create_stream_config_handle().unwrap();
    runtime.rt_set_stream_config_opt(config, StreamConfigAttr::PRIORITY, &2u32.to_ne_bytes()).unwrap();
    runtime.rt_set_stream_config_opt(config, StreamConfigAttr::FLAG, &1usize.to_ne_bytes()).unwrap();
    let short = runtime.rt_set_stream_config_opt(config, StreamConfigAttr::FLAG, &[1]);
    refused(AclError::INVALID_PARAM, short);
    refused(AclError::INVALID_PARAM, runtime.rt_set_stream_config_opt(config, StreamConfigAttr(9), &[1]));
    let stream = runtime.rt_create_stream_v2(config).unwrap();
    runtime.rt_destroy_stream_config_handle(config).unwrap();
    refused(AclError::RT_INVALID_HANDLE, runtime.rt_create_stream_v2(config));
    assert_eq!(runtime.rt_stream_get_priority(stream).unwrap(), 2);
    assert_eq!(runtime.rt_stream_get_flags(stream).unwrap(), 1);
    let plain = runtime.rt_create_stream_v2(StreamConfigHandle::NULL).unwrap();
    assert_eq!(runtime.rt_stream_get_flags(plain).unwrap(), 0);
    runtime.reset_and_end();
}

#[test]
fn limit_of_streams() {
    let runtime = ready_runtime();
    let most = runtime.rt_get_stream_available_num().unwrap();
    assert_eq!(most, 2047, "the default stream is one");
    let streams: Vec<Stream> = (0..most).map(|_| runtime.rt_create_stream().unwrap()).collect();
    refused(AclError::RT_NO_STREAM_RESOURCE, runtime.rt_create_stream());
    let mut ids: Vec<i32> = streams.iter().map(|stream| runtime.rt_stream_get_id(*stream).unwrap()).collect();
    ids.dedup();
    assert_eq!(ids.len(), streams.len());
    runtime.rt_destroy_stream(streams[7]).unwrap();
    assert_eq!(runtime.rt_get_stream_available_num().unwrap(), 1);
    runtime.rt_create_stream().unwrap();
    runtime.reset_and_end();
}
