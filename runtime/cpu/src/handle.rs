//! The opaque names that callers hold: handles of streams, events and graphs, and pointers.

use std::fmt;

macro_rules! opaque {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// The number is opaque; any value may be passed to any call, which answers an error
        /// if it names nothing.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(transparent)]
        pub struct $name(pub usize);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:#x}", self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({:#x})", stringify!($name), self.0)
            }
        }
    )*};
}

opaque! {
    /// A stream. Zero is the default stream of the device that it is used with.
    StreamHandle;
    /// An event.
    EventHandle;
    /// A captured graph.
    GraphHandle;
    /// A graph made ready to launch.
    ExecHandle;
    /// One node of a graph.
    NodeHandle;
    /// A handle of a numerical library (BLAS, BLASLt, Eigen).
    LibraryHandle;
    /// An address of device or unified memory.
    DevicePtr;
    /// An address of host memory.
    HostPtr;
}

impl StreamHandle {
    /// The default stream of whichever device it is used with.
    pub const DEFAULT: Self = Self(0);
}

impl DevicePtr {
    /// The address `bytes` further on.
    ///
    /// Wraps at the end of the address space; the call that gets the result will refuse it.
    #[must_use]
    pub fn offset(self, bytes: usize) -> Self {
        Self(self.0.wrapping_add(bytes))
    }
}

impl HostPtr {
    /// The address as a pointer to bytes.
    #[must_use]
    pub fn as_ptr(self) -> *mut u8 {
        self.0 as *mut u8
    }
}

/// What a handle names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum HandleKind {
    /// A stream.
    Stream = 1,
    /// An event.
    Event = 2,
    /// A captured graph.
    Graph = 3,
    /// An executable graph.
    Exec = 4,
    /// A node of a graph.
    Node = 5,
    /// A numerical library's handle.
    Library = 6,
}

impl fmt::Display for HandleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stream => "stream",
            Self::Event => "event",
            Self::Graph => "graph",
            Self::Exec => "executable graph",
            Self::Node => "graph node",
            Self::Library => "library handle",
        })
    }
}
