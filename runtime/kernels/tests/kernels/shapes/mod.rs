//! Operators that move elements.

mod blocks;
mod moves;
mod rows;
