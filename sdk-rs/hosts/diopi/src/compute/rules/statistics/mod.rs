//! Rules that reduce dimensions: sums, norms, losses and likelihoods.

pub mod complex_reduction;
pub mod likelihood;
pub mod losses;
pub mod norms;
pub mod reduced;
pub mod reduction;
