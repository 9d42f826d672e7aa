//! The state of a running device, and the look-ups that every call begins with.

use crate::config::Config;
use crate::error::{Error, Result};
use crate::executor::event::EventState;
use crate::executor::stream::StreamState;
use crate::executor::work::Work;
use crate::executor::{Load, Shared};
use crate::graph::{CapturedGraph, ExecutableGraph};
use crate::handle::HandleKind;
use crate::memory::{Arena, Registry, physical_memory};
use crate::slab::Slab;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tenon::device::{Event, Stream};

use super::libraries::LibraryState;

pub(super) struct Core {
    pub(super) config: Config,
    pub(super) shared: Arc<Shared>,
    pub(super) registry: Arc<Registry>,
    pub(super) devices: Vec<DeviceState>,
    pub(super) streams: Slab<StreamState>,
    pub(super) events: Slab<EventState>,
    pub(super) graphs: Slab<CapturedGraph>,
    pub(super) execs: Slab<ExecutableGraph>,
    pub(super) libraries: Slab<LibraryState>,
}

/// The state of one device.
pub(super) struct DeviceState {
    pub(super) default_stream: Arc<StreamState>,
    pub(super) memory: Arc<Arena>,
    pub(super) host: Arc<Arena>,
    pub(super) load: Arc<Load>,
    /// Streams destroyed while they had work.
    leaving: Mutex<Vec<Arc<StreamState>>>,
}

impl Core {
    pub(super) fn new(config: Config) -> Self {
        let shared = Arc::new(Shared::new());
        let registry = Arc::new(Registry::default());
        let devices =
            (0..config.devices).map(|device| DeviceState::new(device, &config, &shared, &registry)).collect();
        Self {
            config,
            shared,
            registry,
            devices,
            streams: Slab::new(HandleKind::Stream),
            events: Slab::new(HandleKind::Event),
            graphs: Slab::new(HandleKind::Graph),
            execs: Slab::new(HandleKind::Exec),
            libraries: Slab::new(HandleKind::Library),
        }
    }

    pub(super) fn device(&self, device: usize) -> Result<&DeviceState> {
        self.devices.get(device).ok_or(Error::UnknownDevice { device, count: self.devices.len() })
    }

    /// The stream of that handle, which must belong to the device.
    pub(super) fn stream(&self, device: usize, handle: Stream) -> Result<Arc<StreamState>> {
        let state = self.device(device)?;
        if handle == Stream::NULL {
            return Ok(state.default_stream.clone());
        }
        let stream = self.streams.get(handle.addr())?;
        check_device(HandleKind::Stream, handle.addr(), stream.device, device)?;
        Ok(stream)
    }

    /// The event of that handle, of whichever device.
    pub(super) fn any_event(&self, handle: Event) -> Result<Arc<EventState>> {
        self.events.get(handle.addr())
    }

    /// The event of that handle, which must belong to the device.
    pub(super) fn event(&self, device: usize, handle: Event) -> Result<Arc<EventState>> {
        self.device(device)?;
        let event = self.any_event(handle)?;
        check_device(HandleKind::Event, handle.addr(), event.device, device)?;
        Ok(event)
    }

    /// Every stream of the device that may have work.
    pub(super) fn streams_of(&self, device: usize) -> Vec<Arc<StreamState>> {
        let mut streams = self.streams.select(|stream| stream.device == device);
        if let Some(state) = self.devices.get(device) {
            streams.push(state.default_stream.clone());
            streams.extend(state.leaving().iter().cloned());
        }
        streams
    }

    /// Has `work` done after all that the device's streams have queued now, in each of them.
    pub(super) fn leave_behind(&self, device: usize, work: impl Fn() -> Work) {
        for stream in self.streams_of(device) {
            stream.leave_behind(&work);
        }
    }

    /// Blocks until the device's streams have done what they have queued now.
    pub(super) fn finish(&self, device: usize) {
        if self.devices.get(device).is_some_and(|state| !state.load.is_idle()) {
            for stream in self.streams_of(device) {
                stream.synchronize();
            }
        }
    }

    /// Blocks until nothing is queued anywhere.
    pub(super) fn finish_all(&self) {
        for device in 0..self.devices.len() {
            for stream in self.streams_of(device) {
                if let Some(capture) = stream.capture() {
                    capture.lose(&stream);
                }
            }
        }
        for device in 0..self.devices.len() {
            self.finish(device);
        }
    }

    /// Forgets every handle, frees all memory and all traces. The threads are gone by now.
    pub(super) fn clear(&self) {
        self.streams.drain();
        self.events.drain();
        self.graphs.drain();
        self.execs.drain();
        self.libraries.drain();
        self.registry.free_all();
        self.shared.profiler.set_on(false);
        self.shared.profiler.drain();
        for device in &self.devices {
            device.leaving().clear();
            device.default_stream.take_failure();
        }
    }
}

impl DeviceState {
    fn new(device: usize, config: &Config, shared: &Arc<Shared>, registry: &Arc<Registry>) -> Self {
        let load = Arc::new(Load::new());
        Self {
            default_stream: StreamState::new(Stream::NULL.addr(), device, shared, &load),
            memory: Arena::new(device, false, config.memory, registry),
            host: Arena::new(device, true, physical_memory(), registry),
            load,
            leaving: Mutex::new(Vec::new()),
        }
    }

    /// Remembers a destroyed stream for as long as it has work.
    pub(super) fn see_off(&self, stream: Arc<StreamState>) {
        let mut leaving = self.leaving();
        leaving.retain(|stream| !stream.is_done());
        if !stream.is_done() {
            leaving.push(stream);
        }
    }

    fn leaving(&self) -> MutexGuard<'_, Vec<Arc<StreamState>>> {
        self.leaving.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn check_device(kind: HandleKind, handle: usize, owner: usize, device: usize) -> Result<()> {
    if owner == device { Ok(()) } else { Err(Error::WrongDevice { kind, handle, owner, device }) }
}
