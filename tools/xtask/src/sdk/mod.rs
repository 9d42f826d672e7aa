//! The SDKs as users install them: the C SDK and the wheels.

pub mod c;
pub mod install;
pub mod python;
pub mod wheel;
