//! Formats model items for messages of rules.

use crate::model::{Constant, Length, Param, ReleaseId, Ty};

use super::Check;

impl Check<'_> {
    /// Formats a type as in the spec.
    pub(super) fn show_type(&self, ty: Ty) -> String {
        let primitive = || Ty::PRIMITIVES.iter().find(|(_, known)| *known == ty).map(|(name, _)| *name);
        match ty {
            Ty::Named(id) => format!("`{}`", self.spec.ty(id).name.value),
            _ => format!("`{}`", primitive().unwrap_or_default()),
        }
    }

    /// Formats a type with its article: ``an `i64` ``.
    pub(super) fn show_a(&self, ty: Ty) -> String {
        let shown = self.show_type(ty);
        let vowel = shown[1..].starts_with(['a', 'e', 'i', 'o', 'A', 'E', 'I', 'O']);
        format!("{} {shown}", if vowel { "an" } else { "a" })
    }

    /// Formats the kind of a parameter with its article: ``an array of `u8` ``.
    pub(super) fn show_param(&self, param: &Param) -> String {
        match param.length {
            Some(Length::Count(_)) => format!("an array of {}", self.show_type(param.ty)),
            Some(Length::Bytes(_)) | None => self.show_a(param.ty),
        }
    }

    /// Formats a release.
    pub(super) fn show_release(&self, release: ReleaseId) -> &str {
        &self.interface.releases[release.0].name.value
    }
}

/// Formats a constant as in the spec.
pub(super) fn show_constant(constant: Constant) -> String {
    match constant {
        Constant::Integer(number) => number.to_string(),
        Constant::Bool(value) => value.to_string(),
        Constant::Null => "null".to_owned(),
    }
}
