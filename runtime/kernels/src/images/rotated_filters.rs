//! Rotated copies of the filters of a convolution (Zhou et al., "Oriented Response Networks", 2017).

use crate::elements::accumulate::with_float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{integers, with_slices};
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the output of [`rotate_filters`].
///
/// # Errors
/// As [`rotate_filters`].
pub fn rotate_filters_shape(x: TensorMeta<'_>, indices: TensorMeta<'_>) -> Result<Vec<usize>> {
    Ok(Rules::new(x.dims(), indices.dims())?.result().to_vec())
}

/// Copies each filter, `[outputs, inputs, orientations, height, width]`, once for each rotation, with its elements
/// at other places: `[outputs * rotations, inputs * orientations, height, width]`.
///
/// `indices`, `[orientations, height, width, rotations]`, are the places in the copies, from 1. Elements with the
/// same place are added.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Index`] and [`Error::Type`].
pub fn rotate_filters(out: &mut ViewMut<'_>, x: &View<'_>, indices: &View<'_>) -> Result<()> {
    let rules = Rules::new(x.dims(), indices.dims())?;
    expect_shape(&rules.result(), out.dims())?;
    let places = rules.places(indices)?;
    with_float!(x.dtype(), T => {
        with_slices::<T, 1, 1>([out.reborrow()], [x], |[out], [x]| {
            out.fill(0.0);
            rules.each(&places, |to, from| out[to] += x[from]);
            Ok(())
        })
    })
}

/// Computes the gradient of [`rotate_filters`].
///
/// # Errors
/// As [`rotate_filters`].
pub fn rotate_filters_grad(dx: &mut ViewMut<'_>, dout: &View<'_>, indices: &View<'_>) -> Result<()> {
    let rules = Rules::new(dx.dims(), indices.dims())?;
    expect_shape(&rules.result(), dout.dims())?;
    let places = rules.places(indices)?;
    with_float!(dx.dtype(), T => {
        with_slices::<T, 1, 1>([dx.reborrow()], [dout], |[dx], [dout]| {
            dx.fill(0.0);
            rules.each(&places, |to, from| dx[from] += dout[to]);
            Ok(())
        })
    })
}

struct Rules {
    outputs: usize,
    inputs: usize,
    /// The orientations, the height and the width.
    filter: [usize; 3],
    rotations: usize,
}

impl Rules {
    fn new(x: &[usize], indices: &[usize]) -> Result<Self> {
        let (&[outputs, inputs, ref filter @ ..], &[.., rotations]) = (x, indices) else {
            return Err(Error::Rank { dims: x.len(), strides: 5 });
        };
        let filter: [usize; 3] = filter.try_into().map_err(|_| Error::Rank { dims: x.len(), strides: 5 })?;
        expect_shape(&[filter[0], filter[1], filter[2], rotations], indices)?;
        Ok(Self { outputs, inputs, filter, rotations })
    }

    fn elements(&self) -> usize {
        self.filter.iter().product()
    }

    fn result(&self) -> [usize; 4] {
        let [orientations, height, width] = self.filter;
        [self.outputs * self.rotations, self.inputs * orientations, height, width]
    }

    /// Reads the place of each element for each rotation.
    fn places(&self, indices: &View<'_>) -> Result<Vec<usize>> {
        let len = self.elements();
        let place = |index: i64| {
            let place = index.checked_sub(1).and_then(|place| usize::try_from(place).ok());
            place.filter(|&place| place < len).ok_or(Error::Index { index, len })
        };
        integers(indices)?.into_iter().map(place).collect()
    }

    /// Calls a function with the index of an element of a copy, and that of the element it comes from.
    fn each(&self, places: &[usize], mut visit: impl FnMut(usize, usize)) {
        let len = self.elements();
        for filter in 0..self.outputs * self.inputs {
            let (output, input) = (filter / self.inputs, filter % self.inputs);
            for (n, place) in places.iter().enumerate() {
                let (element, rotation) = (n / self.rotations, n % self.rotations);
                let copy = (output * self.rotations + rotation) * self.inputs + input;
                visit(copy * len + place, filter * len + element);
            }
        }
    }
}
