//! Throws the C++ exception of Paddle from Rust.
//!
//! The Python entry points of Paddle catch only `EnforceNotMet`; any other exception ends the process.
//! Therefore this module allocates an exception object with the C++ runtime, calls the constructor of
//! `EnforceNotMet` on it, and throws it.

use std::ffi::{CStr, c_char, c_int, c_void};

use super::library::Libraries;
use crate::error::Error;

type Allocate = unsafe extern "C" fn(bytes: usize) -> *mut c_void;
type Construct = unsafe extern "C-unwind" fn(
    object: *mut c_void,
    summary: *const Summary,
    file: *const c_char,
    line: c_int,
) -> *mut c_void;
type Destroy = unsafe extern "C" fn(object: *mut c_void) -> *mut c_void;
type Throw =
    unsafe extern "C-unwind" fn(object: *mut c_void, type_info: *const c_void, destroy: Destroy) -> !;

/// The size reserved for an `EnforceNotMet`, which has about 80 bytes: two strings, a summary and a vtable
/// pointer.
const ROOM: usize = 256;

/// The constructor, the type information and the destructor, for the namespaces of the releases.
const SYMBOLS: [[&CStr; 3]; 2] = [
    // 3.0 and later.
    [
        c"_ZN6common7enforce13EnforceNotMetC1ERKNS_12ErrorSummaryEPKci",
        c"_ZTIN6common7enforce13EnforceNotMetE",
        c"_ZN6common7enforce13EnforceNotMetD1Ev",
    ],
    // 2.6.
    [
        c"_ZN3phi7enforce13EnforceNotMetC1ERKN6common12ErrorSummaryEPKci",
        c"_ZTIN3phi7enforce13EnforceNotMetE",
        c"_ZN3phi7enforce13EnforceNotMetD1Ev",
    ],
];

/// A C++ `ErrorSummary`: a code, and a `std::string` that borrows its text.
///
/// The string has the layout of long strings, whose text is stored elsewhere, so it can point to any text.
/// Paddle's constructor only copies it.
#[repr(C)]
struct Summary {
    code: i32,
    text: *const c_char,
    length: usize,
    capacity: usize,
    unused: usize,
}

const _: () = assert!(size_of::<Summary>() == 40 && std::mem::offset_of!(Summary, text) == 8);

/// The functions that throwing requires.
#[derive(Debug)]
pub(super) struct Thrower {
    allocate: Allocate,
    construct: Construct,
    destroy: Destroy,
    throw: Throw,
    type_info: *const c_void,
}

// SAFETY: addresses of code and of constant data.
unsafe impl Send for Thrower {}
// SAFETY: as above.
unsafe impl Sync for Thrower {}

impl Thrower {
    /// Finds the symbols in Paddle and in the C++ runtime.
    ///
    /// # Errors
    /// A one-line message that names the missing symbol. Operators cannot report failures without the
    /// symbols.
    pub(super) fn find(paddle: &Libraries) -> Result<Self, String> {
        let [construct, type_info, destroy] = SYMBOLS
            .map(|symbols| symbols.map(|symbol| paddle.look_up(symbol)))
            .into_iter()
            .find(|found| found.iter().all(|address| !address.is_null()))
            .ok_or("no operators are registered: Paddle does not export the exception that it catches")?;
        let runtime = Libraries::find(&["libstdc++.so.6"]);
        let [allocate, throw] =
            [c"__cxa_allocate_exception", c"__cxa_throw"].map(|name| runtime.look_up(name));
        if allocate.is_null() || throw.is_null() {
            return Err("no operators are registered: the C++ runtime does not export how to throw".into());
        }
        // SAFETY: none of them is null, and the mangled names and the C++ ABI determine their types.
        unsafe {
            Ok(Self {
                allocate: std::mem::transmute::<*mut c_void, Allocate>(allocate),
                construct: std::mem::transmute::<*mut c_void, Construct>(construct),
                destroy: std::mem::transmute::<*mut c_void, Destroy>(destroy),
                throw: std::mem::transmute::<*mut c_void, Throw>(throw),
                type_info,
            })
        }
    }

    /// Throws an error. Destructors of the caller's frames run, as for a panic.
    pub(super) fn throw(&self, error: Error) -> ! {
        let summary = Summary {
            code: error.code as i32,
            text: error.message.as_ptr().cast(),
            length: error.message.len(),
            capacity: error.message.len(),
            unused: 0,
        };
        // SAFETY: the object has room for what the constructor creates, and is thrown with the type and
        // destructor of that class. The constructor copies the summary, whose text lives to the end of the
        // block.
        unsafe {
            let object = (self.allocate)(ROOM);
            (self.construct)(object, &raw const summary, c"libtenon_paddle.so".as_ptr(), 0);
            drop(error);
            (self.throw)(object, self.type_info, self.destroy)
        }
    }
}
