//! Distances between the rows of two matrices.

use super::sum_to;
use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::simd::wide;
use crate::loops::slices::with_slices;
use crate::numeric::Numeric;
use crate::tensor::buffer::Buffer;
use crate::tensor::{TensorMeta, View, ViewMut};

/// The number of elements that are added in their own type, so that the compiler vectorises the loops. Sums of them
/// are added in `f64`.
const LANES: usize = 16;
const BLOCK: usize = 32 * LANES;

/// The number of elements of the second matrix that stay in the cache of a core while the first one is read.
const CACHED: usize = 16 * 1024;

/// A norm of the difference of two rows.
#[derive(Clone, Copy)]
enum Norm {
    /// The number of elements that differ.
    Count,
    Sum,
    Euclidean,
    Largest,
    Smallest,
    Power(f64),
}

impl Norm {
    fn of_order(order: f64) -> Self {
        match order {
            0.0 => Self::Count,
            1.0 => Self::Sum,
            2.0 => Self::Euclidean,
            f64::INFINITY => Self::Largest,
            f64::NEG_INFINITY => Self::Smallest,
            order => Self::Power(order),
        }
    }

    #[inline(always)]
    fn of_difference<T: Float>(self, x: &[T], y: &[T]) -> f64 {
        match self {
            Self::Count => sum_of(x, y, |d| if d == T::ZERO { d } else { T::ONE }),
            Self::Sum => sum_of(x, y, |d| d),
            Self::Euclidean => sum_of(x, y, |d| d * d).sqrt(),
            Self::Largest => pairs(x, y).fold(0.0, Numeric::max),
            Self::Smallest => pairs(x, y).fold(f64::INFINITY, Numeric::min),
            Self::Power(order) => pairs(x, y).map(|d| d.powf(order)).sum::<f64>().powf(order.recip()),
        }
    }

    /// Returns the derivative by the difference, for its absolute value and the norm.
    #[inline(always)]
    fn slope<T: Float>(self, difference: T, norm: f64) -> f64 {
        let size: f64 = difference.abs().into();
        if size == 0.0 {
            return 0.0;
        }
        let slope = match self {
            Self::Count => 0.0,
            Self::Sum => 1.0,
            Self::Euclidean => size / norm,
            Self::Largest | Self::Smallest => f64::from(u8::from(size == norm)),
            Self::Power(order) => (size / norm).powf(order - 1.0),
        };
        if difference < T::ZERO { -slope } else { slope }
    }
}

fn wide_number<T: Float>(number: T) -> f64 {
    number.into()
}

/// Returns the absolute differences of two rows.
#[inline(always)]
fn pairs<T: Float>(x: &[T], y: &[T]) -> impl Iterator<Item = f64> {
    x.iter().zip(y).map(|(&x, &y)| (x - y).abs().into())
}

/// Adds values of the absolute differences of two rows.
#[inline(always)]
fn sum_of<T: Float>(x: &[T], y: &[T], value: impl Fn(T) -> T) -> f64 {
    let mut total = 0.0;
    for (x, y) in x.chunks(BLOCK).zip(y.chunks(BLOCK)) {
        let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
        let mut lanes = [T::ZERO; LANES];
        for (x, y) in x.iter().zip(y) {
            for lane in 0..LANES {
                lanes[lane] += value((x[lane] - y[lane]).abs());
            }
        }
        let rest = x_rest.iter().zip(y_rest).map(|(&x, &y)| value((x - y).abs()).into());
        total += lanes.into_iter().map(Into::into).chain(rest).sum::<f64>();
    }
    total
}

/// The sizes of two batches of matrices.
struct Plan {
    /// The dimensions of the batch, to which both are broadcast.
    batch: Vec<usize>,
    rows: [usize; 2],
    columns: usize,
}

impl Plan {
    fn new(x: &[usize], y: &[usize]) -> Result<Self> {
        let (&[ref x_batch @ .., x_rows, columns], &[ref y_batch @ .., y_rows, y_columns]) = (x, y) else {
            return Err(Error::Rank { dims: x.len().min(y.len()), strides: 2 });
        };
        if columns != y_columns {
            return Err(Error::Inner { x: [x_rows, columns], y: [y_columns, y_rows] });
        }
        let refused = || Error::Broadcast { from: y_batch.to_vec(), to: x_batch.to_vec() };
        let rank = x_batch.len().max(y_batch.len());
        let at = |batch: &[usize], n: usize| (n + batch.len()).checked_sub(rank).map_or(1, |n| batch[n]);
        let batch = (0..rank).map(|n| match (at(x_batch, n), at(y_batch, n)) {
            (one, other) if one == other || other == 1 => Ok(one),
            (1, other) => Ok(other),
            _ => Err(refused()),
        });
        Ok(Self { batch: batch.collect::<Result<_>>()?, rows: [x_rows, y_rows], columns })
    }

    fn dims(&self, rows: usize, columns: usize) -> Vec<usize> {
        [&self.batch[..], &[rows, columns]].concat()
    }

    fn operands<'v>(&self, x: &View<'v>, y: &View<'v>) -> Result<[View<'v>; 2]> {
        let [x_rows, y_rows] = self.rows;
        Ok([
            x.clone().expand(&self.dims(x_rows, self.columns))?,
            y.clone().expand(&self.dims(y_rows, self.columns))?,
        ])
    }

    /// Calls a function with the numbers of both rows, and the rows, of each pair.
    #[inline(always)]
    fn each_pair<T>(&self, x: &[T], y: &[T], mut each: impl FnMut([usize; 2], &[T], &[T])) {
        let [x_rows, y_rows] = self.rows;
        let tile = (CACHED / self.columns.max(1)).max(1);
        for n in 0..self.batch.iter().product() {
            for start in (0..y_rows).step_by(tile) {
                for row in n * x_rows..(n + 1) * x_rows {
                    for other in n * y_rows + start..n * y_rows + (start + tile).min(y_rows) {
                        let place = |row: usize| row * self.columns..(row + 1) * self.columns;
                        each([row, other], &x[place(row)], &y[place(other)]);
                    }
                }
            }
        }
    }
}

/// Computes the shape of the output of [`pairwise_distance`].
///
/// # Errors
/// As [`pairwise_distance`].
pub fn pairwise_distance_shape(x: TensorMeta<'_>, y: TensorMeta<'_>, _porder: f64) -> Result<Vec<usize>> {
    let plan = Plan::new(x.dims(), y.dims())?;
    Ok(plan.dims(plan.rows[0], plan.rows[1]))
}

/// Computes the [`p_norm`](super::p_norm) of the difference of each row of `x` and each row of `y`, without a
/// temporary tensor of the differences.
///
/// # Errors
/// [`Error::Rank`], [`Error::Inner`], [`Error::Broadcast`], [`Error::Shape`], and [`Error::Type`] unless the tensors
/// are floating-point.
pub fn pairwise_distance(out: &mut ViewMut<'_>, x: &View<'_>, y: &View<'_>, porder: f64) -> Result<()> {
    let plan = Plan::new(x.dims(), y.dims())?;
    expect_shape(&plan.dims(plan.rows[0], plan.rows[1]), out.dims())?;
    let ([x, y], norm) = (plan.operands(x, y)?, Norm::of_order(porder));
    with_float!(x.dtype(), T => {
        with_slices::<T, 1, 2>([out.reborrow()], [&x, &y], |[out], [x, y]| {
            wide(|| {
                plan.each_pair(x, y, #[inline(always)] |[row, other], x, y| {
                    let y_rows = plan.rows[1];
                    out[row * y_rows + other % y_rows] = norm.of_difference(x, y) as T;
                });
            });
            Ok(())
        })
    })
}

/// Computes the gradient of [`pairwise_distance`] with respect to `x`. It is zero where elements are equal.
///
/// # Errors
/// As [`pairwise_distance`].
pub fn pairwise_distance_grad(
    dx: &mut ViewMut<'_>,
    x: &View<'_>,
    y: &View<'_>,
    dout: &View<'_>,
    porder: f64,
) -> Result<()> {
    let plan = Plan::new(x.dims(), y.dims())?;
    expect_shape(&plan.dims(plan.rows[0], plan.rows[1]), dout.dims())?;
    expect_shape(x.dims(), dx.dims())?;
    let dims = plan.dims(plan.rows[0], plan.columns);
    let ([x, y], norm) = (plan.operands(x, y)?, Norm::of_order(porder));
    with_float!(x.dtype(), T => {
        let mut whole = Buffer::new(<f64 as crate::Element>::DTYPE, &dims)?;
        with_slices::<f64, 1, 0>([whole.view_mut()?], [], |[sums], []| {
            sums.fill(0.0);
            with_slices::<T, 0, 3>([], [&x, &y, dout], |[], [x, y, dout]| {
                wide(|| {
                    plan.each_pair(x, y, #[inline(always)] |[row, other], x, y| {
                        let factor = wide_number(dout[row * plan.rows[1] + other % plan.rows[1]]);
                        let length = norm.of_difference(x, y);
                        let sums = &mut sums[row * plan.columns..][..plan.columns];
                        for ((sum, &x), &y) in sums.iter_mut().zip(x).zip(y) {
                            *sum += factor * norm.slope(x - y, length);
                        }
                    });
                });
                Ok(())
            })
        })?;
        sum_to(dx, &whole.view()?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::PNormAttributes;

    #[test]
    fn rows_of_several_tiles_and_blocks_have_the_distances_of_all_pairs() {
        let (rows, others, columns) = (3, 40, BLOCK + LANES + 3);
        let number = |n: usize| ((n * 7919) % 101) as f32 / 10.0;
        let x: Vec<f32> = (0..rows * columns).map(number).collect();
        let y: Vec<f32> = (0..others * columns).map(|n| number(n + 5)).collect();
        for porder in [0.0, 0.5, 1.0, 2.0, 3.0, f64::INFINITY] {
            let mut out = vec![0.0_f32; rows * others];
            pairwise_distance(
                &mut ViewMut::of_slice(&mut out, &[rows, others]).unwrap(),
                &View::of_slice(&x, &[rows, columns]).unwrap(),
                &View::of_slice(&y, &[others, columns]).unwrap(),
                porder,
            )
            .unwrap();
            for (n, actual) in out.iter().enumerate() {
                let (x, y) = (&x[n / others * columns..][..columns], &y[n % others * columns..][..columns]);
                let mut differences = vec![0.0_f32; columns];
                for ((difference, x), y) in differences.iter_mut().zip(x).zip(y) {
                    *difference = x - y;
                }
                let mut expected = [0.0_f64];
                super::super::p_norm(
                    &mut ViewMut::of_slice(&mut expected, &[]).unwrap(),
                    &View::of_slice(&differences, &[columns]).unwrap(),
                    &PNormAttributes { porder, axis: 0, keep_dim: false, asvector: true },
                )
                .unwrap();
                let error = (f64::from(*actual) - expected[0]).abs() / expected[0].max(1.0);
                assert!(error < 1e-6, "order {porder}: {actual} is not {}", expected[0]);
            }
        }
    }
}
