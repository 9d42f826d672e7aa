//! `codegen abi`: where each function is.

use clap::Args;
use serde_json::{Value, json};

use super::table::Table;
use super::{Answer, Common, DONE, Failure, Format, bold, pick_interface};
use crate::emit::descriptions::Describer;
use crate::model::abi::{self, MemberKind, TableLayout};
use crate::model::{Interface, ReleaseId, Spec};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The interface; if left out, the first with a table
    interface: Option<String>,
    /// One release, member by member; if left out, all of them side by side
    #[arg(long, value_name = "RELEASE")]
    release: Option<String>,
}

pub(super) fn run(common: &Common, options: &Options) -> Result<Answer, Failure> {
    let Some(loaded) = common.load()? else { return Ok(Answer::refused()) };
    let interface = pick_interface(&loaded.spec, options.interface.as_deref())?;
    let release = options.release.as_deref().map(|name| pick_release(interface, name)).transpose()?;
    let json = common.format == Format::Json;
    Ok(match (interface.table().is_some(), release) {
        (true, None) if json => Answer::json(&all_json(interface), DONE),
        (true, Some(release)) if json => Answer::json(&layout_json(interface, Some(release)), DONE),
        (true, None) if interface.releases.is_empty() => Answer::done(one(&loaded.spec, interface, None)),
        (true, None) => Answer::done(all(interface)),
        (true, Some(release)) => Answer::done(one(&loaded.spec, interface, Some(release))),
        (false, release) => symbols(&loaded.spec, interface, release, json),
    })
}

/// Returns the release of a name.
pub(super) fn pick_release(interface: &Interface, name: &str) -> Result<ReleaseId, Failure> {
    let found = interface.release_ids().find(|(_, release)| release.name.value == name);
    found.map(|(id, _)| id).ok_or_else(|| {
        let known: Vec<&str> = interface.releases.iter().map(|release| release.name.value.as_str()).collect();
        let help = match known.as_slice() {
            [] => format!("`{}` has no releases", interface.name.value),
            known => format!("the releases are {}", known.join(", ")),
        };
        Failure::Unknown { message: format!("there is no release `{name}`"), help }
    })
}

fn layout(interface: &Interface, release: Option<ReleaseId>) -> TableLayout {
    match interface.table() {
        Some(table) => abi::table_layout(interface, table, release),
        None => TableLayout { size: 0, members: Vec::new() },
    }
}

fn one(spec: &Spec, interface: &Interface, release: Option<ReleaseId>) -> String {
    let describer = Describer::new(spec, interface);
    let layout = layout(interface, release);
    let mut table = Table::new(&["offset", "size", "name", "need", "since"]).right([0, 1]);
    for member in &layout.members {
        let (name, need, since) = match &member.kind {
            MemberKind::Size => ("(size of the struct)".to_owned(), "", ""),
            MemberKind::Reserved(name, count) => (format!("{name}[{count}]"), "", ""),
            MemberKind::Field(block, field) => {
                let field = interface.table().map(|table| &table.blocks[*block].fields[*field].param);
                (field.map(|field| field.name.value.clone()).unwrap_or_default(), "", "")
            }
            MemberKind::Function(id) => {
                let function = interface.function(*id);
                (function.c_name.clone(), describer.need(function), describer.since(function.availability))
            }
        };
        let (offset, size) = (member.offset.to_string(), member.size.to_string());
        table.row([offset, size, name, need.to_owned(), since.to_owned()]);
    }
    let of = release.map(|id| format!(" in {}", describer.release(id))).unwrap_or_default();
    let heading = bold(&format!("{}{of}: {} bytes", interface.name.value, layout.size));
    format!("{heading}\n{}", table.render())
}

/// Formats a table with one column of offsets in bytes for each release.
fn all(interface: &Interface) -> String {
    let layouts: Vec<TableLayout> =
        interface.abis().into_iter().map(|release| layout(interface, release)).collect();
    let mut head = vec!["name"];
    head.extend(interface.releases.iter().map(|release| release.name.value.as_str()));
    let mut table = Table::new(&head).right(1..head.len());
    let mut changed = false;
    for (id, function) in in_abi_order(interface) {
        let cells = layouts.iter().zip(interface.release_ids()).map(|(layout, (release, _))| {
            let Some(offset) = layout.offset_of(id) else { return "-".to_owned() };
            let fresh = function.signature_changes(layouts.len()).iter().any(|(_, to)| *to == release);
            changed |= fresh;
            if fresh { format!("*{offset}") } else { offset.to_string() }
        });
        let cells: Vec<String> = cells.collect();
        table.row(std::iter::once(function.c_name.clone()).chain(cells));
    }
    let sizes = layouts.iter().map(|layout| layout.size.to_string());
    table.row(std::iter::once("(whole table)".to_owned()).chain(sizes));
    let note = if changed { "* other parameters than in the release before\n" } else { "" };
    table.render() + note
}

/// Returns the functions of the table in the order of their slots, also those that were removed.
fn in_abi_order(
    interface: &Interface,
) -> impl Iterator<Item = (crate::model::FunctionId, &crate::model::Function)> {
    let slots = interface.table().into_iter().flat_map(|table| &table.blocks).flat_map(|block| &block.slots);
    slots.flat_map(|slot| &slot.functions).map(|id| (id.value, interface.function(id.value)))
}

fn symbols(spec: &Spec, interface: &Interface, release: Option<ReleaseId>, json: bool) -> Answer {
    let describer = Describer::new(spec, interface);
    let functions = interface.functions.iter().filter(|function| function.availability.is_in(release));
    if json {
        let symbols: Vec<Value> = functions
            .map(|function| {
                json!({ "name": function.name.value, "symbol": function.c_name, "since": describer.since(function.availability) })
            })
            .collect();
        return Answer::json(&json!({ "interface": interface.name.value, "symbols": symbols }), DONE);
    }
    let mut table = Table::new(&["symbol", "name", "since"]);
    for function in functions {
        let since = describer.since(function.availability).to_owned();
        table.row([function.c_name.clone(), function.name.value.clone(), since]);
    }
    Answer::done(table.render())
}

fn all_json(interface: &Interface) -> Value {
    let layouts = interface.abis().into_iter().map(|release| layout_json(interface, release));
    let layouts: Vec<Value> = layouts.collect();
    json!({ "interface": interface.name.value, "layouts": layouts })
}

fn layout_json(interface: &Interface, release: Option<ReleaseId>) -> Value {
    let layout = layout(interface, release);
    let members: Vec<Value> = layout
        .members
        .iter()
        .map(|member| {
            let (kind, name) = match &member.kind {
                MemberKind::Size => ("size", None),
                MemberKind::Function(id) => ("function", Some(&interface.function(*id).c_name)),
                MemberKind::Reserved(name, _) => ("reserve", Some(name)),
                MemberKind::Field(block, field) => {
                    let table = interface.table();
                    ("field", table.map(|table| &table.blocks[*block].fields[*field].param.name.value))
                }
            };
            let mut json =
                json!({ "kind": kind, "name": name, "offset": member.offset, "size": member.size });
            if let MemberKind::Function(id) = member.kind {
                let function = interface.function(id);
                json["function"] = json!(function.name.value);
                json["optional"] = json!(function.is_optional());
            }
            json
        })
        .collect();
    json!({
        "interface": interface.name.value,
        "release": release.map(|id| &interface.releases[id.0].name.value),
        "size": layout.size,
        "members": members,
    })
}
