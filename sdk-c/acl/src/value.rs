//! Numbers in device memory that streams write and wait for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenon::{DevicePtr, HostPtr};

use crate::api::AclError;
use crate::arrival;
use crate::error::{Result, refuse};
use crate::runtime::Runtime;
use crate::stream::Stream;

/// How long the host sleeps between two looks at a number, once it has looked for a while.
const LONGEST_PAUSE: Duration = Duration::from_millis(1);

/// What a wait wants of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Want {
    /// That it has reached the value; numbers run in a circle.
    Reached,
    Equal,
    SharesBit,
    /// That there is a bit which is set in neither.
    LacksBit,
}

impl Want {
    fn of(flag: u32) -> Result<Self> {
        Ok(match flag {
            0 => Want::Reached,
            1 => Want::Equal,
            2 => Want::SharesBit,
            3 => Want::LacksBit,
            _ => {
                return refuse(
                    AclError::RT_PARAM_INVALID,
                    format!("`flag` is {flag}, which is no comparison"),
                );
            }
        })
    }

    fn is_met(self, found: u64, value: u64) -> bool {
        match self {
            Want::Reached => found.wrapping_sub(value).cast_signed() >= 0,
            Want::Equal => found == value,
            Want::SharesBit => found & value != 0,
            Want::LacksBit => !(found | value) != 0,
        }
    }
}

/// A place of 8 bytes in device memory that was checked.
#[derive(Clone, Copy)]
struct Place(usize);

impl Place {
    /// The place, where the host sees the memory of devices.
    fn number(&self) -> &AtomicU64 {
        // SAFETY: the 8 bytes are aligned and lie within an allocation, which the program keeps until the stream has passed
        // the work that uses it.
        unsafe { AtomicU64::from_ptr(HostPtr::from_addr(self.0).as_ptr().cast()) }
    }
}

impl Runtime {
    fn place_of_number(&self, address: usize) -> Result<Place> {
        self.device_range("dev_addr", address, 8)?;
        if !address.is_multiple_of(8) {
            return refuse(
                AclError::RT_ADDR_UNALIGNED,
                format!("`dev_addr` is {address:#x}, which is no multiple of 8"),
            );
        }
        Ok(Place(address))
    }

    /// Writes a number in the order of a stream.
    pub(crate) fn write_value(&self, address: usize, value: u64, flag: u32, stream: usize) -> Result<()> {
        if flag != 0 {
            return refuse(AclError::RT_PARAM_INVALID, format!("`flag` is {flag}; it is reserved and 0"));
        }
        let place = self.place_of_number(address)?;
        let stream = self.stream(stream)?;
        if self.devices.memory_is_host() {
            return stream.submit(move |stream| {
                arrival::when_reached(stream, move || place.number().store(value, Ordering::Release))
            });
        }
        stream.submit(move |stream| write(stream, address, value))
    }

    /// Has a stream wait for a number.
    pub(crate) fn wait_value(&self, address: usize, value: u64, flag: u32, stream: usize) -> Result<()> {
        let want = Want::of(flag)?;
        let place = self.place_of_number(address)?;
        let stream = self.stream(stream)?;
        if !self.devices.memory_is_host() {
            return refuse(
                AclError::RT_FEATURE_NOT_SUPPORT,
                "the host cannot see the memory of this device, and the device cannot wait for it",
            );
        }
        arrival::do_in_order(&stream, move |work| {
            wait_for(place, want, value, || work.is_wanted());
            Ok(())
        })
    }
}

/// Looks until the number is as wanted, or until nobody wants it any more.
fn wait_for(place: Place, want: Want, value: u64, is_wanted: impl Fn() -> bool) {
    let mut pause = Duration::from_micros(1);
    // Asked before each look: once the wait is thrown away, the program may free the memory.
    while is_wanted() && !want.is_met(place.number().load(Ordering::Acquire), value) {
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Has the device copy the number, from a place that stays until it has.
fn write(stream: &Arc<Stream>, address: usize, value: u64) -> Result<()> {
    let number = Arc::new(value.to_ne_bytes());
    let (from, to) = (HostPtr::from_ptr(Arc::as_ptr(&number)), DevicePtr::from_addr(address));
    stream.unit.on(|device, id| device.async_memory_copy_h2d(id, stream.raw, to, from, size_of::<u64>()))?;
    let until_then = number.clone();
    let told = arrival::when_reached(stream, move || drop(until_then));
    if told.is_err() {
        // Nobody tells when the device has read it: it stays for good.
        std::mem::forget(number);
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_as_asked() {
        let met = |flag, found, value| Want::of(flag).unwrap().is_met(found, value);
        assert!(met(0, 5, 5) && met(0, 6, 5) && !met(0, 4, 5));
        assert!(met(0, 2, u64::MAX), "numbers run in a circle");
        assert!(met(1, 5, 5) && !met(1, 6, 5));
        assert!(met(2, 0b110, 0b010) && !met(2, 0b100, 0b011));
        assert!(met(3, 0b110, 0b010) && !met(3, u64::MAX - 1, 1));
        assert!(Want::of(4).is_err());
    }
}
