//! A header as data. The template only lays it out.

use minijinja::value::Serde;
use minijinja::{Value, context};

use super::builder::{Builder, FieldItem, StructItem};
use super::names;
use crate::language::headers::Headers;
use crate::model::abi::{self, ArgsMember};
use crate::model::*;

/// Prepares one of the headers of an interface.
pub fn header(spec: &Spec, interface: &Interface, name: &str, marker: String) -> Value {
    Builder::new(spec, interface).header(name, marker)
}

impl Builder<'_> {
    fn header(&self, name: &str, marker: String) -> Value {
        let interface = self.interface;
        let headers = Headers::of(self.spec, interface);
        let is_here = |group| headers.has_group(name, group);
        let table = interface.table();
        let used = interface.uses.iter().map(|id| self.spec.interfaces[id.0].header.as_str());
        let includes = used.chain(headers.included_by(name)).map(|other| names::beside(name, other));
        let types = self.types_in_order().into_iter().map(|index| &interface.types[index]);
        let types = types.filter(|ty| !matches!(ty.kind, TypeKind::Struct { is_unnamed: true, .. }));
        let typedefs =
            headers.groups(name).flat_map(|group| &group.typedefs).map(|typedef| self.typedef(typedef));
        let types = types.filter(|ty| is_here(ty.group)).map(|ty| self.ty(ty));
        let plugin = table.and_then(|table| Some((table, table.plugin()?)));
        context! {
            marker,
            guard => self.names.guard(name),
            comment => self.comments.header(&headers, name),
            includes => includes.collect::<Value>(),
            weak => &interface.weak,
            forward => match &interface.kind {
                InterfaceKind::Table(table) => vec![table.c_name.clone()],
                InterfaceKind::HostTable { c_name } => vec![c_name.clone()],
                InterfaceKind::Objects => {
                    let inner = interface.objects().filter_map(|(_, object)| object.inner.as_ref());
                    inner.map(|inner| inner.c_name.clone()).collect()
                }
                InterfaceKind::Export | InterfaceKind::Import { .. } => Vec::new(),
            },
            types => Serde(typedefs.chain(types).collect::<Vec<_>>()),
            tables => match &interface.kind {
                InterfaceKind::Table(table) => self.tables(table),
                InterfaceKind::HostTable { c_name } => vec![self.host_table(c_name)],
                InterfaceKind::Objects => self.objects(),
                InterfaceKind::Export | InterfaceKind::Import { .. } => Vec::new(),
            },
            old_structs => Serde(self.old_structs()),
            plugin => plugin.map(|(table, plugin)| self.plugin(table, plugin)),
            owned => table.and_then(|table| Some(self.owned(table, table.owned()?))),
            extension => table
                .and_then(|table| table.extension.as_ref())
                .map(|extension| self.extension(extension)),
            args => Serde(self.args()),
            args_macro => interface.args.as_ref().map(|(size_field, _)| context! {
                name => self.names.has_macro("ARG"),
                size_field => size_field.clone(),
            }),
            releases => table.and_then(|table| self.releases(table)),
            fill => plugin.and_then(|(table, plugin)| self.fill(table, plugin)),
            sections => match interface.kind {
                InterfaceKind::Export | InterfaceKind::Import { .. } => self.sections(&is_here),
                _ => Vec::new(),
            },
        }
    }

    /// Returns the structs of releases whose layout differs from the newest one.
    fn old_structs(&self) -> Vec<StructItem> {
        let Some(newest) = self.interface.newest() else { return Vec::new() };
        let mut items = Vec::new();
        for ty in &self.interface.types {
            let TypeKind::Struct { fields, .. } = &ty.kind else { continue };
            let now = abi::struct_layout(self.spec, fields, Some(newest));
            for (release, _) in self.interface.release_ids().rev().filter(|(release, _)| *release != newest) {
                let layout = abi::struct_layout(self.spec, fields, Some(release));
                let named = &self.interface.releases[release.0].name.value;
                if layout.fields != now.fields && ty.availability.contains(release) {
                    let mut fields = self.fields(ty, fields, &layout, Some(release));
                    fields.iter_mut().for_each(|field| field.comment.clear());
                    items.push(StructItem {
                        comment: vec![format!("`{}` of release {named}.", ty.c_name)],
                        word: "struct",
                        name: self.names.versioned(&ty.c_name, release),
                        anonymous: false,
                        fields,
                        size: layout.size,
                    });
                }
            }
        }
        items
    }

    /// Returns the structs whose members are the parameters of a function.
    fn args(&self) -> Vec<StructItem> {
        let functions = self.interface.functions.iter();
        functions.filter_map(|function| Some(self.args_struct(function, function.args.as_ref()?))).collect()
    }

    fn args_struct(&self, function: &Function, args: &ArgsStruct) -> StructItem {
        let layout = abi::args_layout(self.spec, function, args);
        let member = |(member, offset, _): &(ArgsMember, u64, u64)| {
            let (comment, spelled, name) = match member {
                ArgsMember::Size => {
                    let text = "Size of this struct in bytes, as the caller knows it.";
                    (vec![text.to_owned()], "size_t".to_owned(), args.size_field.clone())
                }
                ArgsMember::Extension => {
                    let name = args.extension.clone().unwrap_or_default();
                    (vec!["Reserved; null.".to_owned()], "void*".to_owned(), name)
                }
                ArgsMember::Param(id) => {
                    let param = function.param(*id);
                    let spelled = if self.spec.is_written_in_args(param) {
                        self.newest.written(param)
                    } else {
                        self.newest.param(param)
                    };
                    let name = self.names.variable(&param.name.value);
                    (self.comments.field(param, &function.params), spelled, name)
                }
            };
            let declaration = format!("{spelled} {name};");
            FieldItem { comment, declaration, name, offset: *offset, members: Vec::new() }
        };
        StructItem {
            comment: vec![format!("@brief The arguments of `{}`.", function.c_name)],
            word: "struct",
            name: args.c_name.clone(),
            anonymous: false,
            fields: layout.members.iter().map(member).collect(),
            size: layout.size,
        }
    }

    fn sections(&self, is_here: &dyn Fn(GroupId) -> bool) -> Vec<Value> {
        let declared = |function: &Function| {
            (self.comments.function(function), format!("{};", self.newest.declared(function)))
        };
        let groups = self.interface.groups.iter().enumerate();
        groups
            .filter(|(index, _)| is_here(GroupId(*index)))
            .filter_map(|(index, group)| {
                section(self.comments.heading(group), self.interface.in_group(GroupId(index)).map(declared))
            })
            .collect()
    }
}

/// Returns the section of a group: its heading, and the comments and declarations of its functions; `None` if it has no
/// functions.
pub(super) fn section(
    comment: Vec<String>,
    functions: impl Iterator<Item = (Vec<String>, String)>,
) -> Option<Value> {
    let functions = functions.map(|(comment, declaration)| context! { comment, declaration });
    let functions: Vec<Value> = functions.collect();
    (!functions.is_empty()).then(|| context! { comment, functions })
}
