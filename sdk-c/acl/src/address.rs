//! Addresses: what is known of them, and memory of the program's that is made known.

use std::sync::Arc;

use tenon::DevicePtr;

use crate::api::{
    AclError, HostRegisterFlags, HostRegisterType, MemAttr, MemLocation, MemLocationType, MemUsageInfo,
    PtrAttributes, RtGetMemInfo, RtMemGetAddressRange,
};
use crate::block::{Block, Place, fits};
use crate::error::{Error, Result, refuse};
use crate::home::Home;
use crate::info::no_such;
use crate::pages;
use crate::runtime::Runtime;

impl Runtime {
    /// Makes memory of the program's known, by what it is for.
    pub(crate) fn register_host_as(&self, address: usize, size: u64, kind: HostRegisterType) -> Result<()> {
        match kind {
            HostRegisterType::MAPPED => self.register_host(address, size, true),
            HostRegisterType(other) => no_such("type", other),
        }
    }

    /// The same, by flags.
    pub(crate) fn register_host_with(&self, address: usize, size: u64, flags: u32) -> Result<()> {
        let [mapped, pinned] = [HostRegisterFlags::MAPPED, HostRegisterFlags::PINNED];
        let [mapped, pinned] = [mapped, pinned].map(|flag| flag.0.cast_unsigned());
        if flags == 0 || flags & !(mapped | pinned) != 0 {
            return refuse(
                AclError::INVALID_PARAM,
                format!("`flag` is {flags:#x}, which is no set of flags"),
            );
        }
        self.register_host(address, size, flags & mapped != 0)
    }

    /// Makes memory of the program's known.
    pub(crate) fn register_host(&self, address: usize, size: u64, is_mapped: bool) -> Result<()> {
        if address == 0 {
            return refuse(AclError::INVALID_PARAM, "`ptr` is null");
        }
        let length =
            usize::try_from(size).ok().filter(|size| *size > 0 && address.checked_add(*size).is_some());
        let Some(length) = length else {
            return refuse(AclError::INVALID_PARAM, format!("`size` is {size}"));
        };
        let lease = self.lease()?;
        let place = Place::Registered { is_mapped };
        let (start, base, asked, total) = (address, address, length, length);
        let block = Block { start, length, asked, place, base, total, lease };
        self.memory.insert_apart(block).map_err(|block| {
            let message =
                format!("some of the {} bytes from {:#x} are known already", block.length, block.start);
            Error::new(AclError::HOST_MEMORY_ALREADY_REGISTERED, message)
        })
    }

    /// Forgets memory of the program's.
    pub(crate) fn unregister_host(&self, address: usize) -> Result<()> {
        if address == 0 {
            return refuse(AclError::INVALID_PARAM, "`ptr` is null");
        }
        match self.memory.take(address, |block| matches!(block.place, Place::Registered { .. })) {
            Some(_) => Ok(()),
            None => not_registered(address),
        }
    }

    /// Where the device reaches host memory: at the same address.
    pub(crate) fn device_pointer_of(&self, address: usize, flag: u32) -> Result<usize> {
        if address == 0 {
            return refuse(AclError::INVALID_PARAM, "`p_host` is null");
        }
        if flag != 0 {
            return refuse(AclError::INVALID_PARAM, format!("`flag` is {flag}; it is reserved and 0"));
        }
        self.context()?;
        match self.memory.find(address) {
            Some(block)
                if !matches!(
                    block.place,
                    Place::Device
                        | Place::Mapped
                        | Place::Managed(_)
                        | Place::Registered { is_mapped: false }
                ) =>
            {
                Ok(address)
            }
            _ => not_registered(address),
        }
    }

    /// Whether a range lies within one allocation of device memory.
    pub(crate) fn expect_device_range(&self, address: usize, size: usize) -> Result<()> {
        if address == 0 {
            return refuse(AclError::INVALID_PARAM, "`dev_ptr` is null");
        }
        if size == 0 {
            return refuse(AclError::INVALID_PARAM, "`size` is 0");
        }
        self.device_range("dev_ptr", address, size).map(drop)
    }

    /// The allocation of device memory that a range lies within.
    pub(crate) fn device_range(&self, param: &str, address: usize, size: usize) -> Result<Arc<Block>> {
        if address == 0 {
            return refuse(AclError::INVALID_PARAM, format!("`{param}` is null"));
        }
        match self.memory.find(address) {
            Some(block) if block.is_device() => fits(param, &block, address, size).map(|()| block),
            _ => Err(self.no_such(param, address)),
        }
    }

    /// What is free and what there is on the current device, in bytes.
    pub(crate) fn memory_info(&self, kind: MemAttr) -> Result<RtGetMemInfo> {
        if kind.name().is_none() {
            return no_such("attr", kind.0);
        }
        let context = self.context()?;
        let stats = context.lease.on(|device, id| device.device_memory_stats(id))?;
        Ok(RtGetMemInfo { free: stats.free_memory, total: stats.total_memory })
    }

    /// What the program holds of a device's memory.
    pub(crate) fn memory_usage(&self, home: &Arc<Home>, places: &mut [MemUsageInfo]) -> Result<usize> {
        let Some(place) = places.first_mut() else {
            return refuse(AclError::INVALID_PARAM, "`input_num` is 0");
        };
        let in_use = home.state().memory.0 as u64;
        let peak = home.state().memory.1 as u64;
        let mut name = [0; 32];
        for (place, byte) in name.iter_mut().zip(b"program") {
            *place = std::ffi::c_char::from_ne_bytes([*byte]);
        }
        *place = MemUsageInfo { name, cur_mem_size: in_use, mem_peak_size: peak, reserved: [0; 8] };
        Ok(1)
    }

    /// What is known of an address.
    pub(crate) fn pointer_attributes(&self, address: usize) -> Result<PtrAttributes> {
        if address == 0 {
            return refuse(AclError::INVALID_PARAM, "`ptr` is null");
        }
        let (id, r#type) = match self.memory.find(address) {
            None => (0, MemLocationType::UNREGISTERED),
            Some(block) if block.is_device() => (block.lease.unit.ordinal, MemLocationType::DEVICE),
            Some(_) => (0, MemLocationType::HOST),
        };
        let page_size = u32::try_from(pages::size()).unwrap_or(u32::MAX);
        Ok(PtrAttributes { location: MemLocation { id, r#type }, page_size, rsv: [0; 4] })
    }

    /// The allocation of device memory around an address.
    pub(crate) fn address_range(&self, address: usize) -> Result<RtMemGetAddressRange> {
        if address == 0 {
            return refuse(AclError::INVALID_PARAM, "`ptr` is null");
        }
        match self.memory.find(address) {
            Some(block) if block.is_device() => {
                Ok(RtMemGetAddressRange { pbase: DevicePtr::from_addr(block.start), psize: block.asked })
            }
            _ => Err(self.no_such("ptr", address)),
        }
    }
}

fn not_registered<T>(address: usize) -> Result<T> {
    refuse(AclError::HOST_MEMORY_NOT_REGISTERED, format!("{address:#x} is not registered, or not for this"))
}
