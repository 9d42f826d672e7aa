//! Rules that read, write or sort selected elements.

pub mod indexing;
pub mod masking;
pub mod places;
pub mod slices;
pub mod sorting;
