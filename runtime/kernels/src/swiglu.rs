//! SwiGLU, the gated linear unit, and its gradient.

use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{lend, with_optional_slices};
use crate::numeric::Floating;
use crate::tensor::{View, ViewMut};

/// Computes `x * sigmoid(x) * y`. Without `y`, the first half of `x` along the last dimension is `x`, and the
/// second half is `y`.
///
/// # Errors
/// [`Error::Shape`], [`Error::Length`] if the dimension cannot be halved, and [`Error::Type`] unless the
/// tensors are floating-point.
pub fn swiglu(out: &mut ViewMut<'_>, x: &View<'_>, y: Option<&View<'_>>) -> Result<()> {
    let halves = Halves::new(x.dims(), y)?;
    expect_shape(&halves.dims, out.dims())?;
    with_float!(x.dtype(), T => with_optional_slices::<T, 1, 2>([Some(out.reborrow())], [Some(x), y], |[out], [x, y]| {
        let (out, x) = (out.unwrap_or_default(), x.unwrap_or_default());
        halves.each(out.len(), |n, [gate, value]| {
            let (gate, value) = (x[gate], y.unwrap_or(x)[value]);
            out[n] = gate * gate.sigmoid() * value;
        });
        Ok(())
    }))
}

/// Computes the gradients of [`swiglu`]; without `y`, `dx` holds the gradient of both halves.
///
/// # Errors
/// As [`swiglu`].
pub fn swiglu_grad(
    dx: Option<&mut ViewMut<'_>>,
    dy: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    y: Option<&View<'_>>,
    dout: &View<'_>,
) -> Result<()> {
    let halves = Halves::new(x.dims(), y)?;
    expect_shape(&halves.dims, dout.dims())?;
    expect_shape(x.dims(), dx.as_deref().map_or(x.dims(), ViewMut::dims))?;
    let dy = dy.filter(|_| y.is_some());
    expect_shape(&halves.dims, dy.as_deref().map_or(&halves.dims[..], ViewMut::dims))?;
    with_float!(x.dtype(), T => {
        let inputs = [Some(x), y, Some(dout)];
        with_optional_slices::<T, 2, 3>([lend(dx), lend(dy)], inputs, |[mut dx, mut dy], [x, y, dout]| {
            let (x, dout) = (x.unwrap_or_default(), dout.unwrap_or_default());
            halves.each(dout.len(), |n, [gate_at, value_at]| {
                let (gate, value) = (x[gate_at], y.unwrap_or(x)[value_at]);
                let [dgate, dvalue] = gradient(gate, value, dout[n]);
                if let Some(dx) = dx.as_deref_mut() {
                    dx[gate_at] = dgate;
                    if y.is_none() {
                        dx[value_at] = dvalue;
                    }
                }
                if let Some(dy) = dy.as_deref_mut() {
                    dy[value_at] = dvalue;
                }
            });
            Ok(())
        })
    })
}

fn gradient<T: Float>(gate: T, value: T, dout: T) -> [T; 2] {
    let sigmoid = gate.sigmoid();
    let slope = sigmoid * (T::ONE + gate * (T::ONE - sigmoid));
    [dout * value * slope, dout * gate * sigmoid]
}

/// The positions of gates and values.
struct Halves {
    /// The shape of the result.
    dims: Vec<usize>,
    /// Half the length of a row, if both halves are in one tensor.
    half: Option<usize>,
}

impl Halves {
    fn new(x: &[usize], y: Option<&View<'_>>) -> Result<Self> {
        if let Some(y) = y {
            expect_shape(x, y.dims())?;
            return Ok(Self { dims: x.to_vec(), half: None });
        }
        let (Some(&len), mut dims) = (x.last(), x.to_vec()) else {
            return Err(Error::Rank { dims: 0, strides: 1 });
        };
        crate::expect_length("x", len / 2 * 2, len)?;
        if let Some(last) = dims.last_mut() {
            *last = len / 2;
        }
        Ok(Self { dims, half: Some(len / 2) })
    }

    fn each(&self, len: usize, mut visit: impl FnMut(usize, [usize; 2])) {
        for n in 0..len {
            match self.half {
                None => visit(n, [n, n]),
                Some(half) => {
                    let start = n / half * 2 * half + n % half;
                    visit(n, [start, start + half]);
                }
            }
        }
    }
}
