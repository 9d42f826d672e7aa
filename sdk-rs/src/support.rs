//! Support for generated code and other code at a C boundary. It is not a public API and changes without notice.

use std::any::Any;
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::LocalKey;

pub use crate::error::{Error, StatusCode};
use crate::error::{last_error, set_last_error};
use crate::log::LogLevel;
pub use crate::log::{log_handed_over, write_line};
pub use crate::pointer::{AnyPtr, DevicePtr, HostPtr, UnifiedPtr};

/// Runs the body of a thunk: catches panics, and records the last error if it fails.
#[inline]
pub fn call<S: StatusCode>(function: &'static str, body: impl FnOnce() -> Result<(), Error<S>>) -> S {
    call_question(function, move || body().map(|()| S::SUCCESS))
}

/// Runs the body of a thunk like [`call`], for a function whose status answers a question.
#[inline]
pub fn call_question<S: StatusCode>(function: &'static str, body: impl FnOnce() -> Result<S, Error<S>>) -> S {
    // `AssertUnwindSafe`: the body only has `&self` of the device, which is responsible for its own state after a
    // panic.
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(status)) => status,
        Ok(Err(error)) => failed(function, &error),
        Err(panic) => panicked(function, panic),
    }
}

/// Runs the body of a thunk like [`call`], and logs the message of a failure at every log level.
///
/// For functions that initialise and finalise: if one of them fails, hosts give up on the device and cannot show the
/// message.
pub fn call_lifecycle<S: StatusCode>(
    function: &'static str,
    body: impl FnOnce() -> Result<(), Error<S>>,
) -> S {
    let status = call(function, body);
    if status.code() != S::SUCCESS.code() && !crate::log::writes(LogLevel::Error) {
        last_error(|message| {
            write_line(format_args!("{}", message.map_or("".into(), CStr::to_string_lossy)));
        });
    }
    status
}

#[cold]
fn failed<S: StatusCode>(function: &str, error: &Error<S>) -> S {
    set_last_error(function, &error.message);
    // A failure must never look like success to the host, whatever status the device returns.
    if error.status.code() == S::SUCCESS.code() { S::INTERNAL } else { error.status }
}

#[cold]
fn panicked<S: StatusCode>(function: &str, panic: Box<dyn Any + Send>) -> S {
    set_last_error(function, &format!("the device panicked: {}", panic_text(&*panic)));
    // The payload's destructor may panic, which would end the process.
    std::mem::forget(panic);
    S::INTERNAL
}

/// An error as a heap object that the caller reads and destroys.
struct ErrorObject {
    code: i32,
    message: CString,
}

/// Runs the body of a thunk like [`call`], for an ABI that returns an error object; null is success.
pub fn call_object<S: StatusCode>(
    function: &'static str,
    body: impl FnOnce() -> Result<(), Error<S>>,
) -> *mut c_void {
    call_object_question(function, move || body().map(|()| S::SUCCESS))
}

/// Runs the body of a thunk like [`call_object`], for a function whose status answers a question.
pub fn call_object_question<S: StatusCode>(
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

/// Returns the code of an error object; 0 for null.
///
/// # Safety
/// `object` is null, or came from [`call_object`] and is alive.
pub unsafe fn error_object_code(object: *const c_void) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { object.cast::<ErrorObject>().as_ref() }.map_or(0, |object| object.code)
}

/// Returns the message of an error object, which lives as long as the object; empty for null.
///
/// # Safety
/// As for [`error_object_code`].
pub unsafe fn error_object_message(object: *const c_void) -> *const c_char {
    // SAFETY: the caller's promise.
    unsafe { object.cast::<ErrorObject>().as_ref() }.map_or(c"".as_ptr(), |object| object.message.as_ptr())
}

/// Destroys an error object; ignores null.
///
/// # Safety
/// As for [`error_object_code`]. The object is not used afterwards.
pub unsafe fn error_object_destroy(object: *const c_void) {
    if !object.is_null() {
        // SAFETY: `call_object` made it from a box, and the caller passes ownership.
        drop(unsafe { Box::from_raw(object.cast_mut().cast::<ErrorObject>()) });
    }
}

/// Returns the plugin's table: the first call makes it, and it is never freed. Null if making it panicked.
pub fn own<T>(kept: &'static OnceLock<usize>, make: impl FnOnce() -> T) -> *const T {
    let address = || *kept.get_or_init(|| Box::into_raw(Box::new(make())).expose_provenance());
    match catch_unwind(AssertUnwindSafe(address)) {
        Ok(address) => std::ptr::with_exposed_provenance(address),
        Err(panic) => {
            write_line(format_args!("the plugin has no table: {}", panic_text(&*panic)));
            std::mem::forget(panic);
            std::ptr::null()
        }
    }
}

/// Returns the message of a panic.
pub fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

/// Checks that the pattern of a fill is as long as an element, and that whole elements fill the memory.
pub fn check_pattern<S: StatusCode>(pattern: &[u8], size: usize) -> Result<(), Error<S>> {
    let length = pattern.len();
    if !matches!(length, 1 | 2 | 4 | 8 | 16) {
        return Err(Error::invalid(format!("`pattern_size` is {length}, but must be 1, 2, 4, 8 or 16")));
    }
    if !size.is_multiple_of(length) {
        return Err(Error::invalid(format!(
            "`size` is {size}, which is not a multiple of the {length} bytes of `pattern`"
        )));
    }
    Ok(())
}

/// Checks that an argument is not null and is aligned.
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

/// Checks that a pointer to an output is not null and is aligned.
#[inline]
pub fn place<S: StatusCode, T>(name: &str, pointer: *mut T) -> Result<*mut T, Error<S>> {
    non_null(name, pointer).map(<*const T>::cast_mut)
}

/// Checks a pointer to an output like [`place`]. Null is allowed for an output that the caller does not need.
#[inline]
pub fn place_or_null<S: StatusCode, T>(name: &str, pointer: *mut T) -> Result<*mut T, Error<S>> {
    if pointer.is_null() { Ok(pointer) } else { place(name, pointer) }
}

/// Rejects a null handle or callback.
#[inline]
pub fn refuse_null<S: StatusCode>(name: &str, is_null: bool) -> Result<(), Error<S>> {
    if is_null { Err(null(name)) } else { Ok(()) }
}

/// A const or mutable pointer.
pub trait Pointer: Copy {
    /// Returns true if the pointer is null.
    fn is_null_pointer(self) -> bool;
}

impl<T> Pointer for *const T {
    fn is_null_pointer(self) -> bool {
        self.is_null()
    }
}

impl<T> Pointer for *mut T {
    fn is_null_pointer(self) -> bool {
        self.is_null()
    }
}

/// Reads the value behind a pointer, unless it is null.
#[inline]
pub fn nullable<P: Pointer, T, E>(pointer: P, read: impl FnOnce(P) -> Result<T, E>) -> Result<Option<T>, E> {
    if pointer.is_null_pointer() { Ok(None) } else { read(pointer).map(Some) }
}

/// Makes a reference from the caller's pointer.
///
/// # Safety
/// Unless the checks fail, `pointer` is readable and does not change during `'a`.
#[inline]
pub unsafe fn reference<'a, S: StatusCode, T>(name: &str, pointer: *const T) -> Result<&'a T, Error<S>> {
    // SAFETY: not null and aligned by the check; readable by the caller's promise.
    non_null(name, pointer).map(|pointer| unsafe { &*pointer })
}

/// Makes a mutable reference from the caller's pointer.
///
/// # Safety
/// Unless the checks fail, `pointer` is writable and not accessed otherwise during `'a`.
#[inline]
pub unsafe fn reference_mut<'a, S: StatusCode, T>(
    name: &str,
    pointer: *mut T,
) -> Result<&'a mut T, Error<S>> {
    // SAFETY: not null and aligned by the check; writable by the caller's promise.
    place(name, pointer).map(|pointer| unsafe { &mut *pointer })
}

/// Makes a reference like [`reference`], or `None` for null.
///
/// # Safety
/// As for [`reference`].
#[inline]
pub unsafe fn reference_or_null<'a, S: StatusCode, T>(
    name: &str,
    pointer: *const T,
) -> Result<Option<&'a T>, Error<S>> {
    // SAFETY: the caller's promise.
    nullable(pointer, |pointer| unsafe { reference(name, pointer) })
}

/// Makes a mutable reference like [`reference_mut`], or `None` for null.
///
/// # Safety
/// As for [`reference_mut`].
#[inline]
pub unsafe fn reference_mut_or_null<'a, S: StatusCode, T>(
    name: &str,
    pointer: *mut T,
) -> Result<Option<&'a mut T>, Error<S>> {
    // SAFETY: the caller's promise.
    nullable(pointer, |pointer| unsafe { reference_mut(name, pointer) })
}

/// Converts a number of elements or bytes to the length of a slice.
#[inline]
pub fn count<S: StatusCode>(
    name: &str,
    count: impl TryInto<usize> + std::fmt::Display + Copy,
) -> Result<usize, Error<S>> {
    count.try_into().map_err(|_| Error::invalid(format!("`{name}` cannot be a length: {count}")))
}

/// Checks that a range is inside the address space, and not null unless its length is 0.
#[inline]
pub fn range<S: StatusCode>(name: &str, address: usize, bytes: usize) -> Result<(), Error<S>> {
    // No object is larger than `isize::MAX`; a larger slice would be undefined behaviour.
    if (address == 0 && bytes != 0) || bytes > isize::MAX as usize || address.checked_add(bytes).is_none() {
        return Err(bad_range(name, address, bytes));
    }
    Ok(())
}

#[cold]
fn bad_range<S: StatusCode>(name: &str, address: usize, bytes: usize) -> Error<S> {
    Error::invalid(if address == 0 {
        format!("`{name}` is null, but {bytes} bytes are accessed")
    } else {
        format!("{bytes} bytes from `{name}` reach past the address space")
    })
}

/// Makes a slice from the caller's pointer and count.
///
/// # Safety
/// Unless the checks fail, `count` elements from `pointer` are readable and do not change during `'a`.
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

/// Makes a mutable slice from the caller's pointer and count.
///
/// # Safety
/// Unless the checks fail, `count` elements from `pointer` are writable and not accessed otherwise during `'a`.
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

/// Makes a string from the caller's pointer.
///
/// # Safety
/// `pointer` is null or points to a NUL-terminated string.
#[inline]
pub unsafe fn text<'a, S: StatusCode>(
    name: &str,
    pointer: *const std::ffi::c_char,
) -> Result<&'a std::ffi::CStr, Error<S>> {
    let pointer = non_null(name, pointer)?;
    // SAFETY: not null by the check, NUL-terminated by the caller's promise.
    Ok(unsafe { std::ffi::CStr::from_ptr(pointer) })
}

/// Makes a string like [`text`], or `None` for null.
///
/// # Safety
/// As for [`text`].
#[inline]
pub unsafe fn text_or_null<'a, S: StatusCode>(
    name: &str,
    pointer: *const c_char,
) -> Result<Option<&'a CStr>, Error<S>> {
    // SAFETY: the caller's promise.
    nullable(pointer, |pointer| unsafe { text(name, pointer) })
}

/// Writes a string and its NUL into a buffer of fixed size.
///
/// # Safety
/// `capacity` bytes from `pointer` are writable.
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
    // SAFETY: the length is at most the capacity, which the caller promises to be writable.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), pointer, text.len());
        pointer.add(text.len()).write(0);
    }
    Ok(())
}

/// Writes the elements of a list whose length another function returned before.
///
/// # Errors
/// `INTERNAL` if the number of elements differs from that length.
///
/// # Safety
/// `place` is writable for as many elements as `counted` says.
pub unsafe fn write_elements<S: StatusCode, T: Copy>(
    name: &str,
    place: *mut T,
    elements: &[T],
    counted: (&str, usize),
) -> Result<(), Error<S>> {
    let (function, expected) = counted;
    if elements.len() != expected {
        let message = format!("{} elements of `{name}`, but {function} returned {expected}", elements.len());
        return Err(Error::new(S::INTERNAL, message));
    }
    // SAFETY: the caller allocated memory for this number of elements.
    unsafe { std::ptr::copy_nonoverlapping(elements.as_ptr(), place, expected) };
    Ok(())
}

/// Allocates the host buffer of a fallback, filled with one byte value.
///
/// # Errors
/// `UNSUPPORTED` if the host has not enough memory: a fallback must not abort the process.
pub fn buffer<S: StatusCode>(bytes: usize, fill: u8) -> Result<Vec<u8>, Error<S>> {
    let mut buffer = Vec::new();
    buffer
        .try_reserve_exact(bytes)
        .map_err(|_| Error::new(S::UNSUPPORTED, format!("no {bytes} bytes of host memory for a fallback")))?;
    buffer.resize(bytes, fill);
    Ok(buffer)
}

/// Runs the body of a thunk without a status: a failure records the last error and returns `default`.
pub fn call_value<S: StatusCode, T>(
    function: &'static str,
    default: T,
    body: impl FnOnce() -> Result<T, Error<S>>,
) -> T {
    let mut yielded = default;
    call(function, || body().map(|value| yielded = value));
    yielded
}

/// Runs the body of an exported function like [`call`], and stores the message of a failure for its interface.
pub fn call_export<S: StatusCode>(
    last: &'static LocalKey<LastFailure>,
    function: &'static str,
    body: impl FnOnce() -> Result<(), Error<S>>,
) -> S {
    call_export_question(last, function, || body().map(|()| S::SUCCESS))
}

/// Runs the body of an exported function like [`call_export`], for a function whose status answers a question.
pub fn call_export_question<S: StatusCode>(
    last: &'static LocalKey<LastFailure>,
    function: &'static str,
    body: impl FnOnce() -> Result<S, Error<S>>,
) -> S {
    let mut is_answered = false;
    let status = call_question(function, || body().inspect(|_| is_answered = true));
    if !is_answered {
        keep_failure(last, status.code());
    }
    status
}

/// Runs the body of an exported function without a status like [`call_value`], and stores the message of a failure
/// for its interface.
pub fn call_export_value<S: StatusCode, T>(
    last: &'static LocalKey<LastFailure>,
    function: &'static str,
    default: T,
    body: impl FnOnce() -> Result<T, Error<S>>,
) -> T {
    let mut yielded = default;
    call_export(last, function, || body().map(|value| yielded = value));
    yielded
}

#[cold]
fn keep_failure(last: &'static LocalKey<LastFailure>, code: i32) {
    let message = last_error(|message| message.map(CStr::to_owned));
    // When a thread ends, its thread-local slot for the message may already be destroyed.
    let _ = last.try_with(|last| {
        last.message.replace(message);
        last.code.set(Some(code));
    });
}

/// Message and code of the last failed function of an interface on a thread. They are taken independently.
#[derive(Default)]
pub struct LastFailure {
    message: Cell<Option<CString>>,
    code: Cell<Option<i32>>,
}

impl LastFailure {
    /// Makes a slot without a failure.
    pub const fn new() -> Self {
        LastFailure { message: Cell::new(None), code: Cell::new(None) }
    }

    /// Takes the message.
    pub fn take(&self) -> Option<CString> {
        self.message.take()
    }

    /// Returns the code without taking it.
    pub fn code(&self) -> Option<i32> {
        self.code.get()
    }

    /// Takes the code.
    pub fn take_code(&self) -> Option<i32> {
        self.code.take()
    }
}

/// The string that a thread borrowed last.
#[derive(Default)]
pub struct KeptText(Cell<Option<CString>>);

impl KeptText {
    /// Makes a slot without a string.
    pub const fn new() -> Self {
        KeptText(Cell::new(None))
    }
}

/// Lends a string to C. An owned string stays valid until the thread borrows another one or ends.
pub fn lend(kept: &'static LocalKey<KeptText>, text: Option<Cow<'static, CStr>>) -> *const c_char {
    match text {
        None => std::ptr::null(),
        Some(Cow::Borrowed(text)) => text.as_ptr(),
        Some(Cow::Owned(text)) => {
            let pointer = text.as_ptr();
            // The thread-local slot is already destroyed, so nothing can own the string.
            match kept.try_with(|kept| kept.0.replace(Some(text))) {
                Ok(_) => pointer,
                Err(_) => std::ptr::null(),
            }
        }
    }
}

/// Bytes of address space that must be free.
const ROOM: usize = 16 << 20;

/// Calls of a thread between two checks.
///
/// A check makes two system calls. An object takes less than 4 KiB, so the memory suffices until the next check.
const CALLS_PER_CHECK: u16 = 2047;

/// Returns true if the host has memory for the small objects of a few calls, such as the description of an event.
///
/// Small objects are allocated by code that cannot report a failure. So functions that create an object or queue work
/// call this first, and fail with out-of-memory if it returns false. It checks once in 2048 calls per thread; other
/// threads may use up the memory in between.
#[inline]
pub fn has_room() -> bool {
    thread_local! {
        static CALLS: Cell<u16> = const { Cell::new(0) };
    }
    CALLS
        .try_with(|calls| match calls.get() {
            0 => {
                let is_there = can_map(ROOM);
                calls.set(if is_there { CALLS_PER_CHECK } else { 0 });
                is_there
            }
            left => {
                calls.set(left - 1);
                true
            }
        })
        // The thread is ending, and the thread-local is already destroyed.
        .unwrap_or(true)
}

/// Returns true if the process can map this many bytes.
///
/// A trial allocation would not show it: `malloc` tries two of its arenas, and not always the same two, so a large
/// allocation may succeed just before a small one fails. Freshly mapped memory is available to every arena.
#[cold]
fn can_map(bytes: usize) -> bool {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: the kernel chooses the address of the new mapping, and nothing uses it before it is removed.
    unsafe {
        let place = libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0);
        place != libc::MAP_FAILED && libc::munmap(place, bytes) == 0
    }
}

/// Calls a function of a plugin. If it throws an exception or panics, the process ends with a message that names the
/// plugin, because nothing may unwind through C.
#[inline(always)]
pub fn guard<T>(plugin: Option<&str>, function: &'static str, call: impl FnOnce() -> T) -> T {
    let unwinding = Unwinding { plugin, function };
    let result = call();
    std::mem::forget(unwinding);
    result
}

/// Reports the unwinding. It is dropped only while the stack unwinds.
struct Unwinding<'a> {
    plugin: Option<&'a str>,
    function: &'static str,
}

impl Drop for Unwinding<'_> {
    #[cold]
    fn drop(&mut self) {
        let Self { plugin, function } = self;
        let plugin = plugin.unwrap_or("without a name");
        write_line(format_args!(
            "an exception left the function `{function}` of the plugin {plugin}; the process ends"
        ));
        std::process::abort();
    }
}

/// Converts an address to a function pointer.
///
/// # Safety
/// `address` is the address of a function, and `T` a pointer to a function with its signature. If `address` may be
/// null, `T` is an `Option` of such a pointer.
pub unsafe fn function<T>(address: *const c_void) -> T {
    const { assert!(size_of::<T>() == size_of::<*const c_void>()) };
    // SAFETY: the sizes are equal, and the caller promises the type.
    unsafe { std::mem::transmute_copy(&address) }
}

/// Converts an address to a pointer.
pub fn pointer<T>(address: u64) -> *mut T {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

/// Returns the common length of slices.
///
/// # Errors
/// `INVALID_ARGUMENT` if the lengths differ, or if the ABI's type is too small.
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

/// Allocates a list whose length another function returned.
///
/// # Errors
/// `INTERNAL` if there is not enough memory, or if the number is too large to be plausible.
pub fn elements<S: StatusCode, T: Default + Clone>(name: &str, count: usize) -> Result<Vec<T>, Error<S>> {
    // The limit is needed because every element is written; untouched memory would cost nothing.
    const MOST: usize = 1 << 20;
    if count > MOST {
        let message = format!("`{name}` would have {count} elements; at most {MOST} are supported");
        return Err(Error::new(S::INTERNAL, message));
    }
    let mut elements = Vec::new();
    elements
        .try_reserve_exact(count)
        .map_err(|_| Error::new(S::INTERNAL, format!("no memory for {count} elements of `{name}`")))?;
    elements.resize(count, T::default());
    Ok(elements)
}

/// Reads the string in a buffer, up to its NUL or the end of the buffer.
pub fn text_in(buffer: &[std::ffi::c_char]) -> String {
    let bytes: Vec<u8> =
        buffer.iter().map(|byte| byte.cast_unsigned()).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Makes the error for a plugin that returned a failure.
///
/// # Safety
/// `message`, if there is one, is null or points to a NUL-terminated string.
pub unsafe fn answered<S: StatusCode>(
    function: &'static str,
    status: S,
    message: Option<*const std::ffi::c_char>,
) -> Error<S> {
    match message {
        Some(message) if !message.is_null() => {
            // SAFETY: not null, and NUL-terminated by the caller's promise.
            let message = unsafe { std::ffi::CStr::from_ptr(message) };
            Error::from_plugin(status, message.to_string_lossy().into_owned())
        }
        _ => Error::new(status, format!("`{function}` answered {status:?}")),
    }
}

/// Values that wait for a callback, by number. Each can be taken once, even if a callback passes a wrong number.
pub struct Kept<T>(Mutex<(usize, BTreeMap<usize, T>)>);

impl<T> Kept<T> {
    /// Makes an empty one.
    pub const fn new() -> Self {
        Kept(Mutex::new((0, BTreeMap::new())))
    }

    /// Stores a value. Returns its number as a pointer, which must not be dereferenced.
    pub fn put(&self, kept: T) -> *mut c_void {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (last, entries) = &mut *guard;
        *last += 1;
        entries.insert(*last, kept);
        std::ptr::without_provenance_mut(*last)
    }

    /// Takes the value with a number; `None` if there is none.
    pub fn take(&self, number: *mut c_void) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1.remove(&number.addr())
    }
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self::new()
    }
}
