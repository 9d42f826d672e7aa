//! Operators with random numbers.

mod distributions;
mod generator;
