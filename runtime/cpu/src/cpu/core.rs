//! The state of a running device, and the look-ups that every call begins with.

use crate::config::Config;
use crate::error::{Error, Result};
use crate::executor::event::EventState;
use crate::executor::progress::Progress;
use crate::executor::stream::StreamState;
use crate::executor::work::Work;
use crate::executor::{Load, Shared};
use crate::graph::{CapturedGraph, ExecutableGraph};
use crate::handle::{HandleKind, Handles};
use crate::memory::{Arena, Registry, physical_memory};
use std::sync::{Arc, MutexGuard};
use tenon::device::{DeviceId, Event, Stream};
use tenon::support::Mutex;

use super::collectives::CommunicatorState;
use super::libraries::LibraryState;

pub(super) struct Core {
    pub(super) config: Config,
    pub(super) shared: Arc<Shared>,
    pub(super) registry: Arc<Registry>,
    pub(super) devices: Vec<DeviceState>,
    pub(super) streams: Handles<StreamState>,
    pub(super) events: Handles<EventState>,
    pub(super) graphs: Handles<CapturedGraph>,
    pub(super) execs: Handles<ExecutableGraph>,
    pub(super) libraries: Handles<LibraryState>,
    pub(super) communicators: Handles<CommunicatorState>,
}

/// The state of one device.
pub(super) struct DeviceState {
    pub(super) default_stream: Arc<StreamState>,
    pub(super) memory: Arc<Arena>,
    pub(super) host: Arc<Arena>,
    pub(super) load: Arc<Load>,
    /// Streams destroyed while they had work.
    leaving: Mutex<Vec<Arc<StreamState>>>,
    /// The first failure of a destroyed stream that no call has returned.
    unread: Mutex<Option<Error>>,
}

impl Core {
    pub(super) fn new(config: Config) -> Self {
        let shared = Arc::new(Shared::new());
        let registry = Arc::new(Registry::default());
        let devices =
            ids(config.devices).map(|device| DeviceState::new(device, &config, &shared, &registry)).collect();
        Self {
            config,
            shared,
            registry,
            devices,
            streams: Handles::new(HandleKind::Stream),
            events: Handles::new(HandleKind::Event),
            graphs: Handles::new(HandleKind::Graph),
            execs: Handles::new(HandleKind::Exec),
            libraries: Handles::new(HandleKind::Library),
            communicators: Handles::new(HandleKind::Communicator),
        }
    }

    /// Returns the device numbers.
    pub(super) fn ids(&self) -> impl Iterator<Item = DeviceId> + use<> {
        ids(self.devices.len())
    }

    pub(super) fn device(&self, device: DeviceId) -> Result<&DeviceState> {
        let state = usize::try_from(device.0).ok().and_then(|index| self.devices.get(index));
        state.ok_or(Error::UnknownDevice { device, count: self.devices.len() })
    }

    /// Returns the stream of that handle, which must belong to the device.
    pub(super) fn stream(&self, device: DeviceId, handle: Stream) -> Result<Arc<StreamState>> {
        let state = self.device(device)?;
        if handle == Stream::NULL {
            return Ok(state.default_stream.clone());
        }
        let stream = self.streams.get(handle.addr())?;
        check_device(HandleKind::Stream, handle.addr(), stream.device, device)?;
        Ok(stream)
    }

    /// Returns the event of that handle, which may belong to any device.
    pub(super) fn any_event(&self, handle: Event) -> Result<Arc<EventState>> {
        self.events.get(handle.addr())
    }

    /// Returns the event of that handle, which must belong to the device.
    pub(super) fn event(&self, device: DeviceId, handle: Event) -> Result<Arc<EventState>> {
        self.device(device)?;
        let event = self.any_event(handle)?;
        check_device(HandleKind::Event, handle.addr(), event.device, device)?;
        Ok(event)
    }

    /// Returns every stream of the device that may have work.
    pub(super) fn streams_of(&self, device: DeviceId) -> Vec<Arc<StreamState>> {
        let mut streams = self.streams.table.all();
        streams.retain(|stream| stream.device == device);
        if let Ok(state) = self.device(device) {
            streams.push(state.default_stream.clone());
            streams.extend(state.leaving().iter().cloned());
        }
        streams
    }

    /// Queues `work` in each busy stream of the device, behind the work that is queued now.
    pub(super) fn leave_behind(&self, device: DeviceId, work: impl Fn() -> Work) {
        for stream in self.streams_of(device) {
            stream.leave_behind(&work);
        }
    }

    /// Blocks until the device's streams have passed the work that is queued now.
    pub(super) fn finish(&self, device: DeviceId) {
        if self.device(device).is_ok_and(|state| !state.load.is_idle()) {
            for stream in self.streams_of(device) {
                stream.synchronize();
            }
        }
    }

    /// Blocks until nothing is queued anywhere.
    pub(super) fn finish_all(&self) {
        for device in self.ids() {
            for stream in self.streams_of(device) {
                if let Some(capture) = stream.capture() {
                    capture.lose(&stream);
                }
            }
        }
        for device in self.ids() {
            self.finish(device);
        }
    }

    /// Returns a failure of stream work that no call has returned, if there is one.
    pub(super) fn take_failure(&self) -> Option<Error> {
        let mut failures = self.ids().filter_map(|device| {
            let unread = self.device(device).ok().and_then(DeviceState::take_unread);
            unread.or_else(|| self.streams_of(device).iter().find_map(|stream| stream.take_failure()))
        });
        failures.next()
    }

    /// Removes every handle, and frees all memory and all traces. The threads must have ended.
    pub(super) fn clear(&self) {
        self.streams.clear();
        self.events.clear();
        self.graphs.clear();
        self.execs.clear();
        self.libraries.clear();
        self.communicators.clear();
        self.registry.free_all();
        self.shared.profiler.set_on(false);
        self.shared.profiler.drain();
        for device in &self.devices {
            device.leaving().clear();
            device.take_unread();
            device.default_stream.take_failure();
        }
    }
}

/// Returns the ids of the first `count` devices; there are 64 at most, so that each number is an id.
fn ids(count: usize) -> impl Iterator<Item = DeviceId> {
    (0..).map(DeviceId).take(count)
}

impl DeviceState {
    fn new(device: DeviceId, config: &Config, shared: &Arc<Shared>, registry: &Arc<Registry>) -> Self {
        let load = Arc::new(Load::new());
        Self {
            default_stream: StreamState::new(Stream::NULL.addr(), device, shared, &load),
            memory: Arena::new(device, false, config.memory, registry),
            host: Arena::new(device, true, physical_memory(), registry),
            load,
            leaving: Mutex::new(Vec::new()),
            unread: Mutex::new(None),
        }
    }

    /// Keeps a destroyed stream as long as it has work, and then its failure.
    pub(super) fn see_off(&self, stream: Arc<StreamState>) {
        let mut leaving = self.leaving();
        leaving.push(stream);
        leaving.retain(|stream| {
            let is_done = stream.is_done();
            if is_done && let Some(failure) = stream.take_failure() {
                self.unread().get_or_insert(failure);
            }
            !is_done
        });
    }

    /// Returns the failure of a destroyed stream, once.
    pub(super) fn take_unread(&self) -> Option<Error> {
        self.unread().take()
    }

    fn unread(&self) -> MutexGuard<'_, Option<Error>> {
        self.unread.lock()
    }

    fn leaving(&self) -> MutexGuard<'_, Vec<Arc<StreamState>>> {
        self.leaving.lock()
    }
}

pub(super) fn check_device(kind: HandleKind, handle: usize, owner: DeviceId, device: DeviceId) -> Result<()> {
    if owner == device { Ok(()) } else { Err(Error::WrongDevice { kind, handle, owner, device }) }
}
