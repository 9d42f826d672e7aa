//! Host-side data objects: tensor descriptions, data buffers, message buffers and element types.
//!
//! They store data of the program and use no device; message buffers also own host memory.

pub(crate) mod data_buffer;
pub(crate) mod element;
mod functions;
pub(crate) mod message_buffer;
pub(crate) mod tensor_desc;
