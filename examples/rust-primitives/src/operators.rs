//! The operators. A real device starts a kernel on `launch.stream`; this one computes before it returns.

use tenon::device::Result;
use tenon_operators::attributes::SumAttributes;
use tenon_operators::{Launch, Operators, TensorMut, TensorRef};

use crate::device::MyNpu;
use crate::elements::{each, offset, read, write};
use crate::product::{product, shape};

#[tenon_operators::operators]
impl Operators for MyNpu {
    #[data_types(FLOAT32)]
    fn add(&self, _: Launch, out: &mut TensorMut<'_>, a: &TensorRef<'_>, b: &TensorRef<'_>) -> Result<()> {
        each(out, [a, b], |[a, b]| a + b)
    }

    #[data_types(FLOAT32)]
    fn multiply(
        &self,
        _: Launch,
        out: &mut TensorMut<'_>,
        a: &TensorRef<'_>,
        b: &TensorRef<'_>,
    ) -> Result<()> {
        each(out, [a, b], |[a, b]| a * b)
    }

    #[data_types(FLOAT32)]
    fn divide(&self, _: Launch, out: &mut TensorMut<'_>, a: &TensorRef<'_>, b: &TensorRef<'_>) -> Result<()> {
        each(out, [a, b], |[a, b]| a / b)
    }

    #[data_types(FLOAT32)]
    fn maximum(
        &self,
        _: Launch,
        out: &mut TensorMut<'_>,
        a: &TensorRef<'_>,
        b: &TensorRef<'_>,
    ) -> Result<()> {
        each(out, [a, b], |[a, b]| if a > b || a.is_nan() { a } else { b })
    }

    #[data_types(FLOAT32)]
    fn greater_than(
        &self,
        _: Launch,
        out: &mut TensorMut<'_>,
        a: &TensorRef<'_>,
        b: &TensorRef<'_>,
    ) -> Result<()> {
        each(out, [a, b], |[a, b]| f32::from(u8::from(a > b)))
    }

    #[data_types(FLOAT32)]
    fn greater_equal(
        &self,
        _: Launch,
        out: &mut TensorMut<'_>,
        a: &TensorRef<'_>,
        b: &TensorRef<'_>,
    ) -> Result<()> {
        each(out, [a, b], |[a, b]| f32::from(u8::from(a >= b)))
    }

    #[data_types(FLOAT32)]
    fn select(
        &self,
        _: Launch,
        out: &mut TensorMut<'_>,
        condition: &TensorRef<'_>,
        a: &TensorRef<'_>,
        b: &TensorRef<'_>,
    ) -> Result<()> {
        each(out, [condition, a, b], |[condition, a, b]| if condition != 0.0 { a } else { b })
    }

    #[data_types(FLOAT32)]
    fn exp(&self, _: Launch, out: &mut TensorMut<'_>, x: &TensorRef<'_>) -> Result<()> {
        each(out, [x], |[x]| x.exp())
    }

    #[data_types(FLOAT32)]
    fn log(&self, _: Launch, out: &mut TensorMut<'_>, x: &TensorRef<'_>) -> Result<()> {
        each(out, [x], |[x]| x.ln())
    }

    #[data_types(FLOAT32)]
    fn sqrt(&self, _: Launch, out: &mut TensorMut<'_>, x: &TensorRef<'_>) -> Result<()> {
        each(out, [x], |[x]| x.sqrt())
    }

    #[data_types(FLOAT32)]
    fn tanh(&self, _: Launch, out: &mut TensorMut<'_>, x: &TensorRef<'_>) -> Result<()> {
        each(out, [x], |[x]| x.tanh())
    }

    #[data_types(FLOAT32)]
    fn expand(&self, _: Launch, out: &mut TensorMut<'_>, x: &TensorRef<'_>) -> Result<()> {
        each(out, [x], |[x]| x)
    }

    #[data_types(FLOAT32)]
    fn sum(
        &self,
        _: Launch,
        out: &mut TensorMut<'_>,
        x: &TensorRef<'_>,
        with: &SumAttributes<'_>,
    ) -> Result<()> {
        reduce(out, x, with, 0.0, |sum, x| sum + x)
    }

    #[data_types(FLOAT32)]
    fn max(
        &self,
        _: Launch,
        out: &mut TensorMut<'_>,
        x: &TensorRef<'_>,
        with: &SumAttributes<'_>,
    ) -> Result<()> {
        reduce(out, x, with, f64::NEG_INFINITY, |max, x| if x > max || x.is_nan() { x } else { max })
    }

    #[data_types(FLOAT32)]
    fn matmul(
        &self,
        _: Launch,
        out: &mut TensorMut<'_>,
        a: &TensorRef<'_>,
        b: &TensorRef<'_>,
        transpose_a: bool,
        transpose_b: bool,
    ) -> Result<()> {
        product(out, a, b, transpose_a, transpose_b)
    }

    // Without the shape, hosts cannot use `matmul`.
    fn matmul_out_shape(
        &self,
        _: Launch,
        a: &TensorRef<'_>,
        b: &TensorRef<'_>,
        transpose_a: bool,
        transpose_b: bool,
    ) -> Result<Vec<usize>> {
        shape(a, b, transpose_a, transpose_b)
    }
}

/// Combines the elements along some dimensions, or all of them if none are given.
fn reduce(
    out: &mut TensorMut<'_>,
    x: &TensorRef<'_>,
    with: &SumAttributes<'_>,
    first: f64,
    combine: impl Fn(f64, f64) -> f64,
) -> Result<()> {
    let axis = if with.reduce_all { &[] } else { with.axis };
    let rank = x.dims().len() as i64;
    let is_reduced = |index: usize| {
        axis.is_empty() || axis.contains(&(index as i64)) || axis.contains(&(index as i64 - rank))
    };
    let mut results = vec![first; out.len()];
    for position in 0..x.len() {
        let (mut rest, mut place, mut size) = (position, 0, 1);
        for (index, &dim) in x.dims().iter().enumerate().rev() {
            if !is_reduced(index) {
                place += rest % dim * size;
                size *= dim;
            }
            rest /= dim;
        }
        results[place] = combine(results[place], read(x, offset(position, x.dims(), x.strides())).into());
    }
    for (position, result) in results.into_iter().enumerate() {
        let place = offset(position, out.dims(), out.strides());
        write(out, place, result as f32);
    }
    Ok(())
}

// For libtenon and its Python package, which compose other operators of these too.
tenon_operators::export_operators!(MyNpu);
