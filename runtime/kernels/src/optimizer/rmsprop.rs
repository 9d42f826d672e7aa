//! RMSProp.

use super::Precision;
use crate::element::{Real, Stored};
use crate::error::{Result, expect_length};

/// Gradient descent in steps that are measured by the root of the mean square of the gradients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rmsprop {
    /// The learning rate.
    pub learning_rate: f64,
    /// The decay rate of the means.
    pub decay: f64,
    /// The momentum coefficient.
    pub momentum: f64,
    /// Added to the divisor, so that it is not zero.
    pub epsilon: f64,
}

/// RMSProp's state of a parameter.
#[derive(Debug)]
pub struct RmspropState<'a, M> {
    /// The mean of the squares of the gradients.
    pub mean_square: &'a mut [M],
    /// The velocity.
    pub moment: &'a mut [M],
    /// The mean of the gradients. If it is given, its square is subtracted from the mean square.
    pub mean_gradient: Option<&'a mut [M]>,
}

impl Rmsprop {
    /// The means follow the gradient; `moment = momentum * moment + learning_rate * gradient / sqrt(mean_square -
    /// mean_gradient² + epsilon)`, and `parameter -= moment`.
    ///
    /// # Errors
    /// [`Error::Length`](crate::Error::Length).
    pub fn step<P: Stored<M>, M: Real, G: Stored<M>>(
        self,
        parameter: Precision<'_, P, M>,
        state: RmspropState<'_, M>,
        gradient: &[G],
    ) -> Result<()> {
        let len = parameter.len();
        let RmspropState { mean_square, moment, mean_gradient } = state;
        parameter.check()?;
        expect_length("mean_square", len, mean_square.len())?;
        expect_length("moment", len, moment.len())?;
        expect_length("gradient", len, gradient.len())?;
        let [rate, decay, momentum, epsilon] =
            [self.learning_rate, self.decay, self.momentum, self.epsilon].map(M::narrow);
        let rest = M::one() - decay;
        let state = mean_square.iter_mut().zip(moment).zip(gradient);
        match mean_gradient {
            None => parameter.update(state, |parameter, ((square, moment), gradient)| {
                let gradient = gradient.load();
                *square = decay * *square + rest * gradient * gradient;
                *moment = momentum * *moment + rate * gradient / (*square + epsilon).sqrt();
                parameter - *moment
            }),
            Some(mean) => {
                expect_length("mean_gradient", len, mean.len())?;
                parameter.update(state.zip(mean), |parameter, (((square, moment), gradient), mean)| {
                    let gradient = gradient.load();
                    *square = decay * *square + rest * gradient * gradient;
                    *mean = decay * *mean + rest * gradient;
                    let spread = *square - *mean * *mean + epsilon;
                    *moment = momentum * *moment + rate * gradient / spread.sqrt();
                    parameter - *moment
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, numbers};
    use super::*;

    #[test]
    fn steps_follow_the_formula() {
        for centred in [false, true] {
            let with = Rmsprop { learning_rate: 0.1, decay: 0.9, momentum: 0.5, epsilon: 1e-2 };
            let mut parameter = numbers(9, 1);
            let mut state = [(); 3].map(|()| vec![0.0; 9]);
            let (mut wanted, mut kept) = (parameter.clone(), state.clone());
            for seed in 2..6 {
                let gradient = numbers(9, seed);
                let [mean_square, moment, mean] = &mut state;
                let mean_gradient = centred.then_some(mean.as_mut_slice());
                let given = RmspropState { mean_square, moment, mean_gradient };
                with.step(Precision::Single(&mut parameter), given, &gradient).unwrap();
                for n in 0..9 {
                    kept[0][n] = 0.9 * kept[0][n] + 0.1 * gradient[n].powi(2);
                    kept[2][n] = if centred { 0.9 * kept[2][n] + 0.1 * gradient[n] } else { 0.0 };
                    let spread = kept[0][n] - kept[2][n].powi(2) + 1e-2;
                    kept[1][n] = 0.5 * kept[1][n] + 0.1 * gradient[n] / spread.sqrt();
                    wanted[n] -= kept[1][n];
                }
            }
            assert_close(&parameter, &wanted);
            (0..3).for_each(|n| assert_close(&state[n], &kept[n]));
        }
    }

    #[test]
    fn lengths_must_agree() {
        let with = Rmsprop { learning_rate: 0.1, decay: 0.9, momentum: 0.0, epsilon: 1e-6 };
        for (square, moment, mean) in [(1, 2, 2), (2, 1, 2), (2, 2, 1)] {
            let state = RmspropState {
                mean_square: &mut vec![0.0; square],
                moment: &mut vec![0.0; moment],
                mean_gradient: Some(&mut vec![0.0; mean]),
            };
            assert!(with.step(Precision::Single(&mut [1.0_f32; 2]), state, &[1.0_f32; 2]).is_err());
        }
    }
}
