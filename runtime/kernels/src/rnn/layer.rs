//! One direction of one layer: all steps, and their gradients.

use std::borrow::Cow;

use crate::elements::float::Float;
use crate::loops::tiles::in_blocks;
use crate::matmul::matrix::{Matrix, MatrixMut};
use crate::rnn::cell::{Cell, GATES};

/// The sizes of a layer, and the order of its steps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layer<'a> {
    pub(super) cell: Cell,
    pub(super) time: usize,
    pub(super) batch: usize,
    pub(super) input: usize,
    pub(super) hidden: usize,
    pub(super) backwards: bool,
    /// The number of steps of each sample; all steps if absent. Later steps have no effect, and their output
    /// is zero.
    pub(super) lengths: Option<&'a [usize]>,
}

/// `W_ih`, `W_hh`, `b_ih` and `b_hh`. Each row belongs to a unit of a gate.
pub(super) type Weights<'v, T> = [Cow<'v, [T]>; 4];

/// The number of steps from which it is worth it to bring the weights of the state into another order.
const MANY_STEPS: usize = 8;

/// The number of values that the gradient needs for each step, sample and unit: the gates, the memory, and
/// the state and the memory before the step.
pub(super) const TRACED: usize = GATES + 3;

/// Splits a trace into its values.
fn split<T>(trace: &[T], len: usize) -> [&[T]; TRACED] {
    let mut parts = trace.chunks_exact(len.max(1));
    std::array::from_fn(|_| parts.next().unwrap_or_default())
}

/// Splits a trace like [`split`].
fn split_mut<T>(trace: &mut [T], len: usize) -> [&mut [T]; TRACED] {
    let mut parts = trace.chunks_exact_mut(len.max(1));
    std::array::from_fn(|_| parts.next().unwrap_or_default())
}

/// Evaluates an expression with the kind of cell as a constant, so that each kind has its own loops.
macro_rules! for_constant {
    ($cell:expr, $constant:ident => $body:expr) => {
        for_constant!($cell, $constant => $body, [Lstm, Gru, Tanh, Relu])
    };
    ($cell:expr, $constant:ident => $body:expr, [$($kind:ident),*]) => {
        match $cell {
            $(Cell::$kind => {
                const $constant: Cell = Cell::$kind;
                $body
            })*
        }
    };
}

impl Layer<'_> {
    fn rows(&self) -> usize {
        self.time * self.batch
    }

    /// Returns the number of units of all gates.
    fn wide(&self) -> usize {
        self.cell.gates() * self.hidden
    }

    /// Returns the number of multiplications of all steps.
    pub(super) fn multiplications(&self) -> usize {
        self.rows() * self.wide() * (self.input + self.hidden)
    }

    fn order(&self) -> impl DoubleEndedIterator<Item = usize> + use<> {
        let (time, backwards) = (self.time, self.backwards);
        (0..time).map(move |step| if backwards { time - 1 - step } else { step })
    }

    fn is_active(&self, time: usize, sample: usize) -> bool {
        self.lengths.is_none_or(|lengths| time < lengths[sample])
    }

    /// Computes `x W^T + b` for some rows. `weight` is `W^T`.
    fn project<T: Float>(&self, x: &[T], weight: Matrix<'_, T>, bias: &[T]) -> Vec<T> {
        let [width, wide] = weight.dims();
        let rows = x.len() / width.max(1);
        let mut out = bias.repeat(rows);
        T::multiply(MatrixMut::new(&mut out, rows, wide), Matrix::new(x, rows, width), weight, true);
        out
    }

    /// Returns the units of each gate in a row. For gates that the cell does not have, they are arbitrary.
    fn gates<'v, T>(&self, values: &'v [T], row: usize) -> [&'v [T]; GATES] {
        let row = &values[row * self.wide()..][..self.wide()];
        std::array::from_fn(|gate| &row[gate % self.cell.gates() * self.hidden..][..self.hidden])
    }

    /// Computes a step of some units: gates, state and memory.
    fn step<T: Float>(&self, outs: [&mut [T]; GATES + 2], inputs: [&[T]; 2 * GATES + 2]) {
        for_constant!(self.cell, CELL => in_blocks(
            self.hidden,
            outs,
            inputs,
            #[inline(always)]
            |values| CELL.step_of(values),
        ));
    }

    /// Computes the gradient of a step of some units, with respect to the parts of the gates from `x` and
    /// from `h`, the state and the memory.
    fn step_gradient<T: Float>(&self, outs: [&mut [T]; 2 * GATES + 2], inputs: [&[T]; GATES + 6]) {
        for_constant!(self.cell, CELL => in_blocks(
            self.hidden,
            outs,
            inputs,
            #[inline(always)]
            |values| CELL.gradient_of(values),
        ));
    }

    /// Computes the outputs, and replaces the state and the memory of each sample by the last ones.
    ///
    /// `trace` receives [`TRACED`] values for each output.
    pub(super) fn forward<T: Float>(
        &self,
        x: &[T],
        weights: &Weights<'_, T>,
        state: &mut [T],
        memory: &mut [T],
        trace: &mut [T],
    ) -> Vec<T> {
        let (batch, hidden) = (self.batch, self.hidden);
        let step_len = batch * hidden;
        let mut out = vec![T::ZERO; self.time * step_len];
        if self.lengths.is_some() {
            // Steps that a sample does not have are not written below.
            trace.fill(T::ZERO);
        }
        let [g0, g1, g2, g3, traced_memory, before, memory_before] = split_mut(trace, out.len());
        let [of_x, of_h] = [(&weights[0], self.input), (&weights[1], hidden)]
            .map(|(weight, width)| Matrix::new(weight, self.wide(), width).transposed());
        let from_x = self.project(x, of_x, &weights[2]);
        // Products of few rows with a matrix in order of its rows are twice as fast. For one sample, this takes longer than it
        // saves.
        let in_order = (batch > 1 && self.time >= MANY_STEPS).then(|| of_h.in_order());
        let of_h = in_order.as_deref().map_or(of_h, |rows| Matrix::new(rows, hidden, self.wide()));
        for time in self.order() {
            let from_h = self.project(state, of_h, &weights[3]);
            let here = time * step_len..(time + 1) * step_len;
            before[here.clone()].copy_from_slice(state);
            memory_before[here.clone()].copy_from_slice(memory);
            for sample in (0..batch).filter(|&sample| self.is_active(time, sample)) {
                let units = sample * hidden..(sample + 1) * hidden;
                let place = here.start + units.start..here.start + units.end;
                let [x0, x1, x2, x3] = self.gates(&from_x, time * batch + sample);
                let [h0, h1, h2, h3] = self.gates(&from_h, sample);
                let outs = [&mut *g0, g1, g2, g3, &mut out, traced_memory];
                let before = [&before[place.clone()], &memory_before[place.clone()]];
                self.step(
                    outs.map(|values| &mut values[place.clone()]),
                    [x0, x1, x2, x3, h0, h1, h2, h3, before[0], before[1]],
                );
                state[units.clone()].copy_from_slice(&out[place.clone()]);
                memory[units].copy_from_slice(&traced_memory[place]);
            }
        }
        out
    }

    /// Computes the gradient of [`forward`](Self::forward) with respect to `x` and the weights.
    ///
    /// `dstate` and `dmemory` are the gradients of the last states, and become those of the first states.
    pub(super) fn backward<T: Float>(
        &self,
        x: &[T],
        weights: &Weights<'_, T>,
        trace: &[T],
        dout: &[T],
        dstate: &mut [T],
        dmemory: &mut [T],
    ) -> (Vec<T>, [Vec<T>; 4]) {
        let (batch, hidden, wide) = (self.batch, self.hidden, self.wide());
        let trace = split(trace, self.rows() * hidden);
        let [mut from_x, mut from_h] = [0; 2].map(|_| vec![T::ZERO; self.rows() * wide]);
        let mut gradients: [Vec<T>; 2 * GATES] = std::array::from_fn(|_| vec![T::ZERO; hidden]);
        for time in self.order().rev() {
            for sample in (0..batch).filter(|&sample| self.is_active(time, sample)) {
                let units = sample * hidden..(sample + 1) * hidden;
                let start = (time * batch + sample) * hidden;
                let place = start..start + hidden;
                let [g0, g1, g2, g3, memory, before, memory_before] =
                    trace.map(|values| &values[place.clone()]);
                let (dh, dc) = (dstate[units.clone()].to_vec(), dmemory[units.clone()].to_vec());
                let [x0, x1, x2, x3, h0, h1, h2, h3] = &mut gradients;
                self.step_gradient(
                    [x0, x1, x2, x3, h0, h1, h2, h3, &mut dstate[units.clone()], &mut dmemory[units]],
                    [g0, g1, g2, g3, memory, before, memory_before, &dh, &dout[place], &dc],
                );
                let row = (time * batch + sample) * wide;
                for gate in 0..self.cell.gates() {
                    from_x[row + gate * hidden..][..hidden].copy_from_slice(&gradients[gate]);
                    from_h[row + gate * hidden..][..hidden].copy_from_slice(&gradients[GATES + gate]);
                }
            }
            // Rows of samples that lack this step are zero, so their states keep their gradients.
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
            product(&from_h, trace[TRACED - 2], hidden),
            sums(&from_x),
            sums(&from_h),
        ];
        (dx, weights)
    }
}
