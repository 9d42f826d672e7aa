//! Unbounded sequences of random numbers, for elements that need a variable number of them.

use std::f64::consts::TAU;

use super::philox::{Numbers, fraction};

/// The random numbers of one element.
pub(super) struct Sequence {
    numbers: Numbers,
    element: usize,
    used: u64,
    pair: [u64; 2],
}

impl Sequence {
    /// Creates the sequence of an element: blocks with the counter of the element, numbered by the third and
    /// fourth words.
    pub(super) fn new(numbers: Numbers, element: usize) -> Self {
        Self { numbers, element, used: 0, pair: [0; 2] }
    }

    /// Draws a number from 0 (inclusive) to 1 (exclusive).
    pub(super) fn fraction(&mut self) -> f64 {
        let second = self.used % 2 == 1;
        if !second {
            self.pair = self.numbers.pair_of(self.element, self.used / 2);
        }
        self.used += 1;
        fraction(self.pair[usize::from(second)], 53)
    }

    /// Draws a number from 0 (exclusive) to 1 (inclusive).
    pub(super) fn positive(&mut self) -> f64 {
        1.0 - self.fraction()
    }

    /// Draws from the standard normal distribution by the Box–Muller method.
    pub(super) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.positive().ln()).sqrt();
        radius * (TAU * self.fraction()).cos()
    }
}
