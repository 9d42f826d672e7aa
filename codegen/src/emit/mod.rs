//! Emitters: write the outputs of a spec. Each kind of output is one folder, which implements [`Emitter`](emitter::Emitter) and is
//! registered in [`registry`].
//!
//! An emitter prepares data with all names and decisions, and a template or `quote!` lays it out. [`emit()`] runs the
//! emitters that the spec asks for. Their prose comes from [`descriptions`], so that the header, the reference and the
//! command use the same texts.

pub mod c;
pub mod changes;
pub mod descriptions;
pub mod docs;
pub mod emitter;
mod json;
pub mod python;
pub mod registry;
mod run;
pub mod rust;
pub mod schema;
mod stamp;

pub use emitter::{EmitError, Inputs, Registered};
pub use registry::EMITTERS;
pub use run::{emit, emit_committed};
pub use stamp::{Stamp, marker};
