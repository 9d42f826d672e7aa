//! The header as data: everything is decided here, so that the template only lays it out.

use std::collections::BTreeSet;

use serde::Serialize;

use super::doxygen::Comments;
use super::names::Names;
use super::types::{Dialect, Speller};
use crate::abi::{self, MemberKind, StructLayout, TableLayout};
use crate::model::*;

/// A C header.
#[derive(Debug, Serialize)]
pub struct Header {
    marker: String,
    guard: String,
    comment: Vec<String>,
    includes: Vec<String>,
    /// Structs that are named before they are described.
    forward: Vec<String>,
    types: Vec<TypeItem>,
    /// The newest table, then the older ones, newest first.
    tables: Vec<TableItem>,
    /// Structs that looked different in older releases.
    old_structs: Vec<StructItem>,
    plugin: Option<PluginItem>,
    releases: Option<ReleasesItem>,
    sections: Vec<Section>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum TypeItem {
    Plain { comment: Vec<String>, declaration: String },
    Enum { comment: Vec<String>, name: String, values: Vec<ValueItem>, size: u64 },
    Struct(StructItem),
}

#[derive(Debug, Serialize)]
struct ValueItem {
    comment: Vec<String>,
    name: String,
    value: i64,
}

#[derive(Debug, Serialize)]
struct StructItem {
    comment: Vec<String>,
    name: String,
    anonymous: bool,
    fields: Vec<FieldItem>,
    size: u64,
}

#[derive(Debug, Serialize)]
struct FieldItem {
    comment: Vec<String>,
    declaration: String,
    name: String,
    offset: u64,
}

#[derive(Debug, Serialize)]
struct TableItem {
    /// The release, if the interface has any.
    release: Option<String>,
    hosts: String,
    newest: bool,
    name: String,
    size_macro: String,
    members: Vec<MemberItem>,
    size: u64,
}

#[derive(Debug, Serialize)]
struct MemberItem {
    /// Set where a block begins.
    heading: Option<String>,
    #[serde(flatten)]
    field: FieldItem,
}

#[derive(Debug, Serialize)]
struct PluginItem {
    comment: Vec<String>,
    entry: String,
    params: String,
    size_field: String,
    table_field: String,
    table_size_field: String,
    version_field: String,
    table: String,
    version: [VersionPart; 3],
    check_macro: String,
    state_macro: String,
    newest: Option<String>,
    release_function: String,
}

#[derive(Debug, Serialize)]
struct VersionPart {
    field: String,
    name: String,
    value: u64,
}

#[derive(Debug, Serialize)]
struct ReleasesItem {
    type_name: String,
    unknown: String,
    function: String,
    constants: Vec<ReleaseItem>,
    /// One for each size: releases of the same layout cannot be told apart, so the newest of them answers.
    cases: Vec<ReleaseItem>,
}

#[derive(Clone, Debug, Serialize)]
struct ReleaseItem {
    release: String,
    constant: String,
    size_macro: String,
    size: u64,
    value: usize,
}

#[derive(Debug, Serialize)]
struct Section {
    comment: Vec<String>,
    functions: Vec<FunctionItem>,
}

#[derive(Debug, Serialize)]
struct FunctionItem {
    comment: Vec<String>,
    declaration: String,
}

/// Prepares the header of an interface.
pub fn header(spec: &Spec, interface: &Interface, marker: String) -> Header {
    Builder {
        spec,
        interface,
        names: Names::new(spec, interface),
        comments: Comments::new(spec, interface),
        newest: Speller::new(spec, interface, interface.newest(), Dialect::C),
    }
    .header(marker)
}

struct Builder<'a> {
    spec: &'a Spec,
    interface: &'a Interface,
    names: Names<'a>,
    comments: Comments<'a>,
    newest: Speller<'a>,
}

impl Builder<'_> {
    fn header(&self, marker: String) -> Header {
        let interface = self.interface;
        let table = interface.table();
        let plugin = table.and_then(|table| Some((table, table.plugin.as_ref()?)));
        Header {
            marker,
            guard: self.names.guard(),
            comment: self.comments.header(),
            includes: interface.uses.iter().map(|id| self.spec.interfaces[id.0].header.clone()).collect(),
            forward: table.iter().map(|table| table.c_name.clone()).collect(),
            types: self.types_in_order().into_iter().map(|index| self.ty(&interface.types[index])).collect(),
            tables: table.map(|table| self.tables(table)).unwrap_or_default(),
            old_structs: self.old_structs(),
            plugin: plugin.map(|(table, plugin)| self.plugin(table, plugin)),
            releases: table.and_then(|table| self.releases(table)),
            sections: if table.is_some() { Vec::new() } else { self.sections() },
        }
    }

    /// Types such that each stands behind those that it names.
    fn types_in_order(&self) -> Vec<usize> {
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

    /// The types of this interface that a type names.
    fn named_by(&self, ty: &Type) -> Vec<usize> {
        let own = |ty: Ty| match ty {
            Ty::Named(id) => {
                std::ptr::eq(&self.spec.interfaces[id.interface.0], self.interface).then_some(id.index)
            }
            _ => None,
        };
        match &ty.kind {
            TypeKind::Struct { fields, .. } => fields.iter().filter_map(|field| own(field.ty)).collect(),
            TypeKind::Callback { params, result } => {
                params.iter().chain(result.as_deref()).filter_map(|param| own(param.ty)).collect()
            }
            TypeKind::Handle { .. } | TypeKind::Id { .. } | TypeKind::Enum { .. } => Vec::new(),
        }
    }

    fn ty(&self, ty: &Type) -> TypeItem {
        let (comment, name) = (self.comments.ty(ty), &ty.c_name);
        let plain = |declaration| TypeItem::Plain { comment: comment.clone(), declaration };
        match &ty.kind {
            TypeKind::Handle { tag, by_pointer: true, .. } => plain(format!("typedef struct {tag} {name};")),
            TypeKind::Handle { tag, .. } => plain(format!("typedef struct {tag}* {name};")),
            TypeKind::Id { tag, field, ty } => {
                let member = format!("{} {}", self.newest.base(*ty), self.names.variable(field));
                plain(format!("typedef struct {tag} {{\n  {member};\n}}* {name};"))
            }
            TypeKind::Callback { params, result } => {
                plain(format!("typedef {};", self.newest.callback(params, result.as_deref(), name)))
            }
            TypeKind::Enum { values, .. } => TypeItem::Enum {
                name: name.clone(),
                values: values
                    .iter()
                    .map(|value| ValueItem {
                        comment: self.comments.value(value),
                        name: value.c_name.clone(),
                        value: value.value,
                    })
                    .collect(),
                size: 4,
                comment,
            },
            TypeKind::Struct { anonymous, fields } => {
                let layout = abi::struct_layout(self.spec, fields, self.interface.newest());
                TypeItem::Struct(StructItem {
                    name: name.clone(),
                    anonymous: *anonymous,
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
            let name = self.names.variable(&field.name.value);
            // The params of the hand-over point to the table, which is no type of the spec.
            let spelled = match self.table_behind(ty, field) {
                Some(table) => format!("{}*", self.table_name(table, release)),
                None => spelled,
            };
            FieldItem {
                comment: self.comments.field(field, fields),
                declaration: format!("{spelled} {name}{brackets};"),
                name,
                offset: *offset,
            }
        };
        layout.fields.iter().map(place).collect()
    }

    fn table_behind(&self, ty: &Type, field: &Param) -> Option<&Table> {
        let table = self.interface.table()?;
        let plugin = table.plugin.as_ref()?;
        let is_params = std::ptr::eq(self.spec.ty(plugin.params), ty);
        (is_params && plugin.table == field.name.value).then_some(table)
    }

    fn table_name(&self, table: &Table, release: Option<ReleaseId>) -> String {
        match release {
            Some(release) if Some(release) != self.interface.newest() => {
                self.names.versioned(&table.c_name, release)
            }
            _ => table.c_name.clone(),
        }
    }

    fn tables(&self, table: &Table) -> Vec<TableItem> {
        if self.interface.releases.is_empty() {
            return vec![self.table(table, None)];
        }
        let releases: Vec<ReleaseId> = self.interface.release_ids().map(|(id, _)| id).collect();
        releases.into_iter().rev().map(|release| self.table(table, Some(release))).collect()
    }

    fn table(&self, table: &Table, release: Option<ReleaseId>) -> TableItem {
        let layout = abi::table_layout(self.interface, table, release);
        let newest = release == self.interface.newest();
        let described = release.map(|id| &self.interface.releases[id.0]);
        TableItem {
            release: described.map(|release| release.name.value.clone()),
            hosts: described.map(|release| release.hosts.join(", ")).unwrap_or_default(),
            newest,
            name: self.table_name(table, release),
            size_macro: self.names.size_macro(release),
            members: self.members(table, &layout, release, newest),
            size: layout.size,
        }
    }

    fn members(
        &self,
        table: &Table,
        layout: &TableLayout,
        release: Option<ReleaseId>,
        newest: bool,
    ) -> Vec<MemberItem> {
        let speller = Speller::new(self.spec, self.interface, release, Dialect::C);
        let mut current: Option<&str> = None;
        let mut members = Vec::new();
        for member in &layout.members {
            let (comment, declaration, name) = match &member.kind {
                MemberKind::Size => {
                    let comment = vec!["Size of this struct in bytes, written by the host.".to_owned()];
                    (comment, format!("size_t {};", table.size_field), table.size_field.clone())
                }
                MemberKind::Function(id) => {
                    let function = self.interface.function(*id);
                    let comment = self.comments.function(function);
                    (comment, format!("{};", speller.slot(function, 2)), function.c_name.clone())
                }
                MemberKind::Reserved(name, count) => {
                    (vec!["Unused; null.".to_owned()], format!("void* {name}[{count}];"), name.clone())
                }
            };
            let block = self.block_of(table, &member.kind).or(current);
            let heading = if block == current { None } else { block.map(str::to_owned) };
            current = block;
            let comment = if newest { comment } else { Vec::new() };
            members.push(MemberItem {
                heading,
                field: FieldItem { comment, declaration, name, offset: member.offset },
            });
        }
        members
    }

    fn block_of<'t>(&self, table: &'t Table, member: &MemberKind) -> Option<&'t str> {
        let MemberKind::Function(id) = member else { return None };
        let has = |block: &&Block| {
            block.slots.iter().any(|slot| slot.functions.iter().any(|function| function.value == *id))
        };
        table.blocks.iter().find(has).map(|block| block.name.as_str())
    }

    /// Structs as they were in releases whose layout differs from the newest one.
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

    fn plugin(&self, table: &Table, plugin: &Plugin) -> PluginItem {
        let part = |part: &str, value| VersionPart {
            field: part.to_lowercase(),
            name: self.names.version_macro(plugin, part),
            value,
        };
        let [major, minor, patch] = plugin.version;
        PluginItem {
            comment: self.comments.plugin(plugin),
            entry: plugin.entry.clone(),
            params: self.spec.ty(plugin.params).c_name.clone(),
            size_field: plugin.size.clone(),
            table_field: plugin.table.clone(),
            table_size_field: table.size_field.clone(),
            version_field: plugin.version_field.clone(),
            table: table.c_name.clone(),
            version: [part("MAJOR", major), part("MINOR", minor), part("PATCH", patch)],
            check_macro: self.names.check_macro(plugin),
            state_macro: self.names.state_version_macro(),
            newest: self.interface.newest().map(|id| self.interface.releases[id.0].name.value.clone()),
            release_function: self.names.release_function(),
        }
    }

    fn releases(&self, table: &Table) -> Option<ReleasesItem> {
        self.interface.newest()?;
        let constants: Vec<ReleaseItem> = self
            .interface
            .release_ids()
            .map(|(id, release)| ReleaseItem {
                release: release.name.value.clone(),
                constant: self.names.release_constant(id),
                size_macro: self.names.size_macro(Some(id)),
                size: abi::table_layout(self.interface, table, Some(id)).size,
                value: id.0 + 1,
            })
            .collect();
        let mut cases: Vec<ReleaseItem> = Vec::new();
        for release in &constants {
            cases.retain(|known| known.size != release.size);
            cases.push(release.clone());
        }
        Some(ReleasesItem {
            type_name: self.names.release_type(),
            unknown: self.names.unknown_release(),
            function: self.names.release_function(),
            constants,
            cases,
        })
    }

    fn sections(&self) -> Vec<Section> {
        let groups = self.interface.groups.iter().enumerate();
        groups
            .map(|(index, group)| Section {
                comment: self.comments.heading(group),
                functions: self
                    .interface
                    .in_group(GroupId(index))
                    .map(|function| FunctionItem {
                        comment: self.comments.function(function),
                        declaration: format!("{};", self.newest.prototype(function)),
                    })
                    .collect(),
            })
            .filter(|section| !section.functions.is_empty())
            .collect()
    }
}
