//! Functions of libtenon, and the functions of this library that call them.

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
    /// Takes a name with a NUL at its end.
    pub(crate) const fn named(name: &'static str) -> Self {
        match CStr::from_bytes_with_nul(name.as_bytes()) {
            Ok(name) => Function { name, address: AtomicPtr::new(ptr::null_mut()) },
            Err(_) => panic!("a name has one NUL, at its end"),
        }
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

/// Defines a function for each declaration, which calls the function of libtenon with the same name.
macro_rules! forward {
    (unsafe extern $convention:literal {
        $(fn $name:ident($($argument:ident: $ty:ty),* $(,)?) $(-> $result:ty)?;)*
    }) => {$(
        #[allow(clippy::too_many_arguments, reason = "the interface has that many")]
        #[unsafe(no_mangle)]
        pub unsafe extern $convention fn $name($($argument: $ty),*) $(-> $result)? {
            static FUNCTION: $crate::function::Function = $crate::function::Function::named(concat!(stringify!($name), "\0"));
            // SAFETY: the function of this name has this type, and the caller makes the same promises to it.
            unsafe {
                let function: unsafe extern $convention fn($($ty),*) $(-> $result)? =
                    core::mem::transmute(FUNCTION.address());
                function($($argument),*)
            }
        }
    )*};
}
