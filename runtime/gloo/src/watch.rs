//! Watches the members of a group while an operation runs, and finds out who made one fail.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tenon::support::{Condvar, Mutex};

use crate::rendezvous::{Heard, MemberState, Membership, Presence};

/// How often the server is asked while an operation waits.
const WHILE_WAITING: Duration = Duration::from_secs(1);
/// How often the server is asked otherwise.
const WHILE_IDLE: Duration = Duration::from_secs(2);
/// How often the server is asked for the reason of a failure, and how long.
const AFTER_FAILURE: Duration = Duration::from_millis(50);
const SEARCH: Duration = Duration::from_secs(2);
/// How long after the members of lower ranks a member closes its connections.
///
/// If two members close theirs at the same time while messages are under way, gloo's thread may report an error of a
/// connection twice, and then it ends the process.
const BETWEEN_CLOSINGS: Duration = Duration::from_millis(40);
/// A member that was silent for so long does not answer.
const SILENT: Duration = Duration::from_secs(6);

/// A thread that asks the server of the group what the others do.
pub(crate) struct Watch {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    rank: usize,
    /// The time limit of operations.
    limit: Duration,
    progress: Mutex<Progress>,
    changed: Condvar,
    /// Closes the mesh.
    abort: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct Progress {
    /// Number of collectives that were begun.
    calls: u64,
    /// The description of the last operation.
    operation: String,
    running: Option<Running>,
    /// Who makes every operation fail.
    cause: Option<String>,
    /// The last answer of the server.
    members: Vec<MemberState>,
    /// Until when the cause of a failure is searched for.
    search: Option<Instant>,
    is_stopped: bool,
}

#[derive(Clone, Copy)]
struct Running {
    since: Instant,
    is_message: bool,
}

impl Watch {
    /// Starts the thread. `abort` ends the running operation.
    pub(crate) fn start(
        rank: usize,
        limit: Duration,
        membership: Membership,
        abort: impl Fn() + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            rank,
            limit,
            progress: Mutex::default(),
            changed: Condvar::new(),
            abort: Box::new(abort),
        });
        let watching = shared.clone();
        let thread = thread::Builder::new()
            .name("tenon-watch".to_owned())
            .stack_size(256 << 10)
            .spawn(move || watching.run(membership))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Notes that an operation begins. Returns the number of collectives with this one, unless the group is unusable.
    pub(crate) fn begin(&self, operation: &str, is_message: bool) -> Result<u64, String> {
        let mut progress = self.shared.progress.lock();
        progress.calls += u64::from(!is_message);
        operation.clone_into(&mut progress.operation);
        if let Some(cause) = &progress.cause {
            return Err(cause.clone());
        }
        progress.running = Some(Running { since: Instant::now(), is_message });
        Ok(progress.calls)
    }

    /// Notes that the operation is complete.
    pub(crate) fn end(&self) {
        self.shared.progress.lock().running = None;
    }

    /// Closes the connections after those of the members of lower ranks.
    pub(crate) fn close_in_turn(&self) {
        self.shared.close_in_turn();
    }

    /// Finds out why the running operation failed, which waits a moment for the server. Returns the cause, if it is one
    /// of the members. From now on every operation fails.
    pub(crate) fn cause_of_failure(&self, reason: &str) -> String {
        let mut progress = self.shared.progress.lock();
        let deadline = Instant::now() + SEARCH;
        progress.search = Some(deadline);
        self.shared.changed.notify_all();
        while progress.cause.is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            (progress, _) = self.shared.changed.wait_timeout(progress, left);
        }
        progress.search = None;
        progress.running = None;
        let cause = progress.cause.clone().or_else(|| progress.late_members(self.shared.rank));
        let cause = cause.map_or_else(|| reason.to_owned(), |cause| format!("{cause} ({reason})"));
        progress.cause.get_or_insert(cause).clone()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.progress.lock().is_stopped = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // The thread does not panic: it only waits and asks.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn close_in_turn(&self) {
        // With many members, some share a turn.
        thread::sleep(BETWEEN_CLOSINGS * (self.rank % 16) as u32);
        (self.abort)();
    }

    fn run(&self, mut membership: Membership) {
        let mut progress = self.progress.lock();
        let mut asked = Instant::now();
        loop {
            let now = Instant::now();
            let pause = progress.pause(now);
            if progress.is_stopped {
                break;
            }
            let left = pause.saturating_sub(now.duration_since(asked)).min(progress.left(now, self.limit));
            if !left.is_zero() {
                (progress, _) = self.changed.wait_timeout(progress, left);
                continue;
            }
            let (calls, operation) = (progress.calls, progress.operation.clone());
            drop(progress);
            let heard = membership.exchange(calls, &operation);
            asked = Instant::now();
            progress = self.progress.lock();
            let cause = match heard {
                Heard::Members(members) => {
                    progress.members = members;
                    progress.find_cause(self.rank).or_else(|| progress.overdue(self.rank, self.limit))
                }
                Heard::RootLeft(members) => {
                    progress.members = members;
                    let left = || format!("rank {} has left the group", membership.root);
                    Some(progress.find_cause(self.rank).unwrap_or_else(left))
                }
                Heard::RootGone => Some(format!("the process of rank {} has ended", membership.root)),
                Heard::Silence => Some(format!("rank {} does not answer", membership.root)),
            };
            if let Some(cause) = cause {
                progress.cause.get_or_insert(cause);
                let is_running = progress.running.is_some();
                drop(progress);
                self.changed.notify_all();
                if is_running {
                    self.close_in_turn();
                }
                progress = self.progress.lock();
                while !progress.is_stopped {
                    progress = self.changed.wait(progress);
                }
            }
        }
        drop(progress);
        membership.leave();
    }
}

impl Progress {
    /// Returns how long the server was not asked before it is asked again.
    fn pause(&self, now: Instant) -> Duration {
        match (self.search, self.running) {
            (Some(until), _) if now < until => AFTER_FAILURE,
            (_, Some(_)) => WHILE_WAITING,
            _ => WHILE_IDLE,
        }
    }

    /// Returns how long the running operation may still take.
    fn left(&self, now: Instant, limit: Duration) -> Duration {
        let taken = self.running.map_or(Duration::ZERO, |running| now.duration_since(running.since));
        limit.saturating_sub(taken)
    }

    /// Returns who is late, if the running operation has taken longer than the limit.
    fn overdue(&self, rank: usize, limit: Duration) -> Option<String> {
        let is_overdue = self.running.is_some() && self.left(Instant::now(), limit).is_zero();
        is_overdue.then(|| {
            let late = self.late_members(rank);
            late.unwrap_or_else(|| format!("it was not complete within {} s", limit.as_secs_f64()))
        })
    }

    /// Returns why operations cannot succeed, if members say so.
    fn find_cause(&self, rank: usize) -> Option<String> {
        let others = || self.members.iter().enumerate().filter(|(other, _)| *other != rank);
        if let Some((gone, _)) = others().find(|(_, member)| member.presence == Presence::Gone) {
            return Some(format!("the process of rank {gone} has ended"));
        }
        let running = self.running?;
        if running.is_message {
            return None;
        }
        // A member that left after the last collective of all is no cause, but one that left before this one.
        let left = |member: &MemberState| member.presence == Presence::Left && member.calls < self.calls;
        if let Some((left, _)) = others().find(|(_, member)| left(member)) {
            return Some(format!("rank {left} has left the group"));
        }
        let differs = |member: &MemberState| member.calls == self.calls && member.operation != self.operation;
        let (other, member) = others().find(|(_, member)| differs(member))?;
        Some(format!("rank {other} calls {} instead", member.operation))
    }

    /// Describes the members that did not come to the running operation.
    fn late_members(&self, rank: usize) -> Option<String> {
        let late = self.members.iter().enumerate().filter(|(other, member)| {
            *other != rank && (member.calls < self.calls || member.silent > SILENT)
        });
        let late: Vec<String> = late
            .map(|(other, member)| {
                if member.silent > SILENT {
                    format!("rank {other} has not answered for {} s", member.silent.as_secs())
                } else {
                    format!(
                        "rank {other} has not called it: it has called {} of {}",
                        member.calls, self.calls
                    )
                }
            })
            .collect();
        (!late.is_empty()).then(|| late.join(", "))
    }
}
