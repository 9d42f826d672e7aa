//! The pending queue of a stream: work that waits behind a closed latch and is not yet submitted to the device.

use std::collections::VecDeque;
use std::sync::Arc;

use super::failures::Task;
use crate::wait::latch::Latch;

/// An entry of the queue.
pub(super) enum Step<Work> {
    Work(Task, Work),
    Latch(Arc<Latch>),
}

/// The reason for which work is not submitted to the device at once.
#[derive(Default)]
pub(super) enum Hold {
    /// No latch blocks the stream: work is submitted at once.
    #[default]
    Free,
    /// The stream waits for a closed latch.
    Latched(Arc<Latch>),
    /// A thread is submitting the queue to the device.
    Draining,
}

/// The queue, and the activity of the stream. The queue is empty and free unless a latch holds the stream.
pub(super) struct PendingQueue<Work> {
    pub(super) hold: Hold,
    pub(super) steps: VecDeque<Step<Work>>,
    /// The number of steps that have entered the queue.
    pub(super) entered: u64,
    /// The number of running device calls that use the stream.
    pub(super) calls: usize,
    /// The number of running host jobs of the stream.
    pub(super) host_jobs: usize,
    /// True if the stream was, or is about to be, returned to the device.
    pub(super) is_destroyed: bool,
}

impl<Work> Default for PendingQueue<Work> {
    fn default() -> Self {
        let (hold, steps) = (Hold::default(), VecDeque::new());
        PendingQueue { hold, steps, entered: 0, calls: 0, host_jobs: 0, is_destroyed: false }
    }
}

impl<Work> PendingQueue<Work> {
    pub(super) fn is_free(&self) -> bool {
        matches!(self.hold, Hold::Free)
    }

    /// Appends a step.
    pub(super) fn push(&mut self, step: Step<Work>) {
        self.entered += 1;
        self.steps.push_back(step);
    }

    /// Blocks the stream at a closed latch, as a separate step.
    pub(super) fn hold_at(&mut self, latch: Arc<Latch>) {
        self.entered += 1;
        self.hold = Hold::Latched(latch);
    }

    /// Returns the number of steps that have left the queue.
    ///
    /// A step that needed a separate latch (see `Stream::hold_here`) counts only after that latch has opened.
    pub(super) fn passed(&self) -> u64 {
        self.entered.saturating_sub(self.steps.len() as u64 + u64::from(!self.is_free()))
    }
}
