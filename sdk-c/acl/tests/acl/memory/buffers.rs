//! Tests of message buffers: reference counts, private data and chains.

use tenon_acl::api::*;

use crate::test_runtime::{any, distant_runtime, ready_runtime, refused, runtime};

#[test]
fn buffer_is_written_through_to_its_memory() {
    for runtime in [runtime(), distant_runtime()] {
        runtime.rt_set_device(0).unwrap();
        let buffer = runtime.rt_alloc_buf(1000).unwrap();
        let RtGetBufData { data_ptr, size } = runtime.rt_get_buf_data(buffer).unwrap();
        assert_eq!((size, runtime.rt_get_buf_data_len(buffer)), (1000, Ok(0)));
        // SAFETY: it is that long.
        unsafe { data_ptr.bytes_mut(size).fill(7) };
        runtime.rt_set_buf_data_len(buffer, 1000).unwrap();
        refused(AclError::RT_PARAM_INVALID, runtime.rt_set_buf_data_len(buffer, 1001));
        assert_eq!(runtime.rt_get_buf_data_len(buffer), Ok(1000));

        let memory = runtime.rt_malloc(1000, MemMallocPolicy::HUGE_FIRST).unwrap();
        let stream = runtime.rt_create_stream().unwrap();
        let (there, back) = (MemcpyKind::HOST_TO_DEVICE, MemcpyKind::DEVICE_TO_HOST);
        runtime.rt_memcpy_async(any(memory), 1000, any(data_ptr), 1000, there, stream).unwrap();
        runtime.rt_memset_async(any(memory), 1000, 9, 500, stream).unwrap();
        runtime.rt_memcpy_async(any(data_ptr), 1000, any(memory), 1000, back, stream).unwrap();
        runtime.rt_synchronize_stream(stream).unwrap();
        // SAFETY: as above.
        assert_eq!(unsafe { data_ptr.bytes(1000) }, [[9; 500], [7; 500]].concat());

        runtime.rt_free_buf(buffer).unwrap();
        refused(AclError::RT_INVALID_HANDLE, runtime.rt_free_buf(buffer));
        refused(AclError::RT_INVALID_HANDLE, runtime.rt_get_buf_data(buffer));
        runtime.rt_free(memory).unwrap();
        runtime.rt_reset_device(0).unwrap();
        runtime.end();
    }
}

#[test]
fn memory_is_freed_with_its_last_buffer() {
    let runtime = ready_runtime();
    let nothing = runtime.alive();
    let first = runtime.rt_alloc_buf(64).unwrap();
    let something = runtime.alive();
    assert!(something > nothing);
    runtime.rt_set_buf_data_len(first, 8).unwrap();
    runtime.rt_set_buf_user_data(first, b"note", 92).unwrap();
    let second = runtime.rt_copy_buf_ref(first).unwrap();
    assert_ne!(first, second);
    let [place, other] = [first, second].map(|buffer| runtime.rt_get_buf_data(buffer).unwrap().data_ptr);
    assert_eq!(place, other);

    // It starts as a copy of the other one, and is independent from then on.
    let mut note = [0; 4];
    runtime.rt_get_buf_user_data(second, &mut note, 92).unwrap();
    assert_eq!((&note, runtime.rt_get_buf_data_len(second)), (b"note", Ok(8)));
    runtime.rt_set_buf_data_len(second, 64).unwrap();
    runtime.rt_set_buf_user_data(second, b"NOTE", 92).unwrap();
    runtime.rt_get_buf_user_data(first, &mut note, 92).unwrap();
    assert_eq!((&note, runtime.rt_get_buf_data_len(first)), (b"note", Ok(8)));

    runtime.rt_free_buf(first).unwrap();
    assert_eq!(runtime.alive(), something);
    let RtGetBufData { data_ptr, size } = runtime.rt_get_buf_data(second).unwrap();
    // SAFETY: it is that long.
    unsafe { data_ptr.bytes_mut(size).fill(1) };
    runtime.rt_free_buf(second).unwrap();
    assert_eq!(runtime.alive(), nothing);
    refused(AclError::RT_PARAM_INVALID, runtime.rt_free_host(data_ptr));
    runtime.reset_and_end();
}

#[test]
fn notes_have_96_bytes() {
    let runtime = ready_runtime();
    let buffer = runtime.rt_alloc_buf(1).unwrap();
    let mut all = [1; 96];
    runtime.rt_get_buf_user_data(buffer, &mut all, 0).unwrap();
    assert_eq!(all, [0; 96]);
    runtime.rt_set_buf_user_data(buffer, &[2; 96], 0).unwrap();
    runtime.rt_set_buf_user_data(buffer, &[3], 95).unwrap();
    runtime.rt_set_buf_user_data(buffer, &[], 96).unwrap();
    runtime.rt_get_buf_user_data(buffer, &mut all, 0).unwrap();
    assert_eq!((all[94], all[95]), (2, 3));
    for (size, offset) in [(97, 0), (1, 96), (0, 97), (8, usize::MAX)] {
        let mut bytes = vec![0; size];
        refused(AclError::RT_PARAM_INVALID, runtime.rt_set_buf_user_data(buffer, &bytes, offset));
        refused(AclError::RT_PARAM_INVALID, runtime.rt_get_buf_user_data(buffer, &mut bytes, offset));
    }
    runtime.rt_free_buf(buffer).unwrap();
    runtime.reset_and_end();
}

#[test]
fn chain_is_addressed_by_its_first_buffer() {
    let runtime = ready_runtime();
    let buffers: Vec<_> = (0..4).map(|_| runtime.rt_alloc_buf(8).unwrap()).collect();
    let head = buffers[0];
    assert_eq!(runtime.rt_get_buf_chain_num(head), Ok(1));
    assert_eq!(runtime.rt_get_buf_from_chain(head, 0), Ok(head));
    for (index, buffer) in buffers.iter().enumerate().skip(1) {
        runtime.rt_append_buf_chain(head, *buffer).unwrap();
        assert_eq!(runtime.rt_get_buf_chain_num(head), Ok(u32::try_from(index).unwrap() + 1));
    }
    for (index, buffer) in buffers.iter().enumerate() {
        assert_eq!(runtime.rt_get_buf_from_chain(head, u32::try_from(index).unwrap()), Ok(*buffer));
    }
    refused(AclError::RT_PARAM_INVALID, runtime.rt_get_buf_from_chain(head, 4));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_get_buf_chain_num(buffers[1]));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_get_buf_from_chain(buffers[1], 0));

    let alone = runtime.rt_alloc_buf(8).unwrap();
    refused(AclError::RT_PARAM_INVALID, runtime.rt_append_buf_chain(alone, alone));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_append_buf_chain(alone, buffers[2]));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_append_buf_chain(alone, head));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_append_buf_chain(buffers[2], alone));

    // Freeing one buffer keeps the others in the chain; freeing the first one ends the chain.
    runtime.rt_free_buf(buffers[2]).unwrap();
    assert_eq!(runtime.rt_get_buf_chain_num(head), Ok(3));
    assert_eq!(runtime.rt_get_buf_from_chain(head, 2), Ok(buffers[3]));
    runtime.rt_free_buf(head).unwrap();
    assert_eq!(runtime.rt_get_buf_chain_num(buffers[1]), Ok(1));
    runtime.rt_append_buf_chain(buffers[3], buffers[1]).unwrap();
    for buffer in [buffers[1], buffers[3], alone] {
        runtime.rt_free_buf(buffer).unwrap();
    }
    runtime.reset_and_end();
}

#[test]
fn chain_has_at_most_128_buffers() {
    let runtime = ready_runtime();
    let head = runtime.rt_alloc_buf(8).unwrap();
    let behind: Vec<_> = (0..128).map(|_| runtime.rt_copy_buf_ref(head).unwrap()).collect();
    for buffer in &behind[..127] {
        runtime.rt_append_buf_chain(head, *buffer).unwrap();
    }
    refused(AclError::RT_PARAM_INVALID, runtime.rt_append_buf_chain(head, behind[127]));
    assert_eq!(runtime.rt_get_buf_chain_num(head), Ok(128));
    runtime.rt_free_buf(behind[0]).unwrap();
    runtime.rt_append_buf_chain(head, behind[127]).unwrap();
    for buffer in behind[1..].iter().chain([&head]) {
        runtime.rt_free_buf(*buffer).unwrap();
    }
    runtime.reset_and_end();
}

#[test]
fn sizes_and_handles_are_checked() {
    let runtime = runtime();
    refused(AclError::RT_CONTEXT_NULL, runtime.rt_alloc_buf(8));
    runtime.rt_set_device(0).unwrap();
    refused(AclError::INVALID_PARAM, runtime.rt_alloc_buf(0));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_alloc_buf((4 << 30) + 1));
    let buffer = runtime.rt_alloc_buf(8).unwrap();
    let event = runtime.rt_create_event().unwrap();
    for handle in [Mbuf::from_addr(64), Mbuf::from_addr(event.addr())] {
        refused(AclError::RT_INVALID_HANDLE, runtime.rt_free_buf(handle));
        refused(AclError::RT_INVALID_HANDLE, runtime.rt_copy_buf_ref(handle));
        refused(AclError::RT_INVALID_HANDLE, runtime.rt_append_buf_chain(buffer, handle));
        refused(AclError::RT_INVALID_HANDLE, runtime.rt_append_buf_chain(handle, buffer));
        refused(AclError::RT_INVALID_HANDLE, runtime.rt_get_buf_chain_num(handle));
    }
    refused(AclError::INVALID_PARAM, runtime.rt_free_buf(Mbuf::NULL));
    // It outlives the device, as all host memory does.
    let place = || runtime.rt_get_buf_data(buffer).unwrap().data_ptr;
    let before = place();
    runtime.rt_destroy_event(event).unwrap();
    runtime.rt_reset_device(0).unwrap();
    assert_eq!(place(), before);
    // SAFETY: it has 8 bytes.
    unsafe { before.bytes_mut(8).fill(1) };
    runtime.rt_free_buf(buffer).unwrap();
    runtime.end();
}
