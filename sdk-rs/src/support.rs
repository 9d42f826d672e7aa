//! What the expansion of the macros calls, and what stands at a boundary beside it. Not for anybody else: it changes without
//! notice.

use std::any::Any;
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::LocalKey;

pub use crate::error::{Error, StatusCode};
use crate::error::{last_error, remember};
use crate::log::LogLevel;
pub use crate::log::{tell, tell_handed_over};
pub use crate::pointer::{AnyPtr, DevicePtr, HostPtr, UnifiedPtr};

/// Runs the body of a thunk: nothing unwinds across the boundary, and a failure leaves its message.
#[inline]
pub fn call<S: StatusCode>(function: &'static str, body: impl FnOnce() -> Result<S, Error<S>>) -> S {
    // What a panic leaves behind in the device is the device's own affair: it sees `&self` only.
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(status)) => status,
        Ok(Err(error)) => failed(function, &error),
        Err(panic) => panicked(function, panic),
    }
}

/// Runs the body of a thunk as [`call`] does, and always writes the message of a failure to the standard error.
///
/// For the functions with which a host begins and ends: it gives up on the device when one fails, and has no way to
/// show the message.
pub fn call_lifecycle<S: StatusCode>(
    function: &'static str,
    body: impl FnOnce() -> Result<S, Error<S>>,
) -> S {
    let status = call(function, body);
    if status.code() != S::SUCCESS.code() && !crate::log::writes(LogLevel::Error) {
        last_error(|message| {
            tell(format_args!("{}", message.map_or("".into(), CStr::to_string_lossy)));
        });
    }
    status
}

#[cold]
fn failed<S: StatusCode>(function: &str, error: &Error<S>) -> S {
    remember(function, &error.message);
    // A failure must never reach the host as success, whatever the device says.
    if error.status.code() == S::SUCCESS.code() { S::INTERNAL } else { error.status }
}

#[cold]
fn panicked<S: StatusCode>(function: &str, panic: Box<dyn Any + Send>) -> S {
    remember(function, &format!("the device panicked: {}", panic_text(&*panic)));
    // The payload's own destructor may panic; it is not worth the process.
    std::mem::forget(panic);
    S::INTERNAL
}

/// Why a call failed, as an object of the heap that the caller reads and destroys.
struct ErrorObject {
    code: i32,
    message: CString,
}

/// Runs the body of a thunk whose ABI returns an error object, as [`call`] does: null is success.
pub fn call_object<S: StatusCode>(
    function: &'static str,
    body: impl FnOnce() -> Result<S, Error<S>>,
) -> *mut c_void {
    let (status, message) = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(status)) if status.code() == S::SUCCESS.code() => return std::ptr::null_mut(),
        Ok(Ok(status)) => (status, format!("{function}: {status:?}")),
        Ok(Err(error)) => (failed(function, &error), format!("{function}: {}", error.message)),
        Err(panic) => {
            let message = format!("{function}: the device panicked: {}", panic_text(&*panic));
            (panicked(function, panic), message)
        }
    };
    let message = CString::new(message.replace('\0', " ")).unwrap_or_default();
    Box::into_raw(Box::new(ErrorObject { code: status.code(), message })).cast()
}

/// The code of an error object; 0 for null.
///
/// # Safety
/// `object` is null, or one that [`call_object`] returned and that is alive.
pub unsafe fn error_object_code(object: *const c_void) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { object.cast::<ErrorObject>().as_ref() }.map_or(0, |object| object.code)
}

/// The text of an error object, which lives as long as it; empty for null.
///
/// # Safety
/// As of [`error_object_code`].
pub unsafe fn error_object_message(object: *const c_void) -> *const c_char {
    // SAFETY: the caller's promise.
    unsafe { object.cast::<ErrorObject>().as_ref() }.map_or(c"".as_ptr(), |object| object.message.as_ptr())
}

/// Destroys an error object; null is left alone.
///
/// # Safety
/// As of [`error_object_code`]; it is not used again.
pub unsafe fn error_object_destroy(object: *const c_void) {
    if !object.is_null() {
        // SAFETY: the caller promises an object that `call_object` took out of a box, and that it gives it up.
        drop(unsafe { Box::from_raw(object.cast_mut().cast::<ErrorObject>()) });
    }
}

/// The table that a plugin owns: made at the first call, and there until the process ends. Null if making it panicked.
pub fn own<T>(kept: &'static OnceLock<usize>, make: impl FnOnce() -> T) -> *const T {
    let address = || *kept.get_or_init(|| Box::into_raw(Box::new(make())).expose_provenance());
    match catch_unwind(AssertUnwindSafe(address)) {
        Ok(address) => std::ptr::with_exposed_provenance(address),
        Err(panic) => {
            tell(format_args!("the plugin has no table: {}", panic_text(&*panic)));
            std::mem::forget(panic);
            std::ptr::null()
        }
    }
}

/// What a panic says.
pub fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

/// An argument that must not be null.
#[inline]
pub fn non_null<S: StatusCode, T>(name: &str, pointer: *const T) -> Result<*const T, Error<S>> {
    if pointer.is_null() {
        return Err(null(name));
    }
    if !pointer.is_aligned() {
        return Err(misaligned(name, pointer.addr()));
    }
    Ok(pointer)
}

#[cold]
fn null<S: StatusCode>(name: &str) -> Error<S> {
    Error::invalid(format!("`{name}` is null"))
}

#[cold]
fn misaligned<S: StatusCode>(name: &str, address: usize) -> Error<S> {
    Error::invalid(format!("`{name}` is not aligned: {address:#x}"))
}

/// A place for a result: not null, aligned.
#[inline]
pub fn place<S: StatusCode, T>(name: &str, pointer: *mut T) -> Result<*mut T, Error<S>> {
    non_null(name, pointer).map(<*const T>::cast_mut)
}

/// An address and a length that stay inside the address space; null only with length 0.
#[inline]
pub fn range<S: StatusCode>(name: &str, address: usize, bytes: usize) -> Result<(), Error<S>> {
    // No object is larger than `isize::MAX`; a slice beyond it would be undefined behaviour.
    if (address == 0 && bytes != 0) || bytes > isize::MAX as usize || address.checked_add(bytes).is_none() {
        return Err(bad_range(name, address, bytes));
    }
    Ok(())
}

#[cold]
fn bad_range<S: StatusCode>(name: &str, address: usize, bytes: usize) -> Error<S> {
    Error::invalid(if address == 0 {
        format!("`{name}` is null, with {bytes} bytes to follow")
    } else {
        format!("{bytes} bytes from `{name}` reach past the address space")
    })
}

/// A slice of the caller's.
///
/// # Safety
/// Unless the checks fail, `count` elements from `pointer` must be readable and must not change meanwhile.
#[inline]
pub unsafe fn slice<'a, S: StatusCode, T>(
    name: &str,
    pointer: *const T,
    count: usize,
) -> Result<&'a [T], Error<S>> {
    let bytes = count
        .checked_mul(size_of::<T>())
        .ok_or_else(|| Error::invalid(format!("{count} elements of `{name}` overflow")))?;
    range(name, pointer.addr(), bytes)?;
    if count == 0 {
        return Ok(&[]);
    }
    let pointer = non_null(name, pointer)?;
    // SAFETY: not null, aligned and inside the address space by the checks; readable by the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// A slice of the caller's, to be written.
///
/// # Safety
/// Unless the checks fail, `count` elements from `pointer` must be writable and nobody else's meanwhile.
#[inline]
pub unsafe fn slice_mut<'a, S: StatusCode, T>(
    name: &str,
    pointer: *mut T,
    count: usize,
) -> Result<&'a mut [T], Error<S>> {
    let bytes = count
        .checked_mul(size_of::<T>())
        .ok_or_else(|| Error::invalid(format!("{count} elements of `{name}` overflow")))?;
    range(name, pointer.addr(), bytes)?;
    if count == 0 {
        return Ok(&mut []);
    }
    let pointer = place(name, pointer)?;
    // SAFETY: not null, aligned and inside the address space by the checks; writable by the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer, count) })
}

/// A text of the caller's.
///
/// # Safety
/// Unless it is null, `pointer` must lead to a NUL-terminated text.
#[inline]
pub unsafe fn text<'a, S: StatusCode>(
    name: &str,
    pointer: *const std::ffi::c_char,
) -> Result<&'a std::ffi::CStr, Error<S>> {
    let pointer = non_null(name, pointer)?;
    // SAFETY: not null by the check, NUL-terminated by the caller's promise.
    Ok(unsafe { std::ffi::CStr::from_ptr(pointer) })
}

/// Writes a text into a buffer of fixed size, with its NUL.
///
/// # Safety
/// `capacity` bytes from `pointer` must be writable.
pub unsafe fn write_text<S: StatusCode>(
    name: &str,
    pointer: *mut std::ffi::c_char,
    capacity: usize,
    text: &str,
) -> Result<(), Error<S>> {
    if text.len() >= capacity || text.contains('\0') {
        return Err(Error::new(
            S::INTERNAL,
            format!("{text:?} does not fit into the {capacity} bytes of `{name}`"),
        ));
    }
    // SAFETY: the length was checked against the capacity, which the caller promises.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), pointer, text.len());
        pointer.add(text.len()).write(0);
    }
    Ok(())
}

/// A host buffer of a fallback, filled with a byte.
///
/// # Errors
/// `UNSUPPORTED` when the host has no such memory: a fallback must not take the process down.
pub fn buffer<S: StatusCode>(bytes: usize, fill: u8) -> Result<Vec<u8>, Error<S>> {
    let mut buffer = Vec::new();
    buffer
        .try_reserve_exact(bytes)
        .map_err(|_| Error::new(S::UNSUPPORTED, format!("no {bytes} bytes of host memory for a fallback")))?;
    buffer.resize(bytes, fill);
    Ok(buffer)
}

/// Runs the body of a thunk that has no status: a failure yields `default`, and leaves its message.
pub fn call_value<S: StatusCode, T>(
    function: &'static str,
    default: T,
    body: impl FnOnce() -> Result<T, Error<S>>,
) -> T {
    let mut yielded = default;
    call(function, into(&mut yielded, body));
    yielded
}

/// A body that has a status, and puts what the other yields into a place.
fn into<S: StatusCode, T>(
    place: &mut T,
    body: impl FnOnce() -> Result<T, Error<S>>,
) -> impl FnOnce() -> Result<S, Error<S>> {
    move || {
        *place = body()?;
        Ok(S::SUCCESS)
    }
}

/// Runs the body of a function that a library exports, as [`call`] does, and keeps the message of a failure for the
/// interface that it is of.
pub fn call_export<S: StatusCode>(
    last: &'static LocalKey<LastFailure>,
    function: &'static str,
    body: impl FnOnce() -> Result<S, Error<S>>,
) -> S {
    let status = call(function, body);
    if status.code() != S::SUCCESS.code() {
        keep_failure(last, status.code());
    }
    status
}

/// Runs the body of a function that a library exports and that has no status, as [`call_value`] does, and keeps the
/// message of a failure for the interface that it is of.
pub fn call_export_value<S: StatusCode, T>(
    last: &'static LocalKey<LastFailure>,
    function: &'static str,
    default: T,
    body: impl FnOnce() -> Result<T, Error<S>>,
) -> T {
    let mut yielded = default;
    call_export(last, function, into(&mut yielded, body));
    yielded
}

#[cold]
fn keep_failure(last: &'static LocalKey<LastFailure>, code: i32) {
    let message = last_error(|message| message.map(CStr::to_owned));
    // A thread that is shutting down has no message to keep.
    let _ = last.try_with(|last| {
        last.message.replace(message);
        last.code.set(Some(code));
    });
}

/// What the last function of an interface that failed on a thread has left. Message and code are taken apart.
#[derive(Default)]
pub struct LastFailure {
    message: Cell<Option<CString>>,
    code: Cell<Option<i32>>,
}

impl LastFailure {
    /// Nothing has failed.
    pub const fn new() -> Self {
        LastFailure { message: Cell::new(None), code: Cell::new(None) }
    }

    /// Takes the message.
    pub fn take(&self) -> Option<CString> {
        self.message.take()
    }

    /// The code, which stays.
    pub fn code(&self) -> Option<i32> {
        self.code.get()
    }

    /// Takes the code.
    pub fn take_code(&self) -> Option<i32> {
        self.code.take()
    }
}

/// A text that a thread was lent, until it asks again.
#[derive(Default)]
pub struct KeptText(Cell<Option<CString>>);

impl KeptText {
    /// Nothing was lent.
    pub const fn new() -> Self {
        KeptText(Cell::new(None))
    }
}

/// Hands a text out to C: one that has to be kept stays valid until the thread asks again or ends.
pub fn lend(kept: &'static LocalKey<KeptText>, text: Option<Cow<'static, CStr>>) -> *const c_char {
    match text {
        None => std::ptr::null(),
        Some(Cow::Borrowed(text)) => text.as_ptr(),
        Some(Cow::Owned(text)) => {
            let pointer = text.as_ptr();
            // A thread that is shutting down keeps nothing, so that nothing is lent to it.
            match kept.try_with(|kept| kept.0.replace(Some(text))) {
                Ok(_) => pointer,
                Err(_) => std::ptr::null(),
            }
        }
    }
}

/// The length that slices have in common.
///
/// # Errors
/// `INVALID_ARGUMENT` when they differ, or when the ABI's number does not hold it.
pub fn length<S: StatusCode, T: TryFrom<usize>>(
    name: &str,
    lengths: &[Option<usize>],
) -> Result<T, Error<S>> {
    let mut given = lengths.iter().flatten().copied();
    let length = given.next().unwrap_or(0);
    if let Some(other) = given.find(|other| *other != length) {
        return Err(Error::invalid(format!(
            "slices of {length} and {other} elements, where `{name}` is one"
        )));
    }
    T::try_from(length).map_err(|_| Error::invalid(format!("`{name}` cannot be {length}")))
}

/// Room for as many elements as another function said.
///
/// # Errors
/// `INTERNAL` when that is more than there is memory for.
pub fn elements<S: StatusCode, T: Default + Clone>(name: &str, count: usize) -> Result<Vec<T>, Error<S>> {
    let mut elements = Vec::new();
    elements
        .try_reserve_exact(count)
        .map_err(|_| Error::new(S::INTERNAL, format!("no room for {count} elements of `{name}`")))?;
    elements.resize(count, T::default());
    Ok(elements)
}

/// The text in a buffer, up to its NUL or its end.
pub fn text_in(buffer: &[std::ffi::c_char]) -> String {
    let bytes: Vec<u8> =
        buffer.iter().map(|byte| byte.cast_unsigned()).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The error of a plugin that answered with a failure.
///
/// # Safety
/// `message`, if there is one, is null or leads to a NUL-terminated text.
pub unsafe fn answered<S: StatusCode>(
    function: &'static str,
    status: S,
    message: Option<*const std::ffi::c_char>,
) -> Error<S> {
    match message {
        Some(message) if !message.is_null() => {
            // SAFETY: not null, and a text by the caller's promise.
            let message = unsafe { std::ffi::CStr::from_ptr(message) };
            Error::quoted(status, message.to_string_lossy().into_owned())
        }
        _ => Error::new(status, format!("`{function}` answered {status:?}")),
    }
}

/// What callbacks take along, until they are called: each once, whatever number comes back.
pub struct Kept<T>(Mutex<(usize, BTreeMap<usize, T>)>);

impl<T> Kept<T> {
    /// With nothing in it.
    pub const fn new() -> Self {
        Kept(Mutex::new((0, BTreeMap::new())))
    }

    /// Keeps something, and gives out a number for it that looks like a pointer and leads nowhere.
    pub fn put(&self, kept: T) -> *mut c_void {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (last, entries) = &mut *guard;
        *last += 1;
        entries.insert(*last, kept);
        std::ptr::without_provenance_mut(*last)
    }

    /// Gives out what was kept under a number; `None` if it was given out before, or never was.
    pub fn take(&self, number: *mut c_void) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1.remove(&number.addr())
    }
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self::new()
    }
}
