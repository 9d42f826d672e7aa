//! Tests of contexts: the current context of each thread, and the destruction of contexts.

use tenon_acl::api::*;

use crate::test_runtime::{Thread, ready_runtime, refused, runtime};

#[test]
fn last_set_context_is_current_with_its_device() {
    let runtime = ready_runtime();
    let default = runtime.rt_get_current_context().unwrap();
    let other = runtime.rt_create_context(1).unwrap();
    assert_eq!(runtime.rt_get_current_context().unwrap(), other);
    assert_eq!(runtime.rt_get_device().unwrap(), 1);
    runtime.rt_set_current_context(default).unwrap();
    assert_eq!(runtime.rt_get_device().unwrap(), 0);
    runtime.rt_destroy_context(other).unwrap();
    assert_eq!(runtime.rt_get_device().unwrap(), 0, "it was not the current one");
    runtime.reset_and_end();
}

#[test]
fn null_and_stale_contexts_are_refused() {
    let runtime = runtime();
    refused(AclError::INVALID_PARAM, runtime.rt_set_current_context(Context::NULL));
    refused(AclError::INVALID_PARAM, runtime.rt_destroy_context(Context::NULL));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_set_current_context(Context::from_addr(0x1234)));
    let context = runtime.rt_create_context(0).unwrap();
    let stream = runtime.rt_create_stream().unwrap();
    refused(AclError::RT_PARAM_INVALID, runtime.rt_set_current_context(Context::from_addr(stream.addr())));
    runtime.rt_destroy_context(context).unwrap();
    refused(AclError::RT_PARAM_INVALID, runtime.rt_destroy_context(context));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_set_current_context(context));
    runtime.end();
}

#[test]
fn the_default_context_is_not_destroyed_by_hand() {
    let runtime = ready_runtime();
    let default = runtime.rt_get_current_context().unwrap();
    refused(AclError::RT_CONTEXT_NULL, runtime.rt_destroy_context(default));
    assert_eq!(runtime.rt_get_current_context().unwrap(), default);
    runtime.reset_and_end();
}

#[test]
fn without_a_current_context_calls_are_refused() {
    let runtime = runtime();
    let context = runtime.rt_create_context(0).unwrap();
    runtime.rt_destroy_context(context).unwrap();
    let place = tenon::AnyPtr::from_addr(64);
    refused(AclError::RT_CONTEXT_NULL, runtime.rt_get_current_context());
    refused(AclError::RT_CONTEXT_NULL, runtime.rt_malloc(64, MemMallocPolicy::HUGE_FIRST));
    refused(AclError::RT_CONTEXT_NULL, runtime.rt_malloc_host(64));
    refused(AclError::RT_CONTEXT_NULL, runtime.rt_memcpy(place, 1, place, 1, MemcpyKind::DEFAULT));
    refused(AclError::RT_CONTEXT_NULL, runtime.rt_memset(place, 1, 0, 1));
    refused(AclError::RT_CONTEXT_NULL, runtime.rt_create_stream());
    refused(AclError::RT_CONTEXT_NULL, runtime.rt_create_event());
    refused(AclError::RT_CONTEXT_NULL, runtime.rt_synchronize_device());
    refused(AclError::RT_CONTEXT_NULL, runtime.rt_synchronize_stream(Stream::NULL));
    runtime.rt_set_device(0).unwrap();
    runtime.rt_create_stream().unwrap();
    runtime.end();
}

#[test]
fn context_destroyed_by_another_thread_is_invalid() {
    let runtime = runtime();
    let context = runtime.rt_create_context(0).unwrap();
    let stream = runtime.rt_create_stream().unwrap();
    let (acl, thread) = (runtime.shared(), Thread::start());
    thread.run(move || acl.rt_destroy_context(context)).unwrap();
    thread.end();
    let text = refused(AclError::RT_CONTEXT_NULL, runtime.rt_create_stream());
    assert!(text.contains("destroyed"), "{text}");
    refused(AclError::RT_CONTEXT_NULL, runtime.rt_destroy_stream(stream));
    runtime.rt_set_device(0).unwrap();
    refused(AclError::RT_INVALID_HANDLE, runtime.rt_destroy_stream(stream));
    runtime.reset_and_end();
}

#[test]
fn destroyed_context_destroys_its_streams() {
    let runtime = runtime();
    let context = runtime.rt_create_context(0).unwrap();
    for _ in 0..5 {
        runtime.rt_create_stream().unwrap();
    }
    runtime.rt_destroy_context(context).unwrap();
    runtime.end();
}

#[test]
fn options_are_per_process_and_per_context() {
    let runtime = runtime();
    refused(AclError::RT_SYSPARAMOPT_NOT_SET, runtime.rt_get_sys_param_opt(SysParamOpt::DETERMINISTIC));
    runtime.rt_set_sys_param_opt(SysParamOpt::DETERMINISTIC, 1).unwrap();
    assert_eq!(runtime.rt_get_sys_param_opt(SysParamOpt::DETERMINISTIC).unwrap(), 1);
    refused(AclError::INVALID_PARAM, runtime.rt_set_sys_param_opt(SysParamOpt::DETERMINISTIC, 2));
    refused(AclError::INVALID_PARAM, runtime.rt_set_sys_param_opt(SysParamOpt(77), 1));
    refused(AclError::RT_CONTEXT_NULL, runtime.rt_ctx_get_sys_param_opt(SysParamOpt::DETERMINISTIC));
    runtime.rt_set_device(0).unwrap();
    refused(AclError::RT_SYSPARAMOPT_NOT_SET, runtime.rt_ctx_get_sys_param_opt(SysParamOpt::DETERMINISTIC));
    runtime.rt_ctx_set_sys_param_opt(SysParamOpt::DETERMINISTIC, 0).unwrap();
    assert_eq!(runtime.rt_ctx_get_sys_param_opt(SysParamOpt::DETERMINISTIC).unwrap(), 0);
    runtime.reset_and_end();
}

#[test]
fn state_of_the_default_context() {
    let runtime = runtime();
    let active = || runtime.rt_get_primary_ctx_state(0).unwrap().active;
    assert_eq!(active(), 0);
    let context = runtime.rt_create_context(0).unwrap();
    assert_eq!(active(), 0, "a context of the program's is none");
    runtime.rt_set_device(0).unwrap();
    assert_eq!(active(), 1);
    runtime.rt_reset_device(0).unwrap();
    assert_eq!(active(), 0);
    runtime.rt_destroy_context(context).unwrap();
    runtime.end();
}
