//! Tensors of a hostile host of DIOPI: any number of dimensions, any shape, any strides.
//!
//! Each tensor begins in one block of device memory. A call ends with a status and, if it failed, with a message. It
//! changes no byte of the block but those of its output. Addresses outside of the block are not passed: no check
//! of them is possible.

mod host;
#[allow(dead_code, reason = "handles are for the other target")]
#[path = "../sdk/input.rs"]
mod input;
mod operators;

use std::collections::BTreeSet;
use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::OnceLock;

use cpu_operators::CpuOperators;
use tenon_cpu::Cpu;
use tenon_diopi::Library;
use tenon_diopi::runtime::ffi::{
    diopiContextHandle_t, diopiSize_t, diopiStreamHandle_t, diopiTensorHandle_t,
};
use tenon_diopi::runtime::{DiopiError, Dtype};

use self::host::{Fault, HostTensor, size_of};
use self::input::Input;
use self::operators::{OPERATORS, Operator};

tenon_diopi::library!(@ Library::with_operators::<Cpu>(&CpuOperators));

unsafe extern "C" {
    fn device_memcpy_h2d_async(
        _: diopiStreamHandle_t,
        _: *mut c_void,
        _: *const c_void,
        _: u64,
    ) -> DiopiError;
    fn device_memcpy_d2h_async(
        _: diopiStreamHandle_t,
        _: *mut c_void,
        _: *const c_void,
        _: u64,
    ) -> DiopiError;
    fn device_synchronize_stream(_: diopiStreamHandle_t) -> DiopiError;
    fn diopiGetLastErrorString() -> *const c_char;
}

/// The size of the block that has all tensors.
const BLOCK: usize = 1 << 14;
/// The number of calls of an input.
const CALLS: usize = 8;
/// The data types that the library knows, and two that it does not.
const TYPES: i32 = 20;

/// Returns the address of the block.
fn block() -> usize {
    static BLOCK_ADDRESS: OnceLock<usize> = OnceLock::new();
    // SAFETY: the function takes any size.
    *BLOCK_ADDRESS.get_or_init(|| unsafe { host::device_malloc(BLOCK as u64) }.expose_provenance())
}

fn at(offset: usize) -> *mut c_void {
    ptr::with_exposed_provenance_mut(block() + offset)
}

/// Describes a tensor.
fn tensor(input: &mut Input<'_>) -> HostTensor {
    let dtype = match input.below(4) {
        0..=2 => [Dtype::FLOAT32, Dtype::INT64, Dtype::BOOLEAN, Dtype::FLOAT64][input.below(4)],
        _ => Dtype(input.below(TYPES as usize) as i32),
    };
    let size = size_of(dtype);
    let dims = [0, 1, 1, 2, 3, 4, 5, 17];
    let mut shape: Vec<i64> = (0..input.below(5)).map(|_| dims[input.below(dims.len())]).collect();
    let mut strides = vec![1_i64; shape.len()];
    for n in (1..shape.len()).rev() {
        strides[n - 1] = strides[n].saturating_mul(shape[n].max(1));
    }
    let mut rank = None;
    let mut offset = input.below(64) * 16;
    if !shape.is_empty() {
        let (one, other) = (input.below(shape.len()), input.below(shape.len()));
        match input.byte() {
            0..=99 => {}
            100..=139 => {
                shape.swap(one, other);
                strides.swap(one, other);
            }
            140..=159 => strides[one] = input.below(7) as i64 - 3,
            160..=179 => {
                strides[one] = -strides[one];
                offset = BLOCK / 2;
            }
            180..=199 => strides[one] = (input.size() as i64).wrapping_sub(1),
            // A stride other than 0, so that no input of a small block has so many elements.
            200..=219 => (shape[one], strides[one]) = (input.size() as i64, 1 + other as i64),
            220..=229 => shape[one] = -1 - input.below(3) as i64,
            230..=244 => rank = Some([-1, 65, 1 << 40, i64::MAX, i64::MIN][input.below(5)]),
            _ => offset = BLOCK - input.below(4) * size,
        }
    }
    // One past the end of the block would be the address of other memory.
    let offset = offset.min(BLOCK - size);
    let data = if input.below(50) == 49 { ptr::null_mut() } else { at(offset) };
    HostTensor { data, dtype, shape, strides, rank }
}

/// Returns the bytes of the block that a call with this output may write; none if the layout is wrong.
fn writable(tensor: &HostTensor) -> BTreeSet<usize> {
    let size = size_of(tensor.dtype) as i64;
    let mut places = vec![tensor.data.expose_provenance() as i64 - block() as i64];
    for (&dim, &stride) in tensor.shape.iter().zip(&tensor.strides) {
        if tensor.rank.is_some() || dim < 0 || places.len() as i64 > BLOCK as i64 / dim.max(1) {
            return BTreeSet::new();
        }
        let steps = |place: &i64| {
            let place = *place;
            (0..dim).map(move |step| place.wrapping_add(step.wrapping_mul(stride).wrapping_mul(size)))
        };
        places = places.iter().flat_map(steps).collect();
    }
    let bytes = places.iter().flat_map(|&place| place..place.saturating_add(size));
    let bytes: Option<BTreeSet<usize>> =
        bytes.map(|byte| usize::try_from(byte).ok().filter(|&byte| byte < BLOCK)).collect();
    bytes.unwrap_or_default()
}

/// Copies the block from the device.
fn read() -> Vec<u8> {
    let mut bytes = vec![0_u8; BLOCK];
    // SAFETY: both blocks have that many bytes, and the copy is done before the function returns.
    let done = unsafe {
        device_memcpy_d2h_async(ptr::null_mut(), bytes.as_mut_ptr().cast(), at(0), BLOCK as u64);
        device_synchronize_stream(ptr::null_mut())
    };
    assert_eq!(done, DiopiError::SUCCESS, "a copy fails");
    bytes
}

fn write(bytes: &[u8]) {
    // SAFETY: as in `read`.
    unsafe {
        device_memcpy_h2d_async(ptr::null_mut(), at(0), bytes.as_ptr().cast(), bytes.len() as u64);
        device_synchronize_stream(ptr::null_mut());
    }
}

/// Calls an operator. Returns its status, and the tensor that it may write.
fn call(operator: Operator, input: &mut Input<'_>) -> (DiopiError, Option<HostTensor>) {
    // The host does not read its own contexts.
    let context: diopiContextHandle_t = ptr::without_provenance_mut(8);
    let [mut out, mut x, mut y, mut z] = [(); 4].map(|()| tensor(input));
    if input.below(3) > 0 {
        (out.shape, out.strides, out.dtype) = (x.shape.clone(), x.strides.clone(), x.dtype);
    }
    if input.below(3) > 0 {
        (y.shape, y.strides, y.dtype) = (x.shape.clone(), x.strides.clone(), x.dtype);
    }
    let number = [0, 1, -1, 2, i64::MAX, i64::MIN][input.below(6)];
    let numbers: Vec<i64> = (0..input.below(4)).map(|n| [n as i64, 0, -1, number][input.below(4)]).collect();
    let list = diopiSize_t { data: numbers.as_ptr(), len: numbers.len() as i64 };
    let mut made: diopiTensorHandle_t = ptr::null_mut();
    let [out_handle, x, y, z] = [&mut out, &mut x, &mut y, &mut z].map(HostTensor::handle);
    // SAFETY: the handles are those of the host, and the lists live until the call ends.
    let status = unsafe {
        match operator {
            Operator::Unary(_, run) | Operator::InPlace(_, run) => run(context, out_handle, x),
            Operator::Binary(_, run) => run(context, out_handle, x, y),
            Operator::Alone(_, run) => run(context, out_handle),
            Operator::Copied(_, run) => run(context, x, out_handle),
            Operator::Made(_, run) => return (run(context, &raw mut made, x), None),
            Operator::MadeOfTwo(_, run) => return (run(context, &raw mut made, x, y), None),
            Operator::WithDimension(_, run) => run(context, out_handle, x, number),
            Operator::WithList(_, run) => run(context, out_handle, x, list),
            Operator::AtIndices(_, run) => run(context, out_handle, x, number, y),
            Operator::Ternary(_, run) => run(context, out_handle, x, y, z),
        }
    };
    (status, Some(out))
}

/// Calls operators with tensors that an input describes.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let mut before: Vec<u8> = (0..BLOCK).map(|n| (n % 7) as u8).collect();
    write(&before);
    for _ in 0..CALLS {
        if input.is_empty() {
            break;
        }
        let operator = OPERATORS[input.below(OPERATORS.len())];
        let faults = [Fault::Fails, Fault::GivesNull, Fault::GivesAnotherShape];
        let fault = faults.get(input.below(24)).copied().unwrap_or_default();
        host::begin(fault);
        let (status, out) = call(operator, &mut input);
        // SAFETY: the null handle is the default stream.
        let waited = unsafe { device_synchronize_stream(ptr::null_mut()) };
        host::end();
        let name = operator.name();
        let known = [DiopiError::SUCCESS, DiopiError::ERROR_OCCURRED, DiopiError::NO_IMPLEMENT];
        assert!(known.contains(&status), "{name} returns {status:?}");
        if status != DiopiError::SUCCESS {
            // SAFETY: the message lives until the next failure in this thread.
            let message = unsafe { CStr::from_ptr(diopiGetLastErrorString()) };
            assert!(!message.is_empty(), "{name} fails without a message");
        }
        let after = read();
        let written = out.as_ref().map(writable).unwrap_or_default();
        for (place, (old, new)) in before.iter().zip(&after).enumerate() {
            assert!(
                old == new || written.contains(&place),
                "{name} ({status:?}, {waited:?}) changes the byte {place} of the block, output {out:?}"
            );
        }
        before = after;
    }
}

/// Returns the number of operators that succeeded at least once.
#[allow(dead_code, reason = "only the test calls it")]
pub fn reached(programs: impl Iterator<Item = Vec<u8>>) -> BTreeSet<&'static str> {
    let mut reached = BTreeSet::new();
    for program in programs {
        let mut input = Input(&program);
        write(&vec![1; BLOCK]);
        for &operator in OPERATORS {
            host::begin(Fault::None);
            let (status, _) = call(operator, &mut input);
            // SAFETY: the null handle is the default stream.
            unsafe { device_synchronize_stream(ptr::null_mut()) };
            host::end();
            if status == DiopiError::SUCCESS {
                reached.insert(operator.name());
            }
        }
    }
    reached
}
