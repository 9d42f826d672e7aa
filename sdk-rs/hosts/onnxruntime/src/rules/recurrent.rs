//! Recurrent networks.

use tenon::device::{DataType, Error, Result};
use tenon_operators::attributes::RnnAttributes;
use tenon_operators::{TensorMut, TensorRef};

use crate::kernel::{Call, Compute, Info};

/// A kind of cell.
#[derive(Clone, Copy)]
struct Cell {
    /// Its name among the modes of the device.
    mode: &'static str,
    /// Where the gates of the device are among those of ONNX.
    gates: &'static [usize],
    /// The activations of one direction that the device has.
    activations: &'static [&'static str],
    has_memory: bool,
}

/// The gates of ONNX are input, output, forget and candidate.
const LSTM: Cell =
    Cell { mode: "LSTM", gates: &[0, 2, 3, 1], activations: &["Sigmoid", "Tanh", "Tanh"], has_memory: true };
/// The gates of ONNX are update, reset and candidate.
const GRU: Cell =
    Cell { mode: "GRU", gates: &[1, 0, 2], activations: &["Sigmoid", "Tanh"], has_memory: false };
const TANH: Cell = Cell { mode: "RNN_TANH", gates: &[0], activations: &["Tanh"], has_memory: false };

/// An LSTM.
pub(crate) fn lstm(info: &Info) -> Result<Compute> {
    if info.flag("input_forget") || info.inputs() > 7 {
        return info.refuse("coupled gates and peepholes");
    }
    recurrent(info, LSTM)
}

/// A GRU whose reset gate applies after the product with the state.
pub(crate) fn gru(info: &Info) -> Result<Compute> {
    if !info.flag("linear_before_reset") {
        return info.refuse("a reset gate that applies to the state");
    }
    recurrent(info, GRU)
}

/// A plain network, with the hyperbolic tangent.
pub(crate) fn rnn(info: &Info) -> Result<Compute> {
    recurrent(info, TANH)
}

fn recurrent(info: &Info, cell: Cell) -> Result<Compute> {
    let direction = info.text("direction").unwrap_or_else(|| "forward".to_owned());
    let (is_bidirec, is_reverse) = (direction == "bidirectional", direction == "reverse");
    let has_lengths = info.inputs() > 4;
    if info.float("clip").is_some_and(|clip| clip != 0.0) || (is_reverse && has_lengths) {
        return info.refuse("this recurrent network");
    }
    if let Some(names) = info.offered_texts("activations") {
        let wanted = cell.activations.iter().cycle();
        if names.iter().zip(wanted).any(|(name, wanted)| name != wanted) {
            return info.refuse("other activations");
        }
    }
    let is_batch_first = info.flag("layout");
    Ok(Box::new(move |call| {
        let x = turned(call.input(0)?, is_batch_first)?;
        let &[steps, batch, width] = x.dims() else {
            return Err(Error::invalid("the input must have three dimensions"));
        };
        let (weights, state_weights) = (call.input(1)?, call.input(2)?);
        let &[directions, _, hidden] = state_weights.dims() else {
            return Err(Error::invalid("the weights must have three dimensions"));
        };
        let gates = cell.gates.len();
        if weights.dims() != [directions, gates * hidden, width]
            || state_weights.dims() != [directions, gates * hidden, hidden]
            || directions != if is_bidirec { 2 } else { 1 }
        {
            return Err(Error::invalid("the weights do not fit to the input"));
        }
        let x = if is_reverse { flipped(call, &x)? } else { call.contiguous(&x)? };
        let biases = call.optional(3)?;
        let make = || lists(call, cell, &weights, &state_weights, biases.as_ref(), hidden);
        let lists = call.kept(&[1, 2, 3], make)?;
        let lengths = call.optional(4)?.map(|lengths| call.cast(&lengths, DataType::INT32)).transpose()?;
        let mut before = vec![state(call, 5, &x, [directions, batch, hidden], is_batch_first)?];
        if cell.has_memory {
            before.push(state(call, 6, &x, [directions, batch, hidden], is_batch_first)?);
        }
        let attributes = RnnAttributes {
            dropout_prob: 0.0,
            is_bidirec,
            hidden_size: hidden as i64,
            num_layers: 1,
            mode: cell.mode,
            is_test: true,
        };
        let ty = x.data_type();
        let mut out = call.temporary(ty, &[steps, batch, directions * hidden])?;
        let mut states = Vec::new();
        for _ in &before {
            states.push(Some(call.temporary(ty, &[directions, batch, hidden])?));
        }
        call.run(|operators, launch| {
            let lengths = lengths.as_ref();
            let uniform = operators.rnn_uniform_shape(launch, &x, &before, &lists, lengths, &attributes)?;
            let reserve = operators.rnn_reserve_shape(launch, &x, &before, &lists, lengths, &attributes)?;
            let mut uniform = call.temporary(DataType::FLOAT32, &uniform)?;
            let mut reserve = call.temporary(ty, &reserve)?;
            operators.rnn(
                launch,
                &mut uniform,
                &mut reserve,
                &mut out,
                &mut states,
                &x,
                &before,
                &lists,
                lengths,
                &attributes,
                0,
                0,
            )
        })?;
        let out = out.into_input();
        let out = if is_reverse { flipped(call, &out)? } else { out };
        let view = out.reshaped(&[steps, batch, directions, hidden])?;
        let view = view.permuted(if is_batch_first { &[1, 0, 2, 3] } else { &[0, 2, 1, 3] })?;
        if let Some(mut written) = call.optional_output(0, view.dims())? {
            call.write(&mut written, &view)?;
        }
        for (index, state) in states.into_iter().flatten().enumerate() {
            let state = turned(state.into_input(), is_batch_first)?;
            if let Some(mut written) = call.optional_output(1 + index, state.dims())? {
                call.write(&mut written, &state)?;
            }
        }
        Ok(())
    }))
}

/// Swaps the first two dimensions, if the batch comes first.
fn turned(x: TensorRef<'_>, is_batch_first: bool) -> Result<TensorRef<'_>> {
    if is_batch_first { x.transposed(0, 1) } else { Ok(x) }
}

/// Returns a tensor with its steps in the opposite order.
fn flipped<'t>(call: &'t Call<'_>, x: &TensorRef<'t>) -> Result<TensorRef<'t>> {
    let whole = call.contiguous(x)?;
    let mut out = call.temporary(x.data_type(), x.dims())?;
    call.run(|operators, launch| operators.flip(launch, &mut out, &whole, &[0]))?;
    Ok(out.into_input())
}

/// Returns the state before the first step, zero if the node does not have it.
fn state<'t>(
    call: &'t Call<'_>,
    index: usize,
    x: &TensorRef<'_>,
    dims: [usize; 3],
    is_batch_first: bool,
) -> Result<TensorRef<'t>> {
    let given = match call.optional(index)? {
        Some(state) if is_batch_first => state.transposed(0, 1)?,
        Some(state) => state,
        None => call.filled(x.data_type(), &dims, 0.0)?,
    };
    if given.dims() != dims {
        return Err(Error::invalid("the state does not fit to the input"));
    }
    call.contiguous(&given)
}

/// Returns the weights as the device wants them: those of the input and the state for each direction, and then the biases.
fn lists<'t>(
    call: &'t Call<'_>,
    cell: Cell,
    weights: &TensorRef<'t>,
    state_weights: &TensorRef<'t>,
    biases: Option<&TensorRef<'t>>,
    hidden: usize,
) -> Result<Vec<TensorRef<'t>>> {
    let directions = weights.dims()[0];
    let mut list = Vec::new();
    for direction in 0..directions {
        for tensor in [weights, state_weights] {
            list.push(ordered(call, cell, &tensor.selected(0, direction)?, hidden)?);
        }
    }
    let rows = cell.gates.len() * hidden;
    for direction in 0..directions {
        for half in 0..2 {
            list.push(match biases {
                Some(biases) if biases.dims() == [directions, 2 * rows] => {
                    let bias = biases.selected(0, direction)?.sliced(0, half * rows, rows, 1)?;
                    ordered(call, cell, &bias, hidden)?
                }
                Some(_) => return Err(Error::invalid("the biases do not fit to the weights")),
                None => call.contiguous(&call.filled(weights.data_type(), &[rows], 0.0)?)?,
            });
        }
    }
    Ok(list)
}

/// Returns a tensor with the gates in the order of the device.
fn ordered<'t>(call: &'t Call<'_>, cell: Cell, rows: &TensorRef<'t>, hidden: usize) -> Result<TensorRef<'t>> {
    let mut out: TensorMut<'_> = call.temporary(rows.data_type(), rows.dims())?;
    for (place, gate) in cell.gates.iter().enumerate() {
        let part = rows.sliced(0, gate * hidden, hidden, 1)?;
        call.write(&mut out.sliced(0, place * hidden, hidden, 1)?, &part)?;
    }
    Ok(out.into_input())
}
