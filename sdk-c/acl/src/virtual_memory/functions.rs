//! The functions of the groups for memory access, virtual memory and sharing.

use std::ffi::CStr;

use tenon::{AnyPtr, DevicePtr, HostPtr};

use super::capabilities;
use super::mappings;
use super::sharing;
use crate::api::{
    AclIpc, AclMemoryAccess, AclVirtualMemory, AtomicOperation, DrvMemHandle, HacType, HostMemMapCapability,
    IpcMemAttrType, MemAccessDesc, MemAccessFlags, MemGranularityOptions, MemHandleType, MemLocation,
    MemSharedHandleType, Notify, PhysicalMemProp, ServerPid, Stream,
};
use crate::error::Result;
use crate::error::only;
use crate::memory::value;
use crate::notify::notify_table;
use crate::notify::notify_table::NotifyKind;
use crate::runtime::Runtime;

impl AclMemoryAccess for Runtime {
    fn rt_check_mem_type(&self, addr_list: &[AnyPtr], mem_type: u32, reserve: u32) -> Result<u32> {
        let are_of_kinds =
            capabilities::are_of_kinds(&self.state, &self.virtual_memory, addr_list, mem_type, reserve);
        are_of_kinds.map(u32::from)
    }

    fn rt_host_mem_map_capabilities(
        &self,
        device_id: u32,
        hac_type: HacType,
    ) -> Result<HostMemMapCapability> {
        capabilities::host_mapping(&self.state, device_id, hac_type)
    }

    fn rt_device_get_host_atomic_capabilities(
        &self,
        capabilities: &mut [u32],
        operations: &[AtomicOperation],
        device_id: i32,
    ) -> Result<()> {
        capabilities::write_atomics(&self.state, &[device_id], operations, capabilities)
    }

    fn rt_device_get_p2p_atomic_capabilities(
        &self,
        capabilities: &mut [u32],
        operations: &[AtomicOperation],
        src_device_id: i32,
        dst_device_id: i32,
    ) -> Result<()> {
        capabilities::write_atomics(&self.state, &[src_device_id, dst_device_id], operations, capabilities)
    }

    fn rt_reserve_mem_address_no_uc_memory(
        &self,
        size: usize,
        alignment: usize,
        expect_ptr: AnyPtr,
        flags: u64,
    ) -> Result<AnyPtr> {
        self.virtual_memory
            .reserve(&self.state, size, alignment, expect_ptr.addr(), flags)
            .map(AnyPtr::from_addr)
    }

    fn rt_mem_map_no_access(
        &self,
        vir_ptr: AnyPtr,
        size: usize,
        offset: usize,
        handle: DrvMemHandle,
        flags: u64,
    ) -> Result<()> {
        let (address, handle) = (vir_ptr.addr(), handle.addr());
        self.virtual_memory.map(&self.state, address, size, offset, handle, flags)?;
        let location = self.virtual_memory.physical(handle)?.prop.location;
        let desc = MemAccessDesc { flags: MemAccessFlags::NONE, location, rsv: [0; 12] };
        self.virtual_memory.set_access(address, size, &desc)
    }

    fn rt_ipc_mem_set_attr(&self, key: &CStr, r#type: IpcMemAttrType, attr: u64) -> Result<()> {
        self.shared_memory.set_attribute(&self.state, key, r#type, attr)
    }

    fn rt_ipc_mem_import_pid_inter_server(&self, key: &CStr, server_pids: &[ServerPid]) -> Result<()> {
        self.shared_memory.expect(&self.state, key)?;
        capabilities::expect_servers(server_pids)
    }

    fn rt_notify_set_import_pid_inter_server(&self, notify: Notify, server_pids: &[ServerPid]) -> Result<()> {
        self.notifies.get(NotifyKind::Flag, notify.addr())?;
        capabilities::expect_servers(server_pids)
    }
}

impl AclVirtualMemory for Runtime {
    fn rt_reserve_mem_address(
        &self,
        size: usize,
        alignment: usize,
        expect_ptr: AnyPtr,
        flags: u64,
    ) -> Result<AnyPtr> {
        self.virtual_memory
            .reserve(&self.state, size, alignment, expect_ptr.addr(), flags)
            .map(AnyPtr::from_addr)
    }

    fn rt_release_mem_address(&self, vir_ptr: AnyPtr) -> Result<()> {
        self.virtual_memory.release(vir_ptr.addr())
    }

    fn rt_malloc_physical(&self, size: usize, prop: &[PhysicalMemProp], flags: u64) -> Result<DrvMemHandle> {
        self.virtual_memory
            .allocate_physical(&self.state, size, only("prop", prop)?, flags)
            .map(DrvMemHandle::from_addr)
    }

    fn rt_free_physical(&self, handle: DrvMemHandle) -> Result<()> {
        self.virtual_memory.free(handle.addr())
    }

    fn rt_map_mem(
        &self,
        vir_ptr: AnyPtr,
        size: usize,
        offset: usize,
        handle: DrvMemHandle,
        flags: u64,
    ) -> Result<()> {
        self.virtual_memory.map(&self.state, vir_ptr.addr(), size, offset, handle.addr(), flags)
    }

    fn rt_unmap_mem(&self, vir_ptr: AnyPtr) -> Result<()> {
        self.virtual_memory.unmap(&self.state, vir_ptr.addr())
    }

    fn rt_mem_get_allocation_granularity(
        &self,
        prop: &[PhysicalMemProp],
        option: MemGranularityOptions,
    ) -> Result<usize> {
        mappings::granularity(&self.state, only("prop", prop)?, option)
    }

    fn rt_mem_set_access(&self, vir_ptr: AnyPtr, size: usize, desc: &[MemAccessDesc]) -> Result<()> {
        self.virtual_memory.set_access(vir_ptr.addr(), size, only("desc", desc)?)
    }

    fn rt_mem_get_access(&self, vir_ptr: AnyPtr, location: &[MemLocation]) -> Result<u64> {
        self.virtual_memory.access(vir_ptr.addr(), only("location", location)?)
    }

    fn rt_mem_retain_allocation_handle(&self, vir_ptr: AnyPtr) -> Result<DrvMemHandle> {
        self.virtual_memory.retain(vir_ptr.addr()).map(DrvMemHandle::from_addr)
    }

    fn rt_mem_get_allocation_properties_from_handle(&self, handle: DrvMemHandle) -> Result<PhysicalMemProp> {
        self.virtual_memory.physical(handle.addr()).map(|memory| memory.prop)
    }
}

impl AclIpc for Runtime {
    fn rt_mem_export_to_shareable_handle(
        &self,
        handle: DrvMemHandle,
        handle_type: MemHandleType,
        flags: u64,
    ) -> Result<u64> {
        sharing::expect_handle_type(handle_type)?;
        self.virtual_memory.export(handle.addr(), flags)
    }

    fn rt_mem_import_from_shareable_handle(
        &self,
        shareable_handle: u64,
        device_id: i32,
    ) -> Result<DrvMemHandle> {
        let device = self.state.device(device_id)?.ordinal;
        self.virtual_memory.import(&self.state, shareable_handle, device).map(DrvMemHandle::from_addr)
    }

    fn rt_mem_set_pid_to_shareable_handle(&self, shareable_handle: u64, pid: &[i32]) -> Result<()> {
        let memory = self.virtual_memory.exported(shareable_handle)?;
        notify_table::expect_processes(pid, "pid_num")?;
        memory.file.allow(pid)
    }

    fn rt_mem_export_to_shareable_handle_v2(
        &self,
        handle: DrvMemHandle,
        flags: u64,
        share_type: MemSharedHandleType,
        shareable_handle: HostPtr,
    ) -> Result<()> {
        let place = sharing::number_address(share_type, shareable_handle)?;
        let number = self.virtual_memory.export(handle.addr(), flags)?;
        // SAFETY: the caller promises a location for a number.
        unsafe { place.write_unaligned(number) };
        Ok(())
    }

    fn rt_mem_import_from_shareable_handle_v2(
        &self,
        shareable_handle: HostPtr,
        share_type: MemSharedHandleType,
        flags: u64,
    ) -> Result<DrvMemHandle> {
        sharing::expect_flags(flags)?;
        // SAFETY: the caller promises a number.
        let number = unsafe { sharing::number_address(share_type, shareable_handle)?.read_unaligned() };
        let device = self.state.current_device()?.ordinal;
        self.virtual_memory.import(&self.state, number, device).map(DrvMemHandle::from_addr)
    }

    fn rt_mem_set_pid_to_shareable_handle_v2(
        &self,
        shareable_handle: HostPtr,
        share_type: MemSharedHandleType,
        pid: &[i32],
    ) -> Result<()> {
        // SAFETY: the caller promises a number.
        let number = unsafe { sharing::number_address(share_type, shareable_handle)?.read_unaligned() };
        self.rt_mem_set_pid_to_shareable_handle(number, pid)
    }

    fn rt_ipc_mem_get_export_key(
        &self,
        dev_ptr: DevicePtr,
        size: usize,
        key: &mut [u8],
        flags: u64,
    ) -> Result<()> {
        self.shared_memory.export(&self.state, &self.virtual_memory, (dev_ptr.addr(), size), key, flags)
    }

    fn rt_ipc_mem_set_import_pid(&self, key: &CStr, pid: &[i32]) -> Result<()> {
        self.shared_memory.expect(&self.state, key)?;
        notify_table::expect_processes(pid, "num")?;
        self.shared_memory.allow(&self.state, key, pid)
    }

    fn rt_ipc_mem_import_by_key(&self, key: &CStr, flags: u64) -> Result<AnyPtr> {
        self.shared_memory.import(&self.state, key, flags).map(AnyPtr::from_addr)
    }

    fn rt_ipc_mem_close(&self, key: &CStr) -> Result<()> {
        self.shared_memory.close(&self.state, key)
    }

    fn rt_value_write(&self, dev_addr: AnyPtr, value: u64, flag: u32, stream: Stream) -> Result<()> {
        value::write_value(&self.state, dev_addr.addr(), value, flag, stream.addr())
    }

    fn rt_value_wait(&self, dev_addr: AnyPtr, value: u64, flag: u32, stream: Stream) -> Result<()> {
        value::wait_value(&self.state, dev_addr.addr(), value, flag, stream.addr())
    }
}
