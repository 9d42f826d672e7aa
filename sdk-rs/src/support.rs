//! Support for generated code and other code at a C boundary. It is not a public API and changes without notice.

mod argument;
pub mod between;
mod calls;
mod error_object;
mod export;
mod import;
mod library;
mod lock;
mod manifest;
mod memory;
mod object;
mod output;
mod plugin_call;
mod thunk;
mod types;
mod word;

pub use argument::*;
pub use error_object::*;
pub use export::*;
pub use library::*;
pub use lock::*;
pub use manifest::*;
pub use memory::*;
pub use object::*;
pub use output::*;
pub use plugin_call::*;
pub use thunk::*;
pub use types::*;
pub use word::*;

pub use crate::error::{Error, StatusCode};
pub use crate::log::{log_handed_over, write_line};
pub use crate::pointer::{AnyPtr, DevicePtr, HostPtr, UnifiedPtr};
pub use crate::refusal::refuse;
