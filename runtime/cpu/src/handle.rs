//! The kinds of handles.

use std::fmt;

/// The kind of object that a handle names.
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
