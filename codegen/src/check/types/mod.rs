//! Types: the status of an interface, ids, and members.

pub(super) mod enums;
pub(super) mod handles;
pub(super) mod shapes;
pub(super) mod sizes;

use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Direction, Extent, Length, Param, Ty, Type, TypeId, TypeKind};

use super::{Check, ParamsOf};

/// Checks that the status type is an enum.
pub(super) fn check_status(check: &Check) {
    let Some(status) = check.interface.status else { return };
    if !matches!(check.spec.ty(status).kind, TypeKind::Enum { .. }) {
        let message = format!("the status type {} is not an enum", check.show_type(Ty::Named(status)));
        let span = check.interface.places.span("status");
        Diagnostic::new(Code::BadStatus, span, message)
            .label("an enum is expected")
            .related(check.spec.ty(status).name.span, "defined here")
            .report(check);
    }
}

/// Checks that the status type has a value 0, which generated code uses for success.
pub(super) fn check_success(check: &Check) {
    let Some(id) = check.interface.status else { return };
    let status = check.spec.ty(id);
    let TypeKind::Enum { values, .. } = &status.kind else { return };
    let is_told = check.spec.interfaces[..check.id.0].iter().any(|other| other.status == Some(id));
    let has_success = values.iter().any(|value| value.value == 0);
    if has_success || is_told || !check.before.trusts(status.places.extent) {
        return;
    }
    let message = format!("the status type `{}` has no value 0", status.name.value);
    let stated = check.interface.places.span("status");
    Diagnostic::new(Code::NoSuccess, status.name.span, message)
        .label("0 is success")
        .related(stated, "the status of this interface")
        .report(check);
}

/// Checks that the status type has a value other than 0, which generated code returns for failures.
pub(super) fn check_failure(check: &Check) {
    let Some(id) = check.interface.status else { return };
    let status = check.spec.ty(id);
    let TypeKind::Enum { values, .. } = &status.kind else { return };
    let is_told = check.spec.interfaces[..check.id.0].iter().any(|other| other.status == Some(id));
    let is_only_success = !values.is_empty() && values.iter().all(|value| value.value == 0);
    if !is_only_success || is_told || !check.before.trusts(status.places.extent) {
        return;
    }
    let message = format!("the status type `{}` has no value for failures", status.name.value);
    let stated = check.interface.places.span("status");
    Diagnostic::new(Code::NoFailure, status.name.span, message)
        .label("each value is 0, which is success")
        .related(stated, "the status of this interface")
        .report(check);
}

/// Checks that an id is an integer.
pub(super) fn check_id(check: &Check, ty: &Type) {
    let TypeKind::Id { ty: number, .. } = ty.kind else { return };
    let field = ty.places.at("field");
    if check.trusts(&ty.places, "field") && field.has("type") && !number.is_length() {
        let message = format!("an id is an integer, not {}", check.show_type(number));
        check.report(Diagnostic::new(Code::WrongValue, field.span("type"), message).label("such as `i32`"));
    }
}

/// Checks that only a union is without a name in C, and that only a field of a struct is of its type.
pub(super) fn check_unnamed(check: &Check) {
    for ty in &check.interface.types {
        if let TypeKind::Struct { is_unnamed: true, is_union: false, .. } = ty.kind {
            let message = format!("`{}` has no name and is not a union", ty.name.value);
            Diagnostic::new(Code::UnnamedUnion, ty.places.at("unnamed").key, message)
                .label("this goes with `union: true`")
                .help("C++ has no structs without a name")
                .report(check);
        }
    }
    let is_place = |list: ParamsOf, param: &Param| match list {
        ParamsOf::Struct(ty) => {
            let is_in_union = matches!(ty.kind, TypeKind::Struct { is_union: true, .. });
            !is_in_union && param.dir == Direction::In && param.length.is_none()
        }
        ParamsOf::Function(_) | ParamsOf::Callback(_) => false,
    };
    let params = check.params().into_iter().map(|(list, param)| (is_place(list.of, param), param));
    let results = check.results().into_iter().map(|result| (false, result));
    for (is_place, param) in params.chain(results) {
        if !is_place && check.spec.is_unnamed(param.ty) {
            let message = format!("C has no name for {}", check.show_type(param.ty));
            Diagnostic::new(Code::UnnamedUnion, param.places.span("type"), message)
                .label("only a field of a struct can be of this type")
                .report(check);
        }
    }
}

/// Checks that no type contains itself, directly or through others.
pub(super) fn check_containment(check: &Check) {
    for (index, ty) in check.interface.types.iter().enumerate() {
        let id = TypeId { interface: check.id, index };
        let Some((part, path)) = path_to_itself(check, id) else { continue };
        // A cycle is reported once, at its first type.
        if path.iter().any(|other| *other < id) {
            continue;
        }
        let names: Vec<String> = [id].iter().chain(&path).map(|id| check.show_type(Ty::Named(*id))).collect();
        let message = format!("{} contains itself: {}", names[0], names.join(" → "));
        let span = part.places.span("type");
        Diagnostic::new(Code::ContainsItself, span, message)
            .label(match ty.kind {
                TypeKind::Callback { .. } => "C cannot declare such a callback",
                _ => "such a struct has no size",
            })
            .report(check);
    }
}

/// Returns the part through which a type contains itself, and the types on the way back to it.
fn path_to_itself<'a>(check: &Check<'a>, start: TypeId) -> Option<(&'a Param, Vec<TypeId>)> {
    parts(check, start).into_iter().find_map(|(part, id)| {
        let mut path = Vec::new();
        leads_to(check, id, start, &mut path, &mut Vec::new()).then_some((part, path))
    })
}

fn leads_to(
    check: &Check,
    from: TypeId,
    goal: TypeId,
    path: &mut Vec<TypeId>,
    seen: &mut Vec<TypeId>,
) -> bool {
    if seen.contains(&from) {
        return false;
    }
    seen.push(from);
    path.push(from);
    let found =
        from == goal || parts(check, from).iter().any(|(_, id)| leads_to(check, *id, goal, path, seen));
    if !found {
        path.pop();
    }
    found
}

/// Returns the types that must be defined before a type.
fn parts<'a>(check: &Check<'a>, id: TypeId) -> Vec<(&'a Param, TypeId)> {
    let is_callback = |id: TypeId| matches!(check.spec.ty(id).kind, TypeKind::Callback { .. });
    let named = |param: &'a Param| match param.ty {
        Ty::Named(id) if check.knows_type(param) => Some((param, id)),
        _ => None,
    };
    match &check.spec.ty(id).kind {
        TypeKind::Struct { fields, .. } => {
            fields.iter().filter_map(named).filter(|(field, id)| is_callback(*id) || is_part(field)).collect()
        }
        TypeKind::Callback { params, .. } => {
            params.iter().filter_map(named).filter(|(_, id)| is_callback(*id)).collect()
        }
        TypeKind::Handle { .. } | TypeKind::Id { .. } | TypeKind::Enum { .. } => Vec::new(),
    }
}

/// Returns true if a field is inside its struct, and not behind a pointer.
fn is_part(field: &Param) -> bool {
    let inline = matches!(field.length, None | Some(Length::Count(Extent::Number(_))));
    inline && field.dir == Direction::In
}
