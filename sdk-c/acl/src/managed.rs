//! Managed memory: pieces that host and device use at one address, and what the program said about them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tenon::{HostPtr, UnifiedPtr};

use crate::api::{
    AclError, MemAttachFlag, MemManagedAdviseType, MemManagedLocation, MemManagedLocationType,
    MemManagedRangeAttribute,
};
use crate::block::{ALIGNMENT, Block, Place, fits};
use crate::error::{Error, Result, refuse};
use crate::home::Unit;
use crate::info::no_such;
use crate::runtime::Runtime;

/// Lengths are rounded up to a multiple of it, as programs take for granted that give advice.
const UNIT: usize = 2 << 20;

/// The number of the host among places, and that of no place.
const HOST: i32 = -1;
const NOWHERE: i32 = -2;

/// How many bytes each answer about a range has.
const ANSWER: usize = size_of::<i32>();

/// A place, as the program named it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Spot {
    number: i32,
    kind: i32,
}

/// What was said about a range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Said {
    is_read_mostly: bool,
    preferred: Option<Spot>,
    users: BTreeSet<Spot>,
    fetched: Option<Spot>,
}

/// What was said about a piece of managed memory: each range from its offset to the next one, the first from 0.
#[derive(Debug)]
pub(crate) struct Advice(Mutex<BTreeMap<usize, Said>>);

impl Default for Advice {
    fn default() -> Self {
        Advice(Mutex::new(BTreeMap::from([(0, Said::default())])))
    }
}

impl Advice {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<usize, Said>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, range: &Range<usize>, change: impl Fn(&mut Said)) {
        let mut ranges = self.lock();
        for offset in [range.start, range.end] {
            let around = ranges.range(..=offset).next_back().map(|(_, said)| said.clone());
            ranges.entry(offset).or_insert(around.unwrap_or_default());
        }
        ranges.range_mut(range.clone()).for_each(|(_, said)| change(said));
    }

    /// What was said about each part of a range.
    fn of(&self, range: &Range<usize>) -> Vec<Said> {
        let ranges = self.lock();
        let first = ranges.range(..=range.start).next_back();
        let others = ranges.range(range.start + 1..range.end.max(range.start + 1));
        first.into_iter().chain(others).map(|(_, said)| said.clone()).collect()
    }
}

/// What all parts of a range have in common, if they agree.
fn common<T: PartialEq>(parts: &[Said], figure: impl Fn(&Said) -> Option<T>) -> Option<T> {
    let first = figure(parts.first()?)?;
    parts.iter().all(|part| figure(part).as_ref() == Some(&first)).then_some(first)
}

/// Whether so much room fits an answer.
fn expect_room(attribute: MemManagedRangeAttribute, room: usize) -> Result<()> {
    let is_list = attribute == MemManagedRangeAttribute::ACCESSED_BY;
    if room == ANSWER || (is_list && room != 0 && room.is_multiple_of(ANSWER)) {
        return Ok(());
    }
    refuse(
        AclError::RT_PARAM_INVALID,
        format!("there are {room} bytes of room for {attribute:?}, whose numbers have {ANSWER} bytes each"),
    )
}

fn answers(attribute: MemManagedRangeAttribute, parts: &[Said]) -> Result<Vec<i32>> {
    let kind = |spot: Option<Spot>| spot.map_or(MemManagedLocationType::INVALID.0, |spot| spot.kind);
    let number = |spot: Option<Spot>| spot.map_or(NOWHERE, |spot| spot.number);
    let preferred = || common(parts, |part| part.preferred);
    let fetched = || common(parts, |part| part.fetched);
    Ok(match attribute {
        MemManagedRangeAttribute::READ_MOSTLY => {
            vec![i32::from(parts.iter().all(|part| part.is_read_mostly))]
        }
        MemManagedRangeAttribute::PREFERRED_LOCATION | MemManagedRangeAttribute::PREFERRED_LOCATION_ID => {
            vec![number(preferred())]
        }
        MemManagedRangeAttribute::PREFERRED_LOCATION_TYPE => vec![kind(preferred())],
        MemManagedRangeAttribute::LAST_PREFETCH_LOCATION
        | MemManagedRangeAttribute::LAST_PREFETCH_LOCATION_ID => vec![number(fetched())],
        MemManagedRangeAttribute::LAST_PREFETCH_LOCATION_TYPE => vec![kind(fetched())],
        MemManagedRangeAttribute::ACCESSED_BY => {
            let of_all = |spot: &&Spot| parts.iter().all(|part| part.users.contains(spot));
            let users = parts.first().into_iter().flat_map(|part| &part.users);
            users.filter(of_all).map(|spot| spot.number).collect()
        }
        MemManagedRangeAttribute(other) => return no_such("attribute", other),
    })
}

/// Ranges that a program wants at places.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fetch<'a> {
    pub(crate) ptrs: &'a [UnifiedPtr],
    pub(crate) sizes: &'a [usize],
    pub(crate) places: &'a [MemManagedLocation],
    /// The first range that each place holds for.
    pub(crate) firsts: &'a [usize],
}

impl Fetch<'_> {
    /// The place of a range.
    fn place(&self, index: usize) -> Option<&MemManagedLocation> {
        let place = self.firsts.iter().rposition(|first| *first <= index)?;
        self.places.get(place)
    }
}

impl Runtime {
    /// Allocates managed memory on the current device.
    pub(crate) fn allocate_managed(&self, size: u64, flag: u32) -> Result<usize> {
        if size == 0 {
            return refuse(AclError::INVALID_PARAM, "`size` is 0");
        }
        if i32::try_from(flag) != Ok(MemAttachFlag::GLOBAL.0) {
            return refuse(
                AclError::INVALID_PARAM,
                format!("`flag` is {flag}; it is {}, for the host and every device", MemAttachFlag::GLOBAL.0),
            );
        }
        let lease = self.lease()?;
        let asked = usize::try_from(size).ok();
        let length = asked.and_then(|asked| asked.checked_next_multiple_of(UNIT));
        let Some((asked, length)) = asked.zip(length.filter(|length| *length < isize::MAX as usize - UNIT))
        else {
            return no_memory(size);
        };
        let total = length + ALIGNMENT;
        let taken = lease.on(|device, id| device.unified_memory_allocate(id, total));
        let base = match taken.map(UnifiedPtr::addr) {
            Ok(0) => return no_memory(size),
            Ok(base) => base,
            // A device says in the same way that it has no more of it and that it has none.
            Err(_) if has_managed_memory(&lease) => return no_memory(size),
            Err(error) => {
                return refuse(
                    AclError::RT_FEATURE_NOT_SUPPORT,
                    format!("the device has no managed memory: {}", error.message),
                );
            }
        };
        let (start, place) = (base.next_multiple_of(ALIGNMENT), Place::Managed(Advice::default()));
        self.memory.insert(Block { start, length, asked, place, base, total, lease });
        Ok(start)
    }

    /// The piece of managed memory that a range lies within, and where in it.
    fn managed_range(&self, param: &str, address: usize, size: usize) -> Result<(Arc<Block>, Range<usize>)> {
        if address == 0 {
            return refuse(AclError::INVALID_PARAM, format!("`{param}` is null"));
        }
        if size == 0 {
            return refuse(AclError::INVALID_PARAM, "`size` is 0");
        }
        match self.memory.find(address) {
            Some(block) if matches!(block.place, Place::Managed(_)) => {
                fits(param, &block, address, size)?;
                let start = address - block.start;
                Ok((block, start..start + size))
            }
            _ => refuse(
                AclError::RT_PARAM_INVALID,
                format!("`{param}` is {address:#x}, which is no managed memory"),
            ),
        }
    }

    fn managed_spot(&self, location: &MemManagedLocation) -> Result<Spot> {
        let (kind, number) = match location.r#type {
            MemManagedLocationType::DEVICE => {
                self.home(location.id.into())
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
                    format!("`location` is {other:?} with the number {}, which is no place", location.id),
                );
            }
        };
        Ok(Spot { number, kind: kind.0 })
    }

    /// Keeps what a program says about a range.
    pub(crate) fn advise(
        &self,
        address: usize,
        size: u64,
        advice: MemManagedAdviseType,
        location: &MemManagedLocation,
    ) -> Result<()> {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let (block, range) = self.managed_range("ptr", address, size)?;
        let Place::Managed(ranges) = &block.place else { return Ok(()) };
        match advice {
            MemManagedAdviseType::SET_READ_MOSTLY => ranges.change(&range, |said| said.is_read_mostly = true),
            MemManagedAdviseType::UNSET_READ_MOSTLY => {
                ranges.change(&range, |said| said.is_read_mostly = false);
            }
            MemManagedAdviseType::SET_PREFERRED_LOCATION => {
                let spot = self.managed_spot(location)?;
                ranges.change(&range, |said| said.preferred = Some(spot));
            }
            MemManagedAdviseType::UNSET_PREFERRED_LOCATION => {
                ranges.change(&range, |said| said.preferred = None);
            }
            MemManagedAdviseType::SET_ACCESSED_BY => {
                let spot = self.managed_spot(location)?;
                ranges.change(&range, |said| {
                    said.users.insert(spot);
                });
            }
            MemManagedAdviseType::UNSET_ACCESSED_BY => {
                let spot = self.managed_spot(location)?;
                ranges.change(&range, |said| {
                    said.users.remove(&spot);
                });
            }
            MemManagedAdviseType(other) => return no_such("advise", other),
        }
        Ok(())
    }

    /// Writes what was said about a range; what is left of the room is that of no place.
    pub(crate) fn write_advice(
        &self,
        attribute: MemManagedRangeAttribute,
        (address, size): (usize, usize),
        room: &mut [u8],
    ) -> Result<()> {
        if attribute.name().is_none() {
            return no_such("attribute", attribute.0);
        }
        let (block, range) = self.managed_range("ptr", address, size)?;
        let Place::Managed(ranges) = &block.place else { return Ok(()) };
        expect_room(attribute, room.len())?;
        let answers = answers(attribute, &ranges.of(&range))?.into_iter();
        for (place, answer) in room.chunks_exact_mut(ANSWER).zip(answers.chain(std::iter::repeat(NOWHERE))) {
            place.copy_from_slice(&answer.to_ne_bytes());
        }
        Ok(())
    }

    /// The same, for several questions.
    pub(crate) fn write_all_advice(
        &self,
        attributes: &[MemManagedRangeAttribute],
        range: (usize, usize),
        rooms: &[HostPtr],
        sizes: &[usize],
    ) -> Result<()> {
        if attributes.is_empty() {
            return refuse(AclError::INVALID_PARAM, "`num_attributes` is 0");
        }
        for ((attribute, room), size) in attributes.iter().zip(rooms).zip(sizes) {
            if room.is_null() {
                return refuse(AclError::INVALID_PARAM, "an address in `data` is null");
            }
            expect_room(*attribute, *size)?;
            // SAFETY: by the caller's promise there is so much room.
            self.write_advice(*attribute, range, unsafe { room.bytes_mut(*size) })?;
        }
        Ok(())
    }

    /// Keeps where a range is needed next.
    pub(crate) fn fetch(
        &self,
        (address, size): (usize, usize),
        location: &MemManagedLocation,
        flags: u64,
        stream: usize,
    ) -> Result<()> {
        if flags != 0 {
            return refuse(AclError::RT_PARAM_INVALID, format!("`flags` is {flags}; it is reserved and 0"));
        }
        let (block, range) = self.managed_range("ptr", address, size)?;
        let spot = self.managed_spot(location)?;
        self.stream(stream)?;
        if let Place::Managed(ranges) = &block.place {
            ranges.change(&range, |said| said.fetched = Some(spot));
        }
        Ok(())
    }

    /// The same, for several ranges.
    pub(crate) fn fetch_all(&self, fetch: Fetch<'_>, flags: u64, stream: usize) -> Result<()> {
        let Fetch { ptrs, sizes, places, firsts } = fetch;
        let is_rising = firsts.windows(2).all(|pair| pair[0] < pair[1]);
        if ptrs.is_empty() || places.is_empty() || places.len() > ptrs.len() {
            return refuse(
                AclError::INVALID_PARAM,
                format!("{} places for {} ranges are too few or too many", places.len(), ptrs.len()),
            );
        }
        if firsts.first() != Some(&0) || !is_rising || firsts.last().is_some_and(|last| *last >= ptrs.len()) {
            return refuse(
                AclError::INVALID_PARAM,
                "`prefetch_loc_idxs` does not begin with 0, does not rise, or names a range that there is not",
            );
        }
        for (index, (ptr, size)) in ptrs.iter().zip(sizes).enumerate() {
            if let Some(place) = fetch.place(index) {
                self.fetch((ptr.addr(), *size), place, flags, stream)?;
            }
        }
        Ok(())
    }
}

/// Whether a device has such memory at all.
fn has_managed_memory(unit: &Unit) -> bool {
    let tried = unit.on(|device, id| {
        let base = device.unified_memory_allocate(id, ALIGNMENT)?;
        if base.is_null() { Ok(()) } else { device.unified_memory_deallocate(id, base, ALIGNMENT) }
    });
    tried.is_ok()
}

#[cold]
fn no_memory<T>(size: u64) -> Result<T> {
    refuse(AclError::RT_MEMORY_ALLOCATION, format!("there is no memory for {size} bytes"))
}
