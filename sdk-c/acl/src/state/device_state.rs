//! Device state: the runtime's record of a device. The device is open while a lease of it exists.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, MutexGuard};
use tenon::support::Mutex;

use super::session::DeviceSession;
use crate::error::{Result, of_device};
use crate::provider::Devices;

/// The state of a device, open or not.
pub(crate) struct DeviceState {
    pub(crate) ordinal: u32,
    usage: Mutex<DeviceUsage>,
}

/// The program's use of a device.
#[derive(Default)]
pub(crate) struct DeviceUsage {
    /// Number of times that the program set the device, minus the times that it reset it.
    pub(crate) references: usize,
    /// The handle of the default context, from when the device is first set to its last reset.
    pub(crate) primary: Option<usize>,
    session: Option<Arc<DeviceSession>>,
    leases: usize,
    /// The ids of streams that are in use.
    pub(crate) stream_ids: BTreeSet<u32>,
    /// The number of events.
    pub(crate) events: usize,
    /// The bytes of device memory that the program has allocated, now and at the peak.
    pub(crate) memory: (usize, usize),
    /// The devices whose memory this device may access.
    pub(crate) peers: BTreeSet<u32>,
    /// Settings by name and number. The last reset clears them.
    pub(crate) settings: BTreeMap<(&'static str, i64), i64>,
}

impl DeviceUsage {
    /// Clears the count of the device, and returns the handle of its default context.
    pub(crate) fn take_primary(&mut self) -> Option<usize> {
        self.references = 0;
        self.peers.clear();
        self.settings.clear();
        self.primary.take()
    }
}

impl DeviceState {
    pub(super) fn new(ordinal: u32) -> Arc<Self> {
        Arc::new(DeviceState { ordinal, usage: Mutex::default() })
    }

    /// Locks the usage. The lock must be held only briefly, and never during a call of other code.
    pub(crate) fn usage(&self) -> MutexGuard<'_, DeviceUsage> {
        self.usage.lock()
    }

    /// Leases the device, and opens it if it is closed.
    pub(super) fn lease(self: &Arc<Self>, provider: &dyn Devices) -> Result<Lease> {
        if let Some(lease) = self.lease_if_open() {
            return Ok(lease);
        }
        let opened = provider.open(self.ordinal).map_err(|error| of_device(&error))?;
        let session = DeviceSession::new(self.ordinal, provider.memory_is_host(), opened);
        // Another thread may have opened the device in the meantime: then its session is used, and this one is
        // closed.
        if let Some(lease) = self.lease_if_open() {
            session.close();
            return Ok(lease);
        }
        let (kept, surplus) = {
            let mut usage = self.usage();
            usage.leases += 1;
            match &usage.session {
                Some(kept) => (kept.clone(), Some(session)),
                None => {
                    usage.session = Some(session.clone());
                    (session, None)
                }
            }
        };
        if let Some(surplus) = surplus {
            surplus.close();
        }
        Ok(Lease { device: self.clone(), session: kept })
    }

    /// Leases the device if it is open.
    fn lease_if_open(self: &Arc<Self>) -> Option<Lease> {
        let mut usage = self.usage();
        let session = usage.session.clone()?;
        usage.leases += 1;
        Some(Lease { device: self.clone(), session })
    }
}

/// Keeps a device open. The thread that drops the last lease closes the device, so a thread of the device must not
/// own one.
pub(crate) struct Lease {
    pub(crate) device: Arc<DeviceState>,
    pub(crate) session: Arc<DeviceSession>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        let last = {
            let mut usage = self.device.usage();
            usage.leases -= 1;
            if usage.leases == 0 { usage.session.take() } else { None }
        };
        if let Some(session) = last {
            session.close();
        }
    }
}

impl std::fmt::Debug for Lease {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Lease({})", self.device.ordinal)
    }
}

impl std::ops::Deref for Lease {
    type Target = DeviceSession;

    fn deref(&self) -> &DeviceSession {
        &self.session
    }
}
