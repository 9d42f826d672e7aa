//! Open devices, and how a call holds one without a locked instruction.
//!
//! A call writes into its thread's state which device it is about to use, and then looks whether the handle is still
//! open. Whoever closes a device first takes the handle away, then waits until no thread's state names the device.
//! For this the two writes and the two reads must not pass each other. On the side of the call, which is frequent, a
//! fence for the compiler does; on the side of the closing, which is rare, the system runs a barrier on all threads of
//! the process (`membarrier`). Where the system has none, calls fence for themselves.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicUsize, Ordering, compiler_fence, fence};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tenon::device::{Device, DeviceId};

use crate::counts::Tally;
use crate::error::Failure;
use crate::handle::{self, Kind, bad};
use crate::loaded::LoadedPlugin;
use crate::pool::Pool;
use crate::thread::{self, Thread};

/// A device that is open.
pub(crate) struct OpenDevice {
    pub(crate) handle: usize,
    pub(crate) plugin: Arc<LoadedPlugin>,
    pub(crate) id: DeviceId,
    /// Its place in the plugin's list.
    pub(crate) ordinal: usize,
    /// Points into the next, so that a call need not find out where in there the device is.
    behind: *const dyn Device,
    _device: Arc<dyn Device>,
    pub(crate) tally: Arc<Tally>,
    pub(crate) pool: OnceLock<Pool>,
    /// Buffers that are alive.
    pub(crate) buffers: AtomicUsize,
    /// Calls from inside of calls, which the state of the thread has no room for.
    nested: AtomicUsize,
}

impl OpenDevice {
    #[inline(always)]
    pub(crate) fn device(&self) -> &dyn Device {
        // SAFETY: points to what the `Arc` beside it keeps.
        unsafe { &*self.behind }
    }

    pub(crate) fn name(&self) -> String {
        format!("{}:{}", self.plugin.device_type(), self.ordinal)
    }
}

/// A place in the table of open devices.
#[derive(Debug)]
pub(crate) struct Slot {
    /// The handle that is open here, or 0.
    handle: AtomicUsize,
    device: AtomicPtr<OpenDevice>,
    plugin: AtomicUsize,
    id: AtomicI32,
}

/// A number that is never a handle.
pub(crate) const NOWHERE: usize = usize::MAX;
/// How many devices may be open.
const SLOTS: usize = 256;
static TABLE: [Slot; SLOTS] = [const { Slot::empty() }; SLOTS];
/// How often each open device was opened.
static OPENS: Mutex<[usize; SLOTS]> = Mutex::new([0; SLOTS]);

impl Slot {
    const fn empty() -> Self {
        Slot {
            handle: AtomicUsize::new(0),
            device: AtomicPtr::new(null_mut()),
            plugin: AtomicUsize::new(0),
            id: AtomicI32::new(0),
        }
    }

    /// A place where nothing is ever open.
    pub(crate) fn nowhere() -> &'static Self {
        static NONE: Slot = Slot::empty();
        &NONE
    }

    /// Whether a handle is open here.
    #[inline(always)]
    pub(crate) fn has(&self, handle: usize) -> bool {
        self.handle.load(Ordering::Acquire) == handle
    }

    fn of(handle: usize) -> Option<&'static Slot> {
        let slot = TABLE.get(handle::index(handle))?;
        (handle != 0 && slot.has(handle)).then_some(slot)
    }
}

/// Whether the system has barriers for all threads of a process.
static ASYMMETRIC: AtomicBool = AtomicBool::new(false);

pub(crate) fn is_asymmetric() -> bool {
    ASYMMETRIC.load(Ordering::Relaxed)
}

/// Asks the system for its barrier; before the first device is open.
fn prepare_barrier() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        #[cfg(target_os = "linux")]
        ASYMMETRIC.store(membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED), Ordering::SeqCst);
    });
}

#[cfg(target_os = "linux")]
fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: the call takes numbers only.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// The side of calls: between the writing of `active` and the look at the handle.
#[inline(always)]
fn light_fence() {
    if is_asymmetric() {
        compiler_fence(Ordering::SeqCst);
    } else {
        fence(Ordering::SeqCst);
    }
}

/// The side of closing: between the taking of the handle and the look at `active`.
fn heavy_fence() {
    fence(Ordering::SeqCst);
    #[cfg(target_os = "linux")]
    if is_asymmetric() {
        membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    }
}

/// An open device that a call holds: it is not closed before this is dropped.
pub(crate) struct Pin {
    open: *mut OpenDevice,
    thread: &'static Thread,
    nested: bool,
}

impl Pin {
    /// The thread's current device, if that is what the handle stands for and the thread is in no other call.
    #[inline(always)]
    pub(crate) fn current(handle: usize) -> Option<Self> {
        let thread = thread::known()?;
        if thread.at_hand.get() != handle || !thread.active.load(Ordering::Relaxed).is_null() {
            return None;
        }
        let device = thread.device.get();
        thread.active.store(device, Ordering::Relaxed);
        // A device is at hand only where the other side has the barrier.
        compiler_fence(Ordering::SeqCst);
        if !thread.slot.get().has(handle) {
            thread.active.store(null_mut(), Ordering::Release);
            return None;
        }
        Some(Pin { open: device, thread, nested: false })
    }

    /// The device of a handle, if it is open.
    pub(crate) fn of(handle: usize) -> Result<Self, Failure> {
        let thread = thread::here();
        Self::at(thread, handle).ok_or_else(|| bad(Kind::Device, handle))
    }

    fn at(thread: &'static Thread, handle: usize) -> Option<Self> {
        let slot = Slot::of(handle)?;
        let device = slot.device.load(Ordering::Acquire);
        // Inside of another call the first place is taken; the second serves until the call is counted.
        let nested = !thread.active.load(Ordering::Relaxed).is_null();
        let place = if nested { &thread.entering } else { &thread.active };
        place.store(device, Ordering::Relaxed);
        light_fence();
        if !slot.has(handle) {
            place.store(null_mut(), Ordering::Release);
            return None;
        }
        if nested {
            // SAFETY: the slot still has the handle, so this is its device, and nobody frees what `entering` names.
            unsafe { &*device }.nested.fetch_add(1, Ordering::AcqRel);
            place.store(null_mut(), Ordering::Release);
        }
        Some(Pin { open: device, thread, nested })
    }

    #[inline(always)]
    pub(crate) fn thread(&self) -> &'static Thread {
        self.thread
    }

    pub(crate) fn slot(&self) -> &'static Slot {
        &TABLE[handle::index(self.handle)]
    }
}

impl std::ops::Deref for Pin {
    type Target = OpenDevice;

    #[inline(always)]
    fn deref(&self) -> &OpenDevice {
        // SAFETY: it was open when the pin was made, and is not freed while the pin lives.
        unsafe { &*self.open }
    }
}

impl Drop for Pin {
    #[inline(always)]
    fn drop(&mut self) {
        if self.nested {
            self.nested_ended();
        } else {
            self.thread.active.store(null_mut(), Ordering::Release);
        }
    }
}

impl Pin {
    #[cold]
    fn nested_ended(&self) {
        let open: &OpenDevice = self;
        open.nested.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What is open of a plugin under a number.
pub(crate) fn find(plugin: usize, id: DeviceId) -> Option<usize> {
    TABLE.iter().find_map(|slot| {
        let handle = slot.handle.load(Ordering::Acquire);
        (handle != 0 && identity_at(slot, handle) == Some((plugin, id))).then_some(handle)
    })
}

/// The plugin and the number of an open device.
pub(crate) fn identity(handle: usize) -> Result<(usize, DeviceId), Failure> {
    Slot::of(handle).and_then(|slot| identity_at(slot, handle)).ok_or_else(|| bad(Kind::Device, handle))
}

fn identity_at(slot: &Slot, handle: usize) -> Option<(usize, DeviceId)> {
    let identity = (slot.plugin.load(Ordering::Acquire), DeviceId(slot.id.load(Ordering::Acquire)));
    // A handle is given once: if it is still there, what was read between belongs to it.
    slot.has(handle).then_some(identity)
}

/// Handles of everything that is open.
pub(crate) fn handles() -> Vec<usize> {
    TABLE.iter().map(|slot| slot.handle.load(Ordering::Acquire)).filter(|handle| *handle != 0).collect()
}

/// Takes a device into the table, open once. Only one thread at a time opens and closes.
pub(crate) fn publish(
    plugin: Arc<LoadedPlugin>,
    device: Arc<dyn Device>,
    id: DeviceId,
    ordinal: usize,
) -> Result<usize, Failure> {
    prepare_barrier();
    let free = TABLE.iter().position(|slot| slot.handle.load(Ordering::Acquire) == 0);
    let Some(index) = free else {
        return Err(Failure::busy(format!("{SLOTS} devices are open already")));
    };
    let handle = handle::fresh(Kind::Device, index);
    let slot = &TABLE[index];
    slot.plugin.store(plugin.handle, Ordering::Release);
    slot.id.store(id.0, Ordering::Release);
    let open = OpenDevice {
        handle,
        plugin,
        id,
        ordinal,
        behind: Arc::as_ptr(&device),
        _device: device,
        tally: Tally::new(),
        pool: OnceLock::new(),
        buffers: AtomicUsize::new(0),
        nested: AtomicUsize::new(0),
    };
    slot.device.store(Box::into_raw(Box::new(open)), Ordering::Release);
    OPENS.lock().unwrap_or_else(PoisonError::into_inner)[index] = 1;
    slot.handle.store(handle, Ordering::Release);
    Ok(handle)
}

/// Opens what is open once more.
pub(crate) fn open_again(handle: usize) {
    OPENS.lock().unwrap_or_else(PoisonError::into_inner)[handle::index(handle)] += 1;
}

/// Whether it is open more than once.
pub(crate) fn is_shared(handle: usize) -> bool {
    OPENS.lock().unwrap_or_else(PoisonError::into_inner)[handle::index(handle)] > 1
}

/// Closes once; says whether it is still open for somebody else.
pub(crate) fn close_once(handle: usize) -> bool {
    let mut opens = OPENS.lock().unwrap_or_else(PoisonError::into_inner);
    let opens = &mut opens[handle::index(handle)];
    if *opens > 1 {
        *opens -= 1;
        return true;
    }
    false
}

/// Takes a handle away and waits until no call uses its device, which is then the caller's alone.
///
/// The device stays open if calls have not ended after that time, or if `may` does not agree when they have.
pub(crate) fn withdraw(
    handle: usize,
    patience: Duration,
    may: impl FnOnce(&OpenDevice) -> Result<(), Failure>,
) -> Result<Box<OpenDevice>, Failure> {
    let slot = Slot::of(handle).ok_or_else(|| bad(Kind::Device, handle))?;
    let device = slot.device.load(Ordering::Acquire);
    slot.handle.store(0, Ordering::SeqCst);
    heavy_fence();
    let begun = Instant::now();
    // SAFETY: only closing frees it, and only one thread at a time closes.
    while thread::any_in(device) || unsafe { &*device }.nested.load(Ordering::Acquire) > 0 {
        if begun.elapsed() > patience {
            slot.handle.store(handle, Ordering::SeqCst);
            return Err(Failure::busy("calls of other threads to the device do not end"));
        }
        std::thread::sleep(Duration::from_micros(50));
    }
    // SAFETY: as above.
    if let Err(failure) = may(unsafe { &*device }) {
        slot.handle.store(handle, Ordering::SeqCst);
        return Err(failure);
    }
    slot.device.store(null_mut(), Ordering::Release);
    // SAFETY: made by `into_raw` in `publish`; the handle is gone, and so is everybody who had found it.
    Ok(unsafe { Box::from_raw(device) })
}
