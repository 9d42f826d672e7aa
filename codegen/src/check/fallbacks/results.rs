//! Rules about the results of a fallback.

use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Argument, Call, Constant, Direction, FallbackKind, Function, Param, ParamId, ResultKind};
use crate::source::Span;

use super::super::Check;
use super::super::show::{show_constant, show_list};
use super::{Site, fits, sites};

/// A constant is a value of the out-parameter that gets it.
pub(in super::super) fn check_constants(check: &Check) {
    for site in sites(check) {
        let FallbackKind::Constant(values) = &site.fallback.kind else { continue };
        for (id, constant) in values {
            let param = site.function.param(*id);
            let span = site.places.at("constant").span(&param.name.value);
            let place = site.places.at("constant");
            // The place of a single constant is the value of the key; in a map, the entry of the parameter.
            let span = if place.has(&param.name.value) { span } else { place.value };
            if let Some(diagnostic) = misfit(check, param, *constant, span) {
                check.report(diagnostic);
            }
        }
    }
}

fn misfit(check: &Check, param: &Param, constant: Constant, span: Span) -> Option<Diagnostic> {
    let name = &param.name.value;
    if !check.is_sound(param) {
        None
    } else if !param.is_output() {
        let message = format!("a constant cannot be the value of `{name}`");
        let diagnostic =
            Diagnostic::new(Code::FallbackIncomplete, span, message).label("not an out-parameter");
        Some(diagnostic.related(param.name.span, "described here"))
    } else if !fits(check, constant, param.ty) {
        let message = format!("`{}` is no value of `{name}`", show_constant(constant));
        let diagnostic = Diagnostic::new(Code::FallbackTypes, span, message)
            .label(format!("{} is expected", check.show_a(param.ty)));
        Some(diagnostic.related(param.places.span("type"), "the type"))
    } else {
        None
    }
}

/// The fallback produces each result of the function.
pub(in super::super) fn check_results(check: &Check) {
    for site in sites(check) {
        let diagnostic = match &site.fallback.kind {
            FallbackKind::Constant(values) => {
                let given: Vec<ParamId> = values.iter().map(|(id, _)| *id).collect();
                pointless(site).or_else(|| left_out(site, &given))
            }
            FallbackKind::Call(call) => {
                let given = passed(check, call);
                let rest = results(site.function, &given);
                handed_on(check, site, call, rest)
            }
            FallbackKind::Sequence { calls, answer: None, .. } if calls.is_empty() => Some(
                Diagnostic::new(Code::FallbackIncomplete, site.fallback.span, "this sequence has no steps")
                    .label("empty")
                    .help("`nothing: true` does nothing and succeeds"),
            ),
            FallbackKind::Sequence { calls, .. } => {
                let given: Vec<ParamId> = calls.iter().flat_map(|call| passed(check, call)).collect();
                left_out(site, &given)
            }
            FallbackKind::Nothing => left_out(site, &[]),
            FallbackKind::Strategy { .. } | FallbackKind::Refuse { .. } => None,
        };
        if let Some(diagnostic) = diagnostic {
            check.report(diagnostic);
        }
    }
}

/// Reports a constant without an out-parameter for it.
fn pointless(site: Site) -> Option<Diagnostic> {
    let has_results = results(site.function, &[]).next().is_some();
    if has_results || !matches!(site.function.result, ResultKind::Status) || is_question(site.function) {
        return None;
    }
    let message = format!("`{}` has no out-parameter that could get the constant", site.function.name.value);
    Some(
        Diagnostic::new(Code::FallbackIncomplete, site.fallback.span, message)
            .label("nothing gets this")
            .help("`nothing: true` does nothing and succeeds"),
    )
}

/// The out-parameters without a value, and the return value.
fn left_out(site: Site, given: &[ParamId]) -> Option<Diagnostic> {
    let name = &site.function.name.value;
    let left: Vec<&Param> = results(site.function, given).map(|(_, param)| param).collect();
    let error = |message| Diagnostic::new(Code::FallbackIncomplete, site.fallback.span, message);
    if let Some(first) = left.first() {
        let names = show_list(left.iter().map(|param| param.name.value.as_str()));
        let message = format!("the fallback of `{name}` does not say what {names} becomes");
        return Some(
            error(message).label("this leaves it out").related(first.name.span, "written by the function"),
        );
    }
    if let ResultKind::Value(_) = site.function.result {
        let message = format!("the fallback of `{name}` does not say what is returned");
        let result = site.function.places.at("result").key;
        return Some(error(message).label("this yields no value").related(result, "a value is returned"));
    }
    None
}

/// A single call has the same results as the function, in the same order.
fn handed_on<'a>(
    check: &Check,
    site: Site<'a>,
    call: &Call,
    rest: impl Iterator<Item = (ParamId, &'a Param)>,
) -> Option<Diagnostic> {
    let callee = check.interface.function(call.function.value);
    let named = |index: &ParamId| call.arguments.iter().any(|(id, _)| id == index);
    let yielded = callee.outputs().filter(|(id, _)| !named(id)).map(|(_, param)| param);
    let (yielded, wanted): (Vec<&Param>, Vec<&Param>) = (
        yielded.chain(value(callee)).collect(),
        rest.map(|(_, param)| param).chain(value(site.function)).collect(),
    );
    if !yielded.iter().chain(&wanted).all(|param| check.is_sound(param)) {
        return None;
    }
    let (name, callee_name) = (&site.function.name.value, &callee.name.value);
    if yielded.len() != wanted.len() {
        let count = |params: &[&Param]| match params {
            [] => "nothing".to_owned(),
            params => show_list(params.iter().map(|param| param.name.value.as_str())),
        };
        let message =
            format!("`{name}` yields {}, and `{callee_name}` yields {}", count(&wanted), count(&yielded));
        return Some(
            Diagnostic::new(Code::FallbackIncomplete, call.function.span, message)
                .label("a call stands in for a function that yields the same")
                .related(callee.name.span, "the function that it calls"),
        );
    }
    let (other, param) = yielded
        .into_iter()
        .zip(wanted)
        .find(|(other, param)| other.ty != param.ty || other.length.is_some() != param.length.is_some())?;
    let message = format!(
        "`{name}` yields {}, and `{callee_name}` yields {}",
        check.show_a(param.ty),
        check.show_a(other.ty)
    );
    Some(
        Diagnostic::new(Code::FallbackTypes, call.function.span, message)
            .label(format!("its `{}` becomes `{}`", other.name.value, param.name.value))
            .related(param.places.span("type"), "the type that is expected")
            .related(other.places.span("type"), "the type that it yields"),
    )
}

/// Only a function with `status_as_bool` has a boolean answer, and it needs one.
pub(in super::super) fn check_answer(check: &Check) {
    for site in sites(check) {
        let name = &site.function.name.value;
        let then = site.places.get("then");
        let error = |span, message| Diagnostic::new(Code::FallbackIncomplete, span, message);
        let diagnostic = match (is_question(site.function), &site.fallback.kind) {
            (false, FallbackKind::Sequence { .. }) => {
                let Some(then) = then else { continue };
                error(then.key, format!("`{name}` is no question, so it has no answer"))
                    .label("this goes with `status_as_bool`")
            }
            (true, FallbackKind::Sequence { .. }) if then.is_some() => continue,
            (true, FallbackKind::Call(call))
                if is_question(check.interface.function(call.function.value)) =>
            {
                continue;
            }
            (true, FallbackKind::Strategy { .. } | FallbackKind::Refuse { .. }) | (false, _) => continue,
            (
                true,
                FallbackKind::Constant(_)
                | FallbackKind::Call(_)
                | FallbackKind::Sequence { .. }
                | FallbackKind::Nothing,
            ) => error(site.fallback.span, format!("the fallback of `{name}` does not answer the question"))
                .label("this yields no answer")
                .related(site.function.places.at("status_as_bool").key, "the question")
                .help("a `sequence`, which may be empty, with `then: true` or `then: false` gives an answer"),
        };
        check.report(diagnostic);
    }
}

fn is_question(function: &Function) -> bool {
    function.places.has("status_as_bool")
}

fn value(function: &Function) -> Option<&Param> {
    match &function.result {
        ResultKind::Value(value) => Some(value),
        ResultKind::Status | ResultKind::None => None,
    }
}

/// The outputs of a function, except its status and those that are `given` already.
fn results<'a>(function: &'a Function, given: &[ParamId]) -> impl Iterator<Item = (ParamId, &'a Param)> {
    let given = given.to_vec();
    let params = function.params.iter().enumerate().map(|(index, param)| (ParamId(index), param));
    params.filter(move |(id, param)| param.dir == Direction::Out && !param.is_status && !given.contains(id))
}

/// The parameters of the function that a call writes.
fn passed(check: &Check, call: &Call) -> Vec<ParamId> {
    let callee = check.interface.function(call.function.value);
    let written = call.arguments.iter().filter(|(id, _)| callee.param(*id).dir != Direction::In);
    written
        .filter_map(|(_, argument)| match argument.value {
            Argument::Param(id) => Some(id),
            Argument::Buffer(_) | Argument::Constant(_) => None,
        })
        .collect()
}
