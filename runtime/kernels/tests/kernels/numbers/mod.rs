//! Functions of single elements.

mod cast;
mod elementwise;
mod functions;
