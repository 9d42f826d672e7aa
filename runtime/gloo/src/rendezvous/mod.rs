//! Brings the members of a group together, and tells them about each other.
//!
//! The process that makes a root id serves it: the id has the address of a small server and a secret. Members send the
//! addresses at which their meshes expect each other, and get those of all others when the last one has come. Then the
//! connection stays: a member that waits for long tells what it is doing, and hears what the others do. A connection that
//! ends without a farewell is a process that ended.

mod client;
mod id;
mod server;
mod wire;

pub(crate) use client::{Heard, Membership};
pub(crate) use id::{ID_SIZE, RootId};
pub(crate) use server::Server;
pub(crate) use wire::{MemberState, Presence};
