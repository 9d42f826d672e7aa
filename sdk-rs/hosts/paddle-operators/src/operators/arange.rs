//! Ranges of numbers.
//!
//! The number of elements is computed in the element type: in float32, three times 0.3 is 0.9.

use tenon::device::Release;

use crate::error::Result;
use crate::kernel::{Bf16, Call, Element, F16, Output, Registry, Run, Scalar, kernel, register};

/// The methods that the kernels call.
const METHODS: &[&str] = &["arange_tensor", "arange_tensor_out_shape"];

/// Registers `arange` and, where it exists, `range`.
pub(super) fn register(registry: Registry) -> Result<()> {
    register!(registry, METHODS, Arange, [F16, Bf16, f32, f64, i32, i64]);
    // Since 3.2 `arange` has another name.
    if registry.release() >= Release::V3_2 {
        register!(registry, METHODS, Range, [F16, Bf16, f32, f64, i32, i64]);
    }
    Ok(())
}

kernel! {
    /// Creates the numbers from a start (inclusive) to an end (exclusive).
    struct Arange<'c> = c"arange" {
        inputs: {},
        attributes: { start: Scalar<'c>, end: Scalar<'c>, step: Scalar<'c> },
        outputs: { out: Output<'c> },
    }
}

impl<T: Element> Run<T> for Arange<'_> {
    fn run(self, call: &Call) -> Result<()> {
        make::<T>(call, [self.start, self.end, self.step], self.out)
    }
}

kernel! {
    /// Creates the numbers from a start (inclusive) to an end (exclusive).
    struct Range<'c> = c"range" {
        inputs: {},
        attributes: { start: Scalar<'c>, end: Scalar<'c>, step: Scalar<'c> },
        outputs: { out: Output<'c> },
    }
}

impl<T: Element> Run<T> for Range<'_> {
    fn run(self, call: &Call) -> Result<()> {
        make::<T>(call, [self.start, self.end, self.step], self.out)
    }
}

fn make<T: Element>(call: &Call, numbers: [Scalar<'_>; 3], out: Output<'_>) -> Result<()> {
    let [start, end, step] = numbers.map(|number| number.to::<T>());
    let numbers = [[start?], [end?], [step?]];
    let [start, end, step] = [0, 1, 2].map(|index| call.upload(&numbers[index], &[1]));
    let (start, end, step) = (start?, end?, step?);
    let dims = call.run(&mut |device, launch| device.arange_tensor_out_shape(launch, &start, &end, &step))?;
    out.reshape(&dims)?;
    let mut out = out.view(T::DATA_TYPE)?;
    call.run(&mut |device, launch| device.arange_tensor(launch, &mut out, &start, &end, &step))
}
