//! Assignment to a part of a tensor: `x[1:3, ::2] = value`.
//!
//! PaddlePaddle's own kernel works on a copy, so that an assignment through a view would be lost.

use tenon::DevicePtr;
use tenon::device::DataType;
use tenon_operators::{TensorMut, TensorRef};

use crate::error::{Error, Result};
use crate::kernel::{
    Bf16, Bool, Call, Element, F16, IntArray, Output, PerDimension, Place, Registry, Run, Scalar, Tensor,
    kernel, layout, register, unsigned,
};
use crate::operators::slice;

/// Registers `set_value` and `set_value_with_tensor`.
pub(super) fn register(registry: Registry) -> Result<()> {
    register!(registry, &["expand"], SetValue, [Bool, u8, i8, i16, i32, i64, F16, Bf16, f32, f64]);
    register!(registry, &["expand"], SetValueWithTensor, [Bool, u8, i8, i16, i32, i64, F16, Bf16, f32, f64]);
    Ok(())
}

kernel! {
    /// Assigns numbers, which are broadcast to the part.
    struct SetValue<'c> = c"set_value" {
        inputs: { x: Tensor<'c> },
        attributes: {
            starts: IntArray<'c>, ends: IntArray<'c>, steps: IntArray<'c>, axes: &'c [i64],
            decrease_axes: &'c [i64], none_axes: &'c [i64], shape: &'c [i64], values: Vec<Scalar<'c>>,
        },
        outputs: { out: Output<'c> },
    }
}

impl<T: Element> Run<T> for SetValue<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let values = self.values.iter().map(|value| value.to()).collect::<Result<Vec<T>>>()?;
        let mut shape = self.shape.iter().map(|&dim| unsigned("shape", dim)).collect::<Result<Vec<_>>>()?;
        if values.is_empty() {
            // Paddle passes the shape [1] for a tensor without elements.
            shape = vec![0];
        }
        let value = call.upload(&values, &shape)?;
        let bounds = [&self.starts, &self.ends, &self.steps];
        let part = Part::new(self.axes, bounds, self.decrease_axes, self.none_axes)?;
        part.assign(call, self.x, self.out, T::DATA_TYPE, &value)
    }
}

kernel! {
    /// Assigns a tensor, which is broadcast to the part.
    struct SetValueWithTensor<'c> = c"set_value_with_tensor" {
        inputs: { x: Tensor<'c>, value: Tensor<'c> },
        attributes: {
            starts: IntArray<'c>, ends: IntArray<'c>, steps: IntArray<'c>, axes: &'c [i64],
            decrease_axes: &'c [i64], none_axes: &'c [i64],
        },
        outputs: { out: Output<'c> },
    }
}

impl<T: Element> Run<T> for SetValueWithTensor<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let bounds = [&self.starts, &self.ends, &self.steps];
        let part = Part::new(self.axes, bounds, self.decrease_axes, self.none_axes)?;
        part.assign(call, self.x, self.out, T::DATA_TYPE, &self.value.view()?)
    }
}

/// The part of a tensor that is assigned to.
struct Part<'a> {
    slices: Vec<Slice>,
    /// Dimensions of the part that the value lacks, as for `x[0]`.
    decrease_axes: &'a [i64],
    /// The positions of additional dimensions of length one in the value, as for `x[None]`.
    none_axes: &'a [i64],
}

/// A range of elements along a dimension, as in Python: negative numbers count from the end.
struct Slice {
    axis: i64,
    start: i64,
    end: i64,
    step: i64,
}

impl Slice {
    /// Returns the first element and the number of elements of a slice in a dimension of a given length.
    fn within(&self, len: usize) -> Result<(usize, usize)> {
        let len = i64::try_from(len).map_err(|_| Error::invalid("a dimension is too large"))?;
        let (least, largest) = if self.step > 0 { (0, len) } else { (-1, len - 1) };
        let bound = |index: i64| {
            let from_start = if index < 0 { index.saturating_add(len) } else { index };
            from_start.clamp(least, largest)
        };
        let (start, end) = (bound(self.start), bound(self.end));
        let distance = if self.step > 0 { end - start } else { start - end };
        let count = match distance {
            ..=0 => 0,
            distance => distance.unsigned_abs().div_ceil(self.step.unsigned_abs()),
        };
        Ok((start.max(0) as usize, count as usize))
    }
}

impl<'a> Part<'a> {
    /// Returns the part with a slice for each of `axes`, given the starts, ends and steps in `bounds`.
    fn new(
        axes: &[i64],
        bounds: [&IntArray<'_>; 3],
        decrease_axes: &'a [i64],
        none_axes: &'a [i64],
    ) -> Result<Self> {
        let [starts, ends, steps] = bounds;
        let ends = slice::ends(starts, ends, axes, decrease_axes);
        let (starts, ends, steps) = (starts.get(), &ends[..], steps.get());
        if [starts, ends, steps].iter().any(|bounds| bounds.len() != axes.len()) || steps.contains(&0) {
            return Err(Error::invalid(
                "`starts`, `ends` and `steps` need a number for each axis, and no step of 0",
            ));
        }
        let slice = |index: usize| Slice {
            axis: axes[index],
            start: starts[index],
            end: ends[index],
            step: steps[index],
        };
        Ok(Part { slices: (0..axes.len()).map(slice).collect(), decrease_axes, none_axes })
    }

    fn assign(
        &self,
        call: &Call,
        x: Tensor<'_>,
        out: Output<'_>,
        data_type: DataType,
        value: &TensorRef<'_>,
    ) -> Result<()> {
        x.expect_type(data_type)?;
        let source = x.view()?;
        let mut all = out.view(data_type)?;
        if !all.is_same(&source) {
            call.run(&mut |device, launch| device.expand(launch, &mut all, &source))?;
        }
        let place = self.place(out.place()?)?;
        let first = DevicePtr::from_ptr(place.first);
        if value.is_empty() || place.dims.contains(&0) {
            return Ok(());
        }
        let rank = place.dims.len();
        let layout = layout(&place.dims, &place.strides)?;
        // SAFETY: the part is inside the tensor, whose memory Paddle keeps for work on the stream.
        let mut part = unsafe { TensorMut::new(first, data_type, layout) }?;
        let value = value.clone().drop_leading_ones(rank);
        call.run(&mut |device, launch| device.expand(launch, &mut part, &value))
    }

    /// Returns the location and layout of the part, with the dimensions of the value.
    fn place(&self, whole: Place) -> Result<Place> {
        let Place { mut first, size, mut dims, mut strides, data_type } = whole;
        for slice in &self.slices {
            let axis = index("axes", slice.axis, dims.len())?;
            let (start, count) = slice.within(dims[axis])?;
            if count > 0 {
                first = first.wrapping_offset(start as isize * strides[axis] * size as isize);
            }
            dims[axis] = count;
            strides[axis] = strides[axis].wrapping_mul(slice.step as isize);
        }
        let mut part =
            Place { first, data_type, size, dims: PerDimension::new(), strides: PerDimension::new() };
        let mut none_axes = self.none_axes.iter().peekable();
        for (axis, (dim, stride)) in std::iter::zip(dims, strides).enumerate() {
            while none_axes.next_if(|&&none| none <= axis as i64).is_some() {
                part.push(1, 1);
            }
            if !self.decrease_axes.contains(&(axis as i64)) {
                part.push(dim, stride);
            }
        }
        none_axes.for_each(|_| part.push(1, 1));
        Ok(part)
    }
}

fn index(name: &str, axis: i64, rank: usize) -> Result<usize> {
    let from_start = if axis < 0 { axis + rank as i64 } else { axis };
    usize::try_from(from_start)
        .ok()
        .filter(|&axis| axis < rank)
        .ok_or_else(|| Error::invalid(format!("`{name}` has {axis} for {rank} dimensions")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(start: i64, end: i64, step: i64) -> (usize, usize) {
        Slice { axis: 0, start, end, step }.within(5).expect("a small dimension")
    }

    #[test]
    fn slices_are_those_of_python() {
        assert_eq!(within(1, 4, 1), (1, 3));
        assert_eq!(within(0, i64::MAX, 2), (0, 3));
        assert_eq!(within(-2, i64::MAX, 1), (3, 2));
        assert_eq!(within(3, 1, 1), (3, 0));
        assert_eq!(within(i64::MAX, i64::MIN, -1), (4, 5));
        assert_eq!(within(4, 0, -2), (4, 2));
        assert_eq!(within(0, -3, -1), (0, 0));
        assert_eq!(within(7, 9, 1).1, 0);
    }
}
