//! Conversion to another type of elements.
//!
//! The type is that of the attribute: in 2.6, the tensor has it before the kernel runs, also as an input in place; when
//! PaddlePaddle converts an operand of two that must have one type, the output has none.

use tenon::device::DataType;

use crate::error::Result;
use crate::kernel::{
    Bf16, Bool, Call, Complex, Element, F16, Output, Registry, Run, Tensor, kernel, register,
};

/// Registers `cast`.
pub(super) fn register(registry: Registry) -> Result<()> {
    register!(registry, &["cast"], Cast, [Bool, u8, i8, i16, i32, i64, F16, Bf16, f32, f64]);
    register!(registry, &["cast"], Cast, [Complex<f32>, Complex<f64>]);
    Ok(())
}

kernel! {
    /// Converts the elements to another type.
    struct Cast<'c> = c"cast" {
        inputs: { x: Tensor<'c> },
        attributes: { out_dtype: DataType },
        outputs: { out: Output<'c> },
    }
}

impl<T: Element> Run<T> for Cast<'_> {
    fn run(self, call: &Call) -> Result<()> {
        // The kernel is chosen by the type of the elements; that of the tensor may be the new one.
        let source = self.x.view_as(T::DATA_TYPE)?;
        let mut out = self.out.view(self.out_dtype)?;
        call.run(|device, launch| device.cast(launch, &mut out, &source))
    }
}
