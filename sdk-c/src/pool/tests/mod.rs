//! Tests of the pool on a mock device that counts and fails on request, and on the CPU device.

mod mock;
mod model;
mod streams;
mod threads;

use std::sync::Arc;

use super::{Pool, PoolError, PoolStatistics};
use mock::Mock;
use tenon::DevicePtr;
use tenon::device::{DeviceId, Stream};

const ID: DeviceId = DeviceId(0);
const MIB: usize = 1 << 20;

fn pool(mock: &Arc<Mock>) -> Pool {
    Pool::new(mock.clone(), ID).unwrap()
}

#[test]
fn allocate_freed_block_is_reused() {
    let mock = Arc::new(Mock::default());
    let pool = pool(&mock);
    for size in [0, 1, 64, 5000, MIB, 3 * MIB] {
        let first = pool.allocate(size, Stream::NULL).unwrap();
        pool.free(first, Stream::NULL).unwrap();
        assert_eq!(pool.allocate(size, Stream::NULL), Ok(first), "{size}");
        pool.free(first, Stream::NULL).unwrap();
    }
    pool.free(DevicePtr::NULL, Stream::NULL).unwrap();
}

#[test]
fn statistics_add_up() {
    let mock = Arc::new(Mock::default());
    let pool = pool(&mock);
    assert_eq!(pool.statistics(), PoolStatistics::default());
    let small = pool.allocate(1000, Stream::NULL).unwrap();
    let large = pool.allocate(5 * MIB + 1, Stream::NULL).unwrap();
    let now = pool.statistics();
    assert_eq!(now.in_use, 1024 + 5 * MIB + MIB / 2);
    assert_eq!((now.from_device, now.cached), (mock.bytes(), mock.bytes() - now.in_use));
    assert_eq!((now.hits, now.misses, now.splits, now.peak), (0, 2, 1, now.in_use));
    pool.free(large, Stream::NULL).unwrap();
    pool.free(small, Stream::NULL).unwrap();
    let again = pool.allocate(1000, Stream::NULL).unwrap();
    let later = pool.statistics();
    assert_eq!((later.in_use, later.peak, later.from_device), (1024, now.peak, now.from_device));
    assert_eq!((later.hits, later.misses, later.splits), (1, 2, 1));
    pool.free(again, Stream::NULL).unwrap();
    drop(pool);
    assert_eq!(mock.bytes(), 0);
}

#[test]
fn free_unknown_address_fails() {
    let mock = Arc::new(Mock::default());
    let (pool, other) = (pool(&mock), pool(&mock));
    let foreign = other.allocate(64, Stream::NULL).unwrap();
    let large = pool.allocate(3 * MIB, Stream::NULL).unwrap();
    let block = pool.allocate(640, Stream::NULL).unwrap();
    let before = pool.statistics();
    let inside = |start: DevicePtr, by| start.checked_add(by).unwrap();
    for unknown in
        [foreign, DevicePtr::from_addr(1), DevicePtr::from_addr(usize::MAX), inside(large, 3 * MIB)]
    {
        assert_eq!(pool.free(unknown, Stream::NULL), Err(PoolError::Unknown { ptr: unknown }));
    }
    for (start, by) in [(block, 1), (block, 64), (large, 64)] {
        let ptr = inside(start, by);
        assert_eq!(pool.free(ptr, Stream::NULL), Err(PoolError::Inside { ptr, start }));
    }
    let never = inside(block, 640);
    assert_eq!(pool.free(never, Stream::NULL), Err(PoolError::Free { ptr: never }));
    assert_eq!(pool.statistics(), before);
    for twice in [block, large] {
        pool.free(twice, Stream::NULL).unwrap();
        assert_eq!(pool.free(twice, Stream::NULL), Err(PoolError::Free { ptr: twice }));
    }
    assert_eq!(pool.statistics().in_use, 0);
}

#[test]
fn allocate_huge_size_fails() {
    let mock = Arc::new(Mock::default());
    let pool = pool(&mock);
    for size in [usize::MAX, isize::MAX as usize + 1] {
        assert_eq!(pool.allocate(size, Stream::NULL), Err(PoolError::TooLarge { size }));
    }
    let size = isize::MAX as usize / 2;
    assert_eq!(pool.allocate(size, Stream::NULL), Err(PoolError::OutOfMemory { size }));
    assert_eq!(mock.bytes(), 0);
}

#[test]
fn allocate_block_has_the_alignment_of_the_device() {
    for (unit, alignment) in [(1, 64), (64, 64), (512, 512), (8192, 8192), (100, 128), (0, 256)] {
        for skew in [0, alignment] {
            let mock = Arc::new(Mock { unit, skew, ..Mock::default() });
            let pool = pool(&mock);
            for size in [1, 100, 5000, 70_000, 2 * MIB] {
                for _ in 0..3 {
                    let at = pool.allocate(size, Stream::NULL).unwrap();
                    assert!(
                        at.addr().is_multiple_of(alignment),
                        "{at:?} for {size} by {alignment}, {skew} aside"
                    );
                }
            }
        }
    }
}

#[test]
fn trim_frees_idle_slabs_down_to_the_limit() {
    let mock = Arc::new(Mock::default());
    let pool = pool(&mock);
    let blocks: Vec<_> = (0..10).map(|_| pool.allocate(4 * MIB, Stream::NULL).unwrap()).collect();
    let kept = pool.allocate(64, Stream::NULL).unwrap();
    assert_eq!(pool.trim(0), Ok(0));
    for block in blocks {
        pool.free(block, Stream::NULL).unwrap();
    }
    let before = pool.statistics();
    assert_eq!(pool.trim(before.cached), Ok(0));
    assert_eq!(pool.trim(before.cached - 1), Ok(4 * MIB));
    assert_eq!(pool.trim(12 * MIB), Ok(7 * 4 * MIB), "the slab with a block in use counts as cached too");
    assert_eq!(pool.trim(0), Ok(2 * 4 * MIB));
    let after = pool.statistics();
    assert_eq!((after.in_use, after.from_device), (64, mock.bytes()));
    pool.free(kept, Stream::NULL).unwrap();
    pool.trim(0).unwrap();
    assert_eq!((mock.bytes(), pool.statistics().from_device), (0, 0));
    assert!(pool.allocate(64, Stream::NULL).is_ok());
}

#[test]
fn trim_failed_free_keeps_the_slab() {
    let mock = Arc::new(Mock::default());
    let pool = pool(&mock);
    let blocks = [2, 3].map(|size| (size * MIB, pool.allocate(size * MIB, Stream::NULL).unwrap()));
    for (_, block) in blocks {
        pool.free(block, Stream::NULL).unwrap();
    }
    mock.fail_in(1);
    assert!(matches!(pool.trim(0), Err(PoolError::Device(_))));
    let left = pool.statistics().from_device;
    assert_eq!(left, mock.bytes());
    for (size, block) in blocks {
        if size == left {
            assert_eq!(pool.allocate(size, Stream::NULL), Ok(block));
        } else {
            assert_eq!(pool.free(block, Stream::NULL), Err(PoolError::Unknown { ptr: block }));
        }
    }
}

#[test]
fn trim_failed_free_keeps_blocks_in_their_epochs() {
    let mock = Arc::new(Mock::default());
    let pool = pool(&mock);
    let stream = Stream::from_addr(7);
    for size in [64, 3 * MIB] {
        let block = pool.allocate(size, stream).unwrap();
        mock.work(stream);
        pool.free(block, stream).unwrap();
        mock.fail_in(1);
        assert!(matches!(pool.trim(0), Err(PoolError::Device(_))));
        assert_ne!(pool.allocate(size, Stream::NULL), Ok(block));
        assert_eq!(pool.allocate(size, stream), Ok(block));
    }
}

#[test]
fn allocate_out_of_memory_frees_the_cache_first() {
    let mock = Arc::new(Mock { capacity: 16 * MIB, ..Mock::default() });
    let pool = pool(&mock);
    let blocks: Vec<_> = (0..4).map(|_| pool.allocate(4 * MIB, Stream::NULL).unwrap()).collect();
    assert_eq!(pool.allocate(64, Stream::NULL), Err(PoolError::OutOfMemory { size: 64 }));
    for block in blocks {
        pool.free(block, Stream::NULL).unwrap();
    }
    let all = pool.allocate(16 * MIB, Stream::NULL).unwrap();
    assert_eq!(pool.statistics().from_device, 16 * MIB);
    pool.free(all, Stream::NULL).unwrap();
    assert_eq!(pool.statistics().from_device, 16 * MIB);
}

#[test]
fn allocate_little_memory_uses_a_small_slab() {
    let mock = Arc::new(Mock { capacity: 8192, ..Mock::default() });
    let pool = pool(&mock);
    let blocks: Vec<_> = (0..128).map(|_| pool.allocate(64, Stream::NULL).unwrap()).collect();
    assert_eq!(pool.allocate(64, Stream::NULL), Err(PoolError::OutOfMemory { size: 64 }));
    assert_eq!(pool.statistics().in_use, 8192);
    assert_eq!(blocks.len(), 128);
}
