//! Objects without a device, functions that devices lack, and messages.

mod data;
mod further;
mod lacking;
mod last_error;
