//! Sliding windows over images: the lists of numbers that describe them, and images without a batch.

use tenon::device::{Error, Result};

use crate::compute::Tensor;

/// The largest size, distance or padding of a window, so that their products are numbers of 64 bits.
const MOST: i64 = i32::MAX as i64;

/// Returns a list with one number for each spatial dimension, from such a list or from a single number.
pub fn each(name: &str, numbers: &[i64], space: usize, least: i64) -> Result<Vec<i64>> {
    let numbers = match numbers {
        &[number] => vec![number; space],
        numbers if numbers.len() == space => numbers.to_vec(),
        _ => return Err(Error::invalid(format!("`{name}` has {} numbers, not {space}", numbers.len()))),
    };
    match numbers.iter().find(|&&number| !(least..=MOST).contains(&number)) {
        Some(number) => Err(Error::invalid(format!("`{name}` has the number {number}"))),
        None => Ok(numbers),
    }
}

/// Returns images with a batch dimension: the images themselves, or a batch of one.
pub fn batched<'c>(name: &str, images: &Tensor<'c>, space: usize) -> Result<Tensor<'c>> {
    match images.rank().checked_sub(space) {
        Some(1) => images.unsqueezed(0),
        Some(2) => Ok(images.clone()),
        _ => Err(Error::invalid(format!(
            "`{name}` has the shape {:?}, not {} or {} dimensions",
            images.dims(),
            space + 1,
            space + 2
        ))),
    }
}
