//! What addresses are, and what devices do with memory that is not their own.

use std::ffi::CStr;

use tenon::AnyPtr;

use crate::api::{
    AclError, AtomicOperation, HacType, HostMemMapCapability, IpcMemAttrType, MemAccessDesc, MemAccessFlags,
    MemKind, ServerPid,
};
use crate::error::{Result, refuse};
use crate::info::no_such;
use crate::runtime::Runtime;

impl Runtime {
    /// Whether every address is of one of these kinds.
    pub(crate) fn are_of_kinds(&self, addresses: &[AnyPtr], kinds: u32, reserve: u32) -> Result<bool> {
        if addresses.is_empty() {
            return refuse(AclError::INVALID_PARAM, "`size` is 0");
        }
        let [dev, dvpp, rsvd] =
            [MemKind::DEV, MemKind::DVPP, MemKind::RSVD].map(|kind| kind.0.cast_unsigned());
        if kinds == 0 || kinds & !(dev | dvpp | rsvd) != 0 || reserve != 0 {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!(
                    "`mem_type` is {kinds:#x}, which is no set of kinds, or `reserve` is {reserve} and not 0"
                ),
            );
        }
        Ok(addresses.iter().all(|address| {
            let address = address.addr();
            let is_device =
                || self.memory.find(address).is_some_and(|block| block.is_device() && !block.is_mapped());
            (kinds & dev != 0 && is_device())
                || (kinds & rsvd != 0 && self.virtual_memory.is_reserved(address))
        }))
    }

    /// Whether a part of a device reaches registered host memory: all of it does.
    pub(crate) fn reaches_host(&self, device: u32, part: HacType) -> Result<HostMemMapCapability> {
        self.home(device.into())?;
        match part.name() {
            Some(_) => Ok(HostMemMapCapability::SUPPORTED),
            None => no_such("hac_type", part.0),
        }
    }

    /// Writes down on what such changes of another memory work: on nothing that could be relied on.
    pub(crate) fn write_atomics(
        &self,
        devices: &[i32],
        operations: &[AtomicOperation],
        answers: &mut [u32],
    ) -> Result<()> {
        for device in devices {
            self.home((*device).into())?;
        }
        if operations.is_empty() {
            return refuse(AclError::INVALID_PARAM, "`count` is 0");
        }
        if let Some(operation) = operations.iter().find(|operation| operation.name().is_none()) {
            return no_such("operations", operation.0);
        }
        answers.fill(0);
        Ok(())
    }

    /// Maps physical memory that nobody may use yet.
    pub(crate) fn map_without_access(
        &self,
        address: usize,
        size: usize,
        offset: usize,
        handle: usize,
        flags: u64,
    ) -> Result<()> {
        self.map(address, size, offset, handle, flags)?;
        let location = self.virtual_memory.piece(handle)?.prop.location;
        let desc = MemAccessDesc { flags: MemAccessFlags::NONE, location, rsv: [0; 12] };
        self.virtual_memory.set_access(address, size, &desc)
    }

    /// Checks what is set of shared memory; there is nothing more to do.
    pub(crate) fn set_shared_attribute(
        &self,
        key: &CStr,
        attribute: IpcMemAttrType,
        value: u64,
    ) -> Result<()> {
        self.expect_shared(key)?;
        if attribute.name().is_none() {
            return no_such("type", attribute.0);
        }
        if value > 1 {
            return refuse(AclError::RT_PARAM_INVALID, format!("`attr` is {value}; it is 0 or 1"));
        }
        Ok(())
    }
}

/// Whether machines are listed that may use something.
pub(crate) fn expect_servers(servers: &[ServerPid]) -> Result<()> {
    if servers.is_empty() {
        return refuse(AclError::INVALID_PARAM, "`num` is 0");
    }
    Ok(())
}
