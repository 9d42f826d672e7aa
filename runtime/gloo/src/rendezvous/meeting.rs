//! Brings processes together that only know an address: rank 0 listens there, and hands the id of the group to the others.

use std::fmt::Display;
use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream, ToSocketAddrs as _};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use super::listener::Listener;
use super::wire::{LONGEST, bad, receive, send};
use crate::error::{Error, Result};
use crate::settings;

/// Marks the messages of both sides, with their version.
const GREETING: [u8; 8] = *b"tenonmt1";
/// The pause before a process tries again to connect.
const RETRY: Duration = Duration::from_millis(20);
/// The time that rank 0 has after the time limit to say who is missing.
const GRACE: Duration = Duration::from_secs(5);

/// Brings the processes of a new group together at the address `HOST:PORT`, where rank 0 listens. Returns when all have
/// come: the bytes that rank 0 has made with `make_id`.
///
/// The address can be used again for the next group. Strangers that know it can take a place in the group, so it must be
/// in a private network.
///
/// # Errors
/// If the address or a rank is wrong, the processes disagree about the size, or they do not all come within the time limit
/// (`TENON_COMM_TIMEOUT`). If `make_id` fails, all processes get its error.
pub fn meet<E: From<Error> + Display>(
    address: &str,
    rank: usize,
    size: usize,
    make_id: impl FnOnce() -> std::result::Result<Vec<u8>, E>,
) -> std::result::Result<Vec<u8>, E> {
    if rank >= size || size > LONGEST {
        return Err(Error::Invalid(format!("there is no rank {rank} in a group of {size}")).into());
    }
    if let Err(reason) = address.to_socket_addrs()
        && reason.kind() == io::ErrorKind::InvalidInput
    {
        let text = format!("`{address}` is not an address such as 192.168.0.1:6170: {reason}");
        return Err(Error::Invalid(text).into());
    }
    if size == 1 {
        return make_id();
    }
    let limit = settings::timeout()?;
    if rank == 0 { host(address, size, limit, make_id) } else { Ok(visit(address, rank, size, limit)?) }
}

/// A process that has come.
struct Visitor {
    rank: usize,
    size: usize,
    connection: TcpStream,
}

/// Waits for the others, and gives them the id.
fn host<E: From<Error> + Display>(
    address: &str,
    size: usize,
    limit: Duration,
    make_id: impl FnOnce() -> std::result::Result<Vec<u8>, E>,
) -> std::result::Result<Vec<u8>, E> {
    let failed = |reason| Error::NotListening { address: address.to_owned(), reason };
    let listener = Listener::bind(address).map_err(failed)?;
    let (coming, come) = mpsc::channel();
    let serve = move |[rank, size]: [usize; 2], connection| {
        // The receiver has gone if the group is complete or has failed.
        let _ = coming.send(Visitor { rank, size, connection });
    };
    listener.start(|connection| read_visit(&mut &*connection), serve).map_err(failed)?;
    let (visitors, gathered) = gather(&come, size, limit);
    // Closed before anybody can come for the next group.
    listener.close();
    drop(listener);
    let outcome = gathered.map_err(E::from).and_then(|()| match reached_at(&visitors) {
        Some(own) => settings::reachable_at(own, make_id),
        None => make_id(),
    });
    for visitor in &visitors {
        // A process that has ended hears nothing.
        let _ = match &outcome {
            Ok(id) => answer(&visitor.connection, 0, id),
            Err(error) => answer(&visitor.connection, 1, error.to_string().as_bytes()),
        };
    }
    outcome
}

/// Waits for the other ranks. Returns those that have come, and why some are missing.
fn gather(come: &mpsc::Receiver<Visitor>, size: usize, limit: Duration) -> (Vec<Visitor>, Result<()>) {
    let deadline = Instant::now() + limit;
    let mut visitors: Vec<Visitor> = Vec::new();
    while visitors.len() + 1 < size {
        let left = deadline.saturating_duration_since(Instant::now());
        match come.recv_timeout(left) {
            Ok(visitor) => match refusal(&visitor, &visitors, size) {
                // It has the answer, or has ended.
                Some(reason) => drop(answer(&visitor.connection, 1, reason.as_bytes())),
                None => visitors.push(visitor),
            },
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                let is_missing = |rank: &usize| visitors.iter().all(|visitor| visitor.rank != *rank);
                let missing = super::missing((1..size).filter(is_missing), size);
                return (visitors, Err(Error::Incomplete { limit, missing }));
            }
        }
    }
    (visitors, Ok(()))
}

/// Returns why a process cannot be let in.
fn refusal(visitor: &Visitor, others: &[Visitor], size: usize) -> Option<String> {
    if visitor.size != size {
        Some(format!("it says that the group has {} members, but rank 0 says {size}", visitor.size))
    } else if visitor.rank == 0 || visitor.rank >= size {
        Some(format!("ranks from 1 to {} are expected", size - 1))
    } else {
        let is_known = others.iter().any(|other| other.rank == visitor.rank);
        is_known.then(|| "another process has this rank".to_owned())
    }
}

/// Returns the address of this machine that the others use, one that other machines reach if there is one.
fn reached_at(visitors: &[Visitor]) -> Option<IpAddr> {
    let own: Vec<IpAddr> =
        visitors.iter().filter_map(|visitor| Some(visitor.connection.local_addr().ok()?.ip())).collect();
    own.iter().find(|address| !address.is_loopback()).or(own.first()).copied()
}

/// Asks rank 0 for the id.
fn visit(address: &str, rank: usize, size: usize, limit: Duration) -> Result<Vec<u8>> {
    let deadline = Instant::now() + limit;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        // Asked each time, because the name server of a machine that starts may not know all names yet.
        let asked = address.to_socket_addrs().and_then(|places| {
            let mut failure = io::ErrorKind::NotFound.into();
            for place in places {
                match ask(place, rank, size, left + GRACE) {
                    Err(reason) => failure = reason,
                    answer => return answer,
                }
            }
            Err(failure)
        });
        match asked {
            Ok(Ok(id)) => return Ok(id),
            Ok(Err(reason)) => return Err(Error::Refused { rank, reason }),
            Err(reason) if left.is_zero() => {
                return Err(Error::NotMet { address: address.to_owned(), limit, reason });
            }
            Err(_) => thread::sleep(RETRY.min(left)),
        }
    }
}

/// Returns the id, or why rank 0 refuses this process. An error is one of the connection: rank 0 may not be there yet.
fn ask(
    place: SocketAddr,
    rank: usize,
    size: usize,
    limit: Duration,
) -> io::Result<std::result::Result<Vec<u8>, String>> {
    let mut connection = TcpStream::connect_timeout(&place, limit)?;
    if connection.local_addr()? == place {
        // Without a listener, the system may connect a socket with itself if its port is that of the address.
        connection.shutdown(Shutdown::Both)?;
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    connection.set_nodelay(true)?;
    connection.set_read_timeout(Some(limit))?;
    let message = [&GREETING[..], &(rank as u64).to_le_bytes(), &(size as u64).to_le_bytes()].concat();
    send(&mut connection, &message)?;
    let reply = receive(&mut connection)?;
    match reply.strip_prefix(&GREETING).and_then(<[u8]>::split_first) {
        Some((0, id)) => Ok(Ok(id.to_vec())),
        Some((_, reason)) => Ok(Err(String::from_utf8_lossy(reason).into_owned())),
        None => Err(bad("what listens there is not rank 0 of a group")),
    }
}

/// Reads the rank and the size that a process has.
fn read_visit(connection: &mut impl io::Read) -> io::Result<[usize; 2]> {
    let message = receive(connection)?;
    let rest = message.strip_prefix(&GREETING).ok_or_else(|| bad("it is no member"))?;
    let ([rank, size], []) = rest.as_chunks::<8>() else { return Err(bad("a message has a wrong length")) };
    let number = |bytes: &[u8; 8]| {
        usize::try_from(u64::from_le_bytes(*bytes)).map_err(|_| bad("a number is too large"))
    };
    Ok([number(rank)?, number(size)?])
}

fn answer(connection: &TcpStream, kind: u8, content: &[u8]) -> io::Result<()> {
    send(&mut &*connection, &[&GREETING[..], &[kind], content].concat())
}
