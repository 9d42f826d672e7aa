//! A group of processes: its operations on memory of the host, each complete when it returns.

mod operations;
mod outbox;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tenon::support::Mutex;

use self::operations::tag;
use self::outbox::Outbox;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::mesh::Mesh;
use crate::operation::Operation;
use crate::rendezvous::{ID_SIZE, Membership, RootId, Server};
use crate::settings;
use crate::watch::Watch;

/// The servers of root ids that no member in this process has joined yet.
static SERVERS: Mutex<Vec<Server>> = Mutex::new(Vec::new());

/// How much longer than the time limit gloo waits.
const GRACE: Duration = Duration::from_secs(10);

/// Number of servers that may wait for their group.
const MOST_SERVERS: usize = 64;

/// Size of a root id in bytes.
pub const ROOT_ID_SIZE: usize = ID_SIZE;

/// Makes the root id of a new group, and serves it until this process leaves the group.
///
/// # Errors
/// If a variable is wrong, or no port is free.
pub fn new_root_id() -> Result<[u8; ROOT_ID_SIZE]> {
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

/// Makes a root id as [`new_root_id`] does, and writes it to the caller's buffer.
///
/// # Errors
/// As for [`new_root_id`]; if the buffer is too short.
pub fn write_root_id(buffer: &mut [u8]) -> Result<()> {
    let room = buffer.len();
    let place = buffer.first_chunk_mut().ok_or_else(|| {
        Error::Invalid(format!("the buffer has {room} bytes, but a root id {ROOT_ID_SIZE}"))
    })?;
    *place = new_root_id()?;
    Ok(())
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
    outbox: Arc<Outbox>,
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
        // The limit of gloo is for the case that the watch does not end an operation.
        let mesh = Mesh::new(engine, own_address(id, is_root)?, [rank, size], limit + GRACE)?;
        let (mut membership, addresses) =
            Membership::join(connection, id, [rank, size], is_root, mesh.addresses()?, limit)?;
        mesh.connect(addresses)?;
        membership.connected(limit)?;
        let mesh = Arc::new(mesh);
        let closing = mesh.clone();
        let watch = Watch::start(rank, limit, membership, move || closing.close())
            .map_err(|reason| Error::System { action: "cannot start a thread", reason })?;
        Ok(Some(Connected { watch, outbox: Arc::default(), mesh }))
    }

    /// Returns the number of this member, from 0.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Returns the number of members.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns what leaves the group from any thread: sends what is under way, and closes the connections, which ends a
    /// running operation.
    pub(crate) fn closer(&self) -> impl Fn() + Send + Sync + use<> {
        let connected = self.connected.as_ref();
        let connected = connected.map(|connected| (connected.outbox.clone(), connected.mesh.clone()));
        move || {
            if let Some((outbox, mesh)) = &connected {
                outbox.flush();
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
    pub unsafe fn run(&mut self, operations: &[&Operation]) -> Result<()> {
        if self.process != std::process::id() {
            return Err(Error::Forked);
        }
        let messages: Vec<&Operation> =
            operations.iter().copied().filter(|operation| operation.is_message()).collect();
        if !messages.is_empty() {
            let text = messages.iter().map(|operation| operation.to_string()).collect::<Vec<_>>().join(", ");
            // SAFETY: the caller's promise.
            self.watched(&text, true, |group, _| unsafe { group.exchange(&messages) })?;
        }
        for operation in operations.iter().filter(|operation| !operation.is_message()) {
            let text = operation.to_string();
            // SAFETY: the caller's promise.
            self.watched(&text, false, |group, calls| unsafe {
                group.collective(operation, tag(&text, calls))
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
                let cause = connected.watch.cause_of_failure(&reason);
                // Others that wait for this member must not wait until their time limit.
                connected.watch.close_in_turn();
                Err(broken(self, cause))
            }
            outcome => {
                connected.watch.end();
                outcome
            }
        }
    }
}

impl Drop for Group {
    /// Sends what is under way, and leaves the group.
    fn drop(&mut self) {
        // In a forked process, the connections are the parent's.
        if self.process == std::process::id() {
            self.closer()();
        }
    }
}

/// Returns the address at which members find this one. The root's is the one that its id has.
fn own_address(id: &RootId, is_root: bool) -> Result<IpAddr> {
    if is_root { Ok(id.address.ip()) } else { settings::own_address_towards(id.address.ip()) }
}
