//! Tests of observers of the initialization, the finalization, devices and streams.

use std::ffi::{CStr, c_char, c_void};
use std::io::Write as _;
use std::sync::Mutex;

use tenon::{AnyPtr, DevicePtr};
use tenon_acl::api::*;

use crate::test_runtime::{TestRuntime, refused, runtime};

/// The calls of observers, in order. It is their context, and lives as long as the test.
#[derive(Default)]
struct CallLog {
    notes: Mutex<Vec<String>>,
    /// The return value of observers that return one.
    answer: Mutex<i32>,
}

impl CallLog {
    /// Leaks the value, because an observer may be called at any time.
    fn new() -> &'static Self {
        Box::leak(Box::default())
    }

    fn context(&'static self) -> AnyPtr {
        AnyPtr::from_ptr(self)
    }

    fn note(&self, note: String) -> i32 {
        self.notes.lock().unwrap().push(note);
        *self.answer.lock().unwrap()
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.notes.lock().unwrap())
    }
}

/// Returns the value that an observer's context points to.
fn log_of<'a>(context: *mut c_void) -> &'a CallLog {
    // SAFETY: every observer here is registered with such a value, which is never freed.
    unsafe { &*context.cast::<CallLog>() }
}

unsafe extern "C-unwind" fn begun(config: *const c_char, length: usize, context: *mut c_void) -> AclError {
    // SAFETY: the runtime hands text over that ends in a zero.
    let config = unsafe { CStr::from_ptr(config) };
    assert_eq!(config.to_bytes().len(), length);
    AclError(log_of(context).note(format!("begin {config:?}")))
}

unsafe extern "C-unwind" fn ended(context: *mut c_void) -> AclError {
    AclError(log_of(context).note("end".to_owned()))
}

unsafe extern "C-unwind" fn ended_too(context: *mut c_void) -> AclError {
    AclError(log_of(context).note("end too".to_owned()))
}

unsafe extern "C-unwind" fn stream_logged(stream: *mut c_void, state: StreamState, context: *mut c_void) {
    assert!(!stream.is_null());
    log_of(context).note(format!("{state:?}"));
}

unsafe extern "C-unwind" fn device_logged(device: i32, state: DeviceState, context: *mut c_void) {
    log_of(context).note(format!("{device} {state:?}"));
}

unsafe extern "C-unwind" fn abort_logged(
    _: i32,
    _: DeviceTaskAbortStage,
    _: u32,
    context: *mut c_void,
) -> i32 {
    log_of(context).note("abort".to_owned())
}

fn begin_of(log: &'static CallLog) -> InitCallback {
    // SAFETY: the context is what the function takes.
    unsafe { InitCallback::from_raw(Some(begun), log.context()) }
}

fn end_of(log: &'static CallLog) -> FinalizeCallback {
    // SAFETY: as above.
    unsafe { FinalizeCallback::from_raw(Some(ended), log.context()) }
}

fn streams_of(log: &'static CallLog) -> StreamStateCallback {
    // SAFETY: as above.
    unsafe { StreamStateCallback::from_raw(Some(stream_logged), log.context()) }
}

fn devices_of(log: &'static CallLog) -> DeviceStateCallback {
    // SAFETY: as above.
    unsafe { DeviceStateCallback::from_raw(Some(device_logged), log.context()) }
}

const OTHER: RegisterCallbackType = RegisterCallbackType::OTHER;

#[test]
fn init_and_finalize_notify_once() {
    let (runtime, log) = (runtime(), CallLog::new());
    runtime.init_callback_register(OTHER, begin_of(log)).unwrap();
    runtime.finalize_callback_register(OTHER, end_of(log)).unwrap();
    for _ in 0..2 {
        runtime.init(None).unwrap();
        assert_eq!(log.take(), ["begin \"\""]);
        refused(AclError::REPEAT_INITIALIZE, runtime.init(None));
        assert_eq!(runtime.finalize_reference(), Ok(1));
        assert!(log.take().is_empty(), "the first init has notified, and finalize has not");
        runtime.finalize().unwrap();
        assert_eq!(log.take(), ["end"]);
        refused(AclError::REPEAT_FINALIZE, runtime.finalize());
    }
    runtime.init_callback_un_register(OTHER, begin_of(log)).unwrap();
    runtime.finalize_callback_un_register(OTHER, end_of(log)).unwrap();
    runtime.init(None).unwrap();
    runtime.finalize().unwrap();
    assert!(log.take().is_empty());
    runtime.end();
}

#[test]
fn late_observer_is_notified_with_the_configuration() {
    let (runtime, log) = (runtime(), CallLog::new());
    let path = std::env::temp_dir().join(format!("tenon-acl-observers-{}.json", std::process::id()));
    std::fs::File::create(&path).unwrap().write_all(b"{\"dump\": {}}").unwrap();
    let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    runtime.init(Some(&name)).unwrap();
    std::fs::remove_file(&path).unwrap();
    *log.answer.lock().unwrap() = 100_000;
    runtime.init_callback_register(OTHER, begin_of(log)).unwrap();
    assert_eq!(log.take(), [r#"begin "{\"dump\": {}}""#]);
    runtime.finalize().unwrap();
    runtime.end();
}

#[test]
fn init_refused_by_an_observer_is_undone() {
    let (runtime, log, behind) = (runtime(), CallLog::new(), CallLog::new());
    *log.answer.lock().unwrap() = AclError::FAILURE.0;
    runtime.init_callback_register(OTHER, begin_of(log)).unwrap();
    runtime.init_callback_register(OTHER, begin_of(behind)).unwrap();
    refused(AclError::FAILURE, runtime.init(None));
    assert_eq!((log.take().len(), behind.take().len()), (1, 0), "the next observer is not called");
    refused(AclError::REPEAT_FINALIZE, runtime.finalize());
    *log.answer.lock().unwrap() = 0;
    runtime.init(None).unwrap();
    assert_eq!((log.take().len(), behind.take().len()), (1, 1));
    runtime.finalize().unwrap();
    runtime.end();
}

#[test]
fn finalize_ignores_failures_of_observers() {
    let (runtime, log) = (runtime(), CallLog::new());
    *log.answer.lock().unwrap() = AclError::FAILURE.0;
    // SAFETY: the context is what the function takes.
    let too = unsafe { FinalizeCallback::from_raw(Some(ended_too), log.context()) };
    runtime.finalize_callback_register(RegisterCallbackType::ACL_MODEL, end_of(log)).unwrap();
    runtime.finalize_callback_register(RegisterCallbackType::ACL_DVPP, too).unwrap();
    runtime.init(None).unwrap();
    runtime.rt_set_device(0).unwrap();
    refused(AclError::FAILURE, runtime.finalize());
    assert_eq!(log.take(), ["end", "end too"]);
    refused(AclError::RT_CONTEXT_NULL, runtime.rt_get_device());
    refused(AclError::REPEAT_FINALIZE, runtime.finalize());
    runtime.end();
}

#[test]
fn each_part_except_other_has_one_observer() {
    let (runtime, log) = (runtime(), CallLog::new());
    for part in [RegisterCallbackType::ACL_MODEL, RegisterCallbackType::ACL_RETR] {
        runtime.init_callback_register(part, begin_of(log)).unwrap();
        refused(AclError::INTERNAL_ERROR, runtime.init_callback_register(part, begin_of(log)));
        runtime.init_callback_un_register(part, begin_of(log)).unwrap();
        refused(AclError::INTERNAL_ERROR, runtime.init_callback_un_register(part, begin_of(log)));
    }
    runtime.finalize_callback_register(OTHER, end_of(log)).unwrap();
    runtime.finalize_callback_register(OTHER, end_of(log)).unwrap();
    runtime.finalize_callback_un_register(OTHER, end_of(log)).unwrap();
    refused(AclError::INTERNAL_ERROR, runtime.finalize_callback_un_register(OTHER, end_of(log)));
    let unknown = RegisterCallbackType(8);
    refused(AclError::INVALID_PARAM, runtime.init_callback_register(unknown, begin_of(log)));
    refused(AclError::INVALID_PARAM, runtime.finalize_callback_un_register(unknown, end_of(log)));
    runtime.end();
}

#[test]
fn observers_see_all_creations_and_destructions_of_streams() {
    let (runtime, log) = (runtime(), CallLog::new());
    let (created, destroyed) =
        (format!("{:?}", StreamState::CREATE_POST), format!("{:?}", StreamState::DESTROY_PRE));
    runtime.rt_reg_stream_state_callback(c"test", Some(streams_of(log))).unwrap();
    runtime.rt_set_device(0).unwrap();
    assert_eq!(log.take(), [created.as_str()], "the default stream");
    let streams = [(); 3].map(|()| runtime.rt_create_stream().unwrap());
    assert_eq!(log.take(), [created.as_str(); 3]);
    runtime.rt_destroy_stream(streams[0]).unwrap();
    runtime.rt_destroy_stream_force(streams[1]).unwrap();
    assert_eq!(log.take(), [destroyed.as_str(); 2]);
    runtime.rt_reset_device(0).unwrap();
    assert_eq!(log.take(), [destroyed.as_str(); 2], "the default stream, and the one that is left");
    runtime.rt_reg_stream_state_callback(c"test", None).unwrap();
    runtime.rt_set_device(0).unwrap();
    runtime.rt_reset_device(0).unwrap();
    assert!(log.take().is_empty());
    runtime.end();
}

/// Uses the new stream; the context is a runtime.
unsafe extern "C-unwind" fn stream_used(stream: *mut c_void, state: StreamState, context: *mut c_void) {
    // SAFETY: it is registered with a runtime that lives longer.
    let acl = unsafe { &*context.cast::<tenon_acl::Runtime>() };
    acl.rt_stream_get_id(Stream::from_addr(stream.expose_provenance())).unwrap();
    if state == StreamState::DESTROY_PRE {
        acl.rt_reg_stream_state_callback(c"used", None).unwrap();
    }
}

#[test]
fn observer_may_use_the_stream_and_unregister() {
    let runtime = runtime();
    let acl = runtime.shared();
    // SAFETY: the runtime lives until the end of the test.
    let used = unsafe {
        StreamStateCallback::from_raw(Some(stream_used), AnyPtr::from_ptr(std::sync::Arc::as_ptr(&acl)))
    };
    runtime.rt_set_device(0).unwrap();
    runtime.rt_reg_stream_state_callback(c"used", Some(used)).unwrap();
    let stream = runtime.rt_create_stream().unwrap();
    runtime.rt_destroy_stream(stream).unwrap();
    refused(AclError::RT_PARAM_INVALID, runtime.rt_reg_stream_state_callback(c"used", None));
    runtime.rt_reset_device(0).unwrap();
    drop(acl);
    runtime.end();
}

#[test]
fn observers_see_devices_before_and_after() {
    let (runtime, log) = (runtime(), CallLog::new());
    let note = |device: i32, state: DeviceState| format!("{device} {state:?}");
    runtime.rt_reg_device_state_callback(c"test", Some(devices_of(log))).unwrap();
    runtime.rt_set_device(1).unwrap();
    assert_eq!(log.take(), [note(1, DeviceState::SET_PRE), note(1, DeviceState::SET_POST)]);
    runtime.rt_reset_device(1).unwrap();
    assert_eq!(log.take(), [note(1, DeviceState::RESET_PRE), note(1, DeviceState::RESET_POST)]);
    refused(AclError::RT_CONTEXT_RELEASE_ERROR, runtime.rt_reset_device(1));
    assert_eq!(log.take(), [note(1, DeviceState::RESET_PRE)], "it was not reset");
    refused(AclError::RT_INVALID_DEVICEID, runtime.rt_set_device(2));
    assert!(log.take().is_empty(), "there is no such device");
    runtime.rt_set_device(0).unwrap();
    runtime.rt_reset_device_force(0).unwrap();
    assert_eq!(log.take().len(), 4);
    runtime.end();
}

#[test]
fn each_name_has_one_observer() {
    fn check<F: Copy>(
        runtime: &TestRuntime,
        set: impl Fn(&TestRuntime, &CStr, Option<F>) -> Result<()>,
        function: F,
    ) {
        refused(AclError::INVALID_PARAM, set(runtime, c"", Some(function)));
        refused(AclError::RT_PARAM_INVALID, set(runtime, c"one", None));
        set(runtime, c"one", Some(function)).unwrap();
        set(runtime, c"two", Some(function)).unwrap();
        refused(AclError::RT_PARAM_INVALID, set(runtime, c"one", Some(function)));
        set(runtime, c"one", None).unwrap();
        set(runtime, c"one", Some(function)).unwrap();
        set(runtime, c"one", None).unwrap();
        set(runtime, c"two", None).unwrap();
    }
    let (runtime, log) = (runtime(), CallLog::new());
    // SAFETY: the context is what the function takes.
    let aborts = unsafe { DeviceTaskAbortCallback::from_raw(Some(abort_logged), log.context()) };
    check(
        &runtime,
        |runtime, name, function| runtime.rt_reg_stream_state_callback(name, function),
        streams_of(log),
    );
    check(
        &runtime,
        |runtime, name, function| runtime.rt_reg_device_state_callback(name, function),
        devices_of(log),
    );
    check(
        &runtime,
        |runtime, name, function| runtime.rt_set_device_task_abort_callback(name, function),
        aborts,
    );
    runtime.end();
}

#[test]
fn observer_of_aborts_is_never_called() {
    let (runtime, log) = (runtime(), CallLog::new());
    // SAFETY: the context is what the function takes.
    let aborts = unsafe { DeviceTaskAbortCallback::from_raw(Some(abort_logged), log.context()) };
    runtime.rt_set_device_task_abort_callback(c"test", Some(aborts)).unwrap();
    runtime.rt_set_device(0).unwrap();
    runtime.reset_and_end();
    assert!(log.take().is_empty(), "nothing aborts tasks");
}

/// Sets the device when a stream is created, and allocates memory.
struct Setter<'a> {
    acl: &'a tenon_acl::Runtime,
    at: StreamState,
    /// The last allocation.
    memory: Mutex<Option<DevicePtr>>,
}

unsafe extern "C-unwind" fn device_set(_: *mut c_void, state: StreamState, context: *mut c_void) {
    // SAFETY: it is registered with a value that lives longer.
    let setter = unsafe { &*context.cast::<Setter<'_>>() };
    if state == setter.at {
        setter.acl.rt_set_device(0).unwrap();
        let memory = setter.acl.rt_malloc(64, MemMallocPolicy::HUGE_FIRST).unwrap();
        *setter.memory.lock().unwrap() = Some(memory);
    }
}

impl Setter<'_> {
    fn observe(&self) {
        // SAFETY: it is unregistered before this function returns.
        let function = unsafe { StreamStateCallback::from_raw(Some(device_set), AnyPtr::from_ptr(self)) };
        self.acl.rt_reg_stream_state_callback(c"setter", Some(function)).unwrap();
    }

    /// Finalizes the runtime; the allocated memory must still exist.
    fn end(self) {
        self.acl.rt_reg_stream_state_callback(c"setter", None).unwrap();
        self.acl.rt_free(self.memory.lock().unwrap().unwrap()).unwrap();
    }
}

#[test]
fn observer_may_set_the_device() {
    let runtime = runtime();
    let setter = Setter { acl: &runtime, at: StreamState::CREATE_POST, memory: Mutex::default() };
    setter.observe();
    runtime.rt_set_device(0).unwrap();
    setter.end();
    runtime.rt_reset_device(0).unwrap();
    assert_eq!(runtime.rt_get_device(), Ok(0), "the observer has set it once more");
    runtime.rt_reset_device(0).unwrap();
    refused(AclError::RT_CONTEXT_NULL, runtime.rt_get_device());
    runtime.end();
}

#[test]
fn device_set_during_its_reset_keeps_its_new_state() {
    for reset in [tenon_acl::Runtime::rt_reset_device, tenon_acl::Runtime::rt_reset_device_force] {
        let runtime = runtime();
        runtime.rt_set_device(0).unwrap();
        let old = runtime.rt_malloc(64, MemMallocPolicy::HUGE_FIRST).unwrap();
        let setter = Setter { acl: &runtime, at: StreamState::DESTROY_PRE, memory: Mutex::default() };
        setter.observe();
        reset(&runtime, 0).unwrap();
        assert_eq!(runtime.rt_get_device(), Ok(0));
        runtime.rt_create_stream().unwrap();
        setter.end();
        runtime.rt_set_device(0).unwrap();
        runtime.rt_reset_device(0).unwrap();
        runtime.rt_reset_device(0).unwrap();
        refused(AclError::RT_PARAM_INVALID, runtime.rt_free(old));
        runtime.end();
    }
}
