//! Rules about the functions that a fallback needs: they exist when it runs.

use crate::diagnostic::{Code, Diagnostic};
use crate::model::FunctionId;
use crate::source::Span;

use super::super::Check;
use super::{Site, may_be_absent, sites};

/// Checks that fallbacks do not depend on each other in a cycle.
pub(in super::super) fn check_cycles(check: &Check) {
    let sites = sites(check);
    for cycle in cycles(&sites) {
        let Some((first, call)) = cycle.first() else { continue };
        let name = |id: &FunctionId| check.interface.function(*id).name.value.as_str();
        let mut names: Vec<String> = cycle.iter().map(|(id, _)| format!("`{}`", name(id))).collect();
        names.push(format!("`{}`", name(first)));
        let message = format!("fallbacks depend on each other in a cycle: {}", names.join(" → "));
        let diagnostic = Diagnostic::new(Code::FallbackCycle, *call, message);
        match cycle.get(1) {
            Some((next, back)) => diagnostic
                .label(format!("`{}` needs `{}` here", name(first), name(next)))
                .related(*back, format!("and continues with `{}` here", name(next))),
            None => diagnostic.label("this is the function itself"),
        }
        .report(check);
    }
}

type Cycle = Vec<(FunctionId, Span)>;

/// Returns the cycles, each from its first function in the spec: the functions, and the places where each needs the
/// next.
fn cycles(sites: &[Site]) -> Vec<Cycle> {
    let mut found = Vec::new();
    for site in sites {
        let mut tried = Vec::new();
        for need in site.needs() {
            let mut path = vec![(site.id, need.span)];
            if !tried.contains(&need.value) && leads_to(sites, need.value, site.id, &mut path, &mut vec![]) {
                found.push(path);
            }
            tried.push(need.value);
        }
    }
    found
}

/// Returns the path through which a function needs `goal`, using only functions that are described after `goal`.
fn leads_to(
    sites: &[Site],
    from: FunctionId,
    goal: FunctionId,
    path: &mut Cycle,
    seen: &mut Vec<FunctionId>,
) -> bool {
    if from == goal {
        return true;
    }
    if from < goal || seen.contains(&from) {
        return false;
    }
    seen.push(from);
    let needs = sites.iter().filter(|site| site.id == from).flat_map(|site| site.needs());
    for need in needs {
        path.push((from, need.span));
        if leads_to(sites, need.value, goal, path, seen) {
            return true;
        }
        path.pop();
    }
    false
}

/// Checks that each function that a fallback calls is required or has a fallback.
pub(in super::super) fn check_absent(check: &Check, site: Site) {
    for need in site.needs() {
        let callee = check.interface.function(need.value);
        if may_be_absent(check, callee) {
            let (name, callee_name) = (&site.function.name.value, &callee.name.value);
            let message = format!("the fallback of `{name}` needs `{callee_name}`, which may be missing too");
            Diagnostic::new(Code::FallbackNeedsAbsent, need.span, message)
                .label("a required function, or one with a fallback, is expected")
                .related(callee.name.span, "optional and without a fallback")
                .report(check);
        }
    }
}

/// Checks that each function that a fallback calls exists in every release that has the calling function.
pub(in super::super) fn check_newer(check: &Check, site: Site) {
    for need in site.needs() {
        let callee = check.interface.function(need.value);
        let Some(gap) = check.gap(site.function.availability, callee.availability) else { continue };
        let (name, callee_name) = (&site.function.name.value, &callee.name.value);
        let message = format!("the fallback of `{name}` needs `{callee_name}`, which does not exist {gap}");
        let key = if gap.starts_with("before") { "since" } else { "until" };
        Diagnostic::new(Code::FallbackNewer, need.span, message)
            .label(format!("not in every release that has `{name}`"))
            .related(callee.places.span(key), "declared here")
            .report(check);
    }
}
