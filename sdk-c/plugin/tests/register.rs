//! The registration: what it refuses, and a host that is not PaddlePaddle.

use std::ffi::{CStr, c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr::null;

use tenon::device::ffi::C_Device;
use tenon::device::ffi::v3_3::{C_DeviceInterface, CustomRuntimeParams};
use tenon::device::{DataType, Status};
use tenon_operators::by_name::{Call, Calls};
use tenon_plugin::tenon_paddle_register_operators;

/// Calls the function with room for a message.
fn register(params: *const c_void, operators: *const c_void) -> (Status, String) {
    let mut message = [0 as c_char; 200];
    // SAFETY: the pointers are null or those of the structs below, and the room is that of the array.
    unsafe {
        let status = tenon_paddle_register_operators(params, operators, message.as_mut_ptr(), message.len());
        (status, CStr::from_ptr(message.as_ptr()).to_string_lossy().into_owned())
    }
}

unsafe extern "C-unwind" fn get_device(_: C_Device) -> Status {
    Status::SUCCESS
}

unsafe extern "C-unwind" fn copy(_: C_Device, _: *mut c_void, _: *const c_void, _: usize) -> Status {
    Status::SUCCESS
}

/// Creates the parameters of a host, with an empty table.
fn host() -> (Box<C_DeviceInterface>, CustomRuntimeParams) {
    // SAFETY: zero is a null pointer, a missing function or a number.
    let (mut table, mut params) = unsafe {
        let table = Box::new(MaybeUninit::<C_DeviceInterface>::zeroed().assume_init());
        (table, MaybeUninit::<CustomRuntimeParams>::zeroed().assume_init())
    };
    table.size = size_of::<C_DeviceInterface>();
    params.size = size_of::<CustomRuntimeParams>();
    params.interface = (&raw mut *table).cast();
    (table, params)
}

unsafe extern "C-unwind" fn provides(_: *const c_char, _: DataType) -> bool {
    false
}

unsafe extern "C-unwind" fn call(_: *const Call) -> Status {
    Status::INTERNAL_ERROR
}

/// The operators of a plugin that has none.
static EMPTY: Calls = Calls { size: size_of::<Calls>(), provides, call };

#[test]
fn mistakes_are_refused_in_the_order_of_their_remedies() {
    let empty: *const c_void = (&raw const EMPTY).cast();
    let (status, message) = register(null(), empty);
    let expected = "the host passed no params, or params without a table";
    assert_eq!((status, message.as_str()), (Status::ERROR, expected));

    let (mut table, mut params) = host();
    let refused = |params: &CustomRuntimeParams, operators, expected: &str| {
        let (status, message) = register((&raw const *params).cast(), operators);
        assert_eq!((status, message.as_str()), (Status::ERROR, expected));
    };
    refused(&params, empty, "`device_type` is null: set it before the operators are registered");
    params.device_type = c"c_npu".as_ptr().cast_mut();
    refused(
        &params,
        empty,
        "the device has no `get_device`: fill its table before the operators are registered",
    );
    table.get_device = Some(get_device);
    table.memory_copy_h2d = Some(copy);
    table.memory_copy_d2h = Some(copy);
    params.interface = (&raw mut *table).cast();
    refused(&params, null(), "the operators are null: pass `tenon_operator_calls()`");
    let short = [8_usize, 0, 0];
    refused(
        &params,
        (&raw const short).cast(),
        "the operators have a size of 8 bytes: pass `tenon_operator_calls()`, which sets it to sizeof(TenonCalls)",
    );
    let lacking = [size_of::<Calls>(), 0, 0];
    refused(&params, (&raw const lacking).cast(), "`provides` of the operators is null");
    let unknown = CustomRuntimeParams { size: 7, ..params };
    let (status, message) = register((&raw const unknown).cast(), empty);
    assert_eq!(status, Status::ERROR);
    assert!(message.contains("does not know the release of this host"), "{message}");

    // No PaddlePaddle is in this process. Another host may load a plugin several times.
    for _ in 0..2 {
        assert_eq!(register((&raw const params).cast(), empty), (Status::SUCCESS, String::new()));
    }
}

#[test]
fn message_is_cut_to_its_room() {
    let mut room = [1 as c_char; 8];
    // SAFETY: null is allowed, and the room is at least as large as said.
    let cut = unsafe {
        tenon_paddle_register_operators(null(), null(), room.as_mut_ptr(), 5);
        CStr::from_ptr(room.as_ptr())
    };
    assert_eq!(cut.to_bytes().len(), 4);
    assert_eq!(room[5..], [1; 3]);
    // SAFETY: as above.
    let status = unsafe { tenon_paddle_register_operators(null(), null(), std::ptr::null_mut(), 5) };
    assert_eq!(status, Status::ERROR);
}
