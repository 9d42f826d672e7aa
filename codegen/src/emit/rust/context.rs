//! The context of the emitters of interfaces.

use crate::grammar::outputs;
use crate::model::{Interface, Spec};

/// The interface that is emitted, and its spec.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub spec: &'a Spec,
    pub interface: &'a Interface,
}

impl Context<'_> {
    /// Returns true if another library exports the functions of the interface.
    pub fn is_forwarded(self) -> bool {
        let mut places =
            self.spec.outputs.places(&outputs::RUST_FORWARDERS).filter_map(|place| place.interface.as_ref());
        places.any(|id| std::ptr::eq(&self.spec.interfaces[id.value.0], self.interface))
    }
}
