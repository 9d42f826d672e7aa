//! Address types, one for each kind of memory, so that they cannot be mixed up.

use std::ffi::c_void;

macro_rules! pointer {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        ///
        /// It behaves like a number: creating and comparing addresses is safe, dereferencing one is not.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(usize);

        impl $name {
            /// The null address.
            pub const NULL: Self = Self(0);

            /// Returns the address as a number.
            pub const fn addr(self) -> usize {
                self.0
            }

            /// Makes an address from a number.
            pub const fn from_addr(addr: usize) -> Self {
                Self(addr)
            }

            /// Makes an address from a pointer.
            pub fn from_ptr<T>(pointer: *const T) -> Self {
                Self(pointer.expose_provenance())
            }

            /// Returns the address as a pointer, for callers that know that it can be dereferenced.
            pub fn as_ptr(self) -> *mut c_void {
                std::ptr::with_exposed_provenance_mut(self.0)
            }

            /// Returns true if it is the null address.
            pub const fn is_null(self) -> bool {
                self.0 == 0
            }

            /// Returns the address plus `bytes`; `None` past the end of the address space.
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
    /// An address in device memory.
    ///
    /// ```
    /// use tenon::DevicePtr;
    ///
    /// let memory = DevicePtr::from_addr(0x1000);
    /// assert_eq!(memory.checked_add(64), Some(DevicePtr::from_addr(0x1040)));
    /// assert_eq!(memory.checked_add(usize::MAX), None);
    /// assert!(DevicePtr::NULL.is_null());
    /// ```
    DevicePtr
    /// An address in host memory.
    HostPtr
    /// An address that host and device can both dereference.
    UnifiedPtr
    /// An address that is only passed on, never dereferenced.
    AnyPtr
}

impl HostPtr {
    /// Views the memory as bytes.
    ///
    /// # Safety
    /// `len` bytes from here are readable and do not change while the slice lives, or `len` is 0.
    pub unsafe fn bytes<'a>(self, len: usize) -> &'a [u8] {
        if len == 0 {
            return &[];
        }
        // SAFETY: the caller promises the memory; length 0 returned above.
        unsafe { std::slice::from_raw_parts(self.as_ptr().cast(), len) }
    }

    /// Views the memory as mutable bytes.
    ///
    /// # Safety
    /// `len` bytes from here are writable and not accessed otherwise while the slice lives, or `len` is 0.
    pub unsafe fn bytes_mut<'a>(self, len: usize) -> &'a mut [u8] {
        if len == 0 {
            return &mut [];
        }
        // SAFETY: the caller promises the memory; length 0 returned above.
        unsafe { std::slice::from_raw_parts_mut(self.as_ptr().cast(), len) }
    }
}
