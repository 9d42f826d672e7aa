//! Operators that combine the elements along dimensions.

mod folds;
mod frameworks;
mod scan;
