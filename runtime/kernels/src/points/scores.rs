//! Sums of features with the scores of weight matrices (Xu et al., "PAConv", 2021).

use crate::elements::accumulate::with_float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{integers, with_slices};
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the output of [`assign_scores`].
///
/// # Errors
/// [`Error::Rank`].
pub fn assign_scores_shape(
    x: TensorMeta<'_>,
    _centers: TensorMeta<'_>,
    scores: TensorMeta<'_>,
    _indices: TensorMeta<'_>,
) -> Result<Vec<usize>> {
    let (&[batch, _, _, features], &[_, samples, neighbors, _]) = (x.dims(), scores.dims()) else {
        return Err(Error::Rank { dims: x.dims().len(), strides: 4 });
    };
    Ok(vec![batch, features, samples, neighbors])
}

/// Sums the features of each neighbour of each sample, less those of the sample, with the scores of the matrices that
/// they come from: `[batch, features, samples, neighbours]`.
///
/// `x` and `centers` are `[batch, points, matrices, features]`, `scores` `[batch, samples, neighbours, matrices]`. The
/// first index of each row of `indices`, `[batch, samples, neighbours]`, is the sample itself.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Index`] and [`Error::Type`].
pub fn assign_scores(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    centers: &View<'_>,
    scores: &View<'_>,
    indices: &View<'_>,
) -> Result<()> {
    let rules = Rules::new(x, centers, scores, indices)?;
    expect_shape(&rules.result(), out.dims())?;
    with_float!(x.dtype(), T => {
        with_slices::<T, 1, 3>([out.reborrow()], [x, centers, scores], |[out], [x, centers, scores]| {
            out.fill(0.0);
            rules.each(|result, point, center, score| out[result] += (x[point] - centers[center]) * scores[score]);
            Ok(())
        })
    })
}

/// Computes the gradients of [`assign_scores`].
///
/// # Errors
/// As [`assign_scores`].
pub fn assign_scores_grad(
    dx: &mut ViewMut<'_>,
    dcenters: &mut ViewMut<'_>,
    dscores: &mut ViewMut<'_>,
    x: &View<'_>,
    centers: &View<'_>,
    scores: &View<'_>,
    indices: &View<'_>,
    dout: &View<'_>,
) -> Result<()> {
    let rules = Rules::new(x, centers, scores, indices)?;
    expect_shape(&rules.result(), dout.dims())?;
    expect_shape(x.dims(), dx.dims())?;
    expect_shape(centers.dims(), dcenters.dims())?;
    expect_shape(scores.dims(), dscores.dims())?;
    with_float!(x.dtype(), T => {
        let outs = [dx.reborrow(), dcenters.reborrow(), dscores.reborrow()];
        let inputs = [x, centers, scores, dout];
        with_slices::<T, 3, 4>(outs, inputs, |[dx, dcenters, dscores], [x, centers, scores, dout]| {
            for gradient in [&mut *dx, &mut *dcenters, &mut *dscores] {
                gradient.fill(0.0);
            }
            rules.each(|result, point, center, score| {
                dx[point] += dout[result] * scores[score];
                dcenters[center] -= dout[result] * scores[score];
                dscores[score] += dout[result] * (x[point] - centers[center]);
            });
            Ok(())
        })
    })
}

struct Rules {
    batch: usize,
    points: usize,
    matrices: usize,
    features: usize,
    samples: usize,
    neighbors: usize,
    indices: Vec<usize>,
}

impl Rules {
    fn new(x: &View<'_>, centers: &View<'_>, scores: &View<'_>, indices: &View<'_>) -> Result<Self> {
        let (&[batch, points, matrices, features], &[_, samples, neighbors, _]) = (x.dims(), scores.dims())
        else {
            return Err(Error::Rank { dims: x.dims().len(), strides: 4 });
        };
        expect_shape(x.dims(), centers.dims())?;
        expect_shape(&[batch, samples, neighbors, matrices], scores.dims())?;
        expect_shape(&[batch, samples, neighbors], indices.dims())?;
        let point = |index: i64| {
            let point = usize::try_from(index).ok().filter(|&point| point < points);
            point.ok_or(Error::Index { index, len: points })
        };
        let indices = integers(indices)?.into_iter().map(point).collect::<Result<_>>()?;
        Ok(Self { batch, points, matrices, features, samples, neighbors, indices })
    }

    fn result(&self) -> [usize; 4] {
        [self.batch, self.features, self.samples, self.neighbors]
    }

    /// Calls a function with the indices of a result, of the features of a neighbour and a sample, and of a score.
    fn each(&self, mut visit: impl FnMut(usize, usize, usize, usize)) {
        for (n, &neighbor) in self.indices.iter().enumerate() {
            let (row, own) = (n / self.neighbors, n % self.neighbors);
            let (batch, sample) = (row / self.samples, row % self.samples);
            let center = self.indices[row * self.neighbors];
            for matrix in 0..self.matrices {
                let features =
                    |point: usize| ((batch * self.points + point) * self.matrices + matrix) * self.features;
                for feature in 0..self.features {
                    let result =
                        ((batch * self.features + feature) * self.samples + sample) * self.neighbors + own;
                    let score = n * self.matrices + matrix;
                    visit(result, features(neighbor) + feature, features(center) + feature, score);
                }
            }
        }
    }
}
