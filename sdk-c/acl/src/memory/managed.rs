//! Managed memory, which the host and the device access at the same address, and the program's advice about it.

use std::ops::Range;
use std::sync::Arc;
use tenon::support::Mutex;

use tenon::{HostPtr, UnifiedPtr};

use crate::api::{
    AclError, MemAttachFlag, MemManagedAdviseType, MemManagedLocation, MemManagedLocationType,
    MemManagedRangeAttribute,
};
use crate::error::{Error, Result, refuse, unknown_value};
use crate::state::State;
use crate::state::advice::{Advice, Location, RangeAdvice};
use crate::state::blocks::{ALIGNMENT, Block, Place, expect_fits};
use crate::state::session::DeviceSession;

/// Lengths are rounded up to a multiple of this. Programs that give advice rely on it.
const UNIT: usize = 2 << 20;

/// The numbers for the host and for no location.
const HOST: i32 = -1;
const NOWHERE: i32 = -2;

/// The size of each value of an attribute, in bytes.
const VALUE_SIZE: usize = size_of::<i32>();

/// Returns the value that all parts of a range have in common, if there is one.
fn common<T: PartialEq>(parts: &[RangeAdvice], field: impl Fn(&RangeAdvice) -> Option<T>) -> Option<T> {
    let first = field(parts.first()?)?;
    parts.iter().all(|part| field(part).as_ref() == Some(&first)).then_some(first)
}

/// Checks that a buffer has the right length for an attribute.
fn expect_room(attribute: MemManagedRangeAttribute, room: usize) -> Result<()> {
    let is_list = attribute == MemManagedRangeAttribute::ACCESSED_BY;
    if room == VALUE_SIZE || (is_list && room != 0 && room.is_multiple_of(VALUE_SIZE)) {
        return Ok(());
    }
    refuse(
        AclError::RT_PARAM_INVALID,
        format!(
            "the buffer for {attribute:?} has {room} bytes, but its numbers have {VALUE_SIZE} bytes each"
        ),
    )
}

/// Returns the values of an attribute.
fn attribute_values(attribute: MemManagedRangeAttribute, parts: &[RangeAdvice]) -> Result<Vec<i32>> {
    let kind = |location: Option<Location>| {
        location.map_or(MemManagedLocationType::INVALID.0, |location| location.kind)
    };
    let number = |location: Option<Location>| location.map_or(NOWHERE, |location| location.number);
    let preferred = || common(parts, |part| part.preferred);
    let prefetched = || common(parts, |part| part.prefetched);
    Ok(match attribute {
        MemManagedRangeAttribute::READ_MOSTLY => {
            vec![i32::from(parts.iter().all(|part| part.is_read_mostly))]
        }
        MemManagedRangeAttribute::PREFERRED_LOCATION | MemManagedRangeAttribute::PREFERRED_LOCATION_ID => {
            vec![number(preferred())]
        }
        MemManagedRangeAttribute::PREFERRED_LOCATION_TYPE => vec![kind(preferred())],
        MemManagedRangeAttribute::LAST_PREFETCH_LOCATION
        | MemManagedRangeAttribute::LAST_PREFETCH_LOCATION_ID => vec![number(prefetched())],
        MemManagedRangeAttribute::LAST_PREFETCH_LOCATION_TYPE => vec![kind(prefetched())],
        MemManagedRangeAttribute::ACCESSED_BY => {
            let of_all = |location: &&Location| parts.iter().all(|part| part.accessed_by.contains(location));
            let users = parts.first().into_iter().flat_map(|part| &part.accessed_by);
            users.filter(of_all).map(|location| location.number).collect()
        }
        MemManagedRangeAttribute(other) => return unknown_value("attribute", other),
    })
}

/// A batch of ranges to prefetch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PrefetchBatch<'a> {
    pub(crate) ptrs: &'a [UnifiedPtr],
    pub(crate) sizes: &'a [usize],
    pub(crate) locations: &'a [MemManagedLocation],
    /// For each location, the index of the first range that it applies to.
    pub(crate) firsts: &'a [usize],
}

impl PrefetchBatch<'_> {
    /// Returns the location for a range.
    fn location(&self, index: usize) -> Option<&MemManagedLocation> {
        let location = self.firsts.iter().rposition(|first| *first <= index)?;
        self.locations.get(location)
    }
}

/// Allocates managed memory on the current device.
pub(crate) fn allocate_managed(state: &State, size: u64, flag: u32) -> Result<usize> {
    if size == 0 {
        return refuse(AclError::INVALID_PARAM, "`size` is 0");
    }
    if i32::try_from(flag) != Ok(MemAttachFlag::GLOBAL.0) {
        return refuse(
            AclError::INVALID_PARAM,
            format!("`flag` is {flag}; it is {}, for the host and every device", MemAttachFlag::GLOBAL.0),
        );
    }
    let lease = state.lease_current_device()?;
    let asked = usize::try_from(size).ok();
    let length = asked.and_then(|asked| asked.checked_next_multiple_of(UNIT));
    let Some((asked, length)) = asked.zip(length.filter(|length| *length < isize::MAX as usize - UNIT))
    else {
        return no_memory(size);
    };
    let total = length + ALIGNMENT;
    let taken = lease.call(|device, id| device.unified_memory_allocate(id, total));
    let base = match taken.map(UnifiedPtr::addr) {
        Ok(0) => return no_memory(size),
        Ok(base) => base,
        // A device returns the same error if it has run out of managed memory and if it does not support it.
        Err(_) if has_managed_memory(&lease) => return no_memory(size),
        Err(error) => {
            return refuse(
                AclError::RT_FEATURE_NOT_SUPPORT,
                format!("the device has no managed memory: {}", error.message),
            );
        }
    };
    let (start, place) = (base.next_multiple_of(ALIGNMENT), Place::Managed(Advice::default()));
    state.blocks.insert(Block { start, length, asked, place, base, total, lease, file: Mutex::default() });
    Ok(start)
}

/// Returns the block of managed memory that contains a range, and the offsets of the range in it.
fn managed_range(
    state: &State,
    param: &str,
    address: usize,
    size: usize,
) -> Result<(Arc<Block>, Range<usize>)> {
    if address == 0 {
        return refuse(AclError::INVALID_PARAM, format!("`{param}` is null"));
    }
    if size == 0 {
        return refuse(AclError::INVALID_PARAM, "`size` is 0");
    }
    match state.blocks.find(address) {
        Some(block) if matches!(block.place, Place::Managed(_)) => {
            expect_fits(param, &block, address, size)?;
            let start = address - block.start;
            Ok((block, start..start + size))
        }
        _ => refuse(
            AclError::RT_PARAM_INVALID,
            format!("`{param}` is {address:#x}, which is not managed memory"),
        ),
    }
}

fn managed_location(state: &State, location: &MemManagedLocation) -> Result<Location> {
    let (kind, number) = match location.r#type {
        MemManagedLocationType::DEVICE => {
            state
                .device(location.id)
                .map_err(|error| Error::new(AclError::RT_PARAM_INVALID, error.message.clone()))?;
            (MemManagedLocationType::DEVICE, location.id)
        }
        MemManagedLocationType::HOST | MemManagedLocationType::HOST_NUMA_CURRENT => {
            (MemManagedLocationType::HOST, HOST)
        }
        MemManagedLocationType::HOST_NUMA if location.id >= 0 => {
            (MemManagedLocationType::HOST_NUMA, location.id)
        }
        other => {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!(
                    "`location` is {other:?} with the number {}, which is not a valid location",
                    location.id
                ),
            );
        }
    };
    Ok(Location { number, kind: kind.0 })
}

/// Stores the program's advice about a range.
pub(crate) fn advise(
    state: &State,
    address: usize,
    size: u64,
    advice: MemManagedAdviseType,
    location: &MemManagedLocation,
) -> Result<()> {
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let (block, range) = managed_range(state, "ptr", address, size)?;
    let Place::Managed(ranges) = &block.place else { return Ok(()) };
    match advice {
        MemManagedAdviseType::SET_READ_MOSTLY => ranges.change(&range, |advice| advice.is_read_mostly = true),
        MemManagedAdviseType::UNSET_READ_MOSTLY => {
            ranges.change(&range, |advice| advice.is_read_mostly = false);
        }
        MemManagedAdviseType::SET_PREFERRED_LOCATION => {
            let location = managed_location(state, location)?;
            ranges.change(&range, |advice| advice.preferred = Some(location));
        }
        MemManagedAdviseType::UNSET_PREFERRED_LOCATION => {
            ranges.change(&range, |advice| advice.preferred = None);
        }
        MemManagedAdviseType::SET_ACCESSED_BY => {
            let location = managed_location(state, location)?;
            ranges.change(&range, |advice| {
                advice.accessed_by.insert(location);
            });
        }
        MemManagedAdviseType::UNSET_ACCESSED_BY => {
            let location = managed_location(state, location)?;
            ranges.change(&range, |advice| {
                advice.accessed_by.remove(&location);
            });
        }
        MemManagedAdviseType(other) => return unknown_value("advise", other),
    }
    Ok(())
}

/// Writes an attribute of a range. Fills the rest of the buffer with the number for no location.
pub(crate) fn write_attribute(
    state: &State,
    attribute: MemManagedRangeAttribute,
    (address, size): (usize, usize),
    buffer: &mut [u8],
) -> Result<()> {
    if attribute.name().is_none() {
        return unknown_value("attribute", attribute.0);
    }
    let (block, range) = managed_range(state, "ptr", address, size)?;
    let Place::Managed(ranges) = &block.place else { return Ok(()) };
    expect_room(attribute, buffer.len())?;
    let values = attribute_values(attribute, &ranges.of(&range))?.into_iter();
    for (place, value) in buffer.chunks_exact_mut(VALUE_SIZE).zip(values.chain(std::iter::repeat(NOWHERE))) {
        place.copy_from_slice(&value.to_ne_bytes());
    }
    Ok(())
}

/// Writes several attributes of a range, each to its own buffer.
pub(crate) fn write_attributes(
    state: &State,
    attributes: &[MemManagedRangeAttribute],
    range: (usize, usize),
    buffers: &[HostPtr],
    sizes: &[usize],
) -> Result<()> {
    if attributes.is_empty() {
        return refuse(AclError::INVALID_PARAM, "`num_attributes` is 0");
    }
    for ((attribute, buffer), size) in attributes.iter().zip(buffers).zip(sizes) {
        if buffer.is_null() {
            return refuse(AclError::INVALID_PARAM, "an address in `data` is null");
        }
        expect_room(*attribute, *size)?;
        // SAFETY: the caller promises buffers of these sizes.
        write_attribute(state, *attribute, range, unsafe { buffer.bytes_mut(*size) })?;
    }
    Ok(())
}

/// Stores the location that a range is prefetched to.
pub(crate) fn prefetch(
    state: &State,
    (address, size): (usize, usize),
    location: &MemManagedLocation,
    flags: u64,
    stream: usize,
) -> Result<()> {
    if flags != 0 {
        return refuse(
            AclError::RT_PARAM_INVALID,
            format!("`flags` is {flags}; it is reserved and must be 0"),
        );
    }
    let (block, range) = managed_range(state, "ptr", address, size)?;
    let location = managed_location(state, location)?;
    state.stream(stream)?;
    if let Place::Managed(ranges) = &block.place {
        ranges.change(&range, |advice| advice.prefetched = Some(location));
    }
    Ok(())
}

/// Prefetches several ranges.
pub(crate) fn prefetch_batch(
    state: &State,
    batch: PrefetchBatch<'_>,
    flags: u64,
    stream: usize,
) -> Result<()> {
    let PrefetchBatch { ptrs, sizes, locations, firsts } = batch;
    let is_rising = firsts.windows(2).all(|pair| pair[0] < pair[1]);
    if ptrs.is_empty() || locations.is_empty() || locations.len() > ptrs.len() {
        return refuse(
            AclError::INVALID_PARAM,
            format!(
                "the number of locations, {}, does not suit the number of ranges, {}",
                locations.len(),
                ptrs.len()
            ),
        );
    }
    if firsts.first() != Some(&0) || !is_rising || firsts.last().is_some_and(|last| *last >= ptrs.len()) {
        return refuse(
            AclError::INVALID_PARAM,
            "`prefetch_loc_idxs` does not begin with 0, does not increase, or names a range that does not exist",
        );
    }
    for (index, (ptr, size)) in ptrs.iter().zip(sizes).enumerate() {
        if let Some(location) = batch.location(index) {
            prefetch(state, (ptr.addr(), *size), location, flags, stream)?;
        }
    }
    Ok(())
}

/// Returns true if a device supports managed memory.
fn has_managed_memory(session: &DeviceSession) -> bool {
    let tried = session.call(|device, id| {
        let base = device.unified_memory_allocate(id, ALIGNMENT)?;
        if base.is_null() { Ok(()) } else { device.unified_memory_deallocate(id, base, ALIGNMENT) }
    });
    tried.is_ok()
}

#[cold]
fn no_memory<T>(size: u64) -> Result<T> {
    refuse(AclError::RT_MEMORY_ALLOCATION, format!("there is no memory for {size} bytes"))
}
