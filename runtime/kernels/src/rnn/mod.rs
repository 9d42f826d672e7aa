//! Recurrent networks with LSTM, GRU and plain cells, with several layers and in both directions.
//!
//! `x` is `[time, batch, input]` and the output `[time, batch, directions * hidden]`. States are `[layers *
//! directions, batch, hidden]`: one tensor, or two for LSTM, of which the second holds the memories of the
//! cells. The list of weights has `W_ih` and `W_hh` for each direction of each layer, followed by `b_ih` and
//! `b_hh` in the same order. A row of a weight belongs to a unit of a gate; the gates of LSTM are input,
//! forget, candidate and output, those of GRU reset, update and candidate.
//!
//! `sequence_length` holds the number of steps of each sample. After these steps, outputs are zero and states
//! stay unchanged.

mod cell;
mod drawn;
mod layer;
mod network;

use crate::attributes::RnnAttributes;
pub use drawn::{reserve_shape, rnn_drawn, uniform_shape};

use std::borrow::Cow;

use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_length, expect_shape};
use crate::loops::slices::{Slot, integers};
use crate::rnn::cell::Cell;
use crate::rnn::layer::{Layer, TRACED};
use crate::rnn::network::Network;
use crate::tensor::{TensorMeta, View, ViewMut};

/// Runs a recurrent network.
///
/// `state` becomes the states after the last step. In training (without `is_test`) and with a nonzero
/// probability, elements of the output of all layers except the last are dropped where the corresponding
/// number in `uniform`, `[layers - 1, time, batch, directions * hidden]`, is less than `dropout_prob`; the
/// others are divided by `1 - dropout_prob`. A non-empty `reserve` receives the values of the steps that the
/// gradient needs; it has the type of `x`.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Length`], [`Error::Attribute`], [`Error::Missing`],
/// [`Error::Index`] for a negative length of a sequence or one above `time`, and [`Error::Type`].
pub fn rnn(
    reserve: &mut ViewMut<'_>,
    out: &mut ViewMut<'_>,
    state: &mut [Option<ViewMut<'_>>],
    x: &View<'_>,
    pre_state: &[View<'_>],
    weight_list: &[View<'_>],
    sequence_length: Option<&View<'_>>,
    uniform: Option<&View<'_>>,
    dropout_prob: f64,
    is_bidirec: bool,
    hidden_size: i64,
    num_layers: i64,
    mode: &str,
    is_test: bool,
) -> Result<()> {
    let sizes = [hidden_size, num_layers];
    let plan = Plan::new(x.meta(), &metas(pre_state), &metas(weight_list), is_bidirec, sizes, mode)?
        .with_lengths(sequence_length)?;
    let dropout = plan.dropout(uniform, if is_test { 0.0 } else { dropout_prob })?;
    expect_shape(&[plan.time, plan.batch, plan.width()], out.dims())?;
    expect_length("state", plan.cell.states(), state.len())?;
    expect_dims(state, plan.state_dims())?;
    plan.expect_reserve(reserve.dims())?;
    with_float!(x.dtype(), T => {
        let network = Network::<T>::new(&plan, x, pre_state, weight_list, dropout)?;
        let is_apart = weight_list.iter().chain([x]).all(|input| !reserve.shares_memory(input));
        let run = match reserve.slices([]) {
            Some((values, [])) if is_apart && !values.is_empty() => network.forward(&plan, values),
            _ => {
                let mut values = vec![T::ZERO; plan.reserve_len()];
                let run = network.forward(&plan, &mut values);
                if !reserve.is_empty() {
                    T::store(reserve, &values)?;
                }
                run
            }
        };
        T::store(out, &run.out)?;
        store_all(state, &run.states)
    })
}

/// Computes the gradients of [`rnn`]; runs the network again if `reserve` is empty.
///
/// `dpre_state` and `dweight_list` are as long as the lists of inputs, or empty if not requested. `dstate`
/// may be empty if it is zero. `uniform` is read only if elements were dropped.
///
/// # Errors
/// As [`rnn`].
pub fn rnn_grad(
    dx: Option<&mut ViewMut<'_>>,
    dpre_state: &mut [Option<ViewMut<'_>>],
    dweight_list: &mut [Option<ViewMut<'_>>],
    x: &View<'_>,
    pre_state: &[View<'_>],
    weight_list: &[View<'_>],
    sequence_length: Option<&View<'_>>,
    uniform: &View<'_>,
    reserve: &View<'_>,
    dout: &View<'_>,
    dstate: &[View<'_>],
    with: &RnnAttributes<'_>,
) -> Result<()> {
    let RnnAttributes { dropout_prob, is_bidirec, hidden_size, num_layers, mode, is_test } = *with;
    let sizes = [hidden_size, num_layers];
    let plan = Plan::new(x.meta(), &metas(pre_state), &metas(weight_list), is_bidirec, sizes, mode)?
        .with_lengths(sequence_length)?;
    let dropout = plan.dropout(Some(uniform), if is_test { 0.0 } else { dropout_prob })?;
    expect_shape(&[plan.time, plan.batch, plan.width()], dout.dims())?;
    expect_shape(x.dims(), dx.as_deref().map_or(x.dims(), ViewMut::dims))?;
    dstate.iter().try_for_each(|dstate| expect_shape(&plan.state_dims(), dstate.dims()))?;
    expect_dims(dpre_state, plan.state_dims())?;
    plan.expect_reserve(reserve.dims())?;
    for (weight, gradient) in weight_list.iter().zip(&*dweight_list) {
        expect_shape(weight.dims(), gradient.as_ref().map_or(weight.dims(), ViewMut::dims))?;
    }
    with_float!(x.dtype(), T => {
        let network = Network::<T>::new(&plan, x, pre_state, weight_list, dropout)?;
        let reserve: Cow<'_, [T]> = match reserve.slice() {
            Some(values) => Cow::Borrowed(values),
            None if reserve.is_empty() => {
                let mut values = vec![T::ZERO; plan.reserve_len()];
                network.forward(&plan, &mut values);
                Cow::Owned(values)
            }
            None => Cow::Owned(T::load(reserve)?),
        };
        let mut states = vec![vec![T::ZERO; plan.state_dims().iter().product()]; 2];
        for (values, dstate) in states.iter_mut().zip(dstate) {
            *values = T::load(dstate)?;
        }
        let (gradient, weights) = network.backward(&plan, &reserve, T::load(dout)?, &mut states);
        if let Some(dx) = dx {
            T::store(dx, &gradient)?;
        }
        store_all(dpre_state, &states)?;
        let count = weights.len();
        for (number, [ih, hh, b_ih, b_hh]) in weights.iter().enumerate() {
            let places = [2 * number, 2 * number + 1, 2 * (count + number), 2 * (count + number) + 1];
            for (place, values) in places.into_iter().zip([ih, hh, b_ih, b_hh]) {
                if let Some(Some(target)) = dweight_list.get_mut(place) {
                    T::store(target, values)?;
                }
            }
        }
        Ok(())
    })
}

/// Checks the shapes of the requested tensors of a list.
fn expect_dims(list: &[Option<ViewMut<'_>>], dims: [usize; 3]) -> Result<()> {
    list.iter().flatten().try_for_each(|tensor| expect_shape(&dims, tensor.dims()))
}

fn metas<'v>(views: &'v [View<'_>]) -> Vec<TensorMeta<'v>> {
    views.iter().map(View::meta).collect()
}

fn store_all<T: Slot>(list: &mut [Option<ViewMut<'_>>], values: &[Vec<T>]) -> Result<()> {
    for (tensor, values) in list.iter_mut().zip(values) {
        if let Some(tensor) = tensor {
            T::store(tensor, values)?;
        }
    }
    Ok(())
}

/// The checked sizes of a network.
struct Plan {
    cell: Cell,
    time: usize,
    batch: usize,
    input: usize,
    hidden: usize,
    layers: usize,
    directions: usize,
    lengths: Option<Vec<usize>>,
}

/// Random numbers and the dropout probability.
type Dropout<'a> = Option<(&'a View<'a>, f64)>;

impl Plan {
    fn new(
        x: TensorMeta<'_>,
        pre_state: &[TensorMeta<'_>],
        weights: &[TensorMeta<'_>],
        is_bidirec: bool,
        [hidden, layers]: [i64; 2],
        mode: &str,
    ) -> Result<Self> {
        let &[time, batch, input] = x.dims() else {
            return Err(Error::Rank { dims: x.dims().len(), strides: 3 });
        };
        let size = |name, value: i64| {
            let size = usize::try_from(value).ok().filter(|&size| size > 0);
            size.ok_or(Error::Attribute { name, value: value.to_string() })
        };
        let (hidden, layers) = (size("hidden_size", hidden)?, size("num_layers", layers)?);
        let directions = if is_bidirec { 2 } else { 1 };
        let cell = Cell::new(mode)?;
        let plan = Self { cell, time, batch, input, hidden, layers, directions, lengths: None };
        expect_length("pre_state", plan.cell.states(), pre_state.len())?;
        pre_state.iter().try_for_each(|state| expect_shape(&plan.state_dims(), state.dims()))?;
        expect_length("weight_list", 4 * plan.parts(), weights.len())?;
        for part in 0..plan.parts() {
            let (wide, input) = (plan.cell.gates() * hidden, plan.input_of(part / directions));
            let expected = [&[wide, input][..], &[wide, hidden], &[wide], &[wide]];
            for (place, expected) in plan.weights_of(part).into_iter().zip(expected) {
                expect_shape(expected, weights[place].dims())?;
            }
        }
        Ok(plan)
    }

    /// Sets the length of each sequence.
    fn with_lengths(self, lengths: Option<&View<'_>>) -> Result<Self> {
        let Some(lengths) = lengths else { return Ok(self) };
        expect_shape(&[self.batch], lengths.dims())?;
        let length = |index: i64| {
            let length = usize::try_from(index).ok().filter(|&length| length <= self.time);
            length.ok_or(Error::Index { index, len: self.time + 1 })
        };
        let lengths = integers(lengths)?.into_iter().map(length).collect::<Result<Vec<_>>>()?;
        Ok(Self { lengths: Some(lengths), ..self })
    }

    fn dropout<'a>(&self, uniform: Option<&'a View<'a>>, probability: f64) -> Result<Dropout<'a>> {
        if !(0.0..=1.0).contains(&probability) {
            return Err(Error::Attribute { name: "dropout_prob", value: probability.to_string() });
        }
        if probability == 0.0 || self.layers == 1 {
            return Ok(None);
        }
        let uniform = uniform.ok_or(Error::Missing { missing: "uniform", because: "dropout_prob" })?;
        expect_shape(&[self.layers - 1, self.time, self.batch, self.width()], uniform.dims())?;
        Ok(Some((uniform, probability)))
    }

    /// Returns the number of directions of all layers.
    fn parts(&self) -> usize {
        self.layers * self.directions
    }

    /// Returns the number of elements of a step's output.
    fn width(&self) -> usize {
        self.directions * self.hidden
    }

    fn state_dims(&self) -> [usize; 3] {
        [self.parts(), self.batch, self.hidden]
    }

    /// Returns the number of elements of a layer's output.
    fn out_len(&self) -> usize {
        self.time * self.batch * self.width()
    }

    /// Returns the part of a layer's output that belongs to one direction.
    fn of_direction<'v, T: Float>(&self, out: &'v [T], direction: usize) -> Cow<'v, [T]> {
        if self.directions == 1 {
            return Cow::Borrowed(out);
        }
        let mut part = Vec::with_capacity(out.len() / self.directions);
        for row in out.chunks_exact(self.width()) {
            part.extend_from_slice(&row[direction * self.hidden..][..self.hidden]);
        }
        Cow::Owned(part)
    }

    /// Returns a layer's output from the parts that belong to each direction.
    fn joined<T: Float>(&self, parts: &[Vec<T>]) -> Vec<T> {
        let mut out = vec![T::ZERO; self.out_len()];
        for (direction, part) in parts.iter().enumerate() {
            for (row, values) in out.chunks_exact_mut(self.width()).zip(part.chunks_exact(self.hidden)) {
                row[direction * self.hidden..][..self.hidden].copy_from_slice(values);
            }
        }
        out
    }

    /// Returns the number of values that the gradient needs for a part.
    fn trace_len(&self) -> usize {
        TRACED * self.time * self.batch * self.hidden
    }

    /// Returns the number of values that the gradient needs: those of each part, and the inputs of all layers
    /// except the first.
    fn reserve_len(&self) -> usize {
        self.parts() * self.trace_len() + (self.layers - 1) * self.out_len()
    }

    fn expect_reserve(&self, dims: &[usize]) -> Result<()> {
        if dims.contains(&0) { Ok(()) } else { expect_shape(&[self.reserve_len()], dims) }
    }

    fn input_of(&self, layer: usize) -> usize {
        if layer == 0 { self.input } else { self.width() }
    }

    /// Returns the positions of the weights of a part in the list.
    fn weights_of(&self, part: usize) -> [usize; 4] {
        let biases = 2 * self.parts();
        [2 * part, 2 * part + 1, biases + 2 * part, biases + 2 * part + 1]
    }

    fn layer(&self, part: usize) -> Layer<'_> {
        Layer {
            cell: self.cell,
            time: self.time,
            batch: self.batch,
            input: self.input_of(part / self.directions),
            hidden: self.hidden,
            backwards: part % self.directions == 1,
            lengths: self.lengths.as_deref(),
        }
    }
}
