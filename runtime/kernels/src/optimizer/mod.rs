//! Steps of optimizers: parameters and their state are changed in place.
//!
//! Settings are doubles, and become numbers of the precision that the step is done in.

mod adam;
mod momentum;
mod rmsprop;
mod sgd;

pub use adam::{Adam, AdamState, Powers};
pub use momentum::{Decay, Momentum};
pub use rmsprop::{Rmsprop, RmspropState};
pub use sgd::Sgd;

use crate::element::{Real, Stored};
use crate::error::{Result, expect_length};

/// A parameter of storage type `P` that is changed in numbers of type `M`.
#[derive(Debug)]
pub enum Precision<'a, P, M> {
    /// The parameter is all there is.
    Single(&'a mut [P]),
    /// The parameter is a copy, of less precision, of a master that is kept beside it.
    Mixed {
        /// The parameters that the network uses.
        parameter: &'a mut [P],
        /// The master parameters, in which the steps accumulate.
        master: &'a mut [M],
    },
}

impl<P: Stored<M>, M: Real> Precision<'_, P, M> {
    /// Returns the number of elements that the parameter has.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Single(parameter) | Self::Mixed { parameter, .. } => parameter.len(),
        }
    }

    /// Returns true if the parameter has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn check(&self) -> Result<()> {
        match self {
            Self::Single(_) => Ok(()),
            Self::Mixed { parameter, master } => expect_length("master", parameter.len(), master.len()),
        }
    }

    /// Makes each element what `step` makes of it and of the element of `with` beside it.
    fn update<W>(self, with: impl Iterator<Item = W>, step: impl Fn(M, W) -> M) {
        match self {
            Self::Single(parameter) => {
                for (element, with) in parameter.iter_mut().zip(with) {
                    *element = P::store(step(element.load(), with));
                }
            }
            Self::Mixed { parameter, master } => {
                for ((element, master), with) in parameter.iter_mut().zip(master).zip(with) {
                    *master = step(*master, with);
                    *element = P::store(*master);
                }
            }
        }
    }
}

#[cfg(test)]
mod testing {
    //! Numbers to step with.

    /// Some gradients, different for each seed.
    pub(super) fn numbers(count: usize, seed: usize) -> Vec<f64> {
        (0..count).map(|n| ((n * 29 + seed * 17) % 23) as f64 / 7.0 - 1.5).collect()
    }

    /// Compares with a tolerance for another order of rounding.
    #[track_caller]
    pub(super) fn assert_close(ours: &[f64], wanted: &[f64]) {
        assert_eq!(ours.len(), wanted.len());
        for (ours, wanted) in ours.iter().zip(wanted) {
            assert!((ours - wanted).abs() <= 1e-12 * (1.0 + wanted.abs()), "{ours} is not {wanted}");
        }
    }
}
