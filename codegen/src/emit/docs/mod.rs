//! The reference: Markdown for mdBook, with a page for each interface, each group and each function.

mod c_api;
pub mod function;
mod group;
mod interface;
mod keys;
mod links;
mod mathml;
mod operator;

use minijinja::{Value, context};
use serde_json::json;

use super::emitter::{EmitError, Emitter, Job};
use crate::diagnostic::Code;
use crate::grammar::outputs::{self, OutputKind};
use crate::model::{FunctionId, GroupId, Interface, OutputPlace, Spec};
use crate::out::Output;
use crate::sdk::SdkApi;
use crate::text::{capital, count, sentence};
use links::{
    c_api_page, function_page, group_page, interface_page, layout_page, operator_group_page,
    operator_list_page, operator_page, operators_page, relative,
};

/// The pages of the reference.
pub struct Reference;

impl Emitter for Reference {
    const KIND: &'static OutputKind = &outputs::REFERENCE;
    const TEMPLATES: &'static [(&'static str, &'static str)] = &[
        ("docs/c-api.md.j2", include_str!("../../../templates/docs/c-api.md.j2")),
        ("docs/index.md.j2", include_str!("../../../templates/docs/index.md.j2")),
        ("docs/interface.md.j2", include_str!("../../../templates/docs/interface.md.j2")),
        ("docs/layout.md.j2", include_str!("../../../templates/docs/layout.md.j2")),
        ("docs/group.md.j2", include_str!("../../../templates/docs/group.md.j2")),
        ("docs/function.md.j2", include_str!("../../../templates/docs/function.md.j2")),
        ("docs/operators.md.j2", include_str!("../../../templates/docs/operators.md.j2")),
        ("docs/operator-group.md.j2", include_str!("../../../templates/docs/operator-group.md.j2")),
        ("docs/operator.md.j2", include_str!("../../../templates/docs/operator.md.j2")),
        ("docs/keys.md.j2", include_str!("../../../templates/docs/keys.md.j2")),
        ("docs/mistakes.md.j2", include_str!("../../../templates/docs/mistakes.md.j2")),
    ];

    fn emit(job: &Job, _: &OutputPlace) -> Result<Vec<Output>, EmitError> {
        Ok(pages(job)?)
    }
}

fn pages(job: &Job) -> Result<Vec<Output>, minijinja::Error> {
    let Job { spec, stamp, templates, .. } = *job;
    let render = |name: &str, page: Value| templates.get_template(name)?.render(page);
    let mut outputs = Vec::new();
    let text = render("docs/index.md.j2", index(spec, stamp.spec()))?;
    outputs.push(Output::new("index.md", text, count(spec.interfaces.len(), "interface")));
    for interface in &spec.interfaces {
        let marker = stamp.interface(interface);
        let text = render("docs/interface.md.j2", interface::page(spec, interface, marker.clone()))?;
        outputs.push(Output::new(interface_page(interface), text, super::c::tally(interface)));
        if let Some(table) = interface.table() {
            let text = render("docs/layout.md.j2", interface::layout(spec, interface, table, marker))?;
            let note = count(interface.releases.len(), "release");
            outputs.push(Output::new(layout_page(interface), text, note));
        }
        if let Some(sdk_api) = SdkApi::of(spec, interface) {
            let text = render("docs/c-api.md.j2", c_api::page(sdk_api, stamp.interface(interface)))?;
            outputs.push(Output::new(
                c_api_page(interface),
                text,
                count(interface.functions.len(), "function"),
            ));
        }
        for (index, group) in interface.groups.iter().enumerate() {
            let marker = stamp.group(interface, group);
            let text = render("docs/group.md.j2", group::page(spec, interface, GroupId(index), marker))?;
            outputs.push(Output::minor(group_page(interface, GroupId(index)), text));
        }
        for (id, function) in interface.function_ids() {
            let marker = stamp.group(interface, &interface.groups[function.group.0]);
            let text = render("docs/function.md.j2", function::page(spec, interface, id, marker))?;
            outputs.push(Output::minor(function_page(interface, function), text));
        }
    }
    if let Some(operators) = &spec.operators {
        let marker = stamp.operators(operators);
        let text = render("docs/operators.md.j2", operator::list(spec, operators, marker.clone()))?;
        outputs.push(Output::new(operators_page(operators), text, count(operators.groups.len(), "group")));
        let list = json!({ "comment": marker, "operators": super::json::operators(spec, operators) });
        outputs.push(Output::minor(operator_list_page(operators), format!("{list:#}\n")));
        for group in 0..operators.groups.len() {
            let page = operator::group(spec, operators, group, marker.clone());
            let text = render("docs/operator-group.md.j2", page)?;
            outputs.push(Output::minor(operator_group_page(operators, group), text));
        }
        for id in operators.ids() {
            let text = render("docs/operator.md.j2", operator::page(spec, operators, id, marker.clone()))?;
            outputs.push(Output::minor(operator_page(operators, id), text));
        }
    }
    let text = render("docs/keys.md.j2", keys::page(job.grammar, stamp.grammar()))?;
    outputs.push(Output::new("keys.md", text, count(job.grammar.len(), "file shape")));
    let text = render("docs/mistakes.md.j2", mistakes(stamp.grammar()))?;
    outputs.push(Output::new("mistakes.md", text, count(Code::ALL.len(), "rule")));
    Ok(outputs)
}

fn index(spec: &Spec, marker: String) -> Value {
    let row = |interface: &Interface| {
        context! {
            title => &interface.title,
            to => interface_page(interface),
            summary => sentence(&interface.summary),
            kind => interface.kind_name(),
            tally => super::c::tally(interface),
        }
    };
    context! {
        marker,
        summary => sentence(&spec.summary),
        interfaces => spec.interfaces.iter().map(row).collect::<Value>(),
        operators => spec.operators.as_ref().map(|operators| context! {
            title => &operators.title,
            to => operators_page(operators),
            summary => sentence(&operators.summary),
        }),
    }
}

fn mistakes(marker: String) -> Value {
    let rule = |code: &Code| {
        context! {
            code => code.to_string(),
            title => capital(code.title()),
            explanation => code.explanation().to_owned(),
        }
    };
    context! { marker, rules => Code::ALL.iter().map(rule).collect::<Value>() }
}

/// The line in the table of contents that is replaced with the reference.
const PLACE: &str = "{{ reference }}";

/// The table of contents: the hand-written chapters, with the reference inserted.
pub struct Contents;

impl Emitter for Contents {
    const KIND: &'static OutputKind = &outputs::SUMMARY;

    fn emit(job: &Job, place: &OutputPlace) -> Result<Vec<Output>, EmitError> {
        let (Some(reference), Some(template)) =
            (job.spec.outputs.place(&outputs::REFERENCE), job.inputs.summary)
        else {
            return Ok(Vec::new());
        };
        let output = contents(job, &reference.path.value, &place.path.value, template);
        let output = output.ok_or_else(|| EmitError::NoReference(place.read("template").to_owned()))?;
        Ok(vec![output])
    }
}

/// Returns `None` if the template has no line for the reference.
fn contents(job: &Job, folder: &str, to: &str, template: &str) -> Option<Output> {
    let place = template.lines().find(|line| line.trim() == PLACE)?;
    let path = |page: &str| relative(to, &format!("{folder}/{page}"));
    let mut lines = vec![format!("- [Reference]({})", path("index.md"))];
    for interface in &job.spec.interfaces {
        lines.push(format!("  - [{}]({})", interface.title, path(&interface_page(interface))));
        if interface.table().is_some() {
            lines.push(format!("    - [Layout]({})", path(&layout_page(interface))));
        }
        if interface.sdk.is_some() {
            lines.push(format!("    - [The C functions]({})", path(&c_api_page(interface))));
        }
        for (index, group) in interface.groups.iter().enumerate() {
            lines.push(format!("    - [{}]({})", group.title, path(&group_page(interface, GroupId(index)))));
            let functions = interface.function_ids().filter(|(_, function)| function.group == GroupId(index));
            lines.extend(functions.map(|(FunctionId(_), function)| {
                format!("      - [{}]({})", function.name.value, path(&function_page(interface, function)))
            }));
        }
    }
    if let Some(operators) = &job.spec.operators {
        lines.push(format!("  - [{}]({})", operators.title, path(&operators_page(operators))));
        for (group, entries) in operators.groups.iter().enumerate() {
            lines.push(format!(
                "    - [{}]({})",
                entries.title,
                path(&operator_group_page(operators, group))
            ));
            let ids = operators.ids().filter(|id| id.group == group);
            lines.extend(ids.map(|id| {
                let name = &operators.operator(id).name.value;
                format!("      - [{name}]({})", path(&operator_page(operators, id)))
            }));
        }
    }
    lines.push(format!("  - [Keys of a spec]({})", path("keys.md")));
    lines.push(format!("  - [Rules of a spec]({})", path("mistakes.md")));
    let text = template.replace(place, &lines.join("\n"));
    let text = format!("<!-- {} -->\n\n{}\n", job.stamp.spec(), text.trim());
    Some(Output::new("", text, "the table of contents"))
}
