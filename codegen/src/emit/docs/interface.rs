//! The pages about a whole interface: its description, and the layouts of each release.

use minijinja::{Value, context};

use super::links::{Links, c_api_page, group_page, interface_page, layout_page, operator_page};
use crate::emit::changes::{Explained, Kind, changes};
use crate::language::headers::Headers;
use crate::model::abi::{self, MemberKind, TableLayout};
use crate::model::*;
use crate::text::{count, enumerate, quoted, sentence};

/// Prepares the page of an interface.
pub fn page(spec: &Spec, interface: &Interface, marker: String) -> Value {
    let path = interface_page(interface);
    let links = Links::new(spec, interface, &path);
    let plugin = interface.table().and_then(|table| table.plugin());
    context! {
        marker,
        title => &interface.title,
        summary => sentence(&links.markdown(&interface.summary)),
        doc => links.markdown(&interface.doc),
        kind => kind_sentence(interface),
        facts => facts(spec, interface, links),
        groups => interface
            .groups
            .iter()
            .enumerate()
            .map(|(index, group)| context! {
                title => &group.title,
                to => links.to(&group_page(interface, GroupId(index))),
                summary => links.cell(&group.summary),
                functions => interface.in_group(GroupId(index)).count(),
            })
            .collect::<Value>(),
        releases => releases(spec, interface, links),
        by_release => by_release(interface, links),
        layout => interface.table().map(|_| links.to(&layout_page(interface))),
        c_api => interface.sdk.as_ref().map(|_| links.to(&c_api_page(interface))),
        plugin => plugin.map(|plugin| context! {
            entry => &plugin.entry,
            params => format!("[`{}`]({})", spec.ty(plugin.params).name.value, links.ty(plugin.params)),
            version => plugin.version.map(|part| part.to_string()).join("."),
            doc => links.markdown(&plugin.doc),
        }),
        libraries => match &interface.kind {
            InterfaceKind::Import { libraries } => libraries.clone(),
            _ => Vec::new(),
        },
        coverage => covered(spec, interface, links),
        nodes => interface.nodes.iter().map(|group| context! {
            title => &group.title,
            summary => sentence(&links.cell(&group.summary)),
            nodes => group.nodes.iter().map(|node| self::node(spec, node, links)).collect::<Value>(),
        }).collect::<Value>(),
    }
}

/// Describes an operator of models: its versions, its types, and the operators that compute it.
fn node(spec: &Spec, node: &ModelNode, links: Links) -> Value {
    let versions = match node.until {
        Some(until) if until == node.since => until.to_string(),
        Some(until) => format!("{} to {until}", node.since),
        None => format!("from {}", node.since),
    };
    let types = node.types.iter().map(|(name, sets)| format!("`{name}`: {}", sets.join(", ")));
    let operators = spec.operators.iter().flat_map(|operators| {
        let link = |id| {
            let name = &operators.operator(id).name.value;
            format!("[`{name}`]({})", links.to(&operator_page(operators, id)))
        };
        node.operators().into_iter().map(link)
    });
    let name = match node.domain.as_str() {
        "" => format!("`{}`", node.name.value),
        domain => format!("`{domain}`: `{}`", node.name.value),
    };
    context! {
        name,
        versions,
        types => types.collect::<Vec<_>>().join("; "),
        operators => operators.collect::<Vec<_>>().join(", "),
    }
}

fn covered(spec: &Spec, interface: &Interface, links: Links) -> Option<Value> {
    let of = |wanted| spec.computable(interface).filter(move |function| function.coverage() == wanted);
    let [operator, rule] = [Coverage::Operator, Coverage::Rule].map(|wanted| of(wanted).count());
    let link = |function: &Function| format!("[`{}`]({})", function.c_name, links.function(function));
    let missing = of(Coverage::Missing).map(link).collect::<Value>();
    (operator + rule > 0).then_some(context! { operator, rule, missing })
}

fn kind_sentence(interface: &Interface) -> String {
    match &interface.kind {
        InterfaceKind::Table(table) if table.owned().is_some() => {
            let entry = table.owned().map(|owned| owned.entry.as_str()).unwrap_or_default();
            format!(
                "A table: the plugin has a struct of function pointers, `{}`, and `{entry}` returns its address.",
                table.c_name
            )
        }
        InterfaceKind::Table(table) => {
            format!(
                "A table: the host hands over a struct of function pointers, `{}`, and a plugin fills it.",
                table.c_name
            )
        }
        InterfaceKind::Export => "A set of symbols that a library exports.".to_owned(),
        InterfaceKind::Import { .. } => {
            "A set of symbols that a host exports, looked up at run time.".to_owned()
        }
        InterfaceKind::HostTable { c_name } => {
            format!("The functions of a struct of the host, `{c_name}`, which a plugin calls.")
        }
        InterfaceKind::Objects => {
            "Objects with function pointers, which a plugin makes and a host calls and releases.".to_owned()
        }
    }
}

fn facts(spec: &Spec, interface: &Interface, links: Links) -> Vec<Value> {
    let fact = |name: &str, value: String| context! { name, value };
    let headers = Headers::of(spec, interface);
    let includes = match &headers.names()[1..] {
        [] => String::new(),
        others => format!(", which includes {}", enumerate(&quoted(others))),
    };
    let mut facts = vec![fact("C header", format!("`{}`{includes}", interface.header))];
    if let Some(python) = &interface.python {
        facts.push(fact("In Python", format!("the package `{}`", python.name.value)));
    }
    let objects: Vec<String> = interface.objects().map(|(ty, _)| ty.name.value.clone()).collect();
    facts.push(fact(
        "In Rust",
        match interface.kind {
            InterfaceKind::Import { .. } | InterfaceKind::HostTable { .. } => {
                format!("the struct `{}`", interface.trait_name)
            }
            InterfaceKind::Objects => {
                format!(
                    "the traits {}, and the struct `{}`",
                    enumerate(&quoted(&objects)),
                    interface.trait_name
                )
            }
            InterfaceKind::Table(_) | InterfaceKind::Export => {
                format!("the trait `{}`", interface.trait_name)
            }
        },
    ));
    if let Some(status) = interface.status {
        let link = format!("[`{}`]({})", spec.ty(status).name.value, links.ty(status));
        facts.push(fact("Status", link));
    }
    let exceptions =
        if interface.unwinds { "a call may throw a C++ exception" } else { "none cross the interface" };
    facts.push(fact("Exceptions", exceptions.to_owned()));
    facts.push(fact("Size", crate::emit::c::tally(interface)));
    facts
}

fn releases(spec: &Spec, interface: &Interface, links: Links) -> Vec<Value> {
    interface
        .release_ids()
        .map(|(id, release)| {
            context! {
                name => &release.name.value,
                hosts => release.host_list(),
                size => interface.table().map(|table| abi::table_layout(interface, table, Some(id)).size),
                functions => interface
                    .functions
                    .iter()
                    .filter(|function| function.availability.contains(id))
                    .count(),
                changes => match id.0.checked_sub(1) {
                    Some(before) => tally(&changes(spec, interface, ReleaseId(before), id)),
                    None => String::new(),
                },
                note => links.cell(&release.note),
            }
        })
        .collect()
}

/// Returns which functions each release has. A table has its layout in place of this.
fn by_release(interface: &Interface, links: Links) -> Option<Value> {
    if interface.table().is_some() || interface.releases.len() < 2 {
        return None;
    }
    let row = |function: &Function| {
        let has = |id| function.availability.contains(id);
        let cells = interface.release_ids().map(|(id, _)| if has(id) { "✓" } else { "–" });
        context! {
            group => &interface.groups[function.group.0].title,
            name => format!("[`{}`]({})", function.c_name, links.function(function)),
            cells => cells.collect::<Value>(),
            without => links.cell(&function.when_null),
        }
    };
    let is_told = interface.functions.iter().any(|function| !function.when_null.is_empty());
    Some(context! { rows => interface.functions.iter().map(row).collect::<Value>(), is_told })
}

/// Summarises changes: `13 added, 3 changed, 25 moved`.
fn tally(changes: &[Explained]) -> String {
    let verbs = [
        (Kind::Added, "came"),
        (Kind::Removed, "went"),
        (Kind::Signature, "changed"),
        (Kind::Moved, "moved"),
    ];
    let parts: Vec<String> = verbs
        .iter()
        .map(|(kind, verb)| (changes.iter().filter(|change| change.kind == *kind).count(), verb))
        .filter(|(number, _)| *number > 0)
        .map(|(number, verb)| format!("{number} {verb}"))
        .collect();
    if parts.is_empty() { "nothing changed".to_owned() } else { parts.join(", ") }
}

/// Prepares the page with the offsets of a table.
pub fn layout(spec: &Spec, interface: &Interface, table: &Table, marker: String) -> Value {
    let path = layout_page(interface);
    let links = Links::new(spec, interface, &path);
    let layouts = interface.abis().into_iter().map(|release| abi::table_layout(interface, table, release));
    let layouts: Vec<TableLayout> = layouts.collect();
    context! {
        marker,
        title => &interface.title,
        releases => match interface.newest() {
            Some(_) => interface.releases.iter().map(|release| release.name.value.clone()).collect(),
            None => vec!["offset".to_owned()],
        },
        sizes => layouts.iter().map(|layout| layout.size).collect::<Value>(),
        blocks => table.blocks.iter().map(|block| block_item(interface, block, &layouts, links)).collect::<Value>(),
        extension => table.extension.as_ref().map(|extension| extension_page(interface, extension, links)),
        steps => (1..interface.releases.len())
            .map(|index| step(spec, interface, ReleaseId(index - 1), ReleaseId(index), links))
            .collect::<Value>(),
    }
}

fn block_item(interface: &Interface, block: &Block, layouts: &[TableLayout], links: Links) -> Value {
    let functions = block.slots.iter().flat_map(|slot| &slot.functions).map(|id| {
        let function = interface.function(id.value);
        let changes = function.signature_changes(layouts.len());
        let offsets: Vec<Option<u64>> = layouts.iter().map(|layout| layout.offset_of(id.value)).collect();
        let cells = cells(&offsets, |index| {
            let changed = changes.iter().any(|(_, to)| to.0 == index);
            if changed { " †".to_owned() } else { String::new() }
        });
        context! { name => format!("[`{}`]({})", function.c_name, links.function(function)), cells }
    });
    let reserve = block.reserved.as_ref().map(|reserved| {
        let found: Vec<Option<(u64, u64)>> = layouts
            .iter()
            .map(|layout| {
                layout.members.iter().find_map(|member| match &member.kind {
                    MemberKind::Reserved(name, slots) if *name == reserved.name => {
                        Some((member.offset, *slots))
                    }
                    _ => None,
                })
            })
            .collect();
        let offsets: Vec<Option<u64>> = found.iter().map(|found| found.map(|(offset, _)| offset)).collect();
        let cells = cells(&offsets, |index| {
            found[index]
                .map_or_else(String::new, |(_, slots)| format!(" ({})", count(slots as usize, "slot")))
        });
        context! { name => format!("`{}`", reserved.name), cells }
    });
    context! { name => &block.name, rows => functions.chain(reserve).collect::<Value>() }
}

/// Returns the release and the offset of each function of an extension.
fn extension_page(interface: &Interface, extension: &Extension, links: Links) -> Value {
    let (slots, size) = abi::extension_layout(extension);
    let of_release = |release: &ExtensionRelease| vec![release.name.value.clone(); release.functions.len()];
    let row = |((id, offset), release): ((FunctionId, u64), String)| {
        let function = interface.function(id);
        context! {
            name => format!("[`{}`]({})", function.c_name, links.function(function)),
            cells => vec![release, offset.to_string()],
        }
    };
    let releases = extension.releases.iter().flat_map(of_release);
    context! {
        name => &extension.c_name,
        entry => &extension.entry,
        rows => slots.into_iter().zip(releases).map(row).collect::<Value>(),
        size,
    }
}

/// Formats offsets by release, in bold if they differ from the release before.
fn cells(offsets: &[Option<u64>], suffix: impl Fn(usize) -> String) -> Vec<String> {
    let cell = |(index, offset): (usize, &Option<u64>)| {
        let Some(offset) = offset else { return "–".to_owned() };
        let before = index.checked_sub(1).and_then(|before| offsets[before]);
        if before.is_some_and(|before| before != *offset) {
            format!("**{offset}**{}", suffix(index))
        } else {
            format!("{offset}{}", suffix(index))
        }
    };
    offsets.iter().enumerate().map(cell).collect()
}

fn step(spec: &Spec, interface: &Interface, older: ReleaseId, newer: ReleaseId, links: Links) -> Value {
    let [old, new] = [older, newer].map(|id| interface.releases[id.0].name.value.clone());
    let all = changes(spec, interface, older, newer);
    let rows =
        all.iter().filter(|change| !matches!(change.kind, Kind::Moved | Kind::Reserve)).map(|change| {
            let consequences = [(&old, &new, &change.old_plugin), (&new, &old, &change.new_plugin)];
            let consequences: Vec<String> = consequences
                .into_iter()
                .zip([change.breaks_plugin, change.breaks_host])
                .filter(|(_, breaks)| *breaks)
                .filter_map(|((built, host, text), _)| {
                    let text = crate::text::uncapital(text.as_deref()?);
                    Some(format!("A plugin for {built} in a host of {host}: {text}"))
                })
                .collect();
            let text = format!("`{}` {}. {}", change.name, change.what, consequences.join(" "));
            links.markdown(text.trim_end())
        });
    let moved: Vec<String> = all
        .iter()
        .filter(|change| change.kind == Kind::Moved)
        .map(|change| links.markdown(&format!("`{}`", change.name)))
        .collect();
    context! { changes => rows.collect::<Value>(), moved => enumerate(&moved), older => old, newer => new }
}
