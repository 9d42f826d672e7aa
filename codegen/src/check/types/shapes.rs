//! Rules about data members of a table, error objects, structs of arguments, and borrowed lists.

use crate::diagnostic::{Code, Diagnostic};
use crate::model::abi::{self, MemberKind};
use crate::model::{
    Availability, Direction, Extent, Function, FunctionId, HandleForm, Length, Param, ReleaseId, ResultKind,
    Role, Ty, TypeKind,
};

use crate::check::{Check, ParamList};

/// Checks that a data member of a table is a value of fixed size that exists in every release.
pub(crate) fn check_table_fields(check: &Check) {
    let blocks = check.interface.table().map_or(&[][..], |table| &table.blocks);
    for param in blocks.iter().flat_map(|block| &block.fields).map(|field| &field.param) {
        let is_fixed = matches!(param.length, None | Some(Length::Count(Extent::Number(_))));
        let message = match () {
            () if !check.is_sound(param) => continue,
            () if param.availability != Availability::default() => "does not exist in every release",
            () if param.dir != Direction::In => "is written by a function",
            () if !is_fixed => "has no fixed length",
            () if matches!(check.kind(param.ty), Some(TypeKind::Callback { .. } | TypeKind::Id { .. })) => {
                "is not a value"
            }
            () => continue,
        };
        let message = format!("the data member `{}` {message}", param.name.value);
        Diagnostic::new(Code::TableField, param.name.span, message)
            .label("expected a value of fixed size")
            .report(check);
    }
}

/// Checks that the version of a table that the plugin owns is one of its data members, with the same number of parts.
pub(crate) fn check_owned_version(check: &Check) {
    let Some(table) = check.interface.table() else { return };
    let Some((name, numbers)) = table.owned().and_then(|owned| owned.version.as_ref()) else { return };
    let field = table.field(name);
    let fits = |field: &Param| match check.kind(field.ty) {
        Some(TypeKind::Struct { .. }) => {
            let parts = check.spec.version_fields(field.ty);
            parts.len() == numbers.len() && parts.iter().all(|field| field.ty.is_length())
        }
        _ => !check.is_sound(field),
    };
    if !field.is_some_and(fits) {
        let message = format!("the data member `{name}` is not a version of {} numbers", numbers.len());
        let span = check.interface.places.at("plugin").at("version").span("field");
        let known = table.blocks.iter().flat_map(|block| &block.fields);
        let known = known.map(|field| field.param.name.value.as_str());
        Diagnostic::new(Code::OwnedTable, span, message)
            .label("expected a data member: a struct with this number of integers")
            .nearest(name, known.filter(|known| known != name))
            .report(check);
    }
}

/// Checks that a table that the plugin owns grows only at its end.
pub(crate) fn check_owned_growth(check: &Check) {
    let Some(table) = check.interface.table().filter(|table| table.owned().is_some()) else { return };
    if !check.trusts(&check.interface.places, "table") {
        return;
    }
    for older in 1..check.interface.releases.len() {
        let layout = |release| abi::table_layout(check.interface, table, Some(ReleaseId(release)));
        let (before, after) = (layout(older - 1), layout(older));
        let moved = before.members.iter().zip(&after.members).find(|(old, new)| old != new);
        let lost = before.members.get(after.members.len());
        let Some(member) = moved.map(|(old, _)| old).or(lost) else { continue };
        let MemberKind::Function(id) = member.kind else { continue };
        let function = check.interface.function(id);
        let release = &check.interface.releases[older];
        let message =
            format!("the slot of `{}` changes with release {}", function.name.value, release.name.value);
        Diagnostic::new(Code::OwnedTable, function.name.span, message)
            .label("a host of another release than the plugin would misread it")
            .help("add functions at the end of the table, and remove none")
            .report(check);
    }
}

/// Checks that the three functions of an error object have the signatures with which generated code calls them.
pub(crate) fn check_error_object(check: &Check) {
    let Some(error) = check.interface.error else { return };
    let places = check.interface.places.at("error");
    let ty = Ty::Named(error.ty);
    if !matches!(check.kind(ty), Some(TypeKind::Handle { .. })) {
        let message = format!("an error object is a handle, not {}", check.show_a(ty));
        Diagnostic::new(Code::ErrorObject, places.span("type"), message)
            .label("a handle is expected")
            .report(check);
        return;
    }
    let status = check.interface.status.map(Ty::Named);
    let returns = |function: &Function, wanted: Option<Ty>| match (&function.result, wanted) {
        (ResultKind::Value(value), Some(wanted)) => value.ty == wanted && value.length.is_none(),
        (ResultKind::None, None) => true,
        _ => false,
    };
    let in_args = |function: &Function, wanted: Option<Ty>, role: Role| {
        let is_passed = |param: &Param| param.ty == ty && param.dir == Direction::In && param.role == role;
        let mut outputs = function.params.iter().filter(|param| param.dir == Direction::Out);
        let is_text = |param: &Param| param.lent && matches!(param.ty, Ty::String | Ty::Char);
        let has_value = match (wanted, outputs.next()) {
            (None, value) => value.is_none(),
            (Some(Ty::String), Some(value)) => is_text(value),
            (Some(wanted), Some(value)) => value.ty == wanted && value.length.is_none(),
            (Some(_), None) => false,
        };
        let has_length = outputs.all(|param| wanted == Some(Ty::String) && param.ty == Ty::Size);
        function.params.iter().filter(|param| is_passed(param)).count() == 1
            && has_value
            && has_length
            && !matches!(function.result, ResultKind::Value(_))
    };
    let takes = |function: &Function, role: Role| match function.params.as_slice() {
        [param] => param.ty == ty && param.dir == Direction::In && param.role == role,
        _ => false,
    };
    let shapes: [(&str, FunctionId, Option<Ty>, Role, &str); 3] = [
        ("code", error.code, status, Role::Uses, "takes the error and returns its status"),
        ("message", error.message, Some(Ty::String), Role::Uses, "takes the error and returns a `string`"),
        ("destroy", error.destroy, None, Role::Destroys, "destroys the error and returns nothing"),
    ];
    for (key, id, wanted, role, expected) in shapes {
        let function = check.interface.function(id);
        let is_right = match function.args {
            Some(_) => in_args(function, wanted, role),
            None => takes(function, role) && returns(function, wanted),
        };
        let stays = function.availability == Availability::default();
        if check.before.trusts(function.places.extent) && !(is_right && stays) {
            let message = format!("`{}` does not have the signature of `{key}`", function.name.value);
            Diagnostic::new(Code::ErrorObject, places.span(key), message)
                .label(format!("expected a function that exists in every release and {expected}"))
                .related(function.name.span, "defined here")
                .report(check);
        }
    }
}

/// Checks that a struct of arguments grows only at its end.
pub(crate) fn check_args(check: &Check, function: &Function) {
    let Some(args) = &function.args else { return };
    let mut last = None;
    for param in &function.params {
        let message = match () {
            () if param.availability.until.is_some() => "goes",
            () if param.availability.since < last => "is added in between",
            () => {
                last = param.availability.since;
                continue;
            }
        };
        let message = format!("`{}` {message}, which moves later members", param.name.value);
        Diagnostic::new(Code::ArgsStruct, param.name.span, message)
            .label(format!("a member of `{}`", args.c_name))
            .help("add members at the end, and remove none")
            .report(check);
    }
}

/// Checks that a borrowed list is an output of a function, together with its length, and a borrowed object or text an
/// output by pointer.
pub(crate) fn check_lent(check: &Check, list: ParamList, param: &Param) {
    let Some(place) = param.places.get("lent").filter(|_| param.lent) else { return };
    let counts = |id: crate::model::ParamId| {
        let count = &list.params[id.0];
        count.dir == Direction::Out && count.ty == Ty::Size && count.length.is_none()
    };
    let is_counted = matches!(param.length, Some(Length::Count(Extent::Param(id))) if counts(id));
    let is_element = match param.ty {
        Ty::Named(_) => {
            matches!(check.kind(param.ty), Some(TypeKind::Handle { .. } | TypeKind::Enum { .. }))
        }
        Ty::String | Ty::Pointer => false,
        _ => true,
    };
    let is_object = param.length.is_none()
        && param.role == Role::Uses
        && matches!(check.kind(param.ty), Some(TypeKind::Handle { form: HandleForm::Pointee(_), .. }));
    // A loaded plugin's text would have no owner in Rust.
    let is_text = param.length.is_none() && param.ty == Ty::String && check.interface.table().is_none();
    let is_function = matches!(list.of, crate::check::ParamsOf::Function(_));
    if param.dir == Direction::Out
        && ((is_counted && is_element) || is_object || is_text)
        && is_function
        && !param.nullable
    {
        return;
    }
    let message = format!("`{}` cannot be lent", param.name.value);
    Diagnostic::new(Code::Lent, place.key, message)
        .label("an `out` array of handles or numbers with an `out` `size` as its `count`, a handle by pointer, or a `string` is expected")
        .report(check);
}
