//! Tests of the last error and the message of a thread.

use tenon_acl::Runtime;
use tenon_acl::api::{self, *};

use crate::test_runtime::{Thread, runtime};

fn peek(acl: &Runtime) -> AclError {
    acl.rt_peek_at_last_error(LastErrLevel::THREAD).unwrap()
}

fn take(acl: &Runtime) -> AclError {
    acl.rt_get_last_error(LastErrLevel::THREAD).unwrap()
}

#[test]
fn last_error_is_per_thread_and_stays_until_taken() {
    let runtime = runtime();
    let acl = runtime.shared();
    assert_eq!((peek(&acl), take(&acl)), (AclError::SUCCESS, AclError::SUCCESS));
    // As in the exported functions.
    let set = |device| api::call("aclrtSetDevice", || acl.rt_set_device(device));
    assert_eq!(set(99), AclError::RT_INVALID_DEVICEID);
    assert_eq!(set(0), AclError::SUCCESS);
    assert_eq!(peek(&acl), AclError::RT_INVALID_DEVICEID, "a success does not change it");
    let other = Thread::start();
    let of_other = acl.clone();
    assert_eq!(other.run(move || peek(&of_other)), AclError::SUCCESS);
    other.end();
    assert_eq!(take(&acl), AclError::RT_INVALID_DEVICEID);
    assert_eq!(peek(&acl), AclError::SUCCESS);
    let message = acl.get_recent_err_msg().unwrap().expect("a call has failed");
    assert!(message.to_str().unwrap().contains("99"), "the message is taken by itself");
    let code = acl.rt_get_error_code_from_exception_info(ExceptionInfo::NULL).unwrap();
    assert_eq!(code, u32::MAX);
}
