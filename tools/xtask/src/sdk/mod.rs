//! The SDKs as users get them: the installed C SDK, and the wheels.

pub mod c;
pub mod install;
pub mod python;
pub mod wheel;
