//! Depthwise convolutions: each channel of the large image by itself.
//!
//! The elements that one kernel element reads in adjacent windows of a line are brought next to each other, with
//! zeros for padding. So strides, dilations and edges cost nothing in the loops.

use crate::conv::geometry::Geometry;
use crate::elements::float::Float;
use crate::loops::simd::wide;

/// The lines of a channel of the large image. A line has a row for each phase: the elements whose distance from the
/// first padding has the same remainder by the stride.
struct Rows<T> {
    elements: Vec<T>,
    /// The phases that kernel elements read.
    phases: Vec<usize>,
    /// The length of a row.
    len: usize,
    /// For each place along the width of the kernel, the element of a line that it reads in the first window.
    starts: Vec<usize>,
}

impl<T: Float> Rows<T> {
    fn new(geometry: &Geometry) -> Self {
        let (step, dilation, kernel) = (geometry.step(), geometry.dilations[2], geometry.kernel[2]);
        let mut phases: Vec<usize> = (0..kernel).map(|x| x * dilation % step).collect();
        phases.sort_unstable();
        phases.dedup();
        let len = geometry.small[2] + kernel.saturating_sub(1) * dilation / step;
        let lines = geometry.large[0] * geometry.large[1];
        let start = |x: usize| {
            let row = phases.iter().position(|phase| *phase == x * dilation % step).unwrap_or(0);
            row * len + x * dilation / step
        };
        let starts = (0..kernel).map(start).collect();
        Self { elements: vec![T::ZERO; lines * phases.len() * len], phases, len, starts }
    }

    /// Reads a channel. Padding stays zero.
    fn fill(&mut self, geometry: &Geometry, large: &[T]) {
        let (step, before) = (geometry.step(), geometry.paddings[2][0]);
        let lines = large.chunks_exact(geometry.large[2].max(1));
        for (line, rows) in lines.zip(self.elements.chunks_exact_mut(self.phases.len() * self.len)) {
            for (phase, row) in self.phases.iter().zip(rows.chunks_exact_mut(self.len)) {
                // The first element of the row that is not padding.
                let skipped = before.saturating_sub(*phase).div_ceil(step);
                let Some(row) = row.get_mut(skipped..) else { continue };
                let Some(line) = line.get(skipped * step + phase - before..) else { continue };
                match step {
                    1 => {
                        let count = row.len().min(line.len());
                        row[..count].copy_from_slice(&line[..count]);
                    }
                    _ => row.iter_mut().zip(line.iter().step_by(step)).for_each(|(to, from)| *to = *from),
                }
            }
        }
    }
}

/// A kernel element for a line of windows: what it reads in the first window, and its value.
#[derive(Clone, Copy)]
struct Tap<T> {
    start: usize,
    factor: T,
}

impl Geometry {
    /// Convolves the channels of a large image.
    pub(super) fn depthwise<T: Float>(&self, small: &mut [T], large: &[T], kernels: &[T]) {
        let (mut rows, mut taps) = (Rows::new(self), Vec::new());
        let width = self.small[2];
        for (sample, group) in self.parts() {
            rows.fill(self, &large[self.large_at(sample, group)]);
            let small = &mut small[self.small_at(sample, group)];
            let kernels = kernels[self.kernels_at(group)].chunks_exact(self.taps());
            for (small, kernel) in small.chunks_exact_mut(self.small_len()).zip(kernels) {
                wide(
                    #[inline(always)]
                    || {
                        for (line, out) in small.chunks_exact_mut(width).enumerate() {
                            let window = [line / self.small[1], line % self.small[1]];
                            self.taps_of_line(&mut taps, &rows, kernel, window);
                            add_up(out, &rows.elements, &taps);
                        }
                    },
                );
            }
        }
    }

    /// Lists the kernel elements that read elements of the image in the windows of a line.
    fn taps_of_line<T: Float>(
        &self,
        taps: &mut Vec<Tap<T>>,
        rows: &Rows<T>,
        kernel: &[T],
        window: [usize; 2],
    ) {
        taps.clear();
        let mut lines = kernel.chunks_exact(self.kernel[2]);
        for z in 0..self.kernel[0] {
            for y in 0..self.kernel[1] {
                let Some(factors) = lines.next() else { return };
                let [Some(z), Some(y)] = [self.read(0, window[0], z), self.read(1, window[1], y)] else {
                    continue;
                };
                let line = (z * self.large[1] + y) * rows.phases.len() * rows.len;
                let tap = |(start, &factor): (&usize, &T)| Tap { start: line + start, factor };
                taps.extend(rows.starts.iter().zip(factors).map(tap));
            }
        }
    }

    /// Returns the place in the large image that a kernel element reads in a window, along a dimension; `None` for
    /// padding.
    fn read(&self, dimension: usize, window: usize, place: usize) -> Option<usize> {
        let padded = window * self.strides[dimension] + place * self.dilations[dimension];
        let read = padded.checked_sub(self.paddings[dimension][0])?;
        (read < self.large[dimension]).then_some(read)
    }
}

/// Sums what the kernel elements read in the windows of a line.
#[inline(always)]
fn add_up<T: Float>(out: &mut [T], elements: &[T], taps: &[Tap<T>]) {
    let done = blocks::<T, 16>(out, elements, taps, 0);
    let done = blocks::<T, 4>(out, elements, taps, done);
    blocks::<T, 1>(out, elements, taps, done);
}

/// Sums blocks of windows from one on. Returns the first window that is left.
#[inline(always)]
fn blocks<T: Float, const N: usize>(out: &mut [T], elements: &[T], taps: &[Tap<T>], first: usize) -> usize {
    let mut done = first;
    while let Some(block) = out.get_mut(done..done + N) {
        let mut sums = [T::ZERO; N];
        for Tap { start, factor } in taps {
            for (sum, &element) in sums.iter_mut().zip(&elements[start + done..][..N]) {
                *sum += element * *factor;
            }
        }
        block.copy_from_slice(&sums);
        done += N;
    }
    done
}
