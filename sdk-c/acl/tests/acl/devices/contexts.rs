//! Tests of contexts: the current context of each thread, and the destruction of contexts.

use tenon_acl::api::*;

use crate::world::{Thread, ready_world, refused, world};

#[test]
fn last_set_context_is_current_with_its_device() {
    let world = ready_world();
    let default = world.rt_get_current_context().unwrap();
    let other = world.rt_create_context(1).unwrap();
    assert_eq!(world.rt_get_current_context().unwrap(), other);
    assert_eq!(world.rt_get_device().unwrap(), 1);
    world.rt_set_current_context(default).unwrap();
    assert_eq!(world.rt_get_device().unwrap(), 0);
    world.rt_destroy_context(other).unwrap();
    assert_eq!(world.rt_get_device().unwrap(), 0, "it was not the current one");
    world.reset_and_end();
}

#[test]
fn null_and_stale_contexts_are_refused() {
    let world = world();
    refused(AclError::INVALID_PARAM, world.rt_set_current_context(Context::NULL));
    refused(AclError::INVALID_PARAM, world.rt_destroy_context(Context::NULL));
    refused(AclError::RT_PARAM_INVALID, world.rt_set_current_context(Context::from_addr(0x1234)));
    let context = world.rt_create_context(0).unwrap();
    let stream = world.rt_create_stream().unwrap();
    refused(AclError::RT_PARAM_INVALID, world.rt_set_current_context(Context::from_addr(stream.addr())));
    world.rt_destroy_context(context).unwrap();
    refused(AclError::RT_PARAM_INVALID, world.rt_destroy_context(context));
    refused(AclError::RT_PARAM_INVALID, world.rt_set_current_context(context));
    world.end();
}

#[test]
fn the_default_context_is_not_destroyed_by_hand() {
    let world = ready_world();
    let default = world.rt_get_current_context().unwrap();
    refused(AclError::RT_CONTEXT_NULL, world.rt_destroy_context(default));
    assert_eq!(world.rt_get_current_context().unwrap(), default);
    world.reset_and_end();
}

#[test]
fn without_a_current_context_calls_are_refused() {
    let world = world();
    let context = world.rt_create_context(0).unwrap();
    world.rt_destroy_context(context).unwrap();
    let place = tenon::AnyPtr::from_addr(64);
    refused(AclError::RT_CONTEXT_NULL, world.rt_get_current_context());
    refused(AclError::RT_CONTEXT_NULL, world.rt_malloc(64, MemMallocPolicy::HUGE_FIRST));
    refused(AclError::RT_CONTEXT_NULL, world.rt_malloc_host(64));
    refused(AclError::RT_CONTEXT_NULL, world.rt_memcpy(place, 1, place, 1, MemcpyKind::DEFAULT));
    refused(AclError::RT_CONTEXT_NULL, world.rt_memset(place, 1, 0, 1));
    refused(AclError::RT_CONTEXT_NULL, world.rt_create_stream());
    refused(AclError::RT_CONTEXT_NULL, world.rt_create_event());
    refused(AclError::RT_CONTEXT_NULL, world.rt_synchronize_device());
    refused(AclError::RT_CONTEXT_NULL, world.rt_synchronize_stream(Stream::NULL));
    world.rt_set_device(0).unwrap();
    world.rt_create_stream().unwrap();
    world.end();
}

#[test]
fn context_destroyed_by_another_thread_is_invalid() {
    let world = world();
    let context = world.rt_create_context(0).unwrap();
    let stream = world.rt_create_stream().unwrap();
    let (acl, thread) = (world.shared(), Thread::start());
    thread.run(move || acl.rt_destroy_context(context)).unwrap();
    thread.end();
    let text = refused(AclError::RT_CONTEXT_NULL, world.rt_create_stream());
    assert!(text.contains("destroyed"), "{text}");
    refused(AclError::RT_CONTEXT_NULL, world.rt_destroy_stream(stream));
    world.rt_set_device(0).unwrap();
    refused(AclError::RT_INVALID_HANDLE, world.rt_destroy_stream(stream));
    world.reset_and_end();
}

#[test]
fn destroyed_context_destroys_its_streams() {
    let world = world();
    let context = world.rt_create_context(0).unwrap();
    for _ in 0..5 {
        world.rt_create_stream().unwrap();
    }
    world.rt_destroy_context(context).unwrap();
    world.end();
}

#[test]
fn options_are_per_process_and_per_context() {
    let world = world();
    refused(AclError::RT_SYSPARAMOPT_NOT_SET, world.rt_get_sys_param_opt(SysParamOpt::DETERMINISTIC));
    world.rt_set_sys_param_opt(SysParamOpt::DETERMINISTIC, 1).unwrap();
    assert_eq!(world.rt_get_sys_param_opt(SysParamOpt::DETERMINISTIC).unwrap(), 1);
    refused(AclError::INVALID_PARAM, world.rt_set_sys_param_opt(SysParamOpt::DETERMINISTIC, 2));
    refused(AclError::INVALID_PARAM, world.rt_set_sys_param_opt(SysParamOpt(77), 1));
    refused(AclError::RT_CONTEXT_NULL, world.rt_ctx_get_sys_param_opt(SysParamOpt::DETERMINISTIC));
    world.rt_set_device(0).unwrap();
    refused(AclError::RT_SYSPARAMOPT_NOT_SET, world.rt_ctx_get_sys_param_opt(SysParamOpt::DETERMINISTIC));
    world.rt_ctx_set_sys_param_opt(SysParamOpt::DETERMINISTIC, 0).unwrap();
    assert_eq!(world.rt_ctx_get_sys_param_opt(SysParamOpt::DETERMINISTIC).unwrap(), 0);
    world.reset_and_end();
}

#[test]
fn state_of_the_default_context() {
    let world = world();
    let active = || world.rt_get_primary_ctx_state(0).unwrap().active;
    assert_eq!(active(), 0);
    let context = world.rt_create_context(0).unwrap();
    assert_eq!(active(), 0, "a context of the program's is none");
    world.rt_set_device(0).unwrap();
    assert_eq!(active(), 1);
    world.rt_reset_device(0).unwrap();
    assert_eq!(active(), 0);
    world.rt_destroy_context(context).unwrap();
    world.end();
}
