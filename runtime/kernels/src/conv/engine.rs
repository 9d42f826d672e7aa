//! Convolutions of dense tensors: blocked `im2col` with matrix products, or loops for depthwise convolutions.
//!
//! Each of the large image, the small image and the kernels can be computed from the other two: the forward
//! pass, the gradient of the image and the gradient of the kernels.

use crate::constant::Copies;
use crate::conv::geometry::{Geometry, Pass, Segment};
use crate::elements::float::Float;
use crate::loops::lines::sum;
use crate::matmul::product::{Matrix, MatrixMut};
use crate::provider::{self, Operand};

/// The number of elements of a block of columns: few enough for the caches, and enough for efficient matrix
/// products.
const BLOCK: usize = 1 << 18;

impl Geometry {
    /// Returns true if each channel of the large image is a group of its own.
    fn is_depthwise(&self) -> bool {
        self.large_channels == 1 && self.groups > 1
    }

    /// Returns the pairs of sample and group to process; none if there is nothing to compute.
    pub(super) fn parts(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let groups = self.groups;
        let samples = if self.taps() == 0 || self.small_len() == 0 { 0 } else { self.batch };
        (0..samples).flat_map(move |sample| (0..groups).map(move |group| (sample, group)))
    }

    /// Returns blocks of lines whose columns are not much larger than [`BLOCK`].
    fn blocks(&self) -> impl Iterator<Item = std::ops::Range<usize>> + use<> {
        let lines = self.lines();
        let at_once = (BLOCK / (self.taps() * self.small[2]).max(1)).max(1);
        (0..lines).step_by(at_once).map(move |start| start..lines.min(start + at_once))
    }

    /// Lets the provider compute a tensor from the other two. Returns false if the kernel has to compute it.
    ///
    /// The second operand may be one that never changes.
    fn is_provided<T: Float>(
        &self,
        pass: Pass,
        result: &mut [T],
        [left, right]: [&[T]; 2],
        copies: Option<&Copies>,
    ) -> bool {
        provider::computes(|provider| {
            let left = Operand::new(bytemuck::cast_slice(left));
            let operands = [left, Operand { elements: bytemuck::cast_slice(right), copies }];
            provider.convolve(pass, T::DTYPE, self, bytemuck::cast_slice_mut(result), operands)
        })
    }

    /// Convolves the large image. The kernels have copies if they never change.
    pub(super) fn forward<T: Float>(
        &self,
        small: &mut [T],
        large: &[T],
        kernels: &[T],
        copies: Option<&Copies>,
    ) {
        if self.is_provided(Pass::Small, small, [large, kernels], copies) {
            return;
        }
        if self.taps() == 0 {
            small.fill(T::ZERO);
        }
        if self.is_depthwise() {
            return self.depthwise(small, large, kernels);
        }
        let mut columns = Vec::new();
        for (sample, group) in self.parts() {
            let large = &large[self.large_at(sample, group)];
            let small = &mut small[self.small_at(sample, group)];
            let kernels = Matrix::new(&kernels[self.kernels_at(group)], self.small_channels, self.taps());
            if self.is_pointwise() {
                let out = MatrixMut::new(small, self.small_channels, self.small_len());
                T::multiply(out, kernels, Matrix::new(large, self.large_channels, self.large_len()), false);
                continue;
            }
            for lines in self.blocks() {
                let width = lines.len() * self.small[2];
                self.gather(&mut columns, large, lines.clone());
                let out = &mut small[lines.start * self.small[2]..];
                let out = MatrixMut::with_rows_apart(out, self.small_channels, width, self.small_len());
                T::multiply(out, kernels, Matrix::new(&columns, self.taps(), width), false);
            }
        }
    }

    /// Computes the gradient of the large image, which is also the transposed convolution of the small one.
    pub(super) fn backward_image<T: Float>(
        &self,
        large: &mut [T],
        small: &[T],
        kernels: &[T],
        copies: Option<&Copies>,
    ) {
        if self.is_provided(Pass::Large, large, [small, kernels], copies) {
            return;
        }
        large.fill(T::ZERO);
        if self.is_depthwise() {
            for (sample, group) in self.parts() {
                let small = &small[self.small_at(sample, group)];
                let large = &mut large[self.large_at(sample, group)];
                self.taps_of(group, kernels, |kernel, from, at| {
                    add_scaled(&mut large[at], self.step(), &small[from], kernel);
                });
            }
            return;
        }
        let mut columns = Vec::new();
        for (sample, group) in self.parts() {
            let small = &small[self.small_at(sample, group)];
            let large = &mut large[self.large_at(sample, group)];
            let kernels = Matrix::new(&kernels[self.kernels_at(group)], self.small_channels, self.taps());
            if self.is_pointwise() {
                let out = MatrixMut::new(large, self.large_channels, self.large_len());
                let small = Matrix::new(small, self.small_channels, self.small_len());
                T::multiply(out, kernels.transposed(), small, false);
                continue;
            }
            for lines in self.blocks() {
                let width = lines.len() * self.small[2];
                columns.resize(self.taps() * width, T::ZERO);
                let small = &small[lines.start * self.small[2]..];
                let small = Matrix::with_rows_apart(small, self.small_channels, width, self.small_len());
                T::multiply(
                    MatrixMut::new(&mut columns, self.taps(), width),
                    kernels.transposed(),
                    small,
                    false,
                );
                self.scatter(large, &columns, lines);
            }
        }
    }

    /// Computes the gradient of the kernels.
    pub(super) fn backward_kernels<T: Float>(&self, kernels: &mut [T], large: &[T], small: &[T]) {
        if self.is_provided(Pass::Kernels, kernels, [large, small], None) {
            return;
        }
        kernels.fill(T::ZERO);
        let mut columns = Vec::new();
        for (sample, group) in self.parts() {
            let large = &large[self.large_at(sample, group)];
            let small = &small[self.small_at(sample, group)];
            let kernels = &mut kernels[self.kernels_at(group)];
            if self.is_depthwise() {
                self.dots(kernels, large, small);
                continue;
            }
            for lines in self.blocks() {
                let width = lines.len() * self.small[2];
                self.gather(&mut columns, large, lines.clone());
                let small = &small[lines.start * self.small[2]..];
                let small = Matrix::with_rows_apart(small, self.small_channels, width, self.small_len());
                let columns = Matrix::new(&columns, self.taps(), width).transposed();
                T::multiply(MatrixMut::new(kernels, self.small_channels, self.taps()), small, columns, true);
            }
        }
    }

    /// Writes one row for each kernel element: the elements that it reads in the windows of some lines.
    fn gather<T: Float>(&self, columns: &mut Vec<T>, large: &[T], lines: std::ops::Range<usize>) {
        let width = self.small[2];
        columns.resize(self.taps() * lines.len() * width, T::ZERO);
        let mut rows = columns.chunks_exact_mut(width);
        self.segments(lines, |Segment { windows, start, .. }| {
            let Some(row) = rows.next() else { return };
            row[..windows.start].fill(T::ZERO);
            row[windows.end..].fill(T::ZERO);
            let row = &mut row[windows];
            match self.step() {
                1 => row.copy_from_slice(&large[start..start + row.len()]),
                step => {
                    let seen = large[start..].iter().step_by(step);
                    row.iter_mut().zip(seen).for_each(|(value, &seen)| *value = seen);
                }
            }
        });
    }

    /// Adds rows in the layout of [`gather`](Self::gather) back to the elements that the windows read.
    fn scatter<T: Float>(&self, large: &mut [T], columns: &[T], lines: std::ops::Range<usize>) {
        let mut rows = columns.chunks_exact(self.small[2]);
        self.segments(lines, |Segment { windows, start, .. }| {
            let Some(row) = rows.next() else { return };
            if !windows.is_empty() {
                add_scaled(&mut large[start..], self.step(), &row[windows], T::ONE);
            }
        });
    }

    /// Calls a function with each kernel element of a group, the windows of a line of the small image, and
    /// the start of the elements of the large image that they read.
    fn taps_of<T: Float>(
        &self,
        group: usize,
        kernels: &[T],
        mut visit: impl FnMut(T, std::ops::Range<usize>, std::ops::RangeFrom<usize>),
    ) {
        let kernels = &kernels[self.kernels_at(group)];
        for (channel, kernels) in kernels.chunks_exact(self.taps()).enumerate() {
            self.segments(0..self.lines(), |Segment { tap, line, windows, start }| {
                if !windows.is_empty() {
                    let row = channel * self.small_len() + line * self.small[2];
                    visit(kernels[tap], row + windows.start..row + windows.end, start..);
                }
            });
        }
    }

    /// Adds to each kernel element of a group the dot product of the image elements that it connects.
    fn dots<T: Float>(&self, kernels: &mut [T], large: &[T], small: &[T]) {
        for (channel, kernels) in kernels.chunks_exact_mut(self.taps()).enumerate() {
            self.segments(0..self.lines(), |Segment { tap, line, windows, start }| {
                let row = channel * self.small_len() + line * self.small[2];
                let small = &small[row + windows.start..row + windows.end];
                let step = self.step();
                kernels[tap] += match step {
                    1 => sum(
                        [small, &large[start..][..small.len()]],
                        #[inline(always)]
                        |[small, large]| small * large,
                    ),
                    _ => {
                        let pairs = small.iter().zip(large[start..].iter().step_by(step));
                        pairs.fold(T::ZERO, |sum, (&small, &large)| sum + small * large)
                    }
                };
            });
        }
    }
}

/// Adds `source * factor` to elements of a target that are `step` apart.
fn add_scaled<T: Float>(target: &mut [T], step: usize, source: &[T], factor: T) {
    if step == 1 {
        target.iter_mut().zip(source).for_each(|(target, &source)| *target += source * factor);
        return;
    }
    let pairs = target.iter_mut().step_by(step).zip(source);
    pairs.for_each(|(target, &source)| *target += source * factor);
}
