//! Operations in the order of streams: a thread runs them, one call after the other.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tenon::support::{Condvar, Mutex};

use crate::error::{Error, Result};
use crate::group::Group;
use crate::operation::Operation;

/// What a stream does when its operation is over: it goes on, and keeps the error.
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
    calls: VecDeque<Vec<Arc<Part>>>,
    is_closed: bool,
}

/// An operation of a call.
struct Part {
    operation: Operation,
    progress: Mutex<Progress>,
}

enum Progress {
    /// Its stream has work before it.
    Waiting,
    /// Its stream waits for it.
    Ready(Done),
    /// It was withdrawn, or is over.
    Over,
}

/// A queued operation, whose stream has to say when its turn has come.
///
/// Dropping it withdraws the operation.
#[must_use = "an operation whose ticket is dropped is withdrawn"]
pub struct Ticket {
    queue: Arc<Queue>,
    part: Arc<Part>,
}

impl Ticket {
    /// Says that the stream has come to the operation. `done` is called when it is over, on another thread, or at once if
    /// the communicator is closed.
    pub fn ready(self, done: Done) {
        let state = self.queue.state.lock();
        if state.is_closed {
            drop(state);
            done(Err(closed()));
            return;
        }
        *self.part.progress.lock() = Progress::Ready(done);
        drop(state);
        self.queue.changed.notify_all();
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut progress = self.part.progress.lock();
        if matches!(*progress, Progress::Waiting) {
            *progress = Progress::Over;
            drop(progress);
            self.queue.changed.notify_all();
        }
    }
}

thread_local! {
    /// The groups of calls that the thread has open, and what they have collected.
    static BRACKET: RefCell<Bracket> = const { RefCell::new(Bracket { depth: 0, calls: Vec::new() }) };
}

struct Bracket {
    depth: usize,
    calls: Vec<(Arc<Queue>, Vec<Arc<Part>>)>,
}

impl Drop for Bracket {
    fn drop(&mut self) {
        // The thread ended inside of a group of calls. Its streams must not wait for ever.
        self.queue_all();
    }
}

impl Bracket {
    fn queue_all(&mut self) {
        for (queue, parts) in self.calls.drain(..) {
            queue.push(parts);
        }
    }
}

/// Opens a group of calls in this thread: messages in it are under way at once.
pub fn start_bracket() {
    BRACKET.with_borrow_mut(|bracket| bracket.depth += 1);
}

/// Closes a group of calls in this thread. The outermost one queues what was called.
///
/// # Errors
/// If none is open.
pub fn end_bracket() -> Result<()> {
    BRACKET.with_borrow_mut(|bracket| {
        bracket.depth = bracket.depth.checked_sub(1).ok_or(Error::NoBracket)?;
        if bracket.depth == 0 {
            bracket.queue_all();
        }
        Ok(())
    })
}

impl Queue {
    fn push(&self, parts: Vec<Arc<Part>>) {
        self.state.lock().calls.push_back(parts);
        self.changed.notify_all();
    }

    /// Waits for the first call until all its streams have come to it. Returns none when the queue is closed.
    fn next(&self) -> Option<Vec<Arc<Part>>> {
        let mut state = self.state.lock();
        loop {
            if state.is_closed {
                return None;
            }
            let waits = |part: &Arc<Part>| matches!(*part.progress.lock(), Progress::Waiting);
            if state.calls.front().is_some_and(|call| !call.iter().any(waits)) {
                return state.calls.pop_front();
            }
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
        for part in calls.into_iter().flatten() {
            part.finish(Err(closed()));
        }
    }
}

impl Part {
    fn finish(&self, outcome: Result<()>) {
        if let Progress::Ready(done) = std::mem::replace(&mut *self.progress.lock(), Progress::Over) {
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

    /// Returns the number of members.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Queues an operation behind those of earlier calls, or adds it to the group of calls that the thread has open. It
    /// runs when its ticket says that its stream has come to it.
    ///
    /// # Safety
    /// The buffers are memory of the process, of the sizes that the operation says, from when the ticket is ready until the
    /// operation is over, and nothing else uses them then.
    ///
    /// # Errors
    /// If a rank, a size or the type is wrong; in a process that was forked from the one that joined the group.
    pub unsafe fn queue(&self, operation: Operation) -> Result<Ticket> {
        if self.process != std::process::id() {
            return Err(Error::Forked);
        }
        operation.check(self.size)?;
        let part = Arc::new(Part { operation, progress: Mutex::new(Progress::Waiting) });
        BRACKET.with_borrow_mut(|bracket| {
            if bracket.depth == 0 {
                self.queue.push(vec![part.clone()]);
                return;
            }
            match bracket.calls.iter_mut().find(|(queue, _)| Arc::ptr_eq(queue, &self.queue)) {
                Some((_, parts)) => parts.push(part.clone()),
                None => bracket.calls.push((self.queue.clone(), vec![part.clone()])),
            }
        });
        Ok(Ticket { queue: self.queue.clone(), part })
    }
}

impl Drop for Communicator {
    /// Leaves the group. Operations that are not over end with an error.
    fn drop(&mut self) {
        self.queue.close();
        if self.process != std::process::id() {
            // The thread is the parent's.
            return;
        }
        (self.close)();
        if let Some(thread) = self.thread.get_mut().take() {
            // The thread catches the panics of what it calls.
            let _ = thread.join();
        }
    }
}

/// Runs the operations of a call.
fn run(group: &mut Group, call: &[Arc<Part>]) {
    let is_wanted = |part: &&Arc<Part>| matches!(*part.progress.lock(), Progress::Ready(_));
    let wanted: Vec<&Arc<Part>> = call.iter().filter(is_wanted).collect();
    let operations: Vec<Operation> = wanted.iter().map(|part| part.operation.clone()).collect();
    if operations.is_empty() {
        return;
    }
    // SAFETY: who queued the operations promised it.
    match unsafe { group.run(&operations) } {
        Ok(()) => wanted.iter().for_each(|part| part.finish(Ok(()))),
        Err(error) => {
            let text = error.to_string();
            wanted.iter().for_each(|part| part.finish(Err(Error::Failed(text.clone()))));
        }
    }
}
