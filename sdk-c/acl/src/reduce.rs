//! Copies that join numbers with those that are there.

use half::{bf16, f16};
use tenon::HostPtr;

use crate::api::{AclError, DataType, ReduceKind};
use crate::arrival;
use crate::element;
use crate::error::{Result, refuse};
use crate::runtime::Runtime;

/// How two numbers are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Join {
    Sum,
    Max,
    Min,
}

/// A type whose numbers can be joined.
trait Number: Copy {
    fn joined(self, join: Join, other: Self) -> Self;
}

macro_rules! integers {
    ($($ty:ty),*) => {
        $(impl Number for $ty {
            fn joined(self, join: Join, other: Self) -> Self {
                match join {
                    Join::Sum => self.saturating_add(other),
                    Join::Max => self.max(other),
                    Join::Min => self.min(other),
                }
            }
        })*
    };
}

integers!(i8, i16, i32);

impl Number for f32 {
    fn joined(self, join: Join, other: Self) -> Self {
        match join {
            Join::Sum => self + other,
            // Those of the standard library take the number beside a NaN.
            Join::Max | Join::Min if self.is_nan() || other.is_nan() => f32::NAN,
            Join::Max => self.max(other),
            Join::Min => self.min(other),
        }
    }
}

macro_rules! halves {
    ($($ty:ty),*) => {
        $(impl Number for $ty {
            fn joined(self, join: Join, other: Self) -> Self {
                <$ty>::from_f32(self.to_f32().joined(join, other.to_f32()))
            }
        })*
    };
}

halves!(f16, bf16);

/// Joins all numbers of a range with those of another.
///
/// # Safety
/// Both ranges can be read, and the first one written, for `bytes` bytes.
unsafe fn join_all<T: Number>(join: Join, dst: usize, src: usize, bytes: usize) {
    let to = HostPtr::from_addr(dst).as_ptr().cast::<T>();
    let from = HostPtr::from_addr(src).as_ptr().cast::<T>();
    for index in 0..bytes / size_of::<T>() {
        // SAFETY: by the caller's promise; programs need not align numbers.
        unsafe {
            let joined = to.add(index).read_unaligned().joined(join, from.add(index).read_unaligned());
            to.add(index).write_unaligned(joined);
        }
    }
}

type JoinAll = unsafe fn(Join, usize, usize, usize);

fn for_type(data_type: DataType) -> Option<JoinAll> {
    Some(match data_type {
        DataType::FLOAT => join_all::<f32>,
        DataType::FLOAT16 => join_all::<f16>,
        DataType::BF16 => join_all::<bf16>,
        DataType::INT8 => join_all::<i8>,
        DataType::INT16 => join_all::<i16>,
        DataType::INT32 => join_all::<i32>,
        _ => return None,
    })
}

/// A reduction as a program asks for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduction {
    pub(crate) dst: usize,
    pub(crate) src: usize,
    /// Length in bytes.
    pub(crate) bytes: u64,
    pub(crate) kind: ReduceKind,
    pub(crate) data_type: DataType,
}

impl Runtime {
    /// Joins numbers in the order of a stream.
    pub(crate) fn reduce(&self, asked: Reduction, stream: usize, reserve: usize) -> Result<()> {
        if reserve != 0 {
            return refuse(AclError::RT_PARAM_INVALID, "`reserve` is reserved and null");
        }
        let Reduction { dst, src, kind, data_type, .. } = asked;
        let join = match kind {
            ReduceKind::SUM => Join::Sum,
            ReduceKind::MAX => Join::Max,
            ReduceKind::MIN => Join::Min,
            _ => {
                return refuse(
                    AclError::RT_FEATURE_NOT_SUPPORT,
                    format!("`kind` is {kind:?}, which nothing here does"),
                );
            }
        };
        let Some(join_all) = for_type(data_type) else {
            return refuse(
                AclError::RT_FEATURE_NOT_SUPPORT,
                format!("`type` is {data_type:?}, whose numbers are not joined here"),
            );
        };
        let bytes = usize::try_from(asked.bytes).unwrap_or(usize::MAX);
        let size = element::size(data_type);
        if bytes % size != 0 {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("`count` is {bytes} bytes, which are no whole number of elements of {size}"),
            );
        }
        self.device_range("dst", dst, bytes)?;
        self.device_range("src", src, bytes)?;
        let stream = self.stream(stream)?;
        if !self.devices.memory_is_host() {
            return refuse(AclError::RT_FEATURE_NOT_SUPPORT, "the host cannot see the memory of this device");
        }
        arrival::do_in_order(&stream, move |_| {
            // SAFETY: both ranges lie within allocations, which the program keeps until the stream has passed.
            unsafe { join_all(join, dst, src, bytes) };
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined<T: Number>(join: Join, to: &mut [T], from: &[T]) {
        let (dst, src) = (to.as_mut_ptr().expose_provenance(), from.as_ptr().expose_provenance());
        // SAFETY: both are that long.
        unsafe { join_all::<T>(join, dst, src, size_of_val(from)) };
    }

    #[test]
    fn integers_stop_at_the_ends_of_their_type() {
        let mut numbers = [100i8, -100, 5];
        joined(Join::Sum, &mut numbers, &[100, -100, -7]);
        assert_eq!(numbers, [127, -128, -2]);
        joined(Join::Max, &mut numbers, &[0, 0, 0]);
        assert_eq!(numbers, [127, 0, 0]);
        joined(Join::Min, &mut numbers, &[1, -1, 1]);
        assert_eq!(numbers, [1, -1, 0]);
    }

    #[test]
    fn a_nan_on_either_side_stays() {
        for join in [Join::Sum, Join::Max, Join::Min] {
            let mut numbers = [f32::NAN, 1.0];
            joined(join, &mut numbers, &[1.0, f32::NAN]);
            assert!(numbers.iter().all(|number| number.is_nan()), "{join:?}");
        }
    }

    #[test]
    fn halves_are_rounded_once() {
        let mut numbers = [f16::from_f32(2048.0)];
        joined(Join::Sum, &mut numbers, &[f16::from_f32(3.0)]);
        assert_eq!(numbers[0].to_f32(), 2052.0, "2051 lies between two halves");
        let mut numbers = [bf16::from_f32(1.0)];
        joined(Join::Min, &mut numbers, &[bf16::from_f32(-2.5)]);
        assert_eq!(numbers[0].to_f32(), -2.5);
    }
}
