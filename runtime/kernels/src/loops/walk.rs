//! Walks over the elements of a shape, in several memory regions at once.

use smallvec::SmallVec;

/// A run along the innermost dimension, in `N` memory regions at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<const N: usize> {
    pub(crate) len: usize,
    pub(crate) strides: [isize; N],
}

impl<const N: usize> Row<N> {
    /// Calls `visit` with the position of each element in each memory region.
    #[inline]
    pub(crate) fn each(self, starts: [usize; N], mut visit: impl FnMut([usize; N])) {
        let mut at = starts;
        for _ in 0..self.len {
            visit(at);
            (0..N).for_each(|n| at[n] = at[n].wrapping_add_signed(self.strides[n]));
        }
    }
}

/// A dimension that encloses the rows.
#[derive(Clone, Debug)]
struct Dimension<const N: usize> {
    len: usize,
    strides: [isize; N],
    index: usize,
}

/// A walk over a shape in row-major order, in `N` memory regions at once.
#[derive(Clone, Debug)]
pub(crate) struct Walk<const N: usize> {
    /// The start of the current row in each memory region.
    starts: [usize; N],
    outer: SmallVec<[Dimension<N>; 4]>,
    row: Row<N>,
    /// The number of visited elements of the current row.
    done: usize,
}

impl<const N: usize> Walk<N> {
    /// Creates a walk over a shape without zeros, from a start position in each memory region. Merges
    /// dimensions that are contiguous in every region.
    pub(crate) fn new(dims: &[usize], strides: [&[isize]; N], starts: [usize; N]) -> Self {
        let mut merged: SmallVec<[Dimension<N>; 4]> = SmallVec::new();
        for (position, &len) in dims.iter().enumerate() {
            if len == 1 {
                continue;
            }
            let strides = strides.map(|strides| strides[position]);
            match merged.last_mut() {
                Some(outer)
                    if (0..N).all(|n| strides[n].checked_mul(len as isize) == Some(outer.strides[n])) =>
                {
                    outer.len *= len;
                    outer.strides = strides;
                }
                _ => merged.push(Dimension { len, strides, index: 0 }),
            }
        }
        let row = match merged.pop() {
            Some(Dimension { len, strides, .. }) => Row { len, strides },
            None => Row { len: 1, strides: [1; N] },
        };
        Self { starts, outer: merged, row, done: 0 }
    }

    /// Calls `visit` with every row and its start in each memory region.
    pub(crate) fn rows(mut self, visit: impl FnMut([usize; N], Row<N>)) {
        let total = self.outer.iter().map(|dimension| dimension.len).product::<usize>() * self.row.len;
        self.advance(total, visit);
    }

    /// Visits the next `count` elements: calls `visit` with each row or part of a row, and its start.
    pub(crate) fn advance(&mut self, mut count: usize, mut visit: impl FnMut([usize; N], Row<N>)) {
        while count > 0 {
            let Row { len, strides } = self.row;
            let part = count.min(len - self.done);
            let skip = |n: usize| self.starts[n].wrapping_add_signed(strides[n] * self.done as isize);
            visit(std::array::from_fn(skip), Row { len: part, strides });
            count -= part;
            self.done += part;
            if self.done == len {
                self.done = 0;
                self.next_row();
            }
        }
    }

    /// Moves to the next row: increments the last index that is not at its end, and resets the indices after it.
    fn next_row(&mut self) {
        for Dimension { len, strides, index } in self.outer.iter_mut().rev() {
            *index += 1;
            let at_end = index == len;
            let steps = if at_end { 1 - *len as isize } else { 1 };
            (0..N).for_each(|n| self.starts[n] = self.starts[n].wrapping_add_signed(strides[n] * steps));
            if !at_end {
                return;
            }
            *index = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advance_in_any_steps_visits_the_same_positions() {
        let (dims, strides) = ([2, 3, 4], [&[12, 4, 1][..], &[1, -8, 2], &[0, 0, 0]]);
        let walk = || Walk::new(&dims, strides, [0, 16, 5]);
        let mut wanted = Vec::new();
        for (a, b, c) in (0..2).flat_map(|a| (0..3).flat_map(move |b| (0..4).map(move |c| (a, b, c)))) {
            wanted.push([a * 12 + b * 4 + c, 16 + a - b * 8 + c * 2, 5]);
        }
        let mut rows = Vec::new();
        walk().rows(|starts, row| row.each(starts, |at| rows.push(at)));
        assert_eq!(rows, wanted);
        for step in 1..25 {
            let (mut walk, mut visited) = (walk(), Vec::new());
            while visited.len() < 24 {
                let count = step.min(24 - visited.len());
                walk.advance(count, |starts, row| row.each(starts, |at| visited.push(at)));
            }
            assert_eq!(visited, wanted, "steps of {step}");
        }
    }

    #[test]
    fn contiguous_dimensions_are_one_row() {
        for (strides, wanted) in [
            (&[12, 4, 1][..], &[24][..]),
            (&[24, 8, 2], &[24]),
            (&[0, 0, 0], &[24]),
            (&[-12, -4, -1], &[24]),
            (&[0, 4, 1], &[12, 12]),
            (&[4, 8, 1], &[4; 6]),
        ] {
            let mut lens = Vec::new();
            Walk::new(&[2, 3, 4], [strides], [23]).rows(|_, row| lens.push(row.len));
            assert_eq!(lens, wanted, "{strides:?}");
        }
    }
}
