//! The SDKs as their users have them: the installed C SDK, and the wheels.

pub mod c;
pub mod install;
pub mod python;
pub mod wheel;
