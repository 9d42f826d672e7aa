//! The README and the pages of the guide, held against what they describe.

mod coverage;
mod crates;
mod environment;
mod manifests;
mod page;
mod tutorial;
