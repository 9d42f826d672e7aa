//! Finds the functions of ACL by name, for `libascendcl.so` and for bindings. libtenon has no symbols of these names: a
//! vendor's plugin may call the functions of the same names in the vendor's own library.

use std::ffi::{c_char, c_void};

use super::address;
use crate::call::text::optional;

/// Returns the address of a function of ACL by its name in C; null if there is none.
///
/// # Safety
/// `name` is null, or points to a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_acl_function(name: *const c_char) -> *const c_void {
    // SAFETY: the caller's promise.
    unsafe { optional(name) }.map_or(std::ptr::null(), address)
}
