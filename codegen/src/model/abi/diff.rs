//! Compares two releases: what changed, and which side each change breaks.

use super::{MemberKind, TableLayout, table_layout};
use crate::model::{Function, FunctionId, Interface, ReleaseId, Table};

/// A change from an older release to a newer one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The function; `None`: the table as a whole, or a reserve.
    pub function: Option<FunctionId>,
    /// A change.
    pub kind: ChangeKind,
    /// A plugin built for the older release breaks in a host of the newer one, unless it is adapted.
    pub breaks_plugin: bool,
    /// A host of the older release breaks with a plugin built for the newer one, unless it is adapted.
    pub breaks_host: bool,
}

/// The forms of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The struct grew or shrank: sizes in bytes.
    Size(u64, u64),
    /// The function came, at this offset.
    Added(u64),
    /// The function went, from this offset.
    Removed(u64),
    /// The pointer moved: offsets in bytes.
    Moved(u64, u64),
    /// The parameters changed: names that came and names that went.
    Signature {
        /// Parameters that only the newer release passes.
        added: Vec<String>,
        /// Parameters that only the older release passes.
        removed: Vec<String>,
    },
    /// A reserve changed: its name, and elements in either release.
    Reserve(String, u64, u64),
}

/// Returns the changes from `older` to `newer`, in the order of the newer layout.
pub fn diff(interface: &Interface, table: &Table, older: ReleaseId, newer: ReleaseId) -> Vec<Change> {
    let before = table_layout(interface, table, Some(older));
    let after = table_layout(interface, table, Some(newer));
    let mut changes = Vec::new();
    if before.size != after.size {
        changes.push(Change {
            function: None,
            kind: ChangeKind::Size(before.size, after.size),
            breaks_plugin: after.size < before.size,
            // A plugin that fills the larger table writes past the end of the smaller one.
            breaks_host: after.size > before.size,
        });
    }
    for id in after.functions() {
        changes.extend(of_function(interface.function(id), id, &before, &after, older, newer));
    }
    for id in before.functions().filter(|id| after.offset_of(*id).is_none()) {
        let offset = before.offset_of(id).unwrap_or_default();
        changes.push(Change {
            function: Some(id),
            kind: ChangeKind::Removed(offset),
            breaks_plugin: true,
            breaks_host: true,
        });
    }
    let reserves = |layout: &TableLayout| -> Vec<(String, u64)> {
        layout
            .members
            .iter()
            .filter_map(|member| match &member.kind {
                MemberKind::Reserved(name, count) => Some((name.clone(), *count)),
                _ => None,
            })
            .collect()
    };
    let old_reserves = reserves(&before);
    for (name, count) in reserves(&after) {
        let old = old_reserves.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count);
        if old != count {
            let kind = ChangeKind::Reserve(name, old, count);
            changes.push(Change { function: None, kind, breaks_plugin: false, breaks_host: false });
        }
    }
    changes
}

fn of_function(
    function: &Function,
    id: FunctionId,
    before: &TableLayout,
    after: &TableLayout,
    older: ReleaseId,
    newer: ReleaseId,
) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut push = |kind, breaks_plugin, breaks_host| {
        changes.push(Change { function: Some(id), kind, breaks_plugin, breaks_host });
    };
    match (before.offset_of(id), after.offset_of(id)) {
        // If a slot was reserved before, an old plugin leaves null; where something moved away, it leaves
        // that.
        (None, Some(offset)) => {
            let occupied = before.members.iter().any(|member| {
                matches!(member.kind, MemberKind::Function(_))
                    && (member.offset..member.offset + member.size).contains(&offset)
            });
            let past_end = offset >= before.size;
            push(ChangeKind::Added(offset), occupied, past_end || occupied);
        }
        (Some(old), Some(new)) if old != new => push(ChangeKind::Moved(old, new), true, true),
        _ => {}
    }
    if before.offset_of(id).is_some() {
        let names = |release, other| -> Vec<String> {
            function
                .params_in(Some(release))
                .filter(|param| !param.availability.contains(other))
                .map(|param| param.name.value.clone())
                .collect()
        };
        let (added, removed) = (names(newer, older), names(older, newer));
        if !added.is_empty() || !removed.is_empty() {
            push(ChangeKind::Signature { added, removed }, true, true);
        }
    }
    changes
}
