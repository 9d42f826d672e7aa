//! Settings of a chip: limits, modes and attributes. They are stored and returned, but have no effect.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::api::{AclError, DevResLimitType, DeviceLimit, FloatOverflowMode, StreamAttr, StreamAttrValue};
use crate::copy::fill::{self, Pattern};
use crate::error::{Result, refuse, unknown_value};
use crate::state::State;
use crate::state::device_state::DeviceState;
use crate::state::stream::Stream;
use crate::state::thread_slots;
use crate::stream::config::LEAST_PRIORITY;

/// The resolution of operator timeouts, in microseconds.
pub(crate) const STEP: u64 = 1000;
/// The longest operator timeout, in microseconds.
const LONGEST: u64 = u32::MAX as u64 * STEP;
/// The size of an overflow status, in bytes.
const STATUS_SIZE: usize = 64;

/// The names of settings in the maps of devices and streams.
mod setting {
    pub(super) const CORES: &str = "cores";
    pub(super) const SATURATION: &str = "saturation mode";
    pub(super) const LIMIT: &str = "limit";
    pub(super) const ATTRIBUTE: &str = "attribute";
}

/// Reads the value of an attribute from its union member.
pub(crate) fn value_of(attribute: StreamAttr, value: &StreamAttrValue) -> u64 {
    // SAFETY: every bit pattern is a valid number, whichever member was written.
    unsafe {
        match attribute {
            StreamAttr::FAILURE_MODE => value.failure_mode,
            // All others are 32-bit numbers at the same offset.
            _ => value.user_custom_tag.into(),
        }
    }
}

/// Converts a value to the union that the program reads.
pub(crate) fn as_value(number: u32) -> StreamAttrValue {
    let mut value = StreamAttrValue { reserve: [0; 4] };
    // Writes the widest member, so that the others have the number too.
    value.failure_mode = number.into();
    value
}

/// The operator timeout of the process.
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
    /// Sets the timeout in microseconds; 0 means the longest one. Returns the timeout in effect.
    pub(crate) fn set_execute(&self, microseconds: u64) -> u64 {
        let limit = match microseconds {
            0 => LONGEST,
            wanted => wanted.checked_next_multiple_of(STEP).map_or(LONGEST, |limit| limit.min(LONGEST)),
        };
        self.execute.store(limit, Ordering::Relaxed);
        limit
    }

    /// Returns the timeout in milliseconds.
    pub(crate) fn execute_ms(&self) -> u32 {
        u32::try_from(self.execute.load(Ordering::Relaxed) / STEP).unwrap_or(u32::MAX)
    }
}

/// Matrix cores of a usual chip, which is the highest limit. Programs for such a chip set limits that a host CPU
/// would not allow, and the limits have no effect here.
const CUBE_CORES: u32 = 24;
/// Vector cores of a usual chip, as above.
const VECTOR_CORES: u32 = 48;

/// Returns the highest limit of a kind of core.
fn cores(kind: i64) -> u32 {
    if kind == i64::from(DevResLimitType::VECTOR_CORE.0) { VECTOR_CORES } else { CUBE_CORES }
}

fn expect_resource(kind: DevResLimitType) -> Result<i64> {
    match kind {
        DevResLimitType::CUBE_CORE | DevResLimitType::VECTOR_CORE => Ok(kind.0.into()),
        _ => refuse(AclError::RT_PARAM_INVALID, format!("`type` is {kind:?}, which is not a resource")),
    }
}

fn expect_cores(kind: i64, value: u32) -> Result<i64> {
    let most = cores(kind);
    if (1..=most).contains(&value) {
        return Ok(value.into());
    }
    refuse(AclError::RT_PARAM_INVALID, format!("`value` is {value}; it must be from 1 to {most}"))
}

fn number(stored: i64) -> u32 {
    u32::try_from(stored).unwrap_or(u32::MAX)
}

fn cores_of(device: &DeviceState, kind: i64) -> u32 {
    device.usage().settings.get(&(setting::CORES, kind)).map_or_else(|| cores(kind), |stored| number(*stored))
}

/// Returns the core limit of a device.
pub(crate) fn device_cores(state: &State, device: i32, kind: DevResLimitType) -> Result<u32> {
    let kind = expect_resource(kind)?;
    Ok(cores_of(&*state.device(device)?, kind))
}

/// Sets the core limit of a device.
pub(crate) fn set_device_cores(state: &State, device: i32, kind: DevResLimitType, value: u32) -> Result<()> {
    let kind = expect_resource(kind)?;
    let value = expect_cores(kind, value)?;
    state.device(device)?.usage().settings.insert((setting::CORES, kind), value);
    Ok(())
}

/// Resets the core limits of a device.
pub(crate) fn reset_device_cores(state: &State, device: i32) -> Result<()> {
    state.device(device)?.usage().settings.retain(|(name, _), _| *name != setting::CORES);
    Ok(())
}

/// Returns the core limit of a stream.
pub(crate) fn stream_cores(state: &State, stream: usize, kind: DevResLimitType) -> Result<u32> {
    let kind = expect_resource(kind)?;
    let stream = state.stream_of_any_context(stream)?;
    cores_of_stream(state, &stream, kind)
}

fn cores_of_stream(state: &State, stream: &Stream, kind: i64) -> Result<u32> {
    if let Some(stored) = stream.settings().get(&(setting::CORES, kind)) {
        return Ok(number(*stored));
    }
    Ok(cores_of(&*state.device(stream.session.ordinal)?, kind))
}

/// Sets the core limit of a stream.
pub(crate) fn set_stream_cores(
    state: &State,
    stream: usize,
    kind: DevResLimitType,
    value: u32,
) -> Result<()> {
    let kind = expect_resource(kind)?;
    let value = expect_cores(kind, value)?;
    state.stream_of_any_context(stream)?.settings().insert((setting::CORES, kind), value);
    Ok(())
}

/// Resets the core limits of a stream.
pub(crate) fn reset_stream_cores(state: &State, stream: usize) -> Result<()> {
    state.stream_of_any_context(stream)?.settings().retain(|(name, _), _| *name != setting::CORES);
    Ok(())
}

/// Applies the limits of a stream to the calling thread.
pub(crate) fn use_cores_of(state: &State, stream: usize) -> Result<()> {
    let stream = state.stream_of_any_context(stream)?.handle;
    thread_slots::set_limits(state.instance, stream);
    Ok(())
}

/// Stops applying the limits of a stream to the calling thread.
pub(crate) fn unuse_cores_of(state: &State, stream: usize) -> Result<()> {
    let stream = state.stream_of_any_context(stream)?.handle;
    if thread_slots::limits(state.instance) != stream {
        return refuse(AclError::RT_PARAM_INVALID, "this thread does not use the limits of `stream`");
    }
    thread_slots::set_limits(state.instance, 0);
    Ok(())
}

/// Returns the core limit of the calling thread.
pub(crate) fn thread_cores(state: &State, kind: DevResLimitType) -> Result<u32> {
    let kind = expect_resource(kind)?;
    match state.streams.get(thread_slots::limits(state.instance)) {
        Some(stream) => cores_of_stream(state, &stream, kind),
        None => Ok(cores_of(&state.context()?.lease.device, kind)),
    }
}

/// Sets the overflow mode of the current device.
pub(crate) fn set_saturation(state: &State, mode: FloatOverflowMode) -> Result<()> {
    if !matches!(mode, FloatOverflowMode::SATURATION | FloatOverflowMode::INFNAN) {
        return refuse(AclError::RT_PARAM_INVALID, format!("`mode` is {mode:?}, which is not a valid mode"));
    }
    state.context()?.lease.device.usage().settings.insert((setting::SATURATION, 0), mode.0.into());
    Ok(())
}

/// Returns the overflow mode of the current device.
pub(crate) fn saturation(state: &State) -> Result<FloatOverflowMode> {
    let context = state.context()?;
    let usage = context.lease.device.usage();
    Ok(match usage.settings.get(&(setting::SATURATION, 0)) {
        Some(0) => FloatOverflowMode::SATURATION,
        _ => FloatOverflowMode::INFNAN,
    })
}

/// Sets an attribute of a stream.
pub(crate) fn set_attribute(state: &State, stream: usize, attribute: StreamAttr, value: u64) -> Result<()> {
    let stream = state.stream_of_any_context(stream)?;
    let most = match attribute {
        StreamAttr::FAILURE_MODE | StreamAttr::FLOAT_OVERFLOW_CHECK | StreamAttr::CACHE_OP_INFO => 1,
        StreamAttr::USER_CUSTOM_TAG => u32::MAX.into(),
        StreamAttr::PRIORITY => LEAST_PRIORITY.into(),
        _ => return no_attribute(attribute),
    };
    if value > most {
        return refuse(
            AclError::RT_PARAM_INVALID,
            format!("`value` is {value}; for {attribute:?} it must be from 0 to {most}"),
        );
    }
    // Cannot fail: no attribute accepts more than a u32.
    let value = value as u32;
    match attribute {
        StreamAttr::FAILURE_MODE => stream.failure_mode.store(value, Ordering::Relaxed),
        StreamAttr::FLOAT_OVERFLOW_CHECK => stream.overflow_switch.store(value, Ordering::Relaxed),
        _ => drop(stream.settings().insert((setting::ATTRIBUTE, attribute.0.into()), value.into())),
    }
    Ok(())
}

/// Returns an attribute of a stream.
pub(crate) fn attribute(state: &State, stream: usize, attribute: StreamAttr) -> Result<u32> {
    let stream = state.stream_of_any_context(stream)?;
    Ok(match attribute {
        StreamAttr::FAILURE_MODE => stream.failure_mode.load(Ordering::Relaxed),
        StreamAttr::FLOAT_OVERFLOW_CHECK => stream.overflow_switch.load(Ordering::Relaxed),
        StreamAttr::USER_CUSTOM_TAG | StreamAttr::CACHE_OP_INFO | StreamAttr::PRIORITY => {
            let initial = if attribute == StreamAttr::PRIORITY { stream.priority } else { 0 };
            let settings = stream.settings();
            settings.get(&(setting::ATTRIBUTE, attribute.0.into())).map_or(initial, |stored| number(*stored))
        }
        _ => return no_attribute(attribute),
    })
}

/// Writes an overflow status without overflows, in stream order.
pub(crate) fn write_overflow_status(state: &State, address: usize, size: usize, stream: usize) -> Result<()> {
    if size != STATUS_SIZE {
        return refuse(
            AclError::RT_PARAM_INVALID,
            format!("`output_size` is {size}, but a status has {STATUS_SIZE} bytes"),
        );
    }
    state.blocks.device_range("output_addr", address, size)?;
    fill::fill_on(state, stream, ("output_addr", address), size, Pattern::Byte(0), size)
}

/// Sets a limit of the current device.
pub(crate) fn set_device_limit(state: &State, limit: DeviceLimit, value: usize) -> Result<()> {
    let device = state.current_device()?;
    let value = i64::try_from(value).unwrap_or(i64::MAX);
    device.usage().settings.insert(limit_key(limit)?, value);
    Ok(())
}

/// Returns a limit of the current device; 0 if it was not set.
pub(crate) fn device_limit(state: &State, limit: DeviceLimit) -> Result<usize> {
    let device = state.current_device()?;
    let value = device.usage().settings.get(&limit_key(limit)?).copied().unwrap_or(0);
    Ok(usize::try_from(value).unwrap_or(0))
}

fn limit_key(limit: DeviceLimit) -> Result<(&'static str, i64)> {
    if limit.name().is_some() {
        Ok((setting::LIMIT, limit.0.into()))
    } else {
        unknown_value("limit", limit.0)
    }
}

#[cold]
fn no_attribute<T>(attribute: StreamAttr) -> Result<T> {
    refuse(AclError::RT_PARAM_INVALID, format!("`stm_attr_type` is {attribute:?}, which is not a setting"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_execute_rounds_up_to_steps_and_down_to_the_longest() {
        let timeouts = Timeouts::default();
        assert_eq!(timeouts.execute_ms(), u32::MAX);
        assert_eq!((timeouts.set_execute(1), timeouts.execute_ms()), (1000, 1));
        assert_eq!((timeouts.set_execute(2_000_001), timeouts.execute_ms()), (2_001_000, 2001));
        assert_eq!((timeouts.set_execute(u64::MAX), timeouts.execute_ms()), (LONGEST, u32::MAX));
        assert_eq!(timeouts.set_execute(0), LONGEST);
    }
}
