//! The page of a group: a list of its functions, and its types in full.

use minijinja::{Value, context};

use super::function::link;
use super::links::{Links, group_page, interface_page, type_heading};
use crate::emit::c;
use crate::emit::descriptions::Describer;
use crate::model::*;
use crate::text::{capital, collapse, first_sentence, sentence};

/// Prepares the page of a group.
pub fn page(spec: &Spec, interface: &Interface, id: GroupId, marker: String) -> Value {
    let group = &interface.groups[id.0];
    let path = group_page(interface, id);
    let links = Links::new(spec, interface, &path);
    let describer = Describer::new(spec, interface);
    context! {
        marker,
        title => &group.title,
        summary => links.markdown(&group.summary),
        doc => links.markdown(&group.doc),
        interface => link(&interface.title, links.to(&interface_page(interface))),
        is_table => interface.table().is_some(),
        has_releases => !interface.releases.is_empty(),
        functions => interface.in_group(id).map(|function| function_row(describer, links, function)).collect::<Value>(),
        types => interface
            .types
            .iter()
            .filter(|ty| ty.group == id)
            .map(|ty| type_item(spec, interface, links, ty))
            .collect::<Value>(),
    }
}

fn function_row(describer: Describer, links: Links, function: &Function) -> Value {
    let mut absent = links.about(function).cell(&first_sentence(&function.when_null));
    if function.fill_always {
        absent.push_str(". **The generated table holds the fallback**");
    }
    let since = describer.since(function.availability);
    let gone = function.availability.until.map(|until| format!(", until {}", describer.release(until)));
    context! {
        name => &function.name.value,
        to => links.function(function),
        summary => links.cell(&function.summary),
        need => match describer.need(function) {
            "optional" => "optional".to_owned(),
            need => format!("**{need}**"),
        },
        since => format!("{since}{}", gone.unwrap_or_default()),
        absent,
    }
}

fn type_item(spec: &Spec, interface: &Interface, links: Links, ty: &Type) -> Value {
    let describer = Describer::new(spec, interface);
    let value = |value: &EnumValue| {
        context! {
            name => &value.name.value,
            c => &value.c_name,
            value => value.value,
            summary => with_releases(describer, links, &value.summary, value.availability),
        }
    };
    let (kind, note) = match &ty.kind {
        TypeKind::Handle { null, .. } => {
            ("handle", null.as_ref().map(|null| format!("Null means {}.", links.markdown(null))))
        }
        TypeKind::Id { field, .. } => {
            ("id", Some(format!("C passes it by the address of a struct with the member `{field}`.")))
        }
        TypeKind::Enum { flags: true, .. } => ("flags", None),
        TypeKind::Enum { .. } => ("enum", None),
        TypeKind::Struct { .. } => ("struct", None),
        TypeKind::Callback { .. } => ("callback", None),
    };
    context! {
        heading => type_heading(ty),
        kind,
        c => c::type_declaration(spec, interface, ty),
        summary => sentence(&links.markdown(&ty.summary)),
        doc => links.markdown(&ty.doc),
        since => describer.availability(ty.availability),
        notes => note.into_iter().collect::<Value>(),
        values => ty.enum_values().iter().map(value).collect::<Value>(),
        fields => rows(describer, links, ty.params()),
    }
}

fn rows(describer: Describer, links: Links, fields: &[Param]) -> Vec<Value> {
    fields
        .iter()
        .map(|field| {
            let doc = describer.param(field, fields, &collapse(&field.doc));
            context! {
                name => &field.name.value,
                ty => links.type_name(field.ty),
                doc => with_releases(describer, links, &doc, field.availability),
            }
        })
        .collect()
}

fn with_releases(describer: Describer, links: Links, text: &str, availability: Availability) -> String {
    let text = links.cell(&sentence(text));
    match describer.availability(availability) {
        releases if releases.is_empty() => text,
        releases => format!("{text} {}.", capital(&releases)),
    }
}
