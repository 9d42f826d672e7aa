//! What people use, written from the model.

pub mod rust;
