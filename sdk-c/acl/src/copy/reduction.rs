//! Reductions: copies that combine each element with the element at the destination.

use half::{bf16, f16};
use tenon::HostPtr;

use crate::api::{AclError, DataType, ReduceKind};
use crate::data::element;
use crate::error::{Result, refuse};
use crate::state::State;
use crate::stream::completion;

/// The operation that combines two elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Sum,
    Max,
    Min,
}

/// An element type.
trait Element: Copy {
    fn combined(self, operation: Operation, other: Self) -> Self;
}

macro_rules! integers {
    ($($ty:ty),*) => {
        $(impl Element for $ty {
            fn combined(self, operation: Operation, other: Self) -> Self {
                match operation {
                    Operation::Sum => self.saturating_add(other),
                    Operation::Max => self.max(other),
                    Operation::Min => self.min(other),
                }
            }
        })*
    };
}

integers!(i8, i16, i32);

impl Element for f32 {
    fn combined(self, operation: Operation, other: Self) -> Self {
        match operation {
            Operation::Sum => self + other,
            // The standard library's functions ignore NaN.
            Operation::Max | Operation::Min if self.is_nan() || other.is_nan() => f32::NAN,
            Operation::Max => self.max(other),
            Operation::Min => self.min(other),
        }
    }
}

macro_rules! halves {
    ($($ty:ty),*) => {
        $(impl Element for $ty {
            fn combined(self, operation: Operation, other: Self) -> Self {
                <$ty>::from_f32(self.to_f32().combined(operation, other.to_f32()))
            }
        })*
    };
}

halves!(f16, bf16);

/// Combines each element of a range with the element of another range.
///
/// # Safety
/// `bytes` bytes of both ranges can be read, and those of the first one can be written.
unsafe fn combine_all<T: Element>(operation: Operation, dst: usize, src: usize, bytes: usize) {
    let to = HostPtr::from_addr(dst).as_ptr().cast::<T>();
    let from = HostPtr::from_addr(src).as_ptr().cast::<T>();
    for index in 0..bytes / size_of::<T>() {
        // SAFETY: by the caller's promise; the accesses are unaligned.
        unsafe {
            let combined =
                to.add(index).read_unaligned().combined(operation, from.add(index).read_unaligned());
            to.add(index).write_unaligned(combined);
        }
    }
}

type CombineAll = unsafe fn(Operation, usize, usize, usize);

fn for_type(data_type: DataType) -> Option<CombineAll> {
    Some(match data_type {
        DataType::FLOAT => combine_all::<f32>,
        DataType::FLOAT16 => combine_all::<f16>,
        DataType::BF16 => combine_all::<bf16>,
        DataType::INT8 => combine_all::<i8>,
        DataType::INT16 => combine_all::<i16>,
        DataType::INT32 => combine_all::<i32>,
        _ => return None,
    })
}

/// The arguments of a reduction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduction {
    pub(crate) dst: usize,
    pub(crate) src: usize,
    /// Length in bytes.
    pub(crate) bytes: u64,
    pub(crate) kind: ReduceKind,
    pub(crate) data_type: DataType,
}

/// Reduces in stream order.
pub(crate) fn reduce(state: &State, reduction: Reduction, stream: usize, reserve: usize) -> Result<()> {
    if reserve != 0 {
        return refuse(AclError::RT_PARAM_INVALID, "`reserve` is reserved and must be null");
    }
    let Reduction { dst, src, kind, data_type, .. } = reduction;
    let operation = match kind {
        ReduceKind::SUM => Operation::Sum,
        ReduceKind::MAX => Operation::Max,
        ReduceKind::MIN => Operation::Min,
        _ => {
            return refuse(
                AclError::RT_FEATURE_NOT_SUPPORT,
                format!("`kind` is {kind:?}, which is not supported"),
            );
        }
    };
    let Some(combine_all) = for_type(data_type) else {
        return refuse(
            AclError::RT_FEATURE_NOT_SUPPORT,
            format!("`type` is {data_type:?}, which reductions do not support"),
        );
    };
    let bytes = usize::try_from(reduction.bytes).unwrap_or(usize::MAX);
    let size = element::size(data_type);
    if bytes % size != 0 {
        return refuse(
            AclError::RT_PARAM_INVALID,
            format!("`count` is {bytes} bytes, which is not a multiple of the element size, {size}"),
        );
    }
    state.blocks.device_range("dst", dst, bytes)?;
    state.blocks.device_range("src", src, bytes)?;
    let stream = state.stream(stream)?;
    if !state.provider.memory_is_host() {
        return refuse(AclError::RT_FEATURE_NOT_SUPPORT, "the host cannot access the memory of this device");
    }
    completion::run_in_order(&stream, move |_| {
        // SAFETY: both ranges are inside allocations, which the program keeps until the stream has passed this work.
        unsafe { combine_all(operation, dst, src, bytes) };
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reduce_into<T: Element>(operation: Operation, to: &mut [T], from: &[T]) {
        let (dst, src) = (to.as_mut_ptr().expose_provenance(), from.as_ptr().expose_provenance());
        // SAFETY: both slices have this length.
        unsafe { combine_all::<T>(operation, dst, src, size_of_val(from)) };
    }

    #[test]
    fn integers_saturate() {
        let mut numbers = [100i8, -100, 5];
        reduce_into(Operation::Sum, &mut numbers, &[100, -100, -7]);
        assert_eq!(numbers, [127, -128, -2]);
        reduce_into(Operation::Max, &mut numbers, &[0, 0, 0]);
        assert_eq!(numbers, [127, 0, 0]);
        reduce_into(Operation::Min, &mut numbers, &[1, -1, 1]);
        assert_eq!(numbers, [1, -1, 0]);
    }

    #[test]
    fn nan_on_either_side_propagates() {
        for operation in [Operation::Sum, Operation::Max, Operation::Min] {
            let mut numbers = [f32::NAN, 1.0];
            reduce_into(operation, &mut numbers, &[1.0, f32::NAN]);
            assert!(numbers.iter().all(|number| number.is_nan()), "{operation:?}");
        }
    }

    #[test]
    fn half_sum_is_rounded_once() {
        let mut numbers = [f16::from_f32(2048.0)];
        reduce_into(Operation::Sum, &mut numbers, &[f16::from_f32(3.0)]);
        assert_eq!(numbers[0].to_f32(), 2052.0, "2051 is between two halves");
        let mut numbers = [bf16::from_f32(1.0)];
        reduce_into(Operation::Min, &mut numbers, &[bf16::from_f32(-2.5)]);
        assert_eq!(numbers[0].to_f32(), -2.5);
    }
}
