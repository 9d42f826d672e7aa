//! Reductions: one value from all elements along some dimensions, and gradients.
//!
//! ```
//! use tenon_kernels::attributes::SumAttributes;
//! use tenon_kernels::{View, ViewMut, formulas::reduction::sum};
//!
//! let (x, mut y) = ([1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0], [0.0_f32; 3]);
//! let with = SumAttributes { axis: &[0], ..Default::default() };
//! sum(&mut ViewMut::of_slice(&mut y, &[3])?, &View::of_slice(&x, &[2, 3])?, &with)?;
//! assert_eq!(y, [5.0, 7.0, 9.0]);
//! # Ok::<(), tenon_kernels::Error>(())
//! ```
//!
//! The spec describes most reductions as a [`Fold`]; their functions are in
//! [`formulas::reduction`](crate::formulas::reduction). Those that need more are here.
//!
//! `axis` lists the dimensions to reduce; negative ones count from the end. An empty list, or `reduce_all`,
//! means all dimensions. With `keep_dim` the output has the length one for each reduced dimension; otherwise
//! it lacks these dimensions.
//!
//! Floats of all types are accumulated in `f64`, integers and booleans in `Wrapping<i64>`; results are converted to the
//! type of the output as by elementwise operators. Sums of contiguous `f32` may be rounded to `f32` in blocks of 1024
//! elements. The output may share memory with the input.

mod along;
mod distances;
mod extremum;
mod fold;
mod gradients;
mod logsumexp;
mod norms;

pub use along::{Along, spread};
pub(crate) use along::{resolve, rows_last, with_last};
pub use distances::{pairwise_distance, pairwise_distance_grad, pairwise_distance_shape};
pub use extremum::{argmax, argmin, extremum_grad, max_with_indices, min_with_indices};
pub use fold::{Fold, float, numeric, sum_of, sum_to};
pub use gradients::{prod_grad, reduce_as_grad, sum_grad};
pub use logsumexp::logsumexp;
pub use norms::{clip_by_norm, p_norm, p_norm_grad};

use crate::error::{Error, Result};
use crate::loops::slices::with_slices;
use crate::tensor::{View, ViewMut};

/// Computes each element of the output from the elements of the input that are reduced to it, in `f64`.
fn rowwise(out: &mut ViewMut<'_>, x: &View<'_>, axes: &[usize], each: impl Fn(&[f64]) -> f64) -> Result<()> {
    for dtype in [x.dtype(), out.dtype()] {
        if !dtype.is_float() {
            return Err(Error::Type { dtype });
        }
    }
    let (x, len) = rows_last(x, axes)?;
    with_slices([out.reborrow()], [&x], |[out], [x]| {
        for (n, out) in out.iter_mut().enumerate() {
            *out = each(&x[n * len..][..len]);
        }
        Ok(())
    })
}
