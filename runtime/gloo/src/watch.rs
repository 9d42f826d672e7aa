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
    /// The last answer of the server, and the number of answers.
    members: Vec<MemberState>,
    answers: u64,
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

    /// Finds out why the running operation failed, which waits a moment for the server. Returns the cause, if it is one
    /// of the members. From now on every operation fails.
    pub(crate) fn cause_of_failure(&self, reason: &str) -> String {
        let mut progress = self.shared.progress.lock();
        let deadline = Instant::now() + SEARCH;
        progress.search = Some(deadline);
        self.shared.changed.notify_all();
        // After the time limit, one answer says who is late. A process that ended may be noticed by its connection first.
        let is_late = progress.running.is_some_and(|running| running.since.elapsed() >= self.shared.limit);
        let answers = progress.answers;
        while progress.cause.is_none() && !(is_late && progress.answers > answers) {
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
    fn run(&self, mut membership: Membership) {
        let mut progress = self.progress.lock();
        let mut asked = Instant::now();
        loop {
            let now = Instant::now();
            let pause = progress.pause(now);
            if progress.is_stopped {
                break;
            }
            let left = pause.saturating_sub(now.duration_since(asked));
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
                    progress.answers += 1;
                    progress.find_cause(self.rank)
                }
                Heard::RootLeft => Some(format!("rank {} has left the group", membership.root)),
                Heard::RootGone => Some(format!("the process of rank {} has ended", membership.root)),
                Heard::Silence => Some(format!("rank {} does not answer", membership.root)),
            };
            if progress.search.is_some() {
                self.changed.notify_all();
            }
            if let Some(cause) = cause {
                progress.cause.get_or_insert(cause);
                let is_running = progress.running.is_some();
                drop(progress);
                self.changed.notify_all();
                if is_running {
                    (self.abort)();
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
