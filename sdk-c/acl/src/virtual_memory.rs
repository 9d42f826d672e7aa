//! Virtual memory: ranges of addresses, pieces of physical memory, and which piece lies behind which addresses.
//!
//! Where the memory of devices is that of the process, the system's own means do: a range is an inaccessible mapping, a
//! piece is a file without a name, and putting one behind the other is a mapping of the file in the place of the range.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use crate::api::{
    AclError, MemAccessDesc, MemAllocationType, MemGranularityOptions, MemHandleType, MemLocation,
    MemLocationType, PhysicalMemProp,
};
use crate::block::Block;
use crate::error::{Error, Result, refuse};
use crate::pages::{self, File, Range};
use crate::runtime::{Runtime, unknown};
use crate::table::{Kind, Table};

/// The granularity that is fast, in bytes.
const RECOMMENDED: usize = 2 << 20;

/// A piece of physical memory.
pub(crate) struct Piece {
    file: File,
    pub(crate) prop: PhysicalMemProp,
    /// What others in the process find it by.
    number: OnceLock<u64>,
}

/// A handle of a piece; there may be several.
pub(crate) struct Physical {
    pub(crate) handle: usize,
    pub(crate) piece: Arc<Piece>,
}

struct Mapping {
    size: usize,
    access: pages::Access,
    piece: Arc<Piece>,
}

/// A reserved range with what is mapped in it, by address.
struct Reservation {
    range: Range,
    mappings: BTreeMap<usize, Mapping>,
}

#[derive(Default)]
struct State {
    reservations: BTreeMap<usize, Reservation>,
    numbers: BTreeMap<u64, Weak<Piece>>,
}

impl State {
    /// The reservation that an address lies in.
    fn around(&mut self, address: usize) -> Option<&mut Reservation> {
        let (start, reservation) = self.reservations.range_mut(..=address).next_back()?;
        (address - start < reservation.range.size()).then_some(reservation)
    }

    /// The mapping that an address lies in.
    fn mapping(&mut self, address: usize) -> Option<(usize, &mut Mapping)> {
        let (start, mapping) = self.around(address)?.mappings.range_mut(..=address).next_back()?;
        (address - start < mapping.size).then_some((*start, mapping))
    }
}

/// All that is reserved, allocated and mapped.
pub(crate) struct VirtualMemory {
    state: Mutex<State>,
    pieces: Table<Physical>,
}

impl Default for VirtualMemory {
    fn default() -> Self {
        VirtualMemory { state: Mutex::default(), pieces: Table::new(Kind::Physical) }
    }
}

impl VirtualMemory {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, piece: Arc<Piece>) -> Result<usize> {
        let handle = self.pieces.insert_with(|handle| Physical { handle, piece });
        handle.map(|physical| physical.handle).ok_or_else(|| {
            Error::new(AclError::RT_RESOURCE_ALLOC_FAIL, "a million pieces of physical memory are alive")
        })
    }

    /// Whether an address lies in a range that is reserved.
    pub(crate) fn is_reserved(&self, address: usize) -> bool {
        self.state().around(address).is_some()
    }

    /// The piece of a handle.
    pub(crate) fn piece(&self, handle: usize) -> Result<Arc<Piece>> {
        self.pieces
            .get(handle)
            .map(|physical| physical.piece.clone())
            .ok_or_else(|| unknown("handle", handle))
    }

    /// Takes a handle away. The piece stays as long as it is mapped or has another handle.
    pub(crate) fn free(&self, handle: usize) -> Result<()> {
        self.pieces.remove(handle).map(drop).ok_or_else(|| unknown("handle", handle))
    }

    /// A number by which others find a piece.
    pub(crate) fn export(&self, handle: usize, flags: u64) -> Result<u64> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        crate::share::expect_flags(flags)?;
        let piece = self.piece(handle)?;
        let number = *piece.number.get_or_init(|| NUMBERS.fetch_add(1, Ordering::Relaxed) + 1);
        let mut state = self.state();
        state.numbers.retain(|_, known| known.strong_count() > 0);
        state.numbers.insert(number, Arc::downgrade(&piece));
        Ok(number)
    }

    /// The piece of a number.
    pub(crate) fn exported(&self, number: u64) -> Result<Arc<Piece>> {
        self.state().numbers.get(&number).and_then(Weak::upgrade).ok_or_else(|| {
            Error::new(
                AclError::RT_PARAM_INVALID,
                format!("{number} names no physical memory of this process; processes do not share memory"),
            )
        })
    }

    /// A further handle of the piece of a number.
    pub(crate) fn import(&self, number: u64) -> Result<usize> {
        self.add(self.exported(number)?)
    }

    /// A further handle of the piece behind an address.
    pub(crate) fn retain(&self, address: usize) -> Result<usize> {
        let piece = match self.state().mapping(address) {
            Some((_, mapping)) => mapping.piece.clone(),
            None => return not_mapped(address),
        };
        self.add(piece)
    }

    /// What may be done with a whole mapping.
    pub(crate) fn set_access(&self, address: usize, size: usize, desc: &MemAccessDesc) -> Result<()> {
        let access = pages::Access::of(desc.flags)?;
        let mut state = self.state();
        match state.mapping(address) {
            Some((start, mapping)) if start == address && mapping.size == size => {
                expect_own(mapping, &desc.location)?;
                pages::protect(address, size, access)?;
                mapping.access = access;
                Ok(())
            }
            _ => not_mapped(address),
        }
    }

    /// What may be done at an address.
    pub(crate) fn access(&self, address: usize, location: &MemLocation) -> Result<u64> {
        match self.state().mapping(address) {
            Some((_, mapping)) => expect_own(mapping, location).map(|()| mapping.access.flags()),
            None => not_mapped(address),
        }
    }
}

/// Whether a place is the device that a mapping belongs to.
fn expect_own(mapping: &Mapping, location: &MemLocation) -> Result<()> {
    let own = &mapping.piece.prop.location;
    if (location.r#type, location.id) == (own.r#type, own.id) {
        return Ok(());
    }
    refuse(
        AclError::RT_PARAM_INVALID,
        format!("the memory is that of device {}, which alone uses it", own.id),
    )
}

fn not_mapped<T>(address: usize) -> Result<T> {
    refuse(
        AclError::RT_PARAM_INVALID,
        match address {
            0 => "`vir_ptr` is null".to_owned(),
            _ => format!("nothing is mapped at {address:#x}, or not with this length"),
        },
    )
}

impl Runtime {
    fn expect_virtual_memory(&self) -> Result<()> {
        if self.devices.memory_is_host() {
            return Ok(());
        }
        refuse(
            AclError::RT_FEATURE_NOT_SUPPORT,
            "the devices have no virtual memory that a program could lay out",
        )
    }

    /// Checks what a program says about physical memory.
    fn expect_prop(&self, prop: &PhysicalMemProp) -> Result<()> {
        self.expect_virtual_memory()?;
        if prop.location.r#type != MemLocationType::DEVICE {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("`prop.location.type` is {:?}; physical memory is a device's", prop.location.r#type),
            );
        }
        if prop.handle_type != MemHandleType::NONE || prop.allocation_type != MemAllocationType::PINNED {
            return refuse(
                AclError::RT_PARAM_INVALID,
                "`prop.handleType` and `prop.allocationType` are 0, the only ones that there are",
            );
        }
        self.home(prop.location.id.into()).map(drop)
    }

    /// What sizes and addresses of physical memory are multiples of.
    pub(crate) fn granularity(&self, prop: &PhysicalMemProp, option: MemGranularityOptions) -> Result<usize> {
        self.expect_prop(prop)?;
        match option {
            MemGranularityOptions::MINIMUM => Ok(pages::size()),
            MemGranularityOptions::RECOMMENDED => Ok(RECOMMENDED.max(pages::size())),
            _ => {
                refuse(AclError::RT_PARAM_INVALID, format!("`option` is {option:?}, which is no granularity"))
            }
        }
    }

    /// Takes a range of addresses.
    pub(crate) fn reserve_addresses(
        &self,
        size: usize,
        alignment: usize,
        wish: usize,
        flags: u64,
    ) -> Result<usize> {
        self.expect_virtual_memory()?;
        if size == 0 {
            return refuse(AclError::INVALID_PARAM, "`size` is 0");
        }
        if alignment != 0 {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("`alignment` is {alignment}; it is reserved and 0"),
            );
        }
        if flags > 1 {
            return refuse(AclError::RT_PARAM_INVALID, format!("`flags` is {flags}; it is 0 or 1"));
        }
        let rounded = size.checked_next_multiple_of(RECOMMENDED.max(pages::size()));
        let Some(size) = rounded.filter(|size| *size <= isize::MAX as usize) else {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("`size` is {size}, more than there are addresses"),
            );
        };
        let range = Range::reserve(size, wish)?;
        let start = range.start();
        let reservation = Reservation { range, mappings: BTreeMap::new() };
        self.virtual_memory.state().reservations.insert(start, reservation);
        Ok(start)
    }

    /// Gives a range of addresses back.
    pub(crate) fn release_addresses(&self, address: usize) -> Result<()> {
        if address == 0 {
            return refuse(AclError::INVALID_PARAM, "`vir_ptr` is null");
        }
        let mut state = self.virtual_memory.state();
        match state.reservations.get(&address) {
            Some(reservation) if reservation.mappings.is_empty() => {
                state.reservations.remove(&address);
                Ok(())
            }
            Some(_) => {
                refuse(AclError::RT_PARAM_INVALID, "something is still mapped in the range at `vir_ptr`")
            }
            None => refuse(
                AclError::RT_PARAM_INVALID,
                format!("`vir_ptr` is {address:#x}, where no reserved range begins"),
            ),
        }
    }

    /// Allocates a piece of physical memory.
    pub(crate) fn allocate_physical(&self, size: usize, prop: &PhysicalMemProp, flags: u64) -> Result<usize> {
        self.expect_prop(prop)?;
        if size == 0 {
            return refuse(AclError::INVALID_PARAM, "`size` is 0");
        }
        if flags != 0 {
            return refuse(AclError::RT_PARAM_INVALID, format!("`flags` is {flags}; it is reserved and 0"));
        }
        if !size.is_multiple_of(pages::size()) {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("`size` is {size}, no multiple of the granularity, {}", pages::size()),
            );
        }
        let lease = self.home(prop.location.id.into())?.lease(&*self.devices)?;
        let free = lease.on(|device, id| device.device_memory_stats(id))?.free_memory;
        if size > free {
            return refuse(
                AclError::RT_MEMORY_ALLOCATION,
                format!("`size` is {size}, and {free} bytes of device memory are free"),
            );
        }
        let file = File::new(size)?;
        self.virtual_memory.add(Arc::new(Piece { file, prop: *prop, number: OnceLock::new() }))
    }

    /// A further handle of the piece of a number, for a device.
    pub(crate) fn import_physical(&self, number: u64, device: i32) -> Result<usize> {
        self.home(device.into())?;
        self.virtual_memory.import(number)
    }

    /// Puts a piece behind addresses.
    pub(crate) fn map(
        &self,
        address: usize,
        size: usize,
        offset: usize,
        handle: usize,
        flags: u64,
    ) -> Result<()> {
        if address == 0 {
            return refuse(AclError::INVALID_PARAM, "`vir_ptr` is null");
        }
        if size == 0 {
            return refuse(AclError::INVALID_PARAM, "`size` is 0");
        }
        if offset != 0 || flags != 0 {
            return refuse(AclError::RT_PARAM_INVALID, "`offset` and `flags` are reserved and 0");
        }
        let piece = self.virtual_memory.piece(handle)?;
        if size != piece.file.size() {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("`size` is {size}, and the piece of memory has {} bytes", piece.file.size()),
            );
        }
        let home = self.home(piece.prop.location.id.into())?;
        let block = Block::mapped(address, size, home.lease(&*self.devices)?);
        let mut state = self.virtual_memory.state();
        let Some(reservation) = state.around(address) else {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("`vir_ptr` is {address:#x}, which is not reserved"),
            );
        };
        let end = address.checked_add(size).filter(|end| *end <= reservation.range.end());
        let Some(end) = end.filter(|_| address.is_multiple_of(pages::size())) else {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("{size} bytes from {address:#x} are not aligned, or reach past the reserved range"),
            );
        };
        let before = reservation.mappings.range(..end).next_back();
        if before.is_some_and(|(start, mapping)| start + mapping.size > address) {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("something is mapped at {address:#x} already"),
            );
        }
        if let Err(block) = self.memory.insert_apart(block) {
            // The device may be closed with it, which is not for this lock.
            drop(state);
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("some of the {} bytes from {address:#x} are registered memory", block.length),
            );
        }
        if let Err(error) = reservation.range.map(address, &piece.file) {
            let block = self.memory.take(address, Block::is_mapped);
            drop(state);
            drop(block);
            return Err(error);
        }
        reservation.mappings.insert(address, Mapping { size, access: pages::Access::ReadWrite, piece });
        Ok(())
    }

    /// Takes a piece from behind addresses.
    pub(crate) fn unmap(&self, address: usize) -> Result<()> {
        if address == 0 {
            return refuse(AclError::INVALID_PARAM, "`vir_ptr` is null");
        }
        self.unmap_one(address, Block::is_mapped)
    }

    /// The same, if it is one of these.
    pub(crate) fn unmap_one(&self, address: usize, is_one: impl Fn(&Block) -> bool) -> Result<()> {
        let mut state = self.virtual_memory.state();
        let block = self.memory.take(address, |block| block.is_mapped() && is_one(block));
        let reservation = state.around(address).filter(|_| block.is_some());
        let Some((reservation, mapping)) = reservation
            .and_then(|reservation| reservation.mappings.remove(&address).map(|gone| (reservation, gone)))
        else {
            return refuse(AclError::RT_PARAM_INVALID, format!("no mapping begins at {address:#x}"));
        };
        let unmapped = reservation.range.unmap(address, mapping.size);
        // The device may be closed with the last of its memory, which is not for this lock.
        drop(state);
        drop(block);
        unmapped
    }

    /// Gives back all that is mapped, allocated and reserved.
    pub(crate) fn release_virtual_memory(&self) {
        let mappings: Vec<usize> = {
            let state = self.virtual_memory.state();
            state.reservations.values().flat_map(|reservation| reservation.mappings.keys().copied()).collect()
        };
        for address in mappings {
            // Another thread may be quicker.
            let _ = self.unmap(address);
        }
        for piece in self.virtual_memory.pieces.all() {
            self.virtual_memory.pieces.remove(piece.handle);
        }
        self.virtual_memory.state().reservations.clear();
    }
}
