//! Windows as columns of matrices (`im2col`), in blocks that fit into caches.

use std::ops::Range;

use crate::conv::engine::add_scaled;
use crate::conv::geometry::{Geometry, Segment};
use crate::elements::float::Float;
use crate::matmul::matrix::Matrix;

/// The number of elements of a block of columns: few enough for the caches, and enough for efficient matrix
/// products.
const BLOCK: usize = 1 << 18;

/// The number of windows in a sample from which its matrix products are efficient by themselves.
const MANY: usize = 256;

/// The number of windows that a matrix has at least, unless the image has fewer: splitting it would not be faster.
const FEW: usize = 32;

/// Windows whose columns are one matrix: those of some lines of a sample, or all of some samples.
pub(super) struct Block {
    pub(super) samples: Range<usize>,
    pub(super) lines: Range<usize>,
}

impl Block {
    /// Returns the only sample, if there is one.
    pub(super) fn sample(&self) -> Option<usize> {
        (self.samples.len() == 1).then_some(self.samples.start)
    }
}

impl Geometry {
    /// Returns the sets of blocks of windows whose columns are not much larger than [`BLOCK`]; none if there is nothing to
    /// compute. There are `count` blocks or more if the images are not too small. The blocks of a set have the same samples.
    pub(super) fn blocks(&self, count: usize) -> impl Iterator<Item = (usize, Vec<Block>)> + use<> {
        let lines = self.lines().max(1);
        let of_line = (self.taps() * self.small[2]).max(1);
        let images = (self.batch * self.groups).max(1);
        let of_thread = lines.div_ceil(count.div_ceil(images)).max(FEW.div_ceil(self.small[2].max(1)));
        // The image of a pointwise convolution is the matrix of its columns already.
        let in_cache = if self.is_pointwise() { lines } else { (BLOCK / of_line).max(1) };
        let lines_at_once = in_cache.min(of_thread).min(lines);
        let samples_at_once = if self.small_len() < MANY && lines_at_once == lines {
            (BLOCK / (of_line * lines)).min(images / count).max(1)
        } else {
            1
        };
        let samples = if self.taps() == 0 || self.small_len() == 0 { 0 } else { self.batch };
        (0..self.groups).flat_map(move |group| {
            (0..samples).step_by(samples_at_once).map(move |sample| {
                let samples = sample..samples.min(sample + samples_at_once);
                let of_lines = (0..lines).step_by(lines_at_once).map(|line| Block {
                    samples: samples.clone(),
                    lines: line..lines.min(line + lines_at_once),
                });
                (group, of_lines.collect())
            })
        })
    }

    /// Returns the blocks of each group.
    pub(super) fn groups_of_blocks(&self) -> impl Iterator<Item = (usize, Block)> + use<> {
        self.blocks(1).flat_map(|(group, blocks)| blocks.into_iter().map(move |block| (group, block)))
    }

    /// Returns the number of windows of a block.
    pub(super) fn width(&self, block: &Block) -> usize {
        block.samples.len() * block.lines.len() * self.small[2]
    }

    /// Returns a matrix with a row for each channel of the small image, and a column for each window of a block.
    pub(super) fn stack<'a, T: Float>(
        &self,
        stacked: &'a mut Vec<T>,
        small: &'a [T],
        group: usize,
        block: &Block,
    ) -> Matrix<'a, T> {
        let width = self.width(block);
        if let Some(sample) = block.sample() {
            let small = &small[self.small_at(sample, group)][block.lines.start * self.small[2]..];
            return Matrix::with_rows_apart(small, self.small_channels, width, self.small_len());
        }
        stacked.clear();
        for channel in 0..self.small_channels {
            for sample in block.samples.clone() {
                let channels = &small[self.small_at(sample, group)];
                stacked.extend_from_slice(&channels[channel * self.small_len()..][..self.small_len()]);
            }
        }
        Matrix::new(stacked, self.small_channels, width)
    }

    /// Writes a row for each kernel element: the elements that it reads in the windows of a block.
    pub(super) fn gather<T: Float>(&self, columns: &mut Vec<T>, large: &[T], group: usize, block: &Block) {
        columns.resize(self.taps() * self.width(block), T::ZERO);
        self.each_row(block, group, |Segment { windows, start, .. }, row, large_at| {
            let row = &mut columns[row];
            row[..windows.start].fill(T::ZERO);
            row[windows.end..].fill(T::ZERO);
            let row = &mut row[windows];
            let large = &large[large_at][start..];
            match self.step() {
                1 => row.copy_from_slice(&large[..row.len()]),
                step => {
                    let seen = large.iter().step_by(step);
                    row.iter_mut().zip(seen).for_each(|(value, &seen)| *value = seen);
                }
            }
        });
    }

    /// Adds rows in the layout of [`gather`](Self::gather) back to the elements that the windows read.
    pub(super) fn scatter<T: Float>(&self, large: &mut [T], columns: &[T], group: usize, block: &Block) {
        self.each_row(block, group, |Segment { windows, start, .. }, row, large_at| {
            if !windows.is_empty() {
                add_scaled(&mut large[large_at][start..], self.step(), &columns[row][windows], T::ONE);
            }
        });
    }

    /// Calls a function with what each kernel element reads in each line of a block, the elements of this line in a matrix
    /// with a row for each kernel element and a column for each window, and the elements of the image.
    fn each_row(
        &self,
        block: &Block,
        group: usize,
        mut visit: impl FnMut(Segment, Range<usize>, Range<usize>),
    ) {
        let width = self.small[2];
        let apart = self.width(block);
        for (place, sample) in block.samples.clone().enumerate() {
            let before = place * block.lines.len();
            self.segments(block.lines.clone(), |segment| {
                let line = before + segment.line - block.lines.start;
                let row = segment.tap * apart + line * width;
                visit(segment, row..row + width, self.large_at(sample, group));
            });
        }
    }
}
