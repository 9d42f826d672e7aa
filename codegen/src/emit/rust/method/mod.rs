//! The methods of traits, and the conversions between them and functions of the ABI.

pub mod error_object;
pub mod fallback;
pub mod form;
pub mod pieces;
pub mod thunk;
pub mod traits;
pub mod values;
