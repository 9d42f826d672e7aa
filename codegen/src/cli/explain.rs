//! `codegen explain`: all that is known of one name.

use std::fmt::Write as _;

use clap::Args;
use serde_json::{Value, json};

use super::table::Table;
use super::{Answer, Common, Failure, Format, bold, unknown};
use crate::CheckedSpec;
use crate::diagnostic::Code;
use crate::emit::descriptions::Describer;
use crate::emit::docs::function;
use crate::emit::{c, rust};
use crate::model::*;
use crate::sdk::SdkApi;
use crate::text::{capital, collapse, count, sentence, wrap};

/// Columns of prose.
const WIDTH: usize = 100;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// A function, a type, a value, a group, an interface or a rule, such as E014; also as C or the SDK spells it
    name: String,
}

pub(super) fn run(common: &Common, options: &Options) -> Result<Answer, Failure> {
    let name = options.name.as_str();
    let is_json = common.format == Format::Json;
    if let Some(code) = Code::ALL.iter().find(|code| code.to_string().eq_ignore_ascii_case(name)) {
        let found = json!({ "kind": "rule", "code": code.to_string(), "rule": code.title(), "explanation": code.explanation() });
        return Ok(Answer::done(if is_json { json_text(&json!([found])) } else { rule(*code) }));
    }
    let Some(loaded) = common.load()? else { return Ok(Answer::refused()) };
    let found = find(&loaded, name);
    if found.is_empty() {
        return Err(unknown(
            "function, type, group, interface or rule",
            name,
            names(&loaded.spec).into_iter(),
        ));
    }
    let page = Pages { loaded: &loaded };
    if is_json {
        let found: Vec<Value> = found.iter().map(|found| page.json(*found)).collect();
        return Ok(Answer::done(json_text(&json!(found))));
    }
    let texts: Vec<String> = found.iter().map(|found| page.text(*found)).collect();
    Ok(Answer::done(texts.join("\n")))
}

fn json_text(value: &Value) -> String {
    format!("{value:#}\n")
}

/// Something that has the name.
#[derive(Clone, Copy)]
enum Found<'a> {
    Interface(&'a Interface),
    Group(&'a Interface, GroupId),
    Type(&'a Interface, &'a Type),
    Function(&'a Interface, FunctionId),
}

fn find<'a>(loaded: &'a CheckedSpec, name: &str) -> Vec<Found<'a>> {
    let mut found = Vec::new();
    for interface in &loaded.spec.interfaces {
        if interface.name.value == name {
            found.push(Found::Interface(interface));
        }
        let groups = interface.groups.iter().enumerate().filter(|(_, group)| group.name == name);
        found.extend(groups.map(|(index, _)| Found::Group(interface, GroupId(index))));
        let sdk_api = SdkApi::of(&loaded.spec, interface);
        let types = interface.types.iter().filter(|ty| {
            let in_sdk = |value: &EnumValue| sdk_api.is_some_and(|sdk_api| sdk_api.value(ty, value) == name);
            let has = |value: &EnumValue| value.c_name == name || in_sdk(value);
            let holds = matches!(&ty.kind, TypeKind::Enum { values, .. } if values.iter().any(has));
            ty.name.value == name
                || ty.c_name == name
                || sdk_api.is_some_and(|sdk_api| sdk_api.ty(ty) == name)
                || holds
        });
        found.extend(types.map(|ty| Found::Type(interface, ty)));
        let functions = interface.function_ids().filter(|(_, function)| {
            function.name.value == name
                || function.c_name == name
                || sdk_api.is_some_and(|sdk_api| sdk_api.function(function) == name)
        });
        found.extend(functions.map(|(id, _)| Found::Function(interface, id)));
    }
    found
}

fn names(spec: &Spec) -> Vec<&str> {
    let mut names = Vec::new();
    for interface in &spec.interfaces {
        names.push(interface.name.value.as_str());
        names.extend(interface.groups.iter().map(|group| group.name.as_str()));
        names.extend(interface.types.iter().flat_map(|ty| [ty.name.value.as_str(), ty.c_name.as_str()]));
        names.extend(
            interface
                .functions
                .iter()
                .flat_map(|function| [function.name.value.as_str(), function.c_name.as_str()]),
        );
    }
    names
}

fn rule(code: Code) -> String {
    let text = wrap(&sentence(code.explanation()), WIDTH).join("\n");
    format!("{}\n\n{text}\n", bold(&format!("{code}: {}", code.title())))
}

struct Pages<'a> {
    loaded: &'a CheckedSpec,
}

impl Pages<'_> {
    fn json(&self, found: Found) -> Value {
        let spec = &self.loaded.spec;
        match found {
            Found::Interface(interface) => json!({
                "kind": "interface", "name": interface.name.value, "title": interface.title,
                "summary": interface.summary, "doc": interface.doc,
            }),
            Found::Group(interface, id) => json!({
                "kind": "group", "interface": interface.name.value, "name": interface.groups[id.0].name,
                "functions": interface.in_group(id).map(|function| &function.name.value).collect::<Vec<_>>(),
            }),
            Found::Type(interface, ty) => json!({
                "kind": "type", "interface": interface.name.value, "name": ty.name.value, "c": ty.c_name,
                "declaration": c::type_declaration(spec, interface, ty), "summary": ty.summary,
            }),
            Found::Function(interface, id) => {
                let page = function::page(spec, interface, id, String::new());
                let mut value = serde_json::to_value(page).unwrap_or_default();
                value["kind"] = json!("function");
                value["interface"] = json!(interface.name.value);
                value
            }
        }
    }

    fn text(&self, found: Found) -> String {
        match found {
            Found::Interface(interface) => self.interface(interface),
            Found::Group(interface, id) => self.group(interface, id),
            Found::Type(interface, ty) => self.ty(interface, ty),
            Found::Function(interface, id) => self.function(interface, id),
        }
    }

    fn interface(&self, interface: &Interface) -> String {
        let mut out = heading(&interface.name.value, &interface.title, &self.place(interface.name.span));
        let _ = writeln!(out, "{}\n\n{}\n", sentence(&interface.summary), interface.doc);
        let mut table = Table::new(&["group", "functions", "holds"]).right([1]);
        for (index, group) in interface.groups.iter().enumerate() {
            let functions = interface.in_group(GroupId(index)).count().to_string();
            table.row([group.name.clone(), functions, group.summary.clone()]);
        }
        out + &table.render() + &self.coverage(interface)
    }

    /// Counts the functions that operators compute, and lists the names of the others.
    fn coverage(&self, interface: &Interface) -> String {
        let of = |wanted| {
            let functions = self.loaded.spec.computable(interface);
            functions.filter(move |function| function.coverage() == wanted).collect::<Vec<_>>()
        };
        let [operator, rule, missing] = [Coverage::Operator, Coverage::Rule, Coverage::Missing].map(of);
        if operator.len() + rule.len() == 0 {
            return String::new();
        }
        let mut out = format!(
            "\noperators: {} computed by one operator, {} by several, {} missing\n",
            operator.len(),
            rule.len(),
            missing.len()
        );
        let names: Vec<&str> = missing.iter().map(|function| function.c_name.as_str()).collect();
        if !names.is_empty() {
            let _ = writeln!(out, "{}", wrap(&names.join(", "), WIDTH).join("\n"));
        }
        out
    }

    fn group(&self, interface: &Interface, id: GroupId) -> String {
        let group = &interface.groups[id.0];
        let mut out = heading(&group.name, &format!("a group of the interface {}", interface.name.value), "");
        let _ = writeln!(out, "{}\n\n{}\n", sentence(&group.summary), group.doc);
        let describer = Describer::new(&self.loaded.spec, interface);
        let mut table = Table::new(&["function", "need", "does"]);
        for function in interface.in_group(id) {
            let need = describer.need(function).to_owned();
            table.row([function.name.value.clone(), need, function.summary.clone()]);
        }
        out + &table.render()
    }

    fn ty(&self, interface: &Interface, ty: &Type) -> String {
        let spec = &self.loaded.spec;
        let describer = Describer::new(spec, interface);
        let place = self.place(ty.name.span);
        let mut out =
            heading(&ty.name.value, &format!("a type of the interface {}", interface.name.value), &place);
        let _ = writeln!(out, "{}\n", c::type_declaration(spec, interface, ty));
        let _ = writeln!(out, "{}", sentence(&ty.summary));
        if !ty.doc.is_empty() {
            let _ = writeln!(out, "\n{}", ty.doc);
        }
        match &ty.kind {
            TypeKind::Enum { values, .. } => {
                let mut table = Table::new(&["value", "in C", "number", "means"]).right([2]);
                for value in values {
                    let since = describer.availability(value.availability);
                    let means = if since.is_empty() {
                        value.summary.to_string()
                    } else {
                        format!("{} ({since})", value.summary)
                    };
                    table.row([
                        value.name.value.clone(),
                        value.c_name.clone(),
                        value.value.to_string(),
                        means,
                    ]);
                }
                let _ = write!(out, "\n{}", table.render());
            }
            TypeKind::Struct { fields: params, .. } | TypeKind::Callback { params, .. } => {
                section(&mut out, "Members", &params_table(describer, params));
            }
            TypeKind::Handle { null: Some(null), .. } => {
                let _ = writeln!(out, "Null means {null}.");
            }
            TypeKind::Handle { .. } | TypeKind::Id { .. } => {}
        }
        out
    }

    fn function(&self, interface: &Interface, id: FunctionId) -> String {
        let spec = &self.loaded.spec;
        let function = interface.function(id);
        let describer = Describer::new(spec, interface);
        let group = &interface.groups[function.group.0];
        let belongs = format!("a function of the interface {}, group {}", interface.name.value, group.name);
        let mut out = heading(&function.name.value, &belongs, &self.place(function.name.span));
        let _ = writeln!(out, "{}\n", sentence(&function.summary));
        let _ = writeln!(out, "{}", c::declaration(spec, interface, function, interface.newest()));
        let _ = writeln!(out, "{}\n", rust::signature_text(spec, interface, function));
        let _ = writeln!(out, "{}", function.doc);
        for line in describer.order(function) {
            let _ = writeln!(out, "{line}");
        }
        if let Some(sdk_api) = SdkApi::of(&self.loaded.spec, interface) {
            section(&mut out, "In the SDK", &format!("{};\n", c::sdk_prototype(sdk_api, function)));
        }
        section(&mut out, "Parameters", &params_table(describer, &function.params));
        section(&mut out, "Result", &result(describer, function));
        if interface.table().is_some() {
            section(&mut out, "When it is absent", &absence(describer, function));
        }
        section(&mut out, "Releases", &releases(describer, interface, id));
        let analogues = function
            .analogue
            .iter()
            .map(|(system, name)| format!("  {} {name}\n", function::system_name(system)));
        section(&mut out, "Elsewhere", &analogues.collect::<String>());
        let see: Vec<&str> =
            function.see.iter().map(|id| interface.function(*id).name.value.as_str()).collect();
        if !see.is_empty() {
            section(&mut out, "See also", &format!("  {}\n", see.join(", ")));
        }
        out
    }

    /// Formats a place as file and line: `spec/device/memory.yaml:61`.
    fn place(&self, span: crate::source::Span) -> String {
        let file = self.loaded.sources.file(span.file);
        format!("{}:{}", file.path.display(), file.position(span.start).0)
    }
}

fn heading(name: &str, belongs: &str, place: &str) -> String {
    let place = if place.is_empty() { String::new() } else { format!(", {place}") };
    format!("{}: {belongs}{place}\n\n", bold(name))
}

fn section(out: &mut String, title: &str, body: &str) {
    if !body.is_empty() {
        let _ = write!(out, "\n{}\n{body}", bold(title));
    }
}

fn params_table(describer: Describer, params: &[Param]) -> String {
    if params.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&["", "", "", ""]);
    for param in params {
        let mut doc = describer.param(param, params, &collapse(&param.doc));
        let passed = describer.availability(param.availability);
        if !passed.is_empty() {
            doc = format!("{doc} {}.", capital(&passed));
        }
        let ty = param.ty.name(describer.spec).to_owned();
        let mut lines = wrap(&doc, 64).into_iter();
        let first = lines.next().unwrap_or_default();
        table.row([format!("  {}", param.name.value), ty, param.dir.name().to_owned(), first]);
        for line in lines {
            table.row([String::new(), String::new(), String::new(), line]);
        }
    }
    table.render()
}

fn result(describer: Describer, function: &Function) -> String {
    let mut out = match &function.result {
        ResultKind::Value(value) => paragraph(&sentence(&collapse(&value.doc))),
        _ => String::new(),
    };
    let mut table = Table::new(&["", ""]);
    for (status, when) in &function.returns {
        let mut lines = wrap(&sentence(&collapse(when)), 80).into_iter();
        table.row([format!("  {}", describer.status(*status).name.value), lines.next().unwrap_or_default()]);
        lines.for_each(|line| table.row([String::new(), line]));
    }
    out.push_str(&table.render());
    out
}

fn absence(describer: Describer, function: &Function) -> String {
    let mut out = paragraph(&sentence(&capital(describer.need(function))));
    out += &paragraph(&describer.when_null(function));
    if function.fill_always {
        out += &paragraph("The generated table holds the fallback, so that the slot is never null.");
    }
    if let Some(fallback) = &function.fallback {
        out += &paragraph(&format!(
            "Fallback: {}",
            crate::text::uncapital(&describer.fallback(function, fallback))
        ));
    }
    out
}

fn releases(describer: Describer, interface: &Interface, id: FunctionId) -> String {
    let function = interface.function(id);
    let mut out = String::new();
    if let Some(table) = interface.table() {
        let mut row = Vec::new();
        for (release, described) in interface.release_ids() {
            let layout = crate::model::abi::table_layout(interface, table, Some(release));
            let offset =
                layout.offset_of(id).map_or_else(|| "absent".to_owned(), |offset| format!("at {offset}"));
            row.push(format!("{} {offset}", described.name.value));
        }
        out += &paragraph(&row.join(", "));
    } else if !interface.releases.is_empty() {
        let there =
            interface.release_ids().filter(|(release, _)| function.availability.contains(*release)).count();
        out += &paragraph(&format!("In {} of {}.", there, count(interface.releases.len(), "release")));
    }
    for note in describer.signature_notes(function) {
        out += &paragraph(&note);
    }
    out
}

/// Wraps and indents a text.
fn paragraph(text: &str) -> String {
    wrap(text, WIDTH - 2).iter().map(|line| format!("  {line}\n")).collect()
}
