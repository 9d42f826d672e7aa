//! The table of open devices, and the guards that keep them open during calls.
//!
//! Each entry of the table has a read-write lock. A call holds the read lock until it returns. Closing
//! removes the handle first, so that no new call can start, and then waits for the write lock. Calls only
//! try to lock, and never wait: a nested call, such as one that a layer makes, would otherwise wait for a
//! closing that waits for the outer call.

use std::ops::Deref;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};
use tenon::support::RwLock;

use tenon::device::{Device, DeviceId};
use tenon::handle;

use crate::call::counts::CallCounts;
use crate::call::thread_state::Inside;
use crate::error::Failure;
use crate::handles::{HandleKind, bad_handle};
use crate::plugins::loaded::LoadedPlugin;
use crate::pool::Allocator;

/// An open device.
pub(crate) struct OpenDevice {
    pub(crate) handle: usize,
    pub(crate) plugin: Arc<LoadedPlugin>,
    pub(crate) id: DeviceId,
    /// Index in the plugin's list of devices.
    pub(crate) ordinal: usize,
    device: Arc<dyn Device>,
    pub(crate) calls: Arc<CallCounts>,
    pub(crate) pool: OnceLock<Arc<Allocator>>,
    /// Number of live buffers.
    pub(crate) buffers: AtomicUsize,
    /// Number of openings minus closings. Changes only under the lifecycle lock.
    opens: AtomicUsize,
}

impl OpenDevice {
    #[inline]
    pub(crate) fn device(&self) -> &dyn Device {
        &*self.device
    }

    pub(crate) fn name(&self) -> String {
        format!("{}:{}", self.plugin.device_type(), self.ordinal)
    }

    /// Counts one more opening.
    pub(crate) fn open_again(&self) {
        self.opens.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns true if it was opened more than once.
    pub(crate) fn is_shared(&self) -> bool {
        self.opens.load(Ordering::Relaxed) > 1
    }

    /// Counts one closing, unless it is the last one.
    pub(crate) fn close_shared(&self) -> bool {
        let is_shared = self.is_shared();
        if is_shared {
            self.opens.fetch_sub(1, Ordering::Relaxed);
        }
        is_shared
    }
}

/// Most devices that can be open at once.
const CAPACITY: usize = 256;

static TABLE: [Entry; CAPACITY] = [const { Entry::vacant() }; CAPACITY];

struct Entry {
    /// The handle under which calls find the device; 0 if the entry is vacant or its device is being
    /// closed.
    handle: AtomicUsize,
    device: RwLock<Option<OpenDevice>>,
}

impl Entry {
    const fn vacant() -> Self {
        Entry { handle: AtomicUsize::new(0), device: RwLock::new(None) }
    }

    /// Returns a guard of the device, unless the entry is vacant or its device is being closed.
    #[inline]
    fn read(&'static self) -> Option<DeviceGuard> {
        let device = self.device.try_read()?;
        device.is_some().then(|| DeviceGuard { device, _inside: Inside::new() })
    }
}

/// Keeps a device open, and marks the thread as inside a call.
#[must_use = "the device may be closed once this is dropped"]
pub(crate) struct DeviceGuard {
    device: RwLockReadGuard<'static, Option<OpenDevice>>,
    _inside: Inside,
}

impl DeviceGuard {
    /// Finds the open device of a handle.
    #[inline]
    pub(crate) fn of(handle: usize) -> Result<Self, Failure> {
        TABLE
            .get(handle::index(handle))
            .filter(|entry| entry.handle.load(Ordering::Acquire) == handle)
            .and_then(Entry::read)
            // The entry may have been closed and reopened after its handle was read.
            .filter(|device| device.handle == handle)
            .ok_or_else(|| bad_handle(HandleKind::Device, handle))
    }
}

impl Deref for DeviceGuard {
    type Target = OpenDevice;

    #[inline]
    fn deref(&self) -> &OpenDevice {
        self.device.as_ref().expect("`read` makes guards of occupied entries only")
    }
}

fn open_devices() -> impl Iterator<Item = DeviceGuard> {
    let entries = TABLE.iter().filter(|entry| entry.handle.load(Ordering::Acquire) != 0);
    entries.filter_map(Entry::read)
}

/// Finds the handle of a plugin's open device.
pub(crate) fn find(plugin: usize, id: DeviceId) -> Option<usize> {
    open_devices().find(|open| open.plugin.handle == plugin && open.id == id).map(|open| open.handle)
}

/// Returns the handles of all open devices.
pub(crate) fn handles() -> Vec<usize> {
    open_devices().map(|open| open.handle).collect()
}

/// Returns the number of a plugin's open devices.
pub(crate) fn count_of_plugin(plugin: usize) -> usize {
    open_devices().filter(|open| open.plugin.handle == plugin).count()
}

/// Returns a handle for an entry that the entry has not had before.
fn fresh_handle(index: usize) -> usize {
    static OPENINGS: AtomicU64 = AtomicU64::new(1);
    handle::encode(HandleKind::Device as u8, index, OPENINGS.fetch_add(1, Ordering::Relaxed))
}

/// Adds a device to the table, opened once. The caller holds the lifecycle lock.
pub(crate) fn publish(
    plugin: Arc<LoadedPlugin>,
    device: Arc<dyn Device>,
    id: DeviceId,
    ordinal: usize,
) -> Result<usize, Failure> {
    let vacant = TABLE.iter().position(|entry| entry.handle.load(Ordering::Acquire) == 0);
    let Some(index) = vacant else {
        return Err(Failure::busy(format!("{CAPACITY} devices are open already")));
    };
    let (entry, handle) = (&TABLE[index], fresh_handle(index));
    *entry.device.write() = Some(OpenDevice {
        handle,
        plugin,
        id,
        ordinal,
        device,
        calls: CallCounts::new(),
        pool: OnceLock::new(),
        buffers: AtomicUsize::new(0),
        opens: AtomicUsize::new(1),
    });
    entry.handle.store(handle, Ordering::Release);
    Ok(handle)
}

/// Removes a device from the table after all calls to it have returned. The caller holds the lifecycle
/// lock.
///
/// The device stays if calls do not return within `patience`, or if `may_close` fails after that.
pub(crate) fn withdraw(
    handle: usize,
    patience: Duration,
    may_close: impl FnOnce(&OpenDevice) -> Result<(), Failure>,
) -> Result<OpenDevice, Failure> {
    // Fails for the handle of a device that is not open. The guard must be dropped before the wait.
    drop(DeviceGuard::of(handle)?);
    let entry = &TABLE[handle::index(handle)];
    entry.handle.store(0, Ordering::Release);
    let closed = wait_for_calls(entry, patience).and_then(|mut device| {
        device.as_ref().map_or(Ok(()), may_close)?;
        device.take().ok_or_else(|| bad_handle(HandleKind::Device, handle))
    });
    if closed.is_err() {
        entry.handle.store(handle, Ordering::Release);
    }
    closed
}

/// Waits until no call uses the device of an entry.
fn wait_for_calls(
    entry: &Entry,
    patience: Duration,
) -> Result<RwLockWriteGuard<'_, Option<OpenDevice>>, Failure> {
    let begun = Instant::now();
    loop {
        if let Some(device) = entry.device.try_write() {
            return Ok(device);
        }
        if begun.elapsed() > patience {
            return Err(Failure::busy("calls of other threads to the device do not return"));
        }
        std::thread::sleep(Duration::from_micros(50));
    }
}
