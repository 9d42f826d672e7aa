//! What the library knows of each thread: its current device, its counts, and whether it is inside of a call.

use std::cell::{Cell, RefCell};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tenon::device::DeviceId;

use crate::counts::{Column, Tally};
use crate::open::{NOWHERE, OpenDevice, Slot, is_asymmetric};
use crate::own;

/// The state of a thread. Only the thread itself uses it, but for `active` and `entering`, which whoever closes a device reads.
pub(crate) struct Thread {
    /// Handle of the current device; what leads nowhere if there is none.
    pub(crate) current: Cell<usize>,
    /// The same, if calls to it need no fence of their own.
    pub(crate) at_hand: Cell<usize>,
    /// Where the current device is looked up.
    pub(crate) slot: Cell<&'static Slot>,
    /// The current device; to be followed only while `active` holds it and the slot still has its handle.
    pub(crate) device: Cell<*mut OpenDevice>,
    /// Counts of calls to the current device; a column in `columns`.
    pub(crate) column: Cell<*const Column>,
    /// The device that the thread is inside of a call to.
    pub(crate) active: AtomicPtr<OpenDevice>,
    /// The device of a call inside of that call, until it is counted.
    pub(crate) entering: AtomicPtr<OpenDevice>,
    /// Whether the thread opens or closes something, and must not begin to do so again from inside.
    pub(crate) in_lifecycle: Cell<bool>,
    /// How many calls about a plugin, and callbacks of streams, the thread is inside of.
    pub(crate) depth: Cell<usize>,
    columns: RefCell<Vec<OwnColumn>>,
    /// Which device each plugin takes for the thread's current one.
    told: RefCell<Vec<(usize, DeviceId)>>,
}

struct OwnColumn {
    handle: usize,
    column: Arc<Column>,
    tally: Weak<Tally>,
}

/// The address of a thread's state.
struct Known(*const Thread);

// SAFETY: other threads only read `active` and `entering`, which are atomic, and only while the address is in `THREADS`.
unsafe impl Send for Known {}

static THREADS: Mutex<Vec<Known>> = Mutex::new(Vec::new());

/// Ends a thread's state with the thread.
struct End(*mut Thread);

impl Drop for End {
    fn drop(&mut self) {
        own::set(null());
        THREADS.lock().unwrap_or_else(PoisonError::into_inner).retain(|known| !std::ptr::eq(known.0, self.0));
        // SAFETY: made by `into_raw`, and nobody knows it any more: not this thread, nor those that close devices.
        let thread = unsafe { Box::from_raw(self.0) };
        for own in thread.columns.borrow().iter() {
            Tally::fold(&own.tally, &own.column);
        }
    }
}

thread_local! {
    static END: RefCell<Option<End>> = const { RefCell::new(None) };
}

/// The calling thread's state, if it has one already.
#[inline(always)]
pub(crate) fn known() -> Option<&'static Thread> {
    // SAFETY: null, or made by `here` and alive until the thread ends; nobody keeps it longer than a call.
    unsafe { own::get().as_ref() }
}

/// The calling thread's state.
pub(crate) fn here() -> &'static Thread {
    known().unwrap_or_else(new)
}

#[cold]
fn new() -> &'static Thread {
    let thread = Box::into_raw(Box::new(Thread {
        current: Cell::new(NOWHERE),
        at_hand: Cell::new(NOWHERE),
        slot: Cell::new(Slot::nowhere()),
        device: Cell::new(null_mut()),
        column: Cell::new(null()),
        active: AtomicPtr::new(null_mut()),
        entering: AtomicPtr::new(null_mut()),
        in_lifecycle: Cell::new(false),
        depth: Cell::new(0),
        columns: RefCell::default(),
        told: RefCell::default(),
    }));
    THREADS.lock().unwrap_or_else(PoisonError::into_inner).push(Known(thread));
    if END.try_with(|end| *end.borrow_mut() = Some(End(thread))).is_ok() {
        own::set(thread);
    } else {
        // A thread that calls while its thread-locals are being destroyed leaves its state behind, where the thread
        // that gets its address next must not find it.
        own::set_unseated(thread);
    }
    // SAFETY: just made, and alive until the thread ends.
    unsafe { &*thread }
}

/// Whether a thread is inside of a call to a device.
pub(crate) fn any_in(device: *mut OpenDevice) -> bool {
    let threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    threads.iter().any(|known| {
        // SAFETY: a thread takes its state out of the list before it frees it.
        let thread = unsafe { &*known.0 };
        // The second first: a call moves from there to a count, and never back.
        [&thread.entering, &thread.active].iter().any(|place| place.load(Ordering::Acquire) == device)
    })
}

/// While this lives the thread is inside of a call or a callback, from where nothing can be opened or closed.
pub struct Inside(&'static Thread);

impl Inside {
    pub(crate) fn new() -> Self {
        let thread = here();
        thread.depth.set(thread.depth.get() + 1);
        Inside(thread)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.depth.set(self.0.depth.get() - 1);
    }
}

impl Thread {
    /// Whether the thread is inside of something of the library's, and must not wait for its turn to open or close.
    pub(crate) fn is_inside(&self) -> bool {
        self.in_lifecycle.get() || self.depth.get() > 0 || !self.active.load(Ordering::Relaxed).is_null()
    }

    /// Forgets what a plugin takes for the current device: it may choose another one while it begins or ends something.
    pub(crate) fn distrust(&self, plugin: usize) {
        self.note_told(plugin, None);
        self.at_hand.set(NOWHERE);
    }

    /// Forgets the current device.
    pub(crate) fn forget_current(&self) {
        self.current.set(NOWHERE);
        self.at_hand.set(NOWHERE);
        self.slot.set(Slot::nowhere());
        self.device.set(null_mut());
        self.column.set(null());
    }

    /// Remembers a device as the current one; its plugin has been told.
    pub(crate) fn remember_current(&self, slot: &'static Slot, device: &OpenDevice) {
        let mut columns = self.columns.borrow_mut();
        let known = columns.iter().position(|own| own.handle == device.handle);
        let index = known.unwrap_or_else(|| {
            // Devices that are closed have no tally left.
            columns.retain(|own| own.tally.strong_count() > 0);
            let tally = Arc::downgrade(&device.tally);
            columns.push(OwnColumn { handle: device.handle, column: device.tally.column(), tally });
            columns.len() - 1
        });
        self.column.set(Arc::as_ptr(&columns[index].column));
        self.slot.set(slot);
        self.device.set(std::ptr::from_ref(device).cast_mut());
        self.current.set(device.handle);
        self.at_hand.set(if is_asymmetric() { device.handle } else { NOWHERE });
    }

    /// Which of its devices a plugin takes for the thread's current one, as far as the library has said.
    pub(crate) fn told(&self, plugin: usize) -> Option<DeviceId> {
        self.told.borrow().iter().find(|told| told.0 == plugin).map(|told| told.1)
    }

    /// Notes what a plugin was told; `None`: nobody knows.
    pub(crate) fn note_told(&self, plugin: usize, device: Option<DeviceId>) {
        let mut told = self.told.borrow_mut();
        told.retain(|told| told.0 != plugin);
        told.extend(device.map(|device| (plugin, device)));
    }
}
