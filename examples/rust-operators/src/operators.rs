//! The operators. A real device starts a kernel on `launch.stream`; this one computes before it returns.

use tenon::device::Result;
use tenon_operators::{Launch, Operators, TensorMut, TensorRef};

use crate::device::MyNpu;
use crate::elements::each;

#[tenon_operators::operators]
impl Operators for MyNpu {
    #[data_types(FLOAT32)]
    fn relu(&self, _: Launch, out: &mut TensorMut<'_>, x: &TensorRef<'_>) -> Result<()> {
        each(out, [x], |[x]| x.max(0.0))
    }

    #[data_types(FLOAT32)]
    fn relu_dx(
        &self,
        _: Launch,
        dx: &mut TensorMut<'_>,
        out: &TensorRef<'_>,
        dout: &TensorRef<'_>,
    ) -> Result<()> {
        each(dx, [out, dout], |[out, dout]| if out > 0.0 { dout } else { 0.0 })
    }

    #[data_types(FLOAT32)]
    fn add(&self, _: Launch, out: &mut TensorMut<'_>, a: &TensorRef<'_>, b: &TensorRef<'_>) -> Result<()> {
        each(out, [a, b], |[a, b]| a + b)
    }

    // PaddlePaddle fills tensors and reads slices with this one.
    #[data_types(FLOAT32)]
    fn expand(&self, _: Launch, out: &mut TensorMut<'_>, x: &TensorRef<'_>) -> Result<()> {
        each(out, [x], |[x]| x)
    }
}

// For libtenon and its Python package.
tenon_operators::export_operators!(MyNpu);
