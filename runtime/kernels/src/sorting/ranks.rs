//! Ranks: elements and their indices, packed into integers that sort like the elements.
//!
//! The index is the lower part. Therefore all integers of a row differ, and equal elements are in the order
//! of their indices.

use std::num::Wrapping;

use crate::error::{Error, Result};
use crate::loops::convert::Compute;
use crate::loops::slices::Slot;

/// An element of a row that can be sorted.
pub(super) trait Ranked: Compute + Slot {
    /// The element's rank and its index.
    type Rank: Copy + Default + Ord;
    /// The number of bytes of the element's part of the rank.
    const BYTES: usize;

    /// Combines the rank of an element, optionally in descending order, with its index.
    fn rank(self, descending: bool, index: u32) -> Self::Rank;
    /// Returns the index.
    fn index(rank: Self::Rank) -> usize;
    /// Returns true if the elements are equal, regardless of their indices.
    fn is_equal(left: Self::Rank, right: Self::Rank) -> bool;
    /// Returns a byte of the element's part of the rank, the lowest first.
    fn byte(rank: Self::Rank, number: usize) -> u8;
}

macro_rules! ranked {
    ($($element:ty: $bits:ty, $rank:ty, |$value:ident| $ordered:expr;)*) => {$(
        impl Ranked for $element {
            type Rank = $rank;
            const BYTES: usize = size_of::<$bits>();

            #[inline]
            fn rank(self, descending: bool, index: u32) -> $rank {
                let $value = self;
                let ordered: $bits = $ordered;
                <$rank>::from(if descending { !ordered } else { ordered }) << u32::BITS | <$rank>::from(index)
            }

            #[inline]
            fn index(rank: $rank) -> usize {
                rank as u32 as usize
            }

            #[inline]
            fn is_equal(left: $rank, right: $rank) -> bool {
                left >> u32::BITS == right >> u32::BITS
            }

            #[inline]
            fn byte(rank: $rank, number: usize) -> u8 {
                (rank >> (u32::BITS as usize + 8 * number)) as u8
            }
        }
    )*};
}
ranked! {
    f32: u32, u64, |value| if value.is_nan() {
        u32::MAX
    } else {
        // Both zeros are equal.
        let bits = (value + 0.0).to_bits();
        bits ^ ((bits.cast_signed() >> 31).cast_unsigned() | 1 << 31)
    };
    f64: u64, u128, |value| if value.is_nan() {
        u64::MAX
    } else {
        let bits = (value + 0.0).to_bits();
        bits ^ ((bits.cast_signed() >> 63).cast_unsigned() | 1 << 63)
    };
    Wrapping<i64>: u64, u128, |value| value.0.cast_unsigned() ^ 1 << 63;
}

/// Computes the ranks of a row of elements.
///
/// # Errors
/// [`Error::Overflow`] if the row is too long for the indices.
pub(super) fn ranks<T: Ranked>(
    row: impl ExactSizeIterator<Item = T>,
    descending: bool,
    ranks: &mut Vec<T::Rank>,
) -> Result<()> {
    let len = u32::try_from(row.len()).map_err(|_| Error::Overflow)?;
    ranks.clear();
    ranks.extend(row.zip(0..len).map(|(value, index)| value.rank(descending, index)));
    Ok(())
}

/// The length from which rows are sorted by radix sort. Shorter rows are sorted by comparison.
const LONG: usize = 2048;

/// Sorts the ranks of a row. The second list is scratch memory.
pub(super) fn sort<T: Ranked>(ranks: &mut Vec<T::Rank>, other: &mut Vec<T::Rank>) {
    if ranks.len() < LONG {
        ranks.sort_unstable();
        return;
    }
    // The row is in the order of the indices, and each pass is stable.
    let mut counts = vec![[0_u32; 256]; T::BYTES];
    for &rank in &*ranks {
        for (number, counts) in counts.iter_mut().enumerate() {
            counts[usize::from(T::byte(rank, number))] += 1;
        }
    }
    other.resize(ranks.len(), T::Rank::default());
    for (number, counts) in counts.iter().enumerate() {
        if counts.iter().any(|&count| count as usize == ranks.len()) {
            continue;
        }
        let (mut places, mut before) = ([0; 256], 0);
        for (place, &count) in places.iter_mut().zip(counts) {
            *place = before;
            before += count as usize;
        }
        for &rank in &*ranks {
            let place = &mut places[usize::from(T::byte(rank, number))];
            other[*place] = rank;
            *place += 1;
        }
        std::mem::swap(ranks, other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sorts a row by radix sort, and a copy of it by comparison.
    fn check<T: Ranked>(row: &[T]) {
        for descending in [false, true] {
            let (mut by_digits, mut other) = (vec![], vec![]);
            ranks(row.iter().copied(), descending, &mut by_digits).unwrap();
            let mut compared: Vec<usize> = (0..row.len()).collect();
            compared.sort_by(|&a, &b| {
                let order = crate::sorting::compare(row[a], row[b]);
                if descending { order.reverse() } else { order }
            });
            sort::<T>(&mut by_digits, &mut other);
            let found: Vec<usize> = by_digits.into_iter().map(T::index).collect();
            assert_eq!(found, compared, "descending: {descending}");
        }
    }

    #[test]
    fn rows_of_any_length_are_sorted() {
        let special =
            [0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-300, -1e-40, f64::MAX];
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 11
        };
        for len in [0, 1, 2, 100, LONG - 1, LONG, 3 * LONG + 1] {
            let numbers: Vec<f64> = (0..len)
                .map(|_| match random() {
                    n if n % 8 == 0 => special[(n / 8) as usize % special.len()],
                    n if n % 8 == 1 => (n % 5) as f64 - 2.0,
                    n => f64::from_bits(n << 11 | n),
                })
                .collect();
            check(&numbers);
            check(&numbers.iter().map(|&number| number as f32).collect::<Vec<_>>());
            check(
                &numbers.iter().map(|&number| Wrapping(number.to_bits().cast_signed())).collect::<Vec<_>>(),
            );
            check(&numbers.iter().map(|&number| Wrapping(number as i64 % 1000)).collect::<Vec<_>>());
        }
    }
}
