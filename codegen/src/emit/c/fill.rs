//! Fills the table of any release from a table in the newest layout.

use minijinja::value::Serde;
use minijinja::{Value, context};
use serde::Serialize;

use super::builder::Builder;
use super::types::{Dialect, Speller};
use crate::model::abi::{self, MemberKind, TableLayout};
use crate::model::*;

/// Functions that are copied with one call.
#[derive(Debug, Serialize)]
struct Run {
    first: String,
    last: String,
    to: u64,
    from: u64,
    bytes: u64,
}

impl Builder<'_> {
    /// Prepares the function that fills the tables of all releases, if there are several.
    pub(super) fn fill(&self, table: &Table, plugin: &Plugin) -> Option<Value> {
        let newest = self.interface.newest()?;
        let TypeKind::Struct { fields, .. } = &self.spec.ty(plugin.params).kind else { return None };
        let all = abi::table_layout(self.interface, table, Some(newest));
        let release = |(id, release): (ReleaseId, &Release)| {
            let layout = abi::table_layout(self.interface, table, Some(id));
            let (runs, changed) = self.runs(&all, newest, &layout, id);
            context! {
                release => &release.name.value,
                constant => self.names.release_constant(id),
                size => layout.size,
                params_size => abi::struct_layout(self.spec, fields, Some(id)).size,
                runs => Serde(runs),
                changed,
            }
        };
        Some(context! {
            function => self.names.fill_function(),
            manifest => self.names.manifest_macro(),
            table_symbol => self.names.table_symbol(),
            interface => &self.interface.name.value,
            newest => &self.interface.releases[newest.0].name.value,
            tenon => env!("CARGO_PKG_VERSION"),
            releases => self.interface.release_ids().map(release).collect::<Value>(),
            head => all.members.first().map_or(0, |size| size.size),
        })
    }

    /// Returns the members that can be copied into the table of a release, and the functions that cannot.
    fn runs(
        &self,
        all: &TableLayout,
        newest: ReleaseId,
        layout: &TableLayout,
        release: ReleaseId,
    ) -> (Vec<Run>, Vec<String>) {
        let (mut runs, mut changed): (Vec<Run>, Vec<String>) = Default::default();
        for member in &layout.members {
            let MemberKind::Function(id) = member.kind else { continue };
            let function = self.interface.function(id);
            let Some(source) = all.members.iter().find(|other| other.kind == member.kind) else { continue };
            let spelled = |release| {
                Speller::new(self.spec, self.interface, Some(release), Dialect::C).function_type(function)
            };
            let name = &function.c_name;
            if spelled(newest) != spelled(release) {
                changed.push(name.clone());
                continue;
            }
            match runs.last_mut() {
                Some(run) if run.to + run.bytes == member.offset && run.from + run.bytes == source.offset => {
                    run.last.clone_from(name);
                    run.bytes += member.size;
                }
                _ => runs.push(Run {
                    first: name.clone(),
                    last: name.clone(),
                    to: member.offset,
                    from: source.offset,
                    bytes: member.size,
                }),
            }
        }
        (runs, changed)
    }
}
