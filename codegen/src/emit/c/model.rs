//! The header as data. The template only lays it out.

use std::collections::BTreeSet;

use serde::Serialize;

use super::doxygen::Comments;
use super::fill::FillItem;
use super::names::{self, Names};
use super::table::{ExtensionItem, OwnedItem, PluginItem, ReleasesItem, TableItem};
use super::types::{self, Dialect, Speller};
use crate::abi::{self, ArgsMember, StructLayout};
use crate::language::headers::Headers;
use crate::model::*;
use crate::sdk::Face;

/// A C header.
#[derive(Debug, Serialize)]
pub struct Header {
    marker: String,
    guard: String,
    comment: Vec<String>,
    includes: Vec<String>,
    /// The macro for weak linkage.
    weak: Option<String>,
    /// Structs that are used before they are defined.
    forward: Vec<String>,
    types: Vec<TypeItem>,
    /// The newest table, then the older ones, newest first.
    tables: Vec<TableItem>,
    /// Structs that had another layout in older releases.
    old_structs: Vec<StructItem>,
    plugin: Option<PluginItem>,
    owned: Option<OwnedItem>,
    extension: Option<ExtensionItem>,
    /// Structs of arguments.
    args: Vec<StructItem>,
    /// True if callers can test whether a struct of arguments has a member.
    args_macro: Option<ArgsMacro>,
    releases: Option<ReleasesItem>,
    fill: Option<FillItem>,
    sections: Vec<Section>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum TypeItem {
    Plain { comment: Vec<String>, declaration: String },
    Enum { comment: Vec<String>, name: String, is_int: bool, values: Vec<ValueItem>, size: u64 },
    Struct(StructItem),
}

#[derive(Debug, Serialize)]
pub(super) struct ValueItem {
    pub(super) comment: Vec<String>,
    pub(super) name: String,
    pub(super) value: i64,
}

#[derive(Debug, Serialize)]
pub(super) struct StructItem {
    comment: Vec<String>,
    /// `struct` or `union`.
    word: &'static str,
    name: String,
    anonymous: bool,
    fields: Vec<FieldItem>,
    size: u64,
}

#[derive(Debug, Serialize)]
struct ArgsMacro {
    name: String,
    size_field: String,
}

#[derive(Debug, Serialize)]
pub(super) struct FieldItem {
    pub(super) comment: Vec<String>,
    pub(super) declaration: String,
    pub(super) name: String,
    pub(super) offset: u64,
    /// Of a union without a name: its members, which C declares in place of the field.
    pub(super) members: Vec<FieldItem>,
}

#[derive(Debug, Serialize)]
pub(super) struct Section {
    pub(super) comment: Vec<String>,
    pub(super) functions: Vec<FunctionItem>,
}

#[derive(Debug, Serialize)]
pub(super) struct FunctionItem {
    pub(super) comment: Vec<String>,
    pub(super) declaration: String,
}

/// Prepares one of the headers of an interface.
pub fn header(spec: &Spec, interface: &Interface, name: &str, marker: String) -> Header {
    Builder {
        spec,
        interface,
        names: Names::new(spec, interface),
        comments: Comments::new(spec, interface),
        newest: Speller::new(spec, interface, interface.newest(), Dialect::C),
        face: None,
    }
    .header(name, marker)
}

pub(super) struct Builder<'a> {
    pub(super) spec: &'a Spec,
    pub(super) interface: &'a Interface,
    pub(super) names: Names<'a>,
    pub(super) comments: Comments<'a>,
    pub(super) newest: Speller<'a>,
    /// The SDK's view, if the types are those of the SDK.
    pub(super) face: Option<Face<'a>>,
}

impl Builder<'_> {
    fn header(&self, name: &str, marker: String) -> Header {
        let interface = self.interface;
        let headers = Headers::of(self.spec, interface);
        let is_here = |group| headers.has_group(name, group);
        let table = interface.table();
        let used = interface.uses.iter().map(|id| self.spec.interfaces[id.0].header.as_str());
        let includes = used.chain(headers.included_by(name)).map(|other| names::beside(name, other));
        let types = self.types_in_order().into_iter().map(|index| &interface.types[index]);
        let types = types.filter(|ty| !matches!(ty.kind, TypeKind::Struct { is_unnamed: true, .. }));
        let plugin = table.and_then(|table| Some((table, table.plugin()?)));
        Header {
            marker,
            guard: self.names.guard(name),
            comment: self.comments.header(&headers, name),
            includes: includes.collect(),
            weak: interface.weak.clone(),
            forward: table.iter().map(|table| table.c_name.clone()).collect(),
            types: types.filter(|ty| is_here(ty.group)).map(|ty| self.ty(ty)).collect(),
            tables: table.map(|table| self.tables(table)).unwrap_or_default(),
            old_structs: self.old_structs(),
            plugin: plugin.map(|(table, plugin)| self.plugin(table, plugin)),
            owned: table.and_then(|table| Some(self.owned(table, table.owned()?))),
            extension: table
                .and_then(|table| table.extension.as_ref())
                .map(|extension| self.extension(extension)),
            args: self.args(),
            args_macro: interface.args.as_ref().map(|(size_field, _)| ArgsMacro {
                name: self.names.has_macro("ARG"),
                size_field: size_field.clone(),
            }),
            releases: table.and_then(|table| self.releases(table)),
            fill: plugin.and_then(|(table, plugin)| self.fill(table, plugin)),
            sections: if table.is_some() { Vec::new() } else { self.sections(&is_here) },
        }
    }

    /// Sorts types so that each comes after the types that it uses.
    pub(super) fn types_in_order(&self) -> Vec<usize> {
        fn visit(builder: &Builder, index: usize, seen: &mut BTreeSet<usize>, order: &mut Vec<usize>) {
            if !seen.insert(index) {
                return;
            }
            for needed in builder.named_by(&builder.interface.types[index]) {
                visit(builder, needed, seen, order);
            }
            order.push(index);
        }
        let (mut seen, mut order) = (BTreeSet::new(), Vec::new());
        for index in 0..self.interface.types.len() {
            visit(self, index, &mut seen, &mut order);
        }
        order
    }

    /// Returns the types of this interface that a type uses.
    fn named_by(&self, ty: &Type) -> Vec<usize> {
        let is_own = |id: &TypeId| std::ptr::eq(&self.spec.interfaces[id.interface.0], self.interface);
        ty.names().filter(is_own).map(|id| id.index).collect()
    }

    /// Returns the names of a type and of its struct, if it has one.
    fn type_names(&self, ty: &Type) -> (String, String) {
        let tag = match &ty.kind {
            TypeKind::Handle { form, .. } => form.tag().unwrap_or_default().to_owned(),
            TypeKind::Id { tag, .. } => tag.clone(),
            TypeKind::Enum { .. } | TypeKind::Struct { .. } | TypeKind::Callback { .. } => String::new(),
        };
        match self.face.map(|face| face.ty(ty)) {
            Some(name) => (name.clone(), format!("{name}_st")),
            None => (ty.c_name.clone(), tag),
        }
    }

    pub(super) fn ty(&self, ty: &Type) -> TypeItem {
        let comment = self.comments.ty(ty);
        let (name, tag) = &self.type_names(ty);
        let plain = |declaration| TypeItem::Plain { comment: comment.clone(), declaration };
        match &ty.kind {
            TypeKind::Handle { form, const_name, .. } => {
                plain(types::handle(form, name, tag, const_name.as_deref()))
            }
            TypeKind::Id { field, ty, .. } => {
                let member = format!("{} {}", self.newest.base(*ty), self.names.variable(field));
                plain(format!("typedef struct {tag} {{\n  {member};\n}}* {name};"))
            }
            TypeKind::Callback { params, result, .. } => {
                plain(format!("typedef {};", self.newest.callback(params, result.as_deref(), name)))
            }
            TypeKind::Enum { values, as_int, .. } => TypeItem::Enum {
                name: name.clone(),
                is_int: *as_int && self.face.is_none(),
                values: values
                    .iter()
                    .map(|value| ValueItem {
                        comment: self.comments.value(value),
                        name: self.face.map_or_else(|| value.c_name.clone(), |face| face.value(ty, value)),
                        value: value.value,
                    })
                    .collect(),
                size: 4,
                comment,
            },
            TypeKind::Struct { anonymous, is_union, fields, .. } => {
                let layout = match is_union {
                    true => abi::union_layout(self.spec, fields, self.interface.newest()),
                    false => abi::struct_layout(self.spec, fields, self.interface.newest()),
                };
                TypeItem::Struct(StructItem {
                    word: if *is_union { "union" } else { "struct" },
                    name: name.clone(),
                    anonymous: *anonymous && self.face.is_none(),
                    fields: self.fields(ty, fields, &layout, self.interface.newest()),
                    size: layout.size,
                    comment,
                })
            }
        }
    }

    fn fields(
        &self,
        ty: &Type,
        fields: &[Param],
        layout: &StructLayout,
        release: Option<ReleaseId>,
    ) -> Vec<FieldItem> {
        let place = |(index, offset, _): &(usize, u64, u64)| {
            let field = &fields[*index];
            let (spelled, brackets) = self.newest.field(field);
            let name = self.names.field(field);
            // The params struct points to the table, which is not a type of the spec.
            let spelled = match self.table_behind(ty, field) {
                Some(table) => format!("{}*", self.table_name(table, release)),
                None => spelled,
            };
            FieldItem {
                comment: self.comments.field(field, fields),
                declaration: format!("{spelled} {name}{brackets};"),
                name,
                offset: *offset,
                members: self.unnamed_members(field, *offset, release),
            }
        };
        layout.fields.iter().map(place).collect()
    }

    /// The members of a union without a name, with their offsets in the struct around it.
    fn unnamed_members(&self, field: &Param, offset: u64, release: Option<ReleaseId>) -> Vec<FieldItem> {
        let Ty::Named(id) = field.ty else { return Vec::new() };
        let ty = self.spec.ty(id);
        let TypeKind::Struct { fields, is_unnamed: true, .. } = &ty.kind else { return Vec::new() };
        let layout = abi::union_layout(self.spec, fields, release);
        let mut members = self.fields(ty, fields, &layout, release);
        members.iter_mut().for_each(|member| member.offset += offset);
        members
    }

    fn table_behind(&self, ty: &Type, field: &Param) -> Option<&Table> {
        let table = self.interface.table()?;
        let plugin = table.plugin()?;
        let is_params = std::ptr::eq(self.spec.ty(plugin.params), ty);
        (is_params && plugin.table == field.name.value).then_some(table)
    }

    pub(super) fn table_name(&self, table: &Table, release: Option<ReleaseId>) -> String {
        match release {
            Some(release) if Some(release) != self.interface.newest() => {
                self.names.versioned(&table.c_name, release)
            }
            _ => table.c_name.clone(),
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
                    let spelled = match self.spec.is_written_in_args(param) {
                        true => self.newest.written(param),
                        false => self.newest.param(param),
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

    fn sections(&self, is_here: &dyn Fn(GroupId) -> bool) -> Vec<Section> {
        let groups = self.interface.groups.iter().enumerate();
        groups
            .filter(|(index, _)| is_here(GroupId(*index)))
            .map(|(index, group)| Section {
                comment: self.comments.heading(group),
                functions: self
                    .interface
                    .in_group(GroupId(index))
                    .map(|function| FunctionItem {
                        comment: self.comments.function(function),
                        declaration: format!("{};", self.newest.declared(function)),
                    })
                    .collect(),
            })
            .filter(|section| !section.functions.is_empty())
            .collect()
    }
}
