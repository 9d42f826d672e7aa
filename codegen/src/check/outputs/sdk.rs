//! The SDK's view of an interface: checks that the SDK can export it with its own handles, statuses and names.

use std::collections::BTreeMap;

use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Direction, Function, Param, ResultKind, Ty, Type, TypeKind};
use crate::sdk::{ANSWER, FIRST_OWN, Handle, PLUGIN, SdkApi};
use crate::source::Span;

use crate::check::Check;

impl<'a> Check<'a> {
    /// Returns the SDK's view, unless some part of it did not resolve.
    fn sdk_api(&self) -> Option<SdkApi<'a>> {
        let is_sound = self.trusts(&self.interface.places, "sdk") && self.interface.table().is_some();
        SdkApi::of(self.spec, self.interface).filter(|_| is_sound)
    }

    fn misfit(&self, span: Span, message: String, label: &str) {
        self.report(Diagnostic::new(Code::SdkMisfit, span, message).label(label));
    }

    /// Reports a misfit between two places.
    fn misfit_with(&self, span: Span, message: String, label: &str, other: (Span, &str)) {
        self.report(Diagnostic::new(Code::SdkMisfit, span, message).label(label).related(other.0, other.1));
    }
}

/// Checks that at most one interface has `sdk`, and that it uses no other interface.
pub(crate) fn check_place(check: &Check) {
    if check.sdk_api().is_none() {
        return;
    }
    let span = check.interface.places.span("sdk");
    let before = &check.spec.interfaces[..check.id.0];
    if let Some(other) = before.iter().find(|other| other.sdk.is_some()) {
        let message = format!("the SDK already exports `{}`", other.name.value);
        let first = (other.places.at("sdk").key, "the first `sdk`");
        check.misfit_with(span, message, "only one interface can have this", first);
    }
    if !check.interface.uses.is_empty() {
        let span = check.interface.places.span("uses");
        let message = "an interface with an `sdk` uses the types of others".to_owned();
        let sdk = (check.interface.places.at("sdk").key, "the entry for the SDK");
        check.misfit_with(span, message, "the SDK has no names for these types", sdk);
    }
}

/// Checks that a function names a method of Python only if its interface has `sdk`.
pub(crate) fn check_methods(check: &Check) {
    if check.interface.places.has("sdk") {
        return;
    }
    for place in check.interface.functions.iter().filter_map(|function| function.places.get("method")) {
        let message = format!("the interface `{}` has no SDK", check.interface.name.value);
        Diagnostic::new(Code::SdkMisfit, place.key, message)
            .label("`sdk` is missing in `interface.yaml`")
            .report(check);
    }
}

/// Checks that the type of the SDK's device is an id of the interface.
pub(crate) fn check_device(check: &Check) {
    let (Some(_), Some(sdk)) = (check.sdk_api(), &check.interface.sdk) else { return };
    if !matches!(check.spec.ty(sdk.device).kind, TypeKind::Id { .. }) {
        let message = format!("{} is not an id", check.show_type(Ty::Named(sdk.device)));
        let span = check.interface.places.at("sdk").span("device");
        let described = (check.spec.ty(sdk.device).name.span, "defined here");
        check.misfit_with(span, message, "the number of a device is expected", described);
    }
}

/// Checks that the statuses of the interface have other numbers and names than those of the SDK.
pub(crate) fn check_statuses(check: &Check) {
    let (Some(sdk_api), Some(status)) = (check.sdk_api(), check.interface.status) else { return };
    let TypeKind::Enum { values, .. } = &check.spec.ty(status).kind else { return };
    for value in values {
        let span = value.name.span;
        if !(0..FIRST_OWN).contains(&value.value) {
            let message = format!("the status `{}` has the number {}", value.name.value, value.value);
            let number = (value.places.span("value"), "the number");
            check.misfit_with(span, message, "numbers from 16 are reserved for the SDK", number);
        }
        let own = sdk_api.statuses().into_iter().filter(|own| own.value >= FIRST_OWN);
        if own.map(|own| own.name).any(|own| own == value.name.value) {
            let message = format!("`{}` is also a status of the SDK itself", value.name.value);
            check.misfit(span, message, "the name is already used");
        }
    }
}

/// Checks that a function returns a status, and that it outputs a device only if the plugin is known.
pub(crate) fn check_functions(check: &Check) {
    let Some(sdk_api) = check.sdk_api() else { return };
    for function in &check.interface.functions {
        let name = &function.name.value;
        if check.interface.status.is_none() || !matches!(function.result, ResultKind::Status) {
            let message = format!("`{name}` does not return a status");
            check.misfit(function.name.span, message, "functions of the SDK return a status");
        }
        let handle = sdk_api.called_with(function);
        for param in function.params.iter().filter(|param| check.is_sound(param)) {
            check_param(check, sdk_api, function, handle, param);
        }
    }
}

fn check_param(check: &Check, sdk_api: SdkApi, function: &Function, handle: Handle, param: &Param) {
    let span = param.name.span;
    let name = &param.name.value;
    let is_taken =
        (name == PLUGIN && handle == Handle::Plugin) || (name == ANSWER && function.question.is_some());
    if is_taken {
        check.misfit(
            span,
            format!("the SDK adds its own parameter `{name}` here"),
            "the name is already used",
        );
    }
    if sdk_api.is_device(param) {
        let is_told = handle == Handle::Plugin && param.dir == Direction::Out && !param.nullable;
        if param.length.is_some() || (param.dir != Direction::In && !is_told) {
            let message = format!("the SDK cannot output the device `{name}`");
            check.misfit(
                span,
                message,
                "expected an input, or the only device of a function without a device input",
            );
        }
    } else if check.interface.status.is_some_and(|status| param.ty == Ty::Named(status)) {
        let message = format!("`{name}` is a second status of the function");
        let status = (check.interface.places.span("status"), "the status of this interface");
        check.misfit_with(span, message, "the SDK cannot convert it to its own statuses", status);
    }
    if sdk_api.translated(param).is_some() {
        let id = function.params.iter().position(|other| std::ptr::eq(other, param));
        let taken = function.params.iter().filter(|other| other.context_of.map(|id| id.0) == id).count();
        if taken != 1 || handle == Handle::Plugin {
            let message = format!("the SDK cannot pass on the callback `{name}`");
            check.misfit(span, message, "it needs a device, and a parameter that is its context");
        }
    }
}

/// Checks that a callback with a device or a status is called once, with its context.
pub(crate) fn check_callbacks(check: &Check) {
    let Some(sdk_api) = check.sdk_api() else { return };
    for ty in check.interface.types.iter().filter(|ty| sdk_api.is_translated(ty)) {
        let TypeKind::Callback { params, result, once } = &ty.kind else { continue };
        let name = &ty.name.value;
        if !*once {
            let message =
                format!("the SDK cannot pass on the callback `{name}`, which has a device or a status");
            let label = "write `once: true` if it is called once";
            check.misfit(ty.name.span, message, label);
        }
        let contexts = params.iter().filter(|param| param.is_context()).count();
        if contexts != 1 || result.is_some() {
            let message = format!("the SDK cannot pass on the callback `{name}`");
            check.misfit(ty.name.span, message, "it must take one context and return nothing");
        }
        for param in params.iter().filter(|param| check.is_sound(param)) {
            let is_status = check.interface.status.is_some_and(|status| param.ty == Ty::Named(status));
            let fits = match (sdk_api.is_device(param), is_status) {
                (true, _) => param.dir == Direction::In && param.length.is_none(),
                (_, true) => param.is_status,
                _ => true,
            };
            if !fits {
                let message = format!("the SDK cannot convert `{}`", param.name.value);
                check.misfit(
                    param.name.span,
                    message,
                    "a device must be an input, and a status an output with `status: true`",
                );
            }
        }
    }
}

/// Checks that a struct contains no handle of the SDK, because structs are passed on unchanged.
pub(crate) fn check_fields(check: &Check) {
    let Some(sdk_api) = check.sdk_api() else { return };
    for ty in sdk_api.types() {
        let TypeKind::Struct { fields, .. } = &ty.kind else { continue };
        for field in fields.iter().filter(|field| check.is_sound(field)) {
            let Ty::Named(id) = field.ty else { continue };
            if sdk_api.is_own(check.spec.ty(id)) || sdk_api.translated(field).is_some() {
                let message = format!("the SDK cannot convert the field `{}`", field.name.value);
                let ty = (field.places.span("type"), "the type");
                check.misfit_with(field.name.span, message, "structs are passed on unchanged", ty);
            }
        }
    }
}

/// Checks that the C names that the SDK derives with its prefix are unique.
pub(crate) fn check_symbols(check: &Check) {
    let Some(sdk_api) = check.sdk_api() else { return };
    let mut symbols: BTreeMap<String, Option<Span>> = BTreeMap::new();
    for name in ["status", "device", PLUGIN, "buffer"] {
        symbols.insert(sdk_api.handle(name), None);
    }
    for status in sdk_api.statuses() {
        symbols.insert(sdk_api.status(&status.name), None);
    }
    let of_type = |ty: &'_ Type| {
        let values = match &ty.kind {
            TypeKind::Enum { values, .. } => {
                values.iter().map(|value| (sdk_api.value(ty, value), value.name.span)).collect()
            }
            _ => Vec::new(),
        };
        std::iter::once((sdk_api.ty(ty), ty.name.span)).chain(values).collect::<Vec<_>>()
    };
    let types = sdk_api.types().into_iter().flat_map(of_type);
    let functions = check.interface.functions.iter();
    let functions = functions.map(|function| (sdk_api.function(function), function.name.span));
    for (name, span) in types.chain(functions) {
        // A name that is already repeated in the spec is reported there.
        if check.found.borrow().iter().any(|known| known.span == span) {
            continue;
        }
        if let Some(first) = symbols.insert(name.clone(), Some(span)) {
            let diagnostic =
                Diagnostic::new(Code::SdkMisfit, span, format!("the SDK would define `{name}` twice"));
            let diagnostic = diagnostic.label("the second definition");
            match first {
                Some(first) => diagnostic.related(first, "the first definition"),
                None => diagnostic.help("the first definition is the library's own"),
            }
            .report(check);
        }
    }
}
