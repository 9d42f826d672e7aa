//! Streams, and what orders and observes the work on them.

mod callbacks;
mod events;
mod notifies;
mod observers;
mod streams;
