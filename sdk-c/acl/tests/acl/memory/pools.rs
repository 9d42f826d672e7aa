//! Tests of pools of device memory.

use tenon::{DevicePtr, HostPtr};
use tenon_acl::api::*;

use crate::world::{Hold, World, any, ready_world, refused, world};

fn props(device: u32, max_size: usize) -> MemPoolProps {
    MemPoolProps {
        alloc_type: MemAllocationType::PINNED,
        handle_type: MemHandleType::NONE,
        location: MemLocation { id: device, r#type: MemLocationType::DEVICE },
        max_size,
        reserved: [0; 32],
    }
}

fn pool(world: &World, max_size: usize) -> MemPool {
    world.rt_mem_pool_create(&[props(0, max_size)]).unwrap()
}

fn number(world: &World, pool: MemPool, attr: MemPoolAttr) -> u64 {
    let mut number = 0_u64;
    world.rt_mem_pool_read_attr(pool, attr, HostPtr::from_ptr(&raw mut number)).unwrap();
    number
}

fn set(world: &World, pool: MemPool, attr: MemPoolAttr, mut number: u64) -> Result<()> {
    world.rt_mem_pool_set_attr(pool, attr, HostPtr::from_ptr(&raw mut number))
}

#[test]
fn freed_memory_is_reused_on_the_same_stream_at_once() {
    let world = ready_world();
    let (stream, pool) = (world.rt_create_stream().unwrap(), pool(&world, 0));
    set(&world, pool, MemPoolAttr::ATTR_RELEASE_THRESHOLD, u64::MAX).unwrap();
    let hold = Hold::on(&world, stream);
    let first = world.rt_mem_pool_malloc_async(1000, pool, stream).unwrap();
    assert_eq!(first.addr() % 64, 0);
    world.rt_memset_async(any(first), 1000, 7, 1000, stream).unwrap();
    world.rt_mem_pool_free_async(first, stream).unwrap();
    let second = world.rt_mem_pool_malloc_async(900, pool, stream).unwrap();
    assert_eq!(second, first);
    hold.open();
    world.rt_mem_pool_free_async(second, stream).unwrap();
    world.rt_mem_pool_destroy(pool).unwrap();
    world.rt_destroy_stream(stream).unwrap();
    world.reset_and_end();
}

#[test]
fn another_stream_gets_memory_only_after_the_work_that_uses_it() {
    let world = ready_world();
    let (stream, other) = (world.rt_create_stream().unwrap(), world.rt_create_stream().unwrap());
    let pool = pool(&world, 0);
    set(&world, pool, MemPoolAttr::ATTR_RELEASE_THRESHOLD, u64::MAX).unwrap();
    let first = world.rt_mem_pool_malloc_async(1000, pool, stream).unwrap();
    let hold = Hold::on(&world, stream);
    world.rt_mem_pool_free_async(first, stream).unwrap();
    let second = world.rt_mem_pool_malloc_async(1000, pool, other).unwrap();
    assert_ne!(second, first);
    hold.open();
    world.rt_synchronize_stream(stream).unwrap();
    assert_eq!(world.rt_mem_pool_malloc_async(1000, pool, other).unwrap(), first);
    world.rt_mem_pool_free_async(first, other).unwrap();
    world.rt_mem_pool_free_async(second, other).unwrap();
    world.rt_mem_pool_destroy(pool).unwrap();
    for stream in [stream, other] {
        world.rt_destroy_stream(stream).unwrap();
    }
    world.reset_and_end();
}

#[test]
fn memory_is_counted_kept_and_released() {
    let world = ready_world();
    let pool = pool(&world, 4096);
    set(&world, pool, MemPoolAttr::ATTR_RELEASE_THRESHOLD, 4096).unwrap();
    let memory = world.rt_mem_pool_malloc_async(4096, pool, Stream::NULL).unwrap();
    refused(AclError::RT_MEMORY_ALLOCATION, world.rt_mem_pool_malloc_async(32, pool, Stream::NULL));
    assert_eq!(number(&world, pool, MemPoolAttr::ATTR_USED_MEM_CURRENT), 4096);
    world.rt_mem_pool_free_async(memory, Stream::NULL).unwrap();
    assert_eq!(number(&world, pool, MemPoolAttr::ATTR_USED_MEM_CURRENT), 0);
    assert_eq!(number(&world, pool, MemPoolAttr::ATTR_USED_MEM_HIGH), 4096);
    assert_eq!(number(&world, pool, MemPoolAttr::ATTR_RESERVED_MEM_CURRENT), 4096);
    world.rt_mem_pool_trim_to(pool, 0).unwrap();
    assert_eq!(number(&world, pool, MemPoolAttr::ATTR_RESERVED_MEM_CURRENT), 0);
    assert_eq!(number(&world, pool, MemPoolAttr::ATTR_RESERVED_MEM_HIGH), 4096);
    // Memory in use outlives the pool.
    let memory = world.rt_mem_pool_malloc_async(64, pool, Stream::NULL).unwrap();
    world.rt_mem_pool_destroy(pool).unwrap();
    world.rt_memset(any(memory), 64, 1, 64).unwrap();
    world.rt_mem_pool_free_async(memory, Stream::NULL).unwrap();
    refused(AclError::RT_PARAM_INVALID, world.rt_mem_flush(memory, 64));
    world.reset_and_end();
}

#[test]
fn wrong_pools_and_addresses_are_refused() {
    let world = world();
    refused(AclError::RT_INVALID_DEVICEID, world.rt_mem_pool_create(&[props(9, 0)]));
    let mut shared = props(0, 0);
    shared.handle_type = MemHandleType::POSIX;
    refused(AclError::RT_FEATURE_NOT_SUPPORT, world.rt_mem_pool_create(&[shared]));
    world.rt_set_device(0).unwrap();
    let pool = pool(&world, 0);
    refused(AclError::INVALID_PARAM, world.rt_mem_pool_malloc_async(0, pool, Stream::NULL));
    refused(AclError::INVALID_PARAM, world.rt_mem_pool_malloc_async(1, MemPool::NULL, Stream::NULL));
    refused(AclError::INVALID_PARAM, world.rt_mem_pool_free_async(DevicePtr::NULL, Stream::NULL));
    let memory = world.rt_mem_pool_malloc_async(64, pool, Stream::NULL).unwrap();
    let message = refused(AclError::RT_PARAM_INVALID, world.rt_free(memory));
    assert!(message.contains("aclrtMemPoolFreeAsync"), "{message}");
    world.rt_mem_pool_free_async(memory, Stream::NULL).unwrap();
    refused(AclError::RT_PARAM_INVALID, world.rt_mem_pool_free_async(memory, Stream::NULL));
    refused(AclError::INVALID_PARAM, set(&world, pool, MemPoolAttr::ATTR_USED_MEM_CURRENT, 0));
    refused(AclError::INVALID_PARAM, set(&world, pool, MemPoolAttr(99), 0));
    world.rt_mem_pool_destroy(pool).unwrap();
    refused(AclError::RT_INVALID_HANDLE, world.rt_mem_pool_destroy(pool));
    world.reset_and_end();
}
