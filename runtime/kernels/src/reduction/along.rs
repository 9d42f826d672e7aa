//! The dimensions along which a reduction works.

use crate::error::{Error, Result};
use crate::tensor::axis;
use crate::tensor::{PerDimension, View, ViewMut};

/// The dimensions that are reduced.
#[derive(Clone, Copy, Debug)]
pub enum Along<'a> {
    /// Dimensions as frameworks name them: see [`Along::named`].
    Named {
        /// The dimensions; negative numbers count from the end. None stands for all.
        axis: &'a [i64],
        /// True if the output has the length one for each reduced dimension; otherwise it lacks them.
        keep_dim: bool,
        /// True if all dimensions are reduced.
        reduce_all: bool,
    },
    /// The dimensions with these indices, which the output either lacks or has with the length one. Without
    /// indices, nothing is reduced.
    Axes(&'a [usize]),
    /// All dimensions. The output has one element, and any number of dimensions.
    Everything,
}

impl<'a> Along<'a> {
    /// Returns the dimensions that frameworks name by three attributes.
    pub fn named(axis: &'a [i64], keep_dim: bool, reduce_all: bool) -> Self {
        Along::Named { axis, keep_dim, reduce_all }
    }

    /// Returns the indices of the dimensions.
    fn axes(self, out_dims: &[usize], dims: &[usize]) -> Result<Vec<usize>> {
        match self {
            Along::Named { axis, keep_dim, reduce_all } => {
                resolve(out_dims, dims, axis, keep_dim, reduce_all)
            }
            Along::Axes(axes) => Ok(axes.to_vec()),
            Along::Everything => Ok((0..dims.len()).collect()),
        }
    }
}

/// The dimensions of an input, split into reduced and kept ones.
pub(super) struct Axes {
    pub(super) kept: PerDimension<usize>,
    pub(super) reduced: PerDimension<usize>,
}

impl Axes {
    /// Finds the dimensions, and reduces.
    pub(super) fn of(
        out: &mut ViewMut<'_>,
        input: &View<'_>,
        along: Along<'_>,
        reduce: impl FnOnce(&mut ViewMut<'_>, &View<'_>, Self) -> Result<()>,
    ) -> Result<()> {
        let axes = along.axes(out.dims(), input.dims())?;
        let mut out = out.reborrow();
        if let Along::Everything = along {
            out = out.scalar("out")?;
        }
        let axes = Self::new(&out, input, &axes)?;
        reduce(&mut out, input, axes)
    }

    /// Reduces the given dimensions, which the output either lacks or has with the length one.
    fn new(out: &ViewMut<'_>, input: &View<'_>, axes: &[usize]) -> Result<Self> {
        let dims = input.dims();
        for (position, &axis) in axes.iter().enumerate() {
            if axis >= dims.len() || axes[..position].contains(&axis) {
                return Err(Error::Axis { axis, rank: dims.len() });
            }
        }
        let (reduced, kept): (PerDimension<_>, PerDimension<_>) =
            (0..dims.len()).partition(|axis| axes.contains(axis));
        let short = kept.iter().map(|&axis| dims[axis]);
        let long = dims.iter().enumerate().map(|(axis, &dim)| if axes.contains(&axis) { 1 } else { dim });
        if !short.clone().eq(out.dims().iter().copied()) && !long.eq(out.dims().iter().copied()) {
            return Err(Error::Shape { expected: short.collect(), actual: out.dims().to_vec() });
        }
        Ok(Self { kept, reduced })
    }

    /// Reduces the dimensions along which one shape is broadcast to another.
    pub(super) fn repeated(from: &[usize], to: &[usize]) -> Result<Self> {
        let refused = || Error::Broadcast { from: from.to_vec(), to: to.to_vec() };
        let new = to.len().checked_sub(from.len()).ok_or_else(refused)?;
        if std::iter::zip(from, &to[new..]).any(|(&from, &to)| from != to && from != 1) {
            return Err(refused());
        }
        let (kept, reduced) = (0..to.len()).partition(|&axis| axis >= new && from[axis - new] == to[axis]);
        Ok(Self { kept, reduced })
    }

    /// Returns the number of elements of the input that are reduced to one element of the output.
    pub(super) fn reduced_len(&self, input: &View<'_>) -> usize {
        self.reduced.iter().map(|&axis| input.dims()[axis]).product()
    }

    /// Returns true if elements that are reduced together are closest in memory.
    pub(super) fn reduces_neighbours(&self, input: &View<'_>) -> bool {
        let axes =
            (0..input.dims().len()).filter(|&axis| input.dims()[axis] > 1 && input.strides()[axis] != 0);
        let closest = axes.min_by_key(|&axis| input.strides()[axis].unsigned_abs());
        closest.is_none_or(|axis| self.reduced.contains(&axis))
    }
}

/// Resolves the dimensions to reduce, and checks the output's shape.
pub(crate) fn resolve(
    out_dims: &[usize],
    dims: &[usize],
    axis: &[i64],
    keep_dim: bool,
    reduce_all: bool,
) -> Result<Vec<usize>> {
    let axes = match reduce_all || axis.is_empty() {
        true => (0..dims.len()).collect(),
        false if dims.is_empty() => {
            axis.iter().try_for_each(|&number| axis::axis(number, 1).map(drop))?;
            Vec::new()
        }
        false => axis::axes(axis, dims.len())?,
    };
    let kept = dims
        .iter()
        .enumerate()
        .filter_map(|(n, &dim)| if axes.contains(&n) { keep_dim.then_some(1) } else { Some(dim) });
    let expected: Vec<usize> = kept.collect();
    if out_dims == expected {
        return Ok(axes);
    }
    Err(Error::Shape { expected, actual: out_dims.to_vec() })
}

/// Broadcasts tensors of the shape of a reduction's output to the shape of its input. Also returns the number of elements
/// that were reduced to one.
///
/// # Errors
/// [`Error::Axis`], and [`Error::Shape`] or [`Error::Length`] if a tensor has another shape.
pub fn spread<'v, const N: usize>(
    dims: &[usize],
    tensors: [&View<'v>; N],
    along: Along<'_>,
) -> Result<([View<'v>; N], f64)> {
    let mut count: usize = 0;
    let mut spread = tensors.map(View::clone);
    for (spread, tensor) in spread.iter_mut().zip(tensors) {
        let axes = along.axes(tensor.dims(), dims)?;
        let mut tensor = tensor.clone();
        if let Along::Everything = along {
            tensor = tensor.scalar("dout")?;
        }
        count = axes.iter().map(|&axis| dims[axis]).product();
        *spread = spread_along(tensor, dims, axes)?;
    }
    Ok((spread, count as f64))
}

/// Broadcasts a tensor of the output's shape to the shape of the input.
fn spread_along<'v>(mut view: View<'v>, dims: &[usize], mut axes: Vec<usize>) -> Result<View<'v>> {
    if view.dims().len() < dims.len() {
        axes.sort_unstable();
        for axis in axes {
            view = view.insert(axis)?;
        }
    }
    view.expand(dims)
}

/// Returns the order of dimensions in which some of them are the last.
pub(crate) fn with_last(rank: usize, axes: &[usize]) -> Vec<usize> {
    (0..rank).filter(|axis| !axes.contains(axis)).chain(axes.iter().copied()).collect()
}

/// Moves the reduced dimensions to the end; also returns the number of elements in them.
pub(crate) fn rows_last<'v>(x: &View<'v>, axes: &[usize]) -> Result<(View<'v>, usize)> {
    Ok((
        x.clone().permute(&with_last(x.dims().len(), axes))?,
        axes.iter().map(|&axis| x.dims()[axis]).product(),
    ))
}
