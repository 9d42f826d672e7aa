//! The connection of a member to the server of its group.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use super::id::RootId;
use super::wire::{Hello, MemberState, Reply, Request};
use crate::error::{Error, Result};

/// How long the server may take for an answer that it need not wait for.
const ANSWER: Duration = Duration::from_secs(5);

/// A member of a group, connected to its server.
pub(crate) struct Membership {
    connection: TcpStream,
    rank: usize,
    /// The rank in whose process the server is.
    pub(crate) root: usize,
}

/// An answer of the server.
pub(crate) enum Heard {
    /// What the members do, in the order of their ranks.
    Members(Vec<MemberState>),
    /// The root has left the group. What the members did until then.
    RootLeft(Vec<MemberState>),
    /// The process of the root has ended.
    RootGone,
    /// The server does not answer.
    Silence,
}

impl Membership {
    /// Connects to the server of a root id.
    ///
    /// # Errors
    /// If it cannot be reached.
    pub(crate) fn connect(id: &RootId, limit: Duration) -> Result<TcpStream> {
        TcpStream::connect_timeout(&id.address, limit)
            .and_then(|connection| connection.set_nodelay(true).map(|()| connection))
            .map_err(|reason| Error::Unreachable { address: id.address, reason })
    }

    /// Joins the group with the addresses at which this member expects the others. Returns those at which the others
    /// expect this one, when all have come.
    ///
    /// # Errors
    /// If the server refuses this member, or not all come within the limit.
    pub(crate) fn join(
        mut connection: TcpStream,
        id: &RootId,
        [rank, size]: [usize; 2],
        is_root: bool,
        addresses: Vec<u8>,
        limit: Duration,
    ) -> Result<(Self, Vec<u8>)> {
        let unreachable = |reason| Error::Unreachable { address: id.address, reason };
        let hello = Hello { secret: id.secret, rank: rank as u32, size: size as u32, is_root, addresses };
        connection.set_write_timeout(Some(ANSWER)).map_err(unreachable)?;
        // The server says who is missing; it comes first.
        connection.set_read_timeout(Some(limit + ANSWER)).map_err(unreachable)?;
        Request::Hello(hello).write(&mut connection).map_err(unreachable)?;
        match Reply::read(&mut connection).map_err(unreachable)? {
            Reply::Joined { root, addresses } => {
                Ok((Self { connection, rank, root: root as usize }, addresses))
            }
            reply => Err(refusal(reply, rank, limit)),
        }
    }

    /// Says that this member has connected to all others. Returns when all members have.
    ///
    /// # Errors
    /// If a member ends before, or not all have within the limit.
    pub(crate) fn connected(&mut self, limit: Duration) -> Result<()> {
        let lost = |reason| Error::System { action: "the connection to the root is lost", reason };
        Request::Connected.write(&mut self.connection).map_err(lost)?;
        match Reply::read(&mut self.connection).map_err(lost)? {
            Reply::Complete => self.connection.set_read_timeout(Some(ANSWER)).map_err(lost),
            reply => Err(refusal(reply, self.rank, limit)),
        }
    }

    /// Tells the server what this member does, and hears what the others do.
    pub(crate) fn exchange(&mut self, calls: u64, operation: &str) -> Heard {
        let request = Request::State { calls, operation: operation.to_owned() };
        // A connection that the server closed can still have its farewell.
        let sent = request.write(&mut self.connection);
        match (Reply::read(&mut self.connection), sent) {
            (Ok(Reply::Members(members)), _) => Heard::Members(members),
            (Ok(Reply::Goodbye(members)), _) => Heard::RootLeft(members),
            (Err(error), Ok(()))
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
            {
                // A late answer would be taken for that of the next question.
                let _ = self.connection.shutdown(Shutdown::Both);
                Heard::Silence
            }
            _ => Heard::RootGone,
        }
    }

    /// Says that this member leaves the group.
    pub(crate) fn leave(mut self) {
        // A server that has ended need not know.
        let _ = Request::Leave.write(&mut self.connection);
    }
}

/// Returns why the server does not let a member in.
fn refusal(reply: Reply, rank: usize, limit: Duration) -> Error {
    match reply {
        Reply::Missing(missing) => Error::Incomplete { limit, missing },
        Reply::Refused(reason) => Error::Refused { rank, reason },
        Reply::Goodbye(_) => Error::Refused { rank, reason: "the root has left".to_owned() },
        Reply::Joined { .. } | Reply::Complete | Reply::Members(_) => {
            Error::Refused { rank, reason: "its answer is not understood".to_owned() }
        }
    }
}
