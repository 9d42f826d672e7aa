//! Tables of a host: each function has a slot.

use crate::diagnostic::{Code, Diagnostic};
use crate::model::InterfaceKind;

use super::Check;

/// Checks that each function of a host's table has a slot of its own, and that no other function has one.
pub(super) fn check_slots(check: &Check) {
    let is_table = matches!(check.interface.kind, InterfaceKind::HostTable { .. });
    let kind = check.interface.places.span("kind");
    let mut seen = Vec::new();
    for function in &check.interface.functions {
        let (name, place) = (&function.name.value, function.places.get("slot"));
        match place {
            Some(place) if !is_table => {
                let message = format!("`{name}` is not in a table of a host");
                Diagnostic::new(Code::HostTable, place.key, message)
                    .label("`host_table` is missing in `interface.yaml`")
                    .related(kind, "the kind")
                    .report(check);
            }
            None if is_table => {
                let message = format!("`{name}` has no slot in the table of the host");
                Diagnostic::new(Code::HostTable, function.name.span, message)
                    .label("`slot` is missing")
                    .report(check);
            }
            Some(place) => {
                let first = seen.iter().find(|(slot, _)| Some(*slot) == function.slot);
                if let Some((_, first)) = first {
                    let message = format!("`{name}` has the slot of another function");
                    Diagnostic::new(Code::HostTable, place.value, message)
                        .label("the slot is taken")
                        .related(*first, "by this one")
                        .report(check);
                }
                seen.extend(function.slot.map(|slot| (slot, place.value)));
            }
            None => {}
        }
    }
}
