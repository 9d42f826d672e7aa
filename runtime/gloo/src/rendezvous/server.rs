//! The server of a root id.

use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tenon::support::{Condvar, Mutex};

use super::id::RootId;
use super::listener::Listener;
use super::wire::{Hello, LONGEST, MemberState, Presence, Reply, Request};

/// Serves one group. Ends when it is dropped.
pub(crate) struct Server {
    pub(crate) id: RootId,
    shared: Arc<Shared>,
}

struct Shared {
    listener: Arc<Listener>,
    limit: Duration,
    group: Mutex<Group>,
    changed: Condvar,
}

#[derive(Default)]
struct Group {
    /// Empty until the first member has come, and then one entry for each rank.
    members: Vec<Option<Member>>,
    root: u32,
    is_closed: bool,
}

struct Member {
    addresses: Vec<u8>,
    is_connected: bool,
    state: MemberState,
    heard: Instant,
    /// Where replies go: one at a time.
    replies: Arc<Mutex<TcpStream>>,
}

impl Group {
    fn missing(&self) -> String {
        let ranks = self.members.iter().enumerate().filter(|(_, member)| member.is_none());
        super::missing(ranks.map(|(rank, _)| rank), self.members.len())
    }

    fn is_complete(&self) -> bool {
        self.members.iter().all(Option::is_some)
    }

    /// Returns the ranks that have not connected to all others.
    fn unconnected(&self) -> Vec<usize> {
        let waits = |member: &Option<Member>| member.as_ref().is_none_or(|member| !member.is_connected);
        let ranks = self.members.iter().enumerate().filter(|(_, member)| waits(member));
        ranks.map(|(rank, _)| rank).collect()
    }

    fn states(&self) -> Vec<MemberState> {
        let state = |member: &Member| MemberState { silent: member.heard.elapsed(), ..member.state.clone() };
        self.members.iter().flatten().map(state).collect()
    }
}

impl Server {
    /// Starts a server on a free port of an address. `limit`: how long members wait for each other.
    pub(crate) fn start(address: IpAddr, limit: Duration) -> io::Result<Self> {
        let listener = Listener::bind(SocketAddr::new(address, 0))?;
        let id = RootId::new(listener.address()?)?;
        let shared = Arc::new(Shared {
            listener: listener.clone(),
            limit,
            group: Mutex::default(),
            changed: Condvar::new(),
        });
        let serving = shared.clone();
        listener.start(
            move |connection| greet(connection, &id.secret),
            move |hello, connection| serving.serve(hello, connection),
        )?;
        Ok(Self { id, shared })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let mut group = self.shared.group.lock();
        group.is_closed = true;
        // If the root leaves because of another member, the others learn which one.
        let goodbye = Reply::Goodbye(group.states());
        for member in group.members.iter().flatten() {
            let replies = member.replies.lock();
            // A member that has ended hears nothing.
            let _ = goodbye.write(&mut &*replies);
            let _ = replies.shutdown(Shutdown::Both);
        }
        drop(group);
        self.shared.changed.notify_all();
        self.shared.listener.close();
    }
}

/// Reads the first message of a member, which has the secret.
fn greet(connection: &TcpStream, secret: &[u8; 16]) -> io::Result<Hello> {
    match Request::read(&mut &*connection)? {
        Request::Hello(hello) if hello.secret == *secret => Ok(hello),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

impl Shared {
    /// Lets a member in, and answers it until it leaves or ends.
    fn serve(&self, hello: Hello, connection: TcpStream) {
        let Ok(writing) = connection.try_clone() else { return };
        let rank = hello.rank as usize;
        let replies = Arc::new(Mutex::new(writing));
        let answer = |reply: &Reply| reply.write(&mut &*replies.lock());
        let joined = self.admit(hello, &replies).unwrap_or_else(|reply| reply);
        let is_member = matches!(joined, Reply::Joined { .. });
        if answer(&joined).is_err() || !is_member || connection.set_read_timeout(None).is_err() {
            return;
        }
        let presence = loop {
            match Request::read(&mut &connection) {
                Ok(Request::State { calls, operation }) => {
                    let states = {
                        let mut group = self.group.lock();
                        if let Some(member) = &mut group.members[rank] {
                            (member.state.calls, member.state.operation) = (calls, operation);
                            member.heard = Instant::now();
                        }
                        group.states()
                    };
                    // A failure shows when the next message is read.
                    let _ = answer(&Reply::Members(states));
                }
                Ok(Request::Connected) => {
                    if let Err(reply) = self.connected(rank) {
                        let _ = answer(&reply);
                    }
                }
                Ok(Request::Leave) => break Presence::Left,
                Ok(Request::Hello(_)) | Err(_) => break Presence::Gone,
            }
        };
        if let Some(member) = &mut self.group.lock().members[rank] {
            member.state.presence = presence;
        }
        self.changed.notify_all();
    }

    /// Notes that a member has connected to all others, and waits until all have. The last one answers all.
    ///
    /// A member that has all its connections might leave at once, while others still make theirs to it.
    fn connected(&self, rank: usize) -> Result<(), Reply> {
        let deadline = Instant::now() + self.limit;
        let mut group = self.group.lock();
        if let Some(member) = &mut group.members[rank] {
            member.is_connected = true;
        }
        if group.unconnected().is_empty() {
            for member in group.members.iter().flatten() {
                // A member that has ended need not know. The lock keeps the root's farewell back.
                let _ = Reply::Complete.write(&mut &*member.replies.lock());
            }
        }
        self.changed.notify_all();
        loop {
            let missing = group.unconnected();
            if missing.is_empty() {
                return Ok(());
            }
            if group.is_closed {
                return Err(Reply::Refused("the root has left".to_owned()));
            }
            let has_ended = |rank: &&usize| {
                let member = group.members[**rank].as_ref();
                member.is_none_or(|member| member.state.presence != Presence::Here)
            };
            if let Some(ended) = missing.iter().find(has_ended) {
                return Err(Reply::Refused(format!("rank {ended} has not connected to all others")));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Reply::Missing(super::missing(missing.into_iter(), group.members.len())));
            }
            (group, _) = self.changed.wait_timeout(group, left);
        }
    }

    /// Adds a member, and waits for the others. Fails with a refusal.
    fn admit(&self, hello: Hello, replies: &Arc<Mutex<TcpStream>>) -> Result<Reply, Reply> {
        let refuse = |reason: String| Err(Reply::Refused(reason));
        let (rank, size) = (hello.rank as usize, hello.size as usize);
        let mut group = self.group.lock();
        if group.is_closed {
            return refuse("the group has ended".to_owned());
        }
        if group.members.is_empty() {
            // A member with the secret is trusted, but not with all memory.
            if size == 0 || size > LONGEST {
                return refuse(format!("a group of {size} is not possible"));
            }
            group.members.resize_with(size, || None);
        }
        if group.members.len() != size {
            return refuse(format!(
                "it says that the group has {size} members, but others say {}",
                group.members.len()
            ));
        }
        if rank >= size {
            return refuse(format!("the group has {size} members"));
        }
        if group.members[rank].is_some() {
            return refuse("another process has this rank".to_owned());
        }
        if hello.is_root {
            group.root = hello.rank;
        }
        let state = MemberState {
            presence: Presence::Here,
            silent: Duration::ZERO,
            calls: 0,
            operation: String::new(),
        };
        group.members[rank] = Some(Member {
            addresses: hello.addresses,
            is_connected: false,
            state,
            heard: Instant::now(),
            replies: replies.clone(),
        });
        self.changed.notify_all();
        let deadline = Instant::now() + self.limit;
        while !group.is_complete() && !group.is_closed {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                // The rank is free again for a process that tries once more.
                let missing = group.missing();
                group.members[rank] = None;
                return Err(Reply::Missing(missing));
            }
            (group, _) = self.changed.wait_timeout(group, left);
        }
        if group.is_closed {
            return refuse("the root has left".to_owned());
        }
        self.listener.close();
        let mut addresses = Vec::new();
        for member in group.members.iter().flatten() {
            let length = member.addresses.len() / size;
            addresses.extend(&member.addresses[rank * length..(rank + 1) * length]);
        }
        Ok(Reply::Joined { root: group.root, addresses })
    }
}
