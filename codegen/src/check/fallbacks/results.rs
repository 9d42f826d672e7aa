//! Rules about the results of a fallback.

use crate::diagnostic::{Code, Diagnostic};
use crate::model::{
    Argument, Call, Constant, Direction, FallbackKind, Function, Param, ParamId, ResultKind, Ty,
};
use crate::source::Span;
use crate::text::{enumerate, quoted};

use super::super::Check;
use super::super::show::show_constant;
use super::{Site, fits};

/// Checks that a constant is a valid value of its out-parameter.
pub(in super::super) fn check_constants(check: &Check, site: Site) {
    let FallbackKind::Constant { outputs, returned } = &site.fallback.kind else { return };
    let place = site.places.at("constant");
    if let (Some(constant), Some(value)) = (*returned, site.function.result.value())
        && check.is_sound(value)
        // A function in Rust returns a text of its own, which is never null.
        && (!fits(check, constant, value.ty) || value.ty == Ty::String)
    {
        let span = if place.has("result") { place.span("result") } else { place.value };
        let message = format!("`{}` is not a value that the function returns", show_constant(constant));
        Diagnostic::new(Code::FallbackTypes, span, message)
            .label(format!("{} is expected", check.show_a(value.ty)))
            .related(value.places.span("type"), "the type of the result")
            .report(check);
    }
    for (id, constant) in outputs {
        let param = site.function.param(*id);
        let span = place.span(&param.name.value);
        // For a single constant, the place is the value of the key; in a map, it is the entry of the parameter.
        let span = if place.has(&param.name.value) { span } else { place.value };
        if let Some(diagnostic) = misfit(check, param, *constant, span) {
            check.report(diagnostic);
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
        Some(diagnostic.related(param.name.span, "defined here"))
    } else if !fits(check, constant, param.ty) {
        let message = format!("`{}` is not a value of `{name}`", show_constant(constant));
        let diagnostic = Diagnostic::new(Code::FallbackTypes, span, message)
            .label(format!("{} is expected", check.show_a(param.ty)));
        Some(diagnostic.related(param.places.span("type"), "the type of the parameter"))
    } else {
        None
    }
}

/// Checks that the fallback yields each result of the function.
pub(in super::super) fn check_results(check: &Check, site: Site) {
    let diagnostic = match &site.fallback.kind {
        FallbackKind::Constant { outputs, returned } => {
            let given: Vec<ParamId> = outputs.iter().map(|(id, _)| *id).collect();
            pointless(site).or_else(|| left_out(site, &given, returned.is_some()))
        }
        FallbackKind::Call(call) => {
            let given = passed(check, call);
            let rest = results(site.function, &given);
            handed_on(check, site, call, rest)
        }
        FallbackKind::Sequence { calls, answer: None, .. } if calls.is_empty() => Some(
            Diagnostic::new(Code::FallbackIncomplete, site.fallback.span, "this sequence has no steps")
                .label("empty")
                .help("write `nothing: true` to do nothing and succeed"),
        ),
        FallbackKind::Sequence { calls, .. } => {
            let given: Vec<ParamId> = calls.iter().flat_map(|call| passed(check, call)).collect();
            left_out(site, &given, false)
        }
        FallbackKind::Nothing => left_out(site, &[], false),
        FallbackKind::Strategy { .. } | FallbackKind::Refuse { .. } => None,
    };
    if let Some(diagnostic) = diagnostic {
        check.report(diagnostic);
    }
}

/// Returns a diagnostic for a constant that has no out-parameter.
fn pointless(site: Site) -> Option<Diagnostic> {
    let has_results = results(site.function, &[]).next().is_some();
    if has_results || !matches!(site.function.result, ResultKind::Status) || is_question(site.function) {
        return None;
    }
    let message = format!("`{}` has no out-parameter for the constant", site.function.name.value);
    Some(
        Diagnostic::new(Code::FallbackIncomplete, site.fallback.span, message)
            .label("no parameter receives this")
            .help("write `nothing: true` to do nothing and succeed"),
    )
}

/// Returns a diagnostic for out-parameters without a value, or for a missing return value.
fn left_out(site: Site, given: &[ParamId], returns: bool) -> Option<Diagnostic> {
    let name = &site.function.name.value;
    let left: Vec<&Param> = results(site.function, given).map(|(_, param)| param).collect();
    let error = |message| Diagnostic::new(Code::FallbackIncomplete, site.fallback.span, message);
    if let Some(first) = left.first() {
        let names = enumerate(&quoted(left.iter().map(|param| &param.name.value)));
        let message = format!("the fallback of `{name}` does not set {names}");
        return Some(
            error(message).label("no value for it").related(first.name.span, "written by the function"),
        );
    }
    if matches!(site.function.result, ResultKind::Value(_)) && !returns {
        let message = format!("the fallback of `{name}` returns no value");
        let result = site.function.places.at("result").key;
        return Some(error(message).label("no value here").related(result, "a value is returned"));
    }
    None
}

/// Checks that a single call has the same results as the function, in the same order.
fn handed_on<'a>(
    check: &Check,
    site: Site<'a>,
    call: &Call,
    rest: impl Iterator<Item = (ParamId, &'a Param)>,
) -> Option<Diagnostic> {
    let callee = check.interface.function(call.function.value);
    let named = |index: &ParamId| call.arguments.iter().any(|(id, _)| id == index);
    let returned = callee.outputs().filter(|(id, _)| !named(id)).map(|(_, param)| param);
    let (returned, wanted): (Vec<&Param>, Vec<&Param>) = (
        returned.chain(value(callee)).collect(),
        rest.map(|(_, param)| param).chain(value(site.function)).collect(),
    );
    if !returned.iter().chain(&wanted).all(|param| check.is_sound(param)) {
        return None;
    }
    let (name, callee_name) = (&site.function.name.value, &callee.name.value);
    if returned.len() != wanted.len() {
        let count = |params: &[&Param]| match params {
            [] => "nothing".to_owned(),
            params => enumerate(&quoted(params.iter().map(|param| &param.name.value))),
        };
        let message =
            format!("`{name}` yields {}, but `{callee_name}` yields {}", count(&wanted), count(&returned));
        return Some(
            Diagnostic::new(Code::FallbackIncomplete, call.function.span, message)
                .label("a fallback `call` needs a function with the same results")
                .related(callee.name.span, "the called function"),
        );
    }
    let (other, param) = returned
        .into_iter()
        .zip(wanted)
        .find(|(other, param)| other.ty != param.ty || other.length.is_some() != param.length.is_some())?;
    let message = format!(
        "`{name}` yields {}, but `{callee_name}` yields {}",
        check.show_a(param.ty),
        check.show_a(other.ty)
    );
    Some(
        Diagnostic::new(Code::FallbackTypes, call.function.span, message)
            .label(format!("its `{}` is used as `{}`", other.name.value, param.name.value))
            .related(param.places.span("type"), "the expected type")
            .related(other.places.span("type"), "the type it yields"),
    )
}

/// Checks that a fallback has a boolean answer if and only if the function has `status_as_bool`.
pub(in super::super) fn check_answer(check: &Check, site: Site) {
    let name = &site.function.name.value;
    let then = site.places.get("then");
    let error = |span, message| Diagnostic::new(Code::FallbackIncomplete, span, message);
    let diagnostic = match (is_question(site.function), &site.fallback.kind) {
        (false, FallbackKind::Sequence { .. }) => {
            let Some(then) = then else { return };
            error(then.key, format!("`{name}` has no `status_as_bool`, so it has no answer"))
                .label("only allowed with `status_as_bool`")
        }
        (true, FallbackKind::Sequence { .. }) if then.is_some() => return,
        (true, FallbackKind::Call(call)) if is_question(check.interface.function(call.function.value)) => {
            return;
        }
        (true, FallbackKind::Strategy { .. } | FallbackKind::Refuse { .. }) | (false, _) => return,
        (
            true,
            FallbackKind::Constant { .. }
            | FallbackKind::Call(_)
            | FallbackKind::Sequence { .. }
            | FallbackKind::Nothing,
        ) => error(site.fallback.span, format!("the fallback of `{name}` gives no answer"))
            .label("no answer here")
            .related(site.function.places.at("status_as_bool").key, "the answer is the status")
            .help("use a `sequence`, which may be empty, with `then: true` or `then: false`"),
    };
    check.report(diagnostic);
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

/// Returns the outputs of a function, except its status and those that are already `given`.
fn results<'a>(function: &'a Function, given: &[ParamId]) -> impl Iterator<Item = (ParamId, &'a Param)> {
    let given = given.to_vec();
    let params = function.params.iter().enumerate().map(|(index, param)| (ParamId(index), param));
    params.filter(move |(id, param)| param.dir == Direction::Out && !param.is_status && !given.contains(id))
}

/// Returns the parameters of the function that a call writes.
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
