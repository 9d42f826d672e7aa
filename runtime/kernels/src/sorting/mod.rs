//! Sorting, and selecting elements by rank.
//!
//! NaN counts as larger than any number and equal to itself. Sorting is stable: equal elements keep their
//! order, also in descending order. Of equal elements the first is selected unless an operator says
//! otherwise. Negative dimension numbers count from the end; a tensor without dimensions has one element.

mod median;
mod order;
mod ranks;
mod search;
mod unique;

pub use median::{median, median_grad, median_grad_of_equal};
pub use order::{
    argsort, argsort_grad, kthvalue, kthvalue_grad, mode, mode_grad, topk, topk_grad, topk_shape,
};
pub use search::searchsorted;
pub use unique::{unique, unique_consecutive, unique_consecutive_count, unique_shape};

use std::cmp::Ordering;

use crate::numeric::Numeric;

/// Compares two elements; NaN is larger than all numbers and equal to itself.
pub(crate) fn compare<T: Numeric>(a: T, b: T) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}
