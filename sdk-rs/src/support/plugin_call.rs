//! Calls of functions of a plugin or a library: arguments, results and errors.

use crate::support::Mutex;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::null;

use crate::error::{Error, StatusCode};
use crate::log::write_line;

thread_local! {
    /// The innermost call of a plugin on this thread. No destructor, so that it can be read while the process ends.
    static RUNNING: Cell<*const Running<'static>> = const { Cell::new(null()) };
}

/// Calls a function of a plugin. If it throws an exception or panics, the process ends with a message that names the
/// plugin, because nothing may unwind through C. The function type must have the ABI `"C-unwind"`: with `"C"`, the
/// compiler may assume that nothing unwinds.
#[inline(always)]
pub fn guard<T>(plugin: Option<&str>, function: &'static str, call: impl FnOnce() -> T) -> T {
    let running = Running { plugin, function, outer: RUNNING.get() };
    // It is read only by this thread, and removed before it is moved or the borrows end.
    RUNNING.set((&raw const running).cast());
    let result = call();
    RUNNING.set(running.outer);
    std::mem::forget(running);
    result
}

/// Passes the plugin and the function that this thread is calling to a function. Does nothing outside of calls.
///
/// For functions that run at the end of the process: a plugin that calls `exit` never returns.
pub fn with_running_call(report: impl FnOnce(&str, &str)) {
    let running = RUNNING.get();
    // SAFETY: null, or the innermost call of this thread, whose stack frame lives: `guard` takes it away before it
    // returns or unwinds.
    if let Some(running) = unsafe { running.as_ref() } {
        report(running.plugin.unwrap_or("without a name"), running.function);
    }
}

/// A call of a plugin. It reports the unwinding: it is dropped only while the stack unwinds.
struct Running<'a> {
    plugin: Option<&'a str>,
    function: &'static str,
    outer: *const Running<'static>,
}

impl Drop for Running<'_> {
    #[cold]
    fn drop(&mut self) {
        let Self { plugin, function, outer } = self;
        RUNNING.set(*outer);
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
pub fn text_in(buffer: &[c_char]) -> String {
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
    message: Option<*const c_char>,
) -> Error<S> {
    match message {
        Some(message) if !message.is_null() => {
            // SAFETY: not null, and NUL-terminated by the caller's promise.
            let message = unsafe { CStr::from_ptr(message) };
            Error::from_plugin(status, message.to_string_lossy().into_owned())
        }
        _ => Error::new(status, format!("`{function}` answered {status:?}")),
    }
}

/// Makes the error as [`answered`] does, from a text with a length.
///
/// # Safety
/// `message` is null or points to `length` bytes.
pub unsafe fn answered_with<S: StatusCode>(
    function: &'static str,
    status: S,
    message: *const c_char,
    length: usize,
) -> Error<S> {
    if message.is_null() || length > isize::MAX as usize {
        // SAFETY: there is no message.
        return unsafe { answered(function, status, None) };
    }
    // SAFETY: not null, and as long by the caller's promise.
    let message = unsafe { std::slice::from_raw_parts(message.cast::<u8>(), length) };
    Error::from_plugin(status, String::from_utf8_lossy(message).into_owned())
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
        let mut guard = self.0.lock();
        let (last, entries) = &mut *guard;
        *last += 1;
        entries.insert(*last, kept);
        std::ptr::without_provenance_mut(*last)
    }

    /// Takes the value with a number; `None` if there is none.
    pub fn take(&self, number: *mut c_void) -> Option<T> {
        self.0.lock().1.remove(&number.addr())
    }
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self::new()
    }
}
