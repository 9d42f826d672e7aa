//! Operators that move elements.

mod blocks;
mod einsum;
mod moves;
mod rows;
