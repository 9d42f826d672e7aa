//! Convolution and pooling of sparse voxels, and products of sparse matrices.
//!
//! A layer of sparse voxels is a list of pairs for each element of its window: which voxel of the input belongs to
//! which voxel of the result (Graham et al., "3D Semantic Segmentation with Submanifold Sparse Convolutional Networks",
//! 2018).

mod convolution;
mod matrix;
mod pool;

pub use convolution::{sparse_convolution, sparse_convolution_grad, sparse_convolution_shape};
pub use matrix::{sparse_matmul, sparse_matmul_shape};
pub use pool::{sparse_max_pool, sparse_max_pool_grad, sparse_max_pool_shape};

use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::integers;
use crate::tensor::View;

/// The pairs of voxels for each element of a window.
struct Pairs {
    numbers: Vec<i64>,
    /// The number of pairs of each element.
    counts: Vec<usize>,
    /// The number of pairs that there is room for.
    room: usize,
    /// True if pairs are exchanged.
    inverse: bool,
}

impl Pairs {
    /// Reads `pairs`, `[elements, 2, room]`, of which the first `counts`, `[elements]`, are used.
    fn new(pairs: &View<'_>, counts: &View<'_>, inverse: bool, voxels: [usize; 2]) -> Result<Self> {
        let &[elements, _, room] = pairs.dims() else {
            return Err(Error::Rank { dims: pairs.dims().len(), strides: 3 });
        };
        expect_shape(&[elements, 2, room], pairs.dims())?;
        expect_shape(&[elements], counts.dims())?;
        let count = |index: i64| {
            let count = usize::try_from(index).ok().filter(|&count| count <= room);
            count.ok_or(Error::Index { index, len: room })
        };
        let counts = integers(counts)?.into_iter().map(count).collect::<Result<_>>()?;
        let pairs = Self { numbers: integers(pairs)?, counts, room, inverse };
        for element in 0..elements {
            for pair in pairs.raw(element) {
                for (index, len) in pair.into_iter().zip(voxels) {
                    if usize::try_from(index).is_ok_and(|index| index < len) {
                        continue;
                    }
                    return Err(Error::Index { index, len });
                }
            }
        }
        Ok(pairs)
    }

    fn raw(&self, element: usize) -> impl Iterator<Item = [i64; 2]> + '_ {
        let own = &self.numbers[element * 2 * self.room..][..2 * self.room];
        let ends = [usize::from(self.inverse), usize::from(!self.inverse)];
        (0..self.counts[element]).map(move |n| ends.map(|end| own[end * self.room + n]))
    }

    /// Returns the voxels of the input and of the result that an element connects. They exist.
    fn of(&self, element: usize) -> impl Iterator<Item = [usize; 2]> + '_ {
        self.raw(element).map(|pair| pair.map(|index| index as usize))
    }
}
