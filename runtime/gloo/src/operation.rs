//! The operations of a group.

use std::fmt;

use tenon::DevicePtr;
use tenon::device::{DataType, ReduceOp};

use crate::error::{Error, Result};
use crate::reduction::Reduction;

/// Elements in memory that the host can access.
#[derive(Clone, Copy, Debug)]
pub struct Buffer {
    /// The first element.
    pub data: DevicePtr,
    /// Number of elements.
    pub count: usize,
    /// The type of the elements.
    pub data_type: DataType,
}

impl Buffer {
    /// Describes elements.
    pub fn new(data: DevicePtr, count: usize, data_type: DataType) -> Self {
        Self { data, count, data_type }
    }

    /// Describes a buffer for each rank.
    pub fn list(data: &[DevicePtr], counts: &[usize], data_types: &[DataType]) -> Vec<Self> {
        let each = data.iter().zip(counts).zip(data_types);
        each.map(|((data, count), data_type)| Self::new(*data, *count, *data_type)).collect()
    }

    /// Returns as many elements of the same type from the same place.
    #[must_use]
    pub fn with_count(self, count: usize) -> Self {
        Self { count, ..self }
    }

    /// Returns the size in bytes.
    ///
    /// # Errors
    /// If the type has no size, or the elements are more than memory has.
    pub fn bytes(&self) -> Result<usize> {
        let size = self.data_type.size().ok_or_else(|| {
            Error::Invalid(format!("elements of the type {:?} have no size", self.data_type))
        })?;
        let bytes = size.checked_mul(self.count).filter(|&bytes| isize::try_from(bytes).is_ok());
        bytes.ok_or_else(|| Error::Invalid(format!("{} elements are more than memory has", self.count)))
    }

    pub(crate) fn address(&self) -> usize {
        self.data.addr()
    }
}

impl fmt::Display for Buffer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {:?}", self.count, self.data_type)
    }
}

/// A buffer of an operation, as one member uses it.
#[derive(Clone, Copy, Debug)]
pub struct Use {
    /// The buffer.
    pub buffer: Buffer,
    /// True if the member's data is in it before.
    pub is_read: bool,
    /// True if the results are in it afterwards.
    pub is_written: bool,
}

impl Use {
    fn read(buffer: Buffer) -> Self {
        Self { buffer, is_read: true, is_written: false }
    }

    fn written(buffer: Buffer) -> Self {
        Self { buffer, is_read: false, is_written: true }
    }
}

/// A collective or a message. Buffers named `send` are only read.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the functions of the device API have the same names and parameters")]
pub enum Operation {
    AllReduce {
        send: Buffer,
        receive: DevicePtr,
        op: ReduceOp,
    },
    Reduce {
        send: Buffer,
        receive: DevicePtr,
        op: ReduceOp,
        root: usize,
    },
    Broadcast {
        buffer: Buffer,
        root: usize,
    },
    /// `receive` has room for the elements of all members.
    AllGather {
        send: Buffer,
        receive: DevicePtr,
    },
    /// `receive` is the part of this member; `send` has as many elements for each member.
    ReduceScatter {
        send: DevicePtr,
        receive: Buffer,
        op: ReduceOp,
    },
    /// A buffer to and from each member.
    AllToAll {
        send: Vec<Buffer>,
        receive: Vec<Buffer>,
    },
    Send {
        send: Buffer,
        to: usize,
    },
    Receive {
        receive: Buffer,
        from: usize,
    },
}

impl Operation {
    /// Checks the ranks, the sizes and the type for a group of `members`.
    pub(crate) fn check(&self, members: usize) -> Result<()> {
        let member = |rank: usize| {
            let text = || format!("there is no rank {rank} in a group of {members}");
            if rank < members { Ok(()) } else { Err(Error::Invalid(text())) }
        };
        let of_all = |part: &Buffer| part.with_count(part.count.saturating_mul(members)).bytes().map(drop);
        match self {
            Self::AllReduce { send, op, .. } => {
                Reduction::of(send.data_type, *op)?;
                send.bytes().map(drop)
            }
            Self::Reduce { send, op, root, .. } => {
                member(*root)?;
                Reduction::of(send.data_type, *op)?;
                send.bytes().map(drop)
            }
            Self::Broadcast { buffer, root } => {
                member(*root)?;
                buffer.bytes().map(drop)
            }
            Self::AllGather { send, .. } => of_all(send),
            Self::ReduceScatter { receive, op, .. } => {
                Reduction::of(receive.data_type, *op)?;
                of_all(receive)
            }
            Self::AllToAll { send, receive } => {
                if send.len() != members || receive.len() != members {
                    return Err(Error::Invalid(format!("there are {members} members, so as many buffers")));
                }
                send.iter().chain(receive).try_for_each(|buffer| buffer.bytes().map(drop))
            }
            Self::Send { send, to } => {
                member(*to)?;
                send.bytes().map(drop)
            }
            Self::Receive { receive, from } => {
                member(*from)?;
                receive.bytes().map(drop)
            }
        }
    }

    /// Returns the buffers that a member of a group of `members` uses.
    pub fn uses(&self, rank: usize, members: usize) -> Vec<Use> {
        let of_all = |part: &Buffer| part.with_count(part.count.saturating_mul(members));
        match self {
            Self::AllReduce { send, receive, .. } => {
                vec![Use::read(*send), Use::written(Buffer { data: *receive, ..*send })]
            }
            Self::Reduce { send, receive, root, .. } => {
                // The others have no results.
                let results = (rank == *root).then_some(Use::written(Buffer { data: *receive, ..*send }));
                [Use::read(*send)].into_iter().chain(results).collect()
            }
            Self::Broadcast { buffer, root } => {
                vec![if rank == *root { Use::read(*buffer) } else { Use::written(*buffer) }]
            }
            Self::AllGather { send, receive } => {
                vec![Use::read(*send), Use::written(Buffer { data: *receive, ..of_all(send) })]
            }
            Self::ReduceScatter { send, receive, .. } => {
                vec![Use::read(Buffer { data: *send, ..of_all(receive) }), Use::written(*receive)]
            }
            Self::AllToAll { send, receive } => {
                let (send, receive) = (send.iter().copied(), receive.iter().copied());
                send.map(Use::read).chain(receive.map(Use::written)).collect()
            }
            Self::Send { send, .. } => vec![Use::read(*send)],
            Self::Receive { receive, .. } => vec![Use::written(*receive)],
        }
    }

    /// Returns the operation with its buffers at other places, in the order of [`uses`](Self::uses).
    #[must_use]
    pub(crate) fn moved(&self, places: &[DevicePtr]) -> Self {
        let mut moved = self.clone();
        let mut places = places.iter().copied();
        let mut move_to_next = |data: &mut DevicePtr| *data = places.next().unwrap_or(*data);
        match &mut moved {
            Self::AllReduce { send, receive, .. }
            | Self::Reduce { send, receive, .. }
            | Self::AllGather { send, receive } => {
                move_to_next(&mut send.data);
                move_to_next(receive);
            }
            Self::ReduceScatter { send, receive, .. } => {
                move_to_next(send);
                move_to_next(&mut receive.data);
            }
            Self::AllToAll { send, receive } => {
                send.iter_mut().chain(receive).for_each(|buffer| move_to_next(&mut buffer.data));
            }
            Self::Broadcast { buffer, .. }
            | Self::Send { send: buffer, .. }
            | Self::Receive { receive: buffer, .. } => {
                move_to_next(&mut buffer.data);
            }
        }
        moved
    }

    /// Returns true for a message between two members.
    pub(crate) fn is_message(&self) -> bool {
        matches!(self, Self::Send { .. } | Self::Receive { .. })
    }
}

/// Describes the operation. All members of a group describe a collective alike, or they do not call the same.
impl fmt::Display for Operation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AllReduce { send, op, .. } => write!(formatter, "all_reduce of {send} ({op:?})"),
            Self::Reduce { send, op, root, .. } => {
                write!(formatter, "reduce of {send} ({op:?}) to rank {root}")
            }
            Self::Broadcast { buffer, root } => write!(formatter, "broadcast of {buffer} from rank {root}"),
            Self::AllGather { send, .. } => write!(formatter, "all_gather of {send}"),
            Self::ReduceScatter { receive, op, .. } => {
                write!(formatter, "reduce_scatter of {receive} for each member ({op:?})")
            }
            Self::AllToAll { .. } => formatter.write_str("all_to_all"),
            Self::Send { send, to } => write!(formatter, "send of {send} to rank {to}"),
            Self::Receive { receive, from } => write!(formatter, "receive of {receive} from rank {from}"),
        }
    }
}
