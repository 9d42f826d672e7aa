//! The README and the pages of the guide, held against what they describe.

mod architecture;
mod coverage;
mod crates;
mod environment;
mod hosts;
mod manifests;
mod packaging;
mod page;
mod security;
mod tutorial;
