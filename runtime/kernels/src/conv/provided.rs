//! Convolutions by the provider.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::constant::Copies;
use crate::conv::geometry::{Geometry, Pass};
use crate::elements::float::Float;
use crate::provider::{self, Operand};
use crate::threads;

/// The number of channels of which a thread has a multiple: those of the widest vectors.
const CHANNELS: usize = 16;

/// What the threads share of a forward pass.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Axis {
    Samples,
    Groups,
    Channels,
}

impl Axis {
    fn of(geometry: &Geometry) -> Self {
        match geometry {
            Geometry { batch: 2.., .. } => Self::Samples,
            Geometry { groups: 2.., .. } => Self::Groups,
            _ => Self::Channels,
        }
    }

    fn len(self, geometry: &Geometry) -> usize {
        match self {
            Self::Samples => geometry.batch,
            Self::Groups => geometry.groups,
            Self::Channels => geometry.small_channels,
        }
    }

    /// Returns the geometry of some samples, groups or channels.
    fn part(self, geometry: &Geometry, len: usize) -> Geometry {
        match self {
            Self::Samples => Geometry { batch: len, ..*geometry },
            Self::Groups => Geometry { groups: len, ..*geometry },
            Self::Channels => Geometry { small_channels: len, ..*geometry },
        }
    }
}

/// Returns the elements of a tensor that belong to a part. If the tensor is as long as that of one sample, group or channel,
/// all parts use all of it.
fn part_of<'a, T>(elements: &'a [T], of_one: Option<usize>, range: &Range<usize>) -> &'a [T] {
    of_one.map_or(elements, |len| &elements[range.start * len..range.end * len])
}

impl Geometry {
    /// Lets the provider compute a tensor from the other two. Returns false if the kernel has to compute it.
    ///
    /// The second operand may be one that never changes.
    pub(super) fn is_provided<T: Float>(
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

    /// Lets the provider convolve the large image. Each thread computes some samples, groups or channels. Returns false if the
    /// kernel has to compute all.
    pub(super) fn is_forward_provided<T: Float>(
        &self,
        small: &mut [T],
        large: &[T],
        kernels: &[T],
        copies: Option<&Copies>,
        bias: Option<&[T]>,
    ) -> bool {
        let operations = self.multiplications();
        let count = threads::count(operations);
        if count == 1 {
            return self.is_provided(Pass::Small, small, [large, kernels], copies, bias);
        }
        let axis = Axis::of(self);
        let len = axis.len(self);
        let one = axis.part(self, 1);
        let is_of_samples = axis == Axis::Samples;
        // The provider keeps copies of parts of the kernels, so that there is one number of parts for images of all sizes.
        let (count, unit) = if is_of_samples { (count, 1) } else { (threads::most(), CHANNELS) };
        let ranges: Vec<_> = threads::ranges(len, count, unit).collect();
        let of_small = small.len() / len;
        let of_large = (axis != Axis::Channels).then_some(large.len() / len);
        let of_kernels = (!is_of_samples).then_some(kernels.len() / len);
        let of_bias = (!is_of_samples).then_some(one.groups * one.small_channels);
        let longest = ranges.first().map_or(1, Range::len);
        let parts = ranges.iter().zip(small.chunks_mut(longest * of_small)).enumerate();
        let is_provided = AtomicBool::new(true);
        threads::each(operations, parts, |(number, (range, small))| {
            let copies =
                copies.and_then(
                    |copies| {
                        if is_of_samples { Some(copies) } else { copies.part(number, ranges.len()) }
                    },
                );
            let operands = [part_of(large, of_large, range), part_of(kernels, of_kernels, range)];
            let bias = bias.map(|bias| part_of(bias, of_bias, range));
            let geometry = axis.part(self, range.len());
            if !geometry.is_provided(Pass::Small, small, operands, copies, bias) {
                is_provided.store(false, Ordering::Relaxed);
            }
        });
        is_provided.into_inner()
    }
}
