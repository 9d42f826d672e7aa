//! Operations in the order of streams: a thread runs them, one call after the other.

use std::any::Any;
use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tenon::support::{Condvar, Mutex};

use crate::error::{Error, Result};
use crate::group::Group;
use crate::operation::Operation;

/// Resumes a stream when its operations are over, and gives it their error.
pub type Done = Box<dyn FnOnce(Result<()>) + Send>;

/// The membership of this process in a group, with a thread that runs its operations.
///
/// Operations run in the order of the calls, each when its stream has come to it, so that all members run them in the same
/// order whatever their streams do.
pub struct Communicator {
    name: String,
    rank: usize,
    size: usize,
    process: u32,
    queue: Arc<Queue>,
    close: Box<dyn Fn() + Send + Sync>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The calls of a communicator that are not over.
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    calls: VecDeque<Vec<Arc<Turn>>>,
    /// True while the thread runs a call.
    is_running: bool,
    is_closed: bool,
}

/// The operations of one stream in a call.
struct Turn {
    operations: Vec<Operation>,
    progress: Mutex<Progress>,
}

enum Progress {
    /// The stream has work before it.
    Waiting,
    /// The stream waits for it.
    Ready(Done),
    /// It was withdrawn, or is over.
    Over,
}

/// Queued operations, whose stream has to say when their turn has come.
///
/// Dropping it withdraws the operations.
#[must_use = "operations whose ticket is dropped are withdrawn"]
pub struct Ticket {
    queue: Arc<Queue>,
    turn: Arc<Turn>,
}

impl Ticket {
    /// Says that the stream has come to the operations. `done` is called when they are over, on another thread, or at once
    /// if the communicator is closed.
    pub fn ready(self, done: Done) {
        let state = self.queue.state.lock();
        if state.is_closed {
            drop(state);
            done(Err(closed()));
            return;
        }
        *self.turn.progress.lock() = Progress::Ready(done);
        drop(state);
        self.queue.changed.notify_all();
    }

    fn is_waiting(&self) -> bool {
        matches!(*self.turn.progress.lock(), Progress::Waiting)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.is_waiting() {
            // Under the lock, because the thread must not miss this between its look at the call and its wait.
            let state = self.queue.state.lock();
            *self.turn.progress.lock() = Progress::Over;
            drop(state);
            self.queue.changed.notify_all();
        }
    }
}

/// Puts operations into their stream, which says to the ticket when their turn has come.
pub type Launch = Box<dyn FnOnce(Ticket, Vec<Memory>) -> std::result::Result<(), String>>;

/// Keeps the memory of an operation until it is dropped.
pub type Memory = Box<dyn Any + Send>;

/// The operations of one stream in a group of calls.
struct Collected {
    queue: Arc<Queue>,
    stream: usize,
    operations: Vec<Operation>,
    memory: Vec<Memory>,
    launch: Launch,
}

thread_local! {
    /// The groups of calls that the thread has open, and what they have collected; null if none is open. It has no
    /// destructor on purpose: one would be registered with the C library, and would prevent the unloading of a plugin.
    static BRACKET: Cell<*mut Bracket> = const { Cell::new(ptr::null_mut()) };
}

#[derive(Default)]
struct Bracket {
    depth: usize,
    collected: Vec<Collected>,
}

/// Calls `body` with the group of calls that the thread has open.
fn with_bracket<R>(body: impl FnOnce(Option<&mut Bracket>) -> R) -> R {
    // SAFETY: the pointer is null, or came from `start_bracket` on this thread, and `body` opens and closes no bracket.
    body(unsafe { BRACKET.get().as_mut() })
}

/// Opens a group of calls in this thread: messages in it are under way at once.
pub fn start_bracket() {
    if BRACKET.get().is_null() {
        BRACKET.set(Box::into_raw(Box::default()));
    }
    with_bracket(|bracket| {
        if let Some(bracket) = bracket {
            bracket.depth += 1;
        }
    });
}

/// Closes a group of calls in this thread. The outermost one queues what was called.
///
/// # Errors
/// If none is open, or a stream takes no more work.
pub fn end_bracket() -> Result<()> {
    let depth = with_bracket(|bracket| {
        let bracket = bracket?;
        bracket.depth -= 1;
        Some(bracket.depth)
    });
    if depth.ok_or(Error::NoBracket)? > 0 {
        return Ok(());
    }
    // SAFETY: not null, since a bracket was open; `start_bracket` made it from a box, and nothing else refers to it.
    let bracket = unsafe { Box::from_raw(BRACKET.replace(ptr::null_mut())) };
    queue_call(bracket.collected)
}

/// Queues a call in each communicator that it uses, and puts it into its streams.
fn queue_call(collected: Vec<Collected>) -> Result<()> {
    let mut calls: Vec<(Arc<Queue>, Vec<Arc<Turn>>)> = Vec::new();
    let mut launches = Vec::new();
    for one in collected {
        let turn = Arc::new(Turn { operations: one.operations, progress: Mutex::new(Progress::Waiting) });
        match calls.iter_mut().find(|(queue, _)| Arc::ptr_eq(queue, &one.queue)) {
            Some((_, turns)) => turns.push(turn.clone()),
            None => calls.push((one.queue.clone(), vec![turn.clone()])),
        }
        launches.push((one.launch, Ticket { queue: one.queue, turn }, one.memory));
    }
    for (queue, turns) in calls {
        queue.push(turns);
    }
    // If a stream refuses its part, the others still get theirs: a dropped ticket does not block the call.
    let mut outcome = Ok(());
    for (launch, ticket, memory) in launches {
        outcome = outcome.and(launch(ticket, memory).map_err(Error::Failed));
    }
    outcome
}

impl Queue {
    /// Adds a call. The thread need not know yet: it waits for the tickets of the call.
    fn push(&self, turns: Vec<Arc<Turn>>) {
        self.state.lock().calls.push_back(turns);
    }

    /// Waits for the first call until all its streams have come to it. Returns none when the queue is closed. The call before
    /// is over.
    fn next(&self) -> Option<Vec<Arc<Turn>>> {
        let mut state = self.state.lock();
        if std::mem::take(&mut state.is_running) {
            self.changed.notify_all();
        }
        loop {
            if state.is_closed {
                return None;
            }
            let waits = |turn: &Arc<Turn>| matches!(*turn.progress.lock(), Progress::Waiting);
            if state.calls.front().is_some_and(|call| !call.iter().any(waits)) {
                state.is_running = true;
                return state.calls.pop_front();
            }
            state = self.changed.wait(state);
        }
    }

    /// Waits until all calls are over.
    fn finish(&self) {
        let mut state = self.state.lock();
        while !state.is_closed && (state.is_running || !state.calls.is_empty()) {
            state = self.changed.wait(state);
        }
    }

    /// Ends all calls that have not begun with an error.
    fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        let calls = std::mem::take(&mut state.calls);
        drop(state);
        self.changed.notify_all();
        for turn in calls.into_iter().flatten() {
            turn.finish(Err(closed()));
        }
    }
}

impl Turn {
    fn finish(&self, outcome: Result<()>) {
        let progress = std::mem::replace(&mut *self.progress.lock(), Progress::Over);
        if let Progress::Ready(done) = progress {
            done(outcome);
        }
    }
}

fn closed() -> Error {
    Error::Invalid("the communicator was destroyed before the operation had run".to_owned())
}

impl Communicator {
    /// Joins the group of a root id, as [`Group::join`] does, and starts the thread.
    ///
    /// # Errors
    /// As for [`Group::join`]; if no thread can be started.
    pub fn join(id: &[u8], rank: usize, size: usize) -> Result<Self> {
        let mut group = Group::join(id, rank, size)?;
        let close = Box::new(group.closer());
        let queue = Arc::new(Queue { state: Mutex::default(), changed: Condvar::new() });
        let serving = queue.clone();
        let serve = move || {
            while let Some(call) = serving.next() {
                run(&mut group, &call);
            }
        };
        let thread = thread::Builder::new()
            .name("tenon-comm".to_owned())
            .spawn(serve)
            .map_err(|reason| Error::System { action: "cannot start a thread", reason })?;
        // The secret is not part of the name.
        let name = format!(
            "tenon-{}",
            id.get(8..26).unwrap_or_default().iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        );
        Ok(Self {
            name,
            rank,
            size,
            process: std::process::id(),
            queue,
            close,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Returns the name, which all members have in common.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of this member, from 0.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Checks the rank that a caller gives for this member.
    ///
    /// # Errors
    /// If it is another one.
    pub fn expect_rank(&self, rank: usize) -> Result<()> {
        if rank == self.rank {
            return Ok(());
        }
        let own = self.rank;
        Err(Error::Invalid(format!("`rank` is {rank}, but this process is rank {own} of the group")))
    }

    /// Returns the number of members.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Queues an operation behind those of earlier calls, or adds it to the group of calls that the thread has open.
    ///
    /// `launch` puts it into its stream, with the operations of the same stream in the same group of calls. `stream`
    /// tells streams apart. `memory` is dropped when the operation is over.
    ///
    /// # Safety
    /// The buffers are memory of the process, of the sizes that the operation says, as long as `memory` lives, and nothing
    /// else uses them from when the ticket is ready until the operation is over.
    ///
    /// # Errors
    /// If a rank, a size or the type is wrong; in a process that was forked from the one that joined the group; if the
    /// stream takes no more work.
    pub unsafe fn queue(
        &self,
        operation: Operation,
        stream: usize,
        memory: Memory,
        launch: Launch,
    ) -> Result<()> {
        if self.process != std::process::id() {
            return Err(Error::Forked);
        }
        operation.check(self.size)?;
        let queue = self.queue.clone();
        let one = Collected { queue, stream, operations: vec![operation], memory: vec![memory], launch };
        let single = with_bracket(|bracket| {
            let Some(bracket) = bracket else { return Some(one) };
            let same =
                |known: &&mut Collected| Arc::ptr_eq(&known.queue, &one.queue) && known.stream == stream;
            match bracket.collected.iter_mut().find(same) {
                Some(known) => {
                    known.operations.extend(one.operations);
                    known.memory.extend(one.memory);
                }
                None => bracket.collected.push(one),
            }
            None
        });
        queue_call(single.into_iter().collect())
    }
}

impl Communicator {
    /// Waits until all operations are over that were queued before. Hosts destroy communicators at the end of a process, when
    /// the last operations may still be under way.
    pub fn finish(&self) {
        // In a forked process, the thread is the parent's.
        if self.process == std::process::id() {
            self.queue.finish();
        }
    }

    /// Ends operations that are not over with an error, and takes no more.
    pub(crate) fn close(&self) {
        self.queue.close();
        // In a forked process, the connections are the parent's.
        if self.process == std::process::id() {
            (self.close)();
        }
    }
}

impl Drop for Communicator {
    /// Leaves the group. Operations that are not over end with an error.
    fn drop(&mut self) {
        self.close();
        if self.process != std::process::id() {
            // The thread is the parent's.
            return;
        }
        if let Some(thread) = self.thread.get_mut().take() {
            // The thread catches the panics of operations.
            let _ = thread.join();
        }
    }
}

/// Runs the operations of a call.
fn run(group: &mut Group, call: &[Arc<Turn>]) {
    let is_wanted = |turn: &&Arc<Turn>| matches!(*turn.progress.lock(), Progress::Ready(_));
    let wanted: Vec<&Arc<Turn>> = call.iter().filter(is_wanted).collect();
    let operations: Vec<&Operation> = wanted.iter().flat_map(|turn| &turn.operations).collect();
    if operations.is_empty() {
        return;
    }
    // SAFETY: who queued the operations promised it.
    let outcome = catch_unwind(AssertUnwindSafe(|| unsafe { group.run(&operations) }));
    let outcome = outcome.unwrap_or_else(|panic| {
        let text = tenon::support::panic_text(&*panic);
        Err(Error::Failed(format!("a panic was stopped: {text}")))
    });
    match outcome {
        Ok(()) => wanted.iter().for_each(|turn| turn.finish(Ok(()))),
        Err(error) => {
            let text = error.to_string();
            // The call of the host returned long ago, and some hosts only hear that something failed.
            tenon::write_line(format_args!("{text}"));
            wanted.iter().for_each(|turn| turn.finish(Err(Error::Failed(text.clone()))));
        }
    }
}
