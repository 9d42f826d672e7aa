//! A device as the runtime holds it: open as long as something is on it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use tenon::device::{self, Device, DeviceId};

use crate::api::AclError;
use crate::context::Context;
use crate::devices::{Devices, OpenDevice};
use crate::error::{Error, Result, of_device, refuse};
use crate::scratch::Scratch;

/// A device that is open.
pub(crate) struct Unit {
    pub(crate) ordinal: u32,
    opened: Arc<dyn OpenDevice>,
    marks: Mutex<Marks>,
    /// Whether its events are destroyed. Read as long as the device is called about one.
    is_closed: RwLock<bool>,
    pub(crate) scratch: Scratch,
}

/// The device's own events. Each record of an event of the program's takes one, and gives it back when nobody asks for
/// the record any more; so an event can be recorded again while streams still wait for its last record.
#[derive(Default)]
struct Marks {
    idle: Vec<device::Event>,
    made: Vec<device::Event>,
}

impl Unit {
    fn new(ordinal: u32, opened: Arc<dyn OpenDevice>) -> Arc<Self> {
        let (marks, is_closed, scratch) = (Mutex::default(), RwLock::new(false), Scratch::default());
        Arc::new(Unit { ordinal, opened, marks, is_closed, scratch })
    }

    /// Calls the device.
    pub(crate) fn on<R>(&self, body: impl FnOnce(&dyn Device, DeviceId) -> device::Result<R>) -> Result<R> {
        self.ask(body).map_err(|error| of_device(&error))
    }

    /// Calls the device, for whoever has to know how it failed.
    pub(crate) fn ask<R>(
        &self,
        body: impl FnOnce(&dyn Device, DeviceId) -> device::Result<R>,
    ) -> device::Result<R> {
        let (mut body, mut result) = (Some(body), None);
        self.opened.call(&mut |device, id| {
            if let Some(body) = body.take() {
                result = Some(body(device, id)?);
            }
            Ok(())
        })?;
        result.ok_or_else(|| device::Error::new(device::Status::INTERNAL_ERROR, "the device was not called"))
    }

    /// One of the device's own events, to be given back with [`give_mark`](Self::give_mark).
    pub(crate) fn take_mark(&self) -> Result<device::Event> {
        let is_closed = self.is_closed();
        if *is_closed {
            let message = format!("device {} was reset meanwhile, by another thread", self.ordinal);
            return refuse(AclError::RT_INVALID_HANDLE, message);
        }
        if let Some(mark) = self.marks().idle.pop() {
            return Ok(mark);
        }
        let mark = self.on(|device, id| device.create_event(id))?;
        self.marks().made.push(mark);
        Ok(mark)
    }

    /// Takes an event of the device back. A record of it that is still queued does no harm.
    pub(crate) fn give_mark(&self, mark: device::Event) {
        self.marks().idle.push(mark);
    }

    /// Whether a mark is done; all are once the device is closed.
    pub(crate) fn is_past(&self, mark: device::Event) -> Result<bool> {
        let is_closed = self.is_closed();
        if *is_closed { Ok(true) } else { self.on(|device, id| device.query_event(id, mark)) }
    }

    /// Waits until a mark is done. The device is not closed meanwhile.
    pub(crate) fn wait_for(&self, mark: device::Event) -> Result<()> {
        let is_closed = self.is_closed();
        if *is_closed { Ok(()) } else { self.on(|device, id| device.synchronize_event(id, mark)) }
    }

    fn is_closed(&self) -> RwLockReadGuard<'_, bool> {
        self.is_closed.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn marks(&self) -> MutexGuard<'_, Marks> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        *self.is_closed.write().unwrap_or_else(PoisonError::into_inner) = true;
        self.scratch.clear(self);
        let made = std::mem::take(&mut *self.marks()).made;
        for mark in made {
            // There is nobody left whom a failure would concern.
            let _ = self.on(|device, id| device.destroy_event(id, mark));
        }
        self.opened.close();
    }
}

/// What is known of a device, open or not.
pub(crate) struct Home {
    pub(crate) ordinal: u32,
    state: Mutex<State>,
}

#[derive(Default)]
pub(crate) struct State {
    /// How often the program set the device, less how often it reset it.
    pub(crate) references: usize,
    /// The default context, from the first setting to the last reset.
    pub(crate) primary: Option<Arc<Context>>,
    unit: Option<Arc<Unit>>,
    leases: usize,
    /// Numbers of streams that are in use.
    pub(crate) stream_ids: BTreeSet<u32>,
    /// How many events there are.
    pub(crate) events: usize,
    /// How many bytes of its memory the program holds, and how many at the peak.
    pub(crate) memory: (usize, usize),
    /// Devices whose memory this one may reach.
    pub(crate) peers: BTreeSet<u32>,
    /// Figures that a program sets and reads, by what they are called; they end with the last reset.
    pub(crate) settings: BTreeMap<(&'static str, i64), i64>,
}

impl State {
    /// Ends the device's time as a set one.
    pub(crate) fn take_primary(&mut self) -> Option<Arc<Context>> {
        self.references = 0;
        self.peers.clear();
        self.settings.clear();
        self.primary.take()
    }
}

impl Home {
    pub(crate) fn new(ordinal: u32) -> Arc<Self> {
        Arc::new(Home { ordinal, state: Mutex::default() })
    }

    /// The state, to be held for moments only and never while anything is called.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the device, or finds it open.
    pub(crate) fn lease(self: &Arc<Self>, devices: &dyn Devices) -> Result<Lease> {
        if let Some(lease) = self.lease_if_open() {
            return Ok(lease);
        }
        let opened = devices.open(self.ordinal).map_err(|error| of_device(&error))?;
        let unit = Unit::new(self.ordinal, opened);
        // Another thread may have opened it meanwhile; then that one is taken, and this one goes.
        if let Some(lease) = self.lease_if_open() {
            unit.close();
            return Ok(lease);
        }
        let (kept, surplus) = {
            let mut state = self.state();
            state.leases += 1;
            match &state.unit {
                Some(kept) => (kept.clone(), Some(unit)),
                None => {
                    state.unit = Some(unit.clone());
                    (unit, None)
                }
            }
        };
        if let Some(surplus) = surplus {
            surplus.close();
        }
        Ok(Lease { home: self.clone(), unit: kept })
    }

    /// The same, unless it would have to be opened.
    pub(crate) fn lease_if_open(self: &Arc<Self>) -> Option<Lease> {
        let mut state = self.state();
        let unit = state.unit.clone()?;
        state.leases += 1;
        Some(Lease { home: self.clone(), unit })
    }
}

/// Keeps a device open. It is closed in the thread that gives the last lease back, so a lease must not be where the
/// device itself would drop it.
pub(crate) struct Lease {
    pub(crate) home: Arc<Home>,
    pub(crate) unit: Arc<Unit>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        let last = {
            let mut state = self.home.state();
            state.leases -= 1;
            if state.leases == 0 { state.unit.take() } else { None }
        };
        if let Some(unit) = last {
            unit.close();
        }
    }
}

impl std::fmt::Debug for Lease {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Lease({})", self.home.ordinal)
    }
}

impl std::ops::Deref for Lease {
    type Target = Unit;

    fn deref(&self) -> &Unit {
        &self.unit
    }
}

/// What a call says of a device that it cannot open.
pub(crate) fn cannot_open(ordinal: u32, error: &Error) -> Error {
    Error::new(error.status, format!("device {ordinal} cannot be opened: {}", error.message))
}
