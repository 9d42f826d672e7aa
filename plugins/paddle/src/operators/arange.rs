//! Numbers in steps.
//!
//! How many there are follows from numbers of the type of the elements: in float32, 0.9 is three times 0.3.

use tenon::device::Release;
use tenon_kernels::{View, bf16, f16, shape};

use crate::error::Result;
use crate::kernel::{Call, Element, Output, Registry, Run, Scalar, kernel, register};

/// Registers `arange` and, where it exists, `range`.
pub(super) fn register(registry: Registry) -> Result<()> {
    register!(registry, Arange, [f16, bf16, f32, f64, i32, i64]);
    // Since 3.2 `arange` has another name.
    if registry.release() >= Release::V3_2 {
        register!(registry, Range, [f16, bf16, f32, f64, i32, i64]);
    }
    Ok(())
}

kernel! {
    /// Makes the numbers from a start to an end, without the end.
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
    /// Makes the numbers from a start to an end, without the end.
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
    let (start, end, step) = ([start?], [end?], [step?]);
    let (start, end, step) =
        (View::of_slice(&start, &[1])?, View::of_slice(&end, &[1])?, View::of_slice(&step, &[1])?);
    out.reshape(&shape::arange_tensor_shape(&start, &end, &step)?)?;
    let mut out = out.view(T::DATA_TYPE)?;
    call.compute(|| shape::arange_tensor(&mut out, &start, &end, &step))
}
