//! The order of a fallback: it waits for queued work before it uses the memory of that work.

use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Argument, Call, Direction, FallbackKind, Function, Param, ParamId, TypeKind};

use super::super::Check;
use super::Site;

/// Checks that a fallback uses memory of a stream only after all queued work of the stream is complete.
pub(in super::super) fn check_waits(check: &Check, site: Site) {
    let Some(stream) = site.function.stream_ordered else { return };
    if !matches!(site.fallback.kind, FallbackKind::Call(_) | FallbackKind::Sequence { .. }) {
        return;
    }
    let Some(early) = first_too_early(check, site, stream) else { return };
    let name = &site.function.param(stream).name.value;
    let callee = &check.interface.function(early.function.value).name.value;
    let message = format!("`{callee}` runs before the work on `{name}` is complete");
    Diagnostic::new(Code::FallbackOrder, early.function.span, message)
        .label(format!("no earlier step waits for `{name}`"))
        .related(site.function.places.at("stream_ordered").key, "the work runs in the order of the stream")
        .help(help(check, site.function, stream))
        .report(check);
}

fn help(check: &Check, function: &Function, stream: ParamId) -> String {
    let name = &function.param(stream).name.value;
    match &owners(check, function, stream)[..] {
        [] => format!("add a step before it: a `blocking` function that takes `{name}`"),
        owners => {
            let names = owners.iter().map(|id| format!("`{}`", function.param(*id).name.value));
            let names = names.collect::<Vec<_>>().join(" and of ");
            format!(
                "add a step before it: a `blocking` function that takes `{name}`, or waits for all work of {names}"
            )
        }
    }
}

/// Returns the first call that uses memory which the stream may still be using.
fn first_too_early<'a>(check: &Check, site: Site<'a>, stream: ParamId) -> Option<&'a Call> {
    let function = site.function;
    let holds_memory = function.params.iter().any(|param| param.held.is_some());
    let owners = owners(check, function, stream);
    let mut waited_for: Vec<ParamId> = Vec::new();
    for call in site.calls() {
        let callee = check.interface.function(call.function.value);
        let given = |argument: &Argument| match argument {
            Argument::Param(id) => Some(*id),
            Argument::Buffer(_) | Argument::Constant(_) => None,
        };
        let passed: Vec<ParamId> = call.arguments.iter().filter_map(|(_, at)| given(&at.value)).collect();
        let is_in_order = callee.stream_ordered.is_some_and(|taken| {
            call.arguments.iter().any(|(id, at)| *id == taken && at.value == Argument::Param(stream))
        });
        let uses_memory = passed.iter().any(|id| function.param(*id).held.is_some());
        let has_waited = waited_for.contains(&stream)
            || (!owners.is_empty() && owners.iter().all(|owner| waited_for.contains(owner)));
        if is_in_order || has_waited {
            return None;
        }
        if uses_memory || (!holds_memory && !callee.blocking) {
            return Some(call);
        }
        if !holds_memory {
            return None;
        }
        if callee.blocking && (passed.contains(&stream) || is_only(callee, &passed)) {
            waited_for.extend(passed);
        }
    }
    None
}

/// Returns true if a call has a single argument. Such a call waits for all work of that argument.
fn is_only(callee: &Function, passed: &[ParamId]) -> bool {
    let taken = callee.params.iter().filter(|param| param.dir == Direction::In).count();
    taken == 1 && passed.len() == 1
}

/// Returns the devices that a stream may belong to: its owner, or, if none is named, each device that the function
/// takes.
fn owners(check: &Check, function: &Function, stream: ParamId) -> Vec<ParamId> {
    if let Some(owner) = function.param(stream).of {
        return vec![owner];
    }
    let is_device = |param: &Param| matches!(check.kind(param.ty), Some(TypeKind::Id { .. }));
    let params = function.params.iter().enumerate().filter(|(_, param)| is_device(param));
    params.map(|(index, _)| ParamId(index)).collect()
}
