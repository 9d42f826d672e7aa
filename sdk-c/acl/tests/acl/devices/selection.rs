//! Tests of setting and resetting devices, and of the end of the library.

use std::sync::atomic::Ordering;

use tenon_acl::api::*;

use crate::world::{Hold, Thread, host_function, ready_world, refused, world};

#[test]
fn init_is_counted_and_finalize_ends_all_counts() {
    let world = world();
    refused(AclError::REPEAT_FINALIZE, world.finalize());
    world.init(None).unwrap();
    refused(AclError::REPEAT_INITIALIZE, world.init(None));
    assert_eq!(world.finalize_reference().unwrap(), 1);
    refused(AclError::REPEAT_INITIALIZE, world.init(Some(c"")));
    world.finalize().unwrap();
    refused(AclError::REPEAT_FINALIZE, world.finalize());
    refused(AclError::REPEAT_FINALIZE, world.finalize_reference());
    world.init(None).unwrap();
    assert_eq!(world.finalize_reference().unwrap(), 0);
    world.end();
}

#[test]
fn configuration_file_must_exist() {
    let world = world();
    let text = refused(AclError::INVALID_FILE, world.init(Some(c"/no/such/file.json")));
    assert!(text.contains("/no/such/file.json"), "{text}");
    world.init(Some(c"/dev/null")).unwrap();
    world.finalize().unwrap();
    world.end();
}

#[test]
fn device_is_set_without_init_and_resets_are_counted() {
    let world = world();
    refused(AclError::RT_CONTEXT_NULL, world.rt_get_device());
    refused(AclError::RT_CONTEXT_RELEASE_ERROR, world.rt_reset_device(0));
    world.rt_set_device(0).unwrap();
    world.rt_set_device(0).unwrap();
    assert_eq!(world.rt_get_device().unwrap(), 0);
    world.rt_reset_device(0).unwrap();
    assert_eq!(world.rt_get_device().unwrap(), 0, "one is left");
    world.rt_reset_device(0).unwrap();
    refused(AclError::RT_CONTEXT_NULL, world.rt_get_device());
    refused(AclError::RT_CONTEXT_RELEASE_ERROR, world.rt_reset_device(0));
    assert_eq!(world.cpus.open.load(Ordering::SeqCst), 0);
    world.end();
}

#[test]
fn unknown_device_is_refused() {
    let world = world();
    assert_eq!(world.rt_get_device_count().unwrap(), 2);
    for wrong in [-1, 2, i32::MAX] {
        let text = refused(AclError::RT_INVALID_DEVICEID, world.rt_set_device(wrong));
        assert!(text.contains(&wrong.to_string()), "{text}");
        refused(AclError::RT_INVALID_DEVICEID, world.rt_reset_device(wrong));
        refused(AclError::RT_INVALID_DEVICEID, world.rt_create_context(wrong));
    }
    assert_eq!(world.rt_get_run_mode().unwrap(), RunMode::HOST);
    world.end();
}

#[test]
fn without_devices_set_device_fails() {
    let acl = tenon_acl::Runtime::default();
    assert_eq!(acl.rt_get_device_count().unwrap(), 0);
    refused(AclError::RT_NO_DEVICE, acl.rt_set_device(0));
}

#[test]
fn all_threads_share_one_default_context() {
    let world = ready_world();
    let own = world.rt_get_current_context().unwrap();
    let stream = world.rt_ctx_get_current_default_stream().unwrap();
    let acl = world.shared();
    let thread = Thread::start();
    thread.run(move || {
        refused(AclError::RT_CONTEXT_NULL, acl.rt_get_current_context());
        acl.rt_set_device(0).unwrap();
        assert_eq!(acl.rt_get_current_context().unwrap(), own);
        assert_eq!(acl.rt_ctx_get_current_default_stream().unwrap(), stream);
        acl.rt_reset_device(0).unwrap();
        assert_eq!(acl.rt_get_current_context().unwrap(), own, "the other thread holds it");
    });
    world.rt_reset_device(0).unwrap();
    // The other thread's current context went with the device.
    let acl = world.shared();
    thread.run(move || drop(refused(AclError::RT_CONTEXT_NULL, acl.rt_create_stream())));
    thread.end();
    world.end();
}

#[test]
fn last_reset_waits_and_frees_the_default_context() {
    let world = ready_world();
    let stream = world.rt_create_stream().unwrap();
    let memory = world.rt_malloc(64, MemMallocPolicy::HUGE_FIRST).unwrap();
    let hold = Hold::on(&world, stream);
    world.rt_memset_async(tenon::AnyPtr::from_addr(memory.addr()), 64, 1, 64, stream).unwrap();
    let acl = world.shared();
    let thread = Thread::start();
    let reset = thread.begin(move || acl.rt_reset_device(0));
    assert!(reset.try_recv().is_err(), "it waits for the stream");
    hold.open();
    reset.recv().unwrap().unwrap();
    thread.end();
    world.rt_set_device(0).unwrap();
    refused(AclError::RT_INVALID_HANDLE, world.rt_synchronize_stream(stream));
    refused(AclError::RT_PARAM_INVALID, world.rt_free(memory));
    world.reset_and_end();
}

#[test]
fn created_context_keeps_its_device_open() {
    let world = ready_world();
    let context = world.rt_create_context(0).unwrap();
    let memory = world.rt_malloc(64, MemMallocPolicy::HUGE_FIRST).unwrap();
    world.rt_reset_device(0).unwrap();
    world.rt_memset(tenon::AnyPtr::from_addr(memory.addr()), 64, 0, 64).unwrap();
    world.rt_free(memory).unwrap();
    world.rt_destroy_context(context).unwrap();
    assert_eq!(world.cpus.open.load(Ordering::SeqCst), 0);
    world.end();
}

#[test]
fn forced_reset_ignores_the_count() {
    let world = world();
    refused(AclError::RT_CONTEXT_RELEASE_ERROR, world.rt_reset_device_force(0));
    world.rt_set_device(0).unwrap();
    world.rt_set_device(0).unwrap();
    let context = world.rt_create_context(0).unwrap();
    let stream = world.rt_create_stream().unwrap();
    let event = world.rt_create_event().unwrap();
    let memory = world.rt_malloc(100, MemMallocPolicy::HUGE_FIRST).unwrap();
    world.rt_record_event(event, stream).unwrap();
    world.rt_reset_device_force(0).unwrap();
    refused(AclError::RT_CONTEXT_RELEASE_ERROR, world.rt_reset_device(0));
    refused(AclError::RT_PARAM_INVALID, world.rt_set_current_context(context));
    refused(AclError::RT_INVALID_HANDLE, world.rt_destroy_event(event));
    refused(AclError::RT_PARAM_INVALID, world.rt_free(memory));
    world.rt_set_device(0).unwrap();
    world.reset_and_end();
}

#[test]
fn finalize_releases_everything_and_init_works_again() {
    let world = world();
    for _ in 0..3 {
        world.init(None).unwrap();
        world.rt_set_device(1).unwrap();
        let context = world.rt_create_context(0).unwrap();
        let stream = world.rt_create_stream_with_config(3, 0).unwrap();
        let event = world.rt_create_event_ex_with_flag(1).unwrap();
        let memory = world.rt_malloc(1 << 20, MemMallocPolicy::HUGE_FIRST).unwrap();
        let host = world.rt_malloc_host(4096).unwrap();
        world.rt_memset_async(tenon::AnyPtr::from_addr(memory.addr()), 1 << 20, 3, 1 << 20, stream).unwrap();
        world.rt_record_event(event, stream).unwrap();
        world.finalize().unwrap();
        refused(AclError::RT_CONTEXT_NULL, world.rt_synchronize_stream(stream));
        refused(AclError::RT_PARAM_INVALID, world.rt_set_current_context(context));
        refused(AclError::RT_INVALID_HANDLE, world.rt_synchronize_event(event));
        refused(AclError::RT_PARAM_INVALID, world.rt_free(memory));
        // The program may hold pointers into host memory.
        // SAFETY: it was not freed.
        unsafe { host.bytes_mut(4096) }.fill(7);
        world.rt_free_host(host).unwrap();
        assert_eq!(world.cpus.open.load(Ordering::SeqCst), 0);
    }
    world.end();
}

#[test]
fn set_device_in_a_callback_does_not_block_a_reset() {
    let world = ready_world();
    let acl = world.shared();
    let (sent, received) = std::sync::mpsc::channel();
    let function = host_function(move || {
        acl.rt_set_device(0).unwrap();
        acl.rt_reset_device(0).unwrap();
        sent.send(()).unwrap();
    });
    world.rt_launch_host_func(Stream::NULL, function).unwrap();
    world.rt_reset_device(0).unwrap();
    // The last of the two resets closes the device, which may be the one in the callback.
    received.recv().unwrap();
    world.end();
}

#[test]
fn device_properties() {
    let world = world();
    assert_eq!(world.rt_query_device_status(1).unwrap(), DeviceStatus::NORMAL);
    assert_eq!(world.rt_get_device_info(0, DevAttr::TOTAL_GLOBAL_MEM_SIZE).unwrap(), 64 << 20);
    assert_eq!(world.rt_get_device_info(0, DevAttr::AICORE_CORE_NUM).unwrap(), 2);
    refused(AclError::INVALID_PARAM, world.rt_get_device_info(0, DevAttr(4711)));
    refused(AclError::RT_INVALID_DEVICEID, world.rt_get_device_info(2, DevAttr::AICORE_CORE_NUM));
    assert_eq!(world.get_device_capability(0, DeviceInfo::AI_CORE_NUM).unwrap(), 2);
    refused(AclError::INVALID_PARAM, world.get_device_capability(0, DeviceInfo::UNDEFINED));
    assert_eq!(world.rt_get_devices_topo(0, 1).unwrap(), 0x10);
    assert_eq!(world.rt_get_phy_dev_id_by_logic_dev_id(1).unwrap(), 1);
    refused(AclError::RT_INVALID_DEVICEID, world.rt_get_phy_dev_id_by_logic_dev_id(7));
    let uuid = |device| world.rt_device_get_uuid(device).unwrap().bytes;
    assert_eq!(uuid(0), uuid(0));
    assert_ne!(uuid(0), uuid(1));
    assert_eq!(world.rt_device_get_bare_tgid().unwrap(), std::process::id() as i32);
    assert_eq!(world.rt_get_soc_name().unwrap().as_deref(), Some(c"CPU"));
    assert_eq!(world.rt_check_arch_compatibility(c"CPU").unwrap(), 1);
    assert_eq!(world.rt_check_arch_compatibility(c"Ascend910B").unwrap(), 0);
    refused(AclError::INVALID_PARAM, world.rt_set_ts_device(TsId::RESERVED));
    world.rt_set_ts_device(TsId::AICORE).unwrap();
    world.rt_set_device(0).unwrap();
    let memory = world.rt_malloc(32 << 20, MemMallocPolicy::HUGE_FIRST).unwrap();
    let utilisation = world.rt_get_device_utilization_rate(0).unwrap();
    assert_eq!((utilisation.memory_utilization, utilisation.cube_utilization), (50, -1));
    world.rt_free(memory).unwrap();
    let range = world.rt_device_get_stream_priority_range().unwrap();
    assert_eq!((range.least_priority, range.greatest_priority), (7, 0));
    world.rt_device_set_limit(DeviceLimit::SIMD_STACK_SIZE, 512).unwrap();
    assert_eq!(world.rt_device_get_limit(DeviceLimit::SIMD_STACK_SIZE).unwrap(), 512);
    world.rt_reset_device(0).unwrap();
    world.rt_set_device(0).unwrap();
    assert_eq!(world.rt_device_get_limit(DeviceLimit::SIMD_STACK_SIZE).unwrap(), 0, "it ends with the reset");
    world.reset_and_end();
}

#[test]
fn peer_copies_need_peer_access() {
    let world = world();
    assert_eq!(world.rt_device_can_access_peer(0, 1).unwrap(), 1);
    assert_eq!(world.rt_device_can_access_peer(1, 1).unwrap(), 0);
    refused(AclError::RT_CONTEXT_NULL, world.rt_device_enable_peer_access(1, 0));
    world.rt_set_device(1).unwrap();
    let far = world.rt_malloc(64, MemMallocPolicy::HUGE_FIRST).unwrap();
    world.rt_set_device(0).unwrap();
    let near = world.rt_malloc(64, MemMallocPolicy::HUGE_FIRST).unwrap();
    let [far_any, near_any] = [far, near].map(|memory| tenon::AnyPtr::from_addr(memory.addr()));
    world.rt_memset(near_any, 64, 0x5a, 64).unwrap();
    let copy = || world.rt_memcpy(far_any, 64, near_any, 64, MemcpyKind::DEVICE_TO_DEVICE);
    let text = refused(AclError::RT_FEATURE_NOT_SUPPORT, copy());
    assert!(text.contains("aclrtDeviceEnablePeerAccess"), "{text}");
    refused(AclError::INVALID_PARAM, world.rt_device_enable_peer_access(1, 1));
    refused(AclError::RT_INVALID_DEVICEID, world.rt_device_enable_peer_access(0, 0));
    world.rt_device_enable_peer_access(1, 0).unwrap();
    world.rt_device_enable_peer_access(1, 0).unwrap();
    assert_eq!(world.rt_device_peer_access_status(0, 1).unwrap(), 1);
    assert_eq!(world.rt_device_peer_access_status(1, 0).unwrap(), 0);
    copy().unwrap();
    let stream = world.rt_create_stream().unwrap();
    world.rt_memcpy_async(near_any, 64, far_any, 64, MemcpyKind::DEFAULT, stream).unwrap();
    world.rt_synchronize_stream(stream).unwrap();
    world.rt_destroy_stream(stream).unwrap();
    let mut back = [0u8; 64];
    let back_any = tenon::AnyPtr::from_ptr(back.as_mut_ptr());
    world.rt_memcpy(back_any, 64, far_any, 64, MemcpyKind::DEVICE_TO_HOST).unwrap();
    assert_eq!(back, [0x5a; 64]);
    world.rt_device_disable_peer_access(1).unwrap();
    refused(AclError::RT_PARAM_INVALID, world.rt_device_disable_peer_access(1));
    refused(AclError::RT_FEATURE_NOT_SUPPORT, copy());
    world.rt_free(far).unwrap();
    world.rt_free(near).unwrap();
    world.rt_reset_device(0).unwrap();
    world.rt_reset_device(1).unwrap();
    world.end();
}
