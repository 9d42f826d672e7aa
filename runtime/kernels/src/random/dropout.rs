//! Dropout.

use super::Numbers;
use crate::attributes::{DropoutAttributes, DropoutGradAttributes};
use crate::elements::accumulate::with_float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::movement;
use crate::loops::tiles::update;
use crate::tensor::axis;
use crate::tensor::{View, ViewMut};

/// Returns the factor of kept elements in training, and the factor of all elements in inference.
fn factors(p: f64, mode: &str) -> Result<[f64; 2]> {
    if !(0.0..=1.0).contains(&p) {
        return Err(Error::Attribute { name: "p", value: p.to_string() });
    }
    match mode {
        "upscale_in_train" => Ok([if p == 1.0 { 0.0 } else { 1.0 / (1.0 - p) }, 1.0]),
        "downgrade_in_infer" | "downscale_in_infer" => Ok([1.0, 1.0 - p]),
        other => Err(Error::Attribute { name: "mode", value: other.to_owned() }),
    }
}

/// Sets elements to zero with the probability `p`.
///
/// PaddlePaddle's operator uses the name `downgrade_in_infer` where its Python functions use
/// `downscale_in_infer`.
///
/// In training, the mask is one where `u >= p`, and these elements are kept: unchanged in the mode
/// `downscale_in_infer`, and divided by `1 - p` in `upscale_in_train`. With `is_test`, nothing is dropped and
/// the mask is not written; in `downscale_in_infer`, elements are multiplied by `1 - p`. If `axis` lists
/// dimensions, elements that differ only in the other dimensions are dropped together.
///
/// # Errors
/// [`Error::Shape`], [`Error::Axis`], [`Error::Type`] unless the tensors are floating-point,
/// [`Error::Attribute`], [`Error::Missing`] for training without a mask.
pub fn dropout(
    out: &mut ViewMut<'_>,
    mask: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    with: &DropoutAttributes<'_>,
    seed: i64,
    offset: i64,
) -> Result<()> {
    let DropoutAttributes { p, is_test, mode, axis } = *with;
    let [kept, all] = factors(p, mode)?;
    let mask = match (is_test, mask) {
        (true, _) => {
            return with_float!(x.dtype(), T => {
                let factor = all as T;
                update::<T, 1, 1>([Some(out.reborrow())], [Some(x)], move |[x]| [x * factor])
            });
        }
        (false, Some(mask)) => mask,
        (false, None) => return Err(Error::Missing { missing: "mask", because: "is_test" }),
    };
    expect_shape(x.dims(), out.dims())?;
    expect_shape(x.dims(), mask.dims())?;
    let axes = axis::axes(axis, x.dims().len())?;
    let shared = |n: usize| !axes.is_empty() && !axes.contains(&n);
    let dims: Vec<usize> =
        x.dims().iter().enumerate().map(|(n, &dim)| if shared(n) { dim.min(1) } else { dim }).collect();
    let fates = Numbers::new(seed, offset).at_least(p, dims.iter().product());
    let fates = View::of_slice(&fates, &dims)?.expand(x.dims())?;
    with_float!(x.dtype(), T => {
        let factor = kept as T;
        update::<T, 1, 2>([Some(out.reborrow())], [Some(x), Some(&fates)], move |[x, fate]| {
            [if fate == 0.0 { 0.0 } else { x * factor }]
        })
    })?;
    movement::copy(mask, &fates)
}

/// Computes the gradient of [`dropout`] with respect to `x`: `dout` where elements were kept, with their factor.
///
/// With `is_test` the mask is not read.
///
/// # Errors
/// As [`dropout`].
pub fn dropout_grad(
    dx: &mut ViewMut<'_>,
    mask: &View<'_>,
    dout: &View<'_>,
    with: &DropoutGradAttributes<'_>,
) -> Result<()> {
    let DropoutGradAttributes { p, is_test, mode } = *with;
    let [kept, all] = factors(p, mode)?;
    let mask = (!is_test).then_some(mask);
    with_float!(dx.dtype(), T => {
        let [kept, all] = [kept, all].map(|factor| factor as T);
        update::<T, 1, 2>([Some(dx.reborrow())], [Some(dout), mask], move |[dout, mask]| {
            [if is_test { dout * all } else if mask == 0.0 { 0.0 } else { dout * kept }]
        })
    })
}
