//! The positions of the windows of a convolution.

use std::ops::Range;

use crate::loops::window::{Spatial, inside};

/// A convolution from a large image to a small image. Each image has three dimensions; missing leading
/// dimensions have the length one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Geometry {
    /// The number of images.
    pub batch: usize,
    /// The number of groups of channels.
    pub groups: usize,
    /// The number of channels of the large image in each group.
    pub large_channels: usize,
    /// The number of channels of the small image in each group.
    pub small_channels: usize,
    /// The size of the large image.
    pub large: Spatial<usize>,
    /// The size of the small image.
    pub small: Spatial<usize>,
    /// The size of the kernels.
    pub kernel: Spatial<usize>,
    /// The distance between windows.
    pub strides: Spatial<usize>,
    /// The padding before and after the large image.
    pub paddings: Spatial<[usize; 2]>,
    /// The distance between the elements of a window; 1 if they are adjacent.
    pub dilations: Spatial<usize>,
}

/// The tensor of a convolution that is computed from the other two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pass {
    /// The small image, from the large one and the kernels.
    Small,
    /// The large image, from the small one and the kernels.
    Large,
    /// The kernels, from the large image and the small one.
    Kernels,
}

/// Windows in one line of the small image, and the elements of the large image that one kernel element reads
/// in them.
pub(super) struct Segment {
    /// The channel of the large image and the position in its kernel, as one number.
    pub(super) tap: usize,
    /// The line of the small image.
    pub(super) line: usize,
    /// The windows in which the kernel element reads an element of the image, not padding.
    pub(super) windows: Range<usize>,
    /// The element that is read in the first of these windows.
    pub(super) start: usize,
}

impl Geometry {
    pub(super) fn large_len(&self) -> usize {
        self.large.iter().product()
    }

    pub(super) fn small_len(&self) -> usize {
        self.small.iter().product()
    }

    /// Returns the number of kernel elements that belong to one channel of the small image.
    pub(super) fn taps(&self) -> usize {
        self.large_channels * self.kernel.iter().product::<usize>()
    }

    /// Returns the number of lines in one channel of the small image.
    pub(super) fn lines(&self) -> usize {
        self.small[0] * self.small[1]
    }

    /// Returns the distance along the width between the elements of adjacent windows.
    pub(super) fn step(&self) -> usize {
        self.strides[2]
    }

    /// Returns the number of multiplications, also of those with padding.
    #[must_use]
    pub fn multiplications(&self) -> usize {
        self.batch * self.groups * self.small_channels * self.small_len() * self.taps()
    }

    /// Returns true if each window covers one element, and the windows cover all elements in order.
    #[must_use]
    pub fn is_pointwise(&self) -> bool {
        self.kernel == [1; 3]
            && self.strides == [1; 3]
            && self.large == self.small
            && self.paddings == [[0; 2]; 3]
    }

    /// Returns the range of elements of the large image for a group of channels of a sample.
    pub(super) fn large_at(&self, sample: usize, group: usize) -> Range<usize> {
        let len = self.large_channels * self.large_len();
        let start = (sample * self.groups + group) * len;
        start..start + len
    }

    /// Returns the range of elements of the small image for a group of channels of a sample.
    pub(super) fn small_at(&self, sample: usize, group: usize) -> Range<usize> {
        let len = self.small_channels * self.small_len();
        let start = (sample * self.groups + group) * len;
        start..start + len
    }

    /// Returns the range of elements of the kernels of a group.
    pub(super) fn kernels_at(&self, group: usize) -> Range<usize> {
        let len = self.small_channels * self.taps();
        group * len..(group + 1) * len
    }

    /// Returns the position that element `place` of the kernel reads in window zero, along a dimension.
    fn offset(&self, dimension: usize, place: usize) -> isize {
        (place * self.dilations[dimension]) as isize - self.paddings[dimension][0] as isize
    }

    /// Calls `visit` with the segment of each kernel element for each line. Segments that read only padding
    /// have no windows.
    pub(super) fn segments(&self, lines: Range<usize>, mut visit: impl FnMut(Segment)) {
        let [depth, height, width] = self.large;
        let mut tap = 0;
        for channel in 0..self.large_channels {
            for z in 0..self.kernel[0] {
                let zs = inside(self.small[0], self.strides[0], self.offset(0, z), depth);
                for y in 0..self.kernel[1] {
                    let ys = inside(self.small[1], self.strides[1], self.offset(1, y), height);
                    for x in 0..self.kernel[2] {
                        let xs = inside(self.small[2], self.strides[2], self.offset(2, x), width);
                        for line in lines.clone() {
                            let (window_z, window_y) = (line / self.small[1], line % self.small[1]);
                            if !zs.contains(&window_z) || !ys.contains(&window_y) || xs.is_empty() {
                                visit(Segment { tap, line, windows: 0..0, start: 0 });
                                continue;
                            }
                            let place = |dimension: usize, window: usize, offset: isize| {
                                (window * self.strides[dimension]).wrapping_add_signed(offset)
                            };
                            let z = place(0, window_z, self.offset(0, z));
                            let y = place(1, window_y, self.offset(1, y));
                            let x = place(2, xs.start, self.offset(2, x));
                            let start = ((channel * depth + z) * height + y) * width + x;
                            visit(Segment { tap, line, windows: xs.clone(), start });
                        }
                        tap += 1;
                    }
                }
            }
        }
    }
}
