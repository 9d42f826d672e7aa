//! Functions that a library exports, refuses, forwards or looks up in another library.

pub mod c_api;
pub mod export;
pub mod forwarder;
pub mod import;
pub mod refusal;
