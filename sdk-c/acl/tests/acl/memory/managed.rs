//! Tests of managed memory: one address for host and device, and advice.

use tenon::device::Function;
use tenon::{AnyPtr, DevicePtr, HostPtr, UnifiedPtr};
use tenon_acl::api::*;

use crate::test_runtime::{any, distant_runtime, lacking_runtime, ready_runtime, refused, runtime};

const GLOBAL: u32 = 1;
/// Lengths are rounded up to a multiple of this.
const UNIT: usize = 2 << 20;

const HOST: MemManagedLocation = MemManagedLocation { r#type: MemManagedLocationType::HOST, id: 7 };

fn device(id: i32) -> MemManagedLocation {
    MemManagedLocation { r#type: MemManagedLocationType::DEVICE, id }
}

/// Returns an attribute of a range.
fn asked<const COUNT: usize>(
    acl: &impl Acl,
    attribute: MemManagedRangeAttribute,
    (ptr, size): (UnifiedPtr, usize),
) -> [i32; COUNT] {
    let mut room = vec![0xaa; 4 * COUNT];
    acl.rt_mem_managed_get_attr(attribute, ptr, size, &mut room).unwrap();
    std::array::from_fn(|index| i32::from_ne_bytes(room[4 * index..][..4].try_into().unwrap()))
}

fn at(ptr: UnifiedPtr, offset: usize) -> UnifiedPtr {
    ptr.checked_add(offset).unwrap()
}

#[test]
fn host_and_device_use_one_address() {
    for runtime in [runtime(), distant_runtime()] {
        runtime.rt_set_device(0).unwrap();
        let managed = runtime.rt_mem_alloc_managed(1000, GLOBAL).unwrap();
        assert_eq!(managed.addr() % 64, 0);
        let place = AnyPtr::from_addr(managed.addr());
        // SAFETY: it is that long, and no work uses it.
        let bytes = unsafe { HostPtr::from_addr(managed.addr()).bytes_mut(1000) };
        bytes.fill(3);

        let memory = runtime.rt_malloc(1000, MemMallocPolicy::HUGE_FIRST).unwrap();
        let stream = runtime.rt_create_stream().unwrap();
        let inner = MemcpyKind::DEVICE_TO_DEVICE;
        runtime.rt_memcpy_async(any(memory), 1000, place, 1000, inner, stream).unwrap();
        runtime.rt_synchronize_stream(stream).unwrap();
        runtime.rt_memset(place, 1000, 9, 1000).unwrap();
        assert_eq!(bytes, [9; 1000]);
        runtime.rt_memset_async(place, 1000, 5, 500, stream).unwrap();
        runtime.rt_memcpy_async(at_any(place, 500), 500, any(memory), 500, inner, stream).unwrap();
        runtime.rt_synchronize_stream(stream).unwrap();
        assert_eq!((&bytes[..500], &bytes[500..]), (&[5; 500][..], &[3; 500][..]));

        let other = runtime.rt_mem_alloc_managed(1000, GLOBAL).unwrap();
        let other_place = AnyPtr::from_addr(other.addr());
        for kind in [inner, MemcpyKind::DEFAULT] {
            runtime.rt_memset(other_place, 1000, 0, 1000).unwrap();
            runtime.rt_memcpy(other_place, 1000, place, 1000, kind).unwrap();
            runtime.rt_memset(other_place, 1000, 0, 1).unwrap();
            runtime.rt_memcpy_async(other_place, 1000, place, 1, kind, stream).unwrap();
            runtime.rt_synchronize_stream(stream).unwrap();
            // SAFETY: as above.
            assert_eq!(unsafe { HostPtr::from_addr(other.addr()).bytes(1000) }, bytes);
        }
        runtime.rt_free(DevicePtr::from_addr(other.addr())).unwrap();
        runtime.rt_free(DevicePtr::from_addr(managed.addr())).unwrap();
        refused(AclError::RT_PARAM_INVALID, runtime.rt_free(DevicePtr::from_addr(managed.addr())));
        runtime.rt_free(memory).unwrap();
        runtime.rt_reset_device(0).unwrap();
        runtime.end();
    }
}

fn at_any(address: AnyPtr, offset: usize) -> AnyPtr {
    address.checked_add(offset).unwrap()
}

#[test]
fn managed_memory_is_rounded_up_to_units() {
    let runtime = runtime();
    runtime.rt_set_device(1).unwrap();
    let managed = runtime.rt_mem_alloc_managed(UNIT as u64 + 1, GLOBAL).unwrap();
    let place = AnyPtr::from_addr(managed.addr());
    let attributes = runtime.rt_pointer_get_attributes(place).unwrap();
    assert_eq!((attributes.location.r#type, attributes.location.id), (MemLocationType::DEVICE, 1));
    let range = runtime.rt_mem_get_address_range(at_any(place, UNIT)).unwrap();
    assert_eq!((range.pbase.addr(), range.psize), (managed.addr(), UNIT + 1));
    runtime.rt_memset(place, 2 * UNIT, 1, 2 * UNIT).unwrap();
    refused(AclError::RT_PARAM_INVALID, runtime.rt_memset(place, 2 * UNIT + 1, 1, 2 * UNIT + 1));
    refused(
        AclError::HOST_MEMORY_NOT_REGISTERED,
        runtime.rt_host_get_device_pointer(AnyPtr::from_addr(managed.addr()), 0),
    );
    // The reset frees what the program left.
    runtime.rt_reset_device(1).unwrap();
    assert_eq!(runtime.alive(), 0);
    runtime.end();
}

#[test]
fn allocations_are_checked() {
    let runtime = runtime();
    refused(AclError::RT_CONTEXT_NULL, runtime.rt_mem_alloc_managed(8, GLOBAL));
    runtime.rt_set_device(0).unwrap();
    refused(AclError::INVALID_PARAM, runtime.rt_mem_alloc_managed(0, GLOBAL));
    for flag in [0, 2, u32::MAX] {
        refused(AclError::INVALID_PARAM, runtime.rt_mem_alloc_managed(8, flag));
    }
    for size in [65 << 20, isize::MAX as u64, u64::MAX] {
        refused(AclError::RT_MEMORY_ALLOCATION, runtime.rt_mem_alloc_managed(size, GLOBAL));
    }
    runtime.reset_and_end();
}

#[test]
fn device_without_managed_memory_is_refused() {
    let runtime = lacking_runtime(&[Function::UnifiedMemoryAllocate]);
    runtime.rt_set_device(0).unwrap();
    refused(AclError::RT_FEATURE_NOT_SUPPORT, runtime.rt_mem_alloc_managed(8, GLOBAL));
    runtime.rt_reset_device(0).unwrap();
}

#[test]
fn advice_applies_to_its_range() {
    use MemManagedAdviseType as Advise;
    use MemManagedRangeAttribute as Asked;
    let runtime = ready_runtime();
    let ptr = runtime.rt_mem_alloc_managed(4 * UNIT as u64, GLOBAL).unwrap();
    let unit = UNIT as u64;
    let all = (ptr, 4 * UNIT);
    assert_eq!(asked(&*runtime, Asked::READ_MOSTLY, all), [0]);
    assert_eq!(asked(&*runtime, Asked::PREFERRED_LOCATION, all), [-2]);
    assert_eq!(asked(&*runtime, Asked::PREFERRED_LOCATION_TYPE, all), [MemManagedLocationType::INVALID.0]);
    assert_eq!(asked(&*runtime, Asked::ACCESSED_BY, all), [-2, -2]);

    runtime.rt_mem_managed_advise(ptr, 4 * unit, Advise::SET_READ_MOSTLY, &HOST).unwrap();
    assert_eq!(asked(&*runtime, Asked::READ_MOSTLY, all), [1]);
    runtime.rt_mem_managed_advise(at(ptr, UNIT), unit, Advise::UNSET_READ_MOSTLY, &HOST).unwrap();
    assert_eq!(asked(&*runtime, Asked::READ_MOSTLY, all), [0]);
    assert_eq!(asked(&*runtime, Asked::READ_MOSTLY, (ptr, UNIT)), [1]);
    assert_eq!(asked(&*runtime, Asked::READ_MOSTLY, (ptr, UNIT + 1)), [0]);
    assert_eq!(asked(&*runtime, Asked::READ_MOSTLY, (at(ptr, UNIT), UNIT)), [0]);
    assert_eq!(asked(&*runtime, Asked::READ_MOSTLY, (at(ptr, 2 * UNIT), 2 * UNIT)), [1]);

    runtime.rt_mem_managed_advise(ptr, 4 * unit, Advise::SET_PREFERRED_LOCATION, &device(1)).unwrap();
    assert_eq!(asked(&*runtime, Asked::PREFERRED_LOCATION, all), [1]);
    assert_eq!(asked(&*runtime, Asked::PREFERRED_LOCATION_ID, all), [1]);
    assert_eq!(asked(&*runtime, Asked::PREFERRED_LOCATION_TYPE, all), [MemManagedLocationType::DEVICE.0]);
    runtime.rt_mem_managed_advise(ptr, 8, Advise::SET_PREFERRED_LOCATION, &HOST).unwrap();
    assert_eq!(asked(&*runtime, Asked::PREFERRED_LOCATION, all), [-2]);
    assert_eq!(asked(&*runtime, Asked::PREFERRED_LOCATION, (ptr, 8)), [-1]);
    assert_eq!(asked(&*runtime, Asked::PREFERRED_LOCATION_TYPE, (ptr, 8)), [MemManagedLocationType::HOST.0]);
    runtime.rt_mem_managed_advise(ptr, 8, Advise::UNSET_PREFERRED_LOCATION, &HOST).unwrap();
    assert_eq!(asked(&*runtime, Asked::PREFERRED_LOCATION, (ptr, 8)), [-2]);

    runtime.rt_mem_managed_advise(ptr, 4 * unit, Advise::SET_ACCESSED_BY, &device(0)).unwrap();
    runtime.rt_mem_managed_advise(ptr, 4 * unit, Advise::SET_ACCESSED_BY, &HOST).unwrap();
    runtime.rt_mem_managed_advise(ptr, unit, Advise::SET_ACCESSED_BY, &device(1)).unwrap();
    assert_eq!(asked(&*runtime, Asked::ACCESSED_BY, all), [-1, 0, -2]);
    assert_eq!(asked(&*runtime, Asked::ACCESSED_BY, (ptr, UNIT)), [-1, 0, 1, -2]);
    runtime.rt_mem_managed_advise(ptr, 4 * unit, Advise::UNSET_ACCESSED_BY, &HOST).unwrap();
    assert_eq!(asked(&*runtime, Asked::ACCESSED_BY, all), [0, -2]);

    // Another allocation at the same address starts without advice.
    runtime.rt_free(DevicePtr::from_addr(ptr.addr())).unwrap();
    let ptr = runtime.rt_mem_alloc_managed(4 * unit, GLOBAL).unwrap();
    assert_eq!(asked(&*runtime, Asked::PREFERRED_LOCATION, (ptr, 4 * UNIT)), [-2]);
    runtime.reset_and_end();
}

#[test]
fn prefetches_are_stored() {
    use MemManagedRangeAttribute as Asked;
    let runtime = ready_runtime();
    let ptr = runtime.rt_mem_alloc_managed(3 * UNIT as u64, GLOBAL).unwrap();
    let null = Stream::NULL;
    runtime.rt_mem_managed_prefetch_async(ptr, 3 * UNIT, &device(1), 0, null).unwrap();
    assert_eq!(asked(&*runtime, Asked::LAST_PREFETCH_LOCATION, (ptr, 3 * UNIT)), [1]);
    assert_eq!(asked(&*runtime, Asked::LAST_PREFETCH_LOCATION_ID, (ptr, 3 * UNIT)), [1]);
    let [kind] = asked(&*runtime, Asked::LAST_PREFETCH_LOCATION_TYPE, (ptr, 3 * UNIT));
    assert_eq!(kind, MemManagedLocationType::DEVICE.0);

    let ptrs = [ptr, at(ptr, UNIT), at(ptr, 2 * UNIT)];
    let (sizes, places) = ([UNIT; 3], [HOST, device(0)]);
    runtime.rt_mem_managed_prefetch_batch_async(&ptrs, &sizes, &places, &[0, 2], 0, null).unwrap();
    let fetched = ptrs.map(|ptr| asked::<1>(&*runtime, Asked::LAST_PREFETCH_LOCATION, (ptr, UNIT))[0]);
    assert_eq!(fetched, [-1, -1, 0]);

    for firsts in [[1, 2], [0, 0], [0, 3]] {
        let batch = runtime.rt_mem_managed_prefetch_batch_async(&ptrs, &sizes, &places, &firsts, 0, null);
        refused(AclError::INVALID_PARAM, batch);
    }
    let none = runtime.rt_mem_managed_prefetch_batch_async(&[], &[], &places, &[0, 1], 0, null);
    refused(AclError::INVALID_PARAM, none);
    refused(
        AclError::RT_PARAM_INVALID,
        runtime.rt_mem_managed_prefetch_batch_async(&ptrs, &sizes, &places, &[0, 1], 1, null),
    );
    refused(AclError::RT_PARAM_INVALID, runtime.rt_mem_managed_prefetch_async(ptr, 8, &HOST, 1, null));
    let stream = Stream::from_addr(64);
    refused(
        AclError::RT_INVALID_HANDLE,
        runtime.rt_mem_managed_prefetch_async(ptr, 8, &device(1), 0, stream),
    );
    assert_eq!(asked(&*runtime, Asked::LAST_PREFETCH_LOCATION, (ptr, 8)), [-1], "it was refused");
    runtime.reset_and_end();
}

#[test]
fn ranges_locations_and_buffer_sizes_are_checked() {
    use MemManagedAdviseType as Advise;
    use MemManagedRangeAttribute as Asked;
    let runtime = ready_runtime();
    let ptr = runtime.rt_mem_alloc_managed(8, GLOBAL).unwrap();
    let memory = runtime.rt_malloc(8, MemMallocPolicy::HUGE_FIRST).unwrap();
    let advise = |ptr, size, advise, place: &_| runtime.rt_mem_managed_advise(ptr, size, advise, place);
    refused(AclError::INVALID_PARAM, advise(UnifiedPtr::NULL, 8, Advise::SET_READ_MOSTLY, &HOST));
    refused(AclError::INVALID_PARAM, advise(ptr, 0, Advise::SET_READ_MOSTLY, &HOST));
    refused(AclError::INVALID_PARAM, advise(ptr, 8, MemManagedAdviseType(6), &HOST));
    refused(AclError::RT_PARAM_INVALID, advise(ptr, UNIT as u64 + 1, Advise::SET_READ_MOSTLY, &HOST));
    refused(AclError::RT_PARAM_INVALID, advise(ptr, u64::MAX, Advise::SET_READ_MOSTLY, &HOST));
    let other = UnifiedPtr::from_addr(memory.addr());
    refused(AclError::RT_PARAM_INVALID, advise(other, 8, Advise::SET_READ_MOSTLY, &HOST));
    let node = |id| MemManagedLocation { r#type: MemManagedLocationType::HOST_NUMA, id };
    let kind = |kind| MemManagedLocation { r#type: MemManagedLocationType(kind), id: 0 };
    for place in [device(2), device(-1), node(-1), kind(0), kind(5)] {
        refused(AclError::RT_PARAM_INVALID, advise(ptr, 8, Advise::SET_PREFERRED_LOCATION, &place));
        refused(AclError::RT_PARAM_INVALID, advise(ptr, 8, Advise::UNSET_ACCESSED_BY, &place));
        advise(ptr, 8, Advise::UNSET_READ_MOSTLY, &place).unwrap();
    }
    for place in [node(0), kind(MemManagedLocationType::HOST_NUMA_CURRENT.0)] {
        advise(ptr, 8, Advise::SET_PREFERRED_LOCATION, &place).unwrap();
    }

    let mut room = [0; 16];
    for length in [0, 3, 5, 8] {
        let asked = runtime.rt_mem_managed_get_attr(Asked::READ_MOSTLY, ptr, 8, &mut room[..length]);
        refused(AclError::RT_PARAM_INVALID, asked);
    }
    for length in [0, 3, 5] {
        let asked = runtime.rt_mem_managed_get_attr(Asked::ACCESSED_BY, ptr, 8, &mut room[..length]);
        refused(AclError::RT_PARAM_INVALID, asked);
    }
    for attribute in [0, 9] {
        let asked =
            runtime.rt_mem_managed_get_attr(MemManagedRangeAttribute(attribute), ptr, 8, &mut room[..4]);
        refused(AclError::INVALID_PARAM, asked);
    }

    let data = [HostPtr::from_ptr(&raw mut room), HostPtr::from_addr((&raw mut room).addr() + 4)];
    let attributes = [Asked::PREFERRED_LOCATION, Asked::ACCESSED_BY];
    runtime.rt_mem_managed_get_attrs(&attributes, ptr, 8, &data, &[4, 8]).unwrap();
    let numbers: Vec<_> = room.chunks(4).map(|four| i32::from_ne_bytes(four.try_into().unwrap())).collect();
    assert_eq!(numbers, [-1, -2, -2, 0]);
    refused(AclError::INVALID_PARAM, runtime.rt_mem_managed_get_attrs(&[], ptr, 8, &[], &[]));
    let null = [HostPtr::NULL];
    let asked = runtime.rt_mem_managed_get_attrs(&attributes[..1], ptr, 8, &null, &[4]);
    refused(AclError::INVALID_PARAM, asked);
    runtime.reset_and_end();
}
