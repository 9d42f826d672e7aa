//! Adam, AdamW and AMSGrad.

use super::Precision;
use crate::element::{Real, Stored};
use crate::error::{Result, expect_length};

/// Adam, with the settings of one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adam {
    /// The learning rate.
    pub learning_rate: f64,
    /// The decay rate of the first moment.
    pub beta1: f64,
    /// The decay rate of the second moment.
    pub beta2: f64,
    /// Added to the divisor, so that it is not zero.
    pub epsilon: f64,
    /// AdamW: by how much, times the learning rate, parameters shrink before the step.
    pub decay: Option<f64>,
}

/// The betas to the power of the number of the step, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Powers<M> {
    /// Of `beta1`.
    pub beta1: M,
    /// Of `beta2`.
    pub beta2: M,
}

/// Adam's state of a parameter.
#[derive(Debug)]
pub struct AdamState<'a, M> {
    /// The mean of the gradients.
    pub moment1: &'a mut [M],
    /// The mean of their squares.
    pub moment2: &'a mut [M],
    /// AMSGrad: the largest second moment so far, which then stands in for it.
    pub moment2_max: Option<&'a mut [M]>,
}

impl Adam {
    /// The moments follow the gradient and its square; the parameter goes down by the first moment over the root
    /// of the second, both corrected for their start at zero.
    ///
    /// The correction is that of the paper, folded into learning rate and epsilon: `epsilon` is added to the
    /// corrected root.
    ///
    /// # Errors
    /// [`Error::Length`](crate::Error::Length).
    pub fn step<P: Stored<M>, M: Real, G: Stored<M>>(
        self,
        parameter: Precision<'_, P, M>,
        state: AdamState<'_, M>,
        powers: Powers<M>,
        gradient: &[G],
    ) -> Result<()> {
        let len = parameter.len();
        let AdamState { moment1, moment2, moment2_max } = state;
        parameter.check()?;
        expect_length("moment1", len, moment1.len())?;
        expect_length("moment2", len, moment2.len())?;
        expect_length("gradient", len, gradient.len())?;
        let one = M::one();
        let root = (one - powers.beta2).sqrt();
        let [rate, beta1, beta2, epsilon] =
            [self.learning_rate, self.beta1, self.beta2, self.epsilon].map(M::narrow);
        let pull = self.decay.map_or(M::zero(), |decay| rate * M::narrow(decay));
        let decays = self.decay.is_some();
        let (rate, epsilon) = (rate * (root / (one - powers.beta1)), epsilon * root);

        let advance = move |moment1: &mut M, moment2: &mut M, gradient: M| {
            *moment1 = beta1 * *moment1 + (one - beta1) * gradient;
            *moment2 = beta2 * *moment2 + (one - beta2) * gradient * gradient;
        };
        let descend = move |parameter: M, moment1: M, moment2: M| {
            // Zero times an infinite parameter would be NaN.
            let parameter = if decays { parameter - pull * parameter } else { parameter };
            parameter - rate * (moment1 / (moment2.sqrt() + epsilon))
        };
        let moments = moment1.iter_mut().zip(moment2).zip(gradient);
        match moment2_max {
            None => parameter.update(moments, |parameter, ((moment1, moment2), gradient)| {
                advance(moment1, moment2, gradient.load());
                descend(parameter, *moment1, *moment2)
            }),
            Some(largest) => {
                expect_length("moment2_max", len, largest.len())?;
                parameter.update(
                    moments.zip(largest),
                    |parameter, (((moment1, moment2), gradient), largest)| {
                        advance(moment1, moment2, gradient.load());
                        *largest = largest.max(*moment2);
                        descend(parameter, *moment1, *largest)
                    },
                );
            }
        }
        Ok(())
    }

    /// Makes the powers of the betas those of the next step.
    pub fn advance<M: Real>(self, beta1_power: &mut M, beta2_power: &mut M) {
        *beta1_power = *beta1_power * M::narrow(self.beta1);
        *beta2_power = *beta2_power * M::narrow(self.beta2);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, numbers};
    use super::*;

    /// Adam as its paper has it, with bias-corrected moments.
    struct Paper {
        parameter: Vec<f64>,
        moments: [Vec<f64>; 3],
    }

    impl Paper {
        fn step(&mut self, with: Adam, amsgrad: bool, number: i32, gradient: &[f64]) {
            let [moment1, moment2, largest] = &mut self.moments;
            for n in 0..gradient.len() {
                moment1[n] = with.beta1 * moment1[n] + (1.0 - with.beta1) * gradient[n];
                moment2[n] = with.beta2 * moment2[n] + (1.0 - with.beta2) * gradient[n].powi(2);
                largest[n] = moment2[n].max(largest[n]);
                let second = if amsgrad { largest[n] } else { moment2[n] };
                let first = moment1[n] / (1.0 - with.beta1.powi(number));
                let second = second / (1.0 - with.beta2.powi(number));
                let shrunk = self.parameter[n] * (1.0 - with.learning_rate * with.decay.unwrap_or(0.0));
                self.parameter[n] = shrunk - with.learning_rate * first / (second.sqrt() + with.epsilon);
            }
        }
    }

    #[test]
    fn steps_follow_the_paper() {
        for decay in [None, Some(0.2)] {
            for amsgrad in [false, true] {
                let with = Adam { learning_rate: 0.05, beta1: 0.9, beta2: 0.99, epsilon: 1e-3, decay };
                let mut parameter = numbers(13, 1);
                let mut moments = [(); 3].map(|()| vec![0.0; 13]);
                let mut paper = Paper { parameter: parameter.clone(), moments: moments.clone() };
                for number in 1..6 {
                    let gradient = numbers(13, number);
                    let [moment1, moment2, largest] = &mut moments;
                    let state = AdamState {
                        moment1,
                        moment2,
                        moment2_max: amsgrad.then_some(largest.as_mut_slice()),
                    };
                    let number = number as i32;
                    let powers = Powers { beta1: with.beta1.powi(number), beta2: with.beta2.powi(number) };
                    with.step(Precision::Single(&mut parameter), state, powers, &gradient).unwrap();
                    paper.step(with, amsgrad, number, &gradient);
                }
                assert_close(&parameter, &paper.parameter);
                assert_close(&moments[0], &paper.moments[0]);
                assert_close(&moments[1], &paper.moments[1]);
                if amsgrad {
                    assert_close(&moments[2], &paper.moments[2]);
                }
            }
        }
    }

    #[test]
    fn lengths_must_agree() {
        let with = Adam { learning_rate: 0.1, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, decay: None };
        let powers = Powers { beta1: 0.9_f32, beta2: 0.99 };
        for (first, second, largest, gradient) in [(2, 3, 3, 3), (3, 2, 3, 3), (3, 3, 2, 3), (3, 3, 3, 2)] {
            let mut parameter = [1.0_f32; 3];
            let state = AdamState {
                moment1: &mut vec![0.0; first],
                moment2: &mut vec![0.0; second],
                moment2_max: Some(&mut vec![0.0; largest]),
            };
            let gradient = vec![1.0_f32; gradient];
            assert!(with.step(Precision::Single(&mut parameter), state, powers, &gradient).is_err());
            assert_eq!(parameter, [1.0; 3]);
        }
    }
}
