//! check
use crate::{diagnostic::Diagnostics, model::Spec};
/// Check
pub fn check(_: &Spec, _: &mut Diagnostics) {}
