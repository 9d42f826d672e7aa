//! The checks of calls: of their arguments, of memory, and of order.

pub mod arguments;
pub mod early_wait;
pub mod functions;
pub mod memory;
pub mod order;
pub mod rules_of;
