//! Enums: their numbers, and the meanings of status values.

use crate::diagnostic::{Code, Diagnostic};
use crate::model::{EnumValue, Meaning, Representation, Type, TypeKind};

use crate::check::Check;

/// Checks that the values of an enum have different numbers, except for an `alias`.
pub(crate) fn check_numbers_are_distinct(check: &Check, ty: &Type) {
    let values = ty.enum_values();
    for (index, value) in values.iter().enumerate().filter(|(_, value)| !value.alias) {
        let Some(before) = same_number(check, &values[..index], value) else { continue };
        let message = format!("`{}` has the same number as `{}`", value.name.value, before.name.value);
        Diagnostic::new(Code::DuplicateValue, value.places.span("value"), message)
            .label("a second name for a number needs `alias: true`")
            .related(before.places.span("value"), "first defined here")
            .report(check);
    }
}

/// Checks that an alias comes after the value whose number it repeats.
pub(crate) fn check_aliases(check: &Check, ty: &Type) {
    let values = ty.enum_values();
    for (index, value) in values.iter().enumerate().filter(|(_, value)| value.alias) {
        if is_numbered(check, value) && same_number(check, &values[..index], value).is_none() {
            let message = format!("no value before `{}` has the number {}", value.name.value, value.value);
            Diagnostic::new(Code::DuplicateValue, value.places.at("alias").key, message)
                .label("so this is not an alias")
                .report(check);
        }
    }
}

/// Checks that the numbers of an enum fit into one integer type: `int`, or `unsigned int` if one is 2^31 or more. A
/// status is an `int`.
pub(crate) fn check_range(check: &Check, ty: &Type) {
    let TypeKind::Enum { values, representation, .. } = &ty.kind else { return };
    let error =
        |value: &EnumValue, message| Diagnostic::new(Code::WrongValue, value.places.span("value"), message);
    let fits = |value: &&EnumValue| (i64::from(i32::MIN)..=i64::from(u32::MAX)).contains(&value.value);
    for value in values.iter().filter(|value| !fits(value)) {
        let message = format!("{} does not fit into an enum of C", value.value);
        error(value, message).label("an enum of C has 32 bits").report(check);
    }
    let large = values.iter().filter(fits).find(|value| !Representation::Int.has(value.value));
    let Some(large) = large.filter(|_| *representation == Representation::Unsigned) else { return };
    if is_status(check, ty) {
        let message = format!("the status `{}` does not fit into an `int`", large.name.value);
        error(large, message).label("a status must be less than 2^31").report(check);
    }
    for value in values.iter().filter(fits).filter(|value| value.value < 0) {
        let (name, other) = (&value.name.value, &large.name.value);
        let message = format!("`{name}` is negative, and `{other}` is 2^31 or more");
        error(value, message)
            .label("an `unsigned int` has no negative values")
            .related(large.places.span("value"), "an `int` does not have this value")
            .report(check);
    }
}

/// Returns true if an enum is the status of an interface.
fn is_status(check: &Check, ty: &Type) -> bool {
    let mut statuses = check.spec.interfaces.iter().filter_map(|interface| interface.status);
    statuses.any(|id| std::ptr::eq(check.spec.ty(id), ty))
}

/// Checks that each meaning belongs to at most one value, because generated code returns that value.
pub(crate) fn check_meanings(check: &Check, ty: &Type) {
    for meaning in [Meaning::InvalidArgument, Meaning::Unsupported, Meaning::Internal] {
        let mut with = ty.enum_values().iter().filter(|value| value.means == Some(meaning));
        let Some(first) = with.next() else { continue };
        for second in with {
            let message = format!("`{}` means the same as `{}`", second.name.value, first.name.value);
            Diagnostic::new(Code::DuplicateValue, second.places.span("means"), message)
                .label("at most one value may have a meaning")
                .related(first.places.span("means"), "first given here")
                .report(check);
        }
    }
}

fn same_number<'a>(check: &Check, before: &'a [EnumValue], value: &EnumValue) -> Option<&'a EnumValue> {
    before.iter().filter(|_| is_numbered(check, value)).find(|other| {
        other.value == value.value
            && is_numbered(check, other)
            && other.availability.overlaps(value.availability)
    })
}

fn is_numbered(check: &Check, value: &EnumValue) -> bool {
    value.places.has("value") && check.trusts(&value.places, "value")
}
