//! Addresses by the memory that they point to, so that one kind cannot be taken for another.

use std::ffi::c_void;

macro_rules! pointer {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        ///
        /// A number as far as Rust is concerned: to make or to compare one is safe, to follow it is not.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(usize);

        impl $name {
            /// The null address.
            pub const NULL: Self = Self(0);

            /// The address as a number.
            pub const fn addr(self) -> usize {
                self.0
            }

            /// An address from a number.
            pub const fn from_addr(addr: usize) -> Self {
                Self(addr)
            }

            /// An address from a pointer.
            pub fn from_ptr<T>(pointer: *const T) -> Self {
                Self(pointer.expose_provenance())
            }

            /// A pointer to follow, where the caller knows that it can be followed.
            pub fn as_ptr(self) -> *mut c_void {
                std::ptr::with_exposed_provenance_mut(self.0)
            }

            /// Whether it is the null address.
            pub const fn is_null(self) -> bool {
                self.0 == 0
            }

            /// The address `bytes` further on; `None` past the end of the address space.
            pub fn checked_add(self, bytes: usize) -> Option<Self> {
                self.0.checked_add(bytes).map(Self)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(formatter, concat!(stringify!($name), "({:#x})"), self.0)
            }
        }
    )*};
}

pointer! {
    /// An address in the memory of a device.
    DevicePtr
    /// An address in the memory of the host.
    HostPtr
    /// An address that host and device can both follow.
    UnifiedPtr
    /// An address that is handed on and never followed.
    AnyPtr
}

impl HostPtr {
    /// The memory as bytes.
    ///
    /// # Safety
    /// `len` bytes from here must be readable and must not change while the slice lives, or `len` is 0.
    pub unsafe fn bytes<'a>(self, len: usize) -> &'a [u8] {
        if len == 0 {
            return &[];
        }
        // SAFETY: the caller promises the memory; a slice of length 0 was answered above.
        unsafe { std::slice::from_raw_parts(self.as_ptr().cast(), len) }
    }

    /// The memory as bytes to be written.
    ///
    /// # Safety
    /// `len` bytes from here must be writable and nobody else's while the slice lives, or `len` is 0.
    pub unsafe fn bytes_mut<'a>(self, len: usize) -> &'a mut [u8] {
        if len == 0 {
            return &mut [];
        }
        // SAFETY: the caller promises the memory; a slice of length 0 was answered above.
        unsafe { std::slice::from_raw_parts_mut(self.as_ptr().cast(), len) }
    }
}
