//! Tests of values in memory that order streams, of reductions, and of copies with descriptors.

use tenon::{AnyPtr, DevicePtr, HostPtr};
use tenon_acl::api::*;

use crate::test_runtime::{Hold, TestRuntime, distant_runtime, physical_of, ready_runtime, refused, runtime};

/// Allocates device memory with these bytes.
fn device_memory<T: Copy>(runtime: &TestRuntime, content: &[T]) -> DevicePtr {
    let bytes = size_of_val(content);
    let memory = runtime.rt_malloc(bytes, MemMallocPolicy::HUGE_FIRST).unwrap();
    let (dst, src) = (AnyPtr::from_addr(memory.addr()), AnyPtr::from_ptr(content.as_ptr()));
    runtime.rt_memcpy(dst, bytes, src, bytes, MemcpyKind::HOST_TO_DEVICE).unwrap();
    memory
}

/// Reads device memory.
fn read<T: Copy + Default>(runtime: &TestRuntime, memory: DevicePtr, count: usize) -> Vec<T> {
    let mut content = vec![T::default(); count];
    let bytes = size_of::<T>() * count;
    let (dst, src) = (AnyPtr::from_ptr(content.as_mut_ptr()), AnyPtr::from_addr(memory.addr()));
    runtime.rt_memcpy(dst, bytes, src, bytes, MemcpyKind::DEVICE_TO_HOST).unwrap();
    content
}

fn any(memory: DevicePtr, offset: usize) -> AnyPtr {
    AnyPtr::from_addr(memory.addr() + offset)
}

#[test]
fn stream_waits_for_a_value_that_another_writes() {
    let runtime = ready_runtime();
    let memory = device_memory(&runtime, &[0u64; 2]);
    let (first, second) = (runtime.rt_create_stream().unwrap(), runtime.rt_create_stream().unwrap());
    let hold = Hold::on(&runtime, first);
    runtime.rt_value_write(any(memory, 8), 7, 0, first).unwrap();
    runtime.rt_value_wait(any(memory, 8), 7, 1, second).unwrap();
    runtime.rt_value_write(any(memory, 0), 9, 0, second).unwrap();
    refused(AclError::RT_STREAM_SYNC_TIMEOUT, runtime.rt_synchronize_stream_with_timeout(second, 20));
    assert_eq!(read::<u64>(&runtime, memory, 2), [0, 0], "neither has come to its write");
    hold.open();
    runtime.rt_synchronize_stream(second).unwrap();
    assert_eq!(read::<u64>(&runtime, memory, 2), [9, 7]);
    runtime.rt_synchronize_stream(first).unwrap();
    runtime.rt_free(memory).unwrap();
    runtime.rt_destroy_stream(first).unwrap();
    runtime.rt_destroy_stream(second).unwrap();
    runtime.reset_and_end();
}

#[test]
fn wait_for_a_value_ends_with_its_stream() {
    let runtime = ready_runtime();
    let memory = device_memory(&runtime, &[0u64]);
    let stream = runtime.rt_create_stream().unwrap();
    runtime.rt_value_wait(any(memory, 0), 1, 0, stream).unwrap();
    refused(AclError::RT_STREAM_SYNC_TIMEOUT, runtime.rt_synchronize_stream_with_timeout(stream, 20));
    runtime.rt_destroy_stream_force(stream).unwrap();
    runtime.rt_free(memory).unwrap();
    runtime.reset_and_end();
}

#[test]
fn value_must_be_aligned_within_an_allocation() {
    let runtime = ready_runtime();
    let memory = device_memory(&runtime, &[0u64; 8]);
    refused(AclError::INVALID_PARAM, runtime.rt_value_write(AnyPtr::NULL, 0, 0, Stream::NULL));
    refused(AclError::RT_ADDR_UNALIGNED, runtime.rt_value_write(any(memory, 4), 0, 0, Stream::NULL));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_value_write(any(memory, 96), 0, 0, Stream::NULL));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_value_write(any(memory, 0), 0, 1, Stream::NULL));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_value_wait(any(memory, 0), 0, 4, Stream::NULL));
    let own = 0u64;
    refused(
        AclError::RT_PARAM_INVALID,
        runtime.rt_value_wait(AnyPtr::from_ptr(&raw const own), 0, 0, Stream::NULL),
    );
    runtime.rt_free(memory).unwrap();
    runtime.reset_and_end();
}

#[test]
fn reductions_run_in_stream_order() {
    let runtime = ready_runtime();
    let stream = runtime.rt_create_stream().unwrap();
    let (dst, src) =
        (device_memory(&runtime, &[1.0f32, 2.0, 3.0]), device_memory(&runtime, &[0.5f32, 9.0, -1.0]));
    let reduce =
        |kind, count| runtime.rt_reduce_async(dst, src, count, kind, DataType::FLOAT, stream, AnyPtr::NULL);
    let hold = Hold::on(&runtime, stream);
    reduce(ReduceKind::SUM, 12).unwrap();
    reduce(ReduceKind::MAX, 12).unwrap();
    reduce(ReduceKind::MIN, 4).unwrap();
    assert_eq!(read::<f32>(&runtime, dst, 3), [1.0, 2.0, 3.0], "it runs before the stream comes to it");
    hold.open();
    runtime.rt_synchronize_stream(stream).unwrap();
    assert_eq!(read::<f32>(&runtime, dst, 3), [0.5, 11.0, 2.0]);
    refused(AclError::RT_PARAM_INVALID, reduce(ReduceKind::SUM, 6));
    refused(AclError::RT_PARAM_INVALID, reduce(ReduceKind::SUM, 4096));
    refused(AclError::RT_FEATURE_NOT_SUPPORT, reduce(ReduceKind::EQUAL, 12));
    let doubles =
        runtime.rt_reduce_async(dst, src, 8, ReduceKind::SUM, DataType::DOUBLE, stream, AnyPtr::NULL);
    refused(AclError::RT_FEATURE_NOT_SUPPORT, doubles);
    for memory in [dst, src] {
        runtime.rt_free(memory).unwrap();
    }
    runtime.rt_destroy_stream(stream).unwrap();
    runtime.reset_and_end();
}

#[test]
fn copy_descriptor_is_copied_each_time_it_is_queued() {
    let runtime = ready_runtime();
    let inner = MemcpyKind::INNER_DEVICE_TO_DEVICE;
    let size = runtime.rt_get_memcpy_desc_size(inner).unwrap();
    refused(AclError::RT_FEATURE_NOT_SUPPORT, runtime.rt_get_memcpy_desc_size(MemcpyKind::HOST_TO_DEVICE));
    let desc = device_memory(&runtime, &vec![0u8; size]);
    let (src, dst) = (device_memory(&runtime, &[1u32, 2]), device_memory(&runtime, &[0u32, 0]));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_memcpy_async_with_desc(desc, inner, Stream::NULL));
    runtime.rt_set_memcpy_desc(desc, inner, src, dst, 8, AnyPtr::NULL).unwrap();
    for numbers in [[1u32, 2], [3, 4]] {
        let (to, from) = (AnyPtr::from_addr(src.addr()), AnyPtr::from_ptr(numbers.as_ptr()));
        runtime.rt_memcpy(to, 8, from, 8, MemcpyKind::HOST_TO_DEVICE).unwrap();
        runtime.rt_memcpy_async_with_desc(desc, inner, Stream::NULL).unwrap();
        runtime.rt_synchronize_stream(Stream::NULL).unwrap();
        assert_eq!(read::<u32>(&runtime, dst, 2), numbers);
    }
    refused(
        AclError::RT_PARAM_INVALID,
        runtime.rt_set_memcpy_desc(desc, inner, src, dst, 4096, AnyPtr::NULL),
    );
    runtime.rt_free(dst).unwrap();
    let stale = runtime.rt_memcpy_async_with_desc(desc, inner, Stream::NULL);
    assert!(refused(AclError::RT_PARAM_INVALID, stale).contains("the destination in `desc`"));
    for memory in [desc, src] {
        runtime.rt_free(memory).unwrap();
    }
    runtime.reset_and_end();
}

#[test]
fn memory_is_found_by_its_key_until_it_is_closed_or_freed() {
    let runtime = ready_runtime();
    let memory = device_memory(&runtime, &[1u8; 100]);
    let mut room = [0xffu8; 65];
    runtime.rt_ipc_mem_get_export_key(memory, 100, &mut room, 0).unwrap();
    let key = std::ffi::CStr::from_bytes_until_nul(&room).unwrap().to_owned();
    runtime.rt_ipc_mem_set_import_pid(&key, &[1, 2]).unwrap();
    refused(AclError::INVALID_PARAM, runtime.rt_ipc_mem_set_import_pid(&key, &[]));
    assert_eq!(runtime.rt_ipc_mem_import_by_key(&key, 1).unwrap().addr(), memory.addr());
    runtime.rt_ipc_mem_close(&key).unwrap();
    runtime.rt_ipc_mem_close(&key).unwrap();
    refused(AclError::RT_PARAM_INVALID, runtime.rt_ipc_mem_import_by_key(&key, 0));
    runtime.rt_ipc_mem_get_export_key(memory, 100, &mut room, 0).unwrap();
    refused(AclError::RT_PARAM_INVALID, runtime.rt_ipc_mem_get_export_key(memory, 1000, &mut room, 0));
    refused(AclError::INVALID_PARAM, runtime.rt_ipc_mem_get_export_key(memory, 1, &mut room[..64], 0));
    runtime.rt_free(memory).unwrap();
    refused(AclError::RT_PARAM_INVALID, runtime.rt_ipc_mem_import_by_key(&key, 0));
    runtime.reset_and_end();
}

#[test]
fn physical_memory_is_mapped_extended_and_freed() {
    let runtime = ready_runtime();
    let prop = physical_of(0, MemAttr::HBM_HUGE);
    let location = prop.location;
    let page = runtime.rt_mem_get_allocation_granularity(&[prop], MemGranularityOptions::MINIMUM).unwrap();
    let range = runtime.rt_reserve_mem_address(4 * page, 0, AnyPtr::NULL, 0).unwrap();
    let at = |pages: usize| AnyPtr::from_addr(range.addr() + pages * page);
    let physical = runtime.rt_malloc_physical(2 * page, &[prop], 0).unwrap();
    assert_eq!(runtime.rt_mem_get_allocation_properties_from_handle(physical).unwrap().location.id, 0);
    refused(AclError::RT_PARAM_INVALID, runtime.rt_malloc_physical(page + 1, &[prop], 0));
    refused(AclError::RT_MEMORY_ALLOCATION, runtime.rt_malloc_physical(page << 40, &[prop], 0));

    // One piece of physical memory at two addresses: a write at one is visible at the other.
    runtime.rt_map_mem(at(0), 2 * page, 0, physical, 0).unwrap();
    runtime.rt_map_mem(at(2), 2 * page, 0, physical, 0).unwrap();
    refused(AclError::RT_PARAM_INVALID, runtime.rt_map_mem(at(1), 2 * page, 0, physical, 0));
    let numbers: Vec<u32> = (0..100).collect();
    runtime
        .rt_memcpy_async(
            at(1),
            400,
            AnyPtr::from_ptr(numbers.as_ptr()),
            400,
            MemcpyKind::HOST_TO_DEVICE,
            Stream::NULL,
        )
        .unwrap();
    runtime.rt_synchronize_stream(Stream::NULL).unwrap();
    assert_eq!(read::<u32>(&runtime, DevicePtr::from_addr(at(3).addr()), 100), numbers);
    runtime.rt_value_write(at(2), 5, 0, Stream::NULL).unwrap();
    runtime.rt_synchronize_stream(Stream::NULL).unwrap();
    assert_eq!(read::<u64>(&runtime, DevicePtr::from_addr(at(0).addr()), 1), [5]);

    refused(AclError::RT_PARAM_INVALID, runtime.rt_free(DevicePtr::from_addr(at(0).addr())));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_release_mem_address(range));
    let own = MemAccessDesc { flags: MemAccessFlags::READ, location, rsv: [0; 12] };
    runtime.rt_mem_set_access(at(0), 2 * page, &[own]).unwrap();
    assert_eq!(runtime.rt_mem_get_access(at(1), &[location]), Ok(1));
    assert_eq!(runtime.rt_mem_get_access(at(2), &[location]), Ok(3));

    // The memory exists as long as there is a handle or a mapping.
    let number = runtime.rt_mem_export_to_shareable_handle(physical, MemHandleType::NONE, 0).unwrap();
    let retained = runtime.rt_mem_retain_allocation_handle(at(0)).unwrap();
    let imported = runtime.rt_mem_import_from_shareable_handle(number, 0).unwrap();
    for handle in [physical, retained, imported] {
        runtime.rt_free_physical(handle).unwrap();
    }
    refused(AclError::RT_INVALID_HANDLE, runtime.rt_free_physical(physical));
    assert_eq!(read::<u32>(&runtime, DevicePtr::from_addr(at(1).addr()), 100), numbers);
    runtime.rt_unmap_mem(at(0)).unwrap();
    runtime.rt_unmap_mem(at(2)).unwrap();
    refused(AclError::RT_PARAM_INVALID, runtime.rt_unmap_mem(at(2)));
    let unmapped = runtime.rt_value_write(at(2), 1, 0, Stream::NULL);
    refused(AclError::RT_PARAM_INVALID, unmapped);
    refused(AclError::RT_PARAM_INVALID, runtime.rt_mem_import_from_shareable_handle(number, 0));
    runtime.rt_release_mem_address(range).unwrap();
    refused(AclError::RT_PARAM_INVALID, runtime.rt_release_mem_address(range));
    runtime.reset_and_end();
}

#[test]
fn mappings_end_with_the_runtime() {
    let runtime = runtime();
    runtime.init(None).unwrap();
    runtime.rt_set_device(0).unwrap();
    let prop = physical_of(0, MemAttr::HBM);
    let size =
        runtime.rt_mem_get_allocation_granularity(&[prop], MemGranularityOptions::RECOMMENDED).unwrap();
    let range = runtime.rt_reserve_mem_address(size, 0, AnyPtr::NULL, 1).unwrap();
    let physical = runtime.rt_malloc_physical(size, &[prop], 0).unwrap();
    runtime.rt_map_mem(range, size, 0, physical, 0).unwrap();
    runtime.finalize().unwrap();
    refused(AclError::RT_INVALID_HANDLE, runtime.rt_free_physical(physical));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_unmap_mem(range));
    runtime.end();
}

#[test]
fn shareable_handle_is_written_to_the_given_address() {
    let runtime = ready_runtime();
    let prop = physical_of(1, MemAttr::HBM);
    let size = runtime.rt_mem_get_allocation_granularity(&[prop], MemGranularityOptions::MINIMUM).unwrap();
    let physical = runtime.rt_malloc_physical(size, &[prop], 0).unwrap();
    let (way, mut number) = (MemSharedHandleType::DEFAULT, 0u64);
    let place = HostPtr::from_ptr(&raw mut number);
    runtime.rt_mem_export_to_shareable_handle_v2(physical, 1, way, place).unwrap();
    runtime.rt_mem_set_pid_to_shareable_handle_v2(place, way, &[1]).unwrap();
    let imported = runtime.rt_mem_import_from_shareable_handle_v2(place, way, 0).unwrap();
    assert_eq!(runtime.rt_mem_export_to_shareable_handle(imported, MemHandleType::NONE, 0), Ok(number));
    let fabric =
        runtime.rt_mem_export_to_shareable_handle_v2(physical, 0, MemSharedHandleType::FABRIC, place);
    refused(AclError::RT_FEATURE_NOT_SUPPORT, fabric);
    runtime.rt_free_physical(imported).unwrap();
    runtime.rt_free_physical(physical).unwrap();
    runtime.reset_and_end();
}

#[test]
fn host_access_to_distant_memory_is_refused() {
    let runtime = distant_runtime();
    runtime.rt_set_device(0).unwrap();
    let memory = device_memory(&runtime, &[0u64; 2]);
    let stream = runtime.rt_create_stream().unwrap();
    let hold = Hold::on(&runtime, stream);
    runtime.rt_value_write(any(memory, 8), 7, 0, stream).unwrap();
    assert_eq!(read::<u64>(&runtime, memory, 2), [0, 0]);
    hold.open();
    runtime.rt_synchronize_stream(stream).unwrap();
    assert_eq!(read::<u64>(&runtime, memory, 2), [0, 7], "writing needs the device alone");
    let missing = AclError::RT_FEATURE_NOT_SUPPORT;
    refused(missing, runtime.rt_value_wait(any(memory, 0), 7, 0, stream));
    let sum =
        runtime.rt_reduce_async(memory, memory, 8, ReduceKind::SUM, DataType::INT32, stream, AnyPtr::NULL);
    refused(missing, sum);
    refused(missing, runtime.rt_reserve_mem_address(4096, 0, AnyPtr::NULL, 0));
    runtime.rt_free(memory).unwrap();
    runtime.rt_destroy_stream(stream).unwrap();
    runtime.reset_and_end();
}

#[test]
fn stream_is_destroyed_after_its_host_work() {
    const LENGTH: usize = 8 << 20;
    let end: [fn(&TestRuntime, Stream); 3] = [
        |runtime, stream| runtime.rt_stream_abort(stream).unwrap(),
        |runtime, stream| runtime.rt_destroy_stream_force(stream).unwrap(),
        |runtime, _| runtime.rt_reset_device_force(1).unwrap(),
    ];
    for end in end {
        let runtime = runtime();
        // Memory of another device than the stream's. It is kept, so that the test can read it.
        runtime.rt_set_device(0).unwrap();
        let ones = vec![1u8; LENGTH];
        let [dst, src] = [(); 2].map(|()| device_memory(&runtime, &ones));
        runtime.rt_set_device(1).unwrap();
        let stream = runtime.rt_create_stream().unwrap();
        let (kind, data_type) = (ReduceKind::SUM, DataType::INT8);
        runtime.rt_reduce_async(dst, src, LENGTH as u64, kind, data_type, stream, AnyPtr::NULL).unwrap();
        while read::<u8>(&runtime, dst, 1) != [2] {
            std::thread::yield_now();
        }
        end(&runtime, stream);
        runtime.rt_set_device(0).unwrap();
        let last = dst.checked_add(LENGTH - 1).unwrap();
        assert_eq!(read::<u8>(&runtime, last, 1), [2], "the host still works");
        for memory in [dst, src] {
            runtime.rt_free(memory).unwrap();
        }
        runtime.end();
    }
}

#[test]
fn dropped_wait_is_not_a_failure() {
    let runtime = ready_runtime();
    let memory = device_memory(&runtime, &[0u64]);
    let [held, stream] = [(); 2].map(|()| runtime.rt_create_stream().unwrap());
    let hold = Hold::on(&runtime, held);
    let event = runtime.rt_create_event().unwrap();
    runtime.rt_record_event(event, held).unwrap();
    let waits: [&dyn Fn(); 2] = [&|| runtime.rt_value_wait(any(memory, 0), 1, 0, stream).unwrap(), &|| {
        runtime.rt_stream_wait_event_with_timeout(stream, event, 3_600_000).unwrap()
    }];
    for wait in waits {
        wait();
        // Lets the wait begin, most of the time; the test does not depend on it.
        refused(AclError::RT_STREAM_SYNC_TIMEOUT, runtime.rt_synchronize_stream_with_timeout(stream, 20));
        runtime.rt_stream_abort(stream).unwrap();
        runtime.rt_synchronize_stream(stream).unwrap();
        wait();
        runtime.rt_stream_abort(stream).unwrap();
        runtime.rt_synchronize_stream(stream).unwrap();
    }
    hold.open();
    runtime.rt_free(memory).unwrap();
    runtime.rt_destroy_event(event).unwrap();
    runtime.reset_and_end();
}

/// Allocates physical memory of device 0; returns its handle and its size in bytes.
fn physical(runtime: &TestRuntime) -> (DrvMemHandle, usize) {
    let prop = physical_of(0, MemAttr::HBM);
    let size = runtime.rt_mem_get_allocation_granularity(&[prop], MemGranularityOptions::MINIMUM).unwrap();
    (runtime.rt_malloc_physical(size, &[prop], 0).unwrap(), size)
}

#[test]
fn key_is_invalid_after_its_memory_is_freed() {
    let runtime = ready_runtime();
    let (physical, size) = physical(&runtime);
    let range = runtime.rt_reserve_mem_address(size, 0, AnyPtr::NULL, 0).unwrap();
    runtime.rt_map_mem(range, size, 0, physical, 0).unwrap();
    let mut room = [0u8; 65];
    let memory = DevicePtr::from_addr(range.addr());
    runtime.rt_ipc_mem_get_export_key(memory, size, &mut room, 0).unwrap();
    let key = std::ffi::CStr::from_bytes_until_nul(&room).unwrap();
    runtime.rt_ipc_mem_import_by_key(key, 0).unwrap();
    runtime.rt_unmap_mem(range).unwrap();
    runtime.rt_map_mem(range, size, 0, physical, 0).unwrap();
    refused(AclError::RT_PARAM_INVALID, runtime.rt_ipc_mem_import_by_key(key, 0));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_ipc_mem_set_import_pid(key, &[1]));
    runtime.rt_ipc_mem_get_export_key(memory, size, &mut [0u8; 65], 0).unwrap();
    assert_eq!(runtime.rt_ipc_mem_import_by_key(key, 0), Ok(range), "the new memory has a key too");
    runtime.rt_unmap_mem(range).unwrap();
    runtime.rt_release_mem_address(range).unwrap();
    runtime.rt_free_physical(physical).unwrap();
    runtime.reset_and_end();
}

#[test]
fn mapping_over_registered_memory_is_refused() {
    let runtime = ready_runtime();
    let (physical, size) = physical(&runtime);
    let range = runtime.rt_reserve_mem_address(size, 0, AnyPtr::NULL, 0).unwrap();
    runtime.rt_host_register(range, 64, HostRegisterType::MAPPED).unwrap();
    refused(AclError::RT_PARAM_INVALID, runtime.rt_map_mem(range, size, 0, physical, 0));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_unmap_mem(range));
    runtime.rt_host_unregister(HostPtr::from_addr(range.addr())).unwrap();
    runtime.rt_map_mem(range, size, 0, physical, 0).unwrap();
    runtime.rt_value_write(range, 1, 0, Stream::NULL).unwrap();
    runtime.rt_synchronize_stream(Stream::NULL).unwrap();
    runtime.rt_unmap_mem(range).unwrap();
    runtime.rt_release_mem_address(range).unwrap();
    runtime.rt_free_physical(physical).unwrap();
    runtime.reset_and_end();
}
