//! Doxygen comments, as lines without the asterisks.

use crate::emit::descriptions::Describer;
use crate::language::headers::Headers;
use crate::model::*;
use crate::sdk::SdkApi;
use crate::text::{
    capital, collapse, count, ended, enumerate, map_code_spans, quoted, sentence, uncapital, wrap,
};

/// Width of a comment's text.
pub(super) const WIDTH: usize = 96;

/// Writes the comments of one interface.
#[derive(Clone, Copy)]
pub struct Comments<'a> {
    pub(super) describer: Describer<'a>,
    /// The SDK's view of the interface, for headers of the SDK.
    pub(super) sdk_api: Option<SdkApi<'a>>,
}

impl<'a> Comments<'a> {
    /// Makes the comments of an interface.
    pub fn new(spec: &'a Spec, interface: &'a Interface) -> Self {
        Comments { describer: Describer::new(spec, interface), sdk_api: None }
    }

    /// Makes the comments of an interface's functions in the SDK.
    pub fn sdk(sdk_api: SdkApi<'a>) -> Self {
        Comments { describer: Describer::new(sdk_api.spec, sdk_api.interface), sdk_api: Some(sdk_api) }
    }

    /// Returns the comment of a whole header.
    pub fn header(self, headers: &Headers, name: &str) -> Vec<String> {
        let interface = self.describer.interface;
        if name != interface.header {
            return self.part(headers, name);
        }
        let mut lines = vec![format!("@file {name}"), format!("@brief {}.", interface.title)];
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
                    "Enumerators have the names of the ABI, and some are as short as {}: keep this header apart \
                     from others that use such names, above all as macros.",
                    enumerate(&short)
                ),
                WIDTH,
            ));
        }
        self.finish(lines)
    }

    /// Returns the comment of a header that the interface's own header includes.
    fn part(self, headers: &Headers, name: &str) -> Vec<String> {
        let interface = self.describer.interface;
        let groups: Vec<String> = headers.groups(name).map(|group| uncapital(&group.title)).collect();
        let brief = format!("@brief {}: {}.", interface.title, enumerate(&groups));
        let mut lines = vec![format!("@file {name}")];
        lines.extend(wrap(&brief, WIDTH));
        lines.push(String::new());
        lines.push(format!("Included by `{}`.", interface.header));
        self.finish(lines)
    }

    fn short_enumerators(self) -> Vec<String> {
        let values = self.describer.interface.types.iter().flat_map(Type::enum_values);
        let mut short: Vec<&str> = values
            .map(|value| value.c_name.as_str())
            .filter(|name| name.len() <= 4 && !name.contains('_'))
            .collect();
        short.sort_by_key(|name| name.len());
        quoted(short.iter().take(4))
    }

    /// Returns the heading of a group or a block.
    pub fn heading(self, group: &Group) -> Vec<String> {
        let mut lines = vec![format!("{}: {}", group.title, sentence(&group.summary))];
        if !group.doc.is_empty() {
            lines.push(String::new());
            lines.extend(self.prose(&group.doc));
        }
        self.finish(lines)
    }

    /// Returns the comment of a type.
    pub fn ty(self, ty: &Type) -> Vec<String> {
        let mut lines = self.described(&sentence(&ty.summary), &ty.doc);
        match &ty.kind {
            TypeKind::Handle { null: Some(null), .. } => {
                lines.extend(tagged("@note", &format!("Null is allowed: {}", ended(null))));
            }
            TypeKind::Callback { params, result, .. } => {
                lines.push(String::new());
                lines.extend(params.iter().flat_map(|param| self.param(param, params)));
                lines.extend(
                    result.iter().flat_map(|result| tagged("@return", &sentence(&collapse(&result.doc)))),
                );
                if self.sdk_api.is_some_and(|sdk_api| sdk_api.is_translated(ty)) {
                    let rule = "It must not call a function that reaches a device. Functions that open, close, load, \
                                initialise or shut down something fail with #TENON_BUSY.";
                    lines.extend(tagged("@note", rule));
                }
            }
            _ => {}
        }
        lines.extend(self.since(ty.availability));
        self.finish(lines)
    }

    /// Returns the comment of an enumerator.
    pub fn value(self, value: &EnumValue) -> Vec<String> {
        let mut lines = wrap(&sentence(&self.one_line(&value.summary)), WIDTH);
        lines.extend(self.since(value.availability));
        self.finish(lines)
    }

    /// Returns the comment of a field.
    pub fn field(self, field: &Param, fields: &[Param]) -> Vec<String> {
        let mut lines = wrap(&self.describer.param(field, fields, &self.one_line(&field.doc)), WIDTH);
        lines.extend(self.since(field.availability));
        self.finish(lines)
    }

    /// Returns the comment of a function.
    pub fn function(self, function: &Function) -> Vec<String> {
        let mut lines = self.described(&sentence(&function.summary), &function.doc);
        lines.push(String::new());
        lines.extend(function.params.iter().flat_map(|param| self.param(param, &function.params)));
        lines.extend(self.result(function));
        lines.extend(self.since(function.availability));
        for note in self.describer.signature_notes(function).into_iter().chain(self.describer.order(function))
        {
            lines.extend(tagged("@note", &note));
        }
        if self.describer.interface.kind.is_filled() {
            lines.extend(self.absence(function));
        }
        let see: Vec<String> =
            function.see.iter().map(|id| self.describer.interface.function(*id).c_name.clone()).collect();
        if !see.is_empty() {
            lines.extend(tagged("@see", &see.join(", ")));
        }
        self.finish(lines)
    }

    /// Returns the comment of the entry point of a plugin.
    pub fn plugin(self, plugin: &Plugin) -> Vec<String> {
        let brief = "The entry point of a plugin. The host calls it once, right after it opened the library.";
        let mut lines = self.described(brief, &plugin.doc);
        lines.push(String::new());
        lines.push(
            "@param[in,out] params The sizes and the table of the host, and the fields that the plugin sets."
                .to_owned(),
        );
        self.finish(lines)
    }

    /// Returns the comment of the entry point of a plugin that owns its table.
    pub fn owned(self, owned: &OwnedTable) -> Vec<String> {
        let brief =
            "Returns the table of the plugin, which lives as long as the library; null if there is none.";
        self.finish(self.described(brief, &owned.doc))
    }

    /// Returns the comment of the struct of an extension.
    pub fn extension(self, extension: &Extension) -> Vec<String> {
        let [major, minor] = extension.version();
        let brief = format!("The functions of the extension, version {major}.{minor}.");
        self.finish(self.described(&brief, &extension.doc))
    }

    /// Returns a sentence, and further text after an empty line.
    pub(super) fn described(self, brief: &str, doc: &str) -> Vec<String> {
        let mut lines = wrap(&format!("@brief {brief}"), WIDTH);
        if !doc.is_empty() {
            lines.push(String::new());
            lines.extend(self.prose(doc));
        }
        lines
    }

    fn absence(self, function: &Function) -> Vec<String> {
        let mut text = sentence(&capital(self.describer.need(function)));
        let when_null = self.describer.when_null(function);
        if !when_null.is_empty() {
            text = format!("{text} When null: {}", when_null);
        }
        let mut lines = tagged("@note", &text);
        if let Some(fallback) = &function.fallback {
            lines.extend(tagged(
                "@note",
                &format!("Fallback: {}", uncapital(&self.describer.fallback(function, fallback))),
            ));
        }
        lines
    }

    pub(super) fn param(self, param: &Param, params: &[Param]) -> Vec<String> {
        let direction = match param.dir {
            Direction::In => "in",
            Direction::Out => "out",
            Direction::InOut => "in,out",
        };
        let names = super::names::Names::new(self.describer.spec, self.describer.interface);
        let text = self.describer.param(param, params, &self.one_line(&param.doc));
        tagged(&format!("@param[{direction}]"), &format!("{} {text}", names.variable(&param.name.value)))
    }

    fn result(self, function: &Function) -> Vec<String> {
        let cases = function.returns.iter().map(|(status, when)| {
            let when = collapse(when);
            (self.describer.status(*status).c_name.as_str(), when)
        });
        match &function.result {
            ResultKind::None => Vec::new(),
            ResultKind::Value(value) => tagged("@return", &sentence(&collapse(&value.doc))),
            ResultKind::Status if self.describer.spec.error_of(self.describer.interface).is_some() => {
                self.error_object(cases)
            }
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
                    .describer
                    .success()
                    .map(|status| tagged("@retval", &format!("{} {}", status.c_name, sentence(&success))));
                first.into_iter().flatten().chain(lines).collect()
            }
        }
    }

    fn error_object<'s>(self, cases: impl Iterator<Item = (&'s str, String)>) -> Vec<String> {
        let interface = self.describer.interface;
        let Some(error) = self.describer.spec.error_of(interface) else { return Vec::new() };
        let owner = interface.host_error.map_or(interface, |host| &self.describer.spec.interfaces[host.0]);
        let destroy = &owner.function(error.destroy).c_name;
        let text = format!("Null on success, otherwise an error object, which `{destroy}` destroys.");
        let codes: Vec<String> = cases.map(|(status, when)| format!("`{status}`: {when}")).collect();
        let codes =
            if codes.is_empty() { String::new() } else { format!(" Its code is {}.", codes.join("; ")) };
        tagged("@return", &format!("{text}{codes}"))
    }

    fn is_success(self, status: &str) -> bool {
        self.describer.success().is_some_and(|value| value.c_name == status)
    }

    /// Returns a text on one line, for callers of the SDK or for implementers.
    fn one_line(self, doc: &Prose) -> String {
        collapse(&self.sdk_api.map_or_else(|| doc.to_string(), |_| self.translate(&doc.callers())))
    }

    fn since(self, availability: Availability) -> Vec<String> {
        let mut lines = Vec::new();
        // The SDK always has the function; its comment says if plugins of older releases lack it.
        if self.sdk_api.is_some() {
            return lines;
        }
        if let Some(since) = availability.since {
            lines.push(format!("@since {}", self.describer.release(since)));
        }
        if let Some(until) = availability.until {
            lines.push(format!("@note Removed after {}.", self.describer.release(until)));
        }
        lines
    }

    /// Returns Markdown with its own line breaks.
    pub(super) fn prose(self, text: &str) -> Vec<String> {
        if self.sdk_api.is_some() {
            // Replaces names first, because the SDK's are longer and the lines may be full.
            let paragraphs = text.split("\n\n").map(|paragraph| self.translate(&collapse(paragraph)));
            let wrapped: Vec<String> = paragraphs.map(|text| wrap(&text, WIDTH).join("\n")).collect();
            return wrapped.join("\n\n").lines().map(str::to_owned).collect();
        }
        text.lines().map(|line| line.trim_end().to_owned()).collect()
    }

    /// Replaces names of the spec with names of C, and escapes the end of a comment.
    pub(super) fn finish(self, lines: Vec<String>) -> Vec<String> {
        let mut lines: Vec<String> =
            lines.iter().map(|line| self.translate(line).replace("*/", "* /").replace("/*", "/ *")).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }

    pub(super) fn translate(self, text: &str) -> String {
        map_code_spans(text, |span| {
            // The SDK's name has another prefix, also in a call such as `wait(board, queue)`.
            let (name, rest) = match self.sdk_api {
                Some(_) => span.split_at(span.find('(').unwrap_or(span.len())),
                None => (span, ""),
            };
            self.c_name(name).map(|name| format!("`{name}{rest}`"))
        })
    }

    fn c_name(self, name: &str) -> Option<String> {
        if name == "null" {
            return Some("NULL".to_owned());
        }
        let Describer { spec, interface, .. } = self.describer;
        if let Some((_, function)) = interface.find(name) {
            return Some(
                self.sdk_api.map_or_else(|| function.c_name.clone(), |sdk_api| sdk_api.function(function)),
            );
        }
        if let Some(status) = spec.status_values(interface).iter().find(|value| value.name.value == name) {
            return Some(self.status_name(status));
        }
        let reach = std::iter::once(interface).chain(interface.uses.iter().map(|id| &spec.interfaces[id.0]));
        reach
            .flat_map(|interface| &interface.types)
            .find(|ty| ty.name.value == name)
            .map(|ty| self.sdk_api.map_or_else(|| ty.c_name.clone(), |sdk_api| sdk_api.ty(ty)))
    }

    fn status_name(self, status: &EnumValue) -> String {
        self.sdk_api.map_or_else(|| status.c_name.clone(), |sdk_api| sdk_api.status(&status.name.value))
    }
}

/// Returns a text after a tag; further lines are indented.
pub(super) fn tagged(tag: &str, text: &str) -> Vec<String> {
    let lines = wrap(&format!("{tag} {text}"), WIDTH - 4);
    let indent = |(index, line): (usize, String)| if index == 0 { line } else { format!("    {line}") };
    lines.into_iter().enumerate().map(indent).collect()
}

/// Formats lines as a comment with a newline after it; nothing if there are no lines. Templates use it as a filter.
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

/// Counts the functions of an interface: `93 functions (13 required, 80 optional)`.
pub fn tally(interface: &Interface) -> String {
    let total = count(interface.functions.len(), "function");
    if interface.table().is_none() {
        return total;
    }
    let optional = interface.functions.iter().filter(|function| function.is_optional()).count();
    format!("{total} ({} required, {optional} optional)", interface.functions.len() - optional)
}
