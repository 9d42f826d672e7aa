//! Groups of processes, each with the plugin, for the cases of collectives.
//!
//! The process of the case is rank 0. It makes the root id and starts the others, which run the same case with a rank of
//! their own.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tenon::device::Function::{XcclCommInitRank, XcclDestroyComm, XcclGetUniqueId, XcclGetUniqueIdSize};
use tenon::device::{Status, ffi};
use tenon::support::Mutex;

use super::{GuardedBuffer, PluginUnderTest, address, patience, status_text};
use crate::case::{Stop, Verdict, blame, failed, skipped};
use crate::options::SERVE;
use crate::process::Process;
use crate::protocol::{Ending, Reply, Request};
use crate::source::Source;

/// The largest root id. A larger one can only be an error.
const MOST_BYTES: usize = 1 << 16;

/// The member that a process is which another one has started.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Role {
    rank: usize,
    size: usize,
    root_id: Vec<u8>,
}

/// The data with which a process starts another one with the same plugin.
pub(crate) struct Launch {
    pub(crate) source: Source,
    pub(crate) fallbacks: bool,
    /// None: the cases run in the runner's own process.
    pub(crate) program: Option<PathBuf>,
    /// None: the runner has started this process.
    pub(crate) role: Option<Role>,
}

/// A member of a group, in its own process.
pub(crate) struct Member<'a> {
    pub(crate) plugin: &'a PluginUnderTest,
    pub(crate) rank: usize,
    pub(crate) size: usize,
    pub(crate) device: i32,
    pub(crate) comm: u64,
    pub(crate) stream: u64,
    /// The first wrong result. The member goes on after it, because the others wait for its calls.
    pub(crate) wrong: &'a Mutex<Option<Stop>>,
}

impl Member<'_> {
    /// Notes a wrong result.
    pub(crate) fn note(&self, verdict: Verdict) {
        if let Err(stop) = verdict {
            self.wrong.lock().get_or_insert(stop);
        }
    }
}

impl PluginUnderTest {
    /// Runs a case as each member of a group of so many processes.
    pub(crate) fn as_group(&self, case: &str, size: usize, body: fn(&Member<'_>) -> Verdict) -> Verdict {
        if let Some(role) = &self.launch.role {
            return self.as_member(role, body);
        }
        let Some(program) = &self.launch.program else {
            return skipped("the members are processes, and the cases run in one");
        };
        let root_id = self.root_id()?;
        let role = |rank| Role { rank, size, root_id: root_id.clone() };
        let start = |rank| {
            let request = Request {
                source: self.launch.source.clone(),
                fallbacks: self.launch.fallbacks,
                fresh: false,
                cases: vec![case.to_owned()],
                timeout: u64::try_from(patience().as_millis() * 2).unwrap_or(u64::MAX),
                role: Some(role(rank)),
            };
            Process::start(Command::new(program).arg(SERVE), &request)
                .or_else(|error| failed(error.to_string()))
        };
        // The others end with these objects.
        let mut others = (1..size).map(start).collect::<Verdict<Vec<Process<Reply>>>>()?;
        let own = self.as_member(&role(0), body);
        // If this one has failed, the others may wait for it in vain.
        let limit = if own.is_ok() { patience() } else { patience() / 4 };
        let deadline = Instant::now() + limit;
        let endings: Vec<Ending> = others.iter_mut().map(|other| ending(other, deadline)).collect();
        match &own {
            // A plugin may lack what its collectives need, but then it does for all.
            Err(Stop::Skipped(_)) if endings.iter().all(|one| matches!(one, Ending::Skipped(_))) => own,
            Err(Stop::Skipped(reason)) => failed(format!("rank 0 of {size}: {reason}, but others succeeded")),
            Err(Stop::Failed(_)) => own,
            Ok(()) => {
                let of_rank = |(index, ending)| match ending {
                    Ending::Passed => Ok(()),
                    Ending::Failed(message) | Ending::Blocked(message) | Ending::Skipped(message) => {
                        failed(format!("rank {} of {size}: {message}", index + 1))
                    }
                };
                endings.into_iter().enumerate().try_for_each(of_rank)
            }
        }
    }

    fn as_member(&self, role: &Role, body: fn(&Member<'_>) -> Verdict) -> Verdict {
        let Role { rank, size, root_id } = role;
        // Two members on one device is more than some devices can.
        let device = (*rank % self.device_count() as usize) as i32;
        self.set_device(device)?;
        let comm = match self.join(root_id, *rank, *size)? {
            Ok(comm) => comm,
            Err(reason) => return skipped(reason),
        };
        let stream = self.stream(device)?;
        let wrong = Mutex::new(None);
        body(&Member { plugin: self, rank: *rank, size: *size, device, comm, stream, wrong: &wrong })?;
        self.synchronize_stream(device, stream)?;
        self.ok(XcclDestroyComm, &[comm])?;
        self.destroy_stream(device, stream)?;
        wrong.lock().take().map_or(Ok(()), Err)
    }

    /// Makes a root id.
    pub(crate) fn root_id(&self) -> Verdict<Vec<u8>> {
        let mut size = usize::MAX;
        if self.call(XcclGetUniqueIdSize, &[address(&mut size)])? == Status::FAILED {
            return skipped("`xccl_get_unique_id_size` says that there are no collectives");
        }
        if size > MOST_BYTES {
            return blame(XcclGetUniqueIdSize, format!("a root id has {size} bytes"));
        }
        let mut id = GuardedBuffer::new(size, 0);
        let mut root = ffi::C_CCLRootId { sz: size, data: id.address() as *mut _ };
        self.ok(XcclGetUniqueId, &[address(&mut root)])?;
        id.intact("the root id")?;
        Ok(id.bytes())
    }

    /// Joins a group; the reason if the plugin lacks what its collectives need.
    pub(crate) fn join(&self, root_id: &[u8], rank: usize, size: usize) -> Verdict<Result<u64, String>> {
        let mut id = GuardedBuffer::of(root_id);
        let mut root = ffi::C_CCLRootId { sz: root_id.len(), data: id.address() as *mut _ };
        let mut comm = 0_u64;
        let arguments = [size as u64, address(&mut root), rank as u64, address(&mut comm)];
        match self.call(XcclCommInitRank, &arguments)? {
            Status::SUCCESS if comm == 0 => {
                blame(XcclCommInitRank, "`xccl_comm_init_rank` answered `success` and wrote no communicator")
            }
            Status::SUCCESS => Ok(Ok(comm)),
            status => {
                let name = status_text(status);
                let message =
                    format!("`xccl_comm_init_rank` answered {name}{}", self.own_words(XcclCommInitRank));
                if status == Status::FAILED { Ok(Err(message)) } else { blame(XcclCommInitRank, message) }
            }
        }
    }
}

/// Returns how the case ended in another process.
fn ending(process: &mut Process<Reply>, deadline: Instant) -> Ending {
    let mut last = "the process ended without a word".to_owned();
    loop {
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        match process.reply(left) {
            Ok(Reply::End { verdict, .. }) => return verdict,
            Ok(Reply::Refused { message, .. }) => return Ending::Failed(message),
            Ok(Reply::Dying { function, .. }) => last = format!("the process died in `{function}`"),
            Ok(_) => {}
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                return Ending::Failed("it has not come to its end".to_owned());
            }
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return Ending::Failed(last),
        }
    }
}
