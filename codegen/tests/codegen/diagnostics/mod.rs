//! The diagnostics of broken specs.

mod mistakes;
mod mutations;
