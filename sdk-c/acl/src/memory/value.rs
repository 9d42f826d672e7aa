//! Values in device memory that streams write and wait for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenon::{DevicePtr, HostPtr};

use crate::api::AclError;
use crate::error::{Result, refuse};
use crate::state::State;
use crate::state::stream::Stream;
use crate::stream::completion;

/// Longest pause between two reads of a value.
const LONGEST_PAUSE: Duration = Duration::from_millis(1);

/// The condition of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    /// Greater or equal, modulo 2^64.
    Reached,
    Equal,
    SharesBit,
    /// Some bit is clear in both the value and the operand.
    LacksBit,
}

impl Condition {
    fn of(flag: u32) -> Result<Self> {
        Ok(match flag {
            0 => Condition::Reached,
            1 => Condition::Equal,
            2 => Condition::SharesBit,
            3 => Condition::LacksBit,
            _ => {
                return refuse(
                    AclError::RT_PARAM_INVALID,
                    format!("`flag` is {flag}, which is not a valid comparison"),
                );
            }
        })
    }

    fn holds(self, found: u64, value: u64) -> bool {
        match self {
            Condition::Reached => found.wrapping_sub(value).cast_signed() >= 0,
            Condition::Equal => found == value,
            Condition::SharesBit => found & value != 0,
            Condition::LacksBit => !(found | value) != 0,
        }
    }
}

/// A checked address of 8 bytes in device memory.
#[derive(Clone, Copy)]
struct ValueAddress(usize);

impl ValueAddress {
    /// Returns the value, if the host can access device memory.
    fn value(&self) -> &AtomicU64 {
        // SAFETY: the 8 bytes are aligned and inside an allocation, which the program keeps until the stream has
        // passed the work that uses it.
        unsafe { AtomicU64::from_ptr(HostPtr::from_addr(self.0).as_ptr().cast()) }
    }
}

fn value_address(state: &State, address: usize) -> Result<ValueAddress> {
    state.blocks.device_range("dev_addr", address, 8)?;
    if !address.is_multiple_of(8) {
        return refuse(
            AclError::RT_ADDR_UNALIGNED,
            format!("`dev_addr` is {address:#x}, which is not a multiple of 8"),
        );
    }
    Ok(ValueAddress(address))
}

/// Writes a value in stream order.
pub(crate) fn write_value(state: &State, address: usize, value: u64, flag: u32, stream: usize) -> Result<()> {
    if flag != 0 {
        return refuse(AclError::RT_PARAM_INVALID, format!("`flag` is {flag}; it is reserved and must be 0"));
    }
    let place = value_address(state, address)?;
    let stream = state.stream(stream)?;
    if state.provider.memory_is_host() {
        return stream.submit(move |stream| {
            completion::when_reached(stream, move || place.value().store(value, Ordering::Release))
        });
    }
    stream.submit(move |stream| write(stream, address, value))
}

/// Makes a stream wait for a value.
pub(crate) fn wait_value(state: &State, address: usize, value: u64, flag: u32, stream: usize) -> Result<()> {
    let condition = Condition::of(flag)?;
    let place = value_address(state, address)?;
    let stream = state.stream(stream)?;
    if !state.provider.memory_is_host() {
        return refuse(
            AclError::RT_FEATURE_NOT_SUPPORT,
            "the host cannot access the memory of this device, and the device cannot wait for it",
        );
    }
    completion::run_in_order(&stream, move |work| {
        wait_for(place, condition, value, || work.is_wanted());
        Ok(())
    })
}

/// Polls the value until the condition is true or the wait is cancelled.
fn wait_for(place: ValueAddress, condition: Condition, value: u64, is_wanted: impl Fn() -> bool) {
    let mut pause = Duration::from_micros(1);
    // Checked before each read: after the wait was dropped, the program may free the memory.
    while is_wanted() && !condition.holds(place.value().load(Ordering::Acquire), value) {
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Makes the device copy the value from host memory, which stays allocated until the copy is complete.
fn write(stream: &Arc<Stream>, address: usize, value: u64) -> Result<()> {
    let number = Arc::new(value.to_ne_bytes());
    let (from, to) = (HostPtr::from_ptr(Arc::as_ptr(&number)), DevicePtr::from_addr(address));
    stream
        .session
        .call(|device, id| device.async_memory_copy_h2d(id, stream.raw, to, from, size_of::<u64>()))?;
    let kept = number.clone();
    let notified = completion::when_reached(stream, move || drop(kept));
    if notified.is_err() {
        // Without a notification it is unknown when the device has read the memory, so the memory is never freed.
        std::mem::forget(number);
    }
    notified
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn condition_holds_as_documented() {
        let holds = |flag, found, value| Condition::of(flag).unwrap().holds(found, value);
        assert!(holds(0, 5, 5) && holds(0, 6, 5) && !holds(0, 4, 5));
        assert!(holds(0, 2, u64::MAX), "modulo 2^64");
        assert!(holds(1, 5, 5) && !holds(1, 6, 5));
        assert!(holds(2, 0b110, 0b010) && !holds(2, 0b100, 0b011));
        assert!(holds(3, 0b110, 0b010) && !holds(3, u64::MAX - 1, 1));
        assert!(Condition::of(4).is_err());
    }
}
