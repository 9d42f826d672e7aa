//! The text of generated files: comments, imports, short paths and the layout.

pub mod comments;
pub mod file;
pub mod imports;
pub mod list;
mod print;
pub mod rustfmt;
pub mod short;
pub mod signature;
