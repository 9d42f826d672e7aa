//! Fallbacks: an implementation with holes behaves as one without, or says why it cannot.

mod minimal;

use minimal::minimal;
use tenon::device::*;
use tenon::{DevicePtr, HostPtr};

minimal!(tenon::device => Minimal {});

static MINIMAL: Minimal = Minimal;

fn whole() -> WithFallbacks<&'static Minimal> {
    WithFallbacks(&MINIMAL)
}

const ID: DeviceId = DeviceId(0);

/// Reads device memory.
fn read(device: &impl Device, at: DevicePtr, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    device.memory_copy_d2h(ID, &mut bytes, at).unwrap();
    bytes
}

#[test]
fn absent_without_fallback_is_an_error_with_the_name() {
    let error = MINIMAL.device_memory_set(ID, DevicePtr::NULL, 0, 4).unwrap_err();
    assert_eq!(error.status, Status::FAILED);
    assert_eq!(error.message, "`device_memory_set` is not implemented by this device");
}

#[test]
fn memory_set_goes_through_a_host_buffer() {
    let device = whole();
    let memory = device.device_memory_allocate(ID, 8).unwrap();
    device.memory_copy_h2d(ID, memory, b"........").unwrap();
    device.device_memory_set(ID, memory.checked_add(2).unwrap(), b'x', 3).unwrap();
    assert_eq!(read(&device, memory, 8), b"..xxx...");
    device.device_memory_deallocate(ID, memory, 8).unwrap();
}

#[test]
fn pinned_memory_is_pageable_memory() {
    let device = whole();
    let memory = device.host_memory_allocate(ID, 100).unwrap();
    assert_eq!(memory.addr() % 64, 0);
    // SAFETY: the memory has 100 bytes, and nobody else uses it.
    unsafe { memory.as_ptr().cast::<u8>().write_bytes(7, 100) };
    let of_device = device.device_memory_allocate(ID, 100).unwrap();
    device.async_memory_copy_h2d(ID, Stream::NULL, of_device, memory, 100).unwrap();
    assert_eq!(read(&device, of_device, 100), [7; 100]);
    for (id, ptr, size) in [(DeviceId(1), memory, 100), (ID, memory, 99), (ID, HostPtr::from_addr(64), 100)] {
        let error = device.host_memory_deallocate(id, ptr, size).unwrap_err();
        assert_eq!(error.status, Status::ERROR);
        assert!(error.message.contains("is not pinned host memory"), "{}", error.message);
    }
    device.host_memory_deallocate(ID, memory, 100).unwrap();
    device.host_memory_deallocate(ID, memory, 100).unwrap_err();
    device.host_memory_deallocate(ID, HostPtr::NULL, 0).unwrap();
    device.device_memory_deallocate(ID, of_device, 100).unwrap();
    assert!(
        device.host_memory_allocate(DeviceId(9), 1).unwrap_err().message.contains("there is no device 9")
    );
    assert!(device.host_memory_allocate(ID, usize::MAX).unwrap().is_null());
    let empty = device.host_memory_allocate(ID, 0).unwrap();
    device.host_memory_deallocate(ID, empty, 0).unwrap();
}

#[test]
fn copies_of_every_kind_fall_back_to_the_two_that_are_required() {
    let device = whole();
    let (a, b) =
        (device.device_memory_allocate(ID, 4).unwrap(), device.device_memory_allocate(ID, 4).unwrap());
    let source = *b"abcd";
    device.async_memory_copy_h2d(ID, Stream::NULL, a, HostPtr::from_ptr(source.as_ptr()), 4).unwrap();
    device.memory_copy_d2d(ID, b, a, 4).unwrap();
    assert_eq!(read(&device, b, 4), source);
    device.memory_copy_h2d(ID, a, b"efgh").unwrap();
    device.async_memory_copy_d2d(ID, Stream::NULL, b, a, 2).unwrap();
    assert_eq!(read(&device, b, 4), b"efcd");
    device.memory_copy_p2p(DeviceId(1), ID, b, a, 4).unwrap();
    assert_eq!(read(&device, b, 4), b"efgh");
    device.memory_copy_h2d(ID, a, b"ijkl").unwrap();
    device.async_memory_copy_p2p(DeviceId(1), ID, Stream::NULL, b, a, 4).unwrap();
    let mut back = [0u8; 4];
    device.async_memory_copy_d2h(ID, Stream::NULL, HostPtr::from_ptr(back.as_mut_ptr()), b, 4).unwrap();
    assert_eq!(&back, b"ijkl");
    device.device_memory_deallocate(ID, a, 4).unwrap();
    device.device_memory_deallocate(ID, b, 4).unwrap();
}

#[test]
fn elapsed_time_has_no_emulation() {
    let device = whole();
    let event = device.create_event(ID).unwrap();
    let error = device.event_elapsed_time(ID, event, event).unwrap_err();
    assert_eq!(error.status, Status::FAILED);
    assert_eq!(error.message, "This device does not measure the time between events.");
    device.destroy_event(ID, event).unwrap();
}

#[test]
fn fill_repeats_the_pattern_in_every_length() {
    let device = whole();
    for (pattern, count) in [(&b"x"[..], 7), (b"ab", 3), (b"abcdefgh", 30_000), (b"0123456789abcdef", 4097)] {
        let size = pattern.len() * count;
        let memory = device.device_memory_allocate(ID, size + 2).unwrap();
        device.memory_copy_h2d(ID, memory, &vec![b'.'; size + 2]).unwrap();
        let start = memory.checked_add(1).unwrap();
        device.async_memory_fill(ID, Stream::NULL, start, pattern, size).unwrap();
        let expected = [b".", &pattern.repeat(count)[..], b"."].concat();
        assert!(read(&device, memory, size + 2) == expected, "{count} times {pattern:?}");
        device.device_memory_deallocate(ID, memory, size + 2).unwrap();
    }
    device.async_memory_fill(ID, Stream::NULL, DevicePtr::NULL, b"x", 0).unwrap();
}

#[test]
fn fill_refuses_other_lengths() {
    for (pattern, size, why) in [(&b""[..], 8, "is 0"), (b"abc", 9, "is 3"), (b"abcd", 6, "not a multiple")] {
        let refused = whole().async_memory_fill(ID, Stream::NULL, DevicePtr::NULL, pattern, size);
        let error = refused.unwrap_err();
        assert_eq!(error.status, Status::ERROR);
        assert!(error.message.contains(why), "{error}");
    }
}

#[test]
fn a_device_without_streams_has_one_that_is_always_done() {
    let device = whole();
    let stream = device.create_stream(ID).unwrap();
    assert_eq!(stream, Stream::NULL);
    assert!(device.query_stream(ID, stream).unwrap());
    device.synchronize_stream(ID, stream).unwrap();
    let event = device.create_event(ID).unwrap();
    device.stream_wait_event(ID, stream, event).unwrap();
    assert!(device.query_event(ID, event).unwrap());
    device.destroy_stream(ID, stream).unwrap();
}

#[test]
fn constants_are_those_of_the_spec() {
    let device = whole();
    let stats = device.device_memory_stats(ID).unwrap();
    assert_eq!((stats.total_memory, stats.free_memory), (0, 0));
    assert_eq!(device.device_min_chunk_size(ID).unwrap(), 256);
    assert_eq!(device.device_extra_padding_size(ID).unwrap(), 0);
    assert_eq!(device.get_max_grid_dim_size(ID).unwrap(), [0, 0, 0]);
    assert!(!device.is_float16_supported(ID).unwrap());
    assert_eq!(device.get_driver_version(ID).unwrap(), 0);
}

#[test]
fn sizes_follow_the_free_memory() {
    // There are no memory statistics here, so the free memory is 0.
    let error = whole().device_max_chunk_size(ID).unwrap_err();
    assert_eq!(error.message, "the device has no free memory");
}

#[test]
fn a_refusal_says_what_the_spec_says() {
    let error = whole().cuda_stream_begin_capture(ID, Stream::NULL, CaptureMode::GLOBAL).unwrap_err();
    assert_eq!(error.status, Status::FAILED);
    assert!(!error.message.is_empty());
}
