//! Tests of notifies: flags and numbers that one stream sets and another waits for.

use std::ffi::CStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tenon_acl::api::*;

use crate::test_runtime::{
    Hold, TestRuntime, any, host_function, lacking_runtime, ready_runtime, refused, runtime,
};

/// Adds 1 to a counter after all work submitted to a stream so far.
fn count_on(runtime: &TestRuntime, stream: Stream, count: &Arc<AtomicUsize>) {
    let count = count.clone();
    let add = move || {
        count.fetch_add(1, Ordering::SeqCst);
    };
    runtime.rt_launch_host_func(stream, host_function(add)).unwrap();
}

/// Returns true if all work of a stream is done.
fn is_done(runtime: &TestRuntime, stream: Stream) -> bool {
    runtime.rt_stream_query(stream).unwrap() == StreamStatus::COMPLETE
}

#[test]
fn stream_waits_until_another_sets_the_flag() {
    let runtime = ready_runtime();
    let (first, second) = (runtime.rt_create_stream().unwrap(), runtime.rt_create_stream().unwrap());
    let notify = runtime.rt_create_notify(0).unwrap();
    let passed = Arc::new(AtomicUsize::new(0));
    for round in 1..=3 {
        // The wait is queued first: only the flag counts, not the order of the calls.
        runtime.rt_wait_and_reset_notify(notify, second, 0).unwrap();
        count_on(&runtime, second, &passed);
        let hold = Hold::on(&runtime, first);
        runtime.rt_record_notify(notify, first).unwrap();
        assert!(!is_done(&runtime, second));
        assert_eq!(passed.load(Ordering::SeqCst), round - 1, "it went on before the flag was set");
        hold.open();
        runtime.rt_synchronize_stream(second).unwrap();
        assert_eq!(passed.load(Ordering::SeqCst), round);
    }
    runtime.rt_synchronize_stream(first).unwrap();
    runtime.rt_destroy_notify(notify).unwrap();
    refused(AclError::RT_INVALID_HANDLE, runtime.rt_record_notify(notify, first));
    runtime.rt_destroy_stream(first).unwrap();
    runtime.rt_destroy_stream(second).unwrap();
    runtime.reset_and_end();
}

#[test]
fn flag_releases_one_wait() {
    let runtime = ready_runtime();
    let waits = [runtime.rt_create_stream().unwrap(), runtime.rt_create_stream().unwrap()];
    let notify = runtime.rt_create_notify(0).unwrap();
    for _ in 0..2 {
        runtime.rt_record_notify(notify, Stream::NULL).unwrap();
    }
    runtime.rt_synchronize_stream(Stream::NULL).unwrap();
    runtime.rt_wait_and_reset_notify(notify, waits[0], 0).unwrap();
    runtime.rt_synchronize_stream(waits[0]).unwrap();
    runtime.rt_wait_and_reset_notify(notify, waits[1], 0).unwrap();
    refused(AclError::RT_STREAM_SYNC_TIMEOUT, runtime.rt_synchronize_stream_with_timeout(waits[1], 20));
    runtime.rt_record_notify(notify, Stream::NULL).unwrap();
    runtime.rt_synchronize_stream(waits[1]).unwrap();
    runtime.rt_destroy_notify(notify).unwrap();
    runtime.reset_and_end();
}

#[test]
fn notify_wait_past_its_timeout_fails_the_stream() {
    let runtime = ready_runtime();
    let stream = runtime.rt_create_stream().unwrap();
    let notify = runtime.rt_create_notify(0).unwrap();
    let passed = Arc::new(AtomicUsize::new(0));
    runtime.rt_wait_and_reset_notify(notify, stream, 1).unwrap();
    count_on(&runtime, stream, &passed);
    refused(AclError::RT_WAIT_TIMEOUT, runtime.rt_synchronize_stream(stream));
    runtime.rt_synchronize_stream(stream).expect("a failure is reported once");
    assert_eq!(passed.load(Ordering::SeqCst), 1, "what comes after it runs");
    // The flag is set after the timeout, so it is for the next wait.
    runtime.rt_record_notify(notify, Stream::NULL).unwrap();
    runtime.rt_wait_and_reset_notify(notify, stream, 0).unwrap();
    runtime.rt_synchronize_stream(stream).unwrap();
    runtime.rt_destroy_notify(notify).unwrap();
    runtime.rt_destroy_stream(stream).unwrap();
    runtime.reset_and_end();
}

#[test]
fn dropped_wait_consumes_no_flag() {
    let runtime = ready_runtime();
    let (destroyed, other) = (runtime.rt_create_stream().unwrap(), runtime.rt_create_stream().unwrap());
    let notify = runtime.rt_create_notify(0).unwrap();
    runtime.rt_wait_and_reset_notify(notify, destroyed, 0).unwrap();
    refused(AclError::RT_STREAM_SYNC_TIMEOUT, runtime.rt_synchronize_stream_with_timeout(destroyed, 20));
    runtime.rt_destroy_stream_force(destroyed).unwrap();
    runtime.rt_wait_and_reset_notify(notify, other, 0).unwrap();
    runtime.rt_record_notify(notify, Stream::NULL).unwrap();
    runtime.rt_synchronize_stream(other).unwrap();
    runtime.rt_destroy_notify(notify).unwrap();
    runtime.rt_destroy_stream(other).unwrap();
    runtime.reset_and_end();
}

#[test]
fn wait_for_a_destroyed_notify_fails() {
    let runtime = ready_runtime();
    let (waits, held) = (runtime.rt_create_stream().unwrap(), runtime.rt_create_stream().unwrap());
    let passed = Arc::new(AtomicUsize::new(0));
    // The stream has reached the wait, or will reach it after the notify was destroyed.
    for stream in [waits, held] {
        let hold = (stream == held).then(|| Hold::on(&runtime, held));
        let notify = runtime.rt_create_notify(0).unwrap();
        runtime.rt_wait_and_reset_notify(notify, stream, 0).unwrap();
        count_on(&runtime, stream, &passed);
        runtime.rt_destroy_notify(notify).unwrap();
        drop(hold);
        let text = refused(AclError::RT_INVALID_HANDLE, runtime.rt_synchronize_stream(stream));
        assert!(text.contains("notify"), "{text}");
        runtime.rt_synchronize_stream(stream).expect("a failure is reported once");
    }
    assert_eq!(passed.load(Ordering::SeqCst), 2, "what comes after it runs");
    // A queued record keeps its effect after the notify was destroyed.
    let hold = Hold::on(&runtime, held);
    let notify = runtime.rt_create_notify(0).unwrap();
    runtime.rt_record_notify(notify, held).unwrap();
    runtime.rt_wait_and_reset_notify(notify, waits, 0).unwrap();
    runtime.rt_destroy_notify(notify).unwrap();
    assert!(!is_done(&runtime, waits));
    hold.open();
    runtime.rt_synchronize_stream(waits).unwrap();
    runtime.rt_destroy_stream(waits).unwrap();
    runtime.rt_destroy_stream(held).unwrap();
    runtime.reset_and_end();
}

#[test]
fn forced_reset_releases_waiters() {
    let runtime = ready_runtime();
    let stream = runtime.rt_create_stream().unwrap();
    let notify = runtime.rt_create_notify(0).unwrap();
    let context = runtime.rt_get_current_context().unwrap();
    runtime.rt_wait_and_reset_notify(notify, stream, 0).unwrap();
    std::thread::scope(|scope| {
        let (sent, received) = std::sync::mpsc::channel();
        let waiter = scope.spawn({
            let runtime = &runtime;
            move || {
                runtime.rt_set_current_context(context).unwrap();
                sent.send(()).unwrap();
                // It was waiting before that, or finds that the stream was destroyed.
                let _ = runtime.rt_synchronize_stream(stream);
                refused(AclError::RT_CONTEXT_NULL, runtime.rt_create_stream());
            }
        });
        received.recv().unwrap();
        runtime.rt_reset_device_force(0).unwrap();
        waiter.join().unwrap();
    });
    runtime.end();
}

#[test]
fn flags_are_cleared_together_or_not_at_all() {
    let runtime = ready_runtime();
    let [a, b] = [runtime.rt_create_notify(0).unwrap(), runtime.rt_create_notify(1).unwrap()];
    assert_ne!(runtime.rt_get_notify_id(a), runtime.rt_get_notify_id(b));
    runtime.rt_record_notify(a, Stream::NULL).unwrap();
    runtime.rt_synchronize_stream(Stream::NULL).unwrap();
    refused(AclError::RT_INVALID_HANDLE, runtime.rt_notify_batch_reset(&[a, Notify::from_addr(0x70)]));
    runtime.rt_wait_and_reset_notify(a, Stream::NULL, 0).unwrap();
    runtime.rt_synchronize_stream(Stream::NULL).expect("the flag is still set");
    runtime.rt_record_notify(a, Stream::NULL).unwrap();
    runtime.rt_synchronize_stream(Stream::NULL).unwrap();
    runtime.rt_notify_batch_reset(&[a, b]).unwrap();
    let stream = runtime.rt_create_stream().unwrap();
    runtime.rt_wait_and_reset_notify(a, stream, 0).unwrap();
    refused(AclError::RT_STREAM_SYNC_TIMEOUT, runtime.rt_synchronize_stream_with_timeout(stream, 20));
    runtime.rt_destroy_stream_force(stream).unwrap();
    refused(AclError::INVALID_PARAM, runtime.rt_notify_batch_reset(&[]));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_create_notify(2));
    // A forced reset destroys the remaining notifies.
    runtime.rt_reset_device_force(0).unwrap();
    refused(AclError::RT_INVALID_HANDLE, runtime.rt_get_notify_id(a));
    runtime.end();
}

#[test]
fn key_imports_the_same_notify() {
    let runtime = ready_runtime();
    let notify = runtime.rt_create_notify(0).unwrap();
    let mut key = [0xffu8; 65];
    runtime.rt_notify_get_export_key(notify, &mut key, 0).unwrap();
    let key = CStr::from_bytes_until_nul(&key).unwrap();
    runtime.rt_notify_set_import_pid(notify, &[1]).unwrap();
    let imported = runtime.rt_notify_import_by_key(key, 2).unwrap();
    assert_ne!(imported, notify);
    runtime.rt_record_notify(imported, Stream::NULL).unwrap();
    runtime.rt_wait_and_reset_notify(notify, Stream::NULL, 0).unwrap();
    runtime.rt_synchronize_stream(Stream::NULL).unwrap();
    refused(AclError::RT_PARAM_INVALID, runtime.rt_notify_import_by_key(c"unknown", 0));
    refused(AclError::INVALID_PARAM, runtime.rt_notify_get_export_key(notify, &mut [0; 64], 0));
    runtime.rt_destroy_notify(notify).unwrap();
    refused(AclError::RT_PARAM_INVALID, runtime.rt_notify_import_by_key(key, 0));
    runtime.rt_destroy_notify(imported).unwrap();
    runtime.reset_and_end();
}

#[test]
fn counts_are_changed_and_compared() {
    let runtime = ready_runtime();
    let notify = runtime.rt_cnt_notify_create(0).unwrap();
    refused(
        AclError::RT_INVALID_HANDLE,
        runtime.rt_record_notify(Notify::from_addr(notify.addr()), Stream::NULL),
    );
    let stream = runtime.rt_create_stream().unwrap();
    let record = |mode, value| {
        let info = CntNotifyRecordInfo { mode, value };
        runtime.rt_cnt_notify_record(notify, Stream::NULL, &[info]).unwrap();
    };
    let wait = |mode, value, is_clear| {
        let info = CntNotifyWaitInfo { mode, value, timeout: 0, is_clear, rsv: [0; 3] };
        runtime.rt_cnt_notify_wait_with_timeout(notify, stream, &[info]).unwrap();
    };
    wait(CntNotifyWaitMode::BIGGER_OR_EQUAL, 3, 0);
    wait(CntNotifyWaitMode::EQUAL, 3, 1);
    wait(CntNotifyWaitMode::LESS, 1, 0);
    let passed = runtime.rt_create_event().unwrap();
    runtime.rt_record_event(passed, stream).unwrap();
    wait(CntNotifyWaitMode::EQUAL_WITH_BITMASK, 0b101, 0);
    for _ in 0..3 {
        record(CntNotifyRecordMode::ADD, 1);
    }
    // The number must not change before the stream has seen it.
    runtime.rt_synchronize_event(passed).unwrap();
    runtime.rt_destroy_event(passed).unwrap();
    refused(AclError::RT_STREAM_SYNC_TIMEOUT, runtime.rt_synchronize_stream_with_timeout(stream, 20));
    record(CntNotifyRecordMode::BIT_OR, 0b111);
    record(CntNotifyRecordMode::BIT_AND, 0b101);
    runtime.rt_synchronize_stream(stream).unwrap();
    wait(CntNotifyWaitMode::BIGGER, 8, 0);
    record(CntNotifyRecordMode::SET_VALUE, 9);
    runtime.rt_synchronize_stream(stream).unwrap();
    runtime.rt_cnt_notify_reset(notify, Stream::NULL).unwrap();
    wait(CntNotifyWaitMode::EQUAL, 0, 0);
    runtime.rt_synchronize_stream(stream).unwrap();
    let wrong = CntNotifyRecordInfo { mode: CntNotifyRecordMode(3), value: 0 };
    refused(AclError::RT_PARAM_INVALID, runtime.rt_cnt_notify_record(notify, stream, &[wrong]));
    runtime.rt_cnt_notify_destroy(notify).unwrap();
    runtime.rt_destroy_stream(stream).unwrap();
    runtime.reset_and_end();
}

#[test]
fn failure_report_names_device_stream_and_thread() {
    static TOLD: std::sync::Mutex<Vec<ExceptionInfo>> = std::sync::Mutex::new(Vec::new());
    static RUNTIME: std::sync::OnceLock<Arc<tenon_acl::Runtime>> = std::sync::OnceLock::new();
    static FIGURES: std::sync::Mutex<Vec<[u32; 4]>> = std::sync::Mutex::new(Vec::new());

    unsafe extern "C-unwind" fn listen(info: *mut ffi::rtExceptionInfo) {
        let info = ExceptionInfo::from_raw(info);
        let acl = RUNTIME.get().unwrap();
        let figures = [
            acl.rt_get_error_code_from_exception_info(info).unwrap(),
            acl.rt_get_stream_id_from_exception_info(info).unwrap(),
            acl.rt_get_device_id_from_exception_info(info).unwrap(),
            acl.rt_get_task_id_from_exception_info(info).unwrap(),
        ];
        FIGURES.lock().unwrap().push(figures);
        TOLD.lock().unwrap().push(info);
    }

    let runtime = runtime();
    let _ = RUNTIME.set(runtime.shared());
    // SAFETY: the function takes any record.
    let callback = unsafe { ExceptionInfoCallback::from_raw(Some(listen)) };
    refused(AclError::INVALID_PARAM, runtime.rt_exception_info_callback_unregister(callback));
    runtime.rt_set_exception_info_callback(Some(callback)).unwrap();
    runtime.rt_set_device(1).unwrap();
    let stream = runtime.rt_create_stream().unwrap();
    let notify = runtime.rt_create_notify(0).unwrap();
    runtime.rt_wait_and_reset_notify(notify, stream, 1).unwrap();
    let task = runtime.rt_get_thread_last_task_id().unwrap();
    refused(AclError::RT_WAIT_TIMEOUT, runtime.rt_synchronize_stream(stream));
    let id = runtime.rt_stream_get_id(stream).unwrap().cast_unsigned();
    assert_eq!(*FIGURES.lock().unwrap(), [[107_019, id, 1, task]]);
    let info = TOLD.lock().unwrap()[0];
    assert_eq!(runtime.rt_get_error_code_from_exception_info(info), Ok(u32::MAX), "it was reported already");
    runtime.rt_set_exception_info_callback(None).unwrap();
    runtime.rt_destroy_notify(notify).unwrap();
    runtime.rt_destroy_stream(stream).unwrap();
    runtime.rt_reset_device(1).unwrap();
}

#[test]
fn failure_behind_a_blocked_point_is_reported() {
    static HEARD: std::sync::OnceLock<std::sync::Mutex<std::sync::mpsc::Sender<[u32; 3]>>> =
        std::sync::OnceLock::new();
    static RUNTIME: std::sync::OnceLock<Arc<tenon_acl::Runtime>> = std::sync::OnceLock::new();

    unsafe extern "C-unwind" fn listen(info: *mut ffi::rtExceptionInfo) {
        let (info, acl) = (ExceptionInfo::from_raw(info), RUNTIME.get().unwrap());
        let figures = [
            acl.rt_get_error_code_from_exception_info(info).unwrap(),
            acl.rt_get_stream_id_from_exception_info(info).unwrap(),
            acl.rt_get_task_id_from_exception_info(info).unwrap(),
        ];
        HEARD.get().unwrap().lock().unwrap().send(figures).unwrap();
    }

    let runtime = lacking_runtime(&[tenon::device::Function::AsyncMemoryCopyD2d]);
    let (sender, receiver) = std::sync::mpsc::channel();
    let _ = (RUNTIME.set(runtime.shared()), HEARD.set(std::sync::Mutex::new(sender)));
    // SAFETY: the function takes any record.
    let callback = unsafe { ExceptionInfoCallback::from_raw(Some(listen)) };
    runtime.rt_set_exception_info_callback(Some(callback)).unwrap();
    runtime.rt_set_device(0).unwrap();
    let stream = runtime.rt_create_stream().unwrap();
    let memory = runtime.rt_malloc(64, MemMallocPolicy::HUGE_FIRST).unwrap();
    let (dst, src) = (any(memory), any(memory.checked_add(32).unwrap()));
    let hold = Hold::on(&runtime, stream);
    runtime.rt_memcpy_async(dst, 32, src, 32, MemcpyKind::DEVICE_TO_DEVICE, stream).unwrap();
    let task = runtime.rt_get_thread_last_task_id().unwrap();
    runtime.rt_record_event(runtime.rt_create_event().unwrap(), stream).unwrap();
    hold.open();
    let failed = runtime.rt_synchronize_stream(stream).unwrap_err();
    let id = runtime.rt_stream_get_id(stream).unwrap().cast_unsigned();
    let figures = receiver.recv_timeout(std::time::Duration::from_secs(60));
    assert_eq!(figures, Ok([failed.status.0.cast_unsigned(), id, task]));
    runtime.rt_set_exception_info_callback(None).unwrap();
    runtime.rt_reset_device_force(0).unwrap();
    runtime.expect_no_reports();
}
