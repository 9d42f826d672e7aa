//! Layouts in which several elements share an address.

use smallvec::SmallVec;

/// The largest number of elements that are compared one by one.
const MAX_COMPARED: usize = 1 << 20;

/// The distance between neighbours along a dimension, and the number of steps along it.
type Step = (usize, usize);

/// Returns true if several elements of a layout share an address.
///
/// Layouts of three or more interleaved dimensions with more than [`MAX_COMPARED`] elements are not compared, and
/// count as shared.
pub(super) fn shares_elements(dims: &[usize], strides: &[isize]) -> bool {
    if dims.contains(&0) {
        return false;
    }
    let mut steps: SmallVec<[Step; 6]> = (strides.iter().zip(dims))
        .filter(|&(_, &dim)| dim > 1)
        .map(|(&stride, &dim)| (stride.unsigned_abs(), dim - 1))
        .collect();
    steps.sort_unstable();
    // A stride that is larger than the extent of all smaller ones keeps its elements apart.
    let reach = |steps: &[Step]| steps.iter().map(|&(stride, count)| stride * count).sum::<usize>();
    while let Some((&(stride, _), smaller)) = steps.split_last() {
        if stride <= reach(smaller) {
            break;
        }
        steps.pop();
    }
    match *steps {
        [] => false,
        // The first common multiple of both strides is reached along both dimensions, or along neither.
        [(small, small_count), (large, large_count)] if small > 0 => {
            let divisor = greatest_common_divisor(small, large);
            large / divisor <= small_count && small / divisor <= large_count
        }
        [(0, _), ..] => true,
        _ => compared(&steps, reach(&steps)),
    }
}

/// Compares the offsets of all elements, which are at most `reach`.
fn compared(steps: &[Step], reach: usize) -> bool {
    let len = steps.iter().try_fold(1_usize, |len, &(_, count)| len.checked_mul(count + 1));
    let Some(len) = len.filter(|&len| len <= MAX_COMPARED && len <= reach + 1) else { return true };
    let mut offsets = Vec::with_capacity(len);
    offsets.push(0);
    for &(stride, count) in steps {
        let before = offsets.len();
        for step in 1..=count {
            offsets.extend_from_within(..before);
            offsets.iter_mut().skip(step * before).for_each(|offset| *offset += step * stride);
        }
    }
    offsets.sort_unstable();
    offsets.windows(2).any(|pair| pair[0] == pair[1])
}

fn greatest_common_divisor(mut a: usize, mut b: usize) -> usize {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Enumerates the offsets.
    fn expected(dims: &[usize], strides: &[isize]) -> bool {
        let mut offsets = vec![0_isize];
        for (&dim, &stride) in dims.iter().zip(strides) {
            offsets = (offsets.iter())
                .flat_map(|&offset| (0..dim).map(move |index| offset + index as isize * stride))
                .collect();
        }
        let len = offsets.len();
        offsets.sort_unstable();
        offsets.dedup();
        offsets.len() < len
    }

    #[test]
    fn layouts_of_three_dimensions_agree_with_their_offsets() {
        let mut shared = 0;
        for dims in [[1, 2, 3], [2, 2, 2], [3, 1, 4], [2, 3, 4], [0, 2, 2], [5, 4, 1]] {
            for first in -7..=7 {
                for second in -7..=7 {
                    for third in [-12, -5, -1, 0, 1, 2, 3, 6, 20] {
                        let strides = [first, second, third];
                        let actual = shares_elements(&dims, &strides);
                        assert_eq!(actual, expected(&dims, &strides), "{dims:?} {strides:?}");
                        shared += usize::from(actual);
                    }
                }
            }
        }
        assert!(shared > 100);
    }

    #[test]
    fn large_layouts_are_decided_without_comparing_elements() {
        assert!(shares_elements(&[1 << 30, 1 << 30], &[1, 1]));
        assert!(!shares_elements(&[1 << 30, 1 << 30], &[1 << 30, 1]));
        assert!(!shares_elements(&[1 << 30, 2], &[2, 1]));
        assert!(shares_elements(&[1 << 15, 1 << 15, 1 << 15], &[1, 2, 3]));
    }
}
