//! A recurrent network that draws the random numbers for dropout itself.

use super::{Plan, rnn};
use crate::attributes::RnnAttributes;
use crate::elements::dtype::DType;
use crate::error::Result;
use crate::loops::movement;
use crate::random;
use crate::tensor::buffer::Buffer;
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the random numbers that [`rnn_drawn`] draws. Without dropout there are none.
///
/// # Errors
/// As [`rnn`].
pub fn uniform_shape(
    x: TensorMeta<'_>,
    pre_state: &[TensorMeta<'_>],
    weight_list: &[TensorMeta<'_>],
    _sequence_length: Option<TensorMeta<'_>>,
    with: &RnnAttributes<'_>,
) -> Result<Vec<usize>> {
    let RnnAttributes { dropout_prob, is_bidirec, hidden_size, num_layers, mode, is_test } = *with;
    let sizes = [hidden_size, num_layers];
    let plan = Plan::new(x, pre_state, weight_list, is_bidirec, sizes, mode)?;
    Ok(match plan.layers - 1 {
        behind if behind > 0 && dropout_prob > 0.0 && !is_test => {
            vec![behind, plan.time, plan.batch, plan.width()]
        }
        _ => vec![0],
    })
}

/// Returns the shape of the values that [`rnn_drawn`] saves for the gradient.
///
/// None are saved in inference, or in half precision, which would round them.
///
/// # Errors
/// As [`rnn`].
pub fn reserve_shape(
    x: TensorMeta<'_>,
    pre_state: &[TensorMeta<'_>],
    weight_list: &[TensorMeta<'_>],
    _sequence_length: Option<TensorMeta<'_>>,
    with: &RnnAttributes<'_>,
) -> Result<Vec<usize>> {
    let RnnAttributes { is_bidirec, hidden_size, num_layers, mode, is_test, .. } = *with;
    let sizes = [hidden_size, num_layers];
    let plan = Plan::new(x, pre_state, weight_list, is_bidirec, sizes, mode)?;
    let is_kept = !is_test && matches!(x.dtype(), DType::F32 | DType::F64);
    Ok(vec![if is_kept { plan.reserve_len() } else { 0 }])
}

/// Runs [`rnn`] with random numbers for dropout, drawn from a seed and an offset.
///
/// `uniform` receives these numbers, for the gradient.
///
/// # Errors
/// As [`rnn`].
pub fn rnn_drawn(
    uniform: &mut ViewMut<'_>,
    reserve: &mut ViewMut<'_>,
    out: &mut ViewMut<'_>,
    state: &mut [Option<ViewMut<'_>>],
    x: &View<'_>,
    pre_state: &[View<'_>],
    weight_list: &[View<'_>],
    sequence_length: Option<&View<'_>>,
    with: &RnnAttributes<'_>,
    seed: i64,
    offset: i64,
) -> Result<()> {
    let RnnAttributes { dropout_prob, is_bidirec, hidden_size, num_layers, mode, is_test } = *with;
    let mut numbers = Buffer::new(uniform.dtype(), uniform.dims())?;
    random::uniform(&mut numbers.view_mut()?, 0.0, 1.0, seed, offset)?;
    movement::copy(uniform, &numbers.view()?)?;
    rnn(
        reserve,
        out,
        state,
        x,
        pre_state,
        weight_list,
        sequence_length,
        Some(&numbers.view()?),
        dropout_prob,
        is_bidirec,
        hidden_size,
        num_layers,
        mode,
        is_test,
    )
}
