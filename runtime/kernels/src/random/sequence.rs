//! Endless sequences of random numbers, for elements that need an unknown number of them.

use std::f64::consts::TAU;

use super::philox::{Numbers, fraction};

/// The numbers of one element.
pub(super) struct Sequence {
    numbers: Numbers,
    element: usize,
    used: u64,
    pair: [u64; 2],
}

impl Sequence {
    /// Creates the sequence of an element: the blocks with the counter of the element, which the third and the fourth
    /// word count.
    pub(super) fn new(numbers: Numbers, element: usize) -> Self {
        Self { numbers, element, used: 0, pair: [0; 2] }
    }

    /// Draws a number from 0 to 1, without 1.
    pub(super) fn fraction(&mut self) -> f64 {
        let second = self.used % 2 == 1;
        if !second {
            self.pair = self.numbers.pair_of(self.element, self.used / 2);
        }
        self.used += 1;
        fraction(self.pair[usize::from(second)], 53)
    }

    /// Draws a number from 0 to 1, without 0.
    pub(super) fn positive(&mut self) -> f64 {
        1.0 - self.fraction()
    }

    /// Draws a number of the standard normal distribution, by the method of Box and Muller.
    pub(super) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.positive().ln()).sqrt();
        radius * (TAU * self.fraction()).cos()
    }
}
