//! Prose: each parameter has documentation, no text is unfinished, and the names in texts exist.

use std::collections::HashSet;

use crate::diagnostic::{Code, Diagnostic};
use crate::model::{FallbackKind, Places};
use crate::model::{Function, Interface, InterfaceKind, Param, Part, Prose, Spec, Ty, Type, TypeKind};
use crate::source::Span;

use super::Check;

/// Words of C that texts mention, in addition to the primitives of the spec.
const WORDS_OF_C: &[&str] = &[
    "NULL",
    "SIZE_MAX",
    "const",
    "double",
    "false",
    "float",
    "int",
    "int16_t",
    "int32_t",
    "int64_t",
    "int8_t",
    "intptr_t",
    "long",
    "null",
    "short",
    "size_t",
    "true",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "uint8_t",
    "uintptr_t",
    "unsigned",
    "void",
];

/// Placeholders for missing documentation.
const LEFT_TO_DO: &[&str] = &["TODO", "FIXME", "TBD", "XXX"];

/// A text, and the names that are valid only in this text.
struct Text<'a> {
    is_summary: bool,
    text: &'a str,
    place: Span,
    local: Vec<&'a str>,
}

/// Checks that parameters, fields and results have documentation.
pub(super) fn check_docs_are_there(check: &Check) {
    for (list, param) in check.params() {
        if param.doc.is_empty() {
            let message = format!("`{}` of `{}` has no documentation", param.name.value, list.name());
            check.report(
                Diagnostic::new(Code::MissingDoc, param.name.span, message).label("`doc` is missing"),
            );
        }
    }
    for result in check.results().into_iter().filter(|result| result.doc.is_empty()) {
        let message = "the return value has no documentation";
        check.report(Diagnostic::new(Code::MissingDoc, result.name.span, message).label("`doc` is missing"));
    }
    for function in check.interface.functions.iter().filter(|function| function.doc.is_empty()) {
        let message = format!("the documentation of `{}` is empty", function.name.value);
        Diagnostic::new(Code::MissingDoc, function.places.span("doc"), message)
            .label("write what the function does")
            .report(check);
    }
}

/// Checks that no text contains a placeholder.
pub(super) fn check_docs_are_done(check: &Check) {
    for text in texts(check.interface) {
        let describer = text.text.split(|letter: char| !letter.is_alphanumeric());
        let Some(word) = describer.into_iter().find(|word| LEFT_TO_DO.contains(word)) else { continue };
        let span = find(check, text.place, "", word);
        let message = format!("the documentation contains the placeholder `{word}`");
        check.report(Diagnostic::new(Code::MissingDoc, span, message).label("write the missing text"));
    }
}

/// Checks that a summary does not begin with an infinitive.
pub(super) fn check_summaries(check: &Check) {
    for text in texts(check.interface) {
        if text.is_summary && text.text.split_whitespace().next() == Some("To") {
            let span = find(check, text.place, "", "To");
            let message = "a summary begins with an infinitive";
            Diagnostic::new(Code::SummaryForm, span, message)
                .label("begin with a verb in the third person, such as `Copies`, or with a noun")
                .report(check);
        }
    }
}

/// Checks that an identifier in backticks exists.
pub(super) fn check_names_exist(check: &Check) {
    let known = known_names(check.spec);
    for text in texts(check.interface) {
        let mut reported: Vec<&str> = Vec::new();
        for word in text.text.split('`').skip(1).step_by(2) {
            let word = word.strip_suffix("()").unwrap_or(word);
            if !is_identifier(word)
                || known.contains(word)
                || text.local.contains(&word)
                || reported.contains(&word)
            {
                continue;
            }
            reported.push(word);
            let message = format!("nothing is named `{word}`");
            let candidates = text.local.iter().copied().chain(known.iter().copied());
            let span = find(check, text.place, "`", word);
            let diagnostic =
                Diagnostic::new(Code::UnknownName, span, message).nearest(word, sorted(candidates));
            check.report(diagnostic.help("list names from outside the spec in `names` of `interface.yaml`"));
        }
    }
}

fn sorted<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names
}

fn is_identifier(word: &str) -> bool {
    word.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
        && word.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// Returns the span of a word after a mark in the source text; if it is not found, the start of the text.
fn find(check: &Check, place: Span, mark: &str, word: &str) -> Span {
    let source = &check.sources.file(place.file).text;
    let marked = format!("{mark}{word}");
    let joins = |letter: char| letter.is_alphanumeric() || letter == '_';
    let is_whole = |start: &usize| {
        let before = source.get(..*start).unwrap_or_default();
        let after = source.get(*start + marked.len()..).unwrap_or_default();
        let is_joined = mark.is_empty() && before.ends_with(joins) || after.starts_with(joins);
        !is_joined
    };
    let starts = source.get(place.start..).into_iter().flat_map(|rest| rest.match_indices(&marked));
    match starts.map(|(start, _)| place.start + start).find(is_whole) {
        Some(start) => Span { start: start + mark.len(), end: start + marked.len(), ..place },
        None => place,
    }
}

/// Returns every text of an interface.
fn texts(interface: &Interface) -> Vec<Text<'_>> {
    let mut texts = Texts { found: Vec::new() };
    // A text that concerns all functions may mention the parameters of any function.
    let local: Vec<&str> = interface.functions.iter().flat_map(|function| names(&function.params)).collect();
    texts.add(&interface.places, "summary", &interface.summary, &local);
    texts.add(&interface.places, "doc", &interface.doc, &local);
    if let Some(plugin) = interface.table().and_then(|table| table.plugin()) {
        texts.add(interface.places.at("plugin"), "doc", &plugin.doc, &local);
    }
    if let Some(owned) = interface.table().and_then(|table| table.owned()) {
        texts.add(interface.places.at("plugin"), "doc", &owned.doc, &local);
    }
    if let Some(extension) = interface.table().and_then(|table| table.extension.as_ref()) {
        texts.add(interface.places.at("extension"), "doc", &extension.doc, &local);
    }
    for group in &interface.groups {
        texts.add(&group.places, "summary", &group.summary, &local);
        texts.add(&group.places, "doc", &group.doc, &local);
    }
    interface.types.iter().for_each(|ty| texts.add_type(ty));
    interface.functions.iter().for_each(|function| texts.add_function(function));
    texts.found
}

struct Texts<'a> {
    found: Vec<Text<'a>>,
}

impl<'a> Texts<'a> {
    fn add(&mut self, places: &Places, key: &str, text: &'a str, local: &[&'a str]) {
        if let Some(place) = places.get(key) {
            let is_summary = key == "summary";
            self.found.push(Text { is_summary, text, place: place.value, local: local.to_vec() });
        }
    }

    fn add_parts(&mut self, places: &Places, text: &'a Prose, local: &[&'a str]) {
        for (part, text) in text.parts() {
            let key = Part::KEYS.iter().find(|(known, _)| *known == part).map_or("", |(_, key)| key);
            let place = places.at(key).value;
            self.found.push(Text { is_summary: false, text, place, local: local.to_vec() });
        }
    }

    fn add_type(&mut self, ty: &'a Type) {
        let (params, tail) = match &ty.kind {
            TypeKind::Struct { fields, .. } => (&fields[..], &[][..]),
            TypeKind::Callback { params, .. } => (&params[..], &[][..]),
            TypeKind::Handle { object: Some(object), .. } => (&object.head[..], &object.tail[..]),
            TypeKind::Handle { .. } | TypeKind::Id { .. } | TypeKind::Enum { .. } => (&[][..], &[][..]),
        };
        let params: Vec<&Param> = params.iter().chain(tail).collect();
        let local: Vec<&str> = params.iter().map(|param| param.name.value.as_str()).collect();
        self.add(&ty.places, "summary", &ty.summary, &local);
        self.add(&ty.places, "doc", &ty.doc, &local);
        params.iter().for_each(|param| self.add_parts(param.places.at("doc"), &param.doc, &local));
        match &ty.kind {
            TypeKind::Handle { null: Some(null), .. } => self.add(&ty.places, "null", null, &local),
            TypeKind::Enum { values, .. } => {
                for value in values {
                    self.add_parts(value.places.at("summary"), &value.summary, &local);
                }
            }
            TypeKind::Callback { result: Some(result), .. } => {
                self.add_parts(result.places.at("doc"), &result.doc, &local);
            }
            TypeKind::Handle { .. }
            | TypeKind::Id { .. }
            | TypeKind::Struct { .. }
            | TypeKind::Callback { .. } => {}
        }
    }

    fn add_function(&mut self, function: &'a Function) {
        let mut local = names(&function.params);
        let fallback = function.fallback.as_ref();
        if let Some(FallbackKind::Sequence { buffers, .. }) = fallback.map(|fallback| &fallback.kind) {
            local.extend(buffers.iter().map(|buffer| buffer.name.value.as_str()));
        }
        let places = &function.places;
        self.add(places, "summary", &function.summary, &local);
        self.add_parts(places.at("doc"), &function.doc, &local);
        self.add(places, "when_null", &function.when_null, &local);
        self.add(places, "no_fallback", &function.no_fallback, &local);
        if let Some(fallback) = fallback {
            let places = places.at("fallback");
            self.add(places, "why", &fallback.why, &local);
            self.add(places, "costs", &fallback.costs, &local);
            if let FallbackKind::Refuse { message, .. } = &fallback.kind {
                self.add(places, "message", message, &local);
            }
        }
        let returns = places.get("returns").into_iter().flat_map(Places::keys).map(|(_, place)| place);
        for (place, (_, text)) in returns.zip(&function.returns) {
            self.add_parts(place, text, &local);
        }
        let value = function.result.value();
        for param in function.params.iter().chain(value) {
            self.add_parts(param.places.at("doc"), &param.doc, &local);
        }
    }
}

fn names(params: &[Param]) -> Vec<&str> {
    params.iter().map(|param| param.name.value.as_str()).collect()
}

/// Returns the names that any text may use: everything in the spec except parameters, which only the texts of their
/// entry may use.
fn known_names(spec: &Spec) -> HashSet<&str> {
    let mut known: HashSet<&str> = WORDS_OF_C.iter().copied().collect();
    known.extend(Ty::PRIMITIVES.iter().map(|(name, _)| *name));
    for interface in &spec.interfaces {
        known.extend([interface.name.value.as_str(), &interface.trait_name]);
        known.extend(interface.foreign_names.iter().map(String::as_str));
        known.extend(interface.strategies.iter().map(|name| name.value.as_str()));
        known.extend(interface.groups.iter().map(|group| group.name.as_str()));
        if let InterfaceKind::Table(table) = &interface.kind {
            known.extend([table.c_name.as_str(), &table.size_field]);
            known.extend(table.blocks.iter().map(|block| block.name.as_str()));
            known
                .extend(table.blocks.iter().filter_map(|block| Some(block.reserved.as_ref()?.name.as_str())));
            known.extend(table.plugin().map(|plugin| plugin.entry.as_str()));
            known.extend(table.owned().map(|owned| owned.entry.as_str()));
            let extension = table.extension.iter();
            known.extend(extension.flat_map(|it| [it.c_name.as_str(), it.entry.as_str()]));
            let fields = table.blocks.iter().flat_map(|block| &block.fields);
            known.extend(fields.map(|field| field.param.name.value.as_str()));
        }
        if let InterfaceKind::HostTable { c_name } = &interface.kind {
            known.insert(c_name.as_str());
        }
        if let Some(python) = &interface.python {
            known.insert(&python.name.value);
            known.extend(python.modules.iter().map(|module| module.name.value.as_str()));
        }
        interface.types.iter().for_each(|ty| known.extend(names_of_type(ty)));
        for function in &interface.functions {
            known.extend([function.name.value.as_str(), &function.c_name]);
            known.extend(function.analogue.iter().map(|(_, name)| name.as_str()));
            known.extend(function.python.iter().map(|python| python.name.value.as_str()));
        }
    }
    known
}

fn names_of_type(ty: &Type) -> Vec<&str> {
    let mut names = vec![ty.name.value.as_str(), &ty.c_name];
    match &ty.kind {
        TypeKind::Handle { form, object, .. } => {
            names.extend(form.tag());
            for object in object.iter() {
                names.extend(object.head.iter().chain(&object.tail).map(|field| field.name.value.as_str()));
                names.extend(object.inner.iter().flat_map(|it| [it.c_name.as_str(), it.member.as_str()]));
            }
        }
        TypeKind::Id { tag, field, .. } => names.extend([tag.as_str(), field]),
        TypeKind::Enum { values, .. } => {
            names.extend(values.iter().flat_map(|value| [value.name.value.as_str(), &value.c_name]));
        }
        TypeKind::Struct { fields, .. } => {
            names.extend(fields.iter().map(|field| field.name.value.as_str()));
            names.extend(fields.iter().filter_map(|field| field.c_name.as_deref()));
            names.extend(fields.iter().filter_map(|field| field.python_name.as_deref()));
        }
        TypeKind::Callback { .. } => {}
    }
    names
}
