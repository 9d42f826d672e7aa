//! The functions and types of the SDK, from the spec.

use super::class::{Class, Field, Member};
use super::ctype::CType;
use super::docstring::{Docstring, spans};
use super::function::{Answer, Call};
use super::param::{self, Param, Pass};
use super::raises::Exceptions;
use super::{names, nullless};
use crate::emit::text::{capital, collapse, sentence, sentences, uncapital};
use crate::emit::words::Words;
use crate::model::{Param as ModelParam, *};
use crate::sdk::{ANSWER, Face, Handle, PLUGIN};

/// Speaks of the SDK's face of an interface in Python's words.
#[derive(Clone, Copy)]
pub struct Sdk<'a> {
    face: Face<'a>,
    exceptions: &'a Exceptions,
}

impl<'a> Sdk<'a> {
    /// Speaks of a face.
    pub fn new(face: Face<'a>, exceptions: &'a Exceptions) -> Self {
        Sdk { face, exceptions }
    }

    /// The functions of a group.
    pub fn functions(self, group: GroupId) -> Vec<Call> {
        self.face.interface.in_group(group).map(|function| self.function(function)).collect()
    }

    fn function(self, function: &Function) -> Call {
        let plugin = (self.face.called_with(function) == Handle::Plugin).then(|| Param {
            name: PLUGIN.to_owned(),
            ctype: CType::Address,
            pass: Pass::Value,
            nullable: false,
            doc: "The plugin that is asked.".to_owned(),
        });
        let own = function.params.iter().map(|param| self.param(function, param));
        let asked = function.question.map(|question| self.answer(function, question));
        let mut doc = Docstring::new(&self.prose(&function.summary));
        doc.paragraphs(&self.paragraphs(function));
        Call {
            name: names::variable(&function.name.value),
            symbol: self.face.function(function),
            params: plugin.into_iter().chain(own).chain(asked).collect(),
            answer: Answer::Status,
            doc,
            raises: self.raises(function),
            notes: self.notes(function),
        }
    }

    fn param(self, function: &Function, param: &ModelParam) -> Param {
        let (ctype, pass) = param::of_face(self.face, function, param);
        let doc = match pass {
            Pass::Room(_) | Pass::Filled(_) => room(&self.told(&param.doc)),
            Pass::Output => {
                self.described(param, &function.params).replacen("Where to write the ", "The ", 1)
            }
            Pass::Copy => self.described(param, &function.params).replacen("Address of the ", "The ", 1),
            _ => {
                let mut doc = self.described(param, &function.params);
                let is_memory = param.dir == Direction::Out && pass == Pass::Value;
                if let Some(rest) = doc.strip_prefix("Room for ").filter(|_| is_memory) {
                    doc = format!("Address of room for {rest}");
                }
                if param.nullable && !doc.contains("null") {
                    doc.push_str(" May be null.");
                }
                doc
            }
        };
        let doc = nullless(&doc, ctype.null());
        Param { name: names::variable(&param.name.value), ctype, pass, nullable: param.nullable, doc }
    }

    /// The answer of a question, in the words of the two statuses that say it in the table.
    fn answer(self, function: &Function, (yes, no): (StatusValue, StatusValue)) -> Param {
        let when = |status: StatusValue| {
            let told = function.returns.iter().find(|(known, _)| *known == status);
            told.map(|(_, when)| self.told(when)).unwrap_or_default()
        };
        let doc = match (when(yes), when(no)) {
            (yes, no) if yes.is_empty() || no.is_empty() => "The answer.".to_owned(),
            (yes, no) => format!("True: {yes}. False: {no}."),
        };
        Param { name: ANSWER.to_owned(), ctype: CType::Bool, pass: Pass::Output, nullable: false, doc }
    }

    fn raises(self, function: &Function) -> Vec<(String, String)> {
        let words = Words::new(self.face.spec, self.face.interface);
        let is_answer =
            |status: StatusValue| function.question.is_some_and(|(yes, no)| status == yes || status == no);
        if self.face.manages(function) {
            return self
                .exceptions
                .raised("busy", "always: the library calls it by itself")
                .into_iter()
                .collect();
        }
        let told = function.returns.iter().filter(|(status, _)| !is_answer(*status));
        let told = told.filter_map(|(status, when)| {
            let when = self.told(when);
            let name = &words.status(*status).name.value;
            if when.is_empty() { None } else { self.exceptions.raised(name, &when) }
        });
        let mut raises: Vec<(String, String)> = told.collect();
        let mut own = |status: &str, reason: &str| raises.extend(self.exceptions.raised(status, reason));
        for param in &function.params {
            if self.face.is_device(param) && param.dir != Direction::In {
                own("not_found", "nobody has opened that device");
            }
            if let Some(Extent::Param(size)) = self.face.allocates(param) {
                own("out_of_memory", &format!("there are no ``{}`` bytes", function.param(*size).name.value));
            }
        }
        if self.face.may_be_unsupported(function) {
            own("unsupported", "the plugin has no such function");
        }
        raises
    }

    fn notes(self, function: &Function) -> Vec<String> {
        let threads = self.face.threads(function);
        let mut notes = Vec::new();
        if !self.face.manages(function) {
            let words = Words::new(self.face.spec, self.face.interface);
            notes.extend(words.order(function));
            if function.blocking {
                notes[0] =
                    "The caller waits for the device; other threads of Python run meanwhile.".to_owned();
            }
            if let Some(fallback) = &function.fallback
                && !self.face.may_be_unsupported(function)
            {
                let action = uncapital(&constants(&words.fallback_action(function, &fallback.kind)));
                let costs = match collapse(&fallback.costs) {
                    costs if costs.is_empty() => costs,
                    costs => format!(" It costs: {}.", costs.trim_end_matches('.')),
                };
                notes.push(format!("Where the plugin has none: {action}{costs}"));
            }
            let lacking = [("before", function.availability.since), ("after", function.availability.until)];
            for (word, release) in lacking.into_iter().filter_map(|(word, release)| Some((word, release?))) {
                let release = words.release(release);
                notes.push(format!("Plugins for releases {word} {release} of the host have none."));
            }
        }
        notes.push(format!("Threads: {}", uncapital_first(&threads)));
        let see: Vec<String> = function
            .see
            .iter()
            .map(|id| format!("`{}`", names::variable(&self.face.interface.function(*id).name.value)))
            .collect();
        if !see.is_empty() {
            notes.push(format!("See also: {}.", see.join(", ")));
        }
        notes.iter().map(|note| self.prose(note)).collect()
    }

    /// The paragraphs of a function's doc, without what it says of parameters that Python does not have.
    fn paragraphs(self, function: &Function) -> String {
        let filled = function
            .params
            .iter()
            .filter(|param| matches!(param::of_face(self.face, function, param).1, Pass::Filled(_)));
        let asked: Vec<String> =
            filled.map(|param| format!("With null for `{}`", param.name.value)).collect();
        let kept = |paragraph: &str| {
            let told = sentences(paragraph)
                .into_iter()
                .filter(|text| !asked.iter().any(|asked| text.starts_with(asked)));
            self.told(&told.collect::<Vec<_>>().join(" "))
        };
        function.doc.split("\n\n").map(kept).collect::<Vec<_>>().join("\n\n")
    }

    /// What a parameter is, with what a reader has to know beside it.
    fn described(self, param: &ModelParam, params: &[ModelParam]) -> String {
        let words = Words::new(self.face.spec, self.face.interface);
        let mut text = sentence(&self.told(&param.doc));
        for fact in words.param_facts(param, params) {
            // The lists tell their length.
            let is_length =
                matches!(param.length, Some(Length::Count(Extent::Param(_)))) && fact.contains("elements");
            // What is returned is there.
            let is_returned = param.is_output() && fact.contains("null");
            if !is_length && !is_returned {
                text = format!("{text} {}", self.prose(&fact));
            }
        }
        text
    }

    /// One line of a doc, without what a caller of the SDK has no use for.
    fn told(self, text: &str) -> String {
        self.prose(&self.face.for_callers(text))
    }

    /// Prose as docstrings have it: two backticks around code, and exceptions in the place of statuses.
    fn prose(self, text: &str) -> String {
        spans(text, |span| match self.face.interface.find(span) {
            Some(_) => Some(names::variable(span)),
            None if span.contains('(') => Some(span.replace(": ", "=")),
            None if self.is_status(span) => self.exceptions.spelled(span),
            None => None,
        })
    }

    fn is_status(self, name: &str) -> bool {
        self.face.spec.status_values(self.face.interface).iter().any(|value| value.name.value == name)
    }

    /// The statuses, then the types that the functions name.
    pub fn types(self) -> Vec<Class> {
        let members = self.face.statuses().into_iter().map(|status| Member {
            doc: self.prose(&sentence(&self.face.meaning(&status))),
            name: names::member(&status.name),
            value: status.value,
        });
        let doc = "How a call ended: what a device answered, or, from 16 on, what the library has to say.";
        let status = Class::numbers("Status".to_owned(), &Docstring::new(doc), false, members.collect());
        std::iter::once(status).chain(self.face.types().into_iter().filter_map(|ty| self.ty(ty))).collect()
    }

    /// The class of a type; handles and ids are numbers and have none.
    fn ty(self, ty: &Type) -> Option<Class> {
        let mut doc = Docstring::new(&self.told(&ty.summary));
        doc.paragraphs(&ty.doc.split("\n\n").map(|text| self.told(text)).collect::<Vec<_>>().join("\n\n"));
        let name = ty.name.value.clone();
        match &ty.kind {
            TypeKind::Handle { .. } | TypeKind::Id { .. } => None,
            TypeKind::Enum { flags, values, .. } => {
                let members = values.iter().map(|value| Member {
                    name: names::member(&value.name.value),
                    value: value.value,
                    doc: self.told(&sentence(&value.summary)),
                });
                Some(Class::numbers(name, &doc, *flags, members.collect()))
            }
            TypeKind::Struct { fields, .. } => {
                let fields = fields.iter().map(|field| Field {
                    name: names::variable(&field.name.value),
                    ctype: self.field(field),
                    doc: nullless(&self.described(field, fields), "None"),
                });
                Some(Class::structure(name, &doc, &fields.collect::<Vec<_>>(), false))
            }
            TypeKind::Callback { params, result, .. } => {
                let entries = params.iter().map(|param| {
                    let text = nullless(&self.described(param, params), "None");
                    (names::variable(&param.name.value), text)
                });
                doc.entries("Args", entries.collect());
                if let Some(result) = result {
                    doc.section("Returns", &self.told(&result.doc));
                }
                if self.face.is_translated(ty) {
                    doc.paragraph(
                        "It must call nothing that reaches a device. What opens, closes, loads, begins or ends \
                         something is refused with ``BusyError``.",
                    );
                }
                let params: Vec<CType> = params.iter().map(|param| self.callback_param(param)).collect();
                let result = result.as_deref().map(|result| self.callback_param(result));
                Some(Class::callback(name, &doc, &params, result.as_ref()))
            }
        }
    }

    fn field(self, field: &ModelParam) -> CType {
        let ctype = CType::of(self.face.spec, field.ty);
        match &field.length {
            Some(Length::Count(Extent::Number(count))) => CType::Array(Box::new(ctype), *count),
            Some(Length::Count(_)) => CType::Pointer(Box::new(ctype)),
            _ => ctype,
        }
    }

    fn callback_param(self, param: &ModelParam) -> CType {
        let ctype = self.field(param);
        match (param.dir, &ctype) {
            // Of memory the address is passed, whoever writes it.
            (Direction::In, _) | (_, CType::Pointer(_) | CType::Char) => ctype,
            (_, CType::Address) if param.ty == Ty::Pointer && param.role != Role::Creates => ctype,
            _ => CType::Pointer(Box::new(ctype)),
        }
    }
}

/// What there is room for in C is what Python returns: `Room for the nodes, or null to count them.` → `The nodes.`
pub fn room(text: &str) -> String {
    let Some(rest) = text.strip_prefix("Room for ") else { return text.to_owned() };
    let end = [";", ", or null", ", as in", "."].iter().filter_map(|stop| rest.find(stop)).min();
    match rest[..end.unwrap_or(rest.len())].trim_end_matches(" and its zero byte") {
        "them" => "All of them.".to_owned(),
        "it" => "The text.".to_owned(),
        rest => format!("{}.", capital(rest)),
    }
}

/// Constants in prose: `` `supported` is false `` → `` `supported` is False ``.
fn constants(text: &str) -> String {
    text.replace(" is false", " is False").replace(" is true", " is True").replace(" is null", " is 0")
}

fn uncapital_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_what_is_returned() {
        assert_eq!(room("Room for the nodes, or null to count them."), "The nodes.");
        assert_eq!(room("Room for them; may be null."), "All of them.");
        assert_eq!(room("The length."), "The length.");
    }

    #[test]
    fn null_has_a_word_of_python() {
        assert_eq!(
            nullless("The type; null: the built-in one.", "None"),
            "The type; None: the built-in one."
        );
        assert_eq!(nullless("Not nullable, not null.", "0"), "Not nullable, not 0.");
    }
}
