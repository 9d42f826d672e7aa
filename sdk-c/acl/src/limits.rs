//! Settings that steer a chip: kept, so that a program gets back what it set, and heeded by nothing.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::api::{AclError, CmoType, DevResLimitType, FloatOverflowMode, StreamAttr, StreamAttrValue};
use crate::error::{Result, refuse};
use crate::fill::Pattern;
use crate::home::Home;
use crate::runtime::Runtime;
use crate::stream::Stream;
use crate::streams::LEAST_PRIORITY;
use crate::thread;

/// What limits of operators are multiples of, in microseconds.
pub(crate) const STEP: u64 = 1000;
/// The longest limit of an operator, in microseconds.
const LONGEST: u64 = u32::MAX as u64 * STEP;
/// Length of the status of overflows, in bytes.
const STATUS_SIZE: usize = 64;

/// Names of settings in the maps of devices and streams.
mod setting {
    pub(super) const CORES: &str = "cores";
    pub(super) const SATURATION: &str = "saturation mode";
    pub(super) const ATTRIBUTE: &str = "attribute";
}

/// The value of a setting, from the member that holds it.
pub(crate) fn value_of(attribute: StreamAttr, value: &StreamAttrValue) -> u64 {
    // SAFETY: every bit pattern is a number, whichever member wrote it.
    unsafe {
        match attribute {
            StreamAttr::FAILURE_MODE => value.failure_mode,
            // All others are numbers of 32 bits at the same place.
            _ => value.user_custom_tag.into(),
        }
    }
}

/// A value in the form that it goes back to the program in.
pub(crate) fn as_value(figure: u32) -> StreamAttrValue {
    let mut value = StreamAttrValue { reserve: [0; 4] };
    // The widest member, so that each finds its number.
    value.failure_mode = figure.into();
    value
}

/// How long operators may run, for the whole process.
pub(crate) struct Timeouts {
    /// In microseconds.
    execute: AtomicU64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts { execute: AtomicU64::new(LONGEST) }
    }
}

impl Timeouts {
    /// Limits how long operators run, in microseconds; 0 is the longest. Says what the limit is now.
    pub(crate) fn set_execute(&self, microseconds: u64) -> u64 {
        let limit = match microseconds {
            0 => LONGEST,
            wanted => wanted.checked_next_multiple_of(STEP).map_or(LONGEST, |limit| limit.min(LONGEST)),
        };
        self.execute.store(limit, Ordering::Relaxed);
        limit
    }

    /// How long operators may run, in milliseconds.
    pub(crate) fn execute_ms(&self) -> u32 {
        u32::try_from(self.execute.load(Ordering::Relaxed) / STEP).unwrap_or(u32::MAX)
    }
}

/// How many processors the machine has: the most cores that a limit can be.
fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX))
}

fn expect_resource(kind: DevResLimitType) -> Result<i64> {
    match kind {
        DevResLimitType::CUBE_CORE | DevResLimitType::VECTOR_CORE => Ok(kind.0.into()),
        _ => refuse(AclError::RT_PARAM_INVALID, format!("`type` is {kind:?}, which is no resource")),
    }
}

fn expect_cores(value: u32) -> Result<i64> {
    if (1..=cores()).contains(&value) {
        return Ok(value.into());
    }
    refuse(AclError::RT_PARAM_INVALID, format!("`value` is {value}; it is 1 to {}", cores()))
}

fn figure(kept: i64) -> u32 {
    u32::try_from(kept).unwrap_or(u32::MAX)
}

fn cores_of(home: &Home, kind: i64) -> u32 {
    home.state().settings.get(&(setting::CORES, kind)).map_or_else(cores, |kept| figure(*kept))
}

impl Runtime {
    /// How many cores a device may use.
    pub(crate) fn device_cores(&self, device: i32, kind: DevResLimitType) -> Result<u32> {
        let kind = expect_resource(kind)?;
        Ok(cores_of(&*self.home(device.into())?, kind))
    }

    /// Limits how many cores a device uses.
    pub(crate) fn limit_device_cores(&self, device: i32, kind: DevResLimitType, value: u32) -> Result<()> {
        let (kind, value) = (expect_resource(kind)?, expect_cores(value)?);
        self.home(device.into())?.state().settings.insert((setting::CORES, kind), value);
        Ok(())
    }

    /// Takes all limits of a device back.
    pub(crate) fn unlimit_device_cores(&self, device: i32) -> Result<()> {
        self.home(device.into())?.state().settings.retain(|(name, _), _| *name != setting::CORES);
        Ok(())
    }

    /// How many cores a stream may use.
    pub(crate) fn stream_cores(&self, stream: usize, kind: DevResLimitType) -> Result<u32> {
        let kind = expect_resource(kind)?;
        let stream = self.known_stream(stream)?;
        self.cores_of_stream(&stream, kind)
    }

    fn cores_of_stream(&self, stream: &Stream, kind: i64) -> Result<u32> {
        if let Some(kept) = stream.settings().get(&(setting::CORES, kind)) {
            return Ok(figure(*kept));
        }
        Ok(cores_of(&*self.home(stream.unit.ordinal.into())?, kind))
    }

    /// Limits how many cores a stream uses.
    pub(crate) fn limit_stream_cores(&self, stream: usize, kind: DevResLimitType, value: u32) -> Result<()> {
        let (kind, value) = (expect_resource(kind)?, expect_cores(value)?);
        self.known_stream(stream)?.settings().insert((setting::CORES, kind), value);
        Ok(())
    }

    /// Takes all limits of a stream back.
    pub(crate) fn unlimit_stream_cores(&self, stream: usize) -> Result<()> {
        self.known_stream(stream)?.settings().retain(|(name, _), _| *name != setting::CORES);
        Ok(())
    }

    /// Lets the limits of a stream hold for the calling thread.
    pub(crate) fn use_cores_of(&self, stream: usize) -> Result<()> {
        let stream = self.known_stream(stream)?.handle;
        thread::set_limits(self.instance, stream);
        Ok(())
    }

    /// Takes that back.
    pub(crate) fn unuse_cores_of(&self, stream: usize) -> Result<()> {
        let stream = self.known_stream(stream)?.handle;
        if thread::limits(self.instance) != stream {
            return refuse(AclError::RT_PARAM_INVALID, "the limits of `stream` do not hold for this thread");
        }
        thread::set_limits(self.instance, 0);
        Ok(())
    }

    /// How many cores the calling thread may plan for.
    pub(crate) fn thread_cores(&self, kind: DevResLimitType) -> Result<u32> {
        let kind = expect_resource(kind)?;
        match self.streams.get(thread::limits(self.instance)) {
            Some(stream) => self.cores_of_stream(&stream, kind),
            None => Ok(cores_of(&self.context()?.lease.home, kind)),
        }
    }

    /// Chooses what arithmetic does with what is too large.
    pub(crate) fn set_saturation(&self, mode: FloatOverflowMode) -> Result<()> {
        if !matches!(mode, FloatOverflowMode::SATURATION | FloatOverflowMode::INFNAN) {
            return refuse(AclError::RT_PARAM_INVALID, format!("`mode` is {mode:?}, which is no mode"));
        }
        self.context()?.lease.home.state().settings.insert((setting::SATURATION, 0), mode.0.into());
        Ok(())
    }

    /// What arithmetic does with what is too large, as far as the program has said.
    pub(crate) fn saturation(&self) -> Result<FloatOverflowMode> {
        let context = self.context()?;
        let state = context.lease.home.state();
        Ok(match state.settings.get(&(setting::SATURATION, 0)) {
            Some(0) => FloatOverflowMode::SATURATION,
            _ => FloatOverflowMode::INFNAN,
        })
    }

    /// Changes a setting of a stream.
    pub(crate) fn set_attribute(&self, stream: usize, attribute: StreamAttr, value: u64) -> Result<()> {
        let stream = self.known_stream(stream)?;
        let most = match attribute {
            StreamAttr::FAILURE_MODE | StreamAttr::FLOAT_OVERFLOW_CHECK | StreamAttr::CACHE_OP_INFO => 1,
            StreamAttr::USER_CUSTOM_TAG => u32::MAX.into(),
            StreamAttr::PRIORITY => LEAST_PRIORITY.into(),
            _ => return no_attribute(attribute),
        };
        if value > most {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("`value` is {value}, and {attribute:?} takes 0 to {most}"),
            );
        }
        // It fits, as the largest is a u32.
        let figure = value as u32;
        match attribute {
            StreamAttr::FAILURE_MODE => stream.failure_mode.store(figure, Ordering::Relaxed),
            StreamAttr::FLOAT_OVERFLOW_CHECK => stream.overflow_switch.store(figure, Ordering::Relaxed),
            _ => drop(stream.settings().insert((setting::ATTRIBUTE, attribute.0.into()), figure.into())),
        }
        Ok(())
    }

    /// A setting of a stream.
    pub(crate) fn attribute(&self, stream: usize, attribute: StreamAttr) -> Result<u32> {
        let stream = self.known_stream(stream)?;
        Ok(match attribute {
            StreamAttr::FAILURE_MODE => stream.failure_mode.load(Ordering::Relaxed),
            StreamAttr::FLOAT_OVERFLOW_CHECK => stream.overflow_switch.load(Ordering::Relaxed),
            StreamAttr::USER_CUSTOM_TAG | StreamAttr::CACHE_OP_INFO | StreamAttr::PRIORITY => {
                let at_first = if attribute == StreamAttr::PRIORITY { stream.priority } else { 0 };
                let settings = stream.settings();
                settings.get(&(setting::ATTRIBUTE, attribute.0.into())).map_or(at_first, |kept| figure(*kept))
            }
            _ => return no_attribute(attribute),
        })
    }

    /// Writes that nothing was too large, in the order of a stream.
    pub(crate) fn write_overflow_status(&self, address: usize, size: usize, stream: usize) -> Result<()> {
        if size != STATUS_SIZE {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("`output_size` is {size}, and a status has {STATUS_SIZE} bytes"),
            );
        }
        self.device_range("output_addr", address, size)?;
        self.fill_on(stream, ("output_addr", address), size, Pattern::Byte(0), size)
    }

    /// Checks a hint for the cache; there is nothing more to do.
    pub(crate) fn hint_cache(&self, address: usize, size: usize, kind: CmoType, stream: usize) -> Result<()> {
        if size == 0 {
            return refuse(AclError::INVALID_PARAM, "`size` is 0");
        }
        if kind.name().is_none() {
            return refuse(AclError::RT_PARAM_INVALID, format!("`cmo_type` is {kind:?}, which is no hint"));
        }
        self.device_range("src", address, size)?;
        self.stream(stream).map(drop)
    }
}

#[cold]
fn no_attribute<T>(attribute: StreamAttr) -> Result<T> {
    refuse(AclError::RT_PARAM_INVALID, format!("`stm_attr_type` is {attribute:?}, which is no setting"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_operators_are_whole_steps_below_the_longest() {
        let timeouts = Timeouts::default();
        assert_eq!(timeouts.execute_ms(), u32::MAX);
        assert_eq!((timeouts.set_execute(1), timeouts.execute_ms()), (1000, 1));
        assert_eq!((timeouts.set_execute(2_000_001), timeouts.execute_ms()), (2_001_000, 2001));
        assert_eq!((timeouts.set_execute(u64::MAX), timeouts.execute_ms()), (LONGEST, u32::MAX));
        assert_eq!(timeouts.set_execute(0), LONGEST);
    }
}
