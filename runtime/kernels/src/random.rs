//! Random numbers that a seed and an offset determine, on any machine and with any number of threads.
//!
//! They come from Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011), a function of a key and
//! a counter: the seed is the key, its low half first, and the counter is the offset plus the number of the block. Block `n`
//! has 128 bits, which make two numbers of 64 bits: for the elements `2n` and `2n + 1` in row-major order. The first word of
//! four is the low half of the first number. So an operator for `n` numbers uses less than `n + 1` blocks, and the next one
//! with the same seed has an offset that is larger by as much.
//!
//! Some distributions need an unknown number of numbers for an element. Those of the element `n` are then the blocks with the
//! counter offset plus `n`, whose third and fourth word count them.

mod counts;
mod distributions;
mod dropout;
mod gamma;
mod philox;
mod quantile;
mod samples;
mod sequence;

pub use counts::{binomial, poisson};
pub use distributions::{
    bernoulli, exponential, gaussian, randint, truncated_gaussian, uniform, uniform_with_diagonal,
};
pub use dropout::{dropout, dropout_grad};
pub use gamma::{dirichlet, standard_gamma};
pub use philox::philox;
pub use samples::{multinomial, randperm};

use philox::Numbers;
