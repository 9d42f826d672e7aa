//! The functions of a stream that its work calls.

use crate::error::Error;
use std::sync::Arc;
use tenon::device::DeviceId;

/// A stream, as seen by its work.
pub(crate) trait Progress: Send + Sync {
    /// Returns the device of the stream.
    fn device(&self) -> DeviceId;

    /// Returns the handle of the stream.
    fn handle(&self) -> usize;

    /// Returns the number of completed pieces of work.
    fn completed(&self) -> u64;

    /// Keeps the first failure until it is read.
    fn fail(&self, error: Error);

    /// Returns the unread failure, and leaves it unread.
    fn failure(&self) -> Option<Error>;

    /// Returns the failure, once.
    fn take_failure(&self) -> Option<Error>;

    /// Blocks until the work up to `place` is complete. Runs work that no thread has started.
    fn wait_for(self: Arc<Self>, place: u64);

    /// Runs the stream for a turn, as the ready queue asks.
    fn run_listed(self: Arc<Self>);

    /// Ends the work that the stream was parked for, and continues with the next.
    fn resume(self: Arc<Self>);
}
