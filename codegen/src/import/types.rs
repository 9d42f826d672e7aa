//! The types of a header, with their kinds and their names in a spec.

use std::collections::{BTreeMap, BTreeSet};

use heck::ToSnakeCase;

use super::header::{CType, EnumDecl, Header, StructDecl};
use super::names::Names;
use crate::model::{HandleForm, Interface, Spec, TypeKind};

/// The kind of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An enum.
    Enum,
    /// A struct with its members.
    Struct,
    /// A pointer to a function.
    Callback,
    /// An incomplete struct, which is passed by pointer.
    Object,
    /// A name of a pointer.
    Handle,
    /// A name of a pointer to const.
    ConstHandle,
    /// A struct with a number, which is passed by pointer.
    Id,
}

/// The types of a header, with their names in the spec.
#[derive(Debug)]
pub struct KnownTypes {
    pub(super) by_c_name: BTreeMap<String, (Kind, String)>,
    /// Tags of structs that only names of pointers lead to.
    pub(super) tags: BTreeMap<String, String>,
}

impl KnownTypes {
    /// Returns the kind of a type that the header names, and its name in the spec; `None` for an unknown one.
    pub(super) fn kind(&self, c_name: &str) -> Option<(Kind, &str)> {
        self.by_c_name.get(c_name).map(|(kind, name)| (*kind, name.as_str()))
    }

    /// Names the types of a header.
    pub fn of(header: &Header, prefix: &str) -> Self {
        let mut names = Names::default();
        let mut known = KnownTypes { by_c_name: BTreeMap::new(), tags: BTreeMap::new() };
        let opaque = opaque_structs(header);
        let mut add = |c_name: &str, kind, known: &mut Self| {
            let name = names.pascal(c_name, prefix);
            known.by_c_name.entry(c_name.to_owned()).or_insert((kind, name));
        };
        for it in header.enums.iter().filter(|it| is_describable(it)) {
            add(&it.name, Kind::Enum, &mut known);
        }
        for it in &header.structs {
            let kind = if opaque.contains(it.name.as_str()) { Kind::Object } else { Kind::Struct };
            add(&it.name, kind, &mut known);
        }
        for it in &header.callbacks {
            add(&it.name, Kind::Callback, &mut known);
        }
        let pointed: BTreeSet<&str> =
            header.handles.iter().filter_map(|handle| handle.pointer_to.as_deref()).collect();
        for it in &header.handles {
            match &it.pointer_to {
                Some(tag) if header.is_first(it) => {
                    add(&it.name, Kind::Handle, &mut known);
                    known.tags.insert(it.name.clone(), tag.clone());
                }
                Some(_) => {}
                None if pointed.contains(it.name.as_str()) => {}
                None => add(&it.name, Kind::Object, &mut known),
            }
        }
        // Further names of a pointer to the same struct, and of other types.
        for it in header.handles.iter().filter(|it| !header.is_first(it)) {
            let same = header
                .handles
                .iter()
                .find(|first| first.pointer_to == it.pointer_to && header.is_first(first));
            let kind = if it.is_const { Kind::ConstHandle } else { Kind::Handle };
            if let Some((_, name)) = same.and_then(|same| known.by_c_name.get(&same.name).cloned()) {
                known.by_c_name.entry(it.name.clone()).or_insert((kind, name));
            }
        }
        for (alias, listed) in &header.aliases {
            if let Some(known_as) = known.by_c_name.get(listed).cloned() {
                known.by_c_name.entry(alias.clone()).or_insert(known_as);
            }
        }
        known
    }

    /// Returns true if a handle has this name, in `snake_case`.
    pub(super) fn is_handle(&self, name: &str) -> bool {
        let mut handles =
            self.by_c_name.values().filter(|(kind, _)| matches!(kind, Kind::Object | Kind::Handle));
        handles.any(|(_, handle)| handle.to_snake_case() == name)
    }

    /// Returns true if objects of a type, by its name in the spec, are passed by pointer to it.
    pub(super) fn is_by_pointer(&self, name: &str) -> bool {
        self.by_c_name.values().any(|(kind, known)| *kind == Kind::Object && known == name)
    }

    /// Names the types of a header as a spec does; those that it lacks get names of their own.
    pub fn of_spec(spec: &Spec, interface: &Interface, header: &Header) -> Self {
        let mut known = KnownTypes::of(header, &interface.prefix);
        let used = interface.uses.iter().flat_map(|id| &spec.interfaces[id.0].types);
        for ty in used.chain(&interface.types) {
            let kind = match &ty.kind {
                TypeKind::Handle { form: HandleForm::Pointee(_), .. } => Kind::Object,
                TypeKind::Handle { .. } => Kind::Handle,
                TypeKind::Id { tag, .. } => {
                    known.by_c_name.insert(tag.clone(), (Kind::Id, ty.name.value.clone()));
                    Kind::Id
                }
                TypeKind::Enum { .. } => Kind::Enum,
                TypeKind::Struct { .. } => Kind::Struct,
                TypeKind::Callback { .. } => Kind::Callback,
            };
            known.by_c_name.insert(ty.c_name.clone(), (kind, ty.name.value.clone()));
        }
        known
    }
}

/// Returns true if the spec language has room for the values of an enum.
pub(super) fn is_describable(it: &EnumDecl) -> bool {
    let fits = |value: &i64| (i64::from(i32::MIN)..=i64::from(u32::MAX)).contains(value);
    !it.values.is_empty() && it.values.iter().all(|(_, value, _)| fits(value))
}

/// Returns the structs whose members cannot be described: by themselves, or because they contain such a struct.
fn opaque_structs(header: &Header) -> BTreeSet<&str> {
    let mut opaque: BTreeSet<&str> = header
        .structs
        .iter()
        .filter(|it| it.is_opaque || it.fields.is_empty())
        .map(|it| it.name.as_str())
        .collect();
    loop {
        let contains = |it: &&StructDecl| {
            it.fields.iter().any(|field| match &field.ty {
                CType::Named(name) => opaque.contains(name.as_str()),
                CType::Array { element, .. } => {
                    matches!(&**element, CType::Named(name) if opaque.contains(name.as_str()))
                }
                _ => false,
            })
        };
        let more: Vec<&str> = header
            .structs
            .iter()
            .filter(|it| !opaque.contains(it.name.as_str()))
            .filter(contains)
            .map(|it| it.name.as_str())
            .collect();
        if more.is_empty() {
            return opaque;
        }
        opaque.extend(more);
    }
}
