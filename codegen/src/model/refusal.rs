//! Functions that a library exports only to refuse them: an export whose fallback is a refusal has no method, because
//! the library answers each call itself.

use std::collections::HashSet;

use super::{
    FallbackKind, Function, GroupId, Interface, InterfaceKind, Param, Spec, StatusValue, Type, TypeId,
};

impl Interface {
    /// Returns the status and the message of a function that the library refuses; `None` if it is implemented.
    pub fn refusal<'a>(&self, function: &'a Function) -> Option<(StatusValue, &'a str)> {
        match (&self.kind, &function.fallback.as_ref()?.kind) {
            (InterfaceKind::Export, FallbackKind::Refuse { status, message }) => Some((*status, message)),
            _ => None,
        }
    }

    /// Returns the functions that the library refuses, each with its status and message, in the order of the docs.
    pub fn refusals(&self) -> impl Iterator<Item = (&Function, StatusValue, &str)> {
        self.functions.iter().filter_map(|function| {
            let (status, message) = self.refusal(function)?;
            Some((function, status, message))
        })
    }

    /// Returns the types that an implementation can use.
    pub fn implemented_types(&self) -> impl Iterator<Item = &Type> {
        self.types.iter().filter(|ty| !ty.is_refused)
    }

    /// Returns the functions of a group that an implementation can have, in the order of the docs.
    pub fn methods_in(&self, group: GroupId) -> impl Iterator<Item = &Function> {
        let functions = self.in_group(group);
        functions.filter(|function| function.releases.is_none() && self.refusal(function).is_none())
    }
}

/// Marks the types that only the parameters of refused functions use. Implementations and callers in Rust lack them.
pub(super) fn mark_types(spec: &mut Spec) {
    let of_functions =
        reached(spec, spec.interfaces.iter().flat_map(|interface| passed(interface, |_, _| true)));
    let of_methods = spec.interfaces.iter().flat_map(|interface| {
        // The caller of a function needs the size of a struct by value.
        let is_copied = |param: &Param| param.is_by_value() && spec.is_struct(param.ty);
        let methods = passed(interface, move |function, param| {
            interface.refusal(function).is_none() || is_copied(param)
        });
        let results = interface.functions.iter().filter_map(|function| function.result.value()?.ty.id());
        let blocks = interface.table().into_iter().flat_map(|table| &table.blocks);
        let fields = blocks.flat_map(|block| &block.fields).filter_map(|field| field.param.ty.id());
        methods.chain(results).chain(fields).chain(interface.status)
    });
    let no_parameters = spec.type_ids().filter(|id| !of_functions.contains(id));
    let kept = reached(spec, of_methods.chain(no_parameters));
    for id in spec.type_ids().filter(|id| !kept.contains(id)).collect::<Vec<_>>() {
        spec.interfaces[id.interface.0].types[id.index].is_refused = true;
    }
}

/// Returns the types of some parameters of functions.
fn passed(interface: &Interface, which: impl Fn(&Function, &Param) -> bool) -> impl Iterator<Item = TypeId> {
    let params = interface
        .functions
        .iter()
        .flat_map(|function| function.params.iter().map(move |param| (function, param)));
    params.filter(move |(function, param)| which(function, param)).filter_map(|(_, param)| param.ty.id())
}

/// Returns some types, and those that their declarations use.
fn reached(spec: &Spec, from: impl Iterator<Item = TypeId>) -> HashSet<TypeId> {
    let mut reached = HashSet::new();
    let mut next: Vec<TypeId> = from.collect();
    while let Some(id) = next.pop() {
        if reached.insert(id) {
            next.extend(spec.ty(id).names());
        }
    }
    reached
}
