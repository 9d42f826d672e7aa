//! Convolutions of images that are arranged so that a kernel element reads adjacent elements in adjacent windows.
//!
//! The arranged image has planes: one for each phase, that is, each remainder of a position by the stride in each dimension.
//! Padding is part of a plane. So the elements that a kernel element reads in all windows are a stretch of a plane, from a
//! place on that depends on the kernel element alone, and a convolution is a product with the stretches as rows. A line of a
//! plane is longer than one of the small image, so the product has some elements between lines that are not copied.

use crate::conv::engine::copy_channel;
use crate::conv::geometry::Geometry;
use crate::elements::float::Float;
use crate::loops::simd::wide_fused;
use crate::loops::window::{SPACE, Spatial};
use crate::matmul::matrix::MatrixMut;
use crate::matmul::sums::{Shifted, multiply};
use crate::threads;

/// The number of output channels of a group up to which arranging the image is faster than arranging windows as columns.
const FEW_CHANNELS: usize = 16;

/// The channels of a large image that belong to a group of one sample.
struct Planes<T> {
    elements: Vec<T>,
    /// The phases of each plane of a channel. Only those that kernel elements read have a plane.
    phases: Vec<Spatial<usize>>,
    /// The size of a plane.
    size: Spatial<usize>,
    /// For each kernel element, the element that it reads in the first window.
    starts: Vec<usize>,
}

impl<T: Float> Planes<T> {
    fn new(geometry: &Geometry) -> Self {
        let reach =
            |dimension: usize| (geometry.kernel[dimension].max(1) - 1) * geometry.dilations[dimension];
        let places = |dimension: usize| {
            let (step, dilation) = (geometry.strides[dimension], geometry.dilations[dimension]);
            (0..geometry.kernel[dimension])
                .map(move |place| (place * dilation % step, place * dilation / step))
        };
        let elements_of_kernel = || {
            let along = |z, y| places(2).map(move |x| [z, y, x]);
            places(0).flat_map(move |z| places(1).flat_map(move |y| along(z, y)))
        };
        let mut phases: Vec<Spatial<usize>> =
            elements_of_kernel().map(|element| element.map(|(phase, _)| phase)).collect();
        phases.sort_unstable();
        phases.dedup();
        let size: Spatial<usize> = std::array::from_fn(|dimension| {
            geometry.small[dimension] + reach(dimension) / geometry.strides[dimension]
        });
        let len: usize = size.iter().product();
        let mut starts = Vec::with_capacity(geometry.taps());
        for channel in 0..geometry.large_channels {
            for element in elements_of_kernel() {
                let phase = element.map(|(phase, _)| phase);
                let plane = channel * phases.len() + phases.partition_point(|known| *known < phase);
                let place =
                    (0..SPACE).fold(0, |place, dimension| place * size[dimension] + element[dimension].1);
                starts.push(plane * len + place);
            }
        }
        let elements = vec![T::ZERO; geometry.large_channels * phases.len() * len];
        Self { elements, phases, size, starts }
    }

    /// Returns the number of elements from the first window to the last one.
    fn columns(&self, geometry: &Geometry) -> usize {
        let last =
            |element: usize, dimension: usize| element * self.size[dimension] + geometry.small[dimension] - 1;
        (0..SPACE).fold(0, last) + 1
    }

    /// Reads the image. Padding stays zero.
    fn fill(&mut self, geometry: &Geometry, large: &[T]) {
        let [depth, height, width] = self.size;
        let channels = large.chunks_exact(geometry.large_len().max(1));
        let planes = channels.flat_map(|channel| self.phases.iter().map(move |phase| (channel, phase)));
        for (plane, (channel, phase)) in self.elements.chunks_exact_mut(depth * height * width).zip(planes) {
            for (number, line) in plane.chunks_exact_mut(width).enumerate() {
                let z = geometry.position(0, number / height, phase[0]);
                let y = geometry.position(1, number % height, phase[1]);
                if let (Some(z), Some(y)) = (z, y) {
                    let from = (z * geometry.large[1] + y) * geometry.large[2];
                    geometry.read_line(line, &channel[from..from + geometry.large[2]], phase[2]);
                }
            }
        }
    }
}

impl Geometry {
    /// Returns true if [`convolve_planes`](Self::convolve_planes) is faster than a product with the windows as columns.
    pub(super) fn prefers_planes(&self) -> bool {
        self.small_channels <= FEW_CHANNELS && !self.is_pointwise()
    }

    /// Convolves the channels of a large image, and adds a bias to each channel of the small one.
    pub(super) fn convolve_planes<T: Float>(
        &self,
        small: &mut [T],
        large: &[T],
        kernels: &[T],
        bias: Option<&[T]>,
    ) {
        let of_group = self.small_channels * self.small_len();
        if of_group == 0 {
            return;
        }
        threads::split(self.multiplications(), small, of_group, |start, small| {
            let mut planes = Planes::new(self);
            let columns = planes.columns(self);
            let mut product = vec![T::ZERO; self.small_channels * columns];
            for (part, small) in small.chunks_exact_mut(of_group).enumerate() {
                let part = start / of_group + part;
                let (sample, group) = (part / self.groups, part % self.groups);
                planes.fill(self, &large[self.large_at(sample, group)]);
                let kernels = &kernels[self.kernels_at(group)];
                let rows = Shifted { elements: &planes.elements, starts: &planes.starts, columns };
                let out = MatrixMut::new(&mut product, self.small_channels, columns);
                wide_fused(
                    #[inline(always)]
                    |fused| multiply(out, kernels, &rows, [fused, false]),
                );
                let channels = small.chunks_exact_mut(self.small_len()).zip(product.chunks_exact(columns));
                let bias = self.of_group(bias, group);
                for (number, (channel, product)) in channels.enumerate() {
                    for (line, to) in channel.chunks_exact_mut(self.small[2]).enumerate() {
                        let [z, y] = [line / self.small[1], line % self.small[1]];
                        let start = (z * planes.size[1] + y) * planes.size[2];
                        copy_channel(to, &product[start..start + to.len()], bias.map(|bias| bias[number]));
                    }
                }
            }
        });
    }

    /// Returns the place in the large image of an element of a phase along a dimension; `None` for padding.
    fn position(&self, dimension: usize, element: usize, phase: usize) -> Option<usize> {
        let padded = element * self.strides[dimension] + phase;
        let position = padded.checked_sub(self.paddings[dimension][0])?;
        (position < self.large[dimension]).then_some(position)
    }

    /// Copies the elements of a phase of a line of the large image, without padding.
    fn read_line<T: Copy>(&self, to: &mut [T], from: &[T], phase: usize) {
        let (step, before) = (self.step(), self.paddings[2][0]);
        // The first element that is not padding.
        let skipped = before.saturating_sub(phase).div_ceil(step);
        let Some(to) = to.get_mut(skipped..) else { return };
        let Some(from) = from.get(skipped * step + phase - before..) else { return };
        match step {
            1 => to.iter_mut().zip(from).for_each(|(to, from)| *to = *from),
            2 => {
                // In chunks of a constant length, so that the compiler uses vectors.
                let (pairs, last) = from.as_chunks::<2>();
                to.iter_mut().zip(pairs).for_each(|(to, [first, _])| *to = *first);
                to.iter_mut().skip(pairs.len()).zip(last).for_each(|(to, last)| *to = *last);
            }
            _ => to.iter_mut().zip(from.iter().step_by(step)).for_each(|(to, from)| *to = *from),
        }
    }
}
