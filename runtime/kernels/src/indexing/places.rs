//! Positions of selected elements.

use super::rows::Rows;
use crate::elements::accumulate::with_number;
use crate::elements::dtype::DType;
use crate::error::{Error, Result};
use crate::loops::convert::Compute;
use crate::loops::movement::with_word;
use crate::loops::slices::{Slot, integers, with_slices};
use crate::tensor::axis::{self, Around};
use crate::tensor::{View, ViewMut};

/// Parts of a tensor in row-major order, listed in the order in which they are selected.
pub(super) struct Places {
    /// The position of the first element of each part.
    starts: Vec<usize>,
    /// The number of elements of each part.
    width: usize,
    /// The shape of all parts together.
    pub(super) dims: Vec<usize>,
}

impl Places {
    /// Locates the parts at indices along a dimension.
    pub(super) fn along(x: &[usize], index: &View<'_>, axis: i64) -> Result<Self> {
        let axis = axis::axis(axis, x.len())?;
        let around = Around::new(x, Some(axis));
        let chosen: Vec<usize> = integers(index)?
            .into_iter()
            .map(|index| axis::index(index, around.len))
            .collect::<Result<_>>()?;
        let starts = (0..around.outer)
            .flat_map(|outer| chosen.iter().map(move |index| (outer * around.len + index) * around.inner));
        let dims = [&x[..axis], index.dims(), &x[axis + 1..]].concat();
        Ok(Self { starts: starts.collect(), width: around.inner, dims })
    }

    /// Locates parts as [`Places::along`] does; a column of indices, `[count, 1]`, counts as a vector.
    pub(super) fn listed(x: &[usize], index: &View<'_>, axis: i64) -> Result<Self> {
        match *index.dims() {
            [_, 1] => Self::along(x, &index.clone().select(1, 0)?, axis),
            _ => Self::along(x, index, axis),
        }
    }

    /// Locates the part that each row of `index` selects: a row has one index for each of the first
    /// dimensions of `x`.
    pub(super) fn nd(x: &[usize], index: &View<'_>) -> Result<Self> {
        let (&count, outer) = index.dims().split_last().ok_or(Error::Rank { dims: 0, strides: 1 })?;
        if count > x.len() {
            return Err(Error::Rank { dims: x.len(), strides: count });
        }
        let width = x[count..].iter().product();
        let numbers = integers(index)?;
        let rows: usize = outer.iter().product();
        let starts = (0..rows).map(|row| {
            let row = &numbers[row * count..][..count];
            let mut start = 0;
            for (&index, &dim) in row.iter().zip(x) {
                start = start * dim + axis::index(index, dim)?;
            }
            Ok(start * width)
        });
        Ok(Self { starts: starts.collect::<Result<_>>()?, width, dims: [outer, &x[count..]].concat() })
    }

    /// Locates single elements at indices along a dimension. In the other dimensions, an element has the
    /// position of its index.
    pub(super) fn each_along(x: &[usize], index: &View<'_>, axis: i64) -> Result<Self> {
        let dims = index.dims().to_vec();
        if x.is_empty() && dims.is_empty() {
            axis::axis(axis, 1)?;
            integers(index)?.into_iter().try_for_each(|index| axis::index(index, 1).map(drop))?;
            return Ok(Self { starts: vec![0], width: 1, dims });
        }
        let rows = Rows::new(x, &dims, axis)?;
        let numbers = integers(index)?;
        rows.check(&numbers)?;
        let mut starts = Vec::with_capacity(numbers.len());
        rows.each(|row, start| {
            let places = numbers[row].iter().enumerate();
            starts.extend(places.map(|(n, &number)| start + n * rows.step + rows.own(number) * rows.stride));
        });
        Ok(Self { starts, width: 1, dims })
    }

    /// Locates the parts at indices for the first dimensions, which are broadcast to a common shape.
    ///
    /// A boolean tensor stands for the indices of its true elements: one index tensor for each of its
    /// dimensions.
    pub(super) fn of_lists(x: &[usize], indices: &[View<'_>]) -> Result<Self> {
        let mut lists: Vec<(Vec<usize>, Vec<i64>)> = vec![];
        for index in indices {
            if index.dtype() == DType::Bool {
                let first = lists.len();
                if x.get(first..first + index.dims().len()) != Some(index.dims()) {
                    return Err(Error::Shape { expected: x.to_vec(), actual: index.dims().to_vec() });
                }
                let columns = super::masks::columns(index)?;
                lists.extend(columns.into_iter().map(|column| (vec![column.len()], column)));
            } else {
                lists.push((index.dims().to_vec(), integers(index)?));
            }
        }
        if lists.len() > x.len() {
            return Err(Error::Rank { dims: x.len(), strides: lists.len() });
        }
        let common = lists.iter().try_fold(vec![], |common, (dims, _)| broadcast(&common, dims))?;
        let width = x[lists.len()..].iter().product();
        let mut starts = vec![0; common.iter().product()];
        for ((dims, list), &dim) in lists.iter().zip(x) {
            let wide = repeat(list, dims, &common)?;
            for (start, index) in starts.iter_mut().zip(wide) {
                *start = *start * dim + axis::index(index, dim)?;
            }
        }
        starts.iter_mut().for_each(|start| *start *= width);
        Ok(Self { starts, width, dims: [&common[..], &x[lists.len()..]].concat() })
    }

    /// Returns the position of the first element of each part.
    pub(super) fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// Checks that a tensor has one element for each element of the parts.
    fn expect(&self, dims: &[usize]) -> Result<()> {
        if dims == self.dims {
            return Ok(());
        }
        Err(Error::Shape { expected: self.dims.clone(), actual: dims.to_vec() })
    }

    /// Copies the parts of a tensor, one after the other.
    pub(super) fn take(&self, out: &mut ViewMut<'_>, x: &View<'_>) -> Result<()> {
        self.expect(out.dims())?;
        if out.dtype() != x.dtype() {
            return Err(Error::Type { dtype: x.dtype() });
        }
        let width = self.width;
        if width == 0 {
            return Ok(());
        }
        with_word!(x.dtype(), W => {
            with_slices::<W, 1, 1>([out.reborrow()], [x], |[out], [x]| {
                for (out, &start) in out.chunks_exact_mut(width).zip(&self.starts) {
                    out.copy_from_slice(&x[start..][..width]);
                }
                Ok(())
            })
        })
    }

    /// Copies `x` and replaces its parts by values. If a part is selected several times, the last value wins.
    pub(super) fn put(&self, out: &mut ViewMut<'_>, x: &View<'_>, values: &View<'_>) -> Result<()> {
        self.expect(values.dims())?;
        same_shape(out, x)?;
        for view in [x, values] {
            if out.dtype() != view.dtype() {
                return Err(Error::Type { dtype: view.dtype() });
            }
        }
        let width = self.width;
        with_word!(x.dtype(), W => {
            with_slices::<W, 1, 2>([out.reborrow()], [x, values], |[out], [x, values]| {
                out.copy_from_slice(x);
                if width > 0 {
                    for (value, &start) in values.chunks_exact(width).zip(&self.starts) {
                        out[start..][..width].copy_from_slice(value);
                    }
                }
                Ok(())
            })
        })
    }

    /// Adds values to the parts of `x`, or of zeros without `x`. With `clear`, those parts are set to zero
    /// first.
    pub(super) fn add(
        &self,
        out: &mut ViewMut<'_>,
        x: Option<&View<'_>>,
        values: &View<'_>,
        clear: bool,
    ) -> Result<()> {
        fn run<T: Compute + Slot>(
            places: &Places,
            out: ViewMut<'_>,
            [x, values]: [&View<'_>; 2],
            keep: bool,
            clear: bool,
        ) -> Result<()> {
            let width = places.width;
            with_slices::<T, 1, 2>([out], [x, values], |[out], [x, values]| {
                if keep {
                    out.copy_from_slice(x);
                } else {
                    out.fill(T::of(0.0));
                }
                for &start in places.starts.iter().filter(|_| clear) {
                    out[start..][..width].fill(T::of(0.0));
                }
                if width > 0 {
                    for (value, &start) in values.chunks_exact(width).zip(&places.starts) {
                        let part = out[start..][..width].iter_mut().zip(value);
                        part.for_each(|(out, &value)| *out = *out + value);
                    }
                }
                Ok(())
            })
        }
        self.expect(values.dims())?;
        if let Some(x) = x {
            same_shape(out, x)?;
        }
        let keep = x.is_some();
        with_number!(out.dtype(), T => {
            run::<T>(self, out.reborrow(), [x.unwrap_or(values), values], keep, clear)
        })
    }

    /// Copies `x` and fills its parts with zeros.
    pub(super) fn clear(&self, out: &mut ViewMut<'_>, x: &View<'_>) -> Result<()> {
        let zeros = crate::Buffer::new(x.dtype(), &[])?;
        let zeros = zeros.view()?.expand(&self.dims)?;
        self.put(out, x, &zeros)
    }
}

fn same_shape(out: &ViewMut<'_>, x: &View<'_>) -> Result<()> {
    if out.dims() == x.dims() {
        return Ok(());
    }
    Err(Error::Shape { expected: x.dims().to_vec(), actual: out.dims().to_vec() })
}

/// Computes the common shape of two shapes by NumPy's broadcasting rules.
pub(super) fn broadcast(a: &[usize], b: &[usize]) -> Result<Vec<usize>> {
    let rank = a.len().max(b.len());
    let at = |dims: &[usize], n: usize| (n + dims.len()).checked_sub(rank).map_or(1, |place| dims[place]);
    (0..rank)
        .map(|n| match (at(a, n), at(b, n)) {
            (a, b) if a == b => Ok(a),
            (1, len) | (len, 1) => Ok(len),
            _ => Err(Error::Broadcast { from: b.to_vec(), to: a.to_vec() }),
        })
        .collect()
}

/// Broadcasts a list of numbers from one shape to another.
fn repeat(list: &[i64], dims: &[usize], common: &[usize]) -> Result<Vec<i64>> {
    integers(&View::of_slice(list, dims)?.expand(common)?)
}
