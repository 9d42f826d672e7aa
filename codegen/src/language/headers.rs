//! The C headers of an interface: the declarations and includes of each.
//!
//! Most interfaces have one. A group of an export may name another, and the interface's own header includes all of
//! them.

use crate::model::{Function, Group, GroupId, Interface, ResultKind, Spec, Type, TypeId};

/// The headers of one interface.
#[derive(Debug)]
pub struct Headers<'a> {
    spec: &'a Spec,
    interface: &'a Interface,
    /// Their names: the interface's own first, then the others in the order of the groups.
    names: Vec<&'a str>,
}

impl<'a> Headers<'a> {
    /// Collects the names of an interface's headers.
    pub fn of(spec: &'a Spec, interface: &'a Interface) -> Self {
        let mut names = vec![interface.header.as_str()];
        for group in &interface.groups {
            if !names.contains(&group.header.value.as_str()) {
                names.push(&group.header.value);
            }
        }
        Headers { spec, interface, names }
    }

    /// Returns the names of the headers: the interface's own first, then the others in the order of the groups.
    pub fn names(&self) -> &[&'a str] {
        &self.names
    }

    /// Returns true if a header declares what is in a group.
    pub fn has_group(&self, header: &str, group: GroupId) -> bool {
        self.interface.groups[group.0].header.value == header
    }

    /// Returns the groups that a header declares.
    pub fn groups(&self, header: &str) -> impl Iterator<Item = &'a Group> {
        self.interface.groups.iter().filter(move |group| group.header.value == header)
    }

    /// Returns the functions that a header declares.
    pub fn functions(&self, header: &str) -> impl Iterator<Item = &'a Function> {
        self.interface.functions.iter().filter(move |function| self.has_group(header, function.group))
    }

    /// Returns the headers of this interface that a header includes.
    pub fn included_by(&self, header: &str) -> Vec<&'a str> {
        if header == self.interface.header {
            return self.names[1..].iter().copied().filter(|other| !self.is_apart(other)).collect();
        }
        self.names.iter().copied().filter(|other| *other != header && self.needs(header, other)).collect()
    }

    /// Returns true if all groups of a header are apart.
    fn is_apart(&self, header: &str) -> bool {
        self.groups(header).all(|group| group.is_apart)
    }

    /// Returns true if a header uses a type that another header declares.
    pub fn needs(&self, header: &str, other: &str) -> bool {
        self.named_in(header).any(|id| self.declares(other, id))
    }

    fn declares(&self, header: &str, id: TypeId) -> bool {
        std::ptr::eq(&self.spec.interfaces[id.interface.0], self.interface)
            && self.has_group(header, self.interface.types[id.index].group)
    }

    /// Returns the types that the declarations of a header use.
    fn named_in(&self, header: &str) -> impl Iterator<Item = TypeId> {
        let interface = self.interface;
        let is_here = |group| self.has_group(header, group);
        let types = interface.types.iter().filter(move |ty| is_here(ty.group)).flat_map(Type::names);
        let params = self.functions(header).flat_map(|function| {
            let params = function.params.iter().chain(function.result.value());
            params.filter_map(|param| param.ty.id())
        });
        let status = self.functions(header).filter(|function| matches!(function.result, ResultKind::Status));
        let status = status.filter_map(|_| interface.status);
        types.chain(params).chain(status)
    }
}
