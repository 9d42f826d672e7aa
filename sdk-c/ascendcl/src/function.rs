//! A function of libtenon, which a function of this library calls.

use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::find;

/// A function of libtenon. Its address is looked up at its first call.
pub(crate) struct Function {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Function {
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Function { name, address: AtomicPtr::new(ptr::null_mut()) }
    }

    pub(crate) fn address(&self) -> *const c_void {
        let known = self.address.load(Ordering::Acquire);
        if known.is_null() { self.look_up() } else { known }
    }

    #[cold]
    fn look_up(&self) -> *const c_void {
        let address = find(self.name);
        self.address.store(address.cast_mut(), Ordering::Release);
        address
    }
}
