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

/// The dimension of a forward pass that is split among threads.
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
    pub(super) fn is_forward_provided<'t, T: Float>(
        &self,
        small: &mut [T],
        large: &'t [T],
        kernels: &'t [T],
        copies: Option<&Copies>,
        bias: Option<&'t [T]>,
    ) -> bool {
        let operations = self.multiplications();
        let count = threads::count(operations);
        if count == 1 {
            return self.is_provided(Pass::Small, small, [large, kernels], copies, bias);
        }
        let axis = Axis::of(self);
        let len = axis.len(self);
        // The provider keeps copies of parts of the kernels, so that there is one number of parts for images of all sizes.
        let (count, unit) = match axis {
            Axis::Samples => (count, 1),
            Axis::Groups | Axis::Channels => (threads::most(), CHANNELS),
        };
        let ranges: Vec<_> = threads::ranges(len, count, unit).collect();
        let longest = ranges.first().map_or(1, Range::len) * (small.len() / len);
        let parts = ranges.iter().zip(small.chunks_mut(longest)).enumerate();
        let is_provided = AtomicBool::new(true);
        threads::each(operations, parts, |(number, (range, small))| {
            let part = |elements: &'t [T]| {
                let of_one = elements.len() / len;
                &elements[range.start * of_one..range.end * of_one]
            };
            let (operands, bias, copies) = match axis {
                Axis::Samples => ([part(large), kernels], bias, copies),
                Axis::Groups | Axis::Channels => {
                    let large = if axis == Axis::Groups { part(large) } else { large };
                    let copies = copies.and_then(|copies| copies.part(number, ranges.len()));
                    ([large, part(kernels)], bias.map(part), copies)
                }
            };
            let geometry = axis.part(self, range.len());
            if !geometry.is_provided(Pass::Small, small, operands, copies, bias) {
                is_provided.store(false, Ordering::Relaxed);
            }
        });
        is_provided.into_inner()
    }
}
