//! Reserved address ranges, physical memory, and the mappings between them.
//!
//! If device memory is memory of the process, this is done by system calls: a range is an inaccessible mapping,
//! physical memory is an anonymous file, and a mapping maps the file over a part of the range.

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard, OnceLock, Weak};
use tenon::support::Mutex;

use tenon::handle::HandleTable;

use super::sharing;
use crate::api::{
    AclError, MemAccessDesc, MemAllocationType, MemAttr, MemGranularityOptions, MemHandleType, MemLocation,
    MemLocationType, PhysicalMemProp,
};
use crate::error::{Error, Result, refuse, unknown_handle};
use crate::shared::file::SharedFile;
use crate::shared::name::Name;
use crate::shared::pages::{self, Range};
use crate::state::State;
use crate::state::blocks::Block;
use crate::state::handles::HandleKind;

/// The recommended granularity, in bytes.
const RECOMMENDED: usize = 2 << 20;

/// An allocation of physical memory.
pub(crate) struct PhysicalMemory {
    pub(crate) file: Arc<SharedFile>,
    pub(crate) prop: PhysicalMemProp,
    /// The number with which processes import it.
    number: OnceLock<u64>,
}

/// A handle of physical memory. Several handles may share it.
struct PhysicalHandle {
    handle: usize,
    memory: Arc<PhysicalMemory>,
}

struct Mapping {
    size: usize,
    access: pages::Access,
    memory: Arc<PhysicalMemory>,
}

/// A reserved range with its mappings by address.
struct Reservation {
    range: Range,
    mappings: BTreeMap<usize, Mapping>,
}

#[derive(Default)]
struct Layout {
    reservations: BTreeMap<usize, Reservation>,
    numbers: BTreeMap<u64, Weak<PhysicalMemory>>,
}

impl Layout {
    /// Returns the reservation that contains an address.
    fn around(&mut self, address: usize) -> Option<&mut Reservation> {
        let (start, reservation) = self.reservations.range_mut(..=address).next_back()?;
        (address - start < reservation.range.size()).then_some(reservation)
    }

    /// Returns the mapping that contains an address.
    fn mapping(&mut self, address: usize) -> Option<(usize, &mut Mapping)> {
        let (start, mapping) = self.around(address)?.mappings.range_mut(..=address).next_back()?;
        (address - start < mapping.size).then_some((*start, mapping))
    }
}

/// All reservations, mappings and physical memory.
pub(crate) struct VirtualMemory {
    layout: Mutex<Layout>,
    handles: HandleTable<PhysicalHandle>,
}

impl Default for VirtualMemory {
    fn default() -> Self {
        VirtualMemory { layout: Mutex::default(), handles: HandleTable::new(HandleKind::Physical as u8) }
    }
}

impl VirtualMemory {
    fn layout(&self) -> MutexGuard<'_, Layout> {
        self.layout.lock()
    }

    fn add(&self, memory: Arc<PhysicalMemory>) -> Result<usize> {
        let handle = self.handles.insert_with(|handle| PhysicalHandle { handle, memory });
        handle.map(|(handle, _)| handle).ok_or_else(|| {
            Error::new(AclError::RT_RESOURCE_ALLOC_FAIL, "16 million pieces of physical memory exist already")
        })
    }

    /// Returns true if an address is reserved.
    pub(crate) fn is_reserved(&self, address: usize) -> bool {
        self.layout().around(address).is_some()
    }

    /// Returns the physical memory of a handle.
    pub(crate) fn physical(&self, handle: usize) -> Result<Arc<PhysicalMemory>> {
        self.handles
            .get(handle)
            .map(|physical| physical.memory.clone())
            .ok_or_else(|| unknown_handle("handle", handle))
    }

    /// Frees a handle. The physical memory stays while it is mapped or has another handle.
    pub(crate) fn free(&self, handle: usize) -> Result<()> {
        self.handles.remove(handle).map(drop).ok_or_else(|| unknown_handle("handle", handle))
    }

    /// Returns the number with which processes can import physical memory.
    pub(crate) fn export(&self, handle: usize, flags: u64) -> Result<u64> {
        sharing::expect_flags(flags)?;
        let memory = self.physical(handle)?;
        // Memory of another process keeps its number there.
        let number = match memory.number.get() {
            Some(number) if !Name::of_number(*number).is_own() => *number,
            _ => memory.file.export_all(flags == 1)?.to_number(),
        };
        let number = *memory.number.get_or_init(|| number);
        let mut layout = self.layout();
        layout.numbers.retain(|_, known| known.strong_count() > 0);
        layout.numbers.insert(number, Arc::downgrade(&memory));
        Ok(number)
    }

    /// Returns the physical memory of a number, if this process knows it.
    fn known(&self, number: u64) -> Option<Arc<PhysicalMemory>> {
        self.layout().numbers.get(&number).and_then(Weak::upgrade)
    }

    /// Returns the physical memory of a number that this process has exported.
    pub(crate) fn exported(&self, number: u64) -> Result<Arc<PhysicalMemory>> {
        self.known(number).ok_or_else(|| {
            let message = format!("{number} names no physical memory that this process has exported");
            Error::new(AclError::RT_PARAM_INVALID, message)
        })
    }

    /// Creates another handle of the physical memory of a number, for a device.
    pub(crate) fn import(&self, state: &State, number: u64, device: u32) -> Result<usize> {
        let name = Name::of_number(number);
        if name.is_own() || self.known(number).is_some() {
            return self.add(self.exported(number)?);
        }
        expect_virtual_memory(state)?;
        let location = MemLocation { id: device, r#type: MemLocationType::DEVICE };
        let memory = Arc::new(PhysicalMemory {
            file: Arc::new(SharedFile::open_all(name)?),
            prop: PhysicalMemProp {
                handle_type: MemHandleType::NONE,
                allocation_type: MemAllocationType::PINNED,
                mem_attr: MemAttr::HBM,
                location,
                reserve: 0,
            },
            number: number.into(),
        });
        self.layout().numbers.insert(number, Arc::downgrade(&memory));
        self.add(memory)
    }

    /// Returns the file of the mapping that contains an address, and the offset of the address in it.
    pub(crate) fn file_at(&self, address: usize) -> Option<(Arc<SharedFile>, usize)> {
        let mut layout = self.layout();
        let (start, mapping) = layout.mapping(address)?;
        Some((mapping.memory.file.clone(), address - start))
    }

    /// Creates another handle of the physical memory that is mapped at an address.
    pub(crate) fn retain(&self, address: usize) -> Result<usize> {
        let memory = match self.layout().mapping(address) {
            Some((_, mapping)) => mapping.memory.clone(),
            None => return not_mapped(address),
        };
        self.add(memory)
    }

    /// Sets the access to a whole mapping.
    pub(crate) fn set_access(&self, address: usize, size: usize, desc: &MemAccessDesc) -> Result<()> {
        let access = pages::Access::of(desc.flags)?;
        let mut layout = self.layout();
        match layout.mapping(address) {
            Some((start, mapping)) if start == address && mapping.size == size => {
                expect_owner(mapping, &desc.location)?;
                pages::protect(address, size, access)?;
                mapping.access = access;
                Ok(())
            }
            _ => not_mapped(address),
        }
    }

    /// Returns the access at an address.
    pub(crate) fn access(&self, address: usize, location: &MemLocation) -> Result<u64> {
        match self.layout().mapping(address) {
            Some((_, mapping)) => expect_owner(mapping, location).map(|()| mapping.access.flags()),
            None => not_mapped(address),
        }
    }

    /// Reserves a range of addresses.
    pub(crate) fn reserve(
        &self,
        state: &State,
        size: usize,
        alignment: usize,
        hint: usize,
        flags: u64,
    ) -> Result<usize> {
        expect_virtual_memory(state)?;
        if size == 0 {
            return refuse(AclError::INVALID_PARAM, "`size` is 0");
        }
        if alignment != 0 {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("`alignment` is {alignment}; it is reserved and must be 0"),
            );
        }
        if flags > 1 {
            return refuse(AclError::RT_PARAM_INVALID, format!("`flags` is {flags}; it must be 0 or 1"));
        }
        let rounded = size.checked_next_multiple_of(RECOMMENDED.max(pages::size()));
        let Some(size) = rounded.filter(|size| *size <= isize::MAX as usize) else {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("`size` is {size}, which exceeds the address space"),
            );
        };
        let range = Range::reserve(size, hint)?;
        let start = range.start();
        let reservation = Reservation { range, mappings: BTreeMap::new() };
        self.layout().reservations.insert(start, reservation);
        Ok(start)
    }

    /// Releases a reserved range.
    pub(crate) fn release(&self, address: usize) -> Result<()> {
        if address == 0 {
            return refuse(AclError::INVALID_PARAM, "`vir_ptr` is null");
        }
        let mut layout = self.layout();
        match layout.reservations.get(&address) {
            Some(reservation) if reservation.mappings.is_empty() => {
                layout.reservations.remove(&address);
                Ok(())
            }
            Some(_) => refuse(AclError::RT_PARAM_INVALID, "the range at `vir_ptr` still has mappings"),
            None => refuse(
                AclError::RT_PARAM_INVALID,
                format!("`vir_ptr` is {address:#x}, where no reserved range begins"),
            ),
        }
    }

    /// Allocates physical memory.
    pub(crate) fn allocate_physical(
        &self,
        state: &State,
        size: usize,
        prop: &PhysicalMemProp,
        flags: u64,
    ) -> Result<usize> {
        expect_prop(state, prop)?;
        if size == 0 {
            return refuse(AclError::INVALID_PARAM, "`size` is 0");
        }
        if flags != 0 {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("`flags` is {flags}; it is reserved and must be 0"),
            );
        }
        if !size.is_multiple_of(pages::size()) {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("`size` is {size}, which is not a multiple of the granularity, {}", pages::size()),
            );
        }
        let lease = state.lease(&state.device(prop.location.id)?)?;
        let free = lease.call(|device, id| device.device_memory_stats(id))?.free_memory;
        if size > free {
            return refuse(
                AclError::RT_MEMORY_ALLOCATION,
                format!("`size` is {size}, but only {free} bytes of device memory are free"),
            );
        }
        let file = Arc::new(SharedFile::new(size)?);
        self.add(Arc::new(PhysicalMemory { file, prop: *prop, number: OnceLock::new() }))
    }

    /// Maps physical memory at reserved addresses.
    pub(crate) fn map(
        &self,
        state: &State,
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
            return refuse(AclError::RT_PARAM_INVALID, "`offset` and `flags` are reserved and must be 0");
        }
        let memory = self.physical(handle)?;
        if size != memory.file.size() {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("`size` is {size}, but the physical memory has {} bytes", memory.file.size()),
            );
        }
        let device = state.device(memory.prop.location.id)?;
        let block = Block::mapped(address, size, state.lease(&device)?);
        let mut layout = self.layout();
        let Some(reservation) = layout.around(address) else {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("`vir_ptr` is {address:#x}, which is not reserved"),
            );
        };
        let end = address.checked_add(size).filter(|end| *end <= reservation.range.end());
        let Some(end) = end.filter(|_| address.is_multiple_of(pages::size())) else {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("{size} bytes from {address:#x} are not aligned, or exceed the reserved range"),
            );
        };
        let before = reservation.mappings.range(..end).next_back();
        if before.is_some_and(|(start, mapping)| start + mapping.size > address) {
            return refuse(AclError::RT_PARAM_INVALID, format!("{address:#x} is already mapped"));
        }
        if let Err(block) = state.blocks.insert_disjoint(block) {
            // Dropping the block may close the device, which must not happen under the lock.
            drop(layout);
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("some of the {} bytes from {address:#x} are registered memory", block.length),
            );
        }
        if let Err(error) = reservation.range.map(address, &memory.file) {
            let block = state.blocks.remove_if(address, Block::is_mapped);
            drop(layout);
            drop(block);
            return Err(error);
        }
        reservation.mappings.insert(address, Mapping { size, access: pages::Access::ReadWrite, memory });
        Ok(())
    }

    /// Unmaps the mapping that begins at an address.
    pub(crate) fn unmap(&self, state: &State, address: usize) -> Result<()> {
        if address == 0 {
            return refuse(AclError::INVALID_PARAM, "`vir_ptr` is null");
        }
        self.unmap_if(state, address, |_| true)
    }

    /// Unmaps the mapping that begins at an address, if the predicate is true for its block.
    pub(crate) fn unmap_if(
        &self,
        state: &State,
        address: usize,
        predicate: impl Fn(&Block) -> bool,
    ) -> Result<()> {
        let mut layout = self.layout();
        let block = state.blocks.remove_if(address, |block| block.is_mapped() && predicate(block));
        let reservation = layout.around(address).filter(|_| block.is_some());
        let Some((reservation, mapping)) = reservation.and_then(|reservation| {
            reservation.mappings.remove(&address).map(|removed| (reservation, removed))
        }) else {
            return refuse(AclError::RT_PARAM_INVALID, format!("no mapping begins at {address:#x}"));
        };
        let unmapped = reservation.range.unmap(address, mapping.size);
        // Dropping the block may close the device, which must not happen under the lock.
        drop(layout);
        drop(block);
        unmapped
    }

    /// Releases all mappings, physical memory and reservations.
    pub(crate) fn release_all(&self, state: &State) {
        let mappings: Vec<usize> = {
            let layout = self.layout();
            layout
                .reservations
                .values()
                .flat_map(|reservation| reservation.mappings.keys().copied())
                .collect()
        };
        for address in mappings {
            // Another thread may have unmapped it.
            let _ = self.unmap(state, address);
        }
        for physical in self.handles.all() {
            self.handles.remove(physical.handle);
        }
        self.layout().reservations.clear();
    }
}

fn expect_virtual_memory(state: &State) -> Result<()> {
    if state.provider.memory_is_host() {
        return Ok(());
    }
    refuse(AclError::RT_FEATURE_NOT_SUPPORT, "the devices do not support virtual memory")
}

/// Checks the properties of physical memory.
fn expect_prop(state: &State, prop: &PhysicalMemProp) -> Result<()> {
    expect_virtual_memory(state)?;
    if prop.location.r#type != MemLocationType::DEVICE {
        return refuse(
            AclError::RT_PARAM_INVALID,
            format!(
                "`prop.location.type` is {:?}; physical memory must be on a device",
                prop.location.r#type
            ),
        );
    }
    if prop.handle_type != MemHandleType::NONE || prop.allocation_type != MemAllocationType::PINNED {
        return refuse(
            AclError::RT_PARAM_INVALID,
            "`prop.handleType` and `prop.allocationType` must be 0, the only values that exist",
        );
    }
    state.device(prop.location.id).map(drop)
}

/// Returns the granularity of sizes and addresses of physical memory.
pub(crate) fn granularity(
    state: &State,
    prop: &PhysicalMemProp,
    option: MemGranularityOptions,
) -> Result<usize> {
    expect_prop(state, prop)?;
    match option {
        MemGranularityOptions::MINIMUM => Ok(pages::size()),
        MemGranularityOptions::RECOMMENDED => Ok(RECOMMENDED.max(pages::size())),
        _ => {
            refuse(AclError::RT_PARAM_INVALID, format!("`option` is {option:?}, which is not a granularity"))
        }
    }
}

/// Checks that a location is the device that a mapping belongs to.
fn expect_owner(mapping: &Mapping, location: &MemLocation) -> Result<()> {
    let own = &mapping.memory.prop.location;
    if (location.r#type, location.id) == (own.r#type, own.id) {
        return Ok(());
    }
    refuse(
        AclError::RT_PARAM_INVALID,
        format!("the memory belongs to device {}, and only that device can access it", own.id),
    )
}

fn not_mapped<T>(address: usize) -> Result<T> {
    refuse(
        AclError::RT_PARAM_INVALID,
        match address {
            0 => "`vir_ptr` is null".to_owned(),
            _ => format!("no mapping with this length begins at {address:#x}"),
        },
    )
}
