//! The device whose operators PaddlePaddle calls.

use std::sync::OnceLock;

use tenon::device::{DataType, Device};
use tenon_operators::{Compositions, Operators};

use crate::constants::Constants;

/// The kind of memory that a device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Only the device can access it.
    OfTheDevice,
    /// It is host memory.
    OfTheHost,
}

/// A device and its operators.
pub(crate) struct Provider {
    pub(crate) operators: &'static dyn Operators,
    pub(crate) memory: Memory,
    pub(crate) device: Box<dyn Device>,
    /// The operators that the device lacks and that are composed of its own; `None` if there are none.
    pub(crate) compositions: Option<Compositions>,
    /// The constants of compositions.
    pub(crate) constants: Constants,
    /// True if each operator waits for its work.
    pub(crate) waits: bool,
}

impl Provider {
    pub(crate) fn new(device: impl Device, operators: &'static dyn Operators, memory: Memory) -> Self {
        let compositions = Some(Compositions::of(operators)).filter(|compositions| !compositions.is_empty());
        let constants = Constants::default();
        Self { operators, memory, device: Box::new(device), compositions, constants, waits: false }
    }

    /// Returns true if, for an element type, the device has all of the methods or they are composed.
    pub(crate) fn provides(&self, methods: &[&str], ty: DataType) -> bool {
        let composes =
            |method| self.compositions.as_ref().is_some_and(|compositions| compositions.has(method, ty));
        methods.iter().all(|method| self.operators.provides(method, ty) || composes(method))
    }
}

static PROVIDER: OnceLock<Provider> = OnceLock::new();

/// Sets the provider of this library. Only the first call has an effect.
pub(crate) fn install(provider: Provider) -> &'static Provider {
    PROVIDER.get_or_init(|| provider)
}

/// Returns the provider. Kernels run only after one is installed.
pub(crate) fn get() -> Option<&'static Provider> {
    PROVIDER.get()
}
