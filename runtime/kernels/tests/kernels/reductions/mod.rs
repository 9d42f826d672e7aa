//! Operators that combine the elements along dimensions.

mod frameworks;
mod reduce;
mod scan;
