//! Objects without a device, functions that devices lack, and messages.

mod data;
mod lacking;
mod last_error;
mod less_common;
