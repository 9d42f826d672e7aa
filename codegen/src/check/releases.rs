//! Releases: the availability of types and parameters, and the values for missing parameters.

use crate::diagnostic::{Code, Diagnostic};
use crate::model::{
    Absent, Availability, Direction, Function, Param, Release, ReleaseId, ResultKind, Ty, TypeId,
};
use crate::source::At;

use super::show::show_constant;
use super::{Check, ParamList, ParamsOf, fallbacks};

/// Checks that each use of a type exists only in releases that have the type.
pub(super) fn check_types_are_there(check: &Check) {
    for (list, param) in check.params() {
        let Some(ty) = named_here(check, param.ty) else { continue };
        let around = match list.of {
            ParamsOf::Function(function) => function.availability,
            ParamsOf::Callback(ty) | ParamsOf::Struct(ty) => ty.availability,
        };
        check.check_type_is_there(param, ty, meet(around, param.availability));
    }
    for function in &check.interface.functions {
        if let ResultKind::Value(value) = &function.result
            && check.knows_type(value)
            && let Some(ty) = named_here(check, value.ty)
        {
            check.check_type_is_there(value, ty, function.availability);
        }
    }
}

/// Returns the type's id if it belongs to this interface. Releases of different interfaces cannot be compared, so
/// other types are not checked.
fn named_here(check: &Check, ty: Ty) -> Option<TypeId> {
    match ty {
        Ty::Named(id) if id.interface == check.id => Some(id),
        _ => None,
    }
}

/// Returns the releases that are in both ranges.
fn meet(a: Availability, b: Availability) -> Availability {
    let until = match (a.until, b.until) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    Availability { since: a.since.max(b.since), until }
}

impl Check<'_> {
    fn check_type_is_there(&self, param: &Param, ty: TypeId, used: Availability) {
        let ty = self.spec.ty(ty);
        if let Some(gap) = self.gap(used, ty.availability) {
            let message = format!("`{}` does not exist {gap}", ty.name.value);
            let span = param.places.span("type");
            self.report(
                Diagnostic::new(Code::NewerType, span, message)
                    .label("used here")
                    .related(ty.name.span, "defined here"),
            );
        }
    }

    /// Returns when `user` exists but `used` does not: `before 3.1`, `after 3.0`.
    pub(super) fn gap(&self, user: Availability, used: Availability) -> Option<String> {
        // Nothing exists before the first release.
        let begin = |it: Availability| it.since.filter(|since| since.0 > 0);
        let end = |it: Availability| it.until.filter(|until| Some(*until) != self.interface.newest());
        match (begin(used), end(used)) {
            (Some(since), _) if begin(user) < Some(since) => {
                Some(format!("before {}", self.show_release(since)))
            }
            (_, Some(until)) if end(user).is_none_or(|end| until < end) => {
                Some(format!("after {}", self.show_release(until)))
            }
            _ => None,
        }
    }
}

/// Checks that a parameter that a release lacks has `absent`: an implementation uses the newest signature, so it needs
/// a value for every parameter in every release.
pub(super) fn check_absent_is_given(check: &Check, function: &Function) {
    if check.interface.kind.is_of_host() {
        return;
    }
    for param in function.params.iter().filter(|param| is_given(param) && !param.places.has("absent")) {
        let Some(gap) = check.gap(function.availability, param.availability) else { continue };
        let key = if gap.starts_with("before") { "since" } else { "until" };
        let message = format!("`{}` has no value {gap}", param.name.value);
        Diagnostic::new(Code::Absent, param.places.span(key), message)
            .label("`absent` is missing")
            .help("write `absent: { call: … }` for the result of a function, or `absent: 0` for a constant")
            .report(check);
    }
}

/// Checks that a parameter or a field exists in fewer releases than what it belongs to.
pub(super) fn check_member_differs(check: &Check, list: ParamList, param: &Param) {
    let (name, around) = match list.of {
        ParamsOf::Function(function) => (&function.name, function.availability),
        ParamsOf::Callback(ty) | ParamsOf::Struct(ty) => (&ty.name, ty.availability),
    };
    let is_early =
        matches!((param.availability.since, around.since), (Some(own), Some(of_all)) if own <= of_all);
    let is_late =
        matches!((param.availability.until, around.until), (Some(own), Some(of_all)) if own >= of_all);
    for key in [("since", is_early), ("until", is_late)].into_iter().filter(|(_, is)| *is).map(|(key, _)| key)
    {
        let end = if key == "since" { "older" } else { "newer" };
        let message =
            format!("`{}` is in no {end} release, because `{}` is not", param.name.value, name.value);
        Diagnostic::new(Code::AlwaysThere, param.places.span(key), message)
            .label("leave this out")
            .related(name.span, "it belongs to this")
            .report(check);
    }
}

fn is_given(param: &Param) -> bool {
    match param.dir {
        Direction::In | Direction::InOut => true,
        Direction::Out => param.is_caller_memory(),
    }
}

/// Checks that `absent` is used only if a release lacks the parameter.
pub(super) fn check_absent_is_of_use(check: &Check, list: ParamList, param: &Param) {
    let Some(place) = param.places.get("absent") else { return };
    let message = match list.of {
        ParamsOf::Callback(_) => {
            format!("`{}` is a parameter of a callback, not of a function", param.name.value)
        }
        ParamsOf::Struct(_) => format!("the field `{}` is not passed to a function", param.name.value),
        ParamsOf::Function(_) if !is_given(param) => {
            format!("`{}` is an output, which a host does not pass", param.name.value)
        }
        ParamsOf::Function(_) if param.places.has("since") || param.places.has("until") => return,
        ParamsOf::Function(_) => format!("`{}` exists in every release", param.name.value),
    };
    Diagnostic::new(Code::Absent, place.key, message)
        .label("only a parameter with `since` or `until` can have this")
        .report(check);
}

/// Checks that the replacement of a missing parameter has its type, and exists in the releases that need it.
pub(super) fn check_absent_fits(check: &Check, list: ParamList, param: &Param) {
    let ParamsOf::Function(function) = list.of else { return };
    match param.absent {
        Some(Absent::Call(id)) => {
            let source = check.interface.function(id);
            if check.before.trusts(source.places.extent) {
                check.check_source(function, param, source, check.single_result(id));
            }
        }
        Some(Absent::Constant(constant)) if !fallbacks::fits(check, constant, param.ty) => {
            let message = format!("`{}` is not a value of `{}`", show_constant(constant), param.name.value);
            let span = param.places.span("absent");
            Diagnostic::new(Code::Absent, span, message)
                .label(format!("{} is expected", check.show_a(param.ty)))
                .related(param.places.span("type"), "the type")
                .report(check);
        }
        Some(Absent::Constant(_)) | None => {}
    }
}

impl Check<'_> {
    fn check_source(&self, function: &Function, param: &Param, source: &Function, result: Option<&Param>) {
        let span = param.places.at("absent").span("call");
        let expected = self.show_type(param.ty);
        let name = &source.name.value;
        let message = match result {
            Some(result) if result.ty != param.ty => {
                format!(
                    "`{name}` returns {}, but `{}` is {}",
                    self.show_a(result.ty),
                    param.name.value,
                    self.show_a(param.ty)
                )
            }
            None => format!("`{name}` does not return exactly one value"),
            Some(_) => match self.gap(function.availability, source.availability) {
                Some(gap) => format!("`{name}` does not exist {gap}"),
                None if fallbacks::may_be_absent(self, source) => format!("`{name}` may be missing too"),
                None => return,
            },
        };
        self.report(
            Diagnostic::new(Code::Absent, span, message)
                .label(format!("a function without inputs that returns one {expected} is expected"))
                .related(source.name.span, "defined here"),
        );
    }
}

/// Checks that a host version is listed once, under the most specific release whose number it begins with.
pub(super) fn check_hosts(check: &Check) {
    let mut seen: Vec<&At<String>> = Vec::new();
    for (id, release) in check.interface.release_ids() {
        for host in &release.hosts {
            match seen.iter().find(|first| first.value == host.value) {
                Some(first) => {
                    let message = format!("the host version {} is listed twice", host.value);
                    let diagnostic = Diagnostic::new(Code::HostElsewhere, host.span, message);
                    check.report(
                        diagnostic.label("listed again here").related(first.span, "first listed here"),
                    );
                }
                None => {
                    check_host(check, id, host);
                    seen.push(host);
                }
            }
        }
    }
}

fn check_host(check: &Check, id: ReleaseId, host: &At<String>) {
    let fits = |(_, it): &(ReleaseId, &Release)| begins_with(&host.value, &it.name.value);
    let fitting = check.interface.release_ids().filter(fits);
    let Some((best, expected)) = fitting.max_by_key(|(_, it)| it.name.value.len()) else { return };
    if best == id {
        return;
    }
    let message = format!("the host version {} belongs to release {}", host.value, expected.name.value);
    Diagnostic::new(Code::HostElsewhere, host.span, message)
        .label(format!("this is release {}", check.show_release(id)))
        .related(expected.name.span, "it belongs to this release")
        .report(check);
}

fn begins_with(version: &str, release: &str) -> bool {
    version.strip_prefix(release).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
