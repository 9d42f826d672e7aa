//! `libascendcl.so`, which is also `libacl_rt.so`: the functions of ACL for programs in C and C++.
//!
//! The library has no runtime of its own. Each function calls the one of the same name in `libtenon.so.0`, so a process
//! has one set of devices, however many of these libraries and bindings it loads. `library` finds libtenon.

#[macro_use]
mod function;
/// The functions of `spec/acl`.
mod functions;
mod library;

use std::ffi::{CStr, c_void};

use tenon_acl::api;

/// Returns the address of a function. Without libtenon, the process ends, as if the loader had not found a library.
fn find(name: &CStr) -> *const c_void {
    library::function(name).unwrap_or_else(|error| {
        eprintln!("libascendcl.so: {error}");
        std::process::abort()
    })
}
