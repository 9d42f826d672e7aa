//! Tests of less common functions: events with a flag, cache hints in descriptors, copies whose addresses are in
//! memory, the attributes of addresses, and the properties of devices.

use tenon::{AnyPtr, DevicePtr, HostPtr};
use tenon_acl::api::*;

use crate::test_runtime::{
    Hold, any, distant_runtime, host_function, physical_of, ready_runtime, refused, runtime,
};

const HUGE_FIRST: MemMallocPolicy = MemMallocPolicy::HUGE_FIRST;
const INNER: MemcpyKind = MemcpyKind::INNER_DEVICE_TO_DEVICE;

#[test]
fn record_and_wait_with_flag_0_are_plain() {
    let runtime = ready_runtime();
    let [first, second] = [(); 2].map(|()| runtime.rt_create_stream().unwrap());
    let event = runtime.rt_create_event_ex_with_flag(1).unwrap();
    let hold = Hold::on(&runtime, first);
    runtime.rt_record_event_with_flag(event, first, 0).unwrap();
    assert_eq!(runtime.rt_query_event_status(event), Ok(EventRecordedStatus::NOT_READY));
    for timeout in [0, 3600, u32::MAX] {
        runtime.rt_stream_wait_event_with_flag(second, event, timeout, 0).unwrap();
    }
    assert_eq!(runtime.rt_stream_query(second), Ok(StreamStatus::NOT_READY));
    hold.open();
    runtime.rt_synchronize_stream(second).unwrap();
    assert_eq!(runtime.rt_query_event_status(event), Ok(EventRecordedStatus::COMPLETE));

    refused(AclError::RT_FEATURE_NOT_SUPPORT, runtime.rt_record_event_with_flag(event, first, 1));
    refused(AclError::INVALID_PARAM, runtime.rt_record_event_with_flag(event, first, 2));
    refused(AclError::RT_FEATURE_NOT_SUPPORT, runtime.rt_stream_wait_event_with_flag(second, event, 0, 1));
    refused(AclError::INVALID_PARAM, runtime.rt_stream_wait_event_with_flag(second, event, 0, 2));
    refused(AclError::INVALID_PARAM, runtime.rt_record_event_with_flag(Event::NULL, first, 0));
    runtime.rt_destroy_event(event).unwrap();
    runtime.reset_and_end();
}

#[test]
fn wait_past_its_timeout_fails_the_stream() {
    let runtime = ready_runtime();
    let [first, second] = [(); 2].map(|()| runtime.rt_create_stream().unwrap());
    let event = runtime.rt_create_event_ex_with_flag(1).unwrap();
    let hold = Hold::on(&runtime, first);
    runtime.rt_record_event(event, first).unwrap();
    runtime.rt_stream_wait_event_with_flag(second, event, 1, 0).unwrap();
    assert!(runtime.rt_synchronize_stream(second).is_err());
    hold.open();
    runtime.rt_synchronize_stream(first).unwrap();
    runtime.rt_destroy_event(event).unwrap();
    runtime.reset_and_end();
}

#[test]
fn cache_hints_are_queued_and_waited_for() {
    let runtime = ready_runtime();
    let stream = runtime.rt_create_stream().unwrap();
    let size = runtime.rt_cmo_get_desc_size().unwrap();
    let (desc, memory) =
        (runtime.rt_malloc(size, HUGE_FIRST).unwrap(), runtime.rt_malloc(100, HUGE_FIRST).unwrap());
    let hint = |kind| runtime.rt_cmo_async_with_desc(desc, kind, stream, AnyPtr::NULL);
    runtime.rt_memset(any(desc), size, 0, size).unwrap();
    refused(AclError::RT_PARAM_INVALID, hint(CmoType::PREFETCH));
    runtime.rt_cmo_set_desc(desc, memory, 100).unwrap();
    for kind in [CmoType::PREFETCH, CmoType::WRITEBACK, CmoType::INVALID, CmoType::FLUSH] {
        hint(kind).unwrap();
    }
    refused(AclError::RT_PARAM_INVALID, hint(CmoType(4)));
    let reserve = AnyPtr::from_addr(8);
    refused(
        AclError::RT_PARAM_INVALID,
        runtime.rt_cmo_async_with_desc(desc, CmoType::FLUSH, stream, reserve),
    );
    refused(AclError::INVALID_PARAM, runtime.rt_cmo_set_desc(desc, memory, 0));
    refused(AclError::INVALID_PARAM, runtime.rt_cmo_set_desc(DevicePtr::NULL, memory, 8));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_cmo_set_desc(desc, memory, 1000));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_cmo_set_desc(memory.checked_add(100).unwrap(), memory, 8));

    runtime.rt_cmo_async_with_barrier(memory, 100, CmoType::INVALID, 3, stream).unwrap();
    refused(
        AclError::RT_PARAM_INVALID,
        runtime.rt_cmo_async_with_barrier(memory, 1000, CmoType::INVALID, 3, stream),
    );
    let hint = BarrierCmoInfo { cmo_type: CmoType::INVALID, barrier_id: 3 };
    let mut info = BarrierTaskInfo { barrier_num: 1, cmo_info: [hint; 6] };
    runtime.rt_cmo_wait_barrier(&[info], stream, 0).unwrap();
    refused(AclError::RT_PARAM_INVALID, runtime.rt_cmo_wait_barrier(&[info], stream, 1));
    info.cmo_info[5].cmo_type = CmoType(9);
    runtime.rt_cmo_wait_barrier(&[info], stream, 0).unwrap();
    info.barrier_num = 6;
    refused(AclError::RT_PARAM_INVALID, runtime.rt_cmo_wait_barrier(&[info], stream, 0));
    info.barrier_num = 7;
    refused(AclError::RT_PARAM_INVALID, runtime.rt_cmo_wait_barrier(&[info], stream, 0));
    // A freed range is detected.
    runtime.rt_free(memory).unwrap();
    let stale = runtime.rt_cmo_async_with_desc(desc, CmoType::FLUSH, stream, AnyPtr::NULL);
    refused(AclError::RT_PARAM_INVALID, stale);
    runtime.rt_free(desc).unwrap();
    runtime.reset_and_end();
}

#[test]
fn indirect_copy_reads_its_addresses_in_stream_order() {
    for runtime in [runtime(), distant_runtime()] {
        runtime.rt_set_device(0).unwrap();
        let stream = runtime.rt_create_stream().unwrap();
        let [from, to, table] = [(); 3].map(|()| runtime.rt_malloc(256, HUGE_FIRST).unwrap());
        let bytes: Vec<u8> = (0..=255).collect();
        let host = AnyPtr::from_ptr(bytes.as_ptr());
        runtime.rt_memcpy(any(from), 256, host, 256, MemcpyKind::HOST_TO_DEVICE).unwrap();
        runtime.rt_memset(any(to), 256, 0, 256).unwrap();
        runtime.rt_memset(any(table), 256, 0, 256).unwrap();
        // Work of the stream fills the table, and is blocked until the copy waits for it.
        let pinned = runtime.rt_malloc_host(16).unwrap();
        // SAFETY: it is that long.
        let addresses = unsafe { pinned.bytes_mut(16) };
        addresses[..8].copy_from_slice(&to.addr().to_ne_bytes());
        addresses[8..].copy_from_slice(&from.addr().to_ne_bytes());
        let (dst, src) = (any(table), any(table.checked_add(8).unwrap()));
        let (sender, receiver) = std::sync::mpsc::channel();
        let (acl, context) = (runtime.shared(), runtime.rt_get_current_context().unwrap());
        // It waits for the stream, which waits for the function in which it is called.
        let too_early = host_function(move || {
            acl.rt_set_current_context(context).unwrap();
            sender.send(acl.rt_memcpy_async_with_offset(dst, 256, 16, src, 100, 50, INNER, stream)).unwrap();
        });
        let hold = Hold::on(&runtime, stream);
        runtime.rt_launch_host_func(stream, too_early).unwrap();
        runtime.rt_memcpy_async(any(table), 16, any(pinned), 16, MemcpyKind::HOST_TO_DEVICE, stream).unwrap();
        hold.open();
        refused(AclError::RT_INTERNAL_ERROR, receiver.recv().unwrap());
        runtime.rt_memcpy_async_with_offset(dst, 256, 16, src, 100, 50, INNER, stream).unwrap();
        // Addresses in host memory also work.
        runtime.rt_memcpy_async_with_offset(any(pinned), 256, 0, src, 1, 255, INNER, stream).unwrap();
        runtime.rt_synchronize_stream(stream).unwrap();
        let mut copied = vec![1; 256];
        let place = AnyPtr::from_ptr(copied.as_mut_ptr());
        runtime.rt_memcpy(place, 256, any(to), 256, MemcpyKind::DEVICE_TO_HOST).unwrap();
        assert_eq!(copied[0], 255);
        assert_eq!(copied[16..116], bytes[50..150]);
        assert_eq!((copied[15], copied[116]), (0, 0));

        let copy = |room, to, count, from| {
            runtime.rt_memcpy_async_with_offset(dst, room, to, src, count, from, INNER, stream)
        };
        copy(0, 0, 0, 0).unwrap();
        refused(AclError::RT_PARAM_INVALID, copy(100, 1, 100, 0));
        refused(AclError::RT_PARAM_INVALID, copy(1000, 200, 100, 0));
        refused(AclError::RT_PARAM_INVALID, copy(1000, 0, 100, 200));
        refused(AclError::RT_PARAM_INVALID, copy(usize::MAX, usize::MAX - 1, 1, 0));
        let default = MemcpyKind::DEFAULT;
        refused(
            AclError::RT_FEATURE_NOT_SUPPORT,
            runtime.rt_memcpy_async_with_offset(dst, 8, 0, src, 8, 0, default, stream),
        );
        refused(
            AclError::INVALID_PARAM,
            runtime.rt_memcpy_async_with_offset(AnyPtr::NULL, 8, 0, src, 8, 0, INNER, stream),
        );
        runtime.rt_memset(any(table), 8, 0, 8).unwrap();
        refused(AclError::INVALID_PARAM, copy(8, 0, 8, 0));
        for memory in [from, to, table] {
            runtime.rt_free(memory).unwrap();
        }
        runtime.rt_free_host(pinned).unwrap();
        runtime.rt_reset_device(0).unwrap();
        runtime.end();
    }
}

#[test]
fn addresses_have_their_location_types() {
    const DEV: u32 = 2;
    const RSVD: u32 = 0x10;
    let runtime = ready_runtime();
    let memory = runtime.rt_malloc(64, HUGE_FIRST).unwrap();
    let host = runtime.rt_malloc_host(64).unwrap();
    let reserved = runtime.rt_reserve_mem_address_no_uc_memory(1, 0, AnyPtr::NULL, 0).unwrap();
    let inside = any(memory.checked_add(63).unwrap());
    let check = |addresses: &[AnyPtr], kinds| runtime.rt_check_mem_type(addresses, kinds, 0);
    assert_eq!(check(&[any(memory), inside], DEV), Ok(1));
    assert_eq!(check(&[any(memory), any(host)], DEV), Ok(0));
    assert_eq!(check(&[reserved], RSVD), Ok(1));
    assert_eq!(check(&[reserved], DEV), Ok(0));
    assert_eq!(check(&[reserved, any(memory)], DEV), Ok(0));
    assert_eq!(check(&[reserved, any(memory)], DEV | RSVD), Ok(1));
    assert_eq!(check(&[any(memory)], 8), Ok(0), "there is no memory for video");
    assert_eq!(check(&[AnyPtr::NULL], DEV | RSVD), Ok(0));
    refused(AclError::INVALID_PARAM, check(&[], DEV));
    for kinds in [0, 1, 0x12 | 4, u32::MAX] {
        refused(AclError::RT_PARAM_INVALID, check(&[inside], kinds));
    }
    refused(AclError::RT_PARAM_INVALID, runtime.rt_check_mem_type(&[inside], DEV, 1));
    runtime.rt_release_mem_address(reserved).unwrap();
    assert_eq!(check(&[reserved], RSVD), Ok(0));
    runtime.rt_free(memory).unwrap();
    runtime.rt_free_host(host).unwrap();
    runtime.reset_and_end();
}

#[test]
fn mapping_without_access_gets_access_later() {
    let runtime = ready_runtime();
    let prop = physical_of(0, MemAttr::HBM_HUGE);
    let location = prop.location;
    let size =
        runtime.rt_mem_get_allocation_granularity(&[prop], MemGranularityOptions::RECOMMENDED).unwrap();
    let range = runtime.rt_reserve_mem_address(size, 0, AnyPtr::NULL, 0).unwrap();
    let piece = runtime.rt_malloc_physical(size, &[prop], 0).unwrap();
    refused(AclError::RT_PARAM_INVALID, runtime.rt_mem_map_no_access(range, size, 1, piece, 0));
    runtime.rt_mem_map_no_access(range, size, 0, piece, 0).unwrap();
    let access = || runtime.rt_mem_get_access(range, &[location]);
    assert_eq!(access(), Ok(0));
    let desc = MemAccessDesc { flags: MemAccessFlags::READWRITE, location, rsv: [0; 12] };
    runtime.rt_mem_set_access(range, size, &[desc]).unwrap();
    assert_eq!(access(), Ok(3));
    // SAFETY: it is mapped, and may be written now.
    unsafe { HostPtr::from_addr(range.addr()).bytes_mut(size).fill(1) };
    runtime.rt_unmap_mem(range).unwrap();
    runtime.rt_free_physical(piece).unwrap();
    runtime.rt_release_mem_address(range).unwrap();
    runtime.reset_and_end();
}

#[test]
fn devices_map_registered_memory_without_atomics() {
    let runtime = runtime();
    assert_eq!(runtime.rt_host_mem_map_capabilities(1, HacType::SDMA), Ok(HostMemMapCapability::SUPPORTED));
    refused(AclError::INVALID_PARAM, runtime.rt_host_mem_map_capabilities(0, HacType(10)));
    refused(AclError::RT_INVALID_DEVICEID, runtime.rt_host_mem_map_capabilities(2, HacType::SDMA));
    let operations = [AtomicOperation::INTEGER_ADD, AtomicOperation::DMA_MAX];
    let mut answers = [7; 2];
    runtime.rt_device_get_host_atomic_capabilities(&mut answers, &operations, 0).unwrap();
    assert_eq!(answers, [0; 2]);
    answers = [7; 2];
    runtime.rt_device_get_p2p_atomic_capabilities(&mut answers, &operations, 0, 1).unwrap();
    assert_eq!(answers, [0; 2]);
    let host = |answers: &mut [u32], operations: &[_], device| {
        runtime.rt_device_get_host_atomic_capabilities(answers, operations, device)
    };
    refused(AclError::INVALID_PARAM, host(&mut [], &[], 0));
    refused(AclError::INVALID_PARAM, host(&mut [0], &[AtomicOperation(13)], 0));
    refused(AclError::RT_INVALID_DEVICEID, host(&mut answers, &operations, 2));
    refused(
        AclError::RT_INVALID_DEVICEID,
        runtime.rt_device_get_p2p_atomic_capabilities(&mut answers, &operations, 0, 2),
    );
    runtime.end();
}

#[test]
fn remote_processes_are_checked_and_ignored() {
    let runtime = ready_runtime();
    let memory = runtime.rt_malloc(64, HUGE_FIRST).unwrap();
    let mut key = [0; 65];
    runtime.rt_ipc_mem_get_export_key(memory, 64, &mut key, 0).unwrap();
    let key = std::ffi::CStr::from_bytes_until_nul(&key).unwrap();
    let servers = [ServerPid { sdid: 3, pid: std::ptr::null_mut(), num: 0 }];
    runtime.rt_ipc_mem_import_pid_inter_server(key, &servers).unwrap();
    refused(AclError::INVALID_PARAM, runtime.rt_ipc_mem_import_pid_inter_server(key, &[]));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_ipc_mem_import_pid_inter_server(c"none", &servers));
    let link = IpcMemAttrType::ACCESS_LINK;
    runtime.rt_ipc_mem_set_attr(key, link, 1).unwrap();
    refused(AclError::RT_PARAM_INVALID, runtime.rt_ipc_mem_set_attr(key, link, 2));
    refused(AclError::INVALID_PARAM, runtime.rt_ipc_mem_set_attr(key, IpcMemAttrType(1), 0));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_ipc_mem_set_attr(c"none", link, 0));
    let notify = runtime.rt_create_notify(0).unwrap();
    runtime.rt_notify_set_import_pid_inter_server(notify, &servers).unwrap();
    refused(AclError::INVALID_PARAM, runtime.rt_notify_set_import_pid_inter_server(notify, &[]));
    let other = Notify::from_addr(64);
    refused(AclError::RT_INVALID_HANDLE, runtime.rt_notify_set_import_pid_inter_server(other, &servers));
    runtime.rt_destroy_notify(notify).unwrap();
    runtime.rt_free(memory).unwrap();
    runtime.reset_and_end();
}

#[test]
fn devices_report_no_damage() {
    let runtime = runtime();
    let room = MemUceInfo { addr: std::ptr::null_mut(), len: 5, reserved: [0; 14] };
    assert_eq!(runtime.rt_get_mem_uce_info(0, &mut [room]), Ok(0));
    refused(AclError::INVALID_PARAM, runtime.rt_get_mem_uce_info(0, &mut []));
    refused(AclError::RT_INVALID_DEVICEID, runtime.rt_get_mem_uce_info(2, &mut [room]));
    let damage = runtime.rt_get_error_verbose(1).unwrap();
    assert_eq!((damage.error_type, damage.try_repair, damage.has_detail), (ErrorType::NONE, 0, 0));
    refused(AclError::RT_INVALID_DEVICEID, runtime.rt_get_error_verbose(-1));
    runtime.end();
}

#[test]
fn overflow_status_by_the_npu_functions() {
    let runtime = ready_runtime();
    let memory = runtime.rt_malloc(64, HUGE_FIRST).unwrap();
    runtime.rt_memset(any(memory), 64, 1, 64).unwrap();
    runtime.rt_npu_clear_float_over_flow_status(0, Stream::NULL).unwrap();
    runtime.rt_npu_get_float_over_flow_status(memory, 64, 0, Stream::NULL).unwrap();
    runtime.rt_synchronize_stream(Stream::NULL).unwrap();
    let mut status = [1_u8; 64];
    let place = AnyPtr::from_ptr(status.as_mut_ptr());
    runtime.rt_memcpy(place, 64, any(memory), 64, MemcpyKind::DEVICE_TO_HOST).unwrap();
    assert_eq!(status, [0; 64]);
    refused(
        AclError::RT_PARAM_INVALID,
        runtime.rt_npu_get_float_over_flow_status(memory, 32, 0, Stream::NULL),
    );
    refused(
        AclError::RT_INVALID_HANDLE,
        runtime.rt_npu_clear_float_over_flow_status(0, Stream::from_addr(64)),
    );
    runtime.rt_free(memory).unwrap();
    runtime.reset_and_end();
}
