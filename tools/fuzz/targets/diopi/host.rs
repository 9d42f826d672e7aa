//! A host of DIOPI whose tensors report any layout.

use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr;

use tenon_diopi::runtime::ffi::{
    diopiConstTensorHandle_t, diopiContextHandle_t, diopiSize_t, diopiStreamHandle_t, diopiTensorHandle_t,
};
use tenon_diopi::runtime::{DeviceKind, DiopiError, Dtype};

unsafe extern "C" {
    pub fn device_malloc(bytes: u64) -> *mut c_void;
    pub fn device_free(ptr: *mut c_void);
}

/// The largest block that the host makes for a temporary tensor or a result, in bytes.
const MAX_MADE: u64 = 1 << 24;

/// A tensor, and the layout that it reports.
#[derive(Debug)]
pub struct HostTensor {
    pub data: *mut c_void,
    pub dtype: Dtype,
    pub shape: Vec<i64>,
    pub strides: Vec<i64>,
    /// The number of dimensions that it reports in the place of the length of the lists.
    pub rank: Option<i64>,
}

impl HostTensor {
    pub fn handle(&mut self) -> diopiTensorHandle_t {
        ptr::from_mut(self).cast()
    }

    fn list(&self, numbers: &[i64]) -> diopiSize_t {
        diopiSize_t { data: numbers.as_ptr(), len: self.rank.unwrap_or(numbers.len() as i64) }
    }
}

/// A fault of the host when it makes a tensor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    #[default]
    None,
    Fails,
    GivesNull,
    GivesAnotherShape,
}

/// The state of a call.
#[derive(Default)]
struct State {
    #[allow(clippy::vec_box, reason = "the library knows their addresses")]
    made: Vec<Box<HostTensor>>,
    fault: Fault,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// Prepares a call.
pub fn begin(fault: Fault) {
    STATE.with_borrow_mut(|state| state.fault = fault);
}

/// Frees the tensors that the host has made for a call.
pub fn end() {
    for tensor in STATE.with_borrow_mut(|state| std::mem::take(&mut state.made)) {
        // SAFETY: the block is one of the device, which the library waits for.
        unsafe { device_free(tensor.data) };
    }
}

/// Returns the number of bytes of an element.
pub fn size_of(dtype: Dtype) -> usize {
    match dtype {
        Dtype::INT8 | Dtype::UINT8 | Dtype::BOOLEAN => 1,
        Dtype::INT16 | Dtype::UINT16 | Dtype::FLOAT16 | Dtype::BFLOAT16 => 2,
        Dtype::INT64 | Dtype::UINT64 | Dtype::FLOAT64 | Dtype::COMPLEX64 => 8,
        Dtype::COMPLEX128 => 16,
        _ => 4,
    }
}

fn tensor<'t>(handle: diopiConstTensorHandle_t) -> &'t HostTensor {
    // SAFETY: each handle that the library knows is one of this host.
    unsafe { &*handle.cast::<HostTensor>() }
}

macro_rules! getters {
    ($($name:ident: $type:ty = |$tensor:ident| $value:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(handle: diopiConstTensorHandle_t, place: *mut $type) -> DiopiError {
            let $tensor = tensor(handle);
            // SAFETY: the library passes a valid address.
            unsafe { place.write($value) };
            DiopiError::SUCCESS
        }
    )*};
}
getters! {
    diopiGetTensorData: *mut c_void = |tensor| tensor.data;
    diopiGetTensorDataConst: *const c_void = |tensor| tensor.data.cast_const();
    diopiGetTensorShape: diopiSize_t = |tensor| tensor.list(&tensor.shape);
    diopiGetTensorStride: diopiSize_t = |tensor| tensor.list(&tensor.strides);
    diopiGetTensorDtype: Dtype = |tensor| tensor.dtype;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn diopiGetStream(_: diopiContextHandle_t, stream: *mut diopiStreamHandle_t) -> DiopiError {
    // SAFETY: the library passes a valid address.
    unsafe { stream.write(ptr::null_mut()) };
    DiopiError::SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn diopiRequireTensor(
    _: diopiContextHandle_t,
    place: *mut diopiTensorHandle_t,
    size: *const diopiSize_t,
    strides: *const diopiSize_t,
    dtype: Dtype,
    _: DeviceKind,
) -> DiopiError {
    let numbers = |list: *const diopiSize_t| {
        // SAFETY: the library passes null or a valid list.
        let list = unsafe { list.as_ref() }.filter(|list| list.len > 0);
        // SAFETY: as above.
        list.map_or(&[][..], |list| unsafe { std::slice::from_raw_parts(list.data, list.len as usize) })
    };
    let mut shape = numbers(size).to_vec();
    let fault = STATE.with_borrow(|state| state.fault);
    match fault {
        Fault::Fails => return DiopiError::ERROR_OCCURRED,
        Fault::GivesNull => {
            // SAFETY: the library passes a valid address.
            unsafe { place.write(ptr::null_mut()) };
            return DiopiError::SUCCESS;
        }
        Fault::GivesAnotherShape => shape.push(2),
        Fault::None => {}
    }
    let mut own = vec![1_i64; shape.len()];
    for n in (1..shape.len()).rev() {
        own[n - 1] = own[n].saturating_mul(shape[n].max(1));
    }
    let strides = if strides.is_null() { own } else { numbers(strides).to_vec() };
    let steps = shape.iter().zip(&strides).map(|(&dim, &stride)| (dim - 1).saturating_mul(stride));
    let reach = steps.fold(1_i64, i64::saturating_add).saturating_mul(size_of(dtype) as i64);
    let bytes = if shape.contains(&0) { 0 } else { reach.unsigned_abs() };
    if bytes > MAX_MADE {
        return DiopiError::ERROR_OCCURRED;
    }
    // SAFETY: the function takes any size.
    let data = unsafe { device_malloc(bytes) };
    let mut made = Box::new(HostTensor { data, dtype, shape, strides, rank: None });
    // SAFETY: the library passes a valid address.
    unsafe { place.write(made.handle()) };
    STATE.with_borrow_mut(|state| state.made.push(made));
    DiopiError::SUCCESS
}
