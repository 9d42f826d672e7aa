//! emit

pub mod c;
pub mod changes;
pub mod docs;
mod run;
pub mod rust;
pub mod schema;
mod stamp;
pub mod text;
pub mod words;

pub use run::{EmitError, Inputs, emit};
pub use stamp::Stamp;
