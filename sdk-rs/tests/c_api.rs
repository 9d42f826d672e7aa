//! The generated functions of the C SDK, in a crate that knows one device: what comes in is checked, what goes out is written.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tenon::DevicePtr;
use tenon::device::{Device, DeviceId, Error, Event, Result, Stream, StreamCallback};
use tenon_testing::stub_device;

use functions::*;

/// The functions, and the type of what they answer.
#[allow(dead_code, reason = "no test needs every status")]
#[path = "../../sdk-c/src/functions.rs"]
mod functions;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
struct DeviceHandle(usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
struct PluginHandle(usize);

const FIRST: DeviceHandle = DeviceHandle(100);
const SECOND: DeviceHandle = DeviceHandle(101);
const PLUGIN: PluginHandle = PluginHandle(7);

/// Handles of one plugin that is always there.
mod call {
    use super::{DeviceHandle, Fake, PLUGIN, PluginHandle};
    use crate::functions::Status;
    use tenon::device::{Device, DeviceId, Function};

    #[derive(Debug)]
    pub enum Failure {
        Device(tenon::device::Error),
        Argument(tenon::Error<Status>),
        OutOfMemory { bytes: usize },
    }

    impl From<tenon::device::Error> for Failure {
        fn from(error: tenon::device::Error) -> Self {
            Failure::Device(error)
        }
    }

    impl From<tenon::Error<Status>> for Failure {
        fn from(error: tenon::Error<Status>) -> Self {
            Failure::Argument(error)
        }
    }

    fn answer(outcome: Result<(), Failure>) -> Status {
        match outcome {
            Ok(()) => Status::SUCCESS,
            Err(Failure::Device(error)) => Status::of_device(error.status),
            Err(Failure::Argument(error)) => error.status,
            Err(Failure::OutOfMemory { bytes }) => {
                assert_ne!(bytes, 0);
                Status::OUT_OF_MEMORY
            }
        }
    }

    fn number(handle: DeviceHandle) -> Option<DeviceId> {
        i32::try_from(handle.0.checked_sub(100)?).ok().map(DeviceId)
    }

    pub fn on_device(
        handle: DeviceHandle,
        _: Function,
        body: impl FnOnce(&dyn Device, DeviceId) -> Result<(), Failure>,
    ) -> Status {
        number(handle).map_or(Status::INVALID_HANDLE, |device| answer(body(&Fake, device)))
    }

    pub fn on_plugin(
        handle: PluginHandle,
        _: Function,
        body: impl FnOnce(&dyn Device) -> Result<(), Failure>,
    ) -> Status {
        if handle == PLUGIN { answer(body(&Fake)) } else { Status::INVALID_HANDLE }
    }

    /// A further device, held for as long as this lives.
    pub struct Further(DeviceId);

    impl Further {
        pub fn id(&self) -> DeviceId {
            self.0
        }
    }

    pub fn same_plugin(
        _: DeviceHandle,
        other: DeviceHandle,
        param: &'static str,
    ) -> Result<Further, Failure> {
        number(other)
            .map(Further)
            .ok_or_else(|| Failure::Argument(tenon::Error::new(Status::INVALID_HANDLE, param)))
    }

    /// A thread of the device that is inside of a callback, for as long as this lives.
    pub struct Inside;

    pub fn called_back() -> Inside {
        Inside
    }

    pub fn device_of_same(_: PluginHandle, device: DeviceId) -> Result<DeviceHandle, Failure> {
        usize::try_from(device.0)
            .map(|number| DeviceHandle(number + 100))
            .map_err(|_| Failure::Device(tenon::device::Error::invalid("a negative device")))
    }
}

/// The last call of the fake device.
static RECORDED: Mutex<String> = Mutex::new(String::new());

/// The callback that the fake device keeps.
static KEPT: Mutex<Option<StreamCallback>> = Mutex::new(None);

/// Serialises the tests that read the last call.
static IN_TURN: Mutex<()> = Mutex::new(());

fn in_turn() -> std::sync::MutexGuard<'static, ()> {
    IN_TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn recorded() -> String {
    std::mem::take(&mut *RECORDED.lock().unwrap())
}

struct Fake;

stub_device! {
    impl Fake {
        fn get_device(&self) -> Result<DeviceId> {
            Ok(DeviceId(1))
        }

        fn get_device_count(&self) -> Result<usize> {
            Ok(2)
        }

        fn create_event(&self, _: DeviceId) -> Result<Event> {
            Ok(Event::from_addr(8))
        }

        fn synchronize_event(&self, _: DeviceId, _: Event) -> Result<()> {
            Err(Error::new(tenon::device::Status(99), "a status of its own"))
        }

        fn device_memory_allocate(&self, _: DeviceId, size: usize) -> Result<DevicePtr> {
            Ok(if size > 1000 { DevicePtr::NULL } else { DevicePtr::from_addr(64 * usize::from(size > 0)) })
        }

        fn memory_copy_h2d(&self, device: DeviceId, dst: DevicePtr, src: &[u8]) -> Result<()> {
            *RECORDED.lock().unwrap() = format!("{device:?} {dst:?} {src:?}");
            Ok(())
        }

        fn memory_copy_d2h(&self, _: DeviceId, dst: &mut [u8], _: DevicePtr) -> Result<()> {
            dst.fill(7);
            Ok(())
        }
    }
    optional {
        fn memory_copy_p2p(
            &self,
            dst_device: DeviceId,
            src_device: DeviceId,
            _: DevicePtr,
            _: DevicePtr,
            size: usize,
        ) -> Result<()> {
            *RECORDED.lock().unwrap() = format!("{} <- {}: {size}", dst_device.0, src_device.0);
            Ok(())
        }

        fn query_stream(&self, _: DeviceId, stream: Stream) -> Result<bool> {
            Ok(stream.is_null())
        }

        fn stream_add_callback(&self, _: DeviceId, stream: Stream, callback: StreamCallback) -> Result<()> {
            if stream.is_null() {
                return Err(Error::new(tenon::device::Status::FAILED, "not on this one"));
            }
            *KEPT.lock().unwrap() = Some(callback);
            Ok(())
        }
    }
}

#[test]
fn a_copy_arrives_as_a_slice() {
    let _turn = in_turn();
    let bytes = [1_u8, 2, 3];
    // SAFETY: three bytes are there to read, and the fake device does not follow the address.
    let status = unsafe { tenon_memory_copy_h2d(SECOND, 0x40 as *mut c_void, bytes.as_ptr().cast(), 3) };
    assert_eq!((status, &*recorded()), (Status::SUCCESS, "DeviceId(1) DevicePtr(0x40) [1, 2, 3]"));
}

#[test]
fn arguments_and_handles_are_checked_before_the_device_sees_them() {
    let _turn = in_turn();
    recorded();
    // SAFETY: what is wrong with the arguments is found before anybody follows them.
    unsafe {
        assert_eq!(tenon_memory_copy_h2d(FIRST, 0x40 as *mut c_void, null(), 3), Status::INVALID_ARGUMENT);
        assert_eq!(
            tenon_memory_copy_h2d(FIRST, null_mut(), [0_u8; 3].as_ptr().cast(), 3),
            Status::INVALID_ARGUMENT
        );
        assert_eq!(tenon_memory_copy_h2d(DeviceHandle(0), null_mut(), null(), 0), Status::INVALID_HANDLE);
        assert_eq!(tenon_get_device_count(PluginHandle(0), null_mut()), Status::INVALID_HANDLE);
        assert_eq!(tenon_get_device_count(PLUGIN, null_mut()), Status::INVALID_ARGUMENT);
        assert_eq!(tenon_destroy_event(FIRST, null_mut()), Status::INVALID_ARGUMENT);
    }
    assert_eq!(recorded(), "");
}

#[test]
fn a_second_device_is_looked_up_too() {
    let _turn = in_turn();
    let copy = |from| {
        // SAFETY: the fake device does not follow the addresses.
        unsafe { tenon_memory_copy_p2p(SECOND, from, 0x40 as *mut c_void, 0x80 as *const c_void, 5) }
    };
    assert_eq!((copy(FIRST), &*recorded()), (Status::SUCCESS, "1 <- 0: 5"));
    assert_eq!(copy(DeviceHandle(3)), Status::INVALID_HANDLE);
}

#[test]
fn answers_go_where_they_were_asked_for() {
    let (mut idle, mut device, mut devices, mut count) = (true, FIRST, [9_usize; 2], 0);
    // SAFETY: each place is there to be written.
    unsafe {
        assert_eq!(tenon_query_stream(FIRST, 8 as *mut _, &raw mut idle), Status::SUCCESS);
        assert_eq!(tenon_query_stream(FIRST, null_mut(), null_mut()), Status::INVALID_ARGUMENT);
        assert_eq!(tenon_get_device(PLUGIN, &raw mut device), Status::SUCCESS);
        assert_eq!(tenon_get_device_count(PLUGIN, &raw mut count), Status::SUCCESS);
        assert_eq!(tenon_get_device_list(PLUGIN, devices.as_mut_ptr()), Status::SUCCESS);
    }
    assert_eq!((idle, device, count, devices), (false, SECOND, 2, [0, 1]));
}

#[test]
fn no_address_for_some_bytes_is_out_of_memory() {
    let mut address = std::ptr::dangling_mut::<c_void>();
    // SAFETY: the place is there to be written.
    let mut allocate = |size| unsafe { tenon_device_memory_allocate(FIRST, &raw mut address, size) };
    assert_eq!(allocate(2000), Status::OUT_OF_MEMORY);
    assert_eq!(allocate(10), Status::SUCCESS);
    assert_eq!(allocate(0), Status::SUCCESS);
    assert!(address.is_null());
}

#[test]
fn a_status_that_no_device_has_is_a_failure_inside_of_it() {
    // SAFETY: the fake device does not follow the handle.
    let status = unsafe { tenon_synchronize_event(FIRST, 8 as *mut _) };
    assert_eq!(status, Status::INTERNAL_ERROR);
    assert_eq!(Status::UNSUPPORTED.name(), Some(c"TENON_UNSUPPORTED"));
    assert_eq!((Status(99).name(), Status(99).text()), (None, None));
}

static CALLED: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C-unwind" fn called(
    device: DeviceHandle,
    stream: tenon::device::ffi::C_Stream,
    user_data: *mut c_void,
    status: *mut Status,
) {
    assert_eq!((device, stream.addr(), user_data.addr()), (SECOND, 8, 0x1234));
    CALLED.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the status is the library's to lend.
    unsafe { status.write(Status::REFUSED) };
}

#[test]
fn a_callback_sees_the_handle_and_answers_in_statuses_of_the_library() {
    let add = |stream: usize| {
        // SAFETY: the callback does not follow its context.
        unsafe { tenon_stream_add_callback(SECOND, stream as *mut _, Some(called), 0x1234 as *mut c_void) }
    };
    assert_eq!(add(0), Status::FAILED);
    assert!(KEPT.lock().unwrap().is_none());
    assert_eq!(add(8), Status::SUCCESS);
    let kept = KEPT.lock().unwrap().take().expect("the device got a callback");
    let outcome = kept.call(DeviceId(1), Stream::from_addr(8));
    assert_eq!(CALLED.load(Ordering::Relaxed), 1);
    assert_eq!(outcome, tenon::device::Status::ERROR, "a device knows no statuses but its own");
    let again = kept.call(DeviceId(1), Stream::from_addr(8));
    assert_eq!(CALLED.load(Ordering::Relaxed), 1, "a device may call twice, the caller's function runs once");
    assert_eq!(again, tenon::device::Status::INTERNAL_ERROR);
    // SAFETY: no callback is checked before anything else.
    let status = unsafe { tenon_stream_add_callback(SECOND, null_mut(), None, null_mut()) };
    assert_eq!(status, Status::INVALID_ARGUMENT);
}
