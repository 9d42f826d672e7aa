//! Elementwise rules: arithmetic, filling and conversion.

pub mod arithmetic;
pub mod complex_numbers;
pub mod conversion;
pub mod creation;
pub mod filled;
pub mod random;
