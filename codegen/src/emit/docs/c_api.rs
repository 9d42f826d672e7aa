//! The page with all functions of the SDK: their statuses, and the handle that each takes.

use minijinja::{Value, context};

use super::function::link;
use super::links::{Links, c_api_page, group_page, interface_page};
use crate::emit::c;
use crate::model::*;
use crate::sdk::{Face, Handle, PLUGIN};
use crate::text::{count, sentence, uncapital};

/// Prepares the page.
pub fn page(face: Face, marker: String) -> Value {
    let interface = face.interface;
    let path = c_api_page(interface);
    let links = Links::new(face.spec, interface, &path);
    let statuses = face.statuses().into_iter().map(|status| {
        context! {
            name => face.status(&status.name),
            value => status.value,
            meaning => links.cell(&sentence(&face.meaning(&status))),
        }
    });
    let groups = interface.groups.iter().enumerate().filter_map(|(index, group)| {
        let functions: Vec<&Function> = interface.in_group(GroupId(index)).collect();
        let prototypes: Vec<String> =
            functions.iter().map(|function| format!("{};", c::sdk_prototype(face, function))).collect();
        (!functions.is_empty()).then(|| {
            context! {
                title => &group.title,
                to => links.to(&group_page(interface, GroupId(index))),
                summary => sentence(&group.summary),
                functions => functions.iter().map(|function| row(face, links, function)).collect::<Value>(),
                prototypes => prototypes.join("\n"),
            }
        })
    });
    context! {
        marker,
        interface => link(&uncapital(&interface.title), links.to(&interface_page(interface))),
        tally => count(interface.functions.len(), "function"),
        device => face.handle("device"),
        plugin => face.handle(PLUGIN),
        busy => face.status("busy"),
        statuses => statuses.collect::<Value>(),
        groups => groups.collect::<Value>(),
    }
}

fn row(face: Face, links: Links, function: &Function) -> Value {
    let handle = match face.called_with(function) {
        Handle::Device(_) => "device",
        Handle::Plugin => PLUGIN,
    };
    context! {
        name => face.function(function),
        to => links.function(function),
        summary => sentence(&links.cell(&function.summary)),
        handle => face.handle(handle),
        absent => match &function.fallback {
            _ if face.manages(function) => "the library's own",
            _ if face.may_be_unsupported(function) => "unsupported",
            Some(_) => "fallback",
            None => "required",
        },
        threads => face.ends(function),
    }
}
