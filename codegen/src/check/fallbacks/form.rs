//! The form of a fallback: which keys belong together, and which are required.

use super::Site;
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Direction, FallbackKind, InterfaceKind, Meaning, Param, ResultKind, Rule, Ty};

use super::super::Check;

/// Checks that each key is used only with the form of fallback that allows it.
pub(in super::super) fn check_keys(check: &Check, site: Site) {
    for (key, form) in
        [("let", "sequence"), ("then", "sequence"), ("needs", "strategy"), ("message", "refuse")]
    {
        if let Some(place) = site.places.get(key)
            && !site.places.has(form)
        {
            let message = format!("`{key}` has no effect here");
            Diagnostic::new(Code::FallbackIncomplete, place.key, message)
                .label(format!("only allowed with `{form}`"))
                .related(site.fallback.span, "this is the form of the fallback")
                .report(check);
        }
    }
}

/// Checks that a fallback that differs from the host's behaviour has a reason.
pub(in super::super) fn check_reason(check: &Check, site: Site) {
    // The functions of an export are called by programs, so there is no behaviour of a host.
    let has_host = !matches!(check.interface.kind, InterfaceKind::Export);
    if has_host && site.fallback.rule == Rule::Ours && !site.places.has("why") {
        let message = format!(
            "the fallback of `{}` differs from the host's, without a reason",
            site.function.name.value
        );
        let place = site.places.get("rule").map_or(site.fallback.span, |rule| rule.value);
        Diagnostic::new(Code::OwnRule, place, message)
            .label("`why` is missing")
            .help("write `rule: host` if hosts do the same")
            .report(check);
    }
}

/// Checks that the status of a refusal is not a success.
pub(in super::super) fn check_refusal(check: &Check, site: Site) {
    let FallbackKind::Refuse { status, .. } = site.fallback.kind else { return };
    let name = &site.function.name.value;
    let value = check.spec.status_values(check.interface).get(status.0);
    let place = site.places.at("refuse");
    // An export that returns a value reports the status together with the message, and returns null or 0.
    let leaves = matches!(check.interface.kind, InterfaceKind::Export);
    let reports = leaves || site.function.params.iter().any(|param| param.is_status);
    if value.is_some_and(|value| value.value == 0) {
        let message = format!("`{name}` refuses with a status that means success");
        let diagnostic = Diagnostic::new(Code::BadStatus, place.value, message);
        let success = value.map(|value| value.places.span("value"));
        check.report(diagnostic.label("another one is expected").related_if(success, "0 is success"));
    } else if let Some(value) = value.filter(|value| value.means.is_some_and(|it| it != Meaning::Unsupported))
    {
        let message = format!("`{name}` refuses with a status that means something else");
        Diagnostic::new(Code::BadStatus, place.value, message)
            .label("a status for what is not supported is expected")
            .related(value.places.span("means"), "what it means")
            .report(check);
    } else if !matches!(site.function.result, ResultKind::Status) && !reports {
        let message = format!("`{name}` cannot refuse, because it returns no status");
        let related = site.function.places.at("result").key;
        Diagnostic::new(Code::FallbackIncomplete, place.key, message)
            .label("the caller would not receive this")
            .related(related, "no status is returned")
            .report(check);
    }
}

/// Checks that a strategy is listed in `strategies`.
pub(in super::super) fn check_strategy(check: &Check, site: Site) {
    let known = &check.interface.strategies;
    let FallbackKind::Strategy { name, .. } = &site.fallback.kind else { return };
    if !known.iter().any(|strategy| strategy.value == name.value) {
        let message = format!("there is no strategy `{}`", name.value);
        Diagnostic::new(Code::UnknownStrategy, name.span, message)
            .label("not one of `strategies` in `interface.yaml`")
            .nearest(&name.value, known.iter().map(|strategy| strategy.value.as_str()))
            .report(check);
    }
}

/// Checks that a buffer has a unique name, a length, and a byte to fill it with.
pub(in super::super) fn check_buffers(check: &Check, site: Site) {
    let FallbackKind::Sequence { buffers, .. } = &site.fallback.kind else { return };
    for buffer in buffers {
        let place = site.places.at("let").at(&buffer.name.value);
        let bytes = site.function.param(buffer.bytes);
        if let Some(param) = site.function.params.iter().find(|param| param.name.value == buffer.name.value) {
            let message = format!("`{}` is both a parameter and a buffer", param.name.value);
            let diagnostic = Diagnostic::new(Code::DuplicateName, buffer.name.span, message);
            check.report(diagnostic.label("the buffer").related(param.name.span, "the parameter"));
        }
        if check.is_sound(bytes) && !is_given_number(bytes) {
            let message = format!("`{}` cannot be the length of a buffer", bytes.name.value);
            Diagnostic::new(Code::LengthType, place.span("bytes"), message)
                .label("expected an integer that the caller passes")
                .related(bytes.name.span, format!("this is {}", check.show_param(bytes)))
                .report(check);
        }
        let Some(fill) = buffer.fill.map(|id| site.function.param(id)) else { continue };
        if check.is_sound(fill) && !matches!(fill.ty, Ty::Int { bits: 8, .. } | Ty::Char) {
            let message = format!(
                "a buffer is filled with a byte, but `{}` is {}",
                fill.name.value,
                check.show_a(fill.ty)
            );
            Diagnostic::new(Code::FallbackTypes, place.span("fill"), message)
                .label("a `u8` is expected")
                .related(fill.places.span("type"), "its type")
                .report(check);
        }
    }
}

fn is_given_number(param: &Param) -> bool {
    param.ty.is_length() && param.length.is_none() && param.dir != Direction::Out
}
