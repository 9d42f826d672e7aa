//! Tests of the entry point, with the tables of all releases of Paddle.

use std::ffi::{CStr, c_char, c_void};

use tenon::device::{Function, Release};

use super::InitPlugin;

/// A pattern that the plugin never writes.
const GUARD: u8 = 0xA5;
const GUARD_BYTES: usize = 256;

/// Params and table as Paddle allocates them: sizes set, the rest zero, and other data directly after them.
struct Region {
    words: Vec<u64>,
    size: usize,
}

impl Region {
    fn new(size: usize) -> Self {
        let words = (size + GUARD_BYTES).div_ceil(8);
        let mut region = Self { words: vec![0; words], size };
        region.bytes_mut()[size..].fill(GUARD);
        region.set_word(0, size);
        region
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        let len = self.words.len() * 8;
        // SAFETY: the same memory, as bytes.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), len) }
    }

    fn set_word(&mut self, offset: usize, value: usize) {
        self.words[offset / 8] = value as u64;
    }

    fn word(&self, offset: usize) -> usize {
        self.words[offset / 8] as usize
    }

    fn is_intact_behind(&mut self) -> bool {
        let size = self.size;
        self.bytes_mut()[size..].iter().all(|&byte| byte == GUARD)
    }
}

/// Calls the entry point for a host whose table and params have these sizes.
fn init(table: usize, params: usize) -> (Region, Region) {
    let (mut table, mut params) = (Region::new(table), Region::new(params));
    params.set_word(8, table.words.as_mut_ptr().expose_provenance());
    // SAFETY: params as the host has them, which lead to its table.
    unsafe { InitPlugin(params.words.as_mut_ptr().cast()) };
    assert!(table.is_intact_behind() && params.is_intact_behind());
    (table, params)
}

/// The sizes in PaddlePaddle's headers, independent of the sizes that the spec computes.
const SIZES: [(Release, usize, usize); Release::ALL.len()] = [
    (Release::V2_6, 912, 88),
    (Release::V3_0, 920, 96),
    (Release::V3_1, 976, 96),
    (Release::V3_2, 1032, 96),
    (Release::V3_3, 1128, 96),
];

/// The functions that Paddle requires: without them, it refuses the plugin, or crashes after loading it.
const NEEDED: [Function; 14] = [
    Function::SetDevice,
    Function::GetDevice,
    Function::CreateEvent,
    Function::RecordEvent,
    Function::DestroyEvent,
    Function::SynchronizeEvent,
    Function::SynchronizeDevice,
    Function::DeviceMemoryAllocate,
    Function::DeviceMemoryDeallocate,
    Function::GetDeviceCount,
    Function::GetDeviceList,
    Function::MemoryCopyH2d,
    Function::MemoryCopyD2h,
    Function::MemoryCopyD2d,
];

#[test]
fn every_release_gets_its_own_table() {
    for (release, table, params) in SIZES {
        let (table, params) = init(table, params);
        assert_eq!(table.word(0), release.table_size());
        for function in NEEDED {
            let offset = release.offset_of(function).unwrap();
            assert_ne!(table.word(offset), 0, "{function:?} of {release:?}");
        }
        let device_type: *const c_char = std::ptr::with_exposed_provenance(params.word(40));
        // SAFETY: the pointer is not null and refers to a name of the plugin.
        assert_eq!(unsafe { CStr::from_ptr(device_type) }, c"CustomCPU");
        assert_eq!([16, 24, 32].map(|offset| params.word(offset)), [0, 1, 1]);
    }
}

#[test]
fn unknown_hosts_get_nothing() {
    for (table, params) in [(0, 88), (912, 96), (928, 96), (1128, 88), (1136, 96), (4096, 4096), (8, 16)] {
        let (mut table, mut params) = (Region::new(table.max(8)), Region::new(params));
        params.set_word(8, table.words.as_mut_ptr().expose_provenance());
        let before = (table.words.clone(), params.words.clone());
        // SAFETY: params as a host has them, which lead to its table.
        unsafe { InitPlugin(params.words.as_mut_ptr().cast()) };
        assert_eq!((table.words, params.words), before);
    }
    // SAFETY: null is allowed.
    unsafe { InitPlugin(std::ptr::null_mut::<c_void>()) };
}
