//! The outputs of the generator.

mod c_header;
mod export;
mod library;
mod names;
mod operators;
mod python;
mod reference;
mod schema;
mod sdk;
