//! Gradient descent.

use super::Precision;
use crate::element::{Real, Stored};
use crate::error::{Result, expect_length};

/// Gradient descent without memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sgd {
    /// The learning rate.
    pub learning_rate: f64,
}

impl Sgd {
    /// `parameter -= learning_rate * gradient`.
    ///
    /// # Errors
    /// [`Error::Length`](crate::Error::Length).
    pub fn step<P: Stored<M>, M: Real, G: Stored<M>>(
        self,
        parameter: Precision<'_, P, M>,
        gradient: &[G],
    ) -> Result<()> {
        parameter.check()?;
        expect_length("gradient", parameter.len(), gradient.len())?;
        let rate = M::narrow(self.learning_rate);
        parameter.update(gradient.iter(), |parameter, gradient| parameter - rate * gradient.load());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    #[test]
    fn a_step_goes_down_the_gradient() {
        let mut parameter = [1.0_f64, 2.0, 3.0];
        Sgd { learning_rate: 0.5 }.step(Precision::Single(&mut parameter), &[2.0, 0.0, -2.0]).unwrap();
        assert_eq!(parameter, [0.0, 2.0, 4.0]);
        let refused = Sgd { learning_rate: 0.5 }.step(Precision::Single(&mut parameter), &[2.0]);
        assert!(refused.is_err());
    }

    #[test]
    fn a_master_keeps_what_a_half_forgets() {
        let (mut parameter, mut master) = ([f16::ONE], [1.0_f32]);
        for _ in 0..1000 {
            let both = Precision::Mixed { parameter: &mut parameter, master: &mut master };
            Sgd { learning_rate: 1e-4 }.step(both, &[f16::ONE]).unwrap();
        }
        assert!((master[0] - 0.9).abs() < 1e-4, "{master:?}");
        assert_eq!(parameter[0], f16::from_f32(master[0]));
    }
}
