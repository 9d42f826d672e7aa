//! Doxygen comments, as lines without the stars.

use crate::emit::text::{capital, collapse, count, map_code_spans, sentence, uncapital, wrap};
use crate::emit::words::Words;
use crate::model::*;

/// Columns of a comment's text.
const WIDTH: usize = 96;

/// Writes the comments of one interface.
#[derive(Clone, Copy)]
pub struct Comments<'a> {
    words: Words<'a>,
}

impl<'a> Comments<'a> {
    /// Writes about an interface of a spec.
    pub fn new(spec: &'a Spec, interface: &'a Interface) -> Self {
        Comments { words: Words::new(spec, interface) }
    }

    /// The comment of the whole header.
    pub fn header(self) -> Vec<String> {
        let interface = self.words.interface;
        let mut lines = vec![format!("@file {}", interface.header), format!("@brief {}.", interface.title)];
        lines.push(String::new());
        lines.extend(wrap(&sentence(&interface.summary), WIDTH));
        if !interface.doc.is_empty() {
            lines.push(String::new());
            lines.extend(self.prose(&interface.doc));
        }
        let short = self.short_enumerators();
        if !short.is_empty() {
            lines.push(String::new());
            lines.extend(wrap(
                &format!(
                    "Enumerators are spelled as in the ABI, where some are as short as {}: keep this header apart \
                     from others that use such names, above all as macros.",
                    crate::emit::text::enumerate(&short)
                ),
                WIDTH,
            ));
        }
        self.finish(lines)
    }

    fn short_enumerators(self) -> Vec<String> {
        let enums = self.words.interface.types.iter().filter_map(|ty| match &ty.kind {
            TypeKind::Enum { values, .. } => Some(values),
            _ => None,
        });
        let mut short: Vec<&str> = enums
            .flatten()
            .map(|value| value.c_name.as_str())
            .filter(|name| name.len() <= 4 && !name.contains('_'))
            .collect();
        short.sort_by_key(|name| name.len());
        short.iter().take(4).map(|name| format!("`{name}`")).collect()
    }

    /// The heading of a group or a block.
    pub fn heading(self, group: &Group) -> Vec<String> {
        let mut lines = vec![format!("{}: {}", group.title, uncapital(&sentence(&group.summary)))];
        if !group.doc.is_empty() {
            lines.push(String::new());
            lines.extend(self.prose(&group.doc));
        }
        self.finish(lines)
    }

    /// The comment of a type.
    pub fn ty(self, ty: &Type) -> Vec<String> {
        let mut lines = wrap(&format!("@brief {}", sentence(&ty.summary)), WIDTH);
        if !ty.doc.is_empty() {
            lines.push(String::new());
            lines.extend(self.prose(&ty.doc));
        }
        match &ty.kind {
            TypeKind::Handle { null: Some(null), .. } => {
                lines.extend(tagged("@note", &format!("Null is allowed: {}", sentence_end(null))));
            }
            TypeKind::Callback { params, result } => {
                lines.push(String::new());
                lines.extend(params.iter().flat_map(|param| self.param(param, params)));
                lines.extend(
                    result.iter().flat_map(|result| tagged("@return", &sentence(&collapse(&result.doc)))),
                );
            }
            _ => {}
        }
        lines.extend(self.since(ty.availability));
        self.finish(lines)
    }

    /// The comment of an enumerator.
    pub fn value(self, value: &EnumValue) -> Vec<String> {
        let mut lines = wrap(&sentence(&value.summary), WIDTH);
        lines.extend(self.since(value.availability));
        self.finish(lines)
    }

    /// The comment of a field.
    pub fn field(self, field: &Param, fields: &[Param]) -> Vec<String> {
        let mut text = sentence(&collapse(&field.doc));
        for fact in self.words.param_facts(field, fields) {
            text = format!("{text} {fact}");
        }
        let mut lines = wrap(&text, WIDTH);
        lines.extend(self.since(field.availability));
        self.finish(lines)
    }

    /// The comment of a function.
    pub fn function(self, function: &Function) -> Vec<String> {
        let mut lines = wrap(&format!("@brief {}", sentence(&function.summary)), WIDTH);
        if !function.doc.is_empty() {
            lines.push(String::new());
            lines.extend(self.prose(&function.doc));
        }
        lines.push(String::new());
        lines.extend(function.params.iter().flat_map(|param| self.param(param, &function.params)));
        lines.extend(self.result(function));
        lines.extend(self.since(function.availability));
        for note in self.words.signature_notes(function).into_iter().chain(self.words.order(function)) {
            lines.extend(tagged("@note", &note));
        }
        if self.words.interface.table().is_some() {
            lines.extend(self.absence(function));
        }
        let see: Vec<String> =
            function.see.iter().map(|id| self.words.interface.function(*id).c_name.clone()).collect();
        if !see.is_empty() {
            lines.extend(tagged("@see", &see.join(", ")));
        }
        self.finish(lines)
    }

    /// The comment of the entry point of a plugin.
    pub fn plugin(self, plugin: &Plugin) -> Vec<String> {
        let mut lines = wrap(
            "@brief What a plugin exports: the host calls it once, right after it opened the library.",
            WIDTH,
        );
        if !plugin.doc.is_empty() {
            lines.push(String::new());
            lines.extend(self.prose(&plugin.doc));
        }
        lines.push(String::new());
        lines.push("@param[in,out] params What host and plugin hand each other.".to_owned());
        self.finish(lines)
    }

    fn absence(self, function: &Function) -> Vec<String> {
        let mut text = sentence(&capital(self.words.need(function)));
        let when_null = self.words.when_null(function);
        if !when_null.is_empty() {
            text = format!("{text} When null: {}", uncapital(&when_null));
        }
        let mut lines = tagged("@note", &text);
        if let Some(fallback) = &function.fallback {
            lines.extend(tagged(
                "@note",
                &format!("Fallback: {}", uncapital(&self.words.fallback(function, fallback))),
            ));
        }
        lines
    }

    fn param(self, param: &Param, params: &[Param]) -> Vec<String> {
        let direction = match param.dir {
            Direction::In => "in",
            Direction::Out => "out",
            Direction::InOut => "in,out",
        };
        let names = super::names::Names::new(self.words.spec, self.words.interface);
        let mut text = format!("{} {}", names.variable(&param.name.value), sentence(&collapse(&param.doc)));
        for fact in self.words.param_facts(param, params) {
            text = format!("{text} {fact}");
        }
        tagged(&format!("@param[{direction}]"), &text)
    }

    fn result(self, function: &Function) -> Vec<String> {
        let cases = function.returns.iter().map(|(status, when)| {
            let when = collapse(when);
            (self.words.status(*status).c_name.as_str(), when)
        });
        match &function.result {
            ResultKind::None => Vec::new(),
            ResultKind::Value(value) => tagged("@return", &sentence(&collapse(&value.doc))),
            ResultKind::Status => {
                let (mut lines, mut success) = (Vec::new(), "on success".to_owned());
                for (status, when) in cases {
                    if self.is_success(status) {
                        success = when;
                    } else {
                        lines.extend(tagged("@retval", &format!("{status} {}", sentence(&when))));
                    }
                }
                let first = self
                    .words
                    .success()
                    .map(|status| tagged("@retval", &format!("{} {}", status.c_name, sentence(&success))));
                first.into_iter().flatten().chain(lines).collect()
            }
        }
    }

    fn is_success(self, status: &str) -> bool {
        self.words.success().is_some_and(|value| value.c_name == status)
    }

    fn since(self, availability: Availability) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(since) = availability.since {
            lines.push(format!("@since {}", self.words.release(since)));
        }
        if let Some(until) = availability.until {
            lines.push(format!("@note Gone after {}.", self.words.release(until)));
        }
        lines
    }

    /// Markdown as it was written, with its own line breaks.
    fn prose(self, text: &str) -> Vec<String> {
        text.lines().map(|line| line.trim_end().to_owned()).collect()
    }

    /// Names of the spec become names of C, and nothing ends the comment early.
    fn finish(self, lines: Vec<String>) -> Vec<String> {
        let mut lines: Vec<String> =
            lines.iter().map(|line| self.translate(line).replace("*/", "* /").replace("/*", "/ *")).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }

    fn translate(self, text: &str) -> String {
        map_code_spans(text, |span| self.c_name(span).map(|name| format!("`{name}`")))
    }

    fn c_name(self, name: &str) -> Option<&'a str> {
        let Words { spec, interface } = self.words;
        if let Some((_, function)) = interface.find(name) {
            return Some(&function.c_name);
        }
        if let Some(status) = spec.status_values(interface).iter().find(|value| value.name.value == name) {
            return Some(&status.c_name);
        }
        let reach = std::iter::once(interface).chain(interface.uses.iter().map(|id| &spec.interfaces[id.0]));
        reach
            .flat_map(|interface| &interface.types)
            .find(|ty| ty.name.value == name)
            .map(|ty| ty.c_name.as_str())
    }
}

/// A text behind a tag; further lines are indented under it.
fn tagged(tag: &str, text: &str) -> Vec<String> {
    let lines = wrap(&format!("{tag} {text}"), WIDTH - 4);
    let indent = |(index, line): (usize, String)| if index == 0 { line } else { format!("    {line}") };
    lines.into_iter().enumerate().map(indent).collect()
}

fn sentence_end(text: &str) -> String {
    let text = collapse(text);
    if text.ends_with('.') { text } else { format!("{text}.") }
}

/// Lines as a comment, with a newline behind it; nothing if there are none. Templates use it as a filter.
pub fn comment(lines: Vec<String>, margin: Option<&str>) -> String {
    let margin = margin.unwrap_or_default();
    match lines.as_slice() {
        [] => String::new(),
        [line] => format!("{margin}/** {line} */\n"),
        lines => {
            let mut out = format!("{margin}/**\n");
            for line in lines {
                let gap = if line.is_empty() { "" } else { " " };
                out.extend([margin, " *", gap, line, "\n"]);
            }
            out + margin + " */\n"
        }
    }
}

/// `93 functions (13 required, 80 optional)`
pub fn tally(interface: &Interface) -> String {
    let total = count(interface.functions.len(), "function");
    if interface.table().is_none() {
        return total;
    }
    let optional = interface.functions.iter().filter(|function| function.is_optional()).count();
    format!("{total} ({} required, {optional} optional)", interface.functions.len() - optional)
}
