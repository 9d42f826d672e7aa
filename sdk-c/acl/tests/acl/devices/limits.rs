//! Tests of settings: their values, and their lifetime.

use tenon::{AnyPtr, DevicePtr};
use tenon_acl::api::*;

use crate::test_runtime::{Thread, ready_runtime, refused, runtime};

const CORES: DevResLimitType = DevResLimitType::VECTOR_CORE;

#[test]
fn stream_limits_precede_device_limits() {
    let runtime = ready_runtime();
    let all = runtime.rt_get_device_res_limit(0, CORES).unwrap();
    assert_eq!(all, 48);
    let stream = runtime.rt_create_stream().unwrap();
    runtime.rt_set_device_res_limit(0, CORES, 1).unwrap();
    assert_eq!(runtime.rt_get_stream_res_limit(stream, CORES), Ok(1));
    assert_eq!(runtime.rt_get_device_res_limit(0, DevResLimitType::CUBE_CORE), Ok(24), "each by itself");
    refused(AclError::RT_PARAM_INVALID, runtime.rt_set_device_res_limit(0, DevResLimitType::CUBE_CORE, 25));
    runtime.rt_set_stream_res_limit(stream, CORES, all).unwrap();
    assert_eq!(runtime.rt_get_stream_res_limit(stream, CORES), Ok(all));
    assert_eq!(runtime.rt_get_res_in_current_thread(CORES), Ok(1));
    runtime.rt_use_stream_res_in_current_thread(stream).unwrap();
    assert_eq!(runtime.rt_get_res_in_current_thread(CORES), Ok(all));
    let other = Thread::start();
    let shared = runtime.shared();
    let nothing = other.run(move || shared.rt_get_res_in_current_thread(CORES).map_err(|error| error.status));
    assert_eq!(nothing, Err(AclError::RT_CONTEXT_NULL), "that was another thread's");
    other.end();
    refused(AclError::RT_PARAM_INVALID, runtime.rt_unuse_stream_res_in_current_thread(Stream::NULL));
    runtime.rt_unuse_stream_res_in_current_thread(stream).unwrap();
    refused(AclError::RT_PARAM_INVALID, runtime.rt_unuse_stream_res_in_current_thread(stream));
    assert_eq!(runtime.rt_get_res_in_current_thread(CORES), Ok(1));
    runtime.rt_reset_stream_res_limit(stream).unwrap();
    assert_eq!(runtime.rt_get_stream_res_limit(stream, CORES), Ok(1));
    runtime.rt_reset_device_res_limit(0).unwrap();
    assert_eq!(runtime.rt_get_stream_res_limit(stream, CORES), Ok(all));
    for value in [0, all + 1] {
        refused(AclError::RT_PARAM_INVALID, runtime.rt_set_device_res_limit(0, CORES, value));
    }
    refused(AclError::RT_PARAM_INVALID, runtime.rt_get_device_res_limit(0, DevResLimitType(2)));
    refused(AclError::RT_INVALID_DEVICEID, runtime.rt_get_device_res_limit(9, CORES));
    runtime.rt_destroy_stream(stream).unwrap();
    runtime.reset_and_end();
}

#[test]
fn stream_attributes_use_their_union_member() {
    let runtime = ready_runtime();
    let stream = runtime.rt_create_stream_with_config(3, 0).unwrap();
    let get = |attribute| {
        let value = runtime.rt_get_stream_attribute(stream, attribute).unwrap();
        // SAFETY: every bit pattern is a number.
        unsafe { value.user_custom_tag }
    };
    assert_eq!(get(StreamAttr::PRIORITY), 3);
    // The other bytes of the value do not change.
    let mut value = StreamAttrValue { reserve: [u32::MAX; 4] };
    value.user_custom_tag = 77;
    runtime.rt_set_stream_attribute(stream, StreamAttr::USER_CUSTOM_TAG, &[value]).unwrap();
    assert_eq!(get(StreamAttr::USER_CUSTOM_TAG), 77);
    value.failure_mode = 1;
    runtime.rt_set_stream_attribute(stream, StreamAttr::FAILURE_MODE, &[value]).unwrap();
    assert_eq!(get(StreamAttr::FAILURE_MODE), 1);
    value.failure_mode = 1 << 32;
    refused(
        AclError::RT_PARAM_INVALID,
        runtime.rt_set_stream_attribute(stream, StreamAttr::FAILURE_MODE, &[value]),
    );
    runtime.rt_set_stream_overflow_switch(stream, 1).unwrap();
    assert_eq!(runtime.rt_get_stream_overflow_switch(stream), Ok(1));
    assert_eq!(get(StreamAttr::FLOAT_OVERFLOW_CHECK), 1);
    refused(AclError::RT_PARAM_INVALID, runtime.rt_set_stream_overflow_switch(stream, 2));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_get_stream_attribute(stream, StreamAttr(9)).map(drop));
    runtime.rt_destroy_stream(stream).unwrap();
    runtime.reset_and_end();
}

#[test]
fn modes_of_a_device_end_with_its_last_reset() {
    let runtime = runtime();
    refused(AclError::RT_CONTEXT_NULL, runtime.rt_get_device_sat_mode());
    runtime.rt_set_device(0).unwrap();
    assert_eq!(runtime.rt_get_device_sat_mode(), Ok(FloatOverflowMode::INFNAN));
    runtime.rt_set_device_sat_mode(FloatOverflowMode::SATURATION).unwrap();
    assert_eq!(runtime.rt_get_device_sat_mode(), Ok(FloatOverflowMode::SATURATION));
    refused(AclError::RT_PARAM_INVALID, runtime.rt_set_device_sat_mode(FloatOverflowMode::UNDEF));
    runtime.rt_reset_device(0).unwrap();
    runtime.rt_set_device(0).unwrap();
    assert_eq!(runtime.rt_get_device_sat_mode(), Ok(FloatOverflowMode::INFNAN));
    runtime.reset_and_end();
}

#[test]
fn overflow_status_is_0() {
    let runtime = ready_runtime();
    let memory = runtime.rt_malloc(64, MemMallocPolicy::HUGE_FIRST).unwrap();
    let any = AnyPtr::from_addr(memory.addr());
    runtime.rt_memset(any, 64, 0xff, 64).unwrap();
    runtime.rt_get_overflow_status(memory, 64, Stream::NULL).unwrap();
    runtime.rt_reset_overflow_status(Stream::NULL).unwrap();
    runtime.rt_synchronize_stream(Stream::NULL).unwrap();
    let mut status = [1u8; 64];
    runtime
        .rt_memcpy(AnyPtr::from_ptr(status.as_mut_ptr()), 64, any, 64, MemcpyKind::DEVICE_TO_HOST)
        .unwrap();
    assert_eq!(status, [0; 64]);
    refused(AclError::RT_PARAM_INVALID, runtime.rt_get_overflow_status(memory, 32, Stream::NULL));
    runtime.rt_cmo_async(memory, 64, CmoType::PREFETCH, Stream::NULL).unwrap();
    refused(AclError::RT_PARAM_INVALID, runtime.rt_cmo_async(memory, 64, CmoType(4), Stream::NULL));
    refused(
        AclError::INVALID_PARAM,
        runtime.rt_cmo_async(DevicePtr::NULL, 64, CmoType::PREFETCH, Stream::NULL),
    );
    runtime.rt_free(memory).unwrap();
    runtime.reset_and_end();
}

#[test]
fn operator_timeouts_are_in_milliseconds() {
    let runtime = runtime();
    runtime.rt_set_op_execute_time_out(3).unwrap();
    assert_eq!(runtime.rt_get_op_execute_timeout(), Ok(3000));
    runtime.rt_set_op_execute_time_out_with_ms(5).unwrap();
    assert_eq!(runtime.rt_get_op_execute_timeout(), Ok(5));
    let step = runtime.rt_get_op_time_out_interval().unwrap();
    assert_eq!(runtime.rt_set_op_execute_time_out_v2(step + 1), Ok(2 * step));
    runtime.rt_set_op_wait_timeout(1).unwrap();
    runtime.end();
}
