//! Tests of copies of every kind, and of fills.

use tenon::AnyPtr;
use tenon_acl::api::*;

use crate::test_runtime::{Hold, any, host_function, ready_runtime, refused, runtime};

const HUGE_FIRST: MemMallocPolicy = MemMallocPolicy::HUGE_FIRST;

#[test]
fn addresses_determine_the_direction_of_a_copy() {
    let runtime = ready_runtime();
    let [one, two] = [(); 2].map(|()| runtime.rt_malloc(64, HUGE_FIRST).unwrap());
    let pinned = runtime.rt_malloc_host(64).unwrap();
    let mut source: Vec<u8> = (0..64).collect();
    let mut target = vec![0u8; 64];
    for kind in (0..8).map(MemcpyKind) {
        // The kind is a hint, except that it decides for an unknown address whether it is device memory.
        let is_from_device = [2, 3, 6, 7].contains(&kind.0);
        let is_to_device = [1, 3, 5, 6, 7].contains(&kind.0);
        let copy = |dst, src| runtime.rt_memcpy(dst, 64, src, 64, kind);
        runtime.rt_memset(any(pinned), 64, kind.0, 64).unwrap();
        copy(any(one), any(pinned)).unwrap();
        copy(any(two), any(one)).unwrap();
        if !is_to_device {
            copy(any(&mut target[..]), any(two)).unwrap();
            assert_eq!(target, [kind.0 as u8; 64]);
        }
        if !is_from_device {
            copy(any(one), any(&mut source[..])).unwrap();
            copy(any(pinned), any(one)).unwrap();
            // SAFETY: it is not written during the check.
            assert_eq!(unsafe { pinned.bytes(64) }, source);
        }
    }
    refused(AclError::INVALID_PARAM, runtime.rt_memcpy(any(one), 64, any(two), 64, MemcpyKind(8)));
    refused(AclError::INVALID_PARAM, runtime.rt_memcpy(any(one), 64, any(two), 64, MemcpyKind(-1)));
    runtime.rt_free(one).unwrap();
    runtime.rt_free(two).unwrap();
    runtime.rt_free_host(pinned).unwrap();
    runtime.reset_and_end();
}

#[test]
fn copies_stay_within_their_memory() {
    let runtime = ready_runtime();
    let memory = runtime.rt_malloc(64, HUGE_FIRST).unwrap();
    let mut bytes = vec![1u8; 4096];
    let host = any(&mut bytes[..]);
    let kind = MemcpyKind::HOST_TO_DEVICE;
    refused(AclError::INVALID_PARAM, runtime.rt_memcpy(AnyPtr::NULL, 64, host, 64, kind));
    refused(AclError::INVALID_PARAM, runtime.rt_memcpy(any(memory), 64, AnyPtr::NULL, 64, kind));
    let text = refused(AclError::RT_PARAM_INVALID, runtime.rt_memcpy(any(memory), 63, host, 64, kind));
    assert!(text.contains("63") && text.contains("64"), "{text}");
    refused(AclError::RT_PARAM_INVALID, runtime.rt_memcpy(any(memory), 97, host, 97, kind));
    runtime.rt_memcpy(any(memory), 96, host, 96, kind).unwrap();
    runtime.rt_memcpy(any(memory), 0, host, 0, kind).unwrap();
    let end = AnyPtr::from_addr(memory.addr() + 90);
    runtime.rt_memcpy(end, 6, host, 6, kind).unwrap();
    refused(AclError::RT_PARAM_INVALID, runtime.rt_memcpy(end, 7, host, 7, kind));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_memcpy(host, 64, end, 64, MemcpyKind::DEVICE_TO_HOST));
    runtime.rt_free(memory).unwrap();
    // The device detects freed memory and refuses the copy.
    refused(AclError::RT_PARAM_INVALID, runtime.rt_memcpy(any(memory), 64, host, 64, kind));
    runtime.rt_reset_device(0).unwrap();
    drop(runtime);
}

#[test]
fn asynchronous_copies_keep_the_order_of_their_stream() {
    let runtime = ready_runtime();
    let stream = runtime.rt_create_stream().unwrap();
    let size = 1 << 16;
    let memory = runtime.rt_malloc(size, HUGE_FIRST).unwrap();
    let [up, down] = [(); 2].map(|()| runtime.rt_malloc_host(size).unwrap());
    // SAFETY: just allocated.
    unsafe { up.bytes_mut(size) }.fill(1);
    let hold = Hold::on(&runtime, stream);
    runtime.rt_memcpy_async(any(memory), size, any(up), size, MemcpyKind::HOST_TO_DEVICE, stream).unwrap();
    runtime.rt_memset_async(any(memory), size, 0x102, size / 2, stream).unwrap();
    runtime.rt_memcpy_async(any(down), size, any(memory), size, MemcpyKind::DEVICE_TO_HOST, stream).unwrap();
    // SAFETY: the stream has not reached the copy.
    unsafe { up.bytes_mut(size) }.fill(7);
    hold.open();
    runtime.rt_synchronize_stream(stream).unwrap();
    // SAFETY: the stream is done.
    let got = unsafe { down.bytes(size) };
    assert!(got[..size / 2].iter().all(|byte| *byte == 2) && got[size / 2..].iter().all(|byte| *byte == 7));
    let host = |stream| runtime.rt_memcpy_async(any(up), 8, any(down), 8, MemcpyKind::HOST_TO_HOST, stream);
    refused(AclError::RT_FEATURE_NOT_SUPPORT, host(stream));
    runtime.rt_memcpy_async_with_condition(any(up), 8, any(down), 8, MemcpyKind::DEFAULT, stream).unwrap();
    // SAFETY: as above.
    assert_eq!(unsafe { up.bytes(9) }, [2, 2, 2, 2, 2, 2, 2, 2, 7]);
    runtime.rt_free(memory).unwrap();
    runtime.rt_free_host(up).unwrap();
    runtime.rt_free_host(down).unwrap();
    runtime.rt_destroy_stream(stream).unwrap();
    runtime.reset_and_end();
}

#[test]
fn pageable_memory_is_free_when_the_call_returns() {
    let runtime = ready_runtime();
    let stream = runtime.rt_create_stream().unwrap();
    let size = 1 << 18;
    let memory = runtime.rt_malloc(size, HUGE_FIRST).unwrap();
    for value in 0..20 {
        let mut source = vec![value; size];
        let copy = MemcpyKind::HOST_TO_DEVICE;
        runtime.rt_memcpy_async(any(memory), size, any(&mut source[..]), size, copy, stream).unwrap();
        source.fill(0xff);
        drop(source);
        let mut target = vec![0u8; size];
        let copy = MemcpyKind::DEVICE_TO_HOST;
        runtime.rt_memcpy_async(any(&mut target[..]), size, any(memory), size, copy, stream).unwrap();
        assert!(target.iter().all(|byte| *byte == value));
    }
    runtime.rt_free(memory).unwrap();
    runtime.rt_destroy_stream(stream).unwrap();
    runtime.reset_and_end();
}

#[test]
fn copies_of_rows_keep_the_bytes_between_them() {
    let runtime = ready_runtime();
    let stream = runtime.rt_create_stream().unwrap();
    let memory = runtime.rt_malloc(64, HUGE_FIRST).unwrap();
    let mut source: Vec<u8> = (0..64).collect();
    let mut target = vec![0u8; 30];
    let (from, to) = (any(&mut source[..]), any(&mut target[..]));
    let (up, down) = (MemcpyKind::HOST_TO_DEVICE, MemcpyKind::DEVICE_TO_HOST);
    runtime.rt_memset(any(memory), 64, 0xee, 64).unwrap();
    // Three rows of four bytes: eight apart there, sixteen apart here.
    runtime.rt_memcpy2d(any(memory), 8, from, 16, 4, 3, up).unwrap();
    runtime.rt_memcpy2d_async(to, 10, any(memory), 8, 8, 3, down, stream).unwrap();
    runtime.rt_synchronize_stream(stream).unwrap();
    let row = |first: u8| [first, first + 1, first + 2, first + 3, 0xee, 0xee, 0xee, 0xee, 0, 0];
    assert_eq!(target, [row(0), row(16), row(32)].concat());
    refused(AclError::RT_PARAM_INVALID, runtime.rt_memcpy2d(any(memory), 3, from, 16, 4, 3, up));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_memcpy2d(any(memory), 8, from, 3, 4, 3, up));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_memcpy2d(any(memory), 48, from, 16, 4, 4, up));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_memcpy2d(any(memory), usize::MAX, from, 16, 4, 3, up));
    refused(
        AclError::RT_FEATURE_NOT_SUPPORT,
        runtime.rt_memcpy2d(any(memory), 8, from, 16, 4, 3, MemcpyKind(0)),
    );
    refused(AclError::INVALID_PARAM, runtime.rt_memcpy2d(any(memory), 8, from, 16, 4, 3, MemcpyKind(9)));
    runtime.rt_memcpy2d(any(memory), 8, from, 16, 0, 3, up).unwrap();
    runtime.rt_memcpy2d(any(memory), 8, from, 16, 4, 0, up).unwrap();
    runtime.rt_free(memory).unwrap();
    runtime.reset_and_end();
}

#[test]
fn fills_write_bytes_and_words() {
    let runtime = ready_runtime();
    let stream = runtime.rt_create_stream().unwrap();
    // More than is copied at once.
    let size = (2 << 20) + 12;
    let memory = runtime.rt_malloc(size, HUGE_FIRST).unwrap();
    let host = runtime.rt_malloc_host(size).unwrap();
    let read = || {
        runtime.rt_memcpy(any(host), size, any(memory), size, MemcpyKind::DEFAULT).unwrap();
        // SAFETY: it is not written during the check.
        unsafe { host.bytes(size) }.to_vec()
    };
    runtime.rt_memset(any(memory), size, -1, size).unwrap();
    assert!(read().iter().all(|byte| *byte == 0xff));
    runtime.rt_memset_async(any(memory), size, 0x55, size, stream).unwrap();
    runtime.rt_synchronize_stream(stream).unwrap();
    assert!(read().iter().all(|byte| *byte == 0x55));
    let words = |bytes: &[u8], word: u32| bytes.chunks(4).all(|chunk| chunk == word.to_ne_bytes());
    runtime.rt_memset_d32(any(memory), size, 0x0102_0304, size / 4).unwrap();
    assert!(words(&read(), 0x0102_0304));
    runtime.rt_memset_d32_async(any(memory), size, 0x0a0b_0c0d, size / 4, stream).unwrap();
    runtime.rt_synchronize_stream(stream).unwrap();
    assert!(words(&read(), 0x0a0b_0c0d));
    runtime.rt_memset(any(host), size, 3, 5).unwrap();
    // SAFETY: it is not written during the check.
    assert_eq!(unsafe { host.bytes(6) }, [3, 3, 3, 3, 3, 0x0c]);
    refused(AclError::INVALID_PARAM, runtime.rt_memset(AnyPtr::NULL, 8, 0, 8));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_memset(any(memory), 7, 0, 8));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_memset_d32(any(memory), 7, 0, 2));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_memset_d32(any(memory), usize::MAX, 0, usize::MAX / 2));
    let odd = AnyPtr::from_addr(memory.addr() + 2);
    refused(AclError::RT_ADDR_UNALIGNED, runtime.rt_memset_d32(odd, 8, 0, 2));
    runtime.rt_memset(any(memory), 8, 0, 0).unwrap();
    runtime.rt_free(memory).unwrap();
    runtime.rt_free_host(host).unwrap();
    runtime.reset_and_end();
}

#[test]
fn batch_has_at_most_4096_copies() {
    let runtime = ready_runtime();
    let memory = runtime.rt_malloc(4097, MemMallocPolicy::HUGE_FIRST).unwrap();
    let host = vec![7_u8; 4097];
    let start = AnyPtr::from_ptr(host.as_ptr().cast_mut());
    let device = MemLocation { id: 0, r#type: MemLocationType::DEVICE };
    let of_host = MemLocation { id: 0, r#type: MemLocationType::HOST };
    let attrs = [MemcpyBatchAttr { dst_loc: device, src_loc: of_host, rsv: [0; 16] }];
    for (copies, status) in [(4096, None), (4097, Some(AclError::RT_PARAM_INVALID))] {
        let places = |start: usize| (0..copies).map(|at| AnyPtr::from_addr(start + at)).collect::<Vec<_>>();
        let (dsts, srcs, sizes) = (places(memory.addr()), places(start.addr()), vec![1; copies]);
        let mut failed = [0];
        let done = runtime.rt_memcpy_batch(&dsts, &sizes, &srcs, &sizes, &attrs, &[0], &mut failed);
        assert_eq!(done.err().map(|error| error.status), status, "{copies} copies");
        assert_eq!(failed, [if status.is_some() { usize::MAX } else { 0 }]);
    }
    runtime.rt_free(memory).unwrap();
    runtime.reset_and_end();
}

#[test]
fn batch_copy_reports_the_failed_one() {
    let runtime = ready_runtime();
    let memory = runtime.rt_malloc(64, HUGE_FIRST).unwrap();
    let mut source: Vec<u8> = (0..32).collect();
    let mut target = [0u8; 32];
    let at = |offset: usize| AnyPtr::from_addr(memory.addr() + offset);
    let (from, to) = (any(&mut source[..]), any(&mut target[..]));
    let location = |r#type| MemLocation { id: 0, r#type };
    let attr = |to, from| MemcpyBatchAttr { dst_loc: location(to), src_loc: location(from), rsv: [0; 16] };
    let (host, device) = (MemLocationType::HOST, MemLocationType::DEVICE);
    let attrs = [attr(device, host), attr(host, device)];
    let (dsts, srcs) = ([at(0), at(16), to], [from, from, at(0)]);
    let (room, sizes) = ([64, 48, 32], [16, 16, 32]);
    let mut failed = [7];
    runtime.rt_memcpy_batch(&dsts, &room, &srcs, &sizes, &attrs, &[0, 2], &mut failed).unwrap();
    assert_eq!((&target[..16], &target[16..], failed), (&source[..16], &source[..16], [7]));
    let batch = |sizes: &[usize; 3], indexes: &[usize], failed: &mut [usize]| {
        runtime.rt_memcpy_batch(&dsts, &room, &srcs, sizes, &attrs, indexes, failed)
    };
    refused(AclError::RT_PARAM_INVALID, batch(&[16, 49, 32], &[0, 2], &mut failed));
    assert_eq!(failed, [1]);
    refused(AclError::INVALID_PARAM, batch(&sizes, &[0, 3], &mut failed));
    assert_eq!(failed, [usize::MAX]);
    refused(AclError::INVALID_PARAM, batch(&sizes, &[1, 2], &mut failed));
    let stream = runtime.rt_create_stream().unwrap();
    target.fill(0);
    runtime.rt_memcpy_batch_async_v2(&dsts, &room, &srcs, &sizes, &attrs, &[0, 2], stream).unwrap();
    runtime.rt_synchronize_stream(stream).unwrap();
    assert_eq!(target[16..], source[..16]);
    runtime.rt_free(memory).unwrap();
    runtime.reset_and_end();
}

#[test]
fn a_stream_copies_and_fills_memory_of_another_device() {
    let runtime = runtime();
    runtime.rt_set_device(1).unwrap();
    let [one, two] = [(); 2].map(|()| runtime.rt_malloc(64, HUGE_FIRST).unwrap());
    runtime.rt_set_device(0).unwrap();
    let stream = runtime.rt_create_stream().unwrap();
    let pinned = runtime.rt_malloc_host(64).unwrap();
    let (mut source, mut target): (Vec<u8>, _) = ((0..64).collect(), vec![0u8; 64]);
    let copy = |dst, src| runtime.rt_memcpy_async(dst, 64, src, 64, MemcpyKind::DEFAULT, stream);
    let function = host_function(move || {
        // SAFETY: only this test uses it until the stream has passed.
        unsafe { pinned.bytes_mut(64) }.fill(7);
    });
    runtime.rt_launch_host_func(stream, function).unwrap();
    copy(any(one), any(pinned)).unwrap();
    copy(any(two), any(one)).unwrap();
    copy(any(&mut target[..]), any(two)).unwrap();
    assert_eq!(target, [7; 64]);
    copy(any(one), any(&mut source[..])).unwrap();
    copy(any(pinned), any(one)).unwrap();
    runtime.rt_memset_async(any(one), 64, 9, 32, stream).unwrap();
    copy(any(&mut target[..]), any(one)).unwrap();
    runtime.rt_synchronize_stream(stream).unwrap();
    // SAFETY: the stream is done.
    assert_eq!(unsafe { pinned.bytes(64) }, source);
    assert_eq!((&target[..32], &target[32..]), (&[9; 32][..], &source[32..]));
    runtime.rt_free_host(pinned).unwrap();
    runtime.rt_reset_device(0).unwrap();
    runtime.rt_reset_device(1).unwrap();
    runtime.end();
}
