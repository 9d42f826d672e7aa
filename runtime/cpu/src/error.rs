//! Errors, with the handle, pointer or size that caused them.

use crate::handle::HandleKind;
use crate::memory::Space;
use tenon::device::DeviceId;
use thiserror::Error as ThisError;

/// The result of a call to the device.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why a call was refused, or why work of a stream failed.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// An environment variable has an invalid value.
    #[error("{variable}={value:?}: {reason}")]
    Config {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// The reason.
        reason: String,
    },
    /// The device was shut down and not initialised again.
    #[error("the device is shut down")]
    ShutDown,
    /// A collective or a group of processes cannot be made or used.
    #[error("{reason}")]
    Collective {
        /// True if the caller made an error.
        is_callers: bool,
        /// What is wrong.
        reason: String,
    },
    /// The system would not start a thread.
    #[error("cannot start a thread: {reason}")]
    Threads {
        /// The system's reason.
        reason: String,
    },
    /// A call that waits was made from work of a stream, where it could wait for itself.
    #[error("`{call}` may wait, and must not be called from a callback or kernel")]
    BlockingInCallback {
        /// The call.
        call: &'static str,
    },
    /// There is no such device.
    #[error("there is no device {}: there are {count}", device.0)]
    UnknownDevice {
        /// The requested device.
        device: DeviceId,
        /// The number of devices.
        count: usize,
    },
    /// The handle was never returned, is of another kind, or its object is destroyed.
    #[error("{handle:#x} is not a live {kind}")]
    InvalidHandle {
        /// The expected kind.
        kind: HandleKind,
        /// The handle.
        handle: usize,
    },
    /// The maximum number of objects of this kind exists already.
    #[error("{} {kind}s are live already", tenon::handle::CAPACITY)]
    TooManyHandles {
        /// The kind.
        kind: HandleKind,
    },
    /// The host has no memory for the description of an object or of queued work.
    #[error("out of host memory")]
    OutOfHostMemory,
    /// The handle belongs to another device.
    #[error("the {kind} {handle:#x} belongs to device {}, not to device {}", owner.0, device.0)]
    WrongDevice {
        /// The kind of handle.
        kind: HandleKind,
        /// The handle.
        handle: usize,
        /// The device that it belongs to.
        owner: DeviceId,
        /// The device that it was used with.
        device: DeviceId,
    },
    /// The default stream cannot be destroyed or captured.
    #[error("`{call}` cannot be used on the default stream")]
    DefaultStream {
        /// The call.
        call: &'static str,
    },
    /// A pointer is null and the size is not zero.
    #[error("null pointer for {size} bytes")]
    NullPointer {
        /// The size of the copy or fill.
        size: usize,
    },
    /// The pointer lies in no allocation: it was freed, or never allocated.
    #[error("{ptr:#x} lies in no live allocation")]
    UnknownPointer {
        /// The pointer.
        ptr: usize,
    },
    /// The memory was freed before.
    #[error("{ptr:#x} is already freed")]
    DoubleFree {
        /// The pointer.
        ptr: usize,
    },
    /// Memory must be freed by the pointer that the allocation returned.
    #[error("{ptr:#x} cannot be freed: its allocation starts at {base:#x}")]
    NotStart {
        /// The pointer.
        ptr: usize,
        /// The start of its allocation.
        base: usize,
    },
    /// The memory belongs to another device.
    #[error("{ptr:#x} is memory of device {}, not of device {}", owner.0, device.0)]
    PointerOnOtherDevice {
        /// The pointer.
        ptr: usize,
        /// The device that it belongs to.
        owner: DeviceId,
        /// The device that it was used with.
        device: DeviceId,
    },
    /// The memory is of another kind than the call takes.
    #[error("{ptr:#x} is {actual} memory where {expected} memory is needed")]
    WrongSpace {
        /// The pointer.
        ptr: usize,
        /// The kind of memory that the call takes.
        expected: Space,
        /// The kind of memory of the pointer.
        actual: Space,
    },
    /// The range exceeds its allocation.
    #[error("{size} bytes at {ptr:#x} leave the allocation of {capacity} bytes at {base:#x}")]
    OutOfBounds {
        /// The start of the range.
        ptr: usize,
        /// The size of the range.
        size: usize,
        /// The start of the allocation.
        base: usize,
        /// The size of the allocation.
        capacity: usize,
    },
    /// The size given to a free is not the size allocated.
    #[error("{ptr:#x} was allocated with {allocated} bytes and is freed with {given}")]
    SizeMismatch {
        /// The pointer.
        ptr: usize,
        /// The size given.
        given: usize,
        /// The size allocated.
        allocated: usize,
    },
    /// The budget of the device, or the memory of the machine, is used up.
    #[error("out of {space} memory on device {}: {requested} bytes wanted, {free} of {total} free", device.0)]
    OutOfMemory {
        /// The kind of memory.
        space: Space,
        /// The device.
        device: DeviceId,
        /// The requested size in bytes.
        requested: usize,
        /// The bytes free.
        free: usize,
        /// The whole budget.
        total: usize,
    },
    /// The event has no time because it was never recorded.
    #[error("the event {event:#x} was never recorded")]
    EventNotRecorded {
        /// The event.
        event: usize,
    },
    /// The event has no time yet.
    #[error("the event {event:#x} is not reached yet")]
    EventNotReady {
        /// The event.
        event: usize,
    },
    /// The event was last recorded into a capture, where it marks no point in time.
    #[error("the event {event:#x} was last recorded in a capture")]
    CapturedEvent {
        /// The event.
        event: usize,
    },
    /// A kernel or callback of the stream panicked or reported a failure.
    #[error("a {task} on stream {stream:#x} failed: {message}")]
    TaskFailed {
        /// `kernel` or `callback`.
        task: &'static str,
        /// The stream, zero for a default stream.
        stream: usize,
        /// The panic's message or the reported reason.
        message: String,
    },
    /// The stream is not being captured.
    #[error("the stream {stream:#x} is not being captured")]
    NotCapturing {
        /// The stream.
        stream: usize,
    },
    /// The stream is being captured already.
    #[error("the stream {stream:#x} is being captured already")]
    AlreadyCapturing {
        /// The stream.
        stream: usize,
    },
    /// The number names no mode of capture.
    #[error("{mode} is not a capture mode")]
    UnknownCaptureMode {
        /// The number.
        mode: i32,
    },
    /// The call cannot be captured; it ended the capture as invalid.
    #[error("`{call}` is not possible while a stream is being captured; the capture is now invalid")]
    CaptureUnsupported {
        /// The call.
        call: &'static str,
    },
    /// An earlier error made the capture invalid.
    #[error("the capture is invalid: {reason}")]
    CaptureInvalidated {
        /// The error.
        reason: &'static str,
    },
    /// A captured stream would wait for work outside its capture.
    #[error("the event {event:#x} marks work outside the capture; the capture is now invalid")]
    CaptureIsolation {
        /// The event.
        event: usize,
    },
    /// Two captures would have become one.
    #[error("waiting for the event {event:#x} would merge two captures; both are now invalid")]
    CaptureMerge {
        /// The event.
        event: usize,
    },
    /// The capture ended with work on another stream that its first stream never waited for.
    #[error("the capture has work that its first stream does not wait for")]
    CaptureUnjoined,
    /// A capture must be ended on the stream where it began.
    #[error("the capture of stream {stream:#x} began on stream {origin:#x}")]
    CaptureWrongStream {
        /// The stream given.
        stream: usize,
        /// The stream on which the capture began.
        origin: usize,
    },
    /// A capture that is not relaxed must be ended by the thread that began it.
    #[error("the capture of stream {stream:#x} was begun by another thread")]
    CaptureWrongThread {
        /// The stream.
        stream: usize,
    },
    /// A file could not be written.
    #[error("cannot write {path}: {reason}")]
    Io {
        /// The file.
        path: String,
        /// The system's reason.
        reason: String,
    },
}

/// The kinds of errors, by what a caller can do about them. They determine the status codes of C APIs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// An argument is wrong.
    InvalidArgument,
    /// Memory is used up; freeing some may help.
    OutOfMemory,
    /// The result does not exist yet; a later call may succeed.
    NotReady,
    /// The call is not allowed in the present state.
    NotPermitted,
    /// Queued work failed.
    Failed,
    /// The configuration is invalid, or a call of the system failed.
    System,
}

impl Error {
    /// Returns the kind of this error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::OutOfMemory { .. } | Self::OutOfHostMemory => ErrorKind::OutOfMemory,
            Self::EventNotReady { .. } => ErrorKind::NotReady,
            Self::TaskFailed { .. } | Self::Collective { is_callers: false, .. } => ErrorKind::Failed,
            Self::Config { .. } | Self::Threads { .. } | Self::TooManyHandles { .. } | Self::Io { .. } => {
                ErrorKind::System
            }
            Self::ShutDown
            | Self::BlockingInCallback { .. }
            | Self::CapturedEvent { .. }
            | Self::NotCapturing { .. }
            | Self::AlreadyCapturing { .. }
            | Self::CaptureUnsupported { .. }
            | Self::CaptureInvalidated { .. }
            | Self::CaptureIsolation { .. }
            | Self::CaptureMerge { .. }
            | Self::CaptureUnjoined
            | Self::CaptureWrongThread { .. }
            | Self::CaptureWrongStream { .. } => ErrorKind::NotPermitted,
            Self::Collective { is_callers: true, .. }
            | Self::UnknownDevice { .. }
            | Self::InvalidHandle { .. }
            | Self::WrongDevice { .. }
            | Self::DefaultStream { .. }
            | Self::NullPointer { .. }
            | Self::UnknownPointer { .. }
            | Self::DoubleFree { .. }
            | Self::NotStart { .. }
            | Self::PointerOnOtherDevice { .. }
            | Self::WrongSpace { .. }
            | Self::OutOfBounds { .. }
            | Self::SizeMismatch { .. }
            | Self::EventNotRecorded { .. }
            | Self::UnknownCaptureMode { .. } => ErrorKind::InvalidArgument,
        }
    }
}
