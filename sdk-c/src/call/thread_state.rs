//! Per-thread state: the current device, and whether the thread is inside a call.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;

use tenon::device::DeviceId;

/// The handle of no device.
const NONE: usize = 0;

struct State {
    /// Handle of the current device: the device of the thread's last call.
    current: Cell<usize>,
    /// The same handle if the plugin is known to have that device selected on this thread, otherwise
    /// [`NONE`].
    selected: Cell<usize>,
    /// Number of calls, callbacks and lifecycle changes that are active on the thread.
    depth: Cell<usize>,
}

thread_local! {
    // Has no destructor, so it stays usable while the thread's other thread-locals are destroyed.
    static STATE: State =
        const { State { current: Cell::new(NONE), selected: Cell::new(NONE), depth: Cell::new(0) } };
    /// The device that each plugin has selected on this thread, if the library selected it.
    static SELECTED: RefCell<Vec<(usize, DeviceId)>> = const { RefCell::new(Vec::new()) };
}

/// Marks the thread as inside a call until it is dropped. Meanwhile the thread cannot open or close
/// anything.
#[must_use = "the thread is inside the call only while this lives"]
pub struct Inside {
    /// Makes the type `!Send`.
    _not_send: PhantomData<*const ()>,
}

impl Inside {
    #[inline]
    pub(crate) fn new() -> Self {
        STATE.with(|state| state.depth.set(state.depth.get() + 1));
        Inside { _not_send: PhantomData }
    }
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        STATE.with(|state| state.depth.set(state.depth.get() - 1));
    }
}

/// Returns true if the thread is inside a call, a callback, or an opening or closing.
pub(crate) fn is_inside() -> bool {
    STATE.with(|state| state.depth.get() > 0)
}

/// Returns the handle of the current device; 0 if there is none. The device may have been closed since.
pub(crate) fn current() -> usize {
    STATE.with(|state| state.current.get())
}

/// Returns true if a device is the current one, and its plugin has selected it on this thread.
#[inline]
pub(crate) fn is_selected(handle: usize) -> bool {
    STATE.with(|state| state.selected.get() == handle)
}

/// Makes a device the current one, after its plugin selected it.
pub(crate) fn set_current(handle: usize) {
    STATE.with(|state| {
        state.current.set(handle);
        state.selected.set(handle);
    });
}

/// Clears the thread's current device.
pub(crate) fn clear_current() {
    set_current(NONE);
}

/// Returns the device that a plugin has selected on this thread; `None` if the library does not know.
pub(crate) fn selected_device(plugin: usize) -> Option<DeviceId> {
    // When a thread ends, its list may already be destroyed; then the device is selected again.
    SELECTED
        .try_with(|selected| selected.borrow().iter().find(|(of, _)| *of == plugin).map(|(_, id)| *id))
        .ok()
        .flatten()
}

/// Sets the device that a plugin has selected on this thread; `None` if the library does not know.
pub(crate) fn set_selected_device(plugin: usize, device: Option<DeviceId>) {
    let _ = SELECTED.try_with(|selected| {
        let mut selected = selected.borrow_mut();
        selected.retain(|(of, _)| *of != plugin);
        selected.extend(device.map(|device| (plugin, device)));
    });
}

/// Marks the device that a plugin has selected as unknown: initialising or finalising something may select
/// another one.
pub(crate) fn forget_selected_device(plugin: usize) {
    set_selected_device(plugin, None);
    STATE.with(|state| state.selected.set(NONE));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inside_nested_ends_with_the_outermost() {
        assert!(!is_inside());
        let outer = Inside::new();
        drop(Inside::new());
        assert!(is_inside());
        drop(outer);
        assert!(!is_inside());
    }

    #[test]
    fn forget_selected_device_keeps_the_current_device() {
        set_selected_device(1, Some(DeviceId(3)));
        set_selected_device(2, Some(DeviceId(4)));
        set_current(7);
        assert!(is_selected(7));
        forget_selected_device(1);
        assert_eq!((selected_device(1), selected_device(2)), (None, Some(DeviceId(4))));
        assert!(!is_selected(7));
        assert_eq!(current(), 7);
        clear_current();
        assert_eq!(current(), NONE);
    }
}
