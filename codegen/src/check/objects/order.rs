//! Streams: the order of work, and how long it uses memory.

use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Function, Param, ParamId, Role, Ty, TypeKind};
use crate::source::Span;

use crate::check::{Check, ParamList, ParamsOf};

/// Checks that a function either waits for its work or queues it.
pub(crate) fn check_waits_or_queues(check: &Check, function: &Function) {
    if let (true, Some(_)) = (function.blocking, function.stream_ordered) {
        let message = format!("`{}` waits for work that it only queues", function.name.value);
        Diagnostic::new(Code::BlockingOrder, function.places.at("blocking").key, message)
            .label("the caller waits")
            .related(
                function.places.at("stream_ordered").key,
                "the call may return before the work is complete",
            )
            .report(check);
    }
}

/// Checks that `stream_ordered` and `held` name a stream.
pub(crate) fn check_streams(check: &Check) {
    // A type without `orders` is reported once, not at each use.
    let mut reported: Vec<Ty> = Vec::new();
    let mut check_once = |stream: &Param, span: Span| {
        if !reported.contains(&stream.ty) && check_stream(check, stream, span) {
            reported.push(stream.ty);
        }
    };
    for function in &check.interface.functions {
        if let Some(id) = function.stream_ordered {
            check_once(function.param(id), function.places.span("stream_ordered"));
        }
    }
    for (list, param) in check.params() {
        if let Some(ParamId(index)) = param.held {
            check_once(&list.params[index], param.places.span("held"));
        }
    }
}

fn check_stream(check: &Check, stream: &Param, span: Span) -> bool {
    let (Ty::Named(id), Some(TypeKind::Handle { orders: false, .. })) = (stream.ty, check.kind(stream.ty))
    else {
        return false;
    };
    if !check.knows_type(stream) {
        return false;
    }
    let message = format!("`{}` is {}, which orders no work", stream.name.value, check.show_a(stream.ty));
    Diagnostic::new(Code::NoStream, span, message)
        .label("a stream is expected")
        .related(check.spec.ty(id).name.span, "the type has no `orders`")
        .help("write `orders: true` if the handle is a stream")
        .report(check);
    true
}

/// Checks that a parameter is `held` if and only if the function queues work that uses it.
pub(crate) fn check_held(check: &Check, list: ParamList, param: &Param) {
    let ParamsOf::Function(function) = list.of else { return };
    let span = param.places.at("held").key;
    match (param.held, function.stream_ordered) {
        (Some(held), Some(stream)) if held != stream && orders(check, &list.params[held.0]) => {
            let message =
                format!("`{}` is held by a stream that is not the stream of the work", param.name.value);
            Diagnostic::new(Code::HeldOrder, param.places.span("held"), message)
                .label(format!("`{}` is expected", function.param(stream).name.value))
                .related(function.places.span("stream_ordered"), "the stream of the work")
                .report(check);
        }
        (Some(_), None) if !function.places.has("stream_ordered") => {
            let message = format!("`{}` is held, but `{}` queues no work", param.name.value, list.name());
            Diagnostic::new(Code::HeldOrder, span, message)
                .label("remove this, or add `stream_ordered` to the function")
                .report(check);
        }
        (None, Some(stream)) if is_used_later(param) && !param.places.has("held") => {
            report_loose(check, function, param, stream);
        }
        _ => {}
    }
}

fn orders(check: &Check, param: &Param) -> bool {
    matches!(check.kind(param.ty), Some(TypeKind::Handle { orders: true, .. }))
}

/// Returns true if queued work may use the parameter after the call.
fn is_used_later(param: &Param) -> bool {
    param.ty == Ty::Pointer && param.space.is_some() && param.role == Role::Uses
}

fn report_loose(check: &Check, function: &Function, param: &Param, stream: ParamId) {
    let stream = &function.param(stream).name.value;
    let message = format!("it is not stated how long queued work uses `{}`", param.name.value);
    Diagnostic::new(Code::HeldOrder, param.name.span, message)
        .label(format!("`held: {stream}` is expected"))
        .related(function.places.at("stream_ordered").key, "the work may run after the call")
        .help("write `held: false` if the memory is not used after the call")
        .report(check);
}
