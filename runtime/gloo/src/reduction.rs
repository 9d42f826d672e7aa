//! Combines elements, for each type and reduction.

use std::ffi::c_void;

use half::{bf16, f16};
use tenon::device::{DataType, ReduceOp};

use crate::error::{Error, Result};

/// Combines the elements of two buffers. The results may lie in either.
pub(crate) type Combine = unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const c_void, usize);

/// Divides elements by the number of members.
pub(crate) type Divide = unsafe fn(*mut c_void, usize, usize);

/// A reduction of elements of a type.
#[derive(Clone, Copy)]
pub(crate) struct Reduction {
    pub(crate) combine: Combine,
    /// For a mean: what follows the sum.
    pub(crate) divide: Option<Divide>,
}

impl Reduction {
    /// Returns the reduction.
    ///
    /// # Errors
    /// If elements of the type have none.
    pub(crate) fn of(data_type: DataType, op: ReduceOp) -> Result<Self> {
        macro_rules! of_types {
            ($($name:ident: $type:ty,)*) => {
                match data_type {
                    $(DataType::$name => of::<$type>(op),)*
                    _ => None,
                }
                .ok_or(Error::NoReduction { data_type, op })
            };
        }
        of_types! {
            BOOL: Truth, UINT8: u8, UINT16: u16, UINT32: u32, UINT64: u64, INT8: i8, INT16: i16, INT32: i32, INT64: i64,
            FLOAT16: f16, BFLOAT16: bf16, FLOAT32: f32, FLOAT64: f64, COMPLEX64: [f32; 2], COMPLEX128: [f64; 2],
        }
    }
}

fn of<T: Element>(op: ReduceOp) -> Option<Reduction> {
    let plain = |combine| Some(Reduction { combine, divide: None });
    match op {
        ReduceOp::SUM => plain(combine::<T, Sum>),
        ReduceOp::AVG => Some(Reduction { combine: combine::<T, Sum>, divide: Some(divide::<T>) }),
        ReduceOp::PRODUCT => plain(combine::<T, Product>),
        ReduceOp::MAX if T::IS_ORDERED => plain(combine::<T, Greatest>),
        ReduceOp::MIN if T::IS_ORDERED => plain(combine::<T, Least>),
        _ => None,
    }
}

/// A way to combine two elements.
trait Way {
    fn of<T: Element>(a: T, b: T) -> T;
}

struct Sum;
struct Product;
struct Greatest;
struct Least;

impl Way for Sum {
    fn of<T: Element>(a: T, b: T) -> T {
        a.plus(b)
    }
}

impl Way for Product {
    fn of<T: Element>(a: T, b: T) -> T {
        a.times(b)
    }
}

impl Way for Greatest {
    fn of<T: Element>(a: T, b: T) -> T {
        a.greater(b)
    }
}

impl Way for Least {
    fn of<T: Element>(a: T, b: T) -> T {
        a.lesser(b)
    }
}

/// Combines elements one by one.
///
/// # Safety
/// `a` and `b` have `count` readable elements, and `out` room for as many. The buffers are equal or apart. They need not
/// be aligned: gloo cuts messages into segments.
unsafe extern "C-unwind" fn combine<T: Element, W: Way>(
    out: *mut c_void,
    a: *const c_void,
    b: *const c_void,
    count: usize,
) {
    let (out, a, b) = (out.cast::<T>(), a.cast::<T>(), b.cast::<T>());
    for index in 0..count {
        // SAFETY: the index is inside of the buffers, by the caller's promise.
        unsafe {
            let result = W::of(a.add(index).read_unaligned(), b.add(index).read_unaligned());
            out.add(index).write_unaligned(result);
        }
    }
}

/// Divides elements by a number of members.
///
/// # Safety
/// `data` has `count` elements that nothing else uses.
unsafe fn divide<T: Element>(data: *mut c_void, count: usize, members: usize) {
    let data = data.cast::<T>();
    for index in 0..count {
        // SAFETY: the index is inside of the buffer, by the caller's promise.
        unsafe { data.add(index).write_unaligned(data.add(index).read_unaligned().divided(members)) };
    }
}

/// A type of elements.
trait Element: Copy {
    /// True if elements have a greatest and a least one.
    const IS_ORDERED: bool = true;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn greater(self, other: Self) -> Self;
    fn lesser(self, other: Self) -> Self;
    /// Divides by a number of members; integers are rounded towards zero.
    fn divided(self, members: usize) -> Self;
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Element for $type {
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            fn greater(self, other: Self) -> Self {
                self.max(other)
            }
            fn lesser(self, other: Self) -> Self {
                self.min(other)
            }
            fn divided(self, members: usize) -> Self {
                // A group with more members than the type counts has a mean of 0 for each sum that the type holds.
                <$type>::try_from(members).map_or(0, |members| self / members)
            }
        }
    )*};
}
integers! { u8 u16 u32 u64 i8 i16 i32 i64 }

/// Implements the functions of real numbers. A NaN of either side stays, as in NumPy.
macro_rules! numbers {
    ($($type:ty as $wide:ty: $from:expr, $to:expr;)*) => {$(
        impl Element for $type {
            fn plus(self, other: Self) -> Self {
                $to($from(self) + $from(other))
            }
            fn times(self, other: Self) -> Self {
                $to($from(self) * $from(other))
            }
            fn greater(self, other: Self) -> Self {
                if self.is_nan() || self > other { self } else { other }
            }
            fn lesser(self, other: Self) -> Self {
                if self.is_nan() || self < other { self } else { other }
            }
            fn divided(self, members: usize) -> Self {
                $to($from(self) / members as $wide)
            }
        }
    )*};
}
numbers! {
    f32 as f32: f32::from, f32::from;
    f64 as f64: f64::from, f64::from;
    f16 as f32: f16::to_f32, f16::from_f32;
    bf16 as f32: bf16::to_f32, bf16::from_f32;
}

macro_rules! complex_numbers {
    ($($type:ty)*) => {$(
        impl Element for [$type; 2] {
            const IS_ORDERED: bool = false;
            fn plus(self, other: Self) -> Self {
                [self[0] + other[0], self[1] + other[1]]
            }
            fn times(self, other: Self) -> Self {
                let ([a, b], [c, d]) = (self, other);
                [a * c - b * d, a * d + b * c]
            }
            fn greater(self, _: Self) -> Self {
                self
            }
            fn lesser(self, _: Self) -> Self {
                self
            }
            fn divided(self, members: usize) -> Self {
                self.map(|part| part / members as $type)
            }
        }
    )*};
}
complex_numbers! { f32 f64 }

/// A truth value. A sum is true if one is, a product if all are.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Truth(u8);

impl Element for Truth {
    fn plus(self, other: Self) -> Self {
        self.greater(other)
    }
    fn times(self, other: Self) -> Self {
        self.lesser(other)
    }
    fn greater(self, other: Self) -> Self {
        Self(u8::from(self.0 != 0 || other.0 != 0))
    }
    fn lesser(self, other: Self) -> Self {
        Self(u8::from(self.0 != 0 && other.0 != 0))
    }
    fn divided(self, _: usize) -> Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Combines the elements of two members.
    fn reduce<T: Copy>(data_type: DataType, op: ReduceOp, mut a: Vec<T>, b: &[T]) -> Vec<T> {
        let reduction = Reduction::of(data_type, op).unwrap();
        let place = a.as_mut_ptr().cast::<c_void>();
        // SAFETY: both buffers have as many elements of the type.
        unsafe {
            (reduction.combine)(place, place, b.as_ptr().cast(), b.len());
            if let Some(divide) = reduction.divide {
                divide(place, b.len(), 2);
            }
        }
        a
    }

    #[test]
    fn integers_wrap_and_means_are_rounded_towards_zero() {
        assert_eq!(reduce(DataType::INT8, ReduceOp::SUM, vec![100_i8, -7], &[100, 2]), [-56, -5]);
        assert_eq!(reduce(DataType::INT8, ReduceOp::AVG, vec![4_i8, -7], &[3, 2]), [3, -2]);
        assert_eq!(reduce(DataType::UINT64, ReduceOp::PRODUCT, vec![u64::MAX], &[2]), [u64::MAX - 1]);
        assert_eq!(reduce(DataType::INT16, ReduceOp::MIN, vec![4_i16, -7], &[3, 2]), [3, -7]);
        assert_eq!(reduce(DataType::UINT32, ReduceOp::MAX, vec![4_u32, 7], &[3, u32::MAX]), [4, u32::MAX]);
    }

    #[test]
    fn numbers_keep_a_nan_of_either_side() {
        for op in [ReduceOp::MAX, ReduceOp::MIN, ReduceOp::SUM, ReduceOp::PRODUCT, ReduceOp::AVG] {
            let result = reduce(DataType::FLOAT32, op, vec![f32::NAN, 1.0], &[1.0, f32::NAN]);
            assert!(result.iter().all(|result| result.is_nan()), "{op:?}");
        }
        let half = |value| f16::from_f32(value);
        let sum = reduce(DataType::FLOAT16, ReduceOp::SUM, vec![half(2048.0)], &[half(1.0)]);
        assert_eq!(sum, [half(2048.0)], "rounded to the nearest number of 16 bits");
        let mean =
            reduce(DataType::BFLOAT16, ReduceOp::AVG, vec![bf16::from_f32(3.0)], &[bf16::from_f32(4.0)]);
        assert_eq!(mean, [bf16::from_f32(3.5)]);
    }

    #[test]
    fn truth_values_and_complex_numbers() {
        let (a, b) = (vec![0_u8, 1, 0, 1], [0, 0, 1, 1]);
        assert_eq!(reduce(DataType::BOOL, ReduceOp::SUM, a.clone(), &b), [0, 1, 1, 1]);
        assert_eq!(reduce(DataType::BOOL, ReduceOp::MAX, a.clone(), &b), [0, 1, 1, 1]);
        assert_eq!(reduce(DataType::BOOL, ReduceOp::PRODUCT, a.clone(), &b), [0, 0, 0, 1]);
        assert_eq!(reduce(DataType::BOOL, ReduceOp::MIN, a, &b), [0, 0, 0, 1]);
        let (x, y) = ([1.0_f32, 2.0], [3.0, -1.0]);
        assert_eq!(reduce(DataType::COMPLEX64, ReduceOp::SUM, vec![x], &[y]), [[4.0, 1.0]]);
        assert_eq!(reduce(DataType::COMPLEX64, ReduceOp::PRODUCT, vec![x], &[y]), [[5.0, 5.0]]);
        assert_eq!(reduce(DataType::COMPLEX64, ReduceOp::AVG, vec![x], &[y]), [[2.0, 0.5]]);
        assert!(Reduction::of(DataType::COMPLEX128, ReduceOp::MAX).is_err());
        assert!(Reduction::of(DataType::UNDEFINED, ReduceOp::SUM).is_err());
    }
}
