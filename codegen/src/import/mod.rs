//! Reads C headers: drafts a spec from one, or compares a spec with one.

pub mod clang;
mod comment;
pub mod compare;
pub mod draft;
mod guess;
pub mod header;
mod names;
pub mod read;
mod table;
mod types;

/// Returns a name for a spec from that of a header.
pub fn name_of(stem: &str) -> String {
    names::snake(stem, "api")
}
