//! What people use, written from the model: one module for each kind of output.
//!
//! An emitter prepares data, in which every name is spelled and every decision made, and a template or `quote!` lays it
//! out. [`emit()`] runs all of them; what they say in prose comes from [`words`], so that the header, the reference and
//! the command say the same.

pub mod c;
mod callers;
pub mod changes;
pub mod docs;
pub mod python;
mod run;
pub mod rust;
pub mod schema;
mod stamp;
pub mod text;
pub mod words;

pub use run::{EmitError, Inputs, emit};
pub use stamp::{Stamp, marker};
