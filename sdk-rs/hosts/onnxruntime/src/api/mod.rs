//! The tables of the host and the objects that it calls, generated from `spec`.

pub(crate) mod base;
pub(crate) mod ep;
pub(crate) mod objects;
pub(crate) mod runtime;

// Generated modules name each other as the spec does.
pub(crate) use objects as onnxruntime_objects;
pub(crate) use runtime as onnxruntime;
