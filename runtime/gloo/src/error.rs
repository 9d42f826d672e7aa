//! The errors of collectives.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use tenon::device::{DataType, ReduceOp};

/// The result of a call.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why a call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no gloo that can be used.
    #[error("this process has no collectives: {0}")]
    NoEngine(#[from] NoEngine),

    /// An environment variable has a value that is not understood.
    #[error("{variable}={value}: {reason}")]
    Variable {
        /// Its name.
        variable: &'static str,
        /// Its value.
        value: String,
        /// What is wrong.
        reason: String,
    },

    /// A rank, a size or a buffer is wrong.
    #[error("{0}")]
    Invalid(String),

    /// Elements of a type have no such reduction.
    #[error("elements of the type {data_type:?} have no reduction {op:?}")]
    NoReduction {
        /// The type.
        data_type: DataType,
        /// The reduction.
        op: ReduceOp,
    },

    /// The bytes are not a root id of this library.
    #[error("the root id is not one of this library, or of another version")]
    NotAnId,

    /// The server of the root cannot be reached.
    #[error("cannot reach the root of the group at {address}: {reason}")]
    Unreachable {
        /// Its address.
        address: SocketAddr,
        /// What went wrong.
        reason: io::Error,
    },

    /// Rank 0 cannot wait for the others at the address of a meeting.
    #[error("rank 0 cannot listen at {address}: {reason}")]
    NotListening {
        /// The address, as the program gave it.
        address: String,
        /// What went wrong.
        reason: io::Error,
    },

    /// Rank 0 was not found at the address of a meeting.
    #[error("rank 0 was not found at {address} within {}: {reason}", Seconds(*.limit))]
    NotMet {
        /// The address, as the program gave it.
        address: String,
        /// The time limit.
        limit: Duration,
        /// The last error.
        reason: io::Error,
    },

    /// The server refused this process.
    #[error("the root of the group refuses rank {rank}: {reason}")]
    Refused {
        /// The rank of this process.
        rank: usize,
        /// The server's reason.
        reason: String,
    },

    /// The group did not come together.
    #[error("the group did not come together within {}: {missing}", Seconds(*.limit))]
    Incomplete {
        /// The time limit.
        limit: Duration,
        /// Who is missing.
        missing: String,
    },

    /// A member that has come cannot be reached.
    #[error("cannot connect to rank {member}: {reason}")]
    NotConnected {
        /// Its rank.
        member: usize,
        /// What went wrong.
        reason: Box<Error>,
    },

    /// gloo reported an error.
    #[error("gloo: {0}")]
    Gloo(String),

    /// An operation failed, and the group is unusable since then.
    #[error("{operation} failed on rank {rank} of {size}: {cause}")]
    Broken {
        /// The operation.
        operation: String,
        /// The rank of this process.
        rank: usize,
        /// Number of members.
        size: usize,
        /// Who caused it, or what gloo says.
        cause: String,
    },

    /// A call of which the operation is a part failed.
    #[error("{0}")]
    Failed(String),

    /// The communicator was made by the parent of this process.
    #[error("the communicator was made before the process was forked; make one in this process")]
    Forked,

    /// A bracket of a group of calls was closed without being open.
    #[error("no group of calls was started in this thread")]
    NoBracket,

    /// A system call failed.
    #[error("{action}: {reason}")]
    System {
        /// What was tried.
        action: &'static str,
        /// What went wrong.
        reason: io::Error,
    },
}

impl Error {
    /// Returns true if the caller made a mistake.
    pub fn is_callers(&self) -> bool {
        matches!(self, Self::Invalid(_) | Self::NotAnId | Self::NoBracket | Self::Forked)
    }
}

/// The reason why there is no gloo.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoEngine {
    /// No library was found.
    #[error(
        "no library in the process has gloo, TENON_GLOO is not set, and the system has no libgloo.so.0; \
         on Debian and Ubuntu: apt-get install libgloo0"
    )]
    Absent,
    /// The library that the variable names cannot be used.
    #[error("TENON_GLOO={}: {reason}", path.display())]
    Variable {
        /// The path.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The library of the system cannot be used.
    #[error("libgloo.so.0 cannot be used: {0}")]
    System(String),
    /// The shim cannot be loaded.
    #[error("the functions for gloo cannot be loaded: {0}")]
    Shim(String),
}

/// Shows a duration in seconds.
struct Seconds(Duration);

impl std::fmt::Display for Seconds {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} s", self.0.as_secs_f64())
    }
}
