//! The structs of `tenon/operators.h` that functions get.

use std::ffi::{c_char, c_void};

use tenon::device::DataType;
use tenon::device::ffi::{C_Device, C_Stream};

/// `TenonTensor`
#[repr(C)]
pub(crate) struct Tensor {
    pub(crate) data: *mut c_void,
    pub(crate) data_type: DataType,
    pub(crate) rank: usize,
    pub(crate) dims: *const usize,
    pub(crate) strides: *const isize,
}

/// `TENON_SHAPE_RANK`
pub(crate) const SHAPE_RANK: usize = 16;

/// `TenonShape`
#[repr(C)]
pub(crate) struct Shape {
    pub(crate) rank: usize,
    pub(crate) dims: [usize; SHAPE_RANK],
}

/// `TenonLaunch`
#[repr(C)]
pub(crate) struct Launch {
    pub(crate) device: C_Device,
    pub(crate) stream: C_Stream,
    pub(crate) message: *mut c_char,
    pub(crate) message_size: usize,
}

const _: () = assert!(size_of::<Tensor>() == 40 && size_of::<Shape>() == 136 && size_of::<Launch>() == 32);
