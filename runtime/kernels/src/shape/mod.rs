//! Operators that move elements: they join, repeat, slice and reorder tensors of any type.
//!
//! Negative dimension numbers count from the end. Gradients that go to the same element are accumulated.

mod blocks;
mod diagonals;
mod frames;
mod indexed;
mod joined;
mod padding;
mod products;
mod repeated;
mod rows;
mod sequences;
mod sliced;

pub use blocks::{
    channel_shuffle, channel_shuffle_grad, fold, fold_grad, pixel_shuffle, pixel_shuffle_grad,
    pixel_unshuffle, pixel_unshuffle_grad, unfold, unfold_grad,
};
pub use diagonals::{
    diag, diag_embed, diag_grad, diagonal, diagonal_grad, eye, fill_diagonal, fill_diagonal_grad,
    fill_diagonal_tensor, fill_diagonal_tensor_grad, trace, trace_grad, tril, tril_triu, triu,
};
pub use frames::{temporal_shift, temporal_shift_grad};
pub use joined::{concat, concat_grad, meshgrid, meshgrid_grad, split, stack, stack_grad, unstack};
pub use padding::{pad, pad_grad, pad3d, pad3d_grad};
pub use products::{cross, cross_grad, dot, dot_grad, kron, kron_grad};
pub use repeated::{
    broadcast_tensors, broadcast_tensors_grad, expand, expand_grad, repeat_interleave,
    repeat_interleave_evenly, repeat_interleave_evenly_grad, repeat_interleave_grad, repeat_interleave_shape,
    tile, tile_grad,
};
pub use rows::{multiplex, multiplex_grad};
pub use sequences::{
    arange, arange_tensor, arange_tensor_shape, full, full_with_tensor, linspace, linspace_tensor,
    linspace_tensor_shape, logspace, logspace_tensor, logspace_tensor_shape, tril_indices, triu_indices,
    zero_grad,
};
pub use sliced::{
    crop, crop_grad, crop_grad_shape, crop_shape, flip, roll, roll_grad, set_value, set_value_grad,
    set_value_with_tensor, slice, slice_grad, strided_slice, strided_slice_grad, transpose, transpose_grad,
};

use crate::error::{Error, Result};
use crate::tensor::{View, ViewMut};

/// Checks that a tensor has the same element type as an output.
fn expect_type(out: &ViewMut<'_>, x: &View<'_>) -> Result<()> {
    if out.dtype() == x.dtype() { Ok(()) } else { Err(Error::Type { dtype: x.dtype() }) }
}
