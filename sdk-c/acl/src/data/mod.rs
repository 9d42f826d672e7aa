//! Host-side data objects: tensor descriptions, data buffers, message buffers and element types.
//!
//! They hold what the program stores in them and use no device, except that message buffers own host memory.

pub(crate) mod data_buffer;
pub(crate) mod element;
mod functions;
pub(crate) mod message_buffer;
pub(crate) mod tensor_desc;
