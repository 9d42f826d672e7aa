//! Random numbers that depend only on a seed and an offset, not on the machine or the number of threads.
//!
//! They come from Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011), a
//! function of a key and a counter: the seed is the key, its low half first, and the counter is the offset
//! plus the number of the block. Block `n` has 128 bits, which form two 64-bit numbers: those of the elements
//! `2n` and `2n + 1` in row-major order. The first of its four words is the low half of the first number. An
//! operator that needs `n` numbers uses fewer than `n + 1` blocks, and the next operator with the same seed
//! has an offset larger by that number of blocks.
//!
//! Some distributions need a variable number of random numbers for each element. Element `n` then uses the
//! blocks whose counter is the offset plus `n`; the third and fourth words of the counter number them.

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
