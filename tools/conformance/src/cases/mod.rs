//! The cases: cases that are derived from the spec, and cases written by hand, a file for each topic.

mod asynchronous;
mod blas;
mod callback;
mod collective;
mod contract;
mod copy;
mod device;
mod event;
mod graph;
mod lifecycle;
mod memory;
mod order;
mod peer;
mod statistics;
mod stream;
mod threads;

use std::sync::OnceLock;

use crate::case::Case;

/// Returns all cases, in the order in which they run.
pub(crate) fn all() -> &'static [Case] {
    static ALL: OnceLock<Vec<Case>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut cases = contract::presence();
        cases.extend(device::cases());
        cases.extend(memory::cases());
        cases.extend(statistics::cases());
        cases.extend(copy::cases());
        cases.extend(asynchronous::cases());
        cases.extend(stream::cases());
        cases.extend(order::cases());
        cases.extend(event::cases());
        cases.extend(callback::cases());
        cases.extend(peer::cases());
        cases.extend(threads::cases());
        cases.extend(blas::cases());
        cases.extend(graph::cases());
        cases.extend(collective::cases());
        cases.extend(contract::calls());
        cases.extend(contract::invalid_arguments());
        cases.extend(lifecycle::cases());
        cases
    })
}
