//! Reads YAML, keeps the location of each value, and checks which keys a file may have. Does not interpret the spec.

mod node;
pub mod shape;
pub mod text;

pub use node::{Content, Misread, Node, parse};
