//! The page with all functions of the SDK: their statuses, and the handle that each takes.

use serde::Serialize;

use super::function::Link;
use super::links::{Links, c_api_page, group_page, interface_page};
use crate::emit::c;
use crate::emit::text::{count, sentence, uncapital};
use crate::model::*;
use crate::sdk::{Face, Handle, PLUGIN};

/// The content of the page.
#[derive(Debug, Serialize)]
pub struct CApiPage {
    marker: String,
    interface: Link,
    tally: String,
    device: String,
    plugin: String,
    busy: String,
    statuses: Vec<StatusRow>,
    groups: Vec<Group>,
}

#[derive(Debug, Serialize)]
struct StatusRow {
    name: String,
    value: i64,
    meaning: String,
}

#[derive(Debug, Serialize)]
struct Group {
    title: String,
    to: String,
    summary: String,
    functions: Vec<FunctionRow>,
    prototypes: String,
}

#[derive(Debug, Serialize)]
struct FunctionRow {
    name: String,
    to: String,
    summary: String,
    handle: String,
    absent: &'static str,
    threads: String,
}

/// Prepares the page.
pub fn page(face: Face, marker: String) -> CApiPage {
    let interface = face.interface;
    let path = c_api_page(interface);
    let links = Links::new(face.spec, interface, &path);
    let statuses = face.statuses().into_iter().map(|status| StatusRow {
        name: face.status(&status.name),
        value: status.value,
        meaning: links.cell(&sentence(&face.meaning(&status))),
    });
    let groups = interface.groups.iter().enumerate().map(|(index, group)| {
        let functions: Vec<&Function> = interface.in_group(GroupId(index)).collect();
        let prototypes: Vec<String> =
            functions.iter().map(|function| format!("{};", c::sdk_prototype(face, function))).collect();
        Group {
            title: group.title.clone(),
            to: links.to(&group_page(interface, GroupId(index))),
            summary: sentence(&group.summary),
            functions: functions.into_iter().map(|function| row(face, links, function)).collect(),
            prototypes: prototypes.join("\n"),
        }
    });
    CApiPage {
        marker,
        interface: Link { name: uncapital(&interface.title), to: links.to(&interface_page(interface)) },
        tally: count(interface.functions.len(), "function"),
        device: face.handle("device"),
        plugin: face.handle(PLUGIN),
        busy: face.status("busy"),
        statuses: statuses.collect(),
        groups: groups.filter(|group| !group.functions.is_empty()).collect(),
    }
}

fn row(face: Face, links: Links, function: &Function) -> FunctionRow {
    let handle = match face.called_with(function) {
        Handle::Device(_) => "device",
        Handle::Plugin => PLUGIN,
    };
    FunctionRow {
        name: face.function(function),
        to: links.function(function),
        summary: sentence(&links.cell(&function.summary)),
        handle: face.handle(handle),
        absent: match &function.fallback {
            _ if face.manages(function) => "the library's own",
            _ if face.may_be_unsupported(function) => "unsupported",
            Some(_) => "fallback",
            None => "required",
        },
        threads: face.ends(function),
    }
}
