//! Convolution of sparse voxels.

use super::Pairs;
use crate::attributes::SparseConvolutionAttributes;
use crate::elements::accumulate::with_float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{with_optional_slices, with_slices};
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the output of [`sparse_convolution`].
///
/// # Errors
/// [`Error::Rank`] and [`Error::Attribute`] for a negative number.
pub fn sparse_convolution_shape(
    _x: TensorMeta<'_>,
    filter: TensorMeta<'_>,
    _pairs: TensorMeta<'_>,
    _counts: TensorMeta<'_>,
    _bias: Option<TensorMeta<'_>>,
    with: &SparseConvolutionAttributes,
) -> Result<Vec<usize>> {
    let SparseConvolutionAttributes { voxels, .. } = *with;
    let features = filter.dims().last().copied().ok_or(Error::Rank { dims: 0, strides: 3 })?;
    let count = usize::try_from(voxels);
    Ok(vec![count.map_err(|_| Error::Attribute { name: "voxels", value: voxels.to_string() })?, features])
}

/// Computes a convolution of sparse voxels, `[voxels, features]`: for each element of the window and each of its
/// pairs, the features of the input times the matrix of the element are added to the result, which begins with the
/// bias.
///
/// `filter` is `[…, input features, result features]`, with a matrix for each element. With `inverse`, pairs are
/// exchanged. With `submanifold`, the element with the most pairs, of equal ones the first, connects each voxel with
/// itself.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Index`], [`Error::Attribute`] for a negative number, and [`Error::Type`].
pub fn sparse_convolution(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    filter: &View<'_>,
    pairs: &View<'_>,
    counts: &View<'_>,
    bias: Option<&View<'_>>,
    with: &SparseConvolutionAttributes,
) -> Result<()> {
    let SparseConvolutionAttributes { voxels, inverse, submanifold } = *with;
    let bias_meta = bias.map(View::meta);
    let shape = sparse_convolution_shape(
        x.meta(),
        filter.meta(),
        pairs.meta(),
        counts.meta(),
        bias_meta,
        &SparseConvolutionAttributes { voxels, inverse, submanifold },
    )?;
    expect_shape(&shape, out.dims())?;
    let rules = Rules::new(x.dims(), filter.dims(), shape[0], [pairs, counts], inverse, submanifold)?;
    if let Some(bias) = bias {
        expect_shape(&shape[1..], bias.dims())?;
    }
    with_float!(x.dtype(), T => {
        let inputs = [Some(x), Some(filter), bias];
        with_optional_slices::<T, 1, 3>([Some(out.reborrow())], inputs, |[out], [x, filter, bias]| {
            let (out, [x, filter]) = (out.unwrap_or_default(), [x, filter].map(Option::unwrap_or_default));
            out.fill(0.0);
            if let Some(bias) = bias.filter(|bias| !bias.is_empty()) {
                out.chunks_exact_mut(bias.len()).for_each(|row| row.copy_from_slice(bias));
            }
            rules.each(|from, to, matrix| {
                let row = &mut out[to * rules.results..][..rules.results];
                for input in 0..rules.inputs {
                    let factor = x[from * rules.inputs + input];
                    let weights = &filter[(matrix * rules.inputs + input) * rules.results..][..rules.results];
                    row.iter_mut().zip(weights).for_each(|(out, weight)| *out += factor * weight);
                }
            });
            Ok(())
        })
    })
}

/// Computes the gradients of [`sparse_convolution`] with respect to the features and the filter.
///
/// # Errors
/// As [`sparse_convolution`].
pub fn sparse_convolution_grad(
    dx: &mut ViewMut<'_>,
    dfilter: &mut ViewMut<'_>,
    x: &View<'_>,
    filter: &View<'_>,
    pairs: &View<'_>,
    counts: &View<'_>,
    dout: &View<'_>,
    inverse: bool,
    submanifold: bool,
) -> Result<()> {
    let voxels = dout.dims().first().copied().unwrap_or(0);
    let rules = Rules::new(x.dims(), filter.dims(), voxels, [pairs, counts], inverse, submanifold)?;
    expect_shape(&[voxels, rules.results], dout.dims())?;
    expect_shape(x.dims(), dx.dims())?;
    expect_shape(filter.dims(), dfilter.dims())?;
    with_float!(x.dtype(), T => {
        let outs = [dx.reborrow(), dfilter.reborrow()];
        with_slices::<T, 2, 3>(outs, [x, filter, dout], |[dx, dfilter], [x, filter, dout]| {
            dx.fill(0.0);
            dfilter.fill(0.0);
            rules.each(|from, to, matrix| {
                let upstream = &dout[to * rules.results..][..rules.results];
                for input in 0..rules.inputs {
                    let (place, start) = (from * rules.inputs + input, (matrix * rules.inputs + input) * rules.results);
                    let products = upstream.iter().zip(&filter[start..]).map(|(upstream, weight)| upstream * weight);
                    dx[place] += products.fold(0.0, |sum, product| sum + product);
                    let slopes = &mut dfilter[start..][..rules.results];
                    slopes.iter_mut().zip(upstream).for_each(|(slope, upstream)| *slope += x[place] * upstream);
                }
            });
            Ok(())
        })
    })
}

struct Rules {
    voxels: usize,
    inputs: usize,
    results: usize,
    pairs: Pairs,
    /// The element that connects each voxel with itself.
    center: Option<usize>,
}

impl Rules {
    fn new(
        x: &[usize],
        filter: &[usize],
        voxels: usize,
        [pairs, counts]: [&View<'_>; 2],
        inverse: bool,
        submanifold: bool,
    ) -> Result<Self> {
        let (&[rows, inputs], &[ref window @ .., _, results]) = (x, filter) else {
            return Err(Error::Rank { dims: filter.len(), strides: 3 });
        };
        expect_shape(&[window, &[inputs, results]].concat(), filter)?;
        let pairs = Pairs::new(pairs, counts, inverse, [rows, voxels])?;
        expect_shape(&[window.iter().product()], &[pairs.counts.len()])?;
        if submanifold {
            expect_shape(&[rows], &[voxels])?;
        }
        let elements = 0..pairs.counts.len();
        let center = elements.rev().max_by_key(|&element| pairs.counts[element]).filter(|_| submanifold);
        Ok(Self { voxels, inputs, results, pairs, center })
    }

    /// Calls a function with a voxel of the input, a voxel of the result, and the element that connects them.
    fn each(&self, mut visit: impl FnMut(usize, usize, usize)) {
        for element in 0..self.pairs.counts.len() {
            if self.center == Some(element) {
                (0..self.voxels).for_each(|voxel| visit(voxel, voxel, element));
            } else {
                self.pairs.of(element).for_each(|[from, to]| visit(from, to, element));
            }
        }
    }
}
