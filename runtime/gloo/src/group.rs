//! A group of processes: its operations on memory of the host, each complete when it returns.

use std::net::IpAddr;
use std::ptr;
use std::sync::Arc;

use tenon::support::Mutex;

use crate::api::Transfer;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::mesh::Mesh;
use crate::operation::{Buffer, Operation};
use crate::reduction::Reduction;
use crate::rendezvous::{ID_SIZE, Membership, RootId, Server};
use crate::settings;
use crate::watch::Watch;

/// The servers of root ids that no member in this process has joined yet.
static SERVERS: Mutex<Vec<Server>> = Mutex::new(Vec::new());

/// Number of servers that may wait for their group.
const MOST_SERVERS: usize = 64;

/// Size of a root id in bytes.
pub const ROOT_ID_SIZE: usize = ID_SIZE;

/// Makes the root id of a new group, and serves it until this process leaves the group.
///
/// # Errors
/// If there is no gloo, a variable is wrong, or no port is free.
pub fn new_root_id() -> Result<[u8; ROOT_ID_SIZE]> {
    Engine::get()?;
    let failed = |reason| Error::System { action: "cannot serve a root id", reason };
    let server = Server::start(settings::own_address()?, settings::timeout()?).map_err(failed)?;
    let id = server.id.bytes();
    let mut servers = SERVERS.lock();
    if servers.len() >= MOST_SERVERS {
        servers.remove(0);
    }
    servers.push(server);
    Ok(id)
}

/// The membership of this process in a group.
pub struct Group {
    rank: usize,
    size: usize,
    process: u32,
    /// Number of messages to and from each member.
    sent: Vec<u64>,
    received: Vec<u64>,
    connected: Option<Connected>,
    /// Of the group's root. Ended last, so that others hear the farewell after the mesh is closed.
    _server: Option<Server>,
}

/// What a group of more than one process has.
struct Connected {
    /// Ended before the mesh.
    watch: Watch,
    mesh: Arc<Mesh>,
}

impl Group {
    /// Joins the group of a root id. Returns when all members have come.
    ///
    /// # Errors
    /// If there is no gloo, the id or the rank is wrong, the root cannot be reached, or a member does not come within
    /// the time limit.
    pub fn join(id: &[u8], rank: usize, size: usize) -> Result<Self> {
        let id = RootId::from_bytes(id)?;
        if rank >= size || u32::try_from(size).is_err() {
            return Err(Error::Invalid(format!("there is no rank {rank} in a group of {size}")));
        }
        let mut servers = SERVERS.lock();
        let own = servers.iter().position(|server| server.id == id);
        let server = own.map(|index| servers.swap_remove(index));
        drop(servers);
        let joined = Self::connect(&id, [rank, size], server.is_some());
        match joined {
            Ok(connected) => Ok(Self {
                rank,
                size,
                process: std::process::id(),
                sent: vec![0; size],
                received: vec![0; size],
                connected,
                _server: server,
            }),
            Err(error) => {
                // Another call may try once more.
                SERVERS.lock().extend(server);
                Err(error)
            }
        }
    }

    fn connect(id: &RootId, [rank, size]: [usize; 2], is_root: bool) -> Result<Option<Connected>> {
        if size == 1 {
            return Ok(None);
        }
        let (engine, limit) = (Engine::get()?, settings::timeout()?);
        let connection = Membership::connect(id, limit)?;
        let mesh = Mesh::new(engine, own_address(id, is_root)?, [rank, size], limit)?;
        let (membership, addresses) =
            Membership::join(connection, id, [rank, size], is_root, mesh.addresses()?, limit)?;
        mesh.connect(addresses)?;
        let mesh = Arc::new(mesh);
        let closing = mesh.clone();
        let watch = Watch::start(rank, membership, move || closing.close())
            .map_err(|reason| Error::System { action: "cannot start a thread", reason })?;
        Ok(Some(Connected { watch, mesh }))
    }

    /// Returns the number of this member, from 0.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Returns the number of members.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns what closes the group's connections from any thread, which ends a running operation.
    pub(crate) fn closer(&self) -> impl Fn() + Send + Sync + use<> {
        let mesh = self.connected.as_ref().map(|connected| connected.mesh.clone());
        move || {
            if let Some(mesh) = &mesh {
                mesh.close();
            }
        }
    }

    /// Runs operations. Messages are all under way at once, so that members may send to each other; collectives run one
    /// after the other.
    ///
    /// # Safety
    /// The buffers are memory of the process, of the sizes that the operations say, and nothing else uses them during
    /// the call.
    ///
    /// # Errors
    /// [`Error::Broken`] if a member or a connection fails; every later operation fails then.
    pub unsafe fn run(&mut self, operations: &[Operation]) -> Result<()> {
        if self.process != std::process::id() {
            return Err(Error::Forked);
        }
        let messages: Vec<&Operation> =
            operations.iter().filter(|operation| operation.is_message()).collect();
        if !messages.is_empty() {
            let text = messages.iter().map(|operation| operation.to_string()).collect::<Vec<_>>().join(", ");
            // SAFETY: the caller's promise.
            self.watched(&text, true, |group, _| unsafe { group.exchange(&messages) })?;
        }
        for operation in operations.iter().filter(|operation| !operation.is_message()) {
            // SAFETY: the caller's promise.
            self.watched(&operation.to_string(), false, |group, calls| unsafe {
                group.collective(operation, calls)
            })?;
        }
        Ok(())
    }

    /// Runs an operation, and finds out who is to blame if it fails.
    fn watched(
        &mut self,
        operation: &str,
        is_message: bool,
        body: impl FnOnce(&mut Self, u64) -> Result<()>,
    ) -> Result<()> {
        let broken = |group: &Self, cause| Error::Broken {
            operation: operation.to_owned(),
            rank: group.rank,
            size: group.size,
            cause,
        };
        let calls = match &self.connected {
            Some(connected) => {
                connected.watch.begin(operation, is_message).map_err(|cause| broken(self, cause))?
            }
            None => 0,
        };
        let outcome = body(self, calls);
        let Some(connected) = &self.connected else { return outcome };
        match outcome {
            Err(Error::Gloo(reason)) => {
                // Others that wait for this member must not wait until their time limit.
                connected.mesh.close();
                let cause = connected.watch.cause_of_failure(&reason);
                Err(broken(self, cause))
            }
            outcome => {
                connected.watch.end();
                outcome
            }
        }
    }

    /// Runs a collective.
    ///
    /// # Safety
    /// As for [`Group::run`].
    unsafe fn collective(&self, operation: &Operation, calls: u64) -> Result<()> {
        let tag = tag(&operation.to_string(), calls);
        match operation {
            Operation::AllReduce { send, receive, op } => {
                let (reduction, bytes) = (Reduction::of(send.data_type, *op)?, send.bytes()?);
                if bytes == 0 {
                    return Ok(());
                }
                let buffers = [send.address(), receive.addr()];
                match &self.connected {
                    // SAFETY: the caller's promise.
                    Some(connected) => unsafe {
                        let size = bytes / send.count;
                        connected.mesh.all_reduce(
                            buffers,
                            send.count,
                            size,
                            reduction.combine,
                            tag as u32,
                        )?;
                    },
                    // SAFETY: the caller's promise.
                    None => unsafe { copy(buffers, bytes) },
                }
                // SAFETY: the caller's promise.
                unsafe { self.divide(reduction, receive.addr(), send.count) };
                Ok(())
            }
            // SAFETY: the caller's promise.
            Operation::Reduce { send, receive, op, root } => unsafe {
                self.reduce(send, receive.addr(), Reduction::of(send.data_type, *op)?, *root, tag as u32)
            },
            Operation::Broadcast { buffer, root } => {
                let bytes = buffer.bytes()?;
                match &self.connected {
                    // SAFETY: the caller's promise.
                    Some(connected) if bytes > 0 => unsafe {
                        connected.mesh.broadcast(buffer.address(), bytes, *root, tag as u32)
                    },
                    _ => Ok(()),
                }
            }
            Operation::AllGather { send, receive } => {
                let bytes = send.bytes()?;
                let buffers = [send.address(), receive.addr()];
                match &self.connected {
                    _ if bytes == 0 => Ok(()),
                    // SAFETY: the caller's promise.
                    Some(connected) => unsafe { connected.mesh.all_gather(buffers, bytes, tag as u32) },
                    None => {
                        // SAFETY: the caller's promise.
                        unsafe { copy(buffers, bytes) };
                        Ok(())
                    }
                }
            }
            // SAFETY: the caller's promise.
            Operation::ReduceScatter { send, receive, op } => unsafe {
                self.reduce_scatter(send.addr(), receive, Reduction::of(receive.data_type, *op)?, tag)
            },
            // SAFETY: the caller's promise.
            Operation::AllToAll { send, receive } => unsafe { self.all_to_all(send, receive, tag) },
            Operation::Send { .. } | Operation::Receive { .. } => {
                Err(Error::Invalid("a message is no collective".to_owned()))
            }
        }
    }

    /// Reduces to one member. The others have no results, but gloo needs room for partial ones.
    ///
    /// # Safety
    /// As for [`Group::run`].
    unsafe fn reduce(
        &self,
        send: &Buffer,
        receive: usize,
        reduction: Reduction,
        root: usize,
        tag: u32,
    ) -> Result<()> {
        let bytes = send.bytes()?;
        if bytes == 0 {
            return Ok(());
        }
        let Some(connected) = &self.connected else {
            // SAFETY: the caller's promise.
            unsafe { copy([send.address(), receive], bytes) };
            return Ok(());
        };
        let mut scratch = Vec::new();
        let output = if root == self.rank { receive } else { room(&mut scratch, bytes)? };
        let buffers = [send.address(), output];
        // SAFETY: the caller's promise, and the scratch memory has the size.
        unsafe {
            connected.mesh.reduce(buffers, send.count, bytes / send.count, reduction.combine, root, tag)?;
            if root == self.rank {
                self.divide(reduction, receive, send.count);
            }
        }
        Ok(())
    }

    /// Gives each member its part of the reduced buffers: each sends the others their parts, and reduces its own in the
    /// order of the ranks.
    ///
    /// # Safety
    /// As for [`Group::run`].
    unsafe fn reduce_scatter(
        &self,
        send: usize,
        receive: &Buffer,
        reduction: Reduction,
        tag: u64,
    ) -> Result<()> {
        let bytes = receive.bytes()?;
        if bytes == 0 {
            return Ok(());
        }
        let whole = bytes.checked_mul(self.size);
        let whole = whole.ok_or_else(|| Error::Invalid("the buffers are larger than memory".to_owned()))?;
        let own = send + self.rank * bytes;
        let mut scratch = Vec::new();
        let parts = room(&mut scratch, whole - bytes)?;
        let others: Vec<usize> = (0..self.size).filter(|&member| member != self.rank).collect();
        let part_of = |index: usize| parts + index * bytes;
        if let Some(connected) = &self.connected {
            let transfers: Vec<Transfer> = others
                .iter()
                .enumerate()
                .flat_map(|(index, &member)| {
                    [
                        transfer(send + member * bytes, bytes, member, tag, true),
                        transfer(part_of(index), bytes, member, tag, false),
                    ]
                })
                .collect();
            // SAFETY: the caller's promise, and the scratch memory has room for the parts.
            unsafe { connected.mesh.exchange(&transfers)? };
        }
        // The own part has its place in the order: before it come the parts of lower ranks.
        let in_order: Vec<usize> = (0..self.size)
            .map(|member| match member.cmp(&self.rank) {
                std::cmp::Ordering::Less => part_of(member),
                std::cmp::Ordering::Equal => own,
                std::cmp::Ordering::Greater => part_of(member - 1),
            })
            .collect();
        let out = receive.address();
        // The own part may overlap the results, so the sum is computed in the first part that is not its own.
        let sum = if self.size == 1 { own } else { part_of(0) };
        let mut left = in_order[0];
        for &right in &in_order[1..] {
            // SAFETY: all parts have the size; the result lies in one of the scratch memory.
            unsafe {
                (reduction.combine)(sum as *mut _, left as *const _, right as *const _, receive.count);
            }
            left = sum;
        }
        // SAFETY: the caller's promise.
        unsafe {
            copy([sum, out], bytes);
            self.divide(reduction, out, receive.count);
        }
        Ok(())
    }

    /// Exchanges a buffer with each member.
    ///
    /// # Safety
    /// As for [`Group::run`].
    unsafe fn all_to_all(&self, send: &[Buffer], receive: &[Buffer], tag: u64) -> Result<()> {
        let mut transfers = Vec::new();
        for member in 0..self.size {
            let (to, from) = (&send[member], &receive[member]);
            let sizes = [to.bytes()?, from.bytes()?];
            if member == self.rank {
                if sizes[0] != sizes[1] {
                    return Err(Error::Invalid(
                        "the own part has another size where it is received".to_owned(),
                    ));
                }
                // SAFETY: the caller's promise.
                unsafe { copy([to.address(), from.address()], sizes[0]) };
                continue;
            }
            transfers.push(transfer(to.address(), sizes[0], member, tag, true));
            transfers.push(transfer(from.address(), sizes[1], member, tag, false));
        }
        match &self.connected {
            // SAFETY: the caller's promise.
            Some(connected) => unsafe { connected.mesh.exchange(&transfers) },
            None => Ok(()),
        }
    }

    /// Sends and receives messages. Those to this member itself are copied.
    ///
    /// # Safety
    /// As for [`Group::run`].
    unsafe fn exchange(&mut self, messages: &[&Operation]) -> Result<()> {
        let mut transfers = Vec::new();
        let (mut to_self, mut from_self) = (Vec::new(), Vec::new());
        for message in messages {
            let (buffer, member, is_send) = match message {
                Operation::Send { send, to } => (send, *to, true),
                Operation::Receive { receive, from } => (receive, *from, false),
                _ => continue,
            };
            if member == self.rank {
                if is_send { &mut to_self } else { &mut from_self }.push(buffer);
                continue;
            }
            let counter = if is_send { &mut self.sent[member] } else { &mut self.received[member] };
            *counter += 1;
            // A message of another size or type has another tag: it never arrives, instead of arriving in part.
            let tag = tag(&buffer.to_string(), *counter) | 1 << 63;
            transfers.push(transfer(buffer.address(), buffer.bytes()?, member, tag, is_send));
        }
        if to_self.len() != from_self.len() {
            let text = "a message to the own rank needs its receiver in the same group of calls";
            return Err(Error::Invalid(text.to_owned()));
        }
        for (from, to) in to_self.iter().zip(&from_self) {
            if from.bytes()? != to.bytes()? {
                return Err(Error::Invalid(format!("{from} are sent, but {to} are received")));
            }
            // SAFETY: the caller's promise.
            unsafe { copy([from.address(), to.address()], from.bytes()?) };
        }
        match &self.connected {
            // SAFETY: the caller's promise.
            Some(connected) if !transfers.is_empty() => unsafe { connected.mesh.exchange(&transfers) },
            _ => Ok(()),
        }
    }

    /// Makes a mean of a sum.
    ///
    /// # Safety
    /// As for [`Group::run`].
    unsafe fn divide(&self, reduction: Reduction, data: usize, count: usize) {
        if let Some(divide) = reduction.divide {
            // SAFETY: the caller's promise.
            unsafe { divide(data as *mut _, count, self.size) };
        }
    }
}

/// Returns the address at which members find this one. The root's is the one that its id has.
fn own_address(id: &RootId, is_root: bool) -> Result<IpAddr> {
    if is_root { Ok(id.address.ip()) } else { settings::own_address_towards(id.address.ip()) }
}

/// Returns a tag that members have in common only if they call the same operation as the same of all calls. FNV-1a, with
/// both halves mixed into 31 bits: gloo puts a tag of 32 bits into a larger one.
fn tag(operation: &str, calls: u64) -> u64 {
    let bytes = operation.bytes().chain(calls.to_le_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash ^ (hash >> 32)) & 0x7fff_ffff
}

fn transfer(data: usize, bytes: usize, member: usize, tag: u64, is_send: bool) -> Transfer {
    // Members that disagree about the size have other tags. The highest bits keep these tags apart from those of gloo.
    let tag = tag | (bytes as u64 & 0x3fff_ffff) << 32 | 1 << 62;
    Transfer { data: data as *mut _, bytes, tag, member: member as u32, is_send: u32::from(is_send) }
}

/// Reserves memory, and returns its address.
fn room(scratch: &mut Vec<u8>, bytes: usize) -> Result<usize> {
    let refused = |_| Error::Invalid(format!("there is no memory for {bytes} bytes of partial results"));
    scratch.try_reserve_exact(bytes).map_err(refused)?;
    Ok(scratch.as_mut_ptr() as usize)
}

/// Copies bytes; the buffers may overlap.
///
/// # Safety
/// Both buffers have the size.
unsafe fn copy([from, to]: [usize; 2], bytes: usize) {
    if from != to && bytes > 0 {
        // SAFETY: the caller's promise.
        unsafe { ptr::copy(from as *const u8, to as *mut u8, bytes) };
    }
}
