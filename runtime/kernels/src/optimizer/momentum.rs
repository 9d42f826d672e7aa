//! Gradient descent that keeps its velocity.

use super::Precision;
use crate::element::{Real, Stored};
use crate::error::{Result, expect_length};

/// What pulls parameters towards zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decay {
    /// Nothing.
    None,
    /// The squares of the parameters, weighted: their gradient is added to that of the loss.
    L2(f64),
}

/// Gradient descent with momentum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Momentum {
    /// The learning rate.
    pub learning_rate: f64,
    /// The momentum coefficient.
    pub momentum: f64,
    /// True to look ahead along the new velocity.
    pub nesterov: bool,
    /// What pulls parameters towards zero.
    pub decay: Decay,
    /// The factor of the gradients, applied first.
    pub rescale: f64,
}

impl Momentum {
    /// With `g = gradient * rescale + decay * parameter`: `velocity = velocity * momentum + g`, and
    /// `parameter -= learning_rate * velocity`, or, looking ahead, `learning_rate * (g + velocity *
    /// momentum)`.
    ///
    /// # Errors
    /// [`Error::Length`](crate::Error::Length).
    pub fn step<P: Stored<M>, M: Real, G: Stored<M>>(
        self,
        parameter: Precision<'_, P, M>,
        velocity: &mut [M],
        gradient: &[G],
    ) -> Result<()> {
        parameter.check()?;
        expect_length("velocity", parameter.len(), velocity.len())?;
        expect_length("gradient", parameter.len(), gradient.len())?;
        let [rate, momentum, rescale] = [self.learning_rate, self.momentum, self.rescale].map(M::narrow);
        let decay = M::narrow(match self.decay {
            Decay::None => 0.0,
            Decay::L2(weight) => weight,
        });
        let decays = self.decay != Decay::None;
        parameter.update(velocity.iter_mut().zip(gradient), |parameter, (velocity, gradient)| {
            let mut gradient = gradient.load() * rescale;
            // Zero times an infinite parameter would be NaN.
            if decays {
                gradient = gradient + decay * parameter;
            }
            *velocity = *velocity * momentum + gradient;
            let descent = if self.nesterov { gradient + *velocity * momentum } else { *velocity };
            parameter - rate * descent
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, numbers};
    use super::*;

    #[test]
    fn steps_follow_the_formula() {
        for nesterov in [false, true] {
            for decay in [Decay::None, Decay::L2(0.3)] {
                let with = Momentum { learning_rate: 0.1, momentum: 0.9, nesterov, decay, rescale: 0.5 };
                let (mut parameter, mut velocity) = (numbers(11, 1), numbers(11, 2));
                let (mut wanted, mut speed) = (parameter.clone(), velocity.clone());
                for seed in 3..6 {
                    let gradient = numbers(11, seed);
                    with.step(Precision::Single(&mut parameter), &mut velocity, &gradient).unwrap();
                    for n in 0..11 {
                        let pull = if decay == Decay::None { 0.0 } else { 0.3 * wanted[n] };
                        let g = gradient[n] * 0.5 + pull;
                        speed[n] = speed[n] * 0.9 + g;
                        wanted[n] -= 0.1 * if nesterov { g + speed[n] * 0.9 } else { speed[n] };
                    }
                }
                assert_close(&parameter, &wanted);
                assert_close(&velocity, &speed);
            }
        }
    }

    #[test]
    fn lengths_must_agree() {
        let with =
            Momentum { learning_rate: 0.1, momentum: 0.9, nesterov: false, decay: Decay::None, rescale: 1.0 };
        assert!(with.step(Precision::Single(&mut [1.0_f32; 2]), &mut [0.0; 3], &[1.0_f32; 2]).is_err());
        assert!(with.step(Precision::Single(&mut [1.0_f32; 2]), &mut [0.0; 2], &[1.0_f32]).is_err());
        let mut pair = ([half::bf16::ONE; 2], [1.0_f32]);
        let mixed = Precision::Mixed { parameter: &mut pair.0, master: &mut pair.1 };
        assert!(with.step(mixed, &mut [0.0; 2], &[1.0_f32; 2]).is_err());
    }
}
