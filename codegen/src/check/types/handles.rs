//! Handles: their constness in C.

use crate::diagnostic::{Code, Diagnostic};
use crate::model::{HandleForm, Length, Param, Type, TypeKind};

use crate::check::Check;

/// Checks that a handle type declares read-only objects with the key for its form, `const` or `c_const`.
pub(crate) fn check_form(check: &Check, ty: &Type) {
    let TypeKind::Handle { form, .. } = &ty.kind else { return };
    let is_pointee = matches!(form, HandleForm::Pointee(_));
    if let Some(place) = ty.places.get("const").filter(|_| !is_pointee) {
        let message = format!("`{}` is not a handle by pointer", ty.name.value);
        Diagnostic::new(Code::HandleConst, place.key, message)
            .label("`const` needs `by: pointer`")
            .help("a handle with a tag has `c_const` instead, the name of the pointer to const")
            .report(check);
    }
    if let Some(place) = ty.places.get("c_const").filter(|_| !matches!(form, HandleForm::Tagged(_))) {
        let message = format!("`{}` is not a handle with a tag", ty.name.value);
        Diagnostic::new(Code::HandleConst, place.key, message)
            .label("`c_const` needs `tag`, and no `by: pointer`")
            .report(check);
    }
}

/// Checks that `const: objects` is used only for an array of handles with `c_const`.
pub(crate) fn check_objects(check: &Check, param: &Param) {
    let has_name = check.spec.const_handle_name(param).is_some();
    let is_array = matches!(param.length, Some(Length::Count(_)));
    if param.is_array_mutable && !(has_name && is_array) {
        let message = format!("`{}` is not an array of handles with `c_const`", param.name.value);
        Diagnostic::new(Code::HandleConst, param.places.span("const"), message)
            .label("`true` or `false` is expected")
            .related(param.places.span("type"), "the type")
            .report(check);
    }
}

/// Checks that a parameter with a tagged handle is `const: true` only if the type has `c_const`.
pub(crate) fn check_use(check: &Check, param: &Param) {
    let Some(TypeKind::Handle { form, const_name: None, .. }) = check.kind(param.ty) else { return };
    if param.constness == Some(true) && !param.is_array_mutable && !matches!(form, HandleForm::Pointee(_)) {
        let message = format!("{} has no name for a pointer to const", check.show_a(param.ty));
        Diagnostic::new(Code::HandleConst, param.places.at("const").key, message)
            .label("the type needs `c_const`")
            .report(check);
    }
}
