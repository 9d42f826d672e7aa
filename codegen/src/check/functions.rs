//! Functions as a whole: what they need, and how they answer.

use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Function, Need, ResultKind};

use super::Check;

/// A required function is always there, so that nothing would ever stand in for it.
pub(super) fn check_required_has_no_fallback(check: &Check) {
    for function in check.interface.functions.iter().filter(|function| !function.is_optional()) {
        if let Some(place) = function.places.get("fallback") {
            let message = format!("`{}` is required and has a fallback", function.name.value);
            check.report(
                check
                    .error(Code::RequiredWithFallback, place.key, message)
                    .label("this would never run")
                    .related(function.places.span("required"), "required here"),
            );
        }
    }
}

/// A slot is filled with a fallback, in a table, where there may be nothing else.
pub(super) fn check_fill(check: &Check) {
    for function in check.interface.functions.iter().filter(|function| function.fill_always) {
        let name = &function.name.value;
        let kind = check.interface.places.span("kind");
        let span = function.places.at("fill").key;
        let diagnostic = |message| check.error(Code::FillRequired, span, message);
        let diagnostic = if !function.is_optional() {
            diagnostic(format!("`{name}` is required, so its slot is never empty"))
                .label("so this fills nothing")
                .related(function.places.span("required"), "required here")
        } else if !function.places.has("fallback") {
            diagnostic(format!("`{name}` has no fallback to fill its slot with"))
                .label("this needs a `fallback`")
        } else if check.interface.table().is_none() && check.before.trusts(kind) {
            diagnostic("only a table has slots to fill".into())
                .label("there is none here")
                .related(kind, format!("this interface is an {}", check.interface.kind_name()))
        } else {
            continue;
        };
        check.report(diagnostic);
    }
}

/// Where null is unsound, the spec says what hosts do with it.
pub(super) fn check_unsound_null(check: &Check) {
    for function in check.interface.functions.iter().filter(|function| !function.places.has("when_null")) {
        let key = match function.need {
            Need::Use => "required",
            Need::Optional if function.fill_always => "fill",
            Need::Load | Need::Optional => continue,
        };
        let message = format!("nothing says what a host does when `{}` is null", function.name.value);
        check.report(
            check
                .error(Code::UnsoundNull, function.places.at(key).key, message)
                .label("this needs `when_null` beside it"),
        );
    }
}

/// The answer of a question is the status and nothing else.
pub(super) fn check_question(check: &Check) {
    for function in &check.interface.functions {
        let Some(place) = function.places.get("status_as_bool") else { continue };
        if let Some((yes, no)) = function.question
            && yes == no
        {
            let message = format!("`{}` gives one answer for yes and for no", function.name.value);
            check.report(
                check
                    .error(Code::QuestionStatus, place.span("no"), message)
                    .label("this means yes already")
                    .related(place.span("yes"), "here"),
            );
        }
        if let Some(diagnostic) = other_answer(check, function) {
            check.report(diagnostic.label("so the status is not the answer"));
        }
    }
}

fn other_answer(check: &Check, function: &Function) -> Option<Diagnostic> {
    let span = function.places.at("status_as_bool").key;
    let name = &function.name.value;
    let error = |message| check.error(Code::QuestionStatus, span, message);
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
            let message = format!("`{name}` answers with `{}`", output.name.value);
            Some(error(message).related(output.name.span, "the answer"))
        }
    }
}
