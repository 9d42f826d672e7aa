//! Tests of pools of device memory.

use tenon::{DevicePtr, HostPtr};
use tenon_acl::api::*;

use crate::test_runtime::{Hold, TestRuntime, any, ready_runtime, refused, runtime};

fn props(device: u32, max_size: usize) -> MemPoolProps {
    MemPoolProps {
        alloc_type: MemAllocationType::PINNED,
        handle_type: MemHandleType::NONE,
        location: MemLocation { id: device, r#type: MemLocationType::DEVICE },
        max_size,
        reserved: [0; 32],
    }
}

fn pool(runtime: &TestRuntime, max_size: usize) -> MemPool {
    runtime.rt_mem_pool_create(&[props(0, max_size)]).unwrap()
}

fn number(runtime: &TestRuntime, pool: MemPool, attr: MemPoolAttr) -> u64 {
    let mut number = 0_u64;
    runtime.rt_mem_pool_read_attr(pool, attr, HostPtr::from_ptr(&raw mut number)).unwrap();
    number
}

fn set(runtime: &TestRuntime, pool: MemPool, attr: MemPoolAttr, mut number: u64) -> Result<()> {
    runtime.rt_mem_pool_set_attr(pool, attr, HostPtr::from_ptr(&raw mut number))
}

#[test]
fn freed_memory_is_reused_on_the_same_stream_at_once() {
    let runtime = ready_runtime();
    let (stream, pool) = (runtime.rt_create_stream().unwrap(), pool(&runtime, 0));
    set(&runtime, pool, MemPoolAttr::ATTR_RELEASE_THRESHOLD, u64::MAX).unwrap();
    let hold = Hold::on(&runtime, stream);
    let first = runtime.rt_mem_pool_malloc_async(1000, pool, stream).unwrap();
    assert_eq!(first.addr() % 64, 0);
    runtime.rt_memset_async(any(first), 1000, 7, 1000, stream).unwrap();
    runtime.rt_mem_pool_free_async(first, stream).unwrap();
    let second = runtime.rt_mem_pool_malloc_async(900, pool, stream).unwrap();
    assert_eq!(second, first);
    hold.open();
    runtime.rt_mem_pool_free_async(second, stream).unwrap();
    runtime.rt_mem_pool_destroy(pool).unwrap();
    runtime.rt_destroy_stream(stream).unwrap();
    runtime.reset_and_end();
}

#[test]
fn another_stream_gets_memory_only_after_the_work_that_uses_it() {
    let runtime = ready_runtime();
    let (stream, other) = (runtime.rt_create_stream().unwrap(), runtime.rt_create_stream().unwrap());
    let pool = pool(&runtime, 0);
    set(&runtime, pool, MemPoolAttr::ATTR_RELEASE_THRESHOLD, u64::MAX).unwrap();
    let first = runtime.rt_mem_pool_malloc_async(1000, pool, stream).unwrap();
    let hold = Hold::on(&runtime, stream);
    runtime.rt_mem_pool_free_async(first, stream).unwrap();
    let second = runtime.rt_mem_pool_malloc_async(1000, pool, other).unwrap();
    assert_ne!(second, first);
    hold.open();
    runtime.rt_synchronize_stream(stream).unwrap();
    assert_eq!(runtime.rt_mem_pool_malloc_async(1000, pool, other).unwrap(), first);
    runtime.rt_mem_pool_free_async(first, other).unwrap();
    runtime.rt_mem_pool_free_async(second, other).unwrap();
    runtime.rt_mem_pool_destroy(pool).unwrap();
    for stream in [stream, other] {
        runtime.rt_destroy_stream(stream).unwrap();
    }
    runtime.reset_and_end();
}

#[test]
fn memory_is_counted_kept_and_released() {
    let runtime = ready_runtime();
    let pool = pool(&runtime, 4096);
    set(&runtime, pool, MemPoolAttr::ATTR_RELEASE_THRESHOLD, 4096).unwrap();
    let memory = runtime.rt_mem_pool_malloc_async(4096, pool, Stream::NULL).unwrap();
    refused(AclError::RT_MEMORY_ALLOCATION, runtime.rt_mem_pool_malloc_async(32, pool, Stream::NULL));
    assert_eq!(number(&runtime, pool, MemPoolAttr::ATTR_USED_MEM_CURRENT), 4096);
    runtime.rt_mem_pool_free_async(memory, Stream::NULL).unwrap();
    assert_eq!(number(&runtime, pool, MemPoolAttr::ATTR_USED_MEM_CURRENT), 0);
    assert_eq!(number(&runtime, pool, MemPoolAttr::ATTR_USED_MEM_HIGH), 4096);
    assert_eq!(number(&runtime, pool, MemPoolAttr::ATTR_RESERVED_MEM_CURRENT), 4096);
    runtime.rt_mem_pool_trim_to(pool, 0).unwrap();
    assert_eq!(number(&runtime, pool, MemPoolAttr::ATTR_RESERVED_MEM_CURRENT), 0);
    assert_eq!(number(&runtime, pool, MemPoolAttr::ATTR_RESERVED_MEM_HIGH), 4096);
    // Memory in use outlives the pool.
    let memory = runtime.rt_mem_pool_malloc_async(64, pool, Stream::NULL).unwrap();
    runtime.rt_mem_pool_destroy(pool).unwrap();
    runtime.rt_memset(any(memory), 64, 1, 64).unwrap();
    runtime.rt_mem_pool_free_async(memory, Stream::NULL).unwrap();
    refused(AclError::RT_PARAM_INVALID, runtime.rt_mem_flush(memory, 64));
    runtime.reset_and_end();
}

#[test]
fn wrong_pools_and_addresses_are_refused() {
    let runtime = runtime();
    refused(AclError::RT_INVALID_DEVICEID, runtime.rt_mem_pool_create(&[props(9, 0)]));
    let mut shared = props(0, 0);
    shared.handle_type = MemHandleType::POSIX;
    refused(AclError::RT_FEATURE_NOT_SUPPORT, runtime.rt_mem_pool_create(&[shared]));
    runtime.rt_set_device(0).unwrap();
    let pool = pool(&runtime, 0);
    refused(AclError::INVALID_PARAM, runtime.rt_mem_pool_malloc_async(0, pool, Stream::NULL));
    refused(AclError::INVALID_PARAM, runtime.rt_mem_pool_malloc_async(1, MemPool::NULL, Stream::NULL));
    refused(AclError::INVALID_PARAM, runtime.rt_mem_pool_free_async(DevicePtr::NULL, Stream::NULL));
    let memory = runtime.rt_mem_pool_malloc_async(64, pool, Stream::NULL).unwrap();
    let message = refused(AclError::RT_PARAM_INVALID, runtime.rt_free(memory));
    assert!(message.contains("aclrtMemPoolFreeAsync"), "{message}");
    runtime.rt_mem_pool_free_async(memory, Stream::NULL).unwrap();
    refused(AclError::RT_PARAM_INVALID, runtime.rt_mem_pool_free_async(memory, Stream::NULL));
    refused(AclError::INVALID_PARAM, set(&runtime, pool, MemPoolAttr::ATTR_USED_MEM_CURRENT, 0));
    refused(AclError::INVALID_PARAM, set(&runtime, pool, MemPoolAttr(99), 0));
    runtime.rt_mem_pool_destroy(pool).unwrap();
    refused(AclError::RT_INVALID_HANDLE, runtime.rt_mem_pool_destroy(pool));
    runtime.reset_and_end();
}
