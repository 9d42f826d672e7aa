//! Half-precision products by the provider, without conversions to `f32` and back.

use super::Plan;
use crate::error::Result;
use crate::loops::slices::with_slices;
use crate::matmul::matrix::{Matrix, MatrixMut};
use crate::matmul::product::is_provided;
use crate::provider;
use crate::tensor::{View, ViewMut};

impl Plan {
    /// Lets the provider compute the result. Returns false if the kernel has to compute it.
    pub(super) fn is_provided_in_half(&self, out: &mut ViewMut<'_>, inputs: [&View<'_>; 2]) -> Result<bool> {
        self.is_done(Some(out), inputs, &inputs, |dtype, out, [x, y]| {
            self.pairs.iter().enumerate().all(|(number, &[left, right])| {
                let mut out = MatrixMut::new(&mut out[self.product(number)], self.rows, self.columns);
                let factors = [self.operand(&x[self.left(left)], 0), self.operand(&y[self.right(right)], 1)];
                is_provided(dtype, &mut out, factors, false)
            })
        })
    }

    /// Lets the provider compute gradients. Returns the gradients that the kernel has to compute.
    pub(super) fn left_over<'v>(
        &self,
        [mut dx, mut dy]: [Option<ViewMut<'v>>; 2],
        inputs: [&View<'_>; 3],
    ) -> Result<[Option<ViewMut<'v>>; 2]> {
        // Gradients of a broadcast operand are sums, which would be rounded at each step.
        let is_plain = self.pairs.iter().enumerate().all(|(number, pair)| *pair == [number; 2]);
        if !is_plain {
            return Ok([dx, dy]);
        }
        let [x, y, dout] = inputs;
        let has_dx = self.is_done(dx.as_mut(), [dout, y], &inputs, |dtype, dx, [dout, y]| {
            (0..self.pairs.len()).all(|number| {
                let dout = Matrix::new(&dout[self.product(number)], self.rows, self.columns);
                let y = self.operand(&y[self.right(number)], 1).transposed();
                is_provided(dtype, &mut self.gradient(&mut dx[self.left(number)], 0), [dout, y], false)
            })
        })?;
        let has_dy = self.is_done(dy.as_mut(), [x, dout], &inputs, |dtype, dy, [x, dout]| {
            (0..self.pairs.len()).all(|number| {
                let dout = Matrix::new(&dout[self.product(number)], self.rows, self.columns);
                let x = self.operand(&x[self.left(number)], 0).transposed();
                is_provided(dtype, &mut self.gradient(&mut dy[self.right(number)], 1), [x, dout], false)
            })
        })?;
        Ok([dx.filter(|_| !has_dx), dy.filter(|_| !has_dy)])
    }

    /// Computes an output from two of the inputs. Returns false if the output shares memory with an input or
    /// the provider declines.
    fn is_done(
        &self,
        out: Option<&mut ViewMut<'_>>,
        operands: [&View<'_>; 2],
        inputs: &[&View<'_>],
        compute: impl FnOnce(crate::DType, &mut [u16], [&[u16]; 2]) -> bool,
    ) -> Result<bool> {
        let Some(out) = out.filter(|out| provider::takes_halves(out, inputs.iter().copied())) else {
            return Ok(false);
        };
        let (dtype, mut is_done) = (out.dtype(), false);
        with_slices::<u16, 1, 2>([out.reborrow()], operands, |[out], operands| {
            is_done = compute(dtype, out, operands);
            Ok(())
        })?;
        Ok(is_done)
    }
}
