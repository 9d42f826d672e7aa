//! Devices and contexts, and what belongs to them.

mod contexts;
mod growth;
mod limits;
mod selection;
