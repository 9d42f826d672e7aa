//! Convolutions of dense tensors: blocked `im2col` with matrix products, or loops for depthwise convolutions.
//!
//! Each of the large image, the small image and the kernels can be computed from the other two: the forward
//! pass, the gradient of the image and the gradient of the kernels.

use std::ops::{Range, RangeFrom};

use crate::constant::Copies;
use crate::conv::columns::Piece;
use crate::conv::geometry::{Geometry, Pass, Segment};
use crate::elements::float::Float;
use crate::loops::lines::sum;
use crate::matmul::product::{Matrix, MatrixMut};
use crate::provider::{self, Operand};

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

    /// Lets the provider compute a tensor from the other two. Returns false if the kernel has to compute it.
    ///
    /// The second operand may be one that never changes.
    fn is_provided<T: Float>(
        &self,
        pass: Pass,
        result: &mut [T],
        [left, right]: [&[T]; 2],
        copies: Option<&Copies>,
        bias: Option<&[T]>,
    ) -> bool {
        provider::computes(|provider| {
            let left = Operand::new(bytemuck::cast_slice(left));
            let operands = [left, Operand { elements: bytemuck::cast_slice(right), copies }];
            provider.convolve(
                pass,
                T::DTYPE,
                self,
                bytemuck::cast_slice_mut(result),
                operands,
                bias.map(bytemuck::cast_slice),
            )
        })
    }

    /// Convolves the large image, and adds a bias to each channel of the small one. The kernels have copies if they never
    /// change.
    pub(super) fn forward<T: Float>(
        &self,
        small: &mut [T],
        large: &[T],
        kernels: &[T],
        copies: Option<&Copies>,
        bias: Option<&[T]>,
    ) {
        if small.is_empty() || self.is_provided(Pass::Small, small, [large, kernels], copies, bias) {
            return;
        }
        if self.taps() == 0 {
            small.fill(T::ZERO);
            let channels =
                small.chunks_exact_mut(self.small_len().max(1)).zip(bias.into_iter().flatten().cycle());
            return channels.for_each(|(channel, bias)| channel.fill(*bias));
        }
        if self.prefers_planes() {
            return self.convolve_planes(small, large, kernels, bias);
        }
        let (mut columns, mut product) = (Vec::new(), Vec::new());
        for (group, block) in self.groups_of_blocks() {
            let kernels = Matrix::new(&kernels[self.kernels_at(group)], self.small_channels, self.taps());
            let (width, bias) = (self.width(&block), self.of_group(bias, group));
            let columns = match block.sample() {
                Some(sample) if self.is_pointwise() => {
                    Matrix::new(&large[self.large_at(sample, group)], self.large_channels, self.large_len())
                }
                _ => {
                    self.gather(&mut columns, large, group, &block);
                    Matrix::new(&columns, self.taps(), width)
                }
            };
            if let Some(sample) = block.sample() {
                let out = &mut small[self.small_at(sample, group)][block.lines.start * self.small[2]..];
                let out = MatrixMut::with_rows_apart(out, self.small_channels, width, self.small_len());
                T::multiply(out, kernels, columns, false);
                if let Some(bias) = bias {
                    for Piece { channel, image, .. } in self.pieces(group, &block) {
                        small[image].iter_mut().for_each(|element| *element += bias[channel]);
                    }
                }
                continue;
            }
            product.resize(self.small_channels * width, T::ZERO);
            T::multiply(MatrixMut::new(&mut product, self.small_channels, width), kernels, columns, false);
            for Piece { channel, image, matrix } in self.pieces(group, &block) {
                copy_channel(&mut small[image], &product[matrix], bias.map(|bias| bias[channel]));
            }
        }
    }

    /// Returns the biases of the channels of a group.
    pub(super) fn of_group<'b, T>(&self, bias: Option<&'b [T]>, group: usize) -> Option<&'b [T]> {
        Some(&bias?[group * self.small_channels..][..self.small_channels])
    }

    /// Computes the gradient of the large image, which is also the transposed convolution of the small one.
    pub(super) fn backward_image<T: Float>(
        &self,
        large: &mut [T],
        small: &[T],
        kernels: &[T],
        copies: Option<&Copies>,
    ) {
        if self.is_provided(Pass::Large, large, [small, kernels], copies, None) {
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
        let (mut columns, mut stacked) = (Vec::new(), Vec::new());
        for (group, block) in self.groups_of_blocks() {
            let kernels = Matrix::new(&kernels[self.kernels_at(group)], self.small_channels, self.taps());
            let width = self.width(&block);
            let small = self.stack(&mut stacked, small, group, &block);
            if let Some(sample) = block.sample().filter(|_| self.is_pointwise()) {
                let large = &mut large[self.large_at(sample, group)];
                let out = MatrixMut::new(large, self.large_channels, self.large_len());
                T::multiply(out, kernels.transposed(), small, false);
                continue;
            }
            columns.resize(self.taps() * width, T::ZERO);
            T::multiply(MatrixMut::new(&mut columns, self.taps(), width), kernels.transposed(), small, false);
            self.scatter(large, &columns, group, &block);
        }
    }

    /// Computes the gradient of the kernels.
    pub(super) fn backward_kernels<T: Float>(&self, kernels: &mut [T], large: &[T], small: &[T]) {
        if self.is_provided(Pass::Kernels, kernels, [large, small], None, None) {
            return;
        }
        kernels.fill(T::ZERO);
        if self.is_depthwise() {
            for (sample, group) in self.parts() {
                let large = &large[self.large_at(sample, group)];
                let small = &small[self.small_at(sample, group)];
                self.dots(&mut kernels[self.kernels_at(group)], large, small);
            }
            return;
        }
        let (mut columns, mut stacked) = (Vec::new(), Vec::new());
        for (group, block) in self.groups_of_blocks() {
            let kernels = &mut kernels[self.kernels_at(group)];
            self.gather(&mut columns, large, group, &block);
            let small = self.stack(&mut stacked, small, group, &block);
            let columns = Matrix::new(&columns, self.taps(), self.width(&block)).transposed();
            T::multiply(MatrixMut::new(kernels, self.small_channels, self.taps()), small, columns, true);
        }
    }

    /// Calls a function with each kernel element of a group, the windows of a line of the small image, and
    /// the start of the elements of the large image that they read.
    fn taps_of<T: Float>(
        &self,
        group: usize,
        kernels: &[T],
        mut visit: impl FnMut(T, Range<usize>, RangeFrom<usize>),
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

/// Copies elements of a channel, plus its bias if there is one.
pub(super) fn copy_channel<T: Float>(target: &mut [T], source: &[T], bias: Option<T>) {
    match bias {
        None => target.copy_from_slice(source),
        Some(bias) => target.iter_mut().zip(source).for_each(|(target, &source)| *target = source + bias),
    }
}

/// Adds `source * factor` to elements of a target that are `step` apart.
pub(super) fn add_scaled<T: Float>(target: &mut [T], step: usize, source: &[T], factor: T) {
    if step == 1 {
        target.iter_mut().zip(source).for_each(|(target, &source)| *target += source * factor);
        return;
    }
    let pairs = target.iter_mut().step_by(step).zip(source);
    pairs.for_each(|(target, &source)| *target += source * factor);
}
