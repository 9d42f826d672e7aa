//! Tests of setting and resetting devices, and of the end of the library.

use std::sync::atomic::Ordering;

use tenon_acl::api::*;

use crate::test_runtime::{Hold, Thread, host_function, ready_runtime, refused, runtime};

#[test]
fn init_is_counted_and_finalize_ends_all_counts() {
    let runtime = runtime();
    refused(AclError::REPEAT_FINALIZE, runtime.finalize());
    runtime.init(None).unwrap();
    refused(AclError::REPEAT_INITIALIZE, runtime.init(None));
    assert_eq!(runtime.finalize_reference().unwrap(), 1);
    refused(AclError::REPEAT_INITIALIZE, runtime.init(Some(c"")));
    runtime.finalize().unwrap();
    refused(AclError::REPEAT_FINALIZE, runtime.finalize());
    refused(AclError::REPEAT_FINALIZE, runtime.finalize_reference());
    runtime.init(None).unwrap();
    assert_eq!(runtime.finalize_reference().unwrap(), 0);
    runtime.end();
}

#[test]
fn configuration_file_must_exist() {
    let runtime = runtime();
    let text = refused(AclError::INVALID_FILE, runtime.init(Some(c"/no/such/file.json")));
    assert!(text.contains("/no/such/file.json"), "{text}");
    runtime.init(Some(c"/dev/null")).unwrap();
    runtime.finalize().unwrap();
    runtime.end();
}

#[test]
fn device_is_set_without_init_and_resets_are_counted() {
    let runtime = runtime();
    refused(AclError::RT_CONTEXT_NULL, runtime.rt_get_device());
    refused(AclError::RT_CONTEXT_RELEASE_ERROR, runtime.rt_reset_device(0));
    runtime.rt_set_device(0).unwrap();
    runtime.rt_set_device(0).unwrap();
    assert_eq!(runtime.rt_get_device().unwrap(), 0);
    runtime.rt_reset_device(0).unwrap();
    assert_eq!(runtime.rt_get_device().unwrap(), 0, "one is left");
    runtime.rt_reset_device(0).unwrap();
    refused(AclError::RT_CONTEXT_NULL, runtime.rt_get_device());
    refused(AclError::RT_CONTEXT_RELEASE_ERROR, runtime.rt_reset_device(0));
    assert_eq!(runtime.cpus.open.load(Ordering::SeqCst), 0);
    runtime.end();
}

#[test]
fn unknown_device_is_refused() {
    let runtime = runtime();
    assert_eq!(runtime.rt_get_device_count().unwrap(), 2);
    for wrong in [-1, 2, i32::MAX] {
        let text = refused(AclError::RT_INVALID_DEVICEID, runtime.rt_set_device(wrong));
        assert!(text.contains(&wrong.to_string()), "{text}");
        refused(AclError::RT_INVALID_DEVICEID, runtime.rt_reset_device(wrong));
        refused(AclError::RT_INVALID_DEVICEID, runtime.rt_create_context(wrong));
    }
    assert_eq!(runtime.rt_get_run_mode().unwrap(), RunMode::HOST);
    runtime.end();
}

#[test]
fn without_devices_set_device_fails() {
    let acl = tenon_acl::Runtime::default();
    assert_eq!(acl.rt_get_device_count().unwrap(), 0);
    refused(AclError::RT_NO_DEVICE, acl.rt_set_device(0));
}

#[test]
fn all_threads_share_one_default_context() {
    let runtime = ready_runtime();
    let own = runtime.rt_get_current_context().unwrap();
    let stream = runtime.rt_ctx_get_current_default_stream().unwrap();
    let acl = runtime.shared();
    let thread = Thread::start();
    thread.run(move || {
        refused(AclError::RT_CONTEXT_NULL, acl.rt_get_current_context());
        acl.rt_set_device(0).unwrap();
        assert_eq!(acl.rt_get_current_context().unwrap(), own);
        assert_eq!(acl.rt_ctx_get_current_default_stream().unwrap(), stream);
        acl.rt_reset_device(0).unwrap();
        assert_eq!(acl.rt_get_current_context().unwrap(), own, "the other thread holds it");
    });
    runtime.rt_reset_device(0).unwrap();
    // The other thread's current context went with the device.
    let acl = runtime.shared();
    thread.run(move || drop(refused(AclError::RT_CONTEXT_NULL, acl.rt_create_stream())));
    thread.end();
    runtime.end();
}

#[test]
fn last_reset_waits_and_frees_the_default_context() {
    let runtime = ready_runtime();
    let stream = runtime.rt_create_stream().unwrap();
    let memory = runtime.rt_malloc(64, MemMallocPolicy::HUGE_FIRST).unwrap();
    let hold = Hold::on(&runtime, stream);
    runtime.rt_memset_async(tenon::AnyPtr::from_addr(memory.addr()), 64, 1, 64, stream).unwrap();
    let acl = runtime.shared();
    let thread = Thread::start();
    let reset = thread.begin(move || acl.rt_reset_device(0));
    assert!(reset.try_recv().is_err(), "it waits for the stream");
    hold.open();
    reset.recv().unwrap().unwrap();
    thread.end();
    runtime.rt_set_device(0).unwrap();
    refused(AclError::RT_INVALID_HANDLE, runtime.rt_synchronize_stream(stream));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_free(memory));
    runtime.reset_and_end();
}

#[test]
fn created_context_keeps_its_device_open() {
    let runtime = ready_runtime();
    let context = runtime.rt_create_context(0).unwrap();
    let memory = runtime.rt_malloc(64, MemMallocPolicy::HUGE_FIRST).unwrap();
    runtime.rt_reset_device(0).unwrap();
    runtime.rt_memset(tenon::AnyPtr::from_addr(memory.addr()), 64, 0, 64).unwrap();
    runtime.rt_free(memory).unwrap();
    runtime.rt_destroy_context(context).unwrap();
    assert_eq!(runtime.cpus.open.load(Ordering::SeqCst), 0);
    runtime.end();
}

#[test]
fn forced_reset_ignores_the_count() {
    let runtime = runtime();
    refused(AclError::RT_CONTEXT_RELEASE_ERROR, runtime.rt_reset_device_force(0));
    runtime.rt_set_device(0).unwrap();
    runtime.rt_set_device(0).unwrap();
    let context = runtime.rt_create_context(0).unwrap();
    let stream = runtime.rt_create_stream().unwrap();
    let event = runtime.rt_create_event().unwrap();
    let memory = runtime.rt_malloc(100, MemMallocPolicy::HUGE_FIRST).unwrap();
    runtime.rt_record_event(event, stream).unwrap();
    runtime.rt_reset_device_force(0).unwrap();
    refused(AclError::RT_CONTEXT_RELEASE_ERROR, runtime.rt_reset_device(0));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_set_current_context(context));
    refused(AclError::RT_INVALID_HANDLE, runtime.rt_destroy_event(event));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_free(memory));
    runtime.rt_set_device(0).unwrap();
    runtime.reset_and_end();
}

#[test]
fn finalize_releases_everything_and_init_works_again() {
    let runtime = runtime();
    for _ in 0..3 {
        runtime.init(None).unwrap();
        runtime.rt_set_device(1).unwrap();
        let context = runtime.rt_create_context(0).unwrap();
        let stream = runtime.rt_create_stream_with_config(3, 0).unwrap();
        let event = runtime.rt_create_event_ex_with_flag(1).unwrap();
        let memory = runtime.rt_malloc(1 << 20, MemMallocPolicy::HUGE_FIRST).unwrap();
        let host = runtime.rt_malloc_host(4096).unwrap();
        runtime
            .rt_memset_async(tenon::AnyPtr::from_addr(memory.addr()), 1 << 20, 3, 1 << 20, stream)
            .unwrap();
        runtime.rt_record_event(event, stream).unwrap();
        runtime.finalize().unwrap();
        refused(AclError::RT_CONTEXT_NULL, runtime.rt_synchronize_stream(stream));
        refused(AclError::RT_PARAM_INVALID, runtime.rt_set_current_context(context));
        refused(AclError::RT_INVALID_HANDLE, runtime.rt_synchronize_event(event));
        refused(AclError::RT_PARAM_INVALID, runtime.rt_free(memory));
        // The program may hold pointers into host memory.
        // SAFETY: it was not freed.
        unsafe { host.bytes_mut(4096) }.fill(7);
        runtime.rt_free_host(host).unwrap();
        assert_eq!(runtime.cpus.open.load(Ordering::SeqCst), 0);
    }
    runtime.end();
}

#[test]
fn set_device_in_a_callback_does_not_block_a_reset() {
    let runtime = ready_runtime();
    let acl = runtime.shared();
    let (sent, received) = std::sync::mpsc::channel();
    let function = host_function(move || {
        acl.rt_set_device(0).unwrap();
        acl.rt_reset_device(0).unwrap();
        sent.send(()).unwrap();
    });
    runtime.rt_launch_host_func(Stream::NULL, function).unwrap();
    runtime.rt_reset_device(0).unwrap();
    // The last of the two resets closes the device, which may be the one in the callback.
    received.recv().unwrap();
    runtime.end();
}

#[test]
fn device_properties() {
    let runtime = runtime();
    assert_eq!(runtime.rt_query_device_status(1).unwrap(), DeviceStatus::NORMAL);
    assert_eq!(runtime.rt_get_device_info(0, DevAttr::TOTAL_GLOBAL_MEM_SIZE).unwrap(), 64 << 20);
    assert_eq!(runtime.rt_get_device_info(0, DevAttr::AICORE_CORE_NUM).unwrap(), 2);
    refused(AclError::INVALID_PARAM, runtime.rt_get_device_info(0, DevAttr(4711)));
    refused(AclError::RT_INVALID_DEVICEID, runtime.rt_get_device_info(2, DevAttr::AICORE_CORE_NUM));
    assert_eq!(runtime.get_device_capability(0, DeviceInfo::AI_CORE_NUM).unwrap(), 2);
    refused(AclError::INVALID_PARAM, runtime.get_device_capability(0, DeviceInfo::UNDEFINED));
    assert_eq!(runtime.rt_get_devices_topo(0, 1).unwrap(), 0x10);
    assert_eq!(runtime.rt_get_phy_dev_id_by_logic_dev_id(1).unwrap(), 1);
    refused(AclError::RT_INVALID_DEVICEID, runtime.rt_get_phy_dev_id_by_logic_dev_id(7));
    let uuid = |device| runtime.rt_device_get_uuid(device).unwrap().bytes;
    assert_eq!(uuid(0), uuid(0));
    assert_ne!(uuid(0), uuid(1));
    assert_eq!(runtime.rt_device_get_bare_tgid().unwrap(), std::process::id() as i32);
    assert_eq!(runtime.rt_get_soc_name().unwrap().as_deref(), Some(c"CPU"));
    assert_eq!(runtime.rt_check_arch_compatibility(c"CPU").unwrap(), 1);
    assert_eq!(runtime.rt_check_arch_compatibility(c"Ascend910B").unwrap(), 0);
    refused(AclError::INVALID_PARAM, runtime.rt_set_ts_device(TsId::RESERVED));
    runtime.rt_set_ts_device(TsId::AICORE).unwrap();
    runtime.rt_set_device(0).unwrap();
    let memory = runtime.rt_malloc(32 << 20, MemMallocPolicy::HUGE_FIRST).unwrap();
    let utilisation = runtime.rt_get_device_utilization_rate(0).unwrap();
    assert_eq!((utilisation.memory_utilization, utilisation.cube_utilization), (50, -1));
    runtime.rt_free(memory).unwrap();
    let range = runtime.rt_device_get_stream_priority_range().unwrap();
    assert_eq!((range.least_priority, range.greatest_priority), (7, 0));
    runtime.rt_device_set_limit(DeviceLimit::SIMD_STACK_SIZE, 512).unwrap();
    assert_eq!(runtime.rt_device_get_limit(DeviceLimit::SIMD_STACK_SIZE).unwrap(), 512);
    runtime.rt_reset_device(0).unwrap();
    runtime.rt_set_device(0).unwrap();
    assert_eq!(
        runtime.rt_device_get_limit(DeviceLimit::SIMD_STACK_SIZE).unwrap(),
        0,
        "it ends with the reset"
    );
    runtime.reset_and_end();
}

#[test]
fn peer_copies_need_peer_access() {
    let runtime = runtime();
    assert_eq!(runtime.rt_device_can_access_peer(0, 1).unwrap(), 1);
    assert_eq!(runtime.rt_device_can_access_peer(1, 1).unwrap(), 0);
    refused(AclError::RT_CONTEXT_NULL, runtime.rt_device_enable_peer_access(1, 0));
    runtime.rt_set_device(1).unwrap();
    let far = runtime.rt_malloc(64, MemMallocPolicy::HUGE_FIRST).unwrap();
    runtime.rt_set_device(0).unwrap();
    let near = runtime.rt_malloc(64, MemMallocPolicy::HUGE_FIRST).unwrap();
    let [far_any, near_any] = [far, near].map(|memory| tenon::AnyPtr::from_addr(memory.addr()));
    runtime.rt_memset(near_any, 64, 0x5a, 64).unwrap();
    let copy = || runtime.rt_memcpy(far_any, 64, near_any, 64, MemcpyKind::DEVICE_TO_DEVICE);
    let text = refused(AclError::RT_FEATURE_NOT_SUPPORT, copy());
    assert!(text.contains("aclrtDeviceEnablePeerAccess"), "{text}");
    refused(AclError::INVALID_PARAM, runtime.rt_device_enable_peer_access(1, 1));
    refused(AclError::RT_INVALID_DEVICEID, runtime.rt_device_enable_peer_access(0, 0));
    runtime.rt_device_enable_peer_access(1, 0).unwrap();
    runtime.rt_device_enable_peer_access(1, 0).unwrap();
    assert_eq!(runtime.rt_device_peer_access_status(0, 1).unwrap(), 1);
    assert_eq!(runtime.rt_device_peer_access_status(1, 0).unwrap(), 0);
    copy().unwrap();
    let stream = runtime.rt_create_stream().unwrap();
    runtime.rt_memcpy_async(near_any, 64, far_any, 64, MemcpyKind::DEFAULT, stream).unwrap();
    runtime.rt_synchronize_stream(stream).unwrap();
    runtime.rt_destroy_stream(stream).unwrap();
    let mut back = [0u8; 64];
    let back_any = tenon::AnyPtr::from_ptr(back.as_mut_ptr());
    runtime.rt_memcpy(back_any, 64, far_any, 64, MemcpyKind::DEVICE_TO_HOST).unwrap();
    assert_eq!(back, [0x5a; 64]);
    runtime.rt_device_disable_peer_access(1).unwrap();
    refused(AclError::RT_PARAM_INVALID, runtime.rt_device_disable_peer_access(1));
    refused(AclError::RT_FEATURE_NOT_SUPPORT, copy());
    runtime.rt_free(far).unwrap();
    runtime.rt_free(near).unwrap();
    runtime.rt_reset_device(0).unwrap();
    runtime.rt_reset_device(1).unwrap();
    runtime.end();
}
