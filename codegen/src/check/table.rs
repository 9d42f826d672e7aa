//! The table: its slots, its reserves, and how it is handed over.

use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Block, FunctionId, Param, Slot, Table, Ty, TypeKind};
use crate::source::At;

use super::Check;

/// Checks that a slot belongs to at most one function in each release.
pub(super) fn check_slot_owners(check: &Check) {
    for slot in slots(check) {
        for (index, later) in slot.functions.iter().enumerate() {
            let availability = |id: &At<FunctionId>| check.interface.function(id.value).availability;
            let overlaps = |earlier: &&At<FunctionId>| {
                earlier.value != later.value && availability(earlier).overlaps(availability(later))
            };
            let Some(earlier) = slot.functions[..index].iter().find(overlaps) else { continue };
            let (first, second) = (check.name(earlier.value), check.name(later.value));
            let message = format!("`{first}` and `{second}` have the same slot in the same release");
            Diagnostic::new(Code::SlotTaken, later.span, message)
                .label("the slot is already used")
                .related(earlier.span, "by this one")
                .help("add `until` to one and `since` to the other if they replace each other")
                .report(check);
        }
    }
}

/// Checks that a function has only one slot.
pub(super) fn check_slots_are_distinct(check: &Check) {
    let mut seen: Vec<&At<FunctionId>> = Vec::new();
    for owner in check.interface.table().into_iter().flat_map(Table::slot_owners) {
        if let Some(first) = seen.iter().find(|first| first.value == owner.value) {
            let message = format!("`{}` has two slots", check.name(owner.value));
            let diagnostic = Diagnostic::new(Code::SlotTwice, owner.span, message).label("the second slot");
            check.report(diagnostic.related(first.span, "the first slot"));
        }
        seen.push(owner);
    }
}

/// Checks that every function has a slot.
pub(super) fn check_every_function_has_a_slot(check: &Check) {
    // The missing slot may be one that was not parsed.
    let places = &check.interface.places;
    let Some(table) = check.interface.table() else { return };
    if !check.trusts(places, "table") || !check.trusts(places, "extension") {
        return;
    }
    let owners: Vec<FunctionId> = table.slot_owners().map(|owner| owner.value).collect();
    for (id, function) in check.interface.function_ids() {
        let is_first = check.interface.find(&function.name.value).is_some_and(|(first, _)| first == id);
        if is_first && !function.name.value.is_empty() && !owners.contains(&id) {
            let message = format!("`{}` has no slot in the table", function.name.value);
            Diagnostic::new(Code::NoSlot, function.name.span, message)
                .label("not one of the `slots`")
                .related(check.interface.places.at("table").at("blocks").key, "the slots are listed here")
                .report(check);
        }
    }
}

/// Checks that an extension is independent of hosts: no function is required or depends on the host's release. Its own
/// releases are in order.
pub(super) fn check_extension(check: &Check) {
    let Some(extension) = check.interface.table().and_then(|table| table.extension.as_ref()) else { return };
    for pair in extension.releases.windows(2) {
        if pair[0].version >= pair[1].version {
            let (before, name) = (&pair[0].name, &pair[1].name);
            let message = format!("release {} does not come after release {}", name.value, before.value);
            Diagnostic::new(Code::ReleaseOrder, name.span, message)
                .label("list the oldest release first")
                .related(before.span, "this release is not older")
                .report(check);
        }
    }
    for owner in extension.functions() {
        let function = check.interface.function(owner.value);
        let keys = ["required", "fill", "since", "until"];
        for place in keys.into_iter().filter_map(|key| function.places.get(key)) {
            let message = format!("`{}` is in the extension, which hosts do not know", function.name.value);
            Diagnostic::new(Code::HostOfExtension, place.key, message)
                .label("this key concerns hosts")
                .related(owner.span, "its slot")
                .report(check);
        }
    }
}

/// Checks that a reserve has enough slots for the functions that take their slot from it.
pub(super) fn check_reserves(check: &Check) {
    let Some(table) = check.interface.table() else { return };
    for block in &table.blocks {
        let taken = |slot: &&Slot| slot.from_reserve;
        let Some(reserve) = &block.reserved else {
            for owner in block.slots.iter().filter(taken).filter_map(|slot| slot.functions.first()) {
                let message = format!("the block `{}` has no reserve", block.name);
                let label = format!("`{}` cannot take its slot from it", check.name(owner.value));
                check.report(Diagnostic::new(Code::ReserveSpent, owner.span, message).label(label));
            }
            continue;
        };
        if let Some(owner) = overdrawing(check, block, reserve.count) {
            let message = format!("the reserve `{}` has no slot left", reserve.name);
            Diagnostic::new(Code::ReserveSpent, owner.span, message)
                .label(format!("for `{}`", check.name(owner.value)))
                .related(reserve.span, format!("this reserve had {}", reserve.count))
                .report(check);
        }
    }
}

/// Returns the first function that exceeds a reserve of `count` slots, in the first such release.
fn overdrawing<'a>(check: &Check<'a>, block: &'a Block, count: u64) -> Option<&'a At<FunctionId>> {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    check.interface.abis().into_iter().find_map(|release| {
        let there =
            |owner: &&At<FunctionId>| check.interface.function(owner.value).availability.is_in(release);
        let takers = block.slots.iter().filter(|slot| slot.from_reserve);
        takers.flat_map(|slot| &slot.functions).filter(there).nth(count)
    })
}

/// Checks that the argument of the entry point is a struct.
pub(super) fn check_plugin_struct(check: &Check) {
    let Some(plugin) = check.interface.table().and_then(|table| table.plugin()) else { return };
    let ty = check.spec.ty(plugin.params);
    if !matches!(ty.kind, TypeKind::Struct { .. }) {
        let message =
            format!("the table is handed over in a struct, but `{}` is not a struct", ty.name.value);
        Diagnostic::new(Code::BadField, check.interface.places.at("plugin").span("params"), message)
            .label("a struct is expected")
            .related(ty.name.span, "defined here")
            .report(check);
    }
}

/// A key of the hand-over, the field that it names, and a test for the type of the field.
type Named<'a> = (&'a str, Option<&'a str>, &'a dyn Fn(Ty) -> bool, &'a str);

/// Checks that the keys of the hand-over name fields of its struct that have suitable types.
pub(super) fn check_plugin_fields(check: &Check) {
    let Some(plugin) = check.interface.table().and_then(|table| table.plugin()) else { return };
    let TypeKind::Struct { fields, .. } = &check.spec.ty(plugin.params).kind else { return };
    let is_version = |ty: Ty| match check.kind(ty) {
        Some(TypeKind::Struct { fields, .. }) => {
            fields.len() == 3 && fields.iter().all(|it| it.ty.is_length())
        }
        _ => false,
    };
    let is_pointer = |ty: Ty| ty == Ty::Pointer;
    let is_size = |ty: Ty| ty == Ty::Size;
    let is_string = |ty: Ty| ty == Ty::String;
    let named: [Named; 5] = [
        ("table", Some(&plugin.table), &is_pointer, "a `pointer`"),
        ("size", Some(&plugin.size), &is_size, "a `size`"),
        ("version", Some(&plugin.version_field), &is_version, "a struct of three whole numbers"),
        ("device_type", Some(&plugin.device_type), &is_string, "a `string`"),
        ("sub_device_type", plugin.sub_device_type.as_deref(), &is_string, "a `string`"),
    ];
    for (key, name, is_right, expected) in named {
        let Some(name) = name else { continue };
        let field = fields.iter().find(|field| field.name.value == name);
        let holds = |field: &Param| !check.is_sound(field) || is_right(field.ty) && field.length.is_none();
        if !field.is_some_and(holds) {
            check.report(check.wrong_field(key, name, fields, expected));
        }
    }
}

impl Check<'_> {
    fn name(&self, id: FunctionId) -> &str {
        &self.interface.function(id).name.value
    }

    fn wrong_field(&self, key: &str, name: &str, fields: &[Param], expected: &str) -> Diagnostic {
        let plugin = self.interface.places.at("plugin");
        let place = plugin.at(key);
        let span = place.get("field").map_or(place.value, |field| field.value);
        match fields.iter().find(|field| field.name.value == name) {
            Some(field) => Diagnostic::new(
                Code::BadField,
                span,
                format!("the field `{name}` is {}", self.show_a(field.ty)),
            )
            .label(format!("{expected} is expected"))
            .related(field.places.span("type"), "its type"),
            None => Diagnostic::new(Code::BadField, span, format!("the params have no field `{name}`"))
                .label("not one of its fields")
                .nearest(name, fields.iter().map(|field| field.name.value.as_str())),
        }
    }
}

fn slots<'a>(check: &Check<'a>) -> Vec<&'a Slot> {
    let blocks = check.interface.table().map_or(&[][..], |Table { blocks, .. }| blocks);
    blocks.iter().flat_map(|block| &block.slots).collect()
}
