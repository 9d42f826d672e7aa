//! Setting and resetting devices. The first call that sets a device creates its default context; the last reset ends
//! everything on the device.

use std::sync::Arc;

use crate::api::{AclError, DeviceState as ObservedState};
use crate::error::{Error, Result, refuse};
use crate::memory::allocation;
use crate::runtime::Runtime;
use crate::state::blocks::Block;
use crate::state::context::Context;
use crate::state::device_state::DeviceState;
use crate::wait;

impl Runtime {
    /// Sets the current device of the thread, and increments the device's count.
    pub(crate) fn set_device(&self, device: i32) -> Result<()> {
        self.observed(device, [ObservedState::SET_PRE, ObservedState::SET_POST], || {
            if self.state.device_count()? == 0 {
                return refuse(AclError::RT_NO_DEVICE, "there are no devices");
            }
            let device = self.state.device(device)?;
            let known = {
                let mut usage = device.usage();
                let known = usage.primary;
                usage.references += usize::from(known.is_some());
                known
            };
            let primary = match known {
                Some(primary) => primary,
                None => self.create_primary_context(&device)?,
            };
            self.state.set_current_context(primary);
            Ok(())
        })
    }

    /// Creates the default context of a device when it is first set. Another thread may do so at the same time.
    fn create_primary_context(&self, device: &Arc<DeviceState>) -> Result<usize> {
        let created = self.new_context(device, true)?;
        let primary = {
            let mut usage = device.usage();
            usage.references += 1;
            *usage.primary.get_or_insert(created.handle)
        };
        self.notify_default_stream(&created);
        if primary != created.handle {
            self.state.contexts.remove(created.handle);
            self.destroy_streams_of(&created);
        }
        Ok(primary)
    }

    /// Decrements the count of a device. The last reset ends everything on the device.
    pub(crate) fn reset_device(&self, device: i32) -> Result<()> {
        self.observed(device, [ObservedState::RESET_PRE, ObservedState::RESET_POST], || {
            let device = self.state.device(device)?;
            loop {
                let primary = {
                    let mut usage = device.usage();
                    match (usage.references, usage.primary) {
                        (0, _) | (_, None) => return Err(not_set(&device)),
                        (1, Some(primary)) => primary,
                        _ => {
                            usage.references -= 1;
                            return Ok(());
                        }
                    }
                };
                // Without a lock, since the callbacks that this waits for may set the device.
                let done = match self.state.contexts.get(primary) {
                    Some(context) => self.state.synchronize_context(&context),
                    None => Ok(()),
                };
                let taken = {
                    let mut usage = device.usage();
                    if usage.references == 1 { usage.take_primary() } else { None }
                };
                if let Some(primary) = taken {
                    self.end_primary_context(&device, primary);
                    return done;
                }
            }
        })
    }

    /// Ends everything on a device, whatever its count is.
    pub(crate) fn reset_device_force(&self, device: i32) -> Result<()> {
        self.observed(device, [ObservedState::RESET_PRE, ObservedState::RESET_POST], || {
            let device = self.state.device(device)?;
            if device.usage().references == 0 {
                return Err(not_set(&device));
            }
            self.release_device(&device);
            Ok(())
        })
    }

    /// Waits for the current device.
    pub(crate) fn synchronize_current_device(&self, timeout: i32) -> Result<()> {
        let until = wait::deadline(timeout)?;
        if self.state.synchronize_device(&*self.state.current_device()?, until)? {
            return Ok(());
        }
        refuse(AclError::RT_STREAM_SYNC_TIMEOUT, format!("the device did not finish within {timeout} ms"))
    }

    /// Ends the work of a device and frees its memory.
    pub(super) fn release_device(&self, device: &Arc<DeviceState>) {
        // Collected first: another thread may set the device again and allocate memory, which must stay.
        let blocks = self.state.blocks.on_device(device);
        self.end_work_of(device);
        self.free_blocks(blocks);
    }

    /// Destroys the contexts, streams, events and notifies of a device.
    pub(super) fn end_work_of(&self, device: &Arc<DeviceState>) {
        let primary = device.usage().take_primary();
        let others = self.contexts_of(device).into_iter().filter(|context| !context.is_primary);
        for context in primary.into_iter().chain(others.map(|context| context.handle)) {
            self.end_context(context);
        }
        self.events.destroy_all_of(device);
        self.notifies.destroy_all_of(device);
    }

    fn end_primary_context(&self, device: &Arc<DeviceState>, primary: usize) {
        self.end_context(primary);
        // Collected first, as above.
        let blocks = self.state.blocks.on_device(device);
        // Memory belongs to the device, so it stays while the program still has a context there.
        if self.contexts_of(device).is_empty() {
            self.free_blocks(blocks);
        }
    }

    fn end_context(&self, handle: usize) {
        if let Some(context) = self.state.contexts.remove(handle) {
            self.state.clear_current_context(handle);
            self.destroy_streams_of(&context);
        }
    }

    fn contexts_of(&self, device: &Arc<DeviceState>) -> Vec<Arc<Context>> {
        let mut contexts = self.state.contexts.all();
        contexts.retain(|context| Arc::ptr_eq(&context.lease.device, device));
        contexts
    }

    /// Frees blocks of device memory, unless another thread already freed them.
    fn free_blocks(&self, blocks: Vec<Arc<Block>>) {
        for block in blocks {
            let is_same = |known: &Block| std::ptr::eq(known, &*block);
            // There is no caller that could receive an error.
            let _ = if block.is_mapped() {
                self.virtual_memory.unmap_if(&self.state, block.start, is_same)
            } else {
                allocation::free_if(&self.state, "dev_ptr", block.start, false, is_same)
            };
        }
    }

    /// Notifies the observers of devices before a change, and, if it succeeds, after it.
    fn observed(
        &self,
        device: i32,
        [before, after]: [ObservedState; 2],
        change: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        if self.state.device(device).is_ok() {
            self.observers.notify_device(device, before);
        }
        change()?;
        self.observers.notify_device(device, after);
        Ok(())
    }
}

#[cold]
fn not_set(device: &DeviceState) -> Error {
    Error::new(
        AclError::RT_CONTEXT_RELEASE_ERROR,
        format!("device {} is not set, or was reset as often as it was set", device.ordinal),
    )
}
