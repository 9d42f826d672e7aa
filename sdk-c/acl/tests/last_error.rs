//! What a failing call leaves for the thread, as programs in C see it.

mod common;

use std::ffi::CStr;
use std::sync::{Arc, OnceLock};

use common::{Thread, world};
use tenon_acl::Runtime;
use tenon_acl::api::{symbols, *};

struct Exported;

static RUNTIME: OnceLock<Arc<Runtime>> = OnceLock::new();

impl Plugin for Exported {
    type Instance = Runtime;
    const PROVIDED: Provided = <Runtime as Plugin>::PROVIDED;

    fn instance() -> &'static Runtime {
        RUNTIME.get().unwrap()
    }
}

fn peek() -> AclError {
    // SAFETY: it takes a number.
    unsafe { symbols::rt_peek_at_last_error::<Exported>(LastErrLevel::THREAD) }
}

fn take() -> AclError {
    // SAFETY: as above.
    unsafe { symbols::rt_get_last_error::<Exported>(LastErrLevel::THREAD) }
}

#[test]
fn a_failure_stays_until_it_is_taken_and_is_the_threads_own() {
    let world = world();
    RUNTIME.set(world.shared()).map_err(drop).unwrap();
    assert_eq!((peek(), take()), (AclError::SUCCESS, AclError::SUCCESS));
    // SAFETY: it takes a number.
    let set = |device| unsafe { symbols::rt_set_device::<Exported>(device) };
    assert_eq!(set(99), AclError::RT_INVALID_DEVICEID);
    assert_eq!(set(0), AclError::SUCCESS);
    assert_eq!(peek(), AclError::RT_INVALID_DEVICEID, "a success does not change it");
    let other = Thread::start();
    assert_eq!(other.run(peek), AclError::SUCCESS);
    other.end();
    assert_eq!(take(), AclError::RT_INVALID_DEVICEID);
    assert_eq!(peek(), AclError::SUCCESS);
    // SAFETY: the text is good until the thread asks again.
    let message = unsafe { CStr::from_ptr(symbols::get_recent_err_msg::<Exported>()) };
    assert!(message.to_str().unwrap().contains("99"), "the message is taken by itself");
    // SAFETY: null is no record.
    let code = unsafe { symbols::rt_get_error_code_from_exception_info::<Exported>(std::ptr::null()) };
    assert_eq!(code, u32::MAX);
}
