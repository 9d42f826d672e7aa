//! Memory, copies, and values in memory.

mod allocation;
mod buffers;
mod copies;
mod managed;
mod pools;
mod values;
