//! The positions of the largest elements of windows.

use super::plan::Plan;
use crate::loops::simd::wide;
use crate::numeric::Numeric;

/// The number of windows that are compared at a time.
const BLOCK: usize = 64;

impl Plan {
    /// Calls `visit` with the number of each non-empty window of all images, and the position of the first of
    /// its largest elements.
    pub(super) fn each_largest<T: Numeric>(&self, x: &[T], mut visit: impl FnMut(usize, usize)) {
        let [zs, ys, xs] = &self.windows;
        let [_, height, width] = self.image;
        let longest = xs.iter().map(|x| x.end.saturating_sub(x.start)).max().unwrap_or(0);
        if x.is_empty() || longest == 0 {
            return;
        }
        // Windows of several images at a time, because a row of one image may have few.
        let images = (BLOCK / xs.len()).max(1);
        // Each window of a row: its image, its number, and where the first element of a row is.
        let row: Vec<_> = (0..images).flat_map(|image| (0..xs.len()).map(move |n| (image, n))).collect();
        // The positions in a row of the first element of each window, of the second, and so on. Shorter
        // windows repeat their last element.
        let offset = |(image, n): (usize, usize), element: usize| {
            image * self.image_len() + (xs[n].start + element).min(xs[n].end.max(1) - 1).min(width - 1)
        };
        let offsets: Vec<Vec<usize>> =
            (0..longest).map(|element| row.iter().map(|&window| offset(window, element)).collect()).collect();
        let [mut values, mut others] = [[T::of(0.0); BLOCK]; 2];
        // The start of each row of a window, with the positions of an element in it.
        let mut elements = Vec::new();
        for first in (0..self.images).step_by(images) {
            let count = images.min(self.images - first) * xs.len();
            let x = &x[first * self.image_len()..];
            for (line, (z, y)) in zs.iter().flat_map(|z| ys.iter().map(move |y| (z, y))).enumerate() {
                let rows =
                    (z.start..z.end).flat_map(|z| (y.start..y.end).map(move |y| (z * height + y) * width));
                elements.clear();
                elements.extend(rows.flat_map(|row| offsets.iter().map(move |offsets| (row, &offsets[..]))));
                for start in (0..count).step_by(BLOCK) {
                    let block = start..count.min(start + BLOCK);
                    let mut chosen = [0; BLOCK];
                    for (number, &(row, offsets)) in elements.iter().enumerate() {
                        let line = &x[row..];
                        others.iter_mut().zip(&offsets[block.clone()]).for_each(|(x, &at)| *x = line[at]);
                        if number == 0 {
                            values = others;
                        } else {
                            wide(
                                #[inline(always)]
                                || choose(&mut values, &others, &mut chosen, number as u32),
                            );
                        }
                    }
                    if elements.is_empty() {
                        continue;
                    }
                    for (index, &chosen) in block.zip(&chosen) {
                        let ((image, n), (row, offsets)) = (row[index], elements[chosen as usize]);
                        if xs[n].start < xs[n].end {
                            let number = (first + image) * self.window_count() + line * xs.len() + n;
                            visit(number, first * self.image_len() + row + offsets[index]);
                        }
                    }
                }
            }
        }
    }
}

/// Replaces each value by the larger of itself and another one, and notes the number of the other one.
#[inline(always)]
fn choose<T: Numeric>(values: &mut [T; BLOCK], others: &[T; BLOCK], chosen: &mut [u32; BLOCK], number: u32) {
    for n in 0..BLOCK {
        let (value, other) = (values[n], others[n]);
        let is_larger = (other > value) | (other.is_nan() & !value.is_nan());
        values[n] = if is_larger { other } else { value };
        chosen[n] = if is_larger { number } else { chosen[n] };
    }
}
