//! Rules about references between parameters: owners, streams and contexts.

use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Function, Param, ParamId, Role, Space, Ty, TypeKind};

use crate::check::{Check, ParamList};

/// Checks that `of` names a handle or an id.
pub(crate) fn check_owner(check: &Check, list: ParamList, param: &Param) {
    let Some(owner) = param.of.map(|id| &list.params[id.0]) else { return };
    let is_owner = matches!(check.kind(owner.ty), Some(TypeKind::Handle { .. } | TypeKind::Id { .. }));
    if std::ptr::eq(owner, param) {
        let message = format!("`{}` cannot own itself", param.name.value);
        let diagnostic = Diagnostic::new(Code::Owner, param.places.span("of"), message);
        check.report(diagnostic.label("another parameter is expected"));
    } else if check.knows_type(owner) && !is_owner {
        let diagnostic = misnamed(check, param, "of", owner, "own anything");
        check.report(diagnostic.label("a handle or an id is expected"));
    }
}

/// Checks that device memory names its device if the function has one, that host memory belongs to no device, and that
/// a handle that is created for a device belongs to it.
pub(crate) fn check_owner_is_named(check: &Check, function: &Function) {
    let is_device = |param: &Param| matches!(check.kind(param.ty), Some(TypeKind::Id { .. }));
    let devices: Vec<&Param> = function.params.iter().filter(|param| is_device(param)).collect();
    for param in function.params.iter().filter(|param| param.role == Role::Uses) {
        let owner = param.of.map(|id| function.param(id)).filter(|owner| is_device(owner));
        let of_device = param.ty == Ty::Pointer && param.space == Some(Space::Device);
        let stays = devices.len() == 1 && is_made_for_a_device(check, param.ty);
        let name = &param.name.value;
        let (span, message, label) = match (&devices[..], owner) {
            (_, Some(_)) if param.ty == Ty::Pointer && param.space == Some(Space::Host) => (
                param.places.at("of").key,
                format!("`{name}` is host memory, but belongs to a device"),
                "host memory belongs to no device".to_owned(),
            ),
            ([first, ..], None) if (of_device || stays) && param.of.is_none() => (
                param.name.span,
                format!("it is not stated which device `{name}` belongs to"),
                format!("did you mean `of: {}`?", first.name.value),
            ),
            _ => continue,
        };
        check.report(Diagnostic::new(Code::Owner, span, message).label(label));
    }
}

fn is_made_for_a_device(check: &Check, ty: Ty) -> bool {
    let Some(TypeKind::Handle { .. }) = check.kind(ty) else { return false };
    check.interface.functions.iter().any(|function| {
        let makes = |param: &&Param| param.role == Role::Creates && param.ty == ty;
        let owner =
            |param: &Param| param.of.map(|id| function.param(id).ty).and_then(|owner| check.kind(owner));
        function.params.iter().filter(makes).any(|param| matches!(owner(param), Some(TypeKind::Id { .. })))
    })
}

/// Checks that `held` names a stream, and is a key of memory.
pub(crate) fn check_holder(check: &Check, list: ParamList, param: &Param) {
    let Some(stream) = param.held.map(|id| &list.params[id.0]) else { return };
    if check.knows_type(stream) && !is_handle(check, stream) {
        let diagnostic = misnamed(check, param, "held", stream, "hold memory");
        check.report(diagnostic.label("a stream is expected"));
    } else if param.ty != Ty::Pointer && param.length.is_none() {
        let message = format!("`{}` is not memory, so a stream cannot hold it", param.name.value);
        Diagnostic::new(Code::Owner, param.places.at("held").key, message)
            .label("only pointers and arrays can have this")
            .related(param.places.span("type"), "the type")
            .report(check);
    }
}

/// Checks that `stream_ordered` names a stream.
pub(crate) fn check_order(check: &Check, function: &Function) {
    let Some(ParamId(index)) = function.stream_ordered else { return };
    let stream = &function.params[index];
    if check.knows_type(stream) && !is_handle(check, stream) {
        let message = format!("`{}` is not a stream, so it does not order work", stream.name.value);
        Diagnostic::new(Code::Owner, function.places.span("stream_ordered"), message)
            .label("a stream is expected")
            .related(stream.places.span("type"), format!("this is {}", check.show_param(stream)))
            .report(check);
    }
}

/// Checks that `context_of` is a key of a pointer, and names a callback.
pub(crate) fn check_context(check: &Check, list: ParamList, param: &Param) {
    let Some(callback) = param.context_of.map(|id| &list.params[id.0]) else { return };
    let is_callback = matches!(check.kind(callback.ty), Some(TypeKind::Callback { .. }));
    if param.ty != Ty::Pointer {
        let message = format!("a context is a `pointer`, not {}", check.show_a(param.ty));
        let place = param.places.at("context_of").key;
        Diagnostic::new(Code::CallbackContext, place, message)
            .label("only a `pointer` can have this")
            .related(param.places.span("type"), "the type")
            .report(check);
    } else if check.knows_type(callback) && !is_callback {
        let diagnostic = misnamed(check, param, "context_of", callback, "be called");
        check.report(diagnostic.label("a callback is expected"));
    }
}

fn is_handle(check: &Check, param: &Param) -> bool {
    matches!(check.kind(param.ty), Some(TypeKind::Handle { .. }))
}

fn misnamed(check: &Check, param: &Param, key: &str, named: &Param, ability: &str) -> Diagnostic {
    let code = if key == "context_of" { Code::CallbackContext } else { Code::Owner };
    let message = format!("`{}` is {}, which cannot {ability}", named.name.value, check.show_a(named.ty));
    let diagnostic = Diagnostic::new(code, param.places.span(key), message);
    diagnostic.related(named.places.span("type"), "its type")
}
