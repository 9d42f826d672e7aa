//! The page of a group: a list of its functions, and its types in full.

use serde::Serialize;

use super::function::Link;
use super::links::{Links, group_page, interface_page};
use crate::emit::c;
use crate::emit::text::{capital, collapse, first_sentence, sentence};
use crate::emit::words::Words;
use crate::model::*;

/// The content of a group's page.
#[derive(Debug, Serialize)]
pub struct GroupPage {
    marker: String,
    title: String,
    summary: String,
    doc: String,
    interface: Link,
    /// True if functions may be missing, as in tables.
    is_table: bool,
    has_releases: bool,
    functions: Vec<FunctionRow>,
    types: Vec<TypeItem>,
}

#[derive(Debug, Serialize)]
struct FunctionRow {
    name: String,
    to: String,
    summary: String,
    need: String,
    since: String,
    absent: String,
}

#[derive(Debug, Serialize)]
struct TypeItem {
    name: String,
    kind: &'static str,
    c: String,
    summary: String,
    doc: String,
    since: String,
    notes: Vec<String>,
    values: Vec<ValueRow>,
    fields: Vec<FieldRow>,
}

#[derive(Debug, Serialize)]
struct ValueRow {
    name: String,
    c: String,
    value: i64,
    summary: String,
}

#[derive(Debug, Serialize)]
struct FieldRow {
    name: String,
    ty: String,
    doc: String,
}

/// Prepares the page of a group.
pub fn page(spec: &Spec, interface: &Interface, id: GroupId, marker: String) -> GroupPage {
    let group = &interface.groups[id.0];
    let path = group_page(interface, id);
    let links = Links::new(spec, interface, &path);
    let words = Words::new(spec, interface);
    GroupPage {
        marker,
        title: group.title.clone(),
        summary: links.markdown(&group.summary),
        doc: links.markdown(&group.doc),
        interface: Link { name: interface.title.clone(), to: links.to(&interface_page(interface)) },
        is_table: interface.table().is_some(),
        has_releases: !interface.releases.is_empty(),
        functions: interface.in_group(id).map(|function| function_row(words, links, function)).collect(),
        types: interface
            .types
            .iter()
            .filter(|ty| ty.group == id)
            .map(|ty| type_item(spec, interface, links, ty))
            .collect(),
    }
}

fn function_row(words: Words, links: Links, function: &Function) -> FunctionRow {
    let mut absent = links.about(function).cell(&first_sentence(&function.when_null));
    if function.fill_always {
        absent.push_str(". **The generated table holds the fallback**");
    }
    let since = words.since(function.availability);
    let gone = function.availability.until.map(|until| format!(", until {}", words.release(until)));
    FunctionRow {
        name: function.name.value.clone(),
        to: links.function(function),
        summary: links.cell(&function.summary),
        need: match words.need(function) {
            "optional" => "optional".to_owned(),
            need => format!("**{need}**"),
        },
        since: format!("{since}{}", gone.unwrap_or_default()),
        absent,
    }
}

fn type_item(spec: &Spec, interface: &Interface, links: Links, ty: &Type) -> TypeItem {
    let words = Words::new(spec, interface);
    let mut item = TypeItem {
        name: ty.name.value.clone(),
        kind: "",
        c: c::type_declaration(spec, interface, ty),
        summary: sentence(&links.markdown(&ty.summary)),
        doc: links.markdown(&ty.doc),
        since: words.availability(ty.availability),
        notes: Vec::new(),
        values: Vec::new(),
        fields: Vec::new(),
    };
    match &ty.kind {
        TypeKind::Handle { null, .. } => {
            item.kind = "handle";
            item.notes.extend(null.iter().map(|null| format!("Null means {}.", links.markdown(null))));
        }
        TypeKind::Id { field, .. } => {
            item.kind = "id";
            item.notes.push(format!("C passes it by the address of a struct with the member `{field}`."));
        }
        TypeKind::Enum { flags, values, .. } => {
            item.kind = if *flags { "flags" } else { "enum" };
            item.values = values
                .iter()
                .map(|value| ValueRow {
                    name: value.name.value.clone(),
                    c: value.c_name.clone(),
                    value: value.value,
                    summary: with_releases(words, links, &value.summary, value.availability),
                })
                .collect();
        }
        TypeKind::Struct { fields, .. } => {
            item.kind = "struct";
            item.fields = rows(words, links, fields);
        }
        TypeKind::Callback { params, .. } => {
            item.kind = "callback";
            item.fields = rows(words, links, params);
        }
    }
    item
}

fn rows(words: Words, links: Links, fields: &[Param]) -> Vec<FieldRow> {
    fields
        .iter()
        .map(|field| {
            let doc = words.param(field, fields, &collapse(&field.doc));
            FieldRow {
                name: field.name.value.clone(),
                ty: links.type_name(field.ty),
                doc: with_releases(words, links, &doc, field.availability),
            }
        })
        .collect()
}

fn with_releases(words: Words, links: Links, text: &str, availability: Availability) -> String {
    let text = links.cell(&sentence(text));
    match words.availability(availability) {
        releases if releases.is_empty() => text,
        releases => format!("{text} {}.", capital(&releases)),
    }
}
