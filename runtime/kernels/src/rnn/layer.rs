//! One direction of one layer: all steps, and their gradients.

use crate::float::Float;
use crate::product::{Matrix, MatrixMut};
use crate::rnn::cell::{Cell, GATES, Step};

/// The sizes of a layer, and the order of its steps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layer<'a> {
    pub(super) cell: Cell,
    pub(super) time: usize,
    pub(super) batch: usize,
    pub(super) input: usize,
    pub(super) hidden: usize,
    pub(super) backwards: bool,
    /// The number of steps of each sample; all if absent. Later steps have no effect, and their output is zero.
    pub(super) lengths: Option<&'a [usize]>,
}

/// `W_ih`, `W_hh`, `b_ih` and `b_hh`. Each row belongs to a unit of a gate.
pub(super) type Weights<T> = [Vec<T>; 4];

/// The values of the steps that the gradient needs.
#[derive(Debug)]
pub(super) struct Trace<T> {
    /// For each step, sample and unit.
    steps: Vec<Step<T>>,
    /// The states before each step.
    before: Vec<T>,
    memory_before: Vec<T>,
}

impl Layer<'_> {
    fn rows(&self) -> usize {
        self.time * self.batch
    }

    /// The number of units of all gates.
    fn wide(&self) -> usize {
        self.cell.gates() * self.hidden
    }

    fn order(&self) -> impl DoubleEndedIterator<Item = usize> + use<> {
        let (time, backwards) = (self.time, self.backwards);
        (0..time).map(move |step| if backwards { time - 1 - step } else { step })
    }

    fn is_active(&self, time: usize, sample: usize) -> bool {
        self.lengths.is_none_or(|lengths| time < lengths[sample])
    }

    /// Computes `x W^T + b` for some rows.
    fn project<T: Float>(&self, x: &[T], width: usize, weight: &[T], bias: &[T]) -> Vec<T> {
        let rows = x.len() / width.max(1);
        let mut out = bias.repeat(rows);
        let weight = Matrix::new(weight, self.wide(), width).transposed();
        T::multiply(MatrixMut::new(&mut out, rows, self.wide()), Matrix::new(x, rows, width), weight, true);
        out
    }

    /// The part of each gate, of a unit in a row.
    fn gates<T: Float>(&self, values: &[T], row: usize, unit: usize) -> [T; GATES] {
        let row = &values[row * self.wide()..][..self.wide()];
        std::array::from_fn(|gate| row.get(gate * self.hidden + unit).copied().unwrap_or(T::ZERO))
    }

    /// Computes the outputs, and changes the state and the memory of each sample to the last ones.
    pub(super) fn forward<T: Float>(
        &self,
        x: &[T],
        weights: &Weights<T>,
        state: &mut [T],
        memory: &mut [T],
    ) -> (Vec<T>, Trace<T>) {
        let (batch, hidden) = (self.batch, self.hidden);
        let step_len = batch * hidden;
        let zero = Step { gates: [T::ZERO; GATES], h: T::ZERO, c: T::ZERO };
        let mut out = vec![T::ZERO; self.time * step_len];
        let [before, memory_before] = [0; 2].map(|_| out.clone());
        let mut trace = Trace { steps: vec![zero; out.len()], before, memory_before };
        let from_x = self.project(x, self.input, &weights[0], &weights[2]);
        for time in self.order() {
            let from_h = self.project(state, hidden, &weights[1], &weights[3]);
            let here = time * step_len..(time + 1) * step_len;
            trace.before[here.clone()].copy_from_slice(state);
            trace.memory_before[here.clone()].copy_from_slice(memory);
            for (number, place) in here.enumerate() {
                let (sample, unit) = (number / hidden, number % hidden);
                if !self.is_active(time, sample) {
                    continue;
                }
                let (x, h) =
                    (self.gates(&from_x, time * batch + sample, unit), self.gates(&from_h, sample, unit));
                let step = self.cell.step(x, h, state[number], memory[number]);
                (trace.steps[place], out[place]) = (step, step.h);
                (state[number], memory[number]) = (step.h, step.c);
            }
        }
        (out, trace)
    }

    /// The gradient of [`forward`](Self::forward) by `x` and the weights. `dstate` and `dmemory` are those of the last
    /// states, and become those of the first.
    pub(super) fn backward<T: Float>(
        &self,
        x: &[T],
        weights: &Weights<T>,
        trace: &Trace<T>,
        dout: &[T],
        dstate: &mut [T],
        dmemory: &mut [T],
    ) -> (Vec<T>, Weights<T>) {
        let (batch, hidden, wide) = (self.batch, self.hidden, self.wide());
        let [mut from_x, mut from_h] = [0; 2].map(|_| vec![T::ZERO; self.rows() * wide]);
        for time in self.order().rev() {
            for number in 0..batch * hidden {
                let (sample, unit) = (number / hidden, number % hidden);
                if !self.is_active(time, sample) {
                    continue;
                }
                let place = time * batch * hidden + number;
                let gradient = self.cell.gradient(
                    trace.steps[place],
                    trace.before[place],
                    trace.memory_before[place],
                    dstate[number] + dout[place],
                    dmemory[number],
                );
                (dstate[number], dmemory[number]) = (gradient.state, gradient.c);
                let row = (time * batch + sample) * wide + unit;
                for gate in 0..self.cell.gates() {
                    from_x[row + gate * hidden] = gradient.x[gate];
                    from_h[row + gate * hidden] = gradient.h[gate];
                }
            }
            // Rows of samples without this step are zero, so their states keep their gradients.
            let rows = Matrix::new(&from_h[time * batch * wide..], batch, wide);
            let weight = Matrix::new(&weights[1], wide, hidden);
            T::multiply(MatrixMut::new(dstate, batch, hidden), rows, weight, true);
        }
        let product = |gates: &[T], values: &[T], width: usize| {
            let mut out = vec![T::ZERO; wide * width];
            let gates = Matrix::new(gates, self.rows(), wide).transposed();
            let values = Matrix::new(values, self.rows(), width);
            T::multiply(MatrixMut::new(&mut out, wide, width), gates, values, false);
            out
        };
        let sums = |gates: &[T]| {
            let mut sums = vec![T::ZERO; wide];
            for row in gates.chunks_exact(wide.max(1)) {
                sums.iter_mut().zip(row).for_each(|(sum, &value)| *sum += value);
            }
            sums
        };
        let mut dx = vec![T::ZERO; self.rows() * self.input];
        let gates = Matrix::new(&from_x, self.rows(), wide);
        let weight = Matrix::new(&weights[0], wide, self.input);
        T::multiply(MatrixMut::new(&mut dx, self.rows(), self.input), gates, weight, false);
        let weights = [
            product(&from_x, x, self.input),
            product(&from_h, &trace.before, hidden),
            sums(&from_x),
            sums(&from_h),
        ];
        (dx, weights)
    }
}
