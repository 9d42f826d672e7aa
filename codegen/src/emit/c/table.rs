//! Tables as data: their members in each release, how they are handed over, and how releases are detected.

use serde::Serialize;

use super::builder::{Builder, FieldItem};
use super::types::{Dialect, Speller};
use crate::abi::{self, MemberKind, TableLayout};
use crate::model::*;

#[derive(Debug, Serialize)]
pub(super) struct TableItem {
    /// The release, if the interface has releases.
    release: Option<String>,
    hosts: String,
    newest: bool,
    name: String,
    /// The permanent name of the newest layout; it does not change when a newer release is added.
    lasting: Option<String>,
    size_macro: String,
    members: Vec<MemberItem>,
    size: u64,
}

#[derive(Debug, Serialize)]
struct MemberItem {
    /// The heading of the block that begins here.
    heading: Option<String>,
    #[serde(flatten)]
    field: FieldItem,
}

#[derive(Debug, Serialize)]
pub(super) struct PluginItem {
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
    newest_only_macro: String,
    fill_function: String,
}

/// The entry point of a plugin that owns its table.
#[derive(Debug, Serialize)]
pub(super) struct OwnedItem {
    comment: Vec<String>,
    entry: String,
    table: String,
    size_field: String,
    has_macro: String,
    version: Vec<VersionPart>,
}

/// The second table, for functions that have no slot in the host's table.
#[derive(Debug, Serialize)]
pub(super) struct ExtensionItem {
    comment: Vec<String>,
    name: String,
    entry: String,
    major_macro: String,
    minor_macro: String,
    version: [u64; 2],
    members: Vec<FieldItem>,
    size: u64,
}

#[derive(Debug, Serialize)]
struct VersionPart {
    field: String,
    name: String,
    value: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct ReleasesItem {
    type_name: String,
    unknown: String,
    function: String,
    constants: Vec<ReleaseItem>,
    /// One case for each size. Releases with the same layout cannot be distinguished, so the newest is used.
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

impl Builder<'_> {
    pub(super) fn tables(&self, table: &Table) -> Vec<TableItem> {
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
            hosts: described.map(|release| release.host_list()).unwrap_or_default(),
            newest,
            name: self.table_name(table, release),
            lasting: release.filter(|_| newest).map(|release| self.names.versioned(&table.c_name, release)),
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
                    let writer = if table.owned().is_some() { "plugin" } else { "host" };
                    let comment = vec![format!("Size of this struct in bytes, written by the {writer}.")];
                    (comment, format!("size_t {};", table.size_field), table.size_field.clone())
                }
                MemberKind::Function(id) => {
                    let function = self.interface.function(*id);
                    let comment = self.comments.function(function);
                    (comment, format!("{};", speller.slot(function, 2)), function.c_name.clone())
                }
                MemberKind::Field(block, field) => {
                    let field = &table.blocks[*block].fields[*field].param;
                    let (spelled, brackets) = speller.field(field);
                    let name = self.names.field(field);
                    (self.comments.field(field, &[]), format!("{spelled} {name}{brackets};"), name)
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
                field: FieldItem { comment, declaration, name, offset: member.offset, members: Vec::new() },
            });
        }
        members
    }

    fn block_of<'t>(&self, table: &'t Table, member: &MemberKind) -> Option<&'t str> {
        if let MemberKind::Field(block, _) = member {
            return Some(&table.blocks[*block].name);
        }
        let MemberKind::Function(id) = member else { return None };
        let has = |block: &&Block| {
            block.slots.iter().any(|slot| slot.functions.iter().any(|function| function.value == *id))
        };
        table.blocks.iter().find(has).map(|block| block.name.as_str())
    }

    pub(super) fn plugin(&self, table: &Table, plugin: &Plugin) -> PluginItem {
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
            newest_only_macro: self.names.newest_only_macro(),
            fill_function: self.names.fill_function(),
        }
    }

    pub(super) fn owned(&self, table: &Table, owned: &OwnedTable) -> OwnedItem {
        let stated = owned.version.iter().flat_map(|(field, numbers)| {
            let fields = match table.field(field).map(|field| field.ty) {
                Some(Ty::Named(id)) => match &self.spec.ty(id).kind {
                    TypeKind::Struct { fields, .. } => fields.as_slice(),
                    _ => &[],
                },
                _ => &[],
            };
            fields.iter().zip(numbers)
        });
        OwnedItem {
            comment: self.comments.owned(owned),
            entry: owned.entry.clone(),
            table: table.c_name.clone(),
            size_field: table.size_field.clone(),
            has_macro: self.names.has_macro("FUNCTION"),
            version: stated
                .map(|(field, number)| VersionPart {
                    field: field.name.value.clone(),
                    name: self.names.part_macro(&field.name.value),
                    value: *number,
                })
                .collect(),
        }
    }

    pub(super) fn extension(&self, extension: &Extension) -> ExtensionItem {
        let (slots, size) = abi::extension_layout(extension);
        let member = |comment: &str, declaration: &str, name: &str, offset| FieldItem {
            comment: vec![comment.to_owned()],
            declaration: format!("{declaration} {name};"),
            name: name.to_owned(),
            offset,
            members: Vec::new(),
        };
        let mut members = vec![
            member("Size of this struct in bytes, written by the plugin.", "size_t", "size", 0),
            member("Major number of the version.", "uint32_t", "major", abi::POINTER),
            member("Minor number of the version.", "uint32_t", "minor", abi::POINTER + 4),
        ];
        members.extend(slots.into_iter().map(|(id, offset)| {
            let function = self.interface.function(id);
            FieldItem {
                comment: self.comments.function(function),
                declaration: format!("{};", self.newest.slot(function, 2)),
                name: function.c_name.clone(),
                offset,
                members: Vec::new(),
            }
        }));
        ExtensionItem {
            comment: self.comments.extension(extension),
            name: extension.c_name.clone(),
            entry: extension.entry.clone(),
            major_macro: self.names.part_macro("extension_major"),
            minor_macro: self.names.part_macro("extension_minor"),
            version: extension.version(),
            members,
            size,
        }
    }

    pub(super) fn releases(&self, table: &Table) -> Option<ReleasesItem> {
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
}
