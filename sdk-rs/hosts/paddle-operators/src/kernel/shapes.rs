//! The shapes of outputs that Paddle does not always set.
//!
//! If an attribute comes from a tensor, Paddle may leave dimensions of -1 in the output, or dimensions for another
//! value of the attribute. Its own kernels compute the shape again when they run, and so do these functions.

use smallvec::SmallVec;
use tenon_operators::TensorRef;

use crate::error::{Error, Result};
use crate::kernel::argument::number::unsigned;
use crate::kernel::tensor::{PerDimension, Tensor};

/// Returns the index of a dimension. Negative ones count from the end.
pub(crate) fn axis_of(axis: i64, rank: usize) -> Result<usize> {
    let axis_from_start = if axis < 0 { axis + rank as i64 } else { axis };
    usize::try_from(axis_from_start)
        .ok()
        .filter(|&axis| axis < rank)
        .ok_or_else(|| Error::invalid(format!("there is no axis {axis} in {rank} dimensions")))
}

/// Returns the shape of a tensor.
pub(crate) fn like(x: &TensorRef<'_>) -> Result<PerDimension<usize>> {
    Ok(x.dims().into())
}

/// Returns the shape of a tensor of which the parts at some indices are taken along a dimension. A column of indices
/// counts as a list.
pub(crate) fn gather(x: &TensorRef<'_>, index: &TensorRef<'_>, axis: i64) -> Result<PerDimension<usize>> {
    let axis = axis_of(axis, x.dims().len())?;
    let taken = match index.dims() {
        &[count, 1] => &[count][..],
        dims => dims,
    };
    Ok([&x.dims()[..axis], taken, &x.dims()[axis + 1..]].concat().into())
}

/// Returns the shape of tensors that are joined along a dimension. An old rule allows empty tensors of the shape `[0]`
/// among others.
pub(crate) fn concat(x: &[TensorRef<'_>], axis: i64) -> Result<PerDimension<usize>> {
    let is_joined = |tensor: &&TensorRef<'_>| tensor.dims() != [0];
    let Some(first) = x.iter().find(is_joined).or(x.first()) else {
        return Err(Error::invalid("there is no tensor to join"));
    };
    let mut dims: PerDimension<usize> = first.dims().into();
    let axis = axis_of(axis, dims.len())?;
    // A tensor with fewer dimensions is refused by the operator.
    dims[axis] = x.iter().filter(is_joined).filter_map(|tensor| tensor.dims().get(axis)).sum();
    Ok(dims)
}

/// Returns the shape of a tensor that is repeated to a shape, in which -1 stands for the tensor's own dimension.
pub(crate) fn expand(x: &TensorRef<'_>, shape: &[i64]) -> Result<PerDimension<usize>> {
    let own = |index: usize| (index + x.dims().len()).checked_sub(shape.len()).map(|index| x.dims()[index]);
    let dim = |(index, &dim): (usize, &i64)| match own(index).filter(|_| dim == -1) {
        Some(own) => Ok(own),
        None => unsigned("shape", dim),
    };
    shape.iter().enumerate().map(dim).collect()
}

/// Returns the shape of another tensor, or a given one if there is none.
pub(crate) fn expand_as<T: Copy + Into<i64>>(
    other: Option<Tensor<'_>>,
    shape: &[T],
) -> Result<PerDimension<usize>> {
    match other {
        Some(other) => other.dims(),
        None => shape.iter().map(|&dim| unsigned("target_shape", dim.into())).collect(),
    }
}

/// Returns the shape of the part between indices along dimensions, as in Python: negative indices count from the end,
/// and indices out of range are left out.
pub(crate) fn slice(
    x: &TensorRef<'_>,
    axes: &[i64],
    [starts, ends]: [&[i64]; 2],
    decrease_axis: &[i64],
) -> Result<PerDimension<usize>> {
    let mut dims: PerDimension<usize> = x.dims().into();
    if [starts, ends].iter().any(|indices| indices.len() != axes.len()) {
        return Err(Error::invalid("`starts` and `ends` need a number for each of `axes`"));
    }
    for (index, &axis) in axes.iter().enumerate() {
        let axis = axis_of(axis, dims.len())?;
        let len = dims[axis] as i64;
        let bound = |index: i64| if index < 0 { index.saturating_add(len) } else { index }.clamp(0, len);
        dims[axis] = (bound(ends[index]) - bound(starts[index])).max(0) as usize;
    }
    let decreased = decrease_axis.iter().map(|&axis| axis_of(axis, dims.len()));
    let decreased = decreased.collect::<Result<SmallVec<[usize; 6]>>>()?;
    let kept = dims.iter().enumerate().filter(|(axis, _)| !decreased.contains(axis));
    Ok(kept.map(|(_, &dim)| dim).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenon::DevicePtr;
    use tenon::device::DataType;
    use tenon_operators::{Layout, contiguous_strides};

    fn with<T>(dims: &[usize], test: impl FnOnce(&TensorRef<'_>) -> T) -> T {
        let strides = contiguous_strides(dims).unwrap();
        let layout = Layout::new(dims, &strides).unwrap();
        // SAFETY: no element is accessed.
        test(&unsafe { TensorRef::new(DevicePtr::from_addr(64), DataType::FLOAT32, layout) }.unwrap())
    }

    #[test]
    fn gather_takes_along_a_dimension() {
        let gathered = |index: &[usize], axis| {
            with(&[4, 6], |x| with(index, |index| gather(x, index, axis).map(|dims| dims.to_vec())))
        };
        assert_eq!(gathered(&[2], 0), Ok(vec![2, 6]));
        assert_eq!(gathered(&[2], -1), Ok(vec![4, 2]));
        assert_eq!(gathered(&[3, 1], 1), Ok(vec![4, 3]));
        assert_eq!(gathered(&[], 1), Ok(vec![4]));
        assert!(gathered(&[2], 2).is_err());
    }

    #[test]
    fn concat_leaves_old_empty_tensors_out() {
        with(&[2, 3], |x| {
            with(&[0], |empty| {
                let joined = |x: &[TensorRef<'_>], axis| concat(x, axis).map(|dims| dims.to_vec());
                assert_eq!(joined(&[x.clone(), x.clone()], -1), Ok(vec![2, 6]));
                assert_eq!(joined(&[empty.clone(), x.clone()], 0), Ok(vec![2, 3]));
                assert_eq!(joined(&[empty.clone(), empty.clone()], 0), Ok(vec![0]));
                assert!(joined(&[], 0).is_err());
            });
        });
    }

    #[test]
    fn expand_keeps_dimensions_of_minus_one() {
        with(&[4, 1], |x| {
            let expanded = |shape: &[i64]| expand(x, shape).map(|dims| dims.to_vec());
            assert_eq!(expanded(&[3, -1, 6]), Ok(vec![3, 4, 6]));
            assert!(expanded(&[-1, 4, 6]).is_err());
        });
    }

    #[test]
    fn slice_is_that_of_python() {
        with(&[4, 6], |x| {
            let part = |starts: &[i64], ends: &[i64], decrease: &[i64]| {
                slice(x, &[0, 1], [starts, ends], decrease).map(|dims| dims.to_vec())
            };
            assert_eq!(part(&[1, -2], &[3, i64::MAX], &[]), Ok(vec![2, 2]));
            assert_eq!(part(&[3, 0], &[1, 9], &[]), Ok(vec![0, 6]));
            assert_eq!(part(&[1, 0], &[2, 3], &[0]), Ok(vec![3]));
            assert!(slice(x, &[0], [&[1], &[]], &[]).is_err());
        });
    }
}
