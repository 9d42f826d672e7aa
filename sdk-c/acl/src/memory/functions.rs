//! The functions of the groups for memory and managed memory.

use tenon::{AnyPtr, DevicePtr, HostPtr, UnifiedPtr};

use super::allocation;
use super::managed;
use super::managed::PrefetchBatch;
use super::registration;
use crate::api::{
    AclError, AclManagedMemory, AclMedia, AclMemory, AclPool, HostRegisterType, MallocConfig, MemAttr,
    MemMallocPolicy, MemManagedAdviseType, MemManagedLocation, MemManagedRangeAttribute, MemPool,
    MemPoolAttr, MemPoolProps, MemUsageInfo, PtrAttributes, RtGetMemInfo, RtMemGetAddressRange, Stream,
};
use crate::error::{Result, refuse};
use crate::runtime::Runtime;

impl AclMemory for Runtime {
    fn rt_malloc(&self, size: usize, policy: MemMallocPolicy) -> Result<DevicePtr> {
        allocation::allocate(&self.state, size, policy, true).map(DevicePtr::from_addr)
    }

    fn rt_malloc_align32(&self, size: usize, policy: MemMallocPolicy) -> Result<DevicePtr> {
        allocation::allocate(&self.state, size, policy, false).map(DevicePtr::from_addr)
    }

    fn rt_malloc_cached(&self, size: usize, policy: MemMallocPolicy) -> Result<DevicePtr> {
        allocation::allocate(&self.state, size, policy, true).map(DevicePtr::from_addr)
    }

    fn rt_malloc_with_cfg(
        &self,
        size: usize,
        policy: MemMallocPolicy,
        _cfg: Option<&[MallocConfig]>,
    ) -> Result<DevicePtr> {
        allocation::allocate(&self.state, size, policy, true).map(DevicePtr::from_addr)
    }

    fn rt_malloc_for_task_scheduler(
        &self,
        size: usize,
        policy: MemMallocPolicy,
        _cfg: Option<&[MallocConfig]>,
    ) -> Result<DevicePtr> {
        allocation::allocate(&self.state, size, policy, true).map(DevicePtr::from_addr)
    }

    fn rt_free(&self, dev_ptr: DevicePtr) -> Result<()> {
        allocation::free(&self.state, dev_ptr.addr(), false)
    }

    fn rt_free_with_dev_sync(&self, dev_ptr: DevicePtr) -> Result<()> {
        allocation::free(&self.state, dev_ptr.addr(), true)
    }

    fn rt_malloc_host(&self, size: usize) -> Result<HostPtr> {
        allocation::allocate_host(&self.state, size as u64).map(HostPtr::from_addr)
    }

    fn rt_malloc_host_with_cfg(&self, size: u64, _cfg: Option<&[MallocConfig]>) -> Result<HostPtr> {
        allocation::allocate_host(&self.state, size).map(HostPtr::from_addr)
    }

    fn rt_free_host(&self, host_ptr: HostPtr) -> Result<()> {
        allocation::free_host(&self.state, host_ptr.addr(), false)
    }

    fn rt_free_host_with_dev_sync(&self, host_ptr: HostPtr) -> Result<()> {
        allocation::free_host(&self.state, host_ptr.addr(), true)
    }

    fn rt_mem_flush(&self, dev_ptr: DevicePtr, size: usize) -> Result<()> {
        registration::expect_device_range(&self.state, dev_ptr.addr(), size)
    }

    fn rt_mem_invalidate(&self, dev_ptr: DevicePtr, size: usize) -> Result<()> {
        registration::expect_device_range(&self.state, dev_ptr.addr(), size)
    }

    fn rt_get_mem_info(&self, attr: MemAttr) -> Result<RtGetMemInfo> {
        registration::memory_info(&self.state, attr)
    }

    fn rt_get_mem_usage_info(&self, device_id: i32, mem_usage_info: &mut [MemUsageInfo]) -> Result<usize> {
        registration::memory_usage(&*self.state.device(device_id)?, mem_usage_info)
    }

    fn rt_pointer_get_attributes(&self, ptr: AnyPtr) -> Result<PtrAttributes> {
        registration::pointer_attributes(&self.state, ptr.addr())
    }

    fn rt_mem_get_address_range(&self, ptr: AnyPtr) -> Result<RtMemGetAddressRange> {
        registration::address_range(&self.state, ptr.addr())
    }

    fn rt_host_register(&self, ptr: AnyPtr, size: u64, r#type: HostRegisterType) -> Result<DevicePtr> {
        registration::register_host_as(&self.state, ptr.addr(), size, r#type)?;
        Ok(DevicePtr::from_addr(ptr.addr()))
    }

    fn rt_host_register_v2(&self, ptr: AnyPtr, size: u64, flag: u32) -> Result<()> {
        registration::register_host_with(&self.state, ptr.addr(), size, flag)
    }

    fn rt_host_get_device_pointer(&self, p_host: AnyPtr, flag: u32) -> Result<DevicePtr> {
        registration::device_pointer_of(&self.state, p_host.addr(), flag).map(DevicePtr::from_addr)
    }

    fn rt_host_unregister(&self, ptr: HostPtr) -> Result<()> {
        registration::unregister_host(&self.state, ptr.addr())
    }
}

impl AclManagedMemory for Runtime {
    fn rt_mem_alloc_managed(&self, size: u64, flag: u32) -> Result<UnifiedPtr> {
        managed::allocate_managed(&self.state, size, flag).map(UnifiedPtr::from_addr)
    }

    fn rt_mem_managed_advise(
        &self,
        ptr: UnifiedPtr,
        size: u64,
        advise: MemManagedAdviseType,
        location: &MemManagedLocation,
    ) -> Result<()> {
        managed::advise(&self.state, ptr.addr(), size, advise, location)
    }

    fn rt_mem_managed_get_attr(
        &self,
        attribute: MemManagedRangeAttribute,
        ptr: UnifiedPtr,
        size: usize,
        data: &mut [u8],
    ) -> Result<()> {
        managed::write_attribute(&self.state, attribute, (ptr.addr(), size), data)
    }

    fn rt_mem_managed_get_attrs(
        &self,
        attributes: &[MemManagedRangeAttribute],
        ptr: UnifiedPtr,
        size: usize,
        data: &[HostPtr],
        data_sizes: &[usize],
    ) -> Result<()> {
        managed::write_attributes(&self.state, attributes, (ptr.addr(), size), data, data_sizes)
    }

    fn rt_mem_managed_prefetch_async(
        &self,
        ptr: UnifiedPtr,
        size: usize,
        location: &MemManagedLocation,
        flags: u32,
        stream: Stream,
    ) -> Result<()> {
        managed::prefetch(&self.state, (ptr.addr(), size), location, flags.into(), stream.addr())
    }

    fn rt_mem_managed_prefetch_batch_async(
        &self,
        ptrs: &[UnifiedPtr],
        sizes: &[usize],
        prefetch_locs: &[MemManagedLocation],
        prefetch_loc_idxs: &[usize],
        flags: u64,
        stream: Stream,
    ) -> Result<()> {
        let batch = PrefetchBatch { ptrs, sizes, locations: prefetch_locs, firsts: prefetch_loc_idxs };
        managed::prefetch_batch(&self.state, batch, flags, stream.addr())
    }
}

impl AclMedia for Runtime {
    fn dvpp_malloc(&self, size: usize) -> Result<DevicePtr> {
        allocation::allocate(&self.state, size, MemMallocPolicy::HUGE_FIRST, true).map(DevicePtr::from_addr)
    }

    fn dvpp_free(&self, dev_ptr: DevicePtr) -> Result<()> {
        allocation::free(&self.state, dev_ptr.addr(), false)
    }
}

impl AclPool for Runtime {
    fn rt_mem_pool_create(&self, pool_props: &[MemPoolProps]) -> Result<MemPool> {
        match pool_props {
            [props] => self.pools.create(&self.state, props).map(MemPool::from_addr),
            _ => refuse(AclError::INVALID_PARAM, "`pool_props` is null"),
        }
    }

    fn rt_mem_pool_destroy(&self, mem_pool: MemPool) -> Result<()> {
        self.pools.destroy(&self.state, mem_pool.addr())
    }

    fn rt_mem_pool_set_attr(&self, mem_pool: MemPool, attr: MemPoolAttr, value: HostPtr) -> Result<()> {
        let width = self.pools.width(attr)?;
        if value.is_null() {
            return refuse(AclError::INVALID_PARAM, "`value` is null");
        }
        let mut bytes = [0; size_of::<u64>()];
        // SAFETY: the interface requires a readable number of this width at `value`, which is not null.
        unsafe { std::ptr::copy_nonoverlapping(value.as_ptr().cast::<u8>(), bytes.as_mut_ptr(), width) };
        self.pools.set_attribute(mem_pool.addr(), attr, u64::from_le_bytes(bytes))
    }

    fn rt_mem_pool_read_attr(&self, mem_pool: MemPool, attr: MemPoolAttr, value: HostPtr) -> Result<()> {
        let (number, width) = self.pools.attribute(mem_pool.addr(), attr)?;
        if value.is_null() {
            return refuse(AclError::INVALID_PARAM, "`value` is null");
        }
        let bytes = number.to_le_bytes();
        // SAFETY: the interface requires room for a number of this width at `value`, which is not null.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), value.as_ptr().cast::<u8>(), width) };
        Ok(())
    }

    fn rt_mem_pool_malloc_async(&self, size: usize, mem_pool: MemPool, stream: Stream) -> Result<DevicePtr> {
        self.pools.allocate(&self.state, size, mem_pool.addr(), stream.addr()).map(DevicePtr::from_addr)
    }

    fn rt_mem_pool_free_async(&self, ptr: DevicePtr, stream: Stream) -> Result<()> {
        self.pools.free(&self.state, ptr.addr(), stream.addr())
    }

    fn rt_mem_pool_trim_to(&self, mem_pool: MemPool, min_bytes_to_keep: usize) -> Result<()> {
        self.pools.trim(&self.state, mem_pool.addr(), min_bytes_to_keep)
    }
}
