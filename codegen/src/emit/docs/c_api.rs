//! The page with all functions of the SDK: their statuses, and the handle that each takes.

use minijinja::{Value, context};

use super::function::link;
use super::links::{Links, c_api_page, group_page, interface_page};
use crate::emit::c;
use crate::model::*;
use crate::sdk::{Handle, PLUGIN, SdkApi};
use crate::text::{count, sentence, uncapital};

/// Prepares the page.
pub fn page(sdk_api: SdkApi, marker: String) -> Value {
    let interface = sdk_api.interface;
    let path = c_api_page(interface);
    let links = Links::new(sdk_api.spec, interface, &path);
    let statuses = sdk_api.statuses().into_iter().map(|status| {
        context! {
            name => sdk_api.status(&status.name),
            value => status.value,
            meaning => links.cell(&sentence(&sdk_api.meaning(&status))),
        }
    });
    let groups = interface.groups.iter().enumerate().filter_map(|(index, group)| {
        let functions: Vec<&Function> = interface.in_group(GroupId(index)).collect();
        let prototypes: Vec<String> =
            functions.iter().map(|function| format!("{};", c::sdk_prototype(sdk_api, function))).collect();
        (!functions.is_empty()).then(|| {
            context! {
                title => &group.title,
                to => links.to(&group_page(interface, GroupId(index))),
                summary => sentence(&group.summary),
                functions => functions.iter().map(|function| row(sdk_api, links, function)).collect::<Value>(),
                prototypes => prototypes.join("\n"),
            }
        })
    });
    context! {
        marker,
        interface => link(&uncapital(&interface.title), links.to(&interface_page(interface))),
        tally => count(interface.functions.len(), "function"),
        device => sdk_api.handle("device"),
        plugin => sdk_api.handle(PLUGIN),
        busy => sdk_api.status("busy"),
        statuses => statuses.collect::<Value>(),
        groups => groups.collect::<Value>(),
    }
}

fn row(sdk_api: SdkApi, links: Links, function: &Function) -> Value {
    let handle = match sdk_api.called_with(function) {
        Handle::Device(_) => "device",
        Handle::Plugin => PLUGIN,
    };
    context! {
        name => sdk_api.function(function),
        to => links.function(function),
        summary => sentence(&links.cell(&function.summary)),
        handle => sdk_api.handle(handle),
        absent => match &function.fallback {
            _ if sdk_api.manages(function) => "the library's own",
            _ if sdk_api.may_be_unsupported(function) => "unsupported",
            Some(_) => "fallback",
            None => "required",
        },
        threads => sdk_api.ends(function),
    }
}
