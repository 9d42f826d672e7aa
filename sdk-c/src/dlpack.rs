//! The function table of DLPack's C exchange API, for the Python SDK.
//!
//! A consumer in C calls these functions and expects -1 and a Python exception if they fail. The SDK is written with
//! ctypes, whose callbacks cannot return with an exception set. So they report it, and the functions here set it.
//! libtenon does not link Python: the SDK passes the functions of the interpreter.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The result of a function of the SDK. It is not 0, which ctypes returns for a function that was interrupted.
const DONE: c_int = 1;

/// An exception that a function of the SDK reports: its class and itself, both as new references.
#[repr(C)]
struct Raised {
    class: *mut c_void,
    value: *mut c_void,
}

/// An error of an allocation. The caller need not know Python.
#[repr(C)]
struct Text {
    kind: [c_char; 64],
    message: [c_char; 960],
}

/// The functions of the SDK, which return 1, or report an error, and those of the interpreter.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Python {
    allocate: extern "C" fn(*mut c_void, *mut *mut c_void, *mut Text) -> c_int,
    export: extern "C" fn(*mut c_void, *mut *mut c_void, *mut Raised) -> c_int,
    import: extern "C" fn(*mut c_void, *mut *mut c_void, *mut Raised) -> c_int,
    describe: extern "C" fn(*mut c_void, *mut c_void, *mut Raised) -> c_int,
    current_stream: extern "C" fn(c_int, i32, *mut *mut c_void, *mut Raised) -> c_int,
    set_exception: extern "C" fn(*mut c_void, *mut c_void),
    release: extern "C" fn(*mut c_void),
}

/// The function with which a consumer learns of a failed allocation.
type SetError = extern "C" fn(*mut c_void, *const c_char, *const c_char);

/// `DLPackExchangeAPI` of DLPack 1.3.
#[repr(C)]
struct Table {
    major: u32,
    minor: u32,
    /// The table of an older major version.
    previous: Option<&'static Self>,
    allocate: extern "C" fn(*mut c_void, *mut *mut c_void, *mut c_void, SetError) -> c_int,
    export: extern "C" fn(*mut c_void, *mut *mut c_void) -> c_int,
    import: extern "C" fn(*mut c_void, *mut *mut c_void) -> c_int,
    describe: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
    current_stream: extern "C" fn(c_int, i32, *mut *mut c_void) -> c_int,
}

static TABLE: Table =
    Table { major: 1, minor: 3, previous: None, allocate, export, import, describe, current_stream };

/// The functions that were passed last. They are never freed, because a consumer may be calling them.
static PYTHON: AtomicPtr<Python> = AtomicPtr::new(ptr::null_mut());

fn python() -> Python {
    // SAFETY: a consumer has the table from `tenon_dlpack_exchange`, which has stored the pointer and never frees it.
    unsafe { *PYTHON.load(Ordering::Acquire) }
}

/// Calls a function of the SDK, and sets the exception that it reports. The caller holds the GIL.
fn with_exception(call: impl FnOnce(&Python, *mut Raised) -> c_int) -> c_int {
    let python = python();
    let mut raised = Raised { class: ptr::null_mut(), value: ptr::null_mut() };
    if call(&python, &mut raised) == DONE {
        return 0;
    }
    (python.set_exception)(raised.class, raised.value);
    (python.release)(raised.class);
    (python.release)(raised.value);
    -1
}

extern "C" fn allocate(
    prototype: *mut c_void,
    tensor: *mut *mut c_void,
    context: *mut c_void,
    set_error: SetError,
) -> c_int {
    let mut text = Text { kind: [0; 64], message: [0; 960] };
    if (python().allocate)(prototype, tensor, &mut text) == DONE {
        return 0;
    }
    set_error(context, text.kind.as_ptr(), text.message.as_ptr());
    -1
}

extern "C" fn export(object: *mut c_void, tensor: *mut *mut c_void) -> c_int {
    with_exception(|python, raised| (python.export)(object, tensor, raised))
}

extern "C" fn import(tensor: *mut c_void, object: *mut *mut c_void) -> c_int {
    with_exception(|python, raised| (python.import)(tensor, object, raised))
}

extern "C" fn describe(object: *mut c_void, tensor: *mut c_void) -> c_int {
    with_exception(|python, raised| (python.describe)(object, tensor, raised))
}

extern "C" fn current_stream(device_type: c_int, number: i32, stream: *mut *mut c_void) -> c_int {
    with_exception(|python, raised| (python.current_stream)(device_type, number, stream, raised))
}

/// Returns the table, whose functions call those of the SDK.
///
/// # Safety
/// `python` points to functions that can be called until the process ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_dlpack_exchange(python: *const Python) -> *const c_void {
    // SAFETY: the caller's promise.
    let functions = Box::new(unsafe { *python });
    PYTHON.store(Box::into_raw(functions), Ordering::Release);
    ptr::from_ref(&TABLE).cast()
}
