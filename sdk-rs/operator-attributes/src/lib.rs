//! The attributes of operators that have three or more, as structs.
//!
//! An operator has one, and its gradient and the functions of its shapes have the same one:
//!
//! ```
//! use tenon_operator_attributes::ConvAttributes;
//!
//! let with = ConvAttributes { strides: &[2, 2], paddings: &[0, 0], dilations: &[1, 1], ..Default::default() };
//! assert_eq!((with.groups, with.data_format), (1, "NCHW"));
//! ```
//!
//! # Stability
//!
//! A later release may add a field that has a default. A device that reads the fields it knows compiles as before. A caller
//! compiles as before if its struct ends with `..Default::default()`. The default of a field is that of the spec. A field that
//! has none is zero, false or empty.

mod groups;

pub use groups::*;
