//! The kinds of handles.

/// The kind of object that a handle identifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum HandleKind {
    Context = 1,
    Stream = 2,
    Event = 3,
    StreamConfig = 9,
    Notify = 4,
    DataBuffer = 5,
    TensorDesc = 6,
    Physical = 7,
    Failure = 8,
    MessageBuffer = 10,
    Pool = 11,
}
