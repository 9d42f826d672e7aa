//! Convolutions of dense tensors: blocked `im2col` with matrix products, or loops for depthwise convolutions.
//!
//! Each of the large image, the small image and the kernels can be computed from the other two: the forward
//! pass, the gradient of the image and the gradient of the kernels.

use std::ops::{Range, RangeFrom};

use crate::constant::Copies;
use crate::conv::columns::Block;
use crate::conv::geometry::{Geometry, Pass, Segment};
use crate::elements::float::Float;
use crate::loops::lines::sum;
use crate::matmul::matrix::{Matrix, MatrixMut};
use crate::threads;

/// The elements of the small image in the windows of a block.
enum Out<'a, T> {
    /// Some lines of a sample, with a row for each channel.
    Lines(MatrixMut<'a, T>),
    /// Samples.
    Samples(Vec<&'a mut [T]>),
}

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
        if small.is_empty() || self.is_forward_provided(small, large, kernels, copies, bias) {
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
        let operations = self.multiplications();
        let count = threads::count(operations);
        let mut blocks = Vec::new();
        let mut images: Vec<_> =
            small.chunks_exact_mut(self.small_channels * self.small_len()).map(Some).collect();
        for (group, set) in self.blocks(count) {
            let samples = set.first().map_or(0..0, |block| block.samples.clone());
            let mut images: Vec<_> =
                samples.filter_map(|sample| images[sample * self.groups + group].take()).collect();
            if images.len() > 1 {
                blocks.extend(
                    set.into_iter().map(|block| (group, block, Out::Samples(std::mem::take(&mut images)))),
                );
            } else if let Some(image) = images.pop() {
                let ranges = set
                    .iter()
                    .map(|block| block.lines.start * self.small[2]..block.lines.end * self.small[2]);
                let image = MatrixMut::new(image, self.small_channels, self.small_len());
                let parts: Vec<_> = image.columns(ranges).collect();
                blocks
                    .extend(set.into_iter().zip(parts).map(|(block, part)| (group, block, Out::Lines(part))));
            }
        }
        let of_thread = blocks.len().div_ceil(count).max(1);
        threads::each(operations, blocks.chunks_mut(of_thread), |blocks| {
            let (mut columns, mut product) = (Vec::new(), Vec::new());
            for (group, block, out) in blocks {
                let kernels = &kernels[self.kernels_at(*group)];
                self.forward_block(*group, block, out, large, kernels, bias, [&mut columns, &mut product]);
            }
        });
    }

    /// Computes the elements of the small image in the windows of a block.
    fn forward_block<T: Float>(
        &self,
        group: usize,
        block: &Block,
        out: &mut Out<'_, T>,
        large: &[T],
        kernels: &[T],
        bias: Option<&[T]>,
        [columns, product]: [&mut Vec<T>; 2],
    ) {
        let kernels = Matrix::new(kernels, self.small_channels, self.taps());
        let (width, bias) = (self.width(block), self.of_group(bias, group));
        let all = self.batch * self.small_len();
        let columns = match block.sample() {
            Some(sample) if self.is_pointwise() => {
                let large = &large[self.large_at(sample, group)][block.lines.start * self.large[2]..];
                Matrix::with_rows_apart(large, self.large_channels, width, self.large_len())
            }
            _ => {
                self.gather(columns, large, group, block);
                Matrix::new(columns, self.taps(), width)
            }
        };
        match out {
            Out::Lines(out) => {
                T::multiply_part(out.reborrow(), kernels, columns, false, all);
                bias.into_iter().for_each(|bias| out.add_to_rows(bias));
            }
            Out::Samples(samples) => {
                product.resize(self.small_channels * width, T::ZERO);
                let out = MatrixMut::new(product, self.small_channels, width);
                T::multiply_part(out, kernels, columns, false, all);
                for (place, sample) in samples.iter_mut().enumerate() {
                    for (number, channel) in sample.chunks_exact_mut(self.small_len()).enumerate() {
                        let from = &product[number * width + place * self.small_len()..][..channel.len()];
                        copy_channel(channel, from, bias.map(|bias| bias[number]));
                    }
                }
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
