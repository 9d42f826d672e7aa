//! Views of the device's tensors for kernels: the memory of the CPU device is host memory.

use tenon::DevicePtr;
use tenon::device::{DataType, Error, Plugin, Result, Status};
use tenon_cpu::Cpu;
use tenon_kernels::{Copies, DType, TensorMeta, View, ViewMut};
use tenon_operators::{Constant, Launch, TensorMut, TensorRef};

use crate::queue::is_immediate;

/// Waits until the queued work on the stream is done.
pub(crate) fn ready(launch: Launch) -> Result<()> {
    if is_immediate() {
        return Ok(());
    }
    launch.synchronize(Cpu::instance())
}

/// Converts the result of a kernel to the result of an operator.
pub(crate) fn done<T>(result: tenon_kernels::Result<T>) -> Result<T> {
    result.map_err(|error| Error::invalid(error.to_string()))
}

macro_rules! types {
    ($($data_type:ident: $dtype:ident,)*) => {
        fn dtype(data_type: DataType) -> Result<DType> {
            match data_type {
                $(DataType::$data_type => Ok(DType::$dtype),)*
                other => Err(Error::new(Status::FAILED, format!("the CPU device has no elements of type {other:?}"))),
            }
        }
    };
}
types! {
    BOOL: Bool,
    UINT8: U8,
    INT8: I8,
    INT16: I16,
    INT32: I32,
    INT64: I64,
    FLOAT16: F16,
    BFLOAT16: Bf16,
    FLOAT32: F32,
    FLOAT64: F64,
    COMPLEX64: Complex64,
    COMPLEX128: Complex128,
}

/// Returns the elements of an input.
pub(crate) fn view<'v>(tensor: &'v TensorRef<'_>) -> Result<View<'v>> {
    // SAFETY: no work on the stream writes the elements, because `ready` has waited for it.
    unsafe { lasting_view(tensor, tensor.first()) }
}

/// Returns the element type and the shape of an input.
pub(crate) fn meta<'v>(tensor: &'v TensorRef<'_>) -> Result<TensorMeta<'v>> {
    Ok(TensorMeta::new(dtype(tensor.data_type())?, tensor.dims()))
}

/// Returns a view of the elements of an input, or of a copy of them that starts at `first`. The caller
/// chooses the lifetime.
///
/// # Safety
/// The memory must be valid for `'v`, and nothing may write it while an operator reads the view. By the
/// contract of `TensorRef::new`, the elements are in memory of the CPU device, which is host memory, or in
/// other host memory.
pub(crate) unsafe fn lasting_view<'v>(tensor: &TensorRef<'_>, first: DevicePtr) -> Result<View<'v>> {
    let (dtype, first) = (dtype(tensor.data_type())?, first.as_ptr().cast::<u8>());
    // SAFETY: the caller's promise.
    let view = done(unsafe { View::from_raw(first, dtype, tensor.dims(), tensor.strides()) })?;
    let copies = tensor.constant().and_then(Constant::kept::<Copies>);
    // SAFETY: the host keeps it as long as the elements.
    Ok(view.with_copies(copies.map(|copies| unsafe { &*std::ptr::from_ref(copies) })))
}

/// Returns the elements of an output, as [`lasting_view`] does.
///
/// # Safety
/// As for [`lasting_view`]. Inputs may share the memory; kernels allow this.
pub(crate) unsafe fn lasting_view_mut<'v>(tensor: &mut TensorMut<'_>) -> Result<ViewMut<'v>> {
    let (dtype, first) = (dtype(tensor.data_type())?, tensor.first().as_ptr().cast::<u8>());
    // SAFETY: the caller's promise.
    done(unsafe { ViewMut::from_raw(first, dtype, tensor.dims(), tensor.strides()) })
}

pub(crate) fn optional_view<'v>(tensor: Option<&'v TensorRef<'_>>) -> Result<Option<View<'v>>> {
    tensor.map(view).transpose()
}

pub(crate) fn optional_meta<'v>(tensor: Option<&'v TensorRef<'_>>) -> Result<Option<TensorMeta<'v>>> {
    tensor.map(meta).transpose()
}

fn views<'v>(tensors: &'v [TensorRef<'_>]) -> Result<Vec<View<'v>>> {
    tensors.iter().map(view).collect()
}

pub(crate) fn optional_views<'v>(tensors: Option<&'v [TensorRef<'_>]>) -> Result<Option<Vec<View<'v>>>> {
    tensors.map(views).transpose()
}

pub(crate) fn metas<'v>(tensors: &'v [TensorRef<'_>]) -> Result<Vec<TensorMeta<'v>>> {
    tensors.iter().map(meta).collect()
}

#[cfg(test)]
mod tests {
    use tenon::device::{Device, DeviceId, Stream};
    use tenon_cpu::Config;

    use super::*;

    #[test]
    fn streams_of_any_device_are_waited_for() {
        let cpu = Cpu::with_config(Config { devices: 3, memory: 1 << 20, threads: 1 });
        for current in (0..3).map(DeviceId) {
            for device in (0..3).map(DeviceId) {
                let stream = cpu.create_stream(device).unwrap();
                Launch { device: current, stream }.synchronize(&cpu).unwrap();
                cpu.destroy_stream(device, stream).unwrap();
                assert!(Launch { device: current, stream }.synchronize(&cpu).is_err());
            }
            Launch { device: current, stream: Stream::NULL }.synchronize(&cpu).unwrap();
        }
    }

    #[test]
    fn failed_work_on_a_stream_is_reported_whatever_device_is_current() {
        let cpu = Cpu::with_config(Config { devices: 2, memory: 1 << 20, threads: 1 });
        for device in [0, 1].map(DeviceId) {
            let stream = cpu.create_stream(device).unwrap();
            cpu.launch_kernel(device, stream, "broken", || Err("it broke".into())).unwrap();
            let refused = Launch { device: DeviceId(0), stream }.synchronize(&cpu).unwrap_err();
            assert!(refused.message.contains("it broke"), "{refused}");
        }
    }
}
