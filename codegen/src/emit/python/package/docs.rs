//! Docstrings of the functions of a package.

use super::Method;
use crate::emit::descriptions::Describer;
use crate::emit::python::docstring::Docstring;
use crate::model::{
    Direction, EnumValue, Fallback, FallbackKind, Param, ParamId, ResultKind, Ty, TypeId, TypeKind,
};
use crate::text::{alternatives, collapse, map_code_spans, sentence};

/// Most values of an enum that are listed for each parameter.
const LISTED: usize = 16;

impl Method<'_> {
    pub(super) fn docstring(self) -> String {
        let (function, is_plain) = (self.function, self.context.package.is_plain());
        let mut doc = Docstring::new(&self.context.prose(&function.summary));
        if !is_plain {
            doc = doc.signed(self.signature());
        }
        doc.paragraphs(&self.prose(&function.doc.passed(), "0"));
        doc.entries("Args", self.python.args.iter().map(|id| self.entry(*id)).collect());
        match &function.result {
            ResultKind::Status => {
                let echoed = |id: &&ParamId| function.param(**id).dir == Direction::In;
                let written = self.python.returns.iter().filter(|id| !echoed(id));
                let mut written: Vec<_> = written.map(|id| self.entry(*id)).collect();
                let failures = self.failures();
                if !is_plain {
                    let texts = std::iter::once("0 on success.".to_owned()).chain(failures);
                    written.push(("ret".to_owned(), texts.collect::<Vec<_>>().join(" ")));
                    doc.entries("Returns", written);
                } else {
                    match written.as_slice() {
                        [(_, text)] => doc.section("Returns", text),
                        _ => doc.entries("Returns", written),
                    }
                    let when = if failures.is_empty() {
                        "If the function fails.".to_owned()
                    } else {
                        failures.join(" ")
                    };
                    doc.entries("Raises", vec![("Error".to_owned(), when)]);
                }
            }
            ResultKind::Value(result) => doc.section("Returns", &self.value(result, &result.doc.returned())),
            ResultKind::None => {}
        }
        if let Some(Fallback { kind: FallbackKind::Refuse { status, .. }, .. }) = &function.fallback {
            let status = Describer::new(self.context.spec, self.context.interface).status(*status);
            doc.paragraph(&match (&function.result, self.context.interface.status) {
                (ResultKind::Status, Some(ty)) if is_plain => {
                    format!("This function always fails with ``{}``.", self.context.constant(ty, status))
                }
                (ResultKind::Status, _) => format!("This function always fails with {}.", status.value),
                _ => "This function always fails.".to_owned(),
            });
        }
        doc.text(4)
    }

    /// Describes a parameter, with its possible values.
    fn entry(self, id: ParamId) -> (String, String) {
        let param = self.function.param(id);
        let doc = if param.dir == Direction::Out { param.doc.returned() } else { param.doc.passed() };
        let mut text = sentence(&self.value(param, &doc));
        if let Ty::Named(ty) = param.ty
            && let TypeKind::Enum { values, .. } = &self.context.spec.ty(ty).kind
            && values.len() <= LISTED
        {
            let named = values.iter().filter(|value| !value.alias);
            let values: Vec<String> = named.map(|value| self.shown(Some(ty), value)).collect();
            text = format!("{text} {}.", alternatives(&values));
        }
        (param.name.value.clone(), text)
    }

    /// Returns the value of an enum as programs write it: its name in the package, else its number and its name in C.
    fn shown(self, ty: Option<TypeId>, value: &EnumValue) -> String {
        match ty.filter(|_| self.context.package.is_plain()) {
            Some(ty) => format!("``{}``", self.context.constant(ty, value)),
            None => format!("{} ``{}``", value.value, value.c_name),
        }
    }

    /// Converts a text about a value to Python's word for null.
    fn value(self, param: &Param, text: &str) -> String {
        let null = if param.ty == Ty::String && param.dir == Direction::In { "None" } else { "0" };
        self.prose(&collapse(text), null)
    }

    /// Returns the meaning of each status of a failure.
    fn failures(self) -> Vec<String> {
        let describer = Describer::new(self.context.spec, self.context.interface);
        let returned = self.function.returns.iter().map(|(status, when)| (describer.status(*status), when));
        let failures = returned.filter(|(status, _)| status.value != 0);
        let text = |(status, when): (&EnumValue, &crate::model::Prose)| {
            let name = self.shown(self.context.interface.status, status);
            format!("{name}: {}.", self.prose(&collapse(&when.passed()), "0"))
        };
        failures.map(text).collect()
    }

    /// Converts prose to Python's names. Statuses are numbers if the package has no names for them.
    fn prose(self, text: &str, null: &str) -> String {
        let statuses = self.context.spec.status_values(self.context.interface);
        let numbered = map_code_spans(text, |span| {
            if span == "null" {
                return Some(format!("`{null}`"));
            }
            let status = statuses.iter().find(|status| status.name.value == span && status.value != 0)?;
            let is_param = self.function.params.iter().any(|param| param.name.value == span);
            (!is_param).then(|| match self.context.interface.status {
                Some(ty) if self.context.package.is_plain() => {
                    format!("`{}`", self.context.constant(ty, status))
                }
                _ => format!("{} (`{}`)", status.value, status.c_name),
            })
        });
        self.context.prose(&numbered)
    }
}
