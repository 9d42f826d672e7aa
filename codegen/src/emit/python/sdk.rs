//! The functions and types of the SDK, from the spec.

use super::class::{Class, Field, Member};
use super::ctype::CType;
use super::docstring::{Docstring, spans};
use super::function::{Answer, Call};
use super::names;
use super::param::{self, Param, Pass};
use super::raises::Exceptions;
use crate::emit::descriptions::{Describer, with_facts};
use crate::model::{Param as ModelParam, *};
use crate::sdk::{ANSWER, Handle, PLUGIN, SdkApi};
use crate::text::{collapse, sentence, uncapital};

/// Describes an interface's functions in the SDK for Python.
#[derive(Clone, Copy)]
pub struct Sdk<'a> {
    sdk_api: SdkApi<'a>,
    exceptions: &'a Exceptions,
}

impl<'a> Sdk<'a> {
    /// Makes the description of an interface in the SDK.
    pub fn new(sdk_api: SdkApi<'a>, exceptions: &'a Exceptions) -> Self {
        Sdk { sdk_api, exceptions }
    }

    /// Returns the functions of a group.
    pub fn functions(self, group: GroupId) -> Vec<Call> {
        self.sdk_api.interface.in_group(group).map(|function| self.function(function)).collect()
    }

    /// Returns a function.
    pub fn function(self, function: &Function) -> Call {
        let plugin = (self.sdk_api.called_with(function) == Handle::Plugin).then(|| Param {
            name: PLUGIN.to_owned(),
            ctype: CType::Address,
            pass: Pass::Value,
            nullable: false,
            doc: "The plugin.".to_owned(),
            returned: String::new(),
        });
        let own = (0..function.params.len()).map(|index| self.param(function, ParamId(index)));
        let mut doc = Docstring::new(&self.prose(&function.summary));
        doc.paragraphs(&self.prose(&function.doc.passed()));
        Call {
            name: names::variable(&function.name.value),
            symbol: self.sdk_api.function(function),
            params: plugin.into_iter().chain(own).chain(self.answer(function)).collect(),
            answer: Answer::Status,
            doc,
            raises: self.raises(function),
            notes: self.notes(function),
        }
    }

    fn param(self, function: &Function, id: ParamId) -> Param {
        let (param, (ctype, pass)) = (function.param(id), param::of_face(self.sdk_api, function, id));
        let (passed, returned) = (param.doc.passed(), param.doc.returned());
        let returned = match pass {
            Pass::Room(_) | Pass::Filled(_) => sentence(&self.value(&returned, &ctype)),
            _ => self.described(param, &function.params, &self.value(&returned, &ctype)),
        };
        let mut doc = self.described(param, &function.params, &self.value(&passed, &ctype));
        if param.nullable && !passed.contains("`null`") {
            doc = format!("{doc} May be ``{}``.", ctype.null());
        }
        let name = names::variable(&param.name.value);
        Param { name, ctype, pass, nullable: param.nullable, doc, returned }
    }

    /// Returns the parameter for the answer of a query.
    fn answer(self, function: &Function) -> Option<Param> {
        let returned = self.sdk_api.answer(function, |when| self.prose(&collapse(&when.passed())))?;
        let (name, ctype) = (ANSWER.to_owned(), CType::Bool);
        Some(Param { name, ctype, pass: Pass::Output, nullable: false, doc: String::new(), returned })
    }

    fn raises(self, function: &Function) -> Vec<(String, String)> {
        let cases = self.sdk_api.cases(function).into_iter().filter_map(|(status, when)| {
            let when = self.prose(&collapse(&when.passed()));
            if when.is_empty() { None } else { self.exceptions.raised(&status, &when) }
        });
        cases.collect()
    }

    fn notes(self, function: &Function) -> Vec<String> {
        let describer = Describer::new(self.sdk_api.spec, self.sdk_api.interface);
        let describer = Describer { constant: literal, argument: "=", ..describer };
        let waits = "The caller waits for the device; other Python threads can run during the wait.";
        let mut notes = self.sdk_api.notes(function, describer, waits);
        notes.push(format!("Threads: {}", uncapital(&self.sdk_api.threads(function))));
        notes.extend(
            public_method(self.sdk_api, function).map(|method| format!("In the public API: `{method}`.")),
        );
        let name = |id: &FunctionId| names::variable(&self.sdk_api.interface.function(*id).name.value);
        let see: Vec<String> = function.see.iter().map(|id| format!("`{}`", name(id))).collect();
        notes.extend((!see.is_empty()).then(|| format!("See also: {}.", see.join(", "))));
        notes.iter().map(|note| self.prose(note)).collect()
    }

    /// Returns a parameter's documentation with additional facts.
    fn described(self, param: &ModelParam, params: &[ModelParam], doc: &str) -> String {
        let describer = Describer::new(self.sdk_api.spec, self.sdk_api.interface);
        // The length parameter of a list is left out, because a list knows its length.
        let is_counted = matches!(param.length, Some(Length::Count(Extent::Param(_))));
        let memory = describer.memory(param, params).filter(|_| !is_counted);
        let facts = memory.into_iter().chain(describer.life(param, params));
        with_facts(doc, facts.map(|fact| self.prose(&fact)))
    }

    /// Describes a field of a struct or a parameter of a callback, which ctypes reads and writes.
    fn raw(self, param: &ModelParam, params: &[ModelParam]) -> String {
        let doc = param.doc.passed();
        let text = self.described(param, params, &self.value(&doc, &CType::Text));
        let is_told = !param.nullable || param.is_output() || doc.contains("`null`");
        if is_told { text } else { format!("{text} May be ``{}``.", CType::Text.null()) }
    }

    /// Converts a text about a value to Python's word for null.
    fn value(self, text: &str, ctype: &CType) -> String {
        self.spelled(&collapse(text), ctype.null())
    }

    fn prose(self, text: &str) -> String {
        self.spelled(text, "0")
    }

    /// Converts prose for docstrings: two backticks around code, and exceptions instead of statuses.
    fn spelled(self, text: &str, null: &str) -> String {
        spans(text, |span| match self.sdk_api.interface.find(span) {
            Some(_) => Some(names::variable(span)),
            None if span == "null" => Some(null.to_owned()),
            None if self.is_status(span) => self.exceptions.spelled(span),
            None => None,
        })
    }

    fn is_status(self, name: &str) -> bool {
        self.sdk_api.spec.status_values(self.sdk_api.interface).iter().any(|value| value.name.value == name)
    }

    /// Returns the statuses, followed by the types that the functions use.
    pub fn types(self) -> Vec<Class> {
        let members = self.sdk_api.statuses().into_iter().map(|status| Member {
            doc: self.prose(&sentence(&self.sdk_api.meaning(&status))),
            name: names::member(&status.name),
            value: status.value,
        });
        let doc = "The result of a call: a status of the device or, from 16 on, of the library.";
        let status = Class::numbers("Status".to_owned(), &Docstring::new(doc), false, members.collect());
        std::iter::once(status).chain(self.sdk_api.types().into_iter().filter_map(|ty| self.ty(ty))).collect()
    }

    /// Returns the class of a type. Handles and ids are integers and have none.
    fn ty(self, ty: &Type) -> Option<Class> {
        let mut doc = Docstring::new(&self.prose(&ty.summary));
        doc.paragraphs(&self.prose(&ty.doc));
        let name = ty.name.value.clone();
        match &ty.kind {
            TypeKind::Handle { .. } | TypeKind::Id { .. } => None,
            TypeKind::Enum { flags, values, .. } => {
                let members = values.iter().map(|value| Member::of(value, |text| self.prose(text)));
                Some(Class::numbers(name, &doc, *flags, members.collect()))
            }
            TypeKind::Struct { fields, .. } => {
                let fields = fields.iter().map(|field| Field {
                    name: names::variable(&field.name.value),
                    ctype: self.field(field),
                    doc: self.raw(field, fields),
                });
                Some(Class::structure(name, &doc, &fields.collect::<Vec<_>>(), false))
            }
            TypeKind::Callback { params, result, .. } => {
                let entries =
                    params.iter().map(|param| (names::variable(&param.name.value), self.raw(param, params)));
                doc.entries("Args", entries.collect());
                if let Some(result) = result {
                    doc.section("Returns", &self.prose(&collapse(&result.doc.returned())));
                }
                if self.sdk_api.is_translated(ty) {
                    doc.paragraph(
                        "It must not call a function that reaches a device. Functions that open, close, load, \
                         initialise or shut down something fail with ``BusyError``.",
                    );
                }
                let params: Vec<CType> = params.iter().map(|param| self.callback_param(param)).collect();
                let result = result.as_deref().map(|result| self.callback_param(result));
                Some(Class::callback(name, &doc, &params, result.as_ref()))
            }
        }
    }

    fn field(self, field: &ModelParam) -> CType {
        let ctype = CType::of(self.sdk_api.spec, field.ty);
        match &field.length {
            Some(Length::Count(Extent::Number(count))) => CType::Array(Box::new(ctype), *count),
            Some(Length::Count(_)) => CType::Pointer(Box::new(ctype)),
            _ => ctype,
        }
    }

    fn callback_param(self, param: &ModelParam) -> CType {
        let ctype = self.field(param);
        match (param.dir, &ctype) {
            // Memory is passed as an address, for inputs and outputs.
            (Direction::In, _) | (_, CType::Pointer(_) | CType::Char) => ctype,
            (_, CType::Address) if param.ty == Ty::Pointer && param.role != Role::Creates => ctype,
            _ => CType::Pointer(Box::new(ctype)),
        }
    }
}

/// Returns what calls a function in the package, if the spec names it: `tenon.Stream.synchronize`.
pub fn public_method(sdk_api: SdkApi, function: &Function) -> Option<String> {
    function.method.as_ref().map(|method| format!("{}.{method}", super::package_name(sdk_api)))
}

/// Formats a constant in Python.
fn literal(value: Constant) -> String {
    match value {
        Constant::Integer(number) => number.to_string(),
        Constant::Bool(true) => "True".to_owned(),
        Constant::Bool(false) => "False".to_owned(),
        Constant::Null => "0".to_owned(),
    }
}
