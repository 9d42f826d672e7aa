//! Objects that the implementer makes: their groups, their members, and the functions that take them.

use crate::diagnostic::{Code, Diagnostic};
use crate::model::{
    Direction, Extent, Function, Holds, InterfaceKind, Length, Object, Param, ResultKind, Role, Ty, Type,
};

use crate::check::{Check, ParamList, ParamsOf};

/// Checks that a group with functions describes one object, and that no other interface has objects.
pub(crate) fn check_groups(check: &Check) {
    let interface = check.interface;
    if !matches!(interface.kind, InterfaceKind::Objects) {
        for (ty, _) in interface.objects() {
            let message = format!("`{}` is an object, but the interface has none", ty.name.value);
            Diagnostic::new(Code::Object, ty.places.span("kind"), message)
                .label("only in an interface of the kind `objects`")
                .related(interface.places.span("kind"), "the kind")
                .report(check);
        }
        return;
    }
    let mut seen: Vec<&Type> = Vec::new();
    for (ty, _) in interface.objects() {
        if let Some(first) = seen.iter().find(|first| first.group == ty.group) {
            let message =
                format!("the group has two objects: `{}` and `{}`", first.name.value, ty.name.value);
            Diagnostic::new(Code::Object, ty.name.span, message)
                .label("give it a group of its own")
                .related(first.name.span, "the first object")
                .report(check);
        }
        seen.push(ty);
    }
    for function in interface.functions.iter().filter(|function| !function.is_of_object) {
        let message = format!("`{}` belongs to no object", function.name.value);
        Diagnostic::new(Code::Object, function.name.span, message)
            .label("its group has no type of the kind `object`")
            .report(check);
    }
}

/// Checks that an object only grows at its end: a host reads as many members as its release has.
pub(crate) fn check_growth(check: &Check) {
    for (ty, object) in described(check) {
        let fields = object.head.iter().chain(&object.tail);
        let ended = fields
            .map(|field| &field.places)
            .chain(check.interface.in_group(ty.group).map(|function| &function.places));
        for place in ended.filter_map(|places| places.get("until")) {
            Diagnostic::new(Code::Object, place.key, format!("a member of `{}` ends", ty.name.value))
                .label("the members after it would move")
                .report(check);
        }
        let mut newest = None;
        for function in check.interface.in_group(ty.group) {
            let since = function.availability.since;
            if since < newest {
                let message = format!("`{}` comes after a newer function", function.name.value);
                Diagnostic::new(Code::Object, function.name.span, message)
                    .label("a host of an older release would misread it")
                    .report(check);
            }
            newest = newest.max(since);
        }
        if let Some(tail) = object.tail.first().filter(|_| newest.is_some()) {
            let message = format!("`{}` comes after functions that newer releases add", tail.name.value);
            Diagnostic::new(Code::Object, tail.name.span, message).label("it would move").report(check);
        }
    }
}

/// Checks that a function releases each object, and that code by hand makes the first one.
pub(crate) fn check_ends(check: &Check) {
    let mut objects = described(check);
    if let Some((ty, _)) = objects.next().filter(|(_, object)| !object.is_by_hand)
        && objects.all(|(_, object)| !object.is_by_hand)
    {
        Diagnostic::new(Code::Object, ty.name.span, "no object is made by hand")
            .label("the functions of objects make the others, so that there is never a first one")
            .help("add `by_hand: true` to the object that the library hands over")
            .report(check);
    }
    for (ty, object) in described(check) {
        let ends = |param: &Param| {
            param.role == Role::Destroys
                && param.ty.id().is_some_and(|id| std::ptr::eq(check.spec.ty(id), ty))
        };
        let is_lent = check.spec.lends(check.interface, ty);
        let is_released = check.interface.functions.iter().any(|function| function.params.iter().any(ends));
        if !is_released && !is_lent && !object.is_by_hand {
            let message = format!("no function releases `{}`", ty.name.value);
            Diagnostic::new(Code::Object, ty.name.span, message)
                .label("the value behind it would never be dropped")
                .help("one of its functions needs `object: releases`, or a function of another object a parameter with `role: destroys`; `by_hand: true` leaves it to your code")
                .report(check);
        }
    }
}

/// Returns the objects whose groups describe their functions.
fn described<'a>(check: &Check<'a>) -> impl Iterator<Item = (&'a Type, &'a Object)> {
    let interface = check.interface;
    let is_described =
        |ty: &Type| interface.object_in(ty.group).is_some_and(|(first, _)| std::ptr::eq(first, ty));
    let objects = interface.objects().filter(|_| matches!(interface.kind, InterfaceKind::Objects));
    objects.filter(move |(ty, _)| is_described(ty))
}

/// Checks that the host whose error objects the functions return has a function that makes them.
pub(crate) fn check_error(check: &Check) {
    let places = &check.interface.places;
    let Some(place) = places.get("error") else { return };
    let kind = &check.interface.kind;
    let own = check.interface.error.is_some();
    match (kind, check.interface.host_error) {
        (InterfaceKind::HostTable { .. }, Some(host)) => {
            let host_kind = &check.spec.interfaces[host.0];
            let is_table =
                matches!(host_kind.kind, InterfaceKind::HostTable { .. }) && host_kind.error.is_some();
            let is_same =
                check.interface.releases_of == Some(host) && host_kind.status == check.interface.status;
            if is_table && is_same {
                return;
            }
            let message = format!("`{}` does not read error objects for this table", host_kind.name.value);
            Diagnostic::new(Code::ErrorObject, place.value, message)
                .label("a table of the same host with an `error` is expected, with the same `status` and `releases`")
                .report(check);
        }
        (InterfaceKind::Objects, Some(host)) => {
            let host = &check.spec.interfaces[host.0];
            let has_status = host.status.is_some() && host.status == check.interface.status;
            if host.error.is_some_and(|error| error.make.is_some()) && has_status {
                return;
            }
            let message = format!("`{}` makes no error objects of this status", host.name.value);
            Diagnostic::new(Code::ErrorObject, place.value, message)
                .label("its `error` needs the key `make`, and it has the same `status`")
                .report(check);
        }
        (InterfaceKind::Objects, None) if own => {
            let message = "objects return the error object of a host";
            Diagnostic::new(Code::ErrorObject, place.key, message)
                .label("the name of an import in `uses` is expected")
                .report(check);
        }
        (InterfaceKind::Import { .. }, _) if own => {
            let message = "error objects of symbols are not read";
            Diagnostic::new(Code::ErrorObject, place.key, message)
                .label("only for an import with `host_table`")
                .report(check);
        }
        (InterfaceKind::Table(_), Some(_)) => {
            let message = format!("the kind `{}` has error objects of its own", check.interface.kind_name());
            Diagnostic::new(Code::ErrorObject, place.value, message)
                .label("`type`, `code`, `message` and `destroy` are expected")
                .report(check);
        }
        _ => {}
    }
}

/// Checks that a data member states what fits its type, and only in an object.
pub(crate) fn check_holds(check: &Check, list: ParamList, field: &Param) {
    let (Some(holds), Some(place)) = (field.holds, field.places.get("holds")) else { return };
    let (is_object, is_version) = match list.of {
        ParamsOf::Struct(ty) => {
            let is_object = check.interface.objects().any(|(object, _)| std::ptr::eq(object, ty));
            (is_object, is_version(check, ty))
        }
        ParamsOf::Function(_) | ParamsOf::Callback(_) => (false, false),
    };
    let is_address = field.ty == Ty::Pointer || check.spec.object(field.ty).is_some();
    let unnumbered = check.interface.releases.iter().find(|release| release.number.is_none());
    let diagnostic = |message: String| Diagnostic::new(Code::Object, place.value, message);
    let diagnostic = match holds {
        Holds::Value if matches!(list.of, ParamsOf::Function(function) if function.is_of_object) => {
            let is_place = (field.dir == Direction::Out) == (field.role == Role::Creates);
            if field.ty == Ty::Pointer && field.length.is_none() && is_place {
                return;
            }
            diagnostic(format!("`{}` does not lead to a value", field.name.value))
                .label("a `pointer` that is made with `dir: out` and `role: creates`, passed, or released with `role: destroys`")
        }
        Holds::Size if is_version && field.ty == Ty::Size => return,
        _ if !is_object => diagnostic(format!("`{}` is no data member of an object", field.name.value))
            .label("only in `head` and `tail` of an object, and `size` in the version of a table"),
        Holds::Release if field.ty != (Ty::Int { bits: 32, signed: false }) => {
            diagnostic(format!("the number of a release is a `u32`, not {}", check.show_a(field.ty)))
                .related(field.places.span("type"), "its type")
        }
        Holds::Release if check.interface.releases.is_empty() => {
            diagnostic("the interface has no releases".to_owned()).label("there is no number to state")
        }
        Holds::Release if unnumbered.is_some() => {
            let name = unnumbered.map_or("", |release| &release.name.value);
            diagnostic(format!("release {name} has no `number`"))
                .label("objects would state it")
                .related_if(unnumbered.map(|release| release.name.span), "the release")
        }
        Holds::Size if field.ty != Ty::Size => {
            diagnostic(format!("the size of an object is a `size`, not {}", check.show_a(field.ty)))
                .related(field.places.span("type"), "its type")
        }
        Holds::Value => diagnostic(format!("`{}` is a data member", field.name.value))
            .label("only a parameter leads to a value"),
        Holds::Constant(_) if !matches!(field.ty, Ty::Int { .. } | Ty::Size) => {
            diagnostic(format!("a constant is an integer, not {}", check.show_a(field.ty)))
                .related(field.places.span("type"), "its type")
        }
        Holds::Owner if !is_address => {
            diagnostic(format!("an owner is an object or a `pointer`, not {}", check.show_a(field.ty)))
                .related(field.places.span("type"), "its type")
        }
        _ => return,
    };
    check.report(diagnostic);
}

/// Returns true if a struct is the version of a table that the plugin owns.
fn is_version(check: &Check, ty: &Type) -> bool {
    let Some(table) = check.interface.table() else { return false };
    let version = table.owned().and_then(|owned| owned.version.as_ref());
    let field = version.and_then(|(field, _)| table.field(field)?.ty.id());
    field.is_some_and(|id| std::ptr::eq(check.spec.ty(id), ty))
}

/// Checks that only objects and hosts take objects: other functions could not tell whose they are.
pub(crate) fn check_use(check: &Check, value: &Param) {
    let kind = &check.interface.kind;
    if check.spec.object(value.ty).is_some() && !matches!(kind, InterfaceKind::Objects) && !kind.is_of_host()
    {
        let message = format!("{} is made and released by its own functions", check.show_a(value.ty));
        Diagnostic::new(Code::Object, value.places.span("type"), message)
            .label("only functions of objects and of hosts take it")
            .help("a `pointer` passes its address")
            .report(check);
    }
}

/// Checks that an array of objects has a length that the caller passes, and is made or released by the call.
pub(crate) fn check_arrays(check: &Check, function: &Function) {
    for param in function.params.iter().filter(|_| function.is_of_object) {
        let Some(length) = param.length.as_ref().filter(|_| check.spec.object(param.ty).is_some()) else {
            continue;
        };
        let counted = match length {
            Length::Count(Extent::Param(count)) => function.param(*count).dir == Direction::In,
            _ => false,
        };
        let is_made = param.dir == Direction::Out || param.role == Role::Destroys;
        if !counted || !is_made {
            let name = &param.name.value;
            let message = if is_made {
                format!("the number of objects in `{name}` is not passed")
            } else {
                format!("`{name}` is an array of objects that are neither made nor released")
            };
            Diagnostic::new(Code::Object, param.places.span("count"), message)
                .label("write `count` with the name of an `in` parameter, and `dir: out` or `role: destroys`")
                .report(check);
        }
    }
}

/// Checks that only a function of an object lends its result, which is an object.
pub(crate) fn check_lent_result(check: &Check, function: &Function) {
    let Some(result) = function.result.value() else { return };
    let is_object = function.is_of_object && check.spec.object(result.ty).is_some();
    if let Some(place) = result.places.get("lent").filter(|_| result.lent && !is_object) {
        Diagnostic::new(
            Code::Lent,
            place.key,
            format!("the result of `{}` cannot be lent", function.name.value),
        )
        .label("a function of an object lends objects")
        .report(check);
    }
}

/// Checks that the keys of objects' functions are used there, and that such a function can do what they say.
pub(crate) fn check_keys(check: &Check, function: &Function) {
    let name = &function.name.value;
    for key in ["object", "receives_object"] {
        if let Some(place) = function.places.get(key).filter(|_| !function.is_of_object) {
            Diagnostic::new(Code::Object, place.key, format!("`{name}` is not a function of an object"))
                .label("its group has no type of the kind `object`")
                .report(check);
        }
    }
    if !function.is_of_object {
        return;
    }
    let asks = function.places.get("status_as_bool").filter(|_| check.interface.host_error.is_some());
    if let Some(place) = asks {
        Diagnostic::new(Code::Object, place.key, format!("`{name}` cannot answer with an error object"))
            .label("null is success, and each object a failure")
            .report(check);
    }
    let is_outcome = matches!(function.result, ResultKind::Value(_));
    if let (Some(_), true) = (function.releases, is_outcome) {
        Diagnostic::new(Code::Object, function.places.span("result"), format!("`{name}` releases an object"))
            .label("it returns nothing, or a status")
            .report(check);
    }
}
