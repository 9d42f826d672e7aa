//! Rules about whole functions: required functions, absence, and results.

use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Direction, Function, Need, Param, ResultKind, TypeKind};

use super::Check;

/// Checks that a required function has no fallback, because the fallback would never run.
pub(super) fn check_required_has_no_fallback(check: &Check, function: &Function) {
    if let (false, Some(place)) = (function.is_optional(), function.places.get("fallback")) {
        let message = format!("`{}` is required, but has a fallback", function.name.value);
        Diagnostic::new(Code::RequiredWithFallback, place.key, message)
            .label("this would never run")
            .related(function.places.span("required"), "required here")
            .report(check);
    }
}

/// Checks that `fill` is used only with a table, an optional function and a fallback.
pub(super) fn check_fill(check: &Check, function: &Function) {
    let name = &function.name.value;
    let kind = check.interface.places.span("kind");
    let span = function.places.at("fill").key;
    let diagnostic = |message| Diagnostic::new(Code::FillRequired, span, message);
    let diagnostic = if !function.fill_always {
        return;
    } else if !function.is_optional() {
        diagnostic(format!("`{name}` is required, so its slot is never empty"))
            .label("so this has no effect")
            .related(function.places.span("required"), "required here")
    } else if !function.places.has("fallback") {
        diagnostic(format!("`{name}` has no fallback to fill its slot with")).label("a `fallback` is missing")
    } else if check.interface.table().is_none() && check.before.trusts(kind) {
        diagnostic("only a table has slots to fill".into())
            .label("this interface has no table")
            .related(kind, format!("its kind is `{}`", check.interface.kind_name()))
    } else {
        return;
    };
    check.report(diagnostic);
}

/// Checks that the spec states what hosts do with a null slot if a null slot is unsound.
pub(super) fn check_unsound_null(check: &Check, function: &Function) {
    let key = match function.need {
        _ if function.places.has("when_null") => return,
        Need::Use => "required",
        Need::Optional if function.fill_always => "fill",
        Need::Load | Need::Optional => return,
    };
    let message = format!("it is not stated what a host does when `{}` is null", function.name.value);
    Diagnostic::new(Code::UnsoundNull, function.places.at(key).key, message)
        .label("`when_null` is missing")
        .report(check);
}

/// Checks that the spec states what hosts do if an optional function of a table or an object is missing.
pub(super) fn check_null_is_explained(check: &Check) {
    if !check.interface.kind.is_filled() {
        return;
    }
    let extension = check.interface.table().and_then(|table| table.extension.as_ref());
    let of_extension: Vec<_> = extension.into_iter().flat_map(|extension| extension.functions()).collect();
    for (id, function) in check.interface.function_ids() {
        let is_known_to_hosts = !of_extension.iter().any(|owner| owner.value == id);
        if function.is_optional() && is_known_to_hosts && !function.places.has("when_null") {
            let message = format!("it is not stated what a host does without `{}`", function.name.value);
            Diagnostic::new(Code::UnsoundNull, function.name.span, message)
                .label("`when_null` is missing")
                .report(check);
        }
    }
}

/// Checks that `when_null` is not used with `required: load`, because the host rejects a plugin without the function.
pub(super) fn check_refused_plugin(check: &Check, function: &Function) {
    if let (Need::Load, Some(place)) = (function.need, function.places.get("when_null")) {
        let message = format!("hosts reject a plugin without `{}`", function.name.value);
        Diagnostic::new(Code::RefusedPlugin, place.key, message)
            .label("remove this")
            .related(function.places.span("required"), "`load` means that hosts reject the plugin")
            .report(check);
    }
}

/// Checks that an optional function of a table has a fallback, or a reason for having none.
pub(super) fn check_fallback_is_there(check: &Check, function: &Function) {
    let name = &function.name.value;
    let reason = function.places.get("no_fallback");
    let missing = check.interface.table().is_some() && function.is_optional();
    match (reason, function.places.get("fallback")) {
        (None, None) if missing => {
            let message = format!("`{name}` is optional, but has no fallback");
            Diagnostic::new(Code::NoFallback, function.name.span, message)
                .label("a `fallback` is missing")
                .help("give a reason in `no_fallback`, or mark it as `required`")
                .report(check);
        }
        (Some(reason), Some(fallback)) => {
            let message = format!("`{name}` has both a fallback and a reason for having none");
            let diagnostic = Diagnostic::new(Code::NoFallback, reason.key, message).label("remove this");
            check.report(diagnostic.related(fallback.key, "the fallback"));
        }
        (Some(reason), None) if !missing => {
            let message = format!("`{name}` needs no fallback");
            check.report(Diagnostic::new(Code::NoFallback, reason.key, message).label("remove this"));
        }
        _ => {}
    }
}

/// Checks that success does not mean no.
pub(super) fn check_question_is_upright(check: &Check, function: &Function) {
    let Some((yes, no)) = function.question else { return };
    let values = check.spec.status_values(check.interface);
    if yes != no && values.get(no.0).is_some_and(|value| value.value == 0) {
        let message = format!("success means no for `{}`", function.name.value);
        let place = function.places.at("status_as_bool");
        Diagnostic::new(Code::InvertedQuestion, place.span("no"), message)
            .label("this is the status 0")
            .related(place.span("yes"), "are `yes` and `no` swapped?")
            .report(check);
    }
}

/// Checks that a function whose name is a question has an answer.
pub(super) fn check_answers(check: &Check, function: &Function) {
    let is_written = |param: &Param| param.dir != Direction::In || param.constness == Some(false);
    let writes = function.params.iter().any(|param| is_written(param) && !param.is_status);
    let yields = function.places.has("status_as_bool") || matches!(function.result, ResultKind::Value(_));
    // A function with a callback may pass its result to the callback.
    let is_callback = |param: &Param| matches!(check.kind(param.ty), Some(TypeKind::Callback { .. }));
    let calls = function.params.iter().any(is_callback);
    let is_read = function.params.iter().all(|param| check.knows_type(param));
    if asks(&function.name.value) && is_read && !writes && !yields && !calls {
        let message = format!("the name of `{}` is a question, but it has no result", function.name.value);
        Diagnostic::new(Code::NoAnswer, function.name.span, message)
            .label("a result, an `out` parameter or `status_as_bool` is expected")
            .report(check);
    }
}

fn asks(name: &str) -> bool {
    name.split('_').any(|word| matches!(word, "get" | "query"))
}

/// Checks that a function with `status_as_bool` returns its status and has no other result.
pub(super) fn check_question(check: &Check, function: &Function) {
    let Some(place) = function.places.get("status_as_bool") else { return };
    if let Some((yes, no)) = function.question
        && yes == no
    {
        let message = format!("`{}` has the same status for yes and for no", function.name.value);
        Diagnostic::new(Code::QuestionStatus, place.span("no"), message)
            .label("this already means yes")
            .related(place.span("yes"), "here")
            .report(check);
    }
    if let Some(diagnostic) = other_answer(function) {
        check.report(diagnostic.label("so the status is not the answer"));
    }
}

fn other_answer(function: &Function) -> Option<Diagnostic> {
    let span = function.places.at("status_as_bool").key;
    let name = &function.name.value;
    let error = |message| Diagnostic::new(Code::QuestionStatus, span, message);
    match function.result {
        ResultKind::None => {
            let message = format!("`{name}` returns nothing");
            Some(error(message).related(function.places.span("result"), "here"))
        }
        ResultKind::Value(_) => {
            let message = format!("`{name}` returns a value");
            Some(error(message).related(function.places.at("result").key, "here"))
        }
        ResultKind::Status => {
            let (_, output) = function.outputs().next()?;
            let message = format!("`{name}` returns its answer through `{}`", output.name.value);
            Some(error(message).related(output.name.span, "the answer"))
        }
    }
}
