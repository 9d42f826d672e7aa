//! The cells of recurrent networks: one step of one hidden unit, and its gradient.

use crate::elements::float::Float;
use crate::error::{Error, Result};

/// A kind of cell. `x` stands for `W_ih x + b_ih`, and `h` for `W_hh h + b_hh`, each with a part for each gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    /// Input, forget, candidate and output gate: `c' = f c + i g`, `h' = o tanh(c')`.
    Lstm,
    /// Reset gate, update gate and candidate: `n = tanh(x + r h)`, `h' = z h + (1 - z) n`.
    Gru,
    /// `h' = tanh(x + h)`.
    Tanh,
    /// `h' = max(x + h, 0)`.
    Relu,
}

/// The maximum number of gates of a cell.
pub(super) const GATES: usize = 4;

/// The values of a step that its gradient needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<T> {
    pub(super) gates: [T; GATES],
    pub(super) h: T,
    pub(super) c: T,
}

/// The gradient of a step, with respect to its inputs.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepGradient<T> {
    pub(super) x: [T; GATES],
    pub(super) h: [T; GATES],
    /// With respect to the previous state, except for the contribution through `h`.
    pub(super) state: T,
    pub(super) c: T,
}

impl Cell {
    pub(super) fn new(mode: &str) -> Result<Self> {
        match mode {
            "LSTM" => Ok(Self::Lstm),
            "GRU" => Ok(Self::Gru),
            "RNN_TANH" => Ok(Self::Tanh),
            "RNN_RELU" => Ok(Self::Relu),
            _ => Err(Error::Attribute { name: "mode", value: mode.to_owned() }),
        }
    }

    pub(super) fn gates(self) -> usize {
        match self {
            Self::Lstm => 4,
            Self::Gru => 3,
            Self::Tanh | Self::Relu => 1,
        }
    }

    /// Returns the number of tensors in the cell's state.
    pub(super) fn states(self) -> usize {
        if self == Self::Lstm { 2 } else { 1 }
    }

    /// Computes [`step`](Self::step) from values in one array: the parts from `x` and `h`, the state and the
    /// memory. Returns the gates, the state and the memory.
    #[inline(always)]
    pub(super) fn step_of<T: Float>(self, values: [T; 2 * GATES + 2]) -> [T; GATES + 2] {
        let [x0, x1, x2, x3, h0, h1, h2, h3, state, c] = values;
        let Step { gates: [g0, g1, g2, g3], h, c } = self.step([x0, x1, x2, x3], [h0, h1, h2, h3], state, c);
        [g0, g1, g2, g3, h, c]
    }

    /// Computes [`gradient`](Self::gradient) from values in one array.
    ///
    /// These are the gates, the memory after the step, the state and the memory before the step, the two
    /// parts of the gradient of the state, and the gradient of the memory.
    #[inline(always)]
    pub(super) fn gradient_of<T: Float>(self, values: [T; GATES + 6]) -> [T; 2 * GATES + 2] {
        let [g0, g1, g2, g3, c_after, state, c, dh_next, dh_out, dc] = values;
        let step = Step { gates: [g0, g1, g2, g3], h: T::ZERO, c: c_after };
        let StepGradient { x: [x0, x1, x2, x3], h: [h0, h1, h2, h3], state, c } =
            self.gradient(step, state, c, dh_next + dh_out, dc);
        [x0, x1, x2, x3, h0, h1, h2, h3, state, c]
    }

    /// Computes a step from the state and the cell's memory before it.
    #[inline(always)]
    pub(super) fn step<T: Float>(self, x: [T; GATES], h: [T; GATES], state: T, c: T) -> Step<T> {
        match self {
            Self::Lstm => {
                let (i, f, o) = ((x[0] + h[0]).sigmoid(), (x[1] + h[1]).sigmoid(), (x[3] + h[3]).sigmoid());
                let g = (x[2] + h[2]).tanh();
                let c = f * c + i * g;
                Step { gates: [i, f, g, o], h: o * c.tanh(), c }
            }
            Self::Gru => {
                let (r, z) = ((x[0] + h[0]).sigmoid(), (x[1] + h[1]).sigmoid());
                let n = (x[2] + r * h[2]).tanh();
                Step { gates: [r, z, n, h[2]], h: z * state + (T::ONE - z) * n, c }
            }
            Self::Tanh | Self::Relu => {
                let sum = x[0] + h[0];
                let value = if self == Self::Tanh { sum.tanh() } else { sum.max(T::ZERO) };
                Step { gates: [value, T::ZERO, T::ZERO, T::ZERO], h: value, c }
            }
        }
    }

    /// Computes the gradient of a step from the gradients of its state `dh` and its memory `dc`; `state` and
    /// `c` are the values before the step.
    #[inline(always)]
    pub(super) fn gradient<T: Float>(self, step: Step<T>, state: T, c: T, dh: T, dc: T) -> StepGradient<T> {
        let (zero, one) = (T::ZERO, T::ONE);
        let sigmoid = |y: T| y * (one - y);
        let tanh = |y: T| one - y * y;
        match (self, step.gates) {
            (Self::Lstm, [i, f, g, o]) => {
                let memory = step.c.tanh();
                let dc = dc + dh * o * tanh(memory);
                let x =
                    [dc * g * sigmoid(i), dc * c * sigmoid(f), dc * i * tanh(g), dh * memory * sigmoid(o)];
                StepGradient { x, h: x, state: zero, c: dc * f }
            }
            (Self::Gru, [r, z, n, h]) => {
                let dn = dh * (one - z) * tanh(n);
                let (dr, dz) = (dn * h * sigmoid(r), dh * (state - n) * sigmoid(z));
                StepGradient { x: [dr, dz, dn, zero], h: [dr, dz, dn * r, zero], state: dh * z, c: zero }
            }
            (Self::Tanh | Self::Relu, [value, ..]) => {
                let slope = match self {
                    Self::Tanh => tanh(value),
                    _ => T::of_truth(value > zero),
                };
                let x = [dh * slope, zero, zero, zero];
                StepGradient { x, h: x, state: zero, c: zero }
            }
        }
    }
}
