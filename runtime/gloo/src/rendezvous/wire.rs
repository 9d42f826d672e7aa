//! The messages between the members of a group and the server of its root.
//!
//! A message is its length in four bytes and then its bytes, of which the first is its kind. Numbers are little-endian.

use std::io::{self, Read, Write};
use std::time::Duration;

/// Marks the first message of a member.
const GREETING: [u8; 8] = *b"tenoncc1";

/// Longest first message, and longest message at all: a process that is no member cannot make the server reserve more.
pub(super) const LONGEST: usize = 1 << 20;

/// A message of a member.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// The first one.
    Hello(Hello),
    /// What the member does now. The server answers with what the others do.
    State { calls: u64, operation: String },
    /// The member has connected to all others. The server answers when all have.
    Connected,
    /// The member leaves the group.
    Leave,
}

/// The first message of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hello {
    pub(super) secret: [u8; 16],
    pub(super) rank: u32,
    pub(super) size: u32,
    /// True for the member in the process of the server.
    pub(super) is_root: bool,
    /// The addresses at which the member expects the others, in the order of their ranks, each of the same length.
    pub(super) addresses: Vec<u8>,
}

/// A message of the server.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// All members have come: the addresses at which they expect this one, in the order of their ranks.
    Joined { root: u32, addresses: Vec<u8> },
    /// The member cannot join.
    Refused(String),
    /// The group did not come together: the ranks that are missing.
    Missing(String),
    /// All members have connected to each other.
    Complete,
    /// What the members do.
    Members(Vec<MemberState>),
    /// The root leaves the group, and its server ends. What the members did until then.
    Goodbye(Vec<MemberState>),
}

/// What is known of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemberState {
    pub(crate) presence: Presence,
    /// The time since its last message.
    pub(crate) silent: Duration,
    /// The number of collectives that it has begun, and the description of the last one.
    pub(crate) calls: u64,
    pub(crate) operation: String,
}

/// Whether a member takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// It is connected.
    Here,
    /// It has left the group.
    Left,
    /// Its connection ended without a farewell.
    Gone,
}

impl Request {
    pub(super) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let mut message = Vec::new();
        match self {
            Self::Hello(hello) => {
                message.push(1);
                message.extend(GREETING);
                message.extend(hello.secret);
                message.extend(hello.rank.to_le_bytes());
                message.extend(hello.size.to_le_bytes());
                message.push(u8::from(hello.is_root));
                message.extend(&hello.addresses);
            }
            Self::State { calls, operation } => {
                message.push(2);
                message.extend(calls.to_le_bytes());
                message.extend(operation.bytes());
            }
            Self::Leave => message.push(3),
            Self::Connected => message.push(4),
        }
        send(to, &message)
    }

    pub(super) fn read(from: &mut impl Read) -> io::Result<Self> {
        let message = receive(from)?;
        let mut rest = Rest(&message);
        match rest.number::<1>()? {
            [1] => {
                if rest.number::<8>()? != GREETING {
                    return Err(bad("it is no member"));
                }
                let secret = rest.number()?;
                let (rank, size) = (u32::from_le_bytes(rest.number()?), u32::from_le_bytes(rest.number()?));
                let is_root = rest.number::<1>()? == [1];
                Ok(Self::Hello(Hello { secret, rank, size, is_root, addresses: rest.0.to_vec() }))
            }
            [2] => Ok(Self::State { calls: u64::from_le_bytes(rest.number()?), operation: rest.text() }),
            [3] => Ok(Self::Leave),
            [4] => Ok(Self::Connected),
            _ => Err(bad("a message has an unknown kind")),
        }
    }
}

impl Reply {
    pub(super) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let mut message = Vec::new();
        match self {
            Self::Joined { root, addresses } => {
                message.push(1);
                message.extend(root.to_le_bytes());
                message.extend(addresses);
            }
            Self::Refused(reason) => {
                message.push(2);
                message.extend(reason.bytes());
            }
            Self::Missing(ranks) => {
                message.push(3);
                message.extend(ranks.bytes());
            }
            Self::Members(members) | Self::Goodbye(members) => {
                message.push(if matches!(self, Self::Members(_)) { 4 } else { 5 });
                for member in members {
                    message.push(member.presence as u8);
                    message.extend((member.silent.as_millis() as u64).to_le_bytes());
                    message.extend(member.calls.to_le_bytes());
                    message.extend((member.operation.len() as u32).to_le_bytes());
                    message.extend(member.operation.bytes());
                }
            }
            Self::Complete => message.push(6),
        }
        send(to, &message)
    }

    pub(super) fn read(from: &mut impl Read) -> io::Result<Self> {
        let message = receive(from)?;
        let mut rest = Rest(&message);
        match rest.number::<1>()? {
            [1] => {
                let root = u32::from_le_bytes(rest.number()?);
                Ok(Self::Joined { root, addresses: rest.0.to_vec() })
            }
            [2] => Ok(Self::Refused(rest.text())),
            [3] => Ok(Self::Missing(rest.text())),
            [4] => Ok(Self::Members(rest.members()?)),
            [5] => Ok(Self::Goodbye(rest.members()?)),
            [6] => Ok(Self::Complete),
            _ => Err(bad("a message has an unknown kind")),
        }
    }
}

/// The part of a message that was not read.
struct Rest<'m>(&'m [u8]);

impl Rest<'_> {
    fn number<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let (number, rest) = self.0.split_first_chunk().ok_or_else(|| bad("a message is too short"))?;
        self.0 = rest;
        Ok(*number)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(self.0).into_owned()
    }

    fn members(&mut self) -> io::Result<Vec<MemberState>> {
        let mut members = Vec::new();
        while !self.0.is_empty() {
            members.push(self.member()?);
        }
        Ok(members)
    }

    fn member(&mut self) -> io::Result<MemberState> {
        let presence = match self.number::<1>()? {
            [0] => Presence::Here,
            [1] => Presence::Left,
            _ => Presence::Gone,
        };
        let silent = Duration::from_millis(u64::from_le_bytes(self.number()?));
        let calls = u64::from_le_bytes(self.number()?);
        let length = u32::from_le_bytes(self.number()?) as usize;
        let (operation, rest) =
            self.0.split_at_checked(length).ok_or_else(|| bad("a message is too short"))?;
        self.0 = rest;
        Ok(MemberState {
            presence,
            silent,
            calls,
            operation: String::from_utf8_lossy(operation).into_owned(),
        })
    }
}

pub(super) fn send(to: &mut impl Write, message: &[u8]) -> io::Result<()> {
    let length = u32::try_from(message.len()).ok().filter(|&length| length as usize <= LONGEST);
    let length = length.ok_or_else(|| bad("a message is too long"))?;
    to.write_all(&[&length.to_le_bytes()[..], message].concat())
}

pub(super) fn receive(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > LONGEST {
        return Err(bad("a message is too long"));
    }
    // What comes decides how much is reserved, not what is announced.
    let mut message = Vec::new();
    from.take(length as u64).read_to_end(&mut message)?;
    if message.len() < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(message)
}

pub(super) fn bad(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive() {
        let hello = Hello { secret: [7; 16], rank: 1, size: 3, is_root: true, addresses: vec![1, 2, 3] };
        let state = Request::State { calls: 9, operation: "all_reduce".to_owned() };
        for request in [Request::Hello(hello), state, Request::Connected, Request::Leave] {
            let mut bytes = Vec::new();
            request.write(&mut bytes).unwrap();
            assert_eq!(Request::read(&mut &bytes[..]).unwrap(), request);
        }
        let member = MemberState {
            presence: Presence::Gone,
            silent: Duration::from_millis(5),
            calls: 2,
            operation: "reduce".to_owned(),
        };
        for reply in [
            Reply::Joined { root: 1, addresses: vec![4, 5] },
            Reply::Refused("no".to_owned()),
            Reply::Missing("rank 1".to_owned()),
            Reply::Members(vec![member.clone(), member.clone()]),
            Reply::Complete,
            Reply::Goodbye(vec![member]),
        ] {
            let mut bytes = Vec::new();
            reply.write(&mut bytes).unwrap();
            assert_eq!(Reply::read(&mut &bytes[..]).unwrap(), reply);
        }
    }

    #[test]
    fn messages_that_are_cut_or_too_long_are_errors() {
        let mut bytes = Vec::new();
        Request::State { calls: 9, operation: "all_reduce".to_owned() }.write(&mut bytes).unwrap();
        for length in 0..bytes.len() {
            assert!(Request::read(&mut &bytes[..length]).is_err(), "{length}");
        }
        assert!(Request::read(&mut &b"GET / HTTP/1.1\r\n\r\n"[..]).is_err());
        assert!(Request::read(&mut &[255, 255, 255, 255, 1][..]).is_err());
    }
}
