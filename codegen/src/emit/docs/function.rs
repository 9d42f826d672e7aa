//! The page of a function.

use minijinja::{Value, context};

use super::links::{Links, c_api_page, function_page, group_page, interface_page};
use crate::emit::descriptions::Describer;
use crate::emit::{c, python, rust};
use crate::model::abi;
use crate::model::*;
use crate::sdk::SdkApi;
use crate::text::{capital, collapse, sentence};

/// Makes a name with a link, for templates.
pub fn link(name: &str, to: String) -> Value {
    context! { name, to }
}

/// Prepares the page of a function.
pub fn page(spec: &Spec, interface: &Interface, id: FunctionId, marker: String) -> Value {
    let function = interface.function(id);
    let path = function_page(interface, function);
    let links = Links::new(spec, interface, &path).about(function);
    let describer = Describer::new(spec, interface);
    let group = &interface.groups[function.group.0];
    context! {
        marker,
        name => &function.name.value,
        c_name => &function.c_name,
        summary => sentence(&links.markdown(&function.summary)),
        need => describer.need(function),
        since => describer.since(function.availability).to_owned(),
        group => link(&group.title, links.to(&group_page(interface, function.group))),
        interface => context! {
            id => &interface.name.value,
            ..link(&interface.title, links.to(&interface_page(interface)))
        },
        c => c::declaration(spec, interface, function, newest_with(interface, function)),
        python => python_tab(spec, interface, function),
        sdk => SdkApi::of(spec, interface).map(|sdk_api| link(&format!("{};", c::sdk_prototype(sdk_api, function)), links.to(&c_api_page(interface)))),
        rust => rust::signature_text(spec, interface, function),
        doc => links.markdown(&function.doc),
        params => function.params.iter().map(|param| param_row(describer, links, param, function)).collect::<Value>(),
        result => match &function.result {
            ResultKind::Value(value) => Some(links.markdown(&sentence(&collapse(&value.doc)))),
            _ => describer.question(function),
        },
        statuses => statuses(describer, links, function),
        behaviour => describer.order(function).iter().map(|line| links.markdown(line)).collect::<Value>(),
        steps => function.compute.iter().map(|step| step.text.clone()).collect::<Value>(),
        absence => can_be_absent(interface, function).then(|| absence(describer, links, function)),
        releases => releases(describer, links, id),
        analogues => function
            .analogue
            .iter()
            .map(|(system, name)| context! { system => system_name(system), name => name.clone() })
            .collect::<Value>(),
        see => function
            .see
            .iter()
            .map(|id| interface.function(*id))
            .map(|other| link(&other.name.value, links.function(other)))
            .collect::<Value>(),
    }
}

/// Prepares the tab for Python: a signature, and what calls the function in the public API.
fn python_tab(spec: &Spec, interface: &Interface, function: &Function) -> Option<Value> {
    let sdk_api = SdkApi::of(spec, interface);
    let signature = match sdk_api {
        Some(sdk_api) => python::sdk_signature(sdk_api, function),
        None => python::signature(spec, interface, function)?,
    };
    let method = sdk_api.and_then(|sdk_api| python::public_method(sdk_api, function));
    Some(context! { signature, is_binding => sdk_api.is_some(), method })
}

/// Returns true if the page describes the absence of the function.
fn can_be_absent(interface: &Interface, function: &Function) -> bool {
    match interface.kind {
        InterfaceKind::Table(_) | InterfaceKind::Objects => true,
        InterfaceKind::Export => function.fallback.is_some(),
        InterfaceKind::Import { .. } | InterfaceKind::HostTable { .. } => false,
    }
}

/// Returns the newest release that has the function.
fn newest_with(interface: &Interface, function: &Function) -> Option<ReleaseId> {
    let mut ids = interface.release_ids().rev().map(|(id, _)| id);
    ids.find(|id| function.availability.contains(*id))
}

fn param_row(describer: Describer, links: Links, param: &Param, function: &Function) -> Value {
    let direction = match (param.dir, param.role) {
        (Direction::Out, Role::Creates) => "out, created",
        (_, Role::Destroys) => "in, destroyed",
        (Direction::In, _) => "in",
        (Direction::Out, _) => "out",
        (Direction::InOut, _) => "in and out",
    };
    let mut points_to: Vec<String> = Vec::new();
    points_to.extend(param.space.map(|space| crate::emit::descriptions::space_description(space).to_owned()));
    points_to.extend(describer.length(param, &function.params));
    let mut doc = sentence(&collapse(&param.doc));
    if let Some(stream) = param.held {
        doc = format!("{doc} Must stay valid until `{}` has passed it.", function.param(stream).name.value);
    }
    if param.nullable && !param.doc.contains("`null`") {
        doc = format!("{doc} May be null.");
    }
    let passed = describer.availability(param.availability);
    if !passed.is_empty() {
        doc = format!("{doc} {}.", capital(&passed));
    }
    context! {
        name => &param.name.value,
        ty => links.type_name(param.ty),
        direction,
        points_to => links.cell(&points_to.join(", ")),
        doc => links.cell(&doc),
    }
}

fn statuses(describer: Describer, links: Links, function: &Function) -> Vec<Value> {
    let reports = function.params.iter().any(|param| param.is_status);
    if !matches!(function.result, ResultKind::Status) && !reports {
        return Vec::new();
    }
    let row = |value: &EnumValue, when: &str| {
        context! {
            name => &value.name.value,
            c => &value.c_name,
            value => value.value,
            when => links.cell(&sentence(&collapse(when))),
        }
    };
    let given = |value: &EnumValue| {
        let named = |(status, _): &&(StatusValue, Prose)| std::ptr::eq(describer.status(*status), value);
        function.returns.iter().find(named).map(|(_, when)| &**when)
    };
    let mut rows = Vec::new();
    if let Some(success) = describer.success() {
        rows.push(row(success, given(success).unwrap_or("the call succeeded")));
    }
    let others = function.returns.iter().map(|(status, when)| (describer.status(*status), when));
    let is_success =
        |value: &EnumValue| describer.success().is_some_and(|success| std::ptr::eq(success, value));
    rows.extend(others.filter(|(value, _)| !is_success(value)).map(|(value, when)| row(value, when)));
    rows
}

fn absence(describer: Describer, links: Links, function: &Function) -> Value {
    context! {
        required => !function.is_optional(),
        filled => function.fill_always,
        host => links.markdown(&describer.when_null(function)),
        fallback => function
            .fallback
            .as_ref()
            .map(|fallback| links.markdown(&describer.fallback(function, fallback)))
            .unwrap_or_default(),
    }
}

fn releases(describer: Describer, links: Links, id: FunctionId) -> Option<Value> {
    let interface = describer.interface;
    let function = interface.function(id);
    interface.newest()?;
    let varies = function.params.iter().any(|param| param.availability != Availability::default());
    // A symbol that is the same in every release needs no table.
    if interface.table().is_none() && !varies && function.availability == Availability::default() {
        return None;
    }
    let there = |release| function.availability.contains(release);
    let offsets = interface.table().map(|table| {
        let offset = |(release, _): (ReleaseId, &Release)| {
            let layout = abi::table_layout(interface, table, Some(release));
            layout.offset_of(id).map_or_else(|| "–".to_owned(), |offset| offset.to_string())
        };
        interface.release_ids().map(offset).collect()
    });
    let presence = || {
        let mark = |(release, _)| if there(release) { "yes" } else { "–" }.to_owned();
        interface.release_ids().map(mark).collect::<Vec<String>>()
    };
    let lacking = |(release, _): (ReleaseId, &Release)| {
        let lacks = |param: &&Param| !param.availability.contains(release);
        let names: Vec<String> =
            function.params.iter().filter(lacks).map(|param| format!("`{}`", param.name.value)).collect();
        match names.as_slice() {
            _ if !there(release) => "–".to_owned(),
            [] => "all".to_owned(),
            names => format!("without {}", crate::text::enumerate(names)),
        }
    };
    Some(context! {
        names => interface.releases.iter().map(|release| release.name.value.clone()).collect::<Value>(),
        offsets => offsets.unwrap_or_else(presence),
        params => if varies { interface.release_ids().map(lacking).collect() } else { Vec::new() },
        notes => describer.signature_notes(function).iter().map(|note| links.markdown(note)).collect::<Value>(),
    })
}

/// Returns the usual name of a system.
pub fn system_name(key: &str) -> String {
    match key {
        "opencl" => "OpenCL".to_owned(),
        "sycl" => "SYCL".to_owned(),
        "torch" => "PyTorch".to_owned(),
        "onnx" => "ONNX".to_owned(),
        "numpy" => "NumPy".to_owned(),
        "paddle" => "PaddlePaddle".to_owned(),
        key if key.len() <= 5 => key.to_uppercase(),
        key => capital(key),
    }
}
