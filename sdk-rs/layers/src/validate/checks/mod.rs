//! The checks of calls: of their arguments, of memory, of order, and of collectives.

pub mod arguments;
pub mod collectives;
pub mod early_wait;
pub mod functions;
pub mod memory;
pub mod order;
pub mod rules_of;
