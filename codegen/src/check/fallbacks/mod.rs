//! Fallbacks: their form, needs, arguments and results.

pub(super) mod arguments;
pub(super) mod form;
pub(super) mod needs;
pub(super) mod order;
pub(super) mod owners;
pub(super) mod results;

use super::Check;
use crate::model::{
    Call, Constant, Fallback, FallbackKind, Function, FunctionId, InterfaceKind, Places, Ty, TypeKind,
};
use crate::source::At;

/// A function whose fallback was parsed without errors.
#[derive(Clone, Copy)]
pub(super) struct Site<'a> {
    id: FunctionId,
    function: &'a Function,
    fallback: &'a Fallback,
    places: &'a Places,
}

impl<'a> Site<'a> {
    /// Returns the calls of the fallback. The spec does not list those of a strategy.
    fn calls(self) -> &'a [Call] {
        match &self.fallback.kind {
            FallbackKind::Call(call) => std::slice::from_ref(call),
            FallbackKind::Sequence { calls, .. } => calls,
            FallbackKind::Constant { .. }
            | FallbackKind::Strategy { .. }
            | FallbackKind::Refuse { .. }
            | FallbackKind::Nothing => &[],
        }
    }

    /// Returns the functions that the fallback needs, in the order in which they are written.
    fn needs(self) -> Vec<&'a At<FunctionId>> {
        match &self.fallback.kind {
            FallbackKind::Strategy { needs, .. } => needs.iter().collect(),
            FallbackKind::Call(_)
            | FallbackKind::Sequence { .. }
            | FallbackKind::Constant { .. }
            | FallbackKind::Refuse { .. }
            | FallbackKind::Nothing => self.calls().iter().map(|call| &call.function).collect(),
        }
    }

    /// Returns true if outputs that a call does not name are passed on to the outputs of the function, in order.
    fn passes_outputs_on(self) -> bool {
        matches!(self.fallback.kind, FallbackKind::Call(_))
    }
}

/// Returns every fallback that was parsed without errors and may run.
pub(super) fn sites<'a>(check: &Check<'a>) -> Vec<Site<'a>> {
    let interface = check.interface;
    let site = |(id, function): (FunctionId, &'a Function)| {
        let places = function.places.get("fallback")?;
        let fallback = function.fallback.as_ref()?;
        let is_read = function.is_optional() && check.before.trusts(places.extent);
        is_read.then_some(Site { id, function, fallback, places })
    };
    interface.function_ids().filter_map(site).collect()
}

/// Returns true if a function may be missing altogether: it is optional and has no fallback. The functions of a host
/// are never missing.
pub(super) fn may_be_absent(check: &Check, function: &Function) -> bool {
    match check.interface.kind {
        InterfaceKind::Table(_) | InterfaceKind::Export | InterfaceKind::Objects => {
            function.is_optional() && !function.places.has("fallback")
        }
        InterfaceKind::Import { .. } | InterfaceKind::HostTable { .. } => false,
    }
}

/// Returns true if a constant is a value of a type.
pub(super) fn fits(check: &Check, constant: Constant, ty: Ty) -> bool {
    match (constant, ty) {
        (Constant::Bool(_), ty) => ty == Ty::Bool,
        (Constant::Null, Ty::String | Ty::Pointer) => true,
        (Constant::Null, Ty::Named(id)) => {
            matches!(check.spec.ty(id).kind, TypeKind::Handle { .. } | TypeKind::Callback { .. })
        }
        (Constant::Null, _) => false,
        (Constant::Integer(_), Ty::Bool | Ty::String | Ty::Pointer) => false,
        (Constant::Integer(_), Ty::F32 | Ty::F64) => true,
        (Constant::Integer(number), Ty::Size | Ty::ULongLong) => number >= 0,
        (Constant::Integer(number), Ty::Char) => (-128..=255).contains(&number),
        (Constant::Integer(number), Ty::Int { bits, signed }) => {
            range(bits, signed).contains(&i128::from(number))
        }
        (Constant::Integer(number), Ty::Named(id)) => match &check.spec.ty(id).kind {
            TypeKind::Id { ty, .. } => ty.is_length() && fits(check, constant, *ty),
            TypeKind::Enum { values, flags, representation, .. } => {
                (*flags && representation.has(number)) || values.iter().any(|value| value.value == number)
            }
            TypeKind::Handle { .. } | TypeKind::Struct { .. } | TypeKind::Callback { .. } => false,
        },
    }
}

fn range(bits: u8, signed: bool) -> std::ops::RangeInclusive<i128> {
    let values = 1i128 << bits;
    if signed { -values / 2..=values / 2 - 1 } else { 0..=values - 1 }
}
