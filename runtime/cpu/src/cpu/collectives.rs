//! Collectives of several processes, in the order of streams.
//!
//! A stream that comes to a collective is parked. The thread of the communicator runs it and resumes the stream, so no thread
//! of the pool waits for another process.

use super::Cpu;
use super::streams::{refuse_captured, submit};
use crate::error::{Error, Result};
use crate::executor::Shared;
use crate::executor::progress::Progress;
use crate::executor::work::Work;
use crate::memory::AllocationGuard;
use crate::profiler::{Activity, TraceRecord};
use std::sync::Arc;
use tenon::device::{CollectiveComm, DeviceId, Stream};
use tenon_gloo::{Communicator, Memory, Operation, Ticket, Use};

/// The communicator of a device.
pub(super) struct CommunicatorState {
    device: DeviceId,
    pub(super) communicator: Communicator,
}

impl From<tenon_gloo::Error> for Error {
    fn from(error: tenon_gloo::Error) -> Self {
        Self::Collective { is_callers: error.is_callers(), reason: error.to_string() }
    }
}

impl Cpu {
    /// Writes the root id of a new group.
    pub(super) fn root_id(&self, place: &mut [u8]) -> Result<()> {
        self.core()?;
        tenon_gloo::write_root_id(place)?;
        Ok(())
    }

    /// Joins the group of a root id, with a device.
    pub(super) fn join_group(
        &self,
        device: DeviceId,
        id: &[u8],
        rank: usize,
        size: usize,
    ) -> Result<CollectiveComm> {
        let core = self.core()?;
        let communicator = Communicator::join(id, rank, size)?;
        let state = Arc::new(CommunicatorState { device, communicator });
        Ok(CollectiveComm::from_addr(core.communicators.insert_with(|_| state)?))
    }

    pub(super) fn communicator(&self, comm: CollectiveComm) -> Result<Arc<CommunicatorState>> {
        self.core()?.communicators.get(comm.addr())
    }

    /// Queues an operation of a group in a stream.
    pub(super) fn collective(
        &self,
        comm: CollectiveComm,
        stream: Stream,
        call: &'static str,
        operation: Operation,
    ) -> Result<()> {
        let core = self.core()?;
        let state = self.communicator(comm)?;
        let stream = core.stream(state.device, stream)?;
        refuse_captured(&stream, call)?;
        let guards = self.guards(&state, &operation)?;
        let (shared, key) = (core.shared.clone(), stream.handle);
        let launch = move |ticket: Ticket, memory: Vec<Memory>| {
            let start = move |stream: Arc<dyn Progress>| {
                let start_ns = shared.clock.now_ns();
                ticket.ready(Box::new(move |outcome| {
                    drop(memory);
                    let failure = outcome.err().map(|error| error.to_string());
                    over(&shared, stream, call, start_ns, failure);
                }));
            };
            submit(&stream, Work::Fork(Box::new(start)), |_| None).map_err(|error| error.to_string())
        };
        // SAFETY: the buffers are inside of allocations of the device, which the guards keep. What else uses them is ordered
        // by streams.
        unsafe { state.communicator.queue(operation, key, Box::new(guards), Box::new(launch))? };
        Ok(())
    }

    /// Checks the buffers of an operation, and keeps their memory.
    fn guards(&self, state: &CommunicatorState, operation: &Operation) -> Result<Vec<AllocationGuard>> {
        let core = self.core()?;
        let uses = operation.uses(state.communicator.rank(), state.communicator.size());
        let mut guards = Vec::with_capacity(uses.len());
        for Use { buffer, .. } in uses {
            let bytes = buffer.bytes()?;
            if bytes > 0 {
                guards.push(core.registry.guard_device(state.device, buffer.data.addr(), bytes)?);
            }
        }
        Ok(guards)
    }
}

/// Ends a collective: the stream goes on, with a failure if there is one.
fn over(
    shared: &Shared,
    stream: Arc<dyn Progress>,
    call: &'static str,
    start_ns: u64,
    failure: Option<String>,
) {
    if shared.profiler.is_on() {
        shared.profiler.add(TraceRecord {
            activity: Activity::Kernel,
            name: call,
            library: Some("gloo"),
            device: stream.device(),
            stream: stream.handle(),
            start_ns,
            end_ns: shared.clock.now_ns(),
        });
    }
    if let Some(message) = failure {
        stream.fail(Error::TaskFailed { task: "collective", stream: stream.handle(), message });
    }
    stream.resume();
}
