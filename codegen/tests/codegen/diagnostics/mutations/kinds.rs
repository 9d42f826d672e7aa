//! The kinds of slips: each changes the meaning of an entry, and nothing else.

use codegen::source::At;
use codegen::yaml::Node;

use super::edit::{Edit, add_key, drop_item, drop_key, rename_key, set};

/// An entry of a spec, with the names that it may be confused with.
pub struct Entry<'a> {
    /// The text of its file.
    pub text: &'a str,
    /// The entry in it.
    pub node: &'a Node,
    /// The handle types of its interface.
    pub handles: &'a [String],
    /// The C names in its file.
    pub symbols: &'a [String],
    /// The releases of its interface.
    pub releases: &'a [String],
}

/// A kind of slip.
pub struct Kind {
    /// The description of the slip.
    pub name: &'static str,
    /// The test that detects it instead, if the spec does not contain the information twice.
    pub held_by: Option<&'static str>,
    /// Every possible edit of an entry.
    pub edits: fn(&Entry) -> Vec<Edit>,
}

/// The tests that compare the spec with the headers that it describes.
pub const HEADERS: Option<&str> = Some("the headers");
/// Only human review.
const REVIEW: Option<&str> = Some("review");

/// All kinds.
pub const KINDS: &[Kind] = &[
    Kind { name: "a parameter is left out", held_by: HEADERS, edits: param_left_out },
    Kind { name: "a parameter has another name", held_by: REVIEW, edits: param_renamed },
    Kind { name: "two parameters have each other's name", held_by: REVIEW, edits: params_swapped },
    Kind { name: "a type is another", held_by: HEADERS, edits: type_changed },
    Kind { name: "a direction is turned", held_by: HEADERS, edits: direction_turned },
    Kind { name: "a memory space is another", held_by: None, edits: space_changed },
    Kind { name: "an owner is left out", held_by: None, edits: |entry| below_params(entry, "of") },
    Kind { name: "a role is left out", held_by: None, edits: |entry| below_params(entry, "role") },
    Kind { name: "a role is turned", held_by: None, edits: role_turned },
    Kind {
        name: "a length in bytes is left out",
        held_by: None,
        edits: |entry| below_params(entry, "bytes"),
    },
    Kind {
        name: "a number of elements is left out",
        held_by: HEADERS,
        edits: |entry| below_params(entry, "count"),
    },
    Kind {
        name: "null is no longer allowed",
        held_by: REVIEW,
        edits: |entry| below_params(entry, "nullable"),
    },
    Kind { name: "memory is no longer held", held_by: None, edits: |entry| below_params(entry, "held") },
    Kind { name: "a parameter has no doc", held_by: None, edits: |entry| below_params(entry, "doc") },
    Kind { name: "a parameter is there from another release", held_by: HEADERS, edits: param_since_changed },
    Kind {
        name: "the order of the stream is left out",
        held_by: None,
        edits: |entry| left_out(entry, "stream_ordered"),
    },
    Kind { name: "the order is that of another parameter", held_by: None, edits: order_of_another },
    Kind { name: "a function no longer waits", held_by: REVIEW, edits: |entry| left_out(entry, "blocking") },
    Kind { name: "a function waits that queues", held_by: None, edits: waits_and_queues },
    Kind {
        name: "a function is no longer required",
        held_by: None,
        edits: |entry| left_out(entry, "required"),
    },
    Kind { name: "a function is required otherwise", held_by: None, edits: required_otherwise },
    Kind { name: "a function is there from another release", held_by: HEADERS, edits: since_changed },
    Kind { name: "a reason is left out", held_by: None, edits: |entry| left_out(entry, "when_null") },
    Kind { name: "a slot is no longer filled", held_by: REVIEW, edits: |entry| left_out(entry, "fill") },
    Kind { name: "a fallback is left out", held_by: None, edits: |entry| left_out(entry, "fallback") },
    Kind { name: "a fallback does nothing", held_by: REVIEW, edits: fallback_does_nothing },
    Kind { name: "a step of a fallback is left out", held_by: None, edits: step_left_out },
    Kind { name: "an argument of a fallback is another", held_by: None, edits: argument_changed },
    Kind { name: "an answer is turned", held_by: None, edits: answer_turned },
    Kind { name: "a strategy has another name", held_by: None, edits: strategy_renamed },
    Kind { name: "a refusal has another status", held_by: REVIEW, edits: refusal_changed },
    Kind { name: "a reference is misspelt", held_by: None, edits: reference_misspelt },
    Kind { name: "a name in a doc is misspelt", held_by: None, edits: name_misspelt },
    Kind { name: "a status is misspelt", held_by: None, edits: status_changed },
    Kind { name: "a value of an enum is left out", held_by: HEADERS, edits: value_left_out },
    Kind { name: "a C name is that of another entry", held_by: None, edits: symbol_taken },
    Kind { name: "a value has the number of another", held_by: None, edits: number_taken },
    Kind { name: "the number of a value is another", held_by: HEADERS, edits: number_changed },
    Kind { name: "a handle is passed otherwise", held_by: HEADERS, edits: handle_otherwise },
    Kind { name: "Python lacks an argument", held_by: None, edits: python_argument_left_out },
];

/// Returns the parameters and fields of an entry.
fn params<'a>(entry: &Entry<'a>) -> Vec<&'a (At<String>, Node)> {
    let lists = ["params", "fields"].into_iter().filter_map(|key| entry.node.get(key));
    lists.flat_map(Node::entries).collect()
}

fn key_of<'a>(node: &'a Node, key: &str) -> Option<&'a (At<String>, Node)> {
    node.entries().iter().find(|(name, _)| name.value == key)
}

fn left_out(entry: &Entry, key: &str) -> Vec<Edit> {
    key_of(entry.node, key).and_then(|(key, _)| drop_key(entry.text, key)).into_iter().collect()
}

fn below_params(entry: &Entry, key: &str) -> Vec<Edit> {
    let found = params(entry).into_iter().filter_map(|(_, param)| key_of(param, key));
    found.filter_map(|(key, _)| drop_key(entry.text, key)).collect()
}

/// Changes the value of a key in every parameter that has it.
fn change_params(entry: &Entry, key: &str, change: impl Fn(&str) -> Option<String>) -> Vec<Edit> {
    let values = params(entry).into_iter().filter_map(|(_, param)| param.get(key));
    values.filter_map(|value| set(entry.text, value, &change(value.text()?)?)).collect()
}

fn param_left_out(entry: &Entry) -> Vec<Edit> {
    params(entry).into_iter().filter_map(|(name, _)| drop_key(entry.text, name)).collect()
}

fn param_renamed(entry: &Entry) -> Vec<Edit> {
    params(entry).into_iter().map(|(name, _)| rename_key(name, &format!("{}_other", name.value))).collect()
}

fn params_swapped(entry: &Entry) -> Vec<Edit> {
    let params = params(entry);
    let text_of = |param: &Node, key| param.get(key).and_then(Node::text).map(str::to_owned);
    let differ = |a: &Node, b: &Node| {
        ["type", "dir", "space", "of"].iter().any(|key| text_of(a, key) != text_of(b, key))
    };
    let pairs = params.windows(2).filter(|pair| differ(&pair[0].1, &pair[1].1));
    pairs
        .map(|pair| rename_key(&pair[0].0, &pair[1].0.value).and(rename_key(&pair[1].0, &pair[0].0.value)))
        .collect()
}

fn type_changed(entry: &Entry) -> Vec<Edit> {
    change_params(entry, "type", |ty| {
        let other = |ty: &str| entry.handles.iter().find(|handle| *handle != ty).cloned();
        Some(match ty {
            "pointer" | "string" => "size".to_owned(),
            "size" => "pointer".to_owned(),
            "i32" => "i64".to_owned(),
            "bool" => "f64".to_owned(),
            ty if entry.handles.iter().any(|handle| handle == ty) => other(ty)?,
            _ => "i32".to_owned(),
        })
    })
}

fn direction_turned(entry: &Entry) -> Vec<Edit> {
    let turn = |(_, param): &&(At<String>, Node)| match key_of(param, "dir") {
        Some((key, _)) => drop_key(entry.text, key),
        None => add_key(entry.text, &key_of(param, "type")?.0, "dir: out"),
    };
    let is_function = entry.node.get("params").is_some();
    params(entry).iter().filter(|_| is_function).filter_map(turn).collect()
}

fn space_changed(entry: &Entry) -> Vec<Edit> {
    change_params(entry, "space", |space| Some(if space == "host" { "device" } else { "host" }.to_owned()))
}

fn role_turned(entry: &Entry) -> Vec<Edit> {
    change_params(entry, "role", |role| {
        Some(if role == "creates" { "destroys" } else { "creates" }.to_owned())
    })
}

/// Returns the newest release other than `release`.
fn other_release(entry: &Entry, release: &str) -> Option<String> {
    entry.releases.iter().rev().find(|other| *other != release).cloned()
}

fn param_since_changed(entry: &Entry) -> Vec<Edit> {
    change_params(entry, "since", |release| other_release(entry, release))
}

fn since_changed(entry: &Entry) -> Vec<Edit> {
    let since = entry.node.get("since");
    let change = |since: &Node| set(entry.text, since, &other_release(entry, since.text()?)?);
    since.and_then(change).into_iter().collect()
}

fn order_of_another(entry: &Entry) -> Vec<Edit> {
    let Some(order) = entry.node.get("stream_ordered") else { return Vec::new() };
    let others = params(entry).into_iter().filter(|(name, _)| order.text() != Some(name.value.as_str()));
    others.filter_map(|(name, _)| set(entry.text, order, &name.value)).collect()
}

fn waits_and_queues(entry: &Entry) -> Vec<Edit> {
    let order = key_of(entry.node, "stream_ordered");
    order.and_then(|(key, _)| add_key(entry.text, key, "blocking: true")).into_iter().collect()
}

fn required_otherwise(entry: &Entry) -> Vec<Edit> {
    let Some(required) = entry.node.get("required") else { return Vec::new() };
    let other = if required.text() == Some("load") { "use" } else { "load" };
    set(entry.text, required, other).into_iter().collect()
}

fn fallback_does_nothing(entry: &Entry) -> Vec<Edit> {
    let Some(fallback) = entry.node.get("fallback") else { return Vec::new() };
    let Some((refuse, status)) = key_of(fallback, "refuse") else { return Vec::new() };
    let message = key_of(fallback, "message").and_then(|(key, _)| drop_key(entry.text, key));
    let nothing = rename_key(refuse, "nothing");
    let nothing = set(entry.text, status, "true").map(|value| nothing.and(value));
    nothing.zip(message).map(|(nothing, message)| nothing.and(message)).into_iter().collect()
}

fn calls<'a>(entry: &Entry<'a>) -> Vec<&'a Node> {
    let Some(fallback) = entry.node.get("fallback") else { return Vec::new() };
    let steps = fallback.get("sequence").into_iter().flat_map(Node::items);
    steps.chain(fallback.get("call")).collect()
}

fn step_left_out(entry: &Entry) -> Vec<Edit> {
    let sequence = entry.node.get("fallback").and_then(|fallback| fallback.get("sequence"));
    let steps = sequence.map_or(&[][..], Node::items);
    // Removing the only step leaves an empty list, which is another kind of slip.
    if steps.len() < 2 { Vec::new() } else { steps.iter().map(|step| drop_item(entry.text, step)).collect() }
}

fn argument_changed(entry: &Entry) -> Vec<Edit> {
    let names: Vec<&str> = params(entry).into_iter().map(|(name, _)| name.value.as_str()).collect();
    let mut edits = Vec::new();
    for (_, arguments) in calls(entry).into_iter().flat_map(Node::entries) {
        for (name, value) in arguments.entries() {
            let old = value.text().unwrap_or(&name.value);
            for other in names.iter().filter(|other| **other != old) {
                edits.extend(match value.text() {
                    Some(_) => set(entry.text, value, other),
                    None => Some(rename_key(name, &format!("{}: {other}", name.value))),
                });
            }
        }
    }
    edits
}

fn answer_turned(entry: &Entry) -> Vec<Edit> {
    let Some(question) = entry.node.get("status_as_bool") else { return Vec::new() };
    let (Some(yes), Some(no)) = (question.get("yes"), question.get("no")) else { return Vec::new() };
    let text = |node: &Node| node.text().unwrap_or_default().to_owned();
    let turned = set(entry.text, yes, &text(no)).zip(set(entry.text, no, &text(yes)));
    turned.map(|(yes, no)| yes.and(no)).into_iter().collect()
}

fn strategy_renamed(entry: &Entry) -> Vec<Edit> {
    let strategy = entry.node.get("fallback").and_then(|fallback| fallback.get("strategy"));
    strategy.and_then(|node| set(entry.text, node, &format!("{}_other", node.text()?))).into_iter().collect()
}

fn refusal_changed(entry: &Entry) -> Vec<Edit> {
    let refuse = entry.node.get("fallback").and_then(|fallback| fallback.get("refuse"));
    refuse.and_then(|node| set(entry.text, node, "success")).into_iter().collect()
}

fn reference_misspelt(entry: &Entry) -> Vec<Edit> {
    let see = entry.node.get("see").map_or(&[][..], Node::items);
    see.iter().filter_map(|node| set(entry.text, node, &format!("{}_other", node.text()?))).collect()
}

/// Removes the second letter of a name in code marks.
fn name_misspelt(entry: &Entry) -> Vec<Edit> {
    let (start, end) = (entry.node.span.start, entry.node.extent().end);
    let Some(text) = entry.text.get(start..end) else { return Vec::new() };
    let mut edits = Vec::new();
    let mut at = start;
    for (index, piece) in text.split('`').enumerate() {
        let is_name =
            piece.len() > 3 && piece.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        if index % 2 == 1 && is_name {
            edits.push(Edit::one(at + 1..at + 2, ""));
        }
        at += piece.len() + 1;
    }
    edits
}

fn status_changed(entry: &Entry) -> Vec<Edit> {
    let returns = entry.node.get("returns").map_or(&[][..], Node::entries);
    returns.iter().map(|(status, _)| rename_key(status, &format!("{}_other", status.value))).collect()
}

fn values<'a>(entry: &Entry<'a>) -> &'a [Node] {
    entry.node.get("values").map_or(&[][..], Node::items)
}

fn value_left_out(entry: &Entry) -> Vec<Edit> {
    let values = values(entry);
    if values.len() < 2 {
        Vec::new()
    } else {
        values.iter().map(|value| drop_item(entry.text, value)).collect()
    }
}

fn symbol_taken(entry: &Entry) -> Vec<Edit> {
    let Some(symbol) = entry.node.get("c") else { return Vec::new() };
    let others = entry.symbols.iter().filter(|other| symbol.text() != Some(other.as_str()));
    others.filter_map(|other| set(entry.text, symbol, other)).collect()
}

fn number_taken(entry: &Entry) -> Vec<Edit> {
    let numbers: Vec<&Node> = values(entry).iter().filter_map(|value| value.get("value")).collect();
    let pairs = numbers.windows(2);
    pairs.filter_map(|pair| set(entry.text, pair[1], &pair[0].integer()?.to_string())).collect()
}

fn number_changed(entry: &Entry) -> Vec<Edit> {
    let numbers: Vec<&Node> = values(entry).iter().filter_map(|value| value.get("value")).collect();
    let free = numbers.iter().filter_map(|node| node.integer()).max().map(|number| number + 7);
    numbers.into_iter().filter_map(|node| set(entry.text, node, &free?.to_string())).collect()
}

fn handle_otherwise(entry: &Entry) -> Vec<Edit> {
    if entry.node.get("kind").and_then(Node::text) != Some("handle") {
        return Vec::new();
    }
    match key_of(entry.node, "by") {
        Some((by, _)) => drop_key(entry.text, by).into_iter().collect(),
        None => key_of(entry.node, "c")
            .and_then(|(key, _)| add_key(entry.text, key, "by: pointer"))
            .into_iter()
            .collect(),
    }
}

fn python_argument_left_out(entry: &Entry) -> Vec<Edit> {
    let args = entry.node.get("python").and_then(|python| python.get("args"));
    args.map_or(&[][..], Node::items).iter().map(|item| drop_item(entry.text, item)).collect()
}
