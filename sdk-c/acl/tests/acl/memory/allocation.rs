//! Tests of allocations and of the attributes of addresses.

use tenon::{AnyPtr, DevicePtr, HostPtr};
use tenon_acl::api::*;

use crate::test_runtime::{Hold, Thread, any, ready_runtime, refused, runtime};

const HUGE_FIRST: MemMallocPolicy = MemMallocPolicy::HUGE_FIRST;

#[test]
fn allocations_are_aligned_and_rounded_up() {
    let runtime = ready_runtime();
    for size in [1, 31, 32, 33, 1000, 1 << 20] {
        let memory = runtime.rt_malloc(size, HUGE_FIRST).unwrap();
        assert_eq!(memory.addr() % 64, 0);
        // Up to a multiple of 32, and 32 bytes more.
        let room = size.next_multiple_of(32) + 32;
        runtime.rt_memset(any(memory), room, 1, room).unwrap();
        refused(AclError::RT_PARAM_INVALID, runtime.rt_memset(any(memory), room + 1, 1, room + 1));
        let range = runtime.rt_mem_get_address_range(AnyPtr::from_addr(memory.addr() + size - 1)).unwrap();
        assert_eq!((range.pbase, range.psize), (memory, size));
        runtime.rt_free(memory).unwrap();
        let plain = runtime.rt_malloc_align32(size, HUGE_FIRST).unwrap();
        let room = size.next_multiple_of(32);
        runtime.rt_memset(any(plain), room, 1, room).unwrap();
        refused(AclError::RT_PARAM_INVALID, runtime.rt_memset(any(plain), room + 1, 1, room + 1));
        runtime.rt_free(plain).unwrap();
    }
    runtime.reset_and_end();
}

#[test]
fn sizes_and_policies_are_checked() {
    let runtime = ready_runtime();
    refused(AclError::INVALID_PARAM, runtime.rt_malloc(0, HUGE_FIRST));
    refused(AclError::INVALID_PARAM, runtime.rt_malloc_host(0));
    refused(AclError::INVALID_PARAM, runtime.rt_malloc(8, MemMallocPolicy(99)));
    refused(AclError::RT_MEMORY_ALLOCATION, runtime.rt_malloc(65 << 20, HUGE_FIRST));
    for size in [usize::MAX, usize::MAX - 40, isize::MAX as usize] {
        refused(AclError::RT_MEMORY_ALLOCATION, runtime.rt_malloc(size, HUGE_FIRST));
        refused(AclError::RT_MEMORY_ALLOCATION, runtime.rt_malloc_host(size));
    }
    for policy in [0, 1, 2, 3, 4, 5, 6, 7, 0x100, 0x1000] {
        let memory = runtime.rt_malloc(8, MemMallocPolicy(policy)).unwrap();
        runtime.rt_free(memory).unwrap();
    }
    runtime.reset_and_end();
}

#[test]
fn invalid_free_is_refused() {
    let runtime = ready_runtime();
    refused(AclError::INVALID_PARAM, runtime.rt_free(DevicePtr::NULL));
    refused(AclError::INVALID_PARAM, runtime.rt_free_host(HostPtr::NULL));
    let memory = runtime.rt_malloc(64, HUGE_FIRST).unwrap();
    let host = runtime.rt_malloc_host(64).unwrap();
    let inside =
        refused(AclError::RT_PARAM_INVALID, runtime.rt_free(DevicePtr::from_addr(memory.addr() + 8)));
    assert!(inside.contains("8 bytes inside"), "{inside}");
    let wrong = refused(AclError::RT_PARAM_INVALID, runtime.rt_free(DevicePtr::from_addr(host.addr())));
    assert!(wrong.contains("aclrtFreeHost"), "{wrong}");
    let wrong = refused(AclError::RT_PARAM_INVALID, runtime.rt_free_host(HostPtr::from_addr(memory.addr())));
    assert!(wrong.contains("`aclrtFree`"), "{wrong}");
    runtime.rt_free(memory).unwrap();
    refused(AclError::RT_PARAM_INVALID, runtime.rt_free(memory));
    runtime.rt_free_host(host).unwrap();
    refused(AclError::RT_PARAM_INVALID, runtime.rt_free_host(host));
    runtime.reset_and_end();
}

#[test]
fn memory_info_of_a_device() {
    let runtime = ready_runtime();
    let info = runtime.rt_get_mem_info(MemAttr::HBM).unwrap();
    assert_eq!((info.free, info.total), (64 << 20, 64 << 20));
    let memory = runtime.rt_malloc(1 << 20, HUGE_FIRST).unwrap();
    let less = runtime.rt_get_mem_info(MemAttr::DDR_NORMAL).unwrap();
    assert!(less.free <= info.free - (1 << 20) && less.total == info.total);
    refused(AclError::INVALID_PARAM, runtime.rt_get_mem_info(MemAttr(40)));
    let empty = MemUsageInfo { name: [0; 32], cur_mem_size: 0, mem_peak_size: 0, reserved: [0; 8] };
    let mut usage = [empty; 2];
    assert_eq!(runtime.rt_get_mem_usage_info(0, &mut usage).unwrap(), 1);
    assert_eq!(usage[0].cur_mem_size, (1 << 20) + 32);
    runtime.rt_free(memory).unwrap();
    runtime.rt_get_mem_usage_info(0, &mut usage).unwrap();
    assert_eq!((usage[0].cur_mem_size, usage[0].mem_peak_size), (0, (1 << 20) + 32));
    refused(AclError::INVALID_PARAM, runtime.rt_get_mem_usage_info(0, &mut []));
    runtime.reset_and_end();
}

#[test]
fn pointer_attributes_of_each_kind() {
    let runtime = runtime();
    runtime.rt_set_device(1).unwrap();
    let memory = runtime.rt_malloc(64, HUGE_FIRST).unwrap();
    let host = runtime.rt_malloc_host(64).unwrap();
    let mut own = [0u8; 64];
    let place = |address: AnyPtr| {
        let location = runtime.rt_pointer_get_attributes(address).unwrap().location;
        (location.id, location.r#type)
    };
    assert_eq!(place(AnyPtr::from_addr(memory.addr() + 20)), (1, MemLocationType::DEVICE));
    assert_eq!(place(any(host)), (0, MemLocationType::HOST));
    assert_eq!(place(any(&mut own[..])), (0, MemLocationType::UNREGISTERED));
    refused(AclError::INVALID_PARAM, runtime.rt_pointer_get_attributes(AnyPtr::NULL));
    runtime.rt_mem_flush(memory, 64).unwrap();
    runtime.rt_mem_invalidate(memory, 64).unwrap();
    refused(AclError::RT_PARAM_INVALID, runtime.rt_mem_flush(memory, 97));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_mem_flush(DevicePtr::from_addr(host.addr()), 8));
    refused(AclError::INVALID_PARAM, runtime.rt_mem_invalidate(memory, 0));
    runtime.rt_free(memory).unwrap();
    assert_eq!(place(any(memory)), (0, MemLocationType::UNREGISTERED));
    runtime.rt_free_host(host).unwrap();
    runtime.rt_reset_device(1).unwrap();
    runtime.end();
}

#[test]
fn host_memory_can_be_registered() {
    let runtime = ready_runtime();
    let mut own = vec![5u8; 4096];
    let start = any(&mut own[..]);
    let inside = AnyPtr::from_addr(start.addr() + 100);
    let kind = HostRegisterType::MAPPED;
    refused(AclError::INVALID_PARAM, runtime.rt_host_register(AnyPtr::NULL, 1, kind));
    refused(AclError::INVALID_PARAM, runtime.rt_host_register(start, 0, kind));
    refused(AclError::INVALID_PARAM, runtime.rt_host_register(start, 4096, HostRegisterType(3)));
    refused(AclError::HOST_MEMORY_NOT_REGISTERED, runtime.rt_host_get_device_pointer(start, 0));
    let device = runtime.rt_host_register(start, 4096, kind).unwrap();
    refused(AclError::HOST_MEMORY_ALREADY_REGISTERED, runtime.rt_host_register(inside, 8, kind));
    assert_eq!(runtime.rt_host_get_device_pointer(inside, 0).unwrap().addr(), device.addr() + 100);
    refused(AclError::INVALID_PARAM, runtime.rt_host_get_device_pointer(inside, 1));
    assert_eq!(runtime.rt_pointer_get_attributes(inside).unwrap().location.r#type, MemLocationType::HOST);
    refused(AclError::RT_PARAM_INVALID, runtime.rt_free_host(HostPtr::from_addr(start.addr())));
    let memory = runtime.rt_malloc(4096, HUGE_FIRST).unwrap();
    let copy = MemcpyKind::HOST_TO_DEVICE;
    runtime.rt_memcpy_async(any(memory), 4096, start, 4096, copy, Stream::NULL).unwrap();
    runtime.rt_synchronize_stream(Stream::NULL).unwrap();
    refused(
        AclError::HOST_MEMORY_NOT_REGISTERED,
        runtime.rt_host_unregister(HostPtr::from_addr(inside.addr())),
    );
    runtime.rt_host_unregister(HostPtr::from_addr(start.addr())).unwrap();
    refused(
        AclError::HOST_MEMORY_NOT_REGISTERED,
        runtime.rt_host_unregister(HostPtr::from_addr(start.addr())),
    );
    refused(AclError::INVALID_PARAM, runtime.rt_host_register_v2(start, 4096, 0));
    runtime.rt_host_register_v2(start, 4096, 0x1000_0000).unwrap();
    refused(AclError::HOST_MEMORY_NOT_REGISTERED, runtime.rt_host_get_device_pointer(start, 0));
    runtime.rt_host_unregister(HostPtr::from_addr(start.addr())).unwrap();
    let mut back = vec![0u8; 4096];
    runtime.rt_memcpy(any(&mut back[..]), 4096, any(memory), 4096, MemcpyKind::DEVICE_TO_HOST).unwrap();
    assert_eq!(back, own);
    runtime.rt_free(memory).unwrap();
    runtime.reset_and_end();
}

#[test]
fn free_with_synchronize_waits_for_the_device() {
    let runtime = ready_runtime();
    let context = runtime.rt_get_current_context().unwrap();
    let stream = runtime.rt_create_stream().unwrap();
    let memory = runtime.rt_malloc(64, HUGE_FIRST).unwrap();
    let host = runtime.rt_malloc_host(64).unwrap();
    let hold = Hold::on(&runtime, stream);
    runtime.rt_memset_async(any(memory), 64, 1, 64, stream).unwrap();
    runtime.rt_memcpy_async(any(host), 64, any(memory), 64, MemcpyKind::DEFAULT, stream).unwrap();
    let (acl, thread) = (runtime.shared(), Thread::start());
    let freed = thread.begin(move || {
        acl.rt_set_current_context(context).unwrap();
        acl.rt_free_with_dev_sync(memory).unwrap();
        acl.rt_free_host_with_dev_sync(host).unwrap();
    });
    assert!(freed.try_recv().is_err());
    hold.open();
    freed.recv().unwrap();
    runtime.rt_synchronize_stream(stream).unwrap();
    thread.end();
    runtime.reset_and_end();
}
