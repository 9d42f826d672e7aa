//! The library's functions and types that are not in the spec.

use heck::ToPascalCase;

use super::class::{Class, Field, Member};
use super::ctype::CType;
use super::docstring::{Docstring, spans};
use super::function::{Answer, Call};
use super::names;
use super::param::{Param, Pass};
use super::raises::Exceptions;
use crate::emit::emitter::EmitError;
use crate::exports::{Direction, Doc, Exports, Function, Ty, Type, TypeKind};
use crate::model::Representation;
use crate::sdk::SdkApi;
use crate::text::{enumerate, uncapital};

/// Describes exports for Python.
#[derive(Clone, Copy)]
pub struct Core<'a> {
    /// The exports.
    pub exports: &'a Exports,
    /// The SDK's view, which has the handles and statuses of the exports.
    pub sdk_api: SdkApi<'a>,
    /// Its statuses.
    pub exceptions: &'a Exceptions,
}

impl Core<'_> {
    /// Returns the classes, in the order of the sources.
    pub(super) fn types(self) -> Result<Vec<Class>, EmitError> {
        let classes =
            self.exports.types.iter().map(|ty| self.ty(ty).map_err(|reason| mistake(&ty.name, reason)));
        Ok(classes.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    /// Returns the functions, in the order of the sources.
    pub(super) fn functions(self) -> Result<Vec<Call>, EmitError> {
        let functions = self.exports.functions.iter();
        functions
            .map(|function| self.function(function).map_err(|reason| mistake(&function.name, reason)))
            .collect()
    }

    fn function(self, function: &Function) -> Result<Call, String> {
        let params = function.params.iter().map(|(name, ty)| self.param(function, name, ty));
        let mut raises = Vec::new();
        for (status, reason) in &function.doc.results {
            let reason = self.prose(reason, "None");
            match self.exceptions.of_c(status) {
                Some("success") => {}
                _ if reason.is_empty() => {}
                Some(status) => raises.extend(self.exceptions.raised(status, &reason)),
                None if status == "other" => raises.push(Exceptions::other(&reason)),
                None => return Err(format!("`{status}` is not a status")),
            }
        }
        let answer = match &function.result {
            None => Answer::Nothing,
            Some(ty) if self.is_status(ty) => Answer::Status,
            Some(ty) => Answer::Value(self.value(ty)?, self.prose(&function.doc.returned, "None")),
        };
        let threads = self.prose(&function.doc.threads, "None");
        Ok(Call {
            name: names::variable(self.bare(&function.name)),
            symbol: function.name.clone(),
            params: params.collect::<Result<_, _>>()?,
            answer,
            doc: self.docstring(&function.doc),
            raises,
            notes: Vec::from([format!("Threads: {}", uncapital(&threads))]),
        })
    }

    fn param(self, function: &Function, name: &str, ty: &Ty) -> Result<Param, String> {
        let documented = function.doc.params.iter().find(|(known, ..)| known == name);
        let (_, direction, doc) = documented.ok_or_else(|| format!("`{name}` has no documentation"))?;
        let nullable = doc.contains("`null`");
        let counter = function.doc.params.iter().find(|(_, direction, _)| *direction == Direction::InOut);
        let (ctype, pass) = match (direction, ty) {
            (Direction::InOut, Ty::Pointer(to)) => (self.value(to)?, Pass::Filling),
            (Direction::Out, Ty::Pointer(to)) => match counter {
                Some((count, ..)) => (self.element(to)?, Pass::Filled(names::variable(count))),
                None => (self.value(to)?, Pass::Output),
            },
            (Direction::In, Ty::Pointer(to)) => match self.value(ty)? {
                ctype @ (CType::Text | CType::Address | CType::Callback(_)) => (ctype, Pass::Value),
                _ => (self.value(to)?, Pass::Address),
            },
            (Direction::In, _) => (self.value(ty)?, Pass::Value),
            _ => return Err(format!("`{name}` is an output, but not a pointer")),
        };
        let null = if matches!(pass, Pass::Value | Pass::Address) { ctype.null() } else { "None" };
        let doc = self.prose(doc, null);
        Ok(Param { name: names::variable(name), ctype, pass, nullable, returned: doc.clone(), doc })
    }

    fn ty(self, ty: &Type) -> Result<Option<Class>, String> {
        let name = self.class(&ty.name);
        let mut doc = self.docstring(&ty.doc);
        Ok(match &ty.kind {
            TypeKind::Handle => None,
            TypeKind::Enum(values) => {
                let members = values.iter().map(|(name, value, doc)| Member {
                    name: names::member(name),
                    value: *value,
                    doc: self.prose(doc, "None"),
                });
                Some(Class::numbers(name, &doc, false, members.collect()))
            }
            TypeKind::Struct(fields) => {
                let sized = fields.first().is_some_and(|field| field.doc.starts_with("Size of this struct"));
                let fields = fields.iter().map(|field| {
                    let doc = self.prose(&field.doc, "None");
                    Ok(Field { name: names::variable(&field.name), ctype: self.value(&field.ty)?, doc })
                });
                let fields: Vec<Field> = fields.collect::<Result<_, String>>()?;
                Some(Class::structure(name, &doc, &fields, sized))
            }
            TypeKind::Callback { params, result } => {
                let taken: Vec<String> = params.iter().map(|(name, _)| format!("``{name}``")).collect();
                doc.paragraph(&format!("It takes {}.", enumerate(&taken)));
                let params: Vec<CType> =
                    params.iter().map(|(_, ty)| self.value(ty)).collect::<Result<_, _>>()?;
                let result = result.as_ref().map(|ty| self.value(ty)).transpose()?;
                Some(Class::callback(name, &doc, &params, result.as_ref()))
            }
        })
    }

    /// Returns the type of a parameter, if no other parameter is its length.
    fn element(self, ty: &Ty) -> Result<CType, String> {
        match ty {
            Ty::Named(name) if name == "c_char" => Ok(CType::Char),
            ty => self.value(ty),
        }
    }

    fn value(self, ty: &Ty) -> Result<CType, String> {
        Ok(match ty {
            Ty::Array(of, count) => CType::Array(Box::new(self.value(of)?), *count),
            Ty::Pointer(to) => match &**to {
                Ty::Named(name) if name == "c_char" => CType::Text,
                Ty::Named(name) if name == "c_void" => CType::Address,
                to => CType::Pointer(Box::new(self.value(to)?)),
            },
            Ty::Named(name) => match name.as_str() {
                "bool" => CType::Bool,
                "i8" => CType::Int("_C.c_int8"),
                "i16" => CType::Int("_C.c_int16"),
                "i32" => CType::Int("_C.c_int32"),
                "i64" => CType::Int("_C.c_int64"),
                "u8" => CType::Int("_C.c_uint8"),
                "u16" => CType::Int("_C.c_uint16"),
                "u32" => CType::Int("_C.c_uint32"),
                "u64" => CType::Int("_C.c_uint64"),
                "usize" => CType::Int("_C.c_size_t"),
                "isize" => CType::Int("_C.c_ssize_t"),
                "c_int" => CType::Int("_C.c_int"),
                "f32" => CType::Float("_C.c_float"),
                "f64" => CType::Float("_C.c_double"),
                name => self.named(name)?,
            },
        })
    }

    /// Returns a type of the exports, or one that they share with the spec.
    fn named(self, name: &str) -> Result<CType, String> {
        if let Some(ty) = self.exports.types.iter().find(|ty| ty.name == name) {
            let class = self.class(name);
            return Ok(match ty.kind {
                TypeKind::Handle => CType::Address,
                TypeKind::Enum(_) => CType::Enum(class, Representation::Int),
                TypeKind::Struct(_) => CType::Struct(class),
                TypeKind::Callback { .. } => CType::Callback(class),
            });
        }
        let c_name = self.exports.renamed.get(name).ok_or_else(|| format!("`{name}` is not a type of C"))?;
        if *c_name == self.sdk_api.handle("status") {
            return Ok(CType::Enum("Status".to_owned(), Representation::Int));
        }
        let described = self.sdk_api.types().into_iter().find(|ty| self.sdk_api.ty(ty) == *c_name);
        let described = described.ok_or_else(|| format!("`{name}` is not a type of the spec"))?;
        Ok(CType::of_type(described))
    }

    fn is_status(self, ty: &Ty) -> bool {
        matches!(ty, Ty::Named(name) if self.exports.renamed.get(name) == Some(&self.sdk_api.handle("status")))
    }

    /// Returns the class name of a type: `DeviceInfo` → `tenon_device_info` → `DeviceInfo`.
    fn class(self, name: &str) -> String {
        self.exports
            .renamed
            .get(name)
            .map_or_else(|| name.to_owned(), |c_name| self.bare(c_name).to_pascal_case())
    }

    /// Returns a symbol without the common prefix.
    fn bare(self, symbol: &str) -> &str {
        symbol.strip_prefix(&self.sdk_api.handle("")).unwrap_or(symbol)
    }

    fn docstring(self, doc: &Doc) -> Docstring {
        let mut paragraphs = doc.paragraphs.iter().map(|text| self.prose(text, "None"));
        let mut docstring = Docstring::new(&paragraphs.next().unwrap_or_default());
        paragraphs.for_each(|text| docstring.paragraph(&text));
        docstring
    }

    /// Converts prose for docstrings: `#tenon_init` and `` `tenon_init` `` become functions, `#TENON_BUSY` an
    /// exception, and `` `null` `` becomes `null`.
    fn prose(self, text: &str, null: &str) -> String {
        let mut linked = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('#') {
            let name = &rest[at + 1..];
            let end = name.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(name.len());
            linked.push_str(&rest[..at]);
            linked.push_str(&format!("`{}`", &name[..end]));
            rest = &name[end..];
        }
        linked.push_str(rest);
        spans(&linked, |span| {
            let status = self.exceptions.of_c(span).and_then(|status| self.exceptions.spelled(status));
            let known = self.exports.functions.iter().any(|function| function.name == span)
                || self
                    .sdk_api
                    .interface
                    .functions
                    .iter()
                    .any(|function| self.sdk_api.function(function) == span);
            let null = (span == "null").then(|| null.to_owned());
            status.or(null).or_else(|| known.then(|| self.bare(span).to_owned()))
        })
    }
}

fn mistake(item: &str, reason: String) -> EmitError {
    EmitError::Python { item: item.to_owned(), reason }
}
