//! Error objects, which functions return instead of a status.

use super::{FunctionId, TypeId};

/// A pointer to an object with the cause of a failure; null is success.
#[derive(Clone, Copy, Debug)]
pub struct ErrorObject {
    /// The handle.
    pub ty: TypeId,
    /// Returns its status.
    pub code: FunctionId,
    /// Returns its message.
    pub message: FunctionId,
    /// Destroys it.
    pub destroy: FunctionId,
    /// Makes one from a status and a text, if a host has such a function.
    pub make: Option<FunctionId>,
}

impl ErrorObject {
    /// Returns true if a function is one of the three. Generated code implements them itself.
    pub fn has(&self, function: FunctionId) -> bool {
        [self.code, self.message, self.destroy].contains(&function)
    }
}
