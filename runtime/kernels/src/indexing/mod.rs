//! Gathers elements by their indices, and scatters them.
//!
//! Indices are integers; negative ones count from the end, and an index out of range is an error. Negative
//! dimension numbers count from the end. If an element is selected several times, its gradients are
//! accumulated.

mod along;
mod gather;
mod masks;
mod places;
mod rows;
mod scatter;

pub use along::{put_along_axis, put_along_axis_grad, take_along_axis, take_along_axis_grad};
pub use gather::{
    gather, gather_grad, gather_nd, gather_nd_grad, index_sample, index_sample_grad, index_select,
    index_select_grad, one_hot,
};
pub use masks::{
    masked_select, masked_select_count, masked_select_grad, masked_select_shape, nonzero, nonzero_count,
    nonzero_shape,
};
pub use scatter::{
    index_add, index_add_grad, index_put, index_put_grad, scatter, scatter_grad, scatter_nd_add,
    scatter_nd_add_grad,
};
