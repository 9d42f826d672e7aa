//! The layers of a network, one after the other, and their gradients.

use std::borrow::Cow;

use super::{Dropout, Plan};
use crate::elements::float::Float;
use crate::error::Result;
use crate::loops::slices::elements;
use crate::rnn::layer::Weights;
use crate::tensor::View;
use crate::threads;

/// The values of a network.
pub(super) struct Network<'v, T: Clone> {
    x: Cow<'v, [T]>,
    /// Two tensors, of which only LSTM uses the second.
    states: [Vec<T>; 2],
    weights: Vec<Weights<'v, T>>,
    /// The dropout factors of the outputs of all layers except the last; zero for dropped elements.
    kept: Option<Vec<T>>,
}

/// The results of a run of a network.
pub(super) struct Run<T> {
    pub(super) out: Vec<T>,
    pub(super) states: [Vec<T>; 2],
}

impl<'v, T: Float> Network<'v, T> {
    pub(super) fn new(
        plan: &Plan,
        x: &'v View<'_>,
        pre_state: &[View<'_>],
        weights: &'v [View<'_>],
        dropout: Dropout<'_>,
    ) -> Result<Self> {
        let zeros = vec![T::ZERO; plan.state_dims().iter().product()];
        let memory = pre_state.get(1).map_or(Ok(zeros), T::load)?;
        let mut parts = Vec::with_capacity(plan.parts());
        for part in 0..plan.parts() {
            let [ih, hh, b_ih, b_hh] = plan.weights_of(part).map(|place| elements(&weights[place]));
            parts.push([ih?, hh?, b_ih?, b_hh?]);
        }
        let factor = |probability: f64| {
            let factor = T::of((1.0 - probability).recip());
            move |uniform: T| if uniform >= T::of(probability) { factor } else { T::ZERO }
        };
        let kept = match dropout {
            None => None,
            Some((uniform, p)) => Some(T::load(uniform)?.into_iter().map(factor(p)).collect()),
        };
        Ok(Self { x: elements(x)?, states: [T::load(&pre_state[0])?, memory], weights: parts, kept })
    }

    /// Returns the dropout factors of a layer's output, or `None` without dropout.
    fn kept(&self, layer: usize, len: usize) -> Option<&[T]> {
        self.kept.as_ref().and_then(|kept| kept.get(layer * len..(layer + 1) * len))
    }

    /// Runs the network. `reserve` receives the values that the gradient needs.
    pub(super) fn forward(&self, plan: &Plan, reserve: &mut [T]) -> Run<T> {
        let mut run = Run { out: Vec::new(), states: self.states.clone() };
        let (traces, inputs) = reserve.split_at_mut(plan.parts() * plan.trace_len());
        let state_len = plan.batch * plan.hidden;
        for layer in 0..plan.layers {
            let first = layer * plan.directions;
            let of_layer = |len: usize| first * len..(first + plan.directions) * len;
            let [state, memory] = &mut run.states;
            let own = state[of_layer(state_len)]
                .chunks_exact_mut(state_len.max(1))
                .zip(memory[of_layer(state_len)].chunks_exact_mut(state_len.max(1)));
            let traces = traces[of_layer(plan.trace_len())].chunks_exact_mut(plan.trace_len().max(1));
            let x = if layer == 0 { &self.x } else { &run.out[..] };
            let mut outs = vec![Vec::new(); plan.directions];
            let directions = outs.iter_mut().zip(own).zip(traces).enumerate();
            threads::each(
                plan.layer(first).multiplications() * plan.directions,
                directions,
                |(direction, own)| {
                    let ((out, (state, memory)), trace) = own;
                    let part = first + direction;
                    *out = plan.layer(part).forward(x, &self.weights[part], state, memory, trace);
                },
            );
            let mut out = match &mut outs[..] {
                [out] => std::mem::take(out),
                _ => plan.joined(&outs),
            };
            if let Some(kept) = self.kept(layer, out.len()) {
                out.iter_mut().zip(kept).for_each(|(out, &kept)| *out *= kept);
            }
            if layer + 1 < plan.layers {
                inputs[layer * plan.out_len()..][..plan.out_len()].copy_from_slice(&out);
            }
            run.out = out;
        }
        run
    }

    /// Computes the gradients of `x` and of the weights of each part.
    ///
    /// `states` are the gradients of the last states, and become those of the first states.
    pub(super) fn backward(
        &self,
        plan: &Plan,
        reserve: &[T],
        mut dout: Vec<T>,
        states: &mut [Vec<T>],
    ) -> (Vec<T>, Vec<[Vec<T>; 4]>) {
        let (traces, inputs) = reserve.split_at(plan.parts() * plan.trace_len());
        let state_len = plan.batch * plan.hidden;
        let mut weights = Vec::with_capacity(plan.parts());
        for layer in (0..plan.layers).rev() {
            if let Some(kept) = self.kept(layer, dout.len()) {
                dout.iter_mut().zip(kept).for_each(|(dout, &kept)| *dout *= kept);
            }
            let input = match layer.checked_sub(1) {
                None => &*self.x,
                Some(below) => &inputs[below * plan.out_len()..][..plan.out_len()],
            };
            let mut dx = Vec::new();
            for direction in (0..plan.directions).rev() {
                let part = layer * plan.directions + direction;
                let own = part * state_len..(part + 1) * state_len;
                let dout = plan.of_direction(&dout, direction);
                let (first, second) = states.split_at_mut(1);
                let (part_dx, gradient) = plan.layer(part).backward(
                    input,
                    &self.weights[part],
                    &traces[part * plan.trace_len()..][..plan.trace_len()],
                    &dout,
                    &mut first[0][own.clone()],
                    &mut second[0][own],
                );
                if plan.directions == 1 {
                    dx = part_dx;
                } else {
                    dx.resize(input.len(), T::ZERO);
                    dx.iter_mut().zip(part_dx).for_each(|(dx, part)| *dx += part);
                }
                weights.push(gradient);
            }
            dout = dx;
        }
        weights.reverse();
        (dout, weights)
    }
}
