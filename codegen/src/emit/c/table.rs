//! Tables as data: their members in each release, how they are handed over, and how releases are detected.

use minijinja::value::Serde;
use minijinja::{Value, context};

use super::builder::{Builder, FieldItem};
use super::types::{Dialect, Speller};
use crate::model::abi::{self, MemberKind, TableLayout};
use crate::model::*;

impl Builder<'_> {
    pub(super) fn tables(&self, table: &Table) -> Vec<Value> {
        if self.interface.releases.is_empty() {
            return vec![self.table(table, None)];
        }
        let releases: Vec<ReleaseId> = self.interface.release_ids().map(|(id, _)| id).collect();
        releases.into_iter().rev().map(|release| self.table(table, Some(release))).collect()
    }

    fn table(&self, table: &Table, release: Option<ReleaseId>) -> Value {
        let layout = abi::table_layout(self.interface, table, release);
        let newest = release == self.interface.newest();
        let described = release.map(|id| &self.interface.releases[id.0]);
        context! {
            release => described.map(|release| release.name.value.clone()),
            newest,
            hosts => described.map(|release| release.host_list()).unwrap_or_default(),
            comment => vec![match described {
                Some(it) => {
                    let (name, hosts) = (&it.name.value, it.host_list());
                    format!("@brief The table as release {name} has it (seen in {hosts}), which is the newest.")
                }
                None => "@brief The table.".to_owned(),
            }],
            name => self.table_name(table, release),
            lasting => release.filter(|_| newest).map(|release| self.names.versioned(&table.c_name, release)),
            size_macro => self.names.size_macro(release),
            members => self.members(table, &layout, release, newest),
            size => layout.size,
        }
    }

    fn members(
        &self,
        table: &Table,
        layout: &TableLayout,
        release: Option<ReleaseId>,
        newest: bool,
    ) -> Vec<Value> {
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
            members.push(context! {
                heading,
                comment, declaration, name, offset => member.offset, members => Vec::<Value>::new(),
            });
        }
        members
    }

    /// Returns the structs of objects, and those that they contain.
    pub(super) fn objects(&self) -> Vec<Value> {
        self.interface.objects().flat_map(|(ty, object)| self.object(ty, object)).collect()
    }

    fn object(&self, ty: &Type, object: &Object) -> Vec<Value> {
        let newest = self.interface.newest();
        let layout = abi::object_layout(self.spec, self.interface, (ty, object), newest);
        let start = layout.start_of_functions().unwrap_or_default();
        let (mut members, mut inner) = (Vec::new(), Vec::new());
        for member in &layout.members {
            match member.kind {
                MemberKind::Field(block, index) => {
                    let field = object.field(block, index);
                    let (spelled, brackets) = self.newest.field(field);
                    let name = self.names.field(field);
                    let declaration = format!("{spelled} {name}{brackets};");
                    members.push(plain(self.comments.field(field, &[]), declaration, name, member.offset));
                }
                MemberKind::Function(id) => {
                    let function = self.interface.function(id);
                    let comment = self.comments.function(function);
                    let declaration = format!("{};", self.newest.slot(function, 2));
                    let name = function.c_name.clone();
                    match &object.inner {
                        None => members.push(plain(comment, declaration, name, member.offset)),
                        Some(table) => {
                            if inner.is_empty() {
                                let declaration = format!("{} {};", table.c_name, table.member);
                                let comment = vec!["The functions.".to_owned()];
                                members.push(plain(comment, declaration, table.member.clone(), start));
                            }
                            inner.push(plain(comment, declaration, name, member.offset - start));
                        }
                    }
                }
                MemberKind::Size | MemberKind::Reserved(..) => {}
            }
        }
        let of_newest = newest.map_or_else(String::new, |newest| {
            format!(", as release {} has it", self.interface.releases[newest.0].name.value)
        });
        let inner = object.inner.as_ref().map(|table| {
            let size = inner.len() as u64 * abi::POINTER;
            (
                table.c_name.clone(),
                format!("@brief The functions of a `{}`{of_newest}.", ty.c_name),
                inner,
                size,
            )
        });
        let outer = (
            ty.c_name.clone(),
            format!("@brief The struct of a `{}`{of_newest}.", ty.c_name),
            members,
            layout.size,
        );
        let structs = inner.into_iter().chain([outer]);
        structs
            .map(|(name, comment, members, size)| only(name, comment, members.into_iter().collect(), size))
            .collect()
    }

    /// Returns the struct of the functions of a host.
    pub(super) fn host_table(&self, c_name: &str) -> Value {
        let newest = self.interface.newest();
        let layout = abi::host_table_layout(self.interface, newest);
        let members = layout.members.iter().filter_map(|member| {
            let (comment, declaration, name) = match &member.kind {
                MemberKind::Function(id) => {
                    let function = self.interface.function(*id);
                    let declaration = format!("{};", self.newest.slot(function, 2));
                    (self.comments.function(function), declaration, function.c_name.clone())
                }
                MemberKind::Reserved(name, count) => {
                    let comment = vec!["Functions that are not described here.".to_owned()];
                    (comment, format!("void* {name}[{count}];"), name.clone())
                }
                MemberKind::Size | MemberKind::Field(..) => return None,
            };
            Some(plain(comment, declaration, name, member.offset))
        });
        let comment = "@brief The functions of the host, as far as they are described here.".to_owned();
        only(c_name.to_owned(), comment, members.collect(), layout.size)
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

    pub(super) fn plugin(&self, table: &Table, plugin: &Plugin) -> Value {
        let part = |part: &str, value| {
            context! {
                field => part.to_lowercase(),
                name => self.names.version_macro(plugin, part),
                value,
            }
        };
        let [major, minor, patch] = plugin.version;
        context! {
            comment => self.comments.plugin(plugin),
            entry => &plugin.entry,
            params => self.spec.ty(plugin.params).c_name.clone(),
            size_field => &plugin.size,
            table_field => &plugin.table,
            table_size_field => &table.size_field,
            version_field => &plugin.version_field,
            table => &table.c_name,
            version => [part("MAJOR", major), part("MINOR", minor), part("PATCH", patch)],
            check_macro => self.names.check_macro(plugin),
            state_macro => self.names.state_version_macro(),
            newest => self.interface.newest().map(|id| self.interface.releases[id.0].name.value.clone()),
            newest_only_macro => self.names.newest_only_macro(),
            fill_function => self.names.fill_function(),
        }
    }

    pub(super) fn owned(&self, table: &Table, owned: &OwnedTable) -> Value {
        let stated = owned.version.iter().flat_map(|(field, numbers)| {
            let fields = table.field(field).map(|field| self.spec.version_fields(field.ty));
            fields.unwrap_or_default().into_iter().zip(numbers)
        });
        context! {
            comment => self.comments.owned(owned),
            entry => &owned.entry,
            table => &table.c_name,
            size_field => &table.size_field,
            has_macro => self.names.has_macro("FUNCTION"),
            version => stated
                .map(|(field, number)| context! {
                    field => &field.name.value,
                    name => self.names.part_macro(&field.name.value),
                    value => *number,
                })
                .collect::<Value>(),
        }
    }

    pub(super) fn extension(&self, extension: &Extension) -> Value {
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
        context! {
            comment => self.comments.extension(extension),
            name => &extension.c_name,
            entry => &extension.entry,
            major_macro => self.names.part_macro("extension_major"),
            minor_macro => self.names.part_macro("extension_minor"),
            version => extension.version(),
            members => Serde(members),
            size,
        }
    }

    pub(super) fn releases(&self, table: &Table) -> Option<Value> {
        self.interface.newest()?;
        let mut constants: Vec<Value> = Vec::new();
        // One case for each size. Releases with the same layout cannot be distinguished, so the newest is used.
        let mut cases: Vec<(u64, Value)> = Vec::new();
        for (id, release) in self.interface.release_ids() {
            let size = abi::table_layout(self.interface, table, Some(id)).size;
            let came = table.slot_owners().map(|slot| self.interface.function(slot.value));
            let came = came.filter(|function| function.availability.since == Some(id));
            let item = context! {
                release => &release.name.value,
                suffix => self.names.release_suffix(id),
                functions => came.map(|function| function.c_name.clone()).collect::<Vec<_>>(),
                constant => self.names.release_constant(id),
                size_macro => self.names.size_macro(Some(id)),
                size,
                value => id.0 + 1,
            };
            cases.retain(|(known, _)| *known != size);
            cases.push((size, item.clone()));
            constants.push(item);
        }
        Some(context! {
            type_name => self.names.release_type(),
            unknown => self.names.unknown_release(),
            function => self.names.release_function(),
            since => self.names.since_macro(),
            size_prefix => format!("{}_", self.names.size_macro(None)),
            constants,
            cases => cases.into_iter().map(|(_, case)| case).collect::<Value>(),
        })
    }
}

/// Returns a member without a heading before it.
fn plain(comment: Vec<String>, declaration: String, name: String, offset: u64) -> Value {
    let heading: Option<&str> = None;
    context! { heading, comment, declaration, name, offset, members => Vec::<Value>::new() }
}

/// Returns a struct that a header has in one form, for all releases.
fn only(name: String, comment: String, members: Value, size: u64) -> Value {
    let none: Option<&str> = None;
    context! { newest => true, release => true, lasting => none, comment => vec![comment], name, members, size }
}
