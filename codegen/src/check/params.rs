//! Rules about single parameters, fields and results: direction, lifetime, memory and length.

use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Direction, Extent, FunctionId, Length, Param, ResultKind, Role, Ty, TypeKind};

use super::{Check, ParamList, ParamsOf};

/// Checks that only parameters that C passes by pointer are outputs.
pub(super) fn check_direction(check: &Check, list: ParamList, param: &Param) {
    if param.dir == Direction::In {
        return;
    }
    let span = param.places.span("dir");
    let name = &param.name.value;
    if let Some(TypeKind::Callback { .. }) = check.kind(param.ty) {
        let message = format!("`{name}` is a callback, which `{}` cannot write", list.name());
        let diagnostic = Diagnostic::new(Code::Direction, span, message).label("a callback is always `in`");
        check.report(diagnostic.related(param.places.span("type"), "the type of the parameter"));
    }
    if param.ty == Ty::String && !param.places.has("bytes") && !param.lent {
        let message = format!("the size of the buffer `{name}` is not stated");
        Diagnostic::new(Code::Direction, span, message)
            .label("a `string` output needs `bytes`, the size of its buffer")
            .related(param.places.span("type"), "the type of the parameter")
            .report(check);
    }
}

/// Checks that `role: creates` is used with an output, and `role: destroys` with an input.
pub(super) fn check_life(check: &Check, _: ParamList, param: &Param) {
    let (ending, right) = match (param.role, param.dir) {
        (Role::Creates, Direction::In) => ("is created by the call, so it cannot be `in`", "`dir: out`"),
        (Role::Destroys, Direction::Out) => {
            ("is destroyed by the call, so it cannot be `out`", "`dir: in` or `dir: inout`")
        }
        (Role::Creates | Role::Destroys | Role::Uses, _) => return,
    };
    let message = format!("`{}` {ending}", param.name.value);
    Diagnostic::new(Code::Direction, param.places.span("role"), message)
        .label(format!("this needs {right}"))
        .related_if(param.places.get("dir").map(|dir| dir.value), "the direction")
        .report(check);
}

/// Checks that only what is created and destroyed has a role.
pub(super) fn check_role(check: &Check, param: &Param) {
    if param.role != Role::Uses && !has_life(check, param.ty) {
        let message = format!("{} is not created or destroyed", check.show_a(param.ty));
        Diagnostic::new(Code::LifeMisplaced, param.places.span("role"), message)
            .label("leave this out")
            .related(param.places.span("type"), "the type")
            .report(check);
    }
}

fn has_life(check: &Check, ty: Ty) -> bool {
    match ty {
        Ty::String | Ty::Pointer => true,
        Ty::Bool | Ty::Int { .. } | Ty::F32 | Ty::F64 | Ty::Size | Ty::ULongLong | Ty::Char => false,
        Ty::Named(id) => match check.spec.ty(id).kind {
            TypeKind::Handle { .. } | TypeKind::Struct { .. } => true,
            TypeKind::Id { .. } | TypeKind::Enum { .. } | TypeKind::Callback { .. } => false,
        },
    }
}

/// Checks that only a pointer has a memory space.
pub(super) fn check_space(check: &Check, param: &Param) {
    if param.space.is_some() && param.ty != Ty::Pointer {
        let message = format!("{} has no memory space", check.show_a(param.ty));
        Diagnostic::new(Code::SpaceWithoutPointer, param.places.span("space"), message)
            .label("only a `pointer` has one")
            .related(param.places.span("type"), "the type")
            .report(check);
    }
}

/// Checks that only a parameter that is passed by pointer can be null.
pub(super) fn check_null(check: &Check, param: &Param) {
    let by_pointer = param.dir != Direction::In
        || param.by_pointer
        || param.length.is_some()
        || can_be_null(check, param.ty);
    if param.nullable && !by_pointer {
        let message = format!("{} is passed by value, so it cannot be null", check.show_a(param.ty));
        let span = param.places.at("nullable").key;
        let diagnostic = Diagnostic::new(Code::NullByValue, span, message).label("leave this out");
        check.report(diagnostic.related(param.places.span("type"), "the type"));
    }
}

fn can_be_null(check: &Check, ty: Ty) -> bool {
    match ty {
        Ty::String | Ty::Pointer => true,
        Ty::Bool | Ty::Int { .. } | Ty::F32 | Ty::F64 | Ty::Size | Ty::ULongLong | Ty::Char => false,
        Ty::Named(id) => match check.spec.ty(id).kind {
            TypeKind::Handle { .. } | TypeKind::Id { .. } | TypeKind::Callback { .. } => true,
            TypeKind::Enum { .. } | TypeKind::Struct { .. } => false,
        },
    }
}

/// Checks that only untyped memory has a length in bytes, and that a `char` has a length.
pub(super) fn check_length_place(check: &Check, param: &Param) {
    match (param.ty, &param.length) {
        (Ty::Char, None) if !param.places.has("bytes") && !param.places.has("count") => {
            let message = format!("the length of the `char` array `{}` is not stated", param.name.value);
            Diagnostic::new(Code::LengthMisplaced, param.places.span("type"), message)
                .label("a `char` needs `bytes` or `count`; NUL-terminated text is a `string`")
                .report(check);
        }
        (Ty::Pointer | Ty::String | Ty::Char, _) | (_, None | Some(Length::Count(_))) => {}
        (_, Some(Length::Bytes(_))) => {
            let message = format!("{} has no length in bytes", check.show_a(param.ty));
            Diagnostic::new(Code::LengthMisplaced, param.places.at("bytes").key, message)
                .label("`count`, a number of elements, is expected")
                .related(param.places.span("type"), "the type")
                .report(check);
        }
    }
}

/// Checks that a length is an integer that the caller passes.
pub(super) fn check_length_type(check: &Check, list: ParamList, param: &Param) {
    let Some((Extent::Param(id), key)) = extent(param) else { return };
    let length = &list.params[id.0];
    let message = match () {
        () if !check.knows_type(length) => return,
        () if std::ptr::eq(length, param) => format!("`{}` cannot be its own length", length.name.value),
        () if !length.ty.is_length() || length.length.is_some() => {
            format!("`{}` is not an integer, so it cannot be a length", length.name.value)
        }
        () if length.dir == Direction::Out && !param.lent => {
            format!("`{}` is known only after the call, so it cannot be a length", length.name.value)
        }
        () => return,
    };
    Diagnostic::new(Code::LengthType, param.places.span(key), message)
        .label("expected a `size` or another integer that the caller passes")
        .related(length.name.span, format!("this is {}", check.show_param(length)))
        .report(check);
}

/// Checks that a `call` length names a function with no inputs and exactly one integer output.
pub(super) fn check_length_call(check: &Check, list: ParamList, param: &Param) {
    let Some((Extent::Call(id), key)) = extent(param) else { return };
    let source = check.interface.function(*id);
    if !check.before.trusts(source.places.extent) {
        return;
    }
    let message = match (list.of, check.single_result(*id)) {
        (ParamsOf::Callback(_) | ParamsOf::Struct(_), _) => {
            format!(
                "`{}` is not a parameter of a function, so its length cannot be a `call`",
                param.name.value
            )
        }
        (ParamsOf::Function(_), Some(result)) if result.ty.is_length() => return,
        (ParamsOf::Function(_), _) => {
            format!("`{}` does not have exactly one integer result and no inputs", source.name.value)
        }
    };
    Diagnostic::new(Code::LengthType, param.places.at(key).span("call"), message)
        .label("expected a function without inputs that yields one integer")
        .related(source.name.span, "defined here")
        .report(check);
}

fn extent(param: &Param) -> Option<(&Extent, &'static str)> {
    match param.length.as_ref()? {
        Length::Bytes(extent) => Some((extent, "bytes")),
        Length::Count(extent) => Some((extent, "count")),
    }
}

impl<'a> Check<'a> {
    /// Returns the single result of a function without inputs.
    pub(super) fn single_result(&self, id: FunctionId) -> Option<&'a Param> {
        let function = self.interface.function(id);
        let result = function.outputs().map(|(_, param)| param).chain(function.result.value());
        let asked = function.params.iter().filter(|param| !param.is_output() && !param.is_status).count();
        let result: Vec<&Param> = result.collect();
        match &result[..] {
            [value] if asked == 0 && value.length.is_none() => Some(value),
            _ => None,
        }
    }
}

/// Checks that a parameter with `status: true` is an output of the status type, and the only status of the call.
pub(super) fn check_status_parameter(check: &Check) {
    for list in check.lists() {
        let mut first: Option<&Param> = None;
        for param in list.params.iter().filter(|param| param.is_status && check.knows_type(param)) {
            let span = param.places.at("status").key;
            if let Some(first) = first.replace(param) {
                let message = format!("`{}` returns its status through two parameters", list.name());
                let diagnostic =
                    Diagnostic::new(Code::StatusParameter, span, message).label("the second parameter");
                check.report(diagnostic.related(first.places.at("status").key, "the first parameter"));
            }
            check_status_type(check, param);
        }
        if let (Some(param), ParamsOf::Function(function)) = (first, list.of)
            && matches!(function.result, ResultKind::Status)
        {
            let message = format!("`{}` already returns its status", list.name());
            Diagnostic::new(Code::StatusParameter, param.places.at("status").key, message)
                .label("a second status")
                .related_if(function.places.get("result").map(|result| result.value), "the first status")
                .help("write `result: none`, or a type, if the function returns no status")
                .report(check);
        }
    }
}

fn check_status_type(check: &Check, param: &Param) {
    let status = check.interface.status.map(Ty::Named);
    if status.is_some_and(|status| status != param.ty) {
        let message = format!("{} does not carry a status", check.show_a(param.ty));
        let expected = status.map(|status| format!("{} is expected", check.show_type(status)));
        let span = param.places.span("type");
        let stated = check.interface.places.span("status");
        let diagnostic = Diagnostic::new(Code::StatusParameter, span, message);
        let diagnostic = diagnostic.label(expected.unwrap_or_default());
        check.report(diagnostic.related(stated, "the status of this interface"));
    } else if param.dir != Direction::Out {
        let message = format!("`{}` is the status, but it is not an output", param.name.value);
        let span = param.places.span("dir");
        let diagnostic =
            Diagnostic::new(Code::StatusParameter, span, message).label("`dir: out` is expected");
        check.report(diagnostic.related(param.places.at("status").key, "marked as the status here"));
    }
}

/// Checks that each key is used only where it is allowed: at a parameter, at a field, or at a result.
pub(super) fn check_keys(check: &Check) {
    let wrong = |param: &Param, key: &str, of: &str, belongs: &str| {
        let Some(place) = param.places.get(key) else { return };
        let message = format!("{of} has no key `{key}`");
        Diagnostic::new(Code::UnknownKey, place.key, message)
            .label(format!("it belongs to {belongs}"))
            .report(check);
    };
    for (list, param) in check.params() {
        let of = if matches!(list.of, ParamsOf::Struct(_)) { "a field" } else { "a parameter" };
        let is_struct = matches!(check.kind(param.ty), Some(TypeKind::Struct { .. }));
        wrong(param, "failure", of, "the result of an export");
        match list.of {
            ParamsOf::Struct(_) => wrong(param, "by", of, "a parameter"),
            ParamsOf::Function(_) | ParamsOf::Callback(_) => wrong(param, "c", of, "a field"),
        }
        if !matches!(list.of, ParamsOf::Struct(_)) && !is_struct {
            wrong(param, "by", check.show_a(param.ty).as_str(), "a struct");
        }
    }
    for result in check.results() {
        wrong(result, "c", "a result", "a field");
        wrong(result, "by", "a result", "a parameter");
    }
}
