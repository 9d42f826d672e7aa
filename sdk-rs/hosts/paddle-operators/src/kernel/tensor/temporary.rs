//! Tensors that exist only during a call.

use tenon::DevicePtr;
use tenon::device::{self, DataType};
use tenon_operators::{Layout, Temporaries, TensorMut, TensorRef, contiguous_strides};

use crate::error::{Error, Result};
use crate::kernel::call::Call;
use crate::kernel::element::{Complex, Element};
use crate::kernel::output::Output;
use crate::kernel::tensor::{Tensor, layout};

impl Call {
    /// Returns a temporary tensor of the given shape, which stays allocated until the call ends.
    pub(crate) fn temporary(&self, data_type: DataType, dims: &[usize]) -> Result<TensorMut<'_>> {
        let tensor = Tensor { call: self, name: "a temporary tensor", handle: self.new_tensor()? };
        let output = Output::of_tensor(tensor);
        output.reshape(dims)?;
        output.view(data_type)
    }

    /// Returns host elements as a tensor of the given shape, for operators.
    pub(crate) fn upload<'v, T: Element>(
        &'v self,
        elements: &'v [T],
        dims: &[usize],
    ) -> Result<TensorRef<'v>> {
        if elements.len() != dims.iter().product::<usize>() {
            return Err(Error::invalid(format!("{} values are given for {dims:?}", elements.len())));
        }
        let strides = contiguous_strides(dims).map_err(Error::of_operator)?;
        let first = if self.has_host_memory() {
            DevicePtr::from_ptr(elements.as_ptr())
        } else {
            let temporary = self.temporary(T::DATA_TYPE, dims)?;
            self.copy_to_device(temporary.first(), bytes_of(elements))?;
            temporary.first()
        };
        // SAFETY: the elements live for `'v` where the device can access them; otherwise they are in a tensor that is
        // deleted when the call ends, whose memory Paddle keeps for work on the stream.
        Ok(unsafe { TensorRef::new(first, T::DATA_TYPE, layout(dims, &strides)?) }?)
    }

    /// Returns an element as a tensor without dimensions, in memory that stays allocated until the call ends.
    fn upload_one<T: Element>(&self, element: T) -> Result<TensorRef<'_>> {
        let one = self.temporary(T::DATA_TYPE, &[])?;
        self.copy_to_device(one.first(), bytes_of(&[element]))?;
        Ok(one.into_input())
    }

    /// Returns a temporary tensor of zeros, which stays allocated until the call ends.
    pub(crate) fn zeros(&self, data_type: DataType, dims: &[usize]) -> Result<TensorMut<'_>> {
        // Zero has the same bytes in every type.
        static ZERO: [Complex<f64>; 1] = [Complex { re: 0.0, im: 0.0 }];
        let mut zeros = self.temporary(data_type, dims)?;
        let zero = self.upload(&ZERO, &[])?;
        // SAFETY: it is the same memory, which has the size of the largest element.
        let zero = unsafe { TensorRef::new(zero.first(), data_type, layout(&[], &[])?) }?;
        self.run(&mut |device, launch| device.expand(launch, &mut zeros, &zero))?;
        Ok(zeros)
    }
}

impl Temporaries for Call {
    fn temporary(&self, ty: DataType, dims: &[usize]) -> device::Result<TensorMut<'_>> {
        Call::temporary(self, ty, dims).map_err(Error::into_operator)
    }

    fn constant(&self, ty: DataType, value: f64) -> device::Result<TensorRef<'_>> {
        if let Some(first) = self.find_constant(ty, value)? {
            // SAFETY: the memory is never freed.
            return unsafe { TensorRef::new(first, ty, Layout::new(&[], &[])?) };
        }
        let upload = || match ty {
            DataType::FLOAT32 => self.upload_one(value as f32),
            _ => self.upload_one(value),
        };
        upload().map_err(Error::into_operator)
    }
}

fn bytes_of<T: Element>(elements: &[T]) -> &[u8] {
    // SAFETY: it is the same memory; elements are plain data without padding.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}
