//! Classes: named numbers, structs, and pointers to functions.

use serde::Serialize;

use super::ctypes::Form;
use super::docstring::Docstring;
use super::layout::{bracketed, identifiers, listed};

/// A class of the bindings.
#[derive(Clone, Debug)]
pub enum TypeClass {
    /// Named numbers.
    Enum(EnumClass),
    /// A struct.
    Struct(StructClass),
    /// A pointer to a function.
    Callback {
        /// Its name.
        name: String,
        /// What it is, with its parameters.
        doc: Docstring,
        /// Its parameters.
        params: Vec<Form>,
        /// What it returns.
        result: Option<Form>,
    },
}

/// Named numbers.
#[derive(Clone, Debug)]
pub struct EnumClass {
    /// Its name.
    pub name: String,
    /// What it is.
    pub doc: Docstring,
    /// Whether the numbers are bits.
    pub flags: bool,
    /// The numbers.
    pub members: Vec<Member>,
}

/// A named number.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// The number.
    pub value: i64,
    /// What it means.
    pub doc: String,
}

/// A struct.
#[derive(Clone, Debug)]
pub struct StructClass {
    /// Its name.
    pub name: String,
    /// What it is.
    pub doc: Docstring,
    /// Names, forms and descriptions of its fields.
    pub fields: Vec<(String, Form, String)>,
    /// Whether the first field is its own size, which then is filled in by itself.
    pub sized: bool,
}

/// A class as the template lays it out.
#[derive(Debug, Serialize)]
pub(super) struct ClassItem {
    name: String,
    base: &'static str,
    doc: Vec<String>,
    members: Vec<MemberItem>,
    /// What follows the members.
    rest: Vec<String>,
}

#[derive(Debug, Serialize)]
struct MemberItem {
    line: String,
    doc: Vec<String>,
}

impl TypeClass {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            TypeClass::Enum(class) => &class.name,
            TypeClass::Struct(class) => &class.name,
            TypeClass::Callback { name, .. } => name,
        }
    }

    pub(super) fn item(&self) -> ClassItem {
        let name = self.name().to_owned();
        match self {
            TypeClass::Enum(class) => ClassItem {
                name,
                base: if class.flags { "IntFlag" } else { "NamedNumber" },
                doc: class.doc.lines(4),
                members: class.members.iter().map(Member::item).collect(),
                rest: Vec::new(),
            },
            TypeClass::Struct(class) => class.item(),
            TypeClass::Callback { doc, params, result, .. } => {
                let params: Vec<String> = params.iter().map(Form::ctype).collect();
                let comma = if params.len() == 1 { "," } else { "" };
                let mut rest = vec![
                    "    _flags_ = FUNCFLAG_CDECL".to_owned(),
                    format!("    _restype_ = {}", result.as_ref().map_or("None".to_owned(), Form::ctype)),
                ];
                rest.extend(listed(4, "_argtypes_ = (", &params, &format!("{comma})")));
                ClassItem { name, base: "CFuncPtr", doc: doc.lines(4), members: Vec::new(), rest }
            }
        }
    }

    /// The identifiers that its code names.
    pub(super) fn words(&self) -> Vec<String> {
        let item = self.item();
        let members = item.members.iter().map(|member| &member.line);
        let lines = members.chain(&item.rest).map(String::as_str).chain([item.base]);
        lines.flat_map(identifiers).map(str::to_owned).collect()
    }
}

impl Member {
    fn item(&self) -> MemberItem {
        let doc = Docstring::flowing(&self.doc);
        MemberItem { line: format!("    {} = {}", self.name, self.value), doc: doc.lines(4) }
    }
}

impl StructClass {
    fn item(&self) -> ClassItem {
        let members = self.fields.iter().map(|(name, form, doc)| MemberItem {
            line: format!("    {name}: {}", form.field()),
            doc: Docstring::flowing(&form.named_in(doc)).lines(4),
        });
        let fields: Vec<String> =
            self.fields.iter().map(|(name, form, _)| format!("(\"{name}\", {})", form.ctype())).collect();
        let mut rest = listed(4, "_fields_ = [", &fields, "]");
        if self.sized {
            rest.push(String::new());
            rest.extend(self.constructor());
        }
        ClassItem {
            name: self.name.clone(),
            base: "Structure",
            doc: self.doc.lines(4),
            members: members.collect(),
            rest,
        }
    }

    /// A constructor that knows the size and takes what Python has for each of the other fields but arrays.
    fn constructor(&self) -> Vec<String> {
        let (size, fields) =
            self.fields.split_first().map_or(("", &[][..]), |((size, ..), rest)| (size, rest));
        let mut params = vec!["self".to_owned(), "*".to_owned()];
        let mut values = vec![format!("{size}=sizeof({})", self.name)];
        let is_plain = |form: &Form| !matches!(form, Form::Array(..) | Form::Struct(_) | Form::Pointer(_));
        for (name, form, _) in fields.iter().filter(|(_, form, _)| is_plain(form)) {
            let (param, value) = match form {
                Form::Text => (format!("{name}: str | None = None"), format!("encode_or_null({name})")),
                Form::Callback(class) => (
                    format!("{name}: {class} | None = None"),
                    // A null pointer to a function is an object too.
                    format!("{class}() if {name} is None else {name}"),
                ),
                Form::Bool => (format!("{name}: bool = False"), name.clone()),
                form => (format!("{name}: {} = 0", form.hint()), name.clone()),
            };
            params.push(param);
            values.push(format!("{name}={value}"));
        }
        let mut lines = bracketed(4, "def __init__(", &params, ") -> None:");
        lines.extend(bracketed(8, "super().__init__(", &values, ")"));
        lines
    }
}

/// Classes such that each stands behind those that it names, and otherwise as they were.
pub(super) fn in_order(classes: Vec<TypeClass>) -> Vec<TypeClass> {
    let mut open: Vec<(Vec<String>, TypeClass)> =
        classes.into_iter().map(|class| (class.words(), class)).collect();
    let mut done = Vec::new();
    while !open.is_empty() {
        let waits = |(words, class): &(Vec<String>, TypeClass)| {
            let mut others = open.iter().map(|(_, other)| other.name()).filter(|name| *name != class.name());
            others.any(|name| words.iter().any(|word| word == name))
        };
        // Those that wait for each other stay as they were: Python then says which name it lacks.
        let next = open.iter().position(|class| !waits(class)).unwrap_or(0);
        done.push(open.remove(next).1);
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(name: &str, form: Form) -> TypeClass {
        let fields = vec![("field".to_owned(), form, "A field.".to_owned())];
        let doc = Docstring::new("A struct.");
        TypeClass::Struct(StructClass { name: name.to_owned(), doc, fields, sized: false })
    }

    #[test]
    fn a_class_stands_behind_those_that_it_names() {
        let inner = Form::Struct("Inner".to_owned());
        let classes = vec![class("Outer", inner), class("Inner", Form::Bool), class("Last", Form::Bool)];
        let names: Vec<String> = in_order(classes).iter().map(|class| class.name().to_owned()).collect();
        assert_eq!(names, ["Inner", "Outer", "Last"]);
    }

    #[test]
    fn a_struct_that_knows_its_size_takes_the_rest_by_name() {
        let size = ("size".to_owned(), Form::Int("c_size_t"), "Size.".to_owned());
        let name = ("name".to_owned(), Form::Text, "Name.".to_owned());
        let class = StructClass {
            name: "Options".to_owned(),
            doc: Docstring::new("Options."),
            fields: vec![size, name],
            sized: true,
        };
        let lines = class.constructor();
        assert_eq!(
            lines,
            [
                "    def __init__(self, *, name: str | None = None) -> None:",
                "        super().__init__(size=sizeof(Options), name=encode_or_null(name))"
            ]
        );
    }
}
