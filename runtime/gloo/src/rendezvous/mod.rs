//! Brings the members of a group together, and tells them about each other.
//!
//! The process that makes a root id serves it: the id has the address of a small server and a secret. Members send the
//! addresses at which their meshes expect each other, and get those of all others when the last one has come. Then the
//! connection stays: a member that waits for long tells what it is doing, and hears what the others do. A connection that
//! ends without a farewell is a process that ended.
//!
//! Processes that only know an address get the id at a meeting.

mod client;
mod id;
mod listener;
mod meeting;
mod server;
mod wire;

pub(crate) use client::{Heard, Membership};
pub(crate) use id::{ID_SIZE, RootId};
pub use meeting::meet;
pub(crate) use server::Server;
pub(crate) use wire::{MemberState, Presence};

/// Names the ranks that did not come.
fn missing(ranks: impl Iterator<Item = usize>, size: usize) -> String {
    let ranks: Vec<String> = ranks.map(|rank| rank.to_string()).collect();
    let noun = if ranks.len() == 1 { "rank" } else { "ranks" };
    format!("{noun} {} of {size} did not come", ranks.join(", "))
}
