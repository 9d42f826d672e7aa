//! Classes: enums, structs, and callbacks.

use serde::Serialize;

use super::ctype::CType;
use super::docstring::Docstring;
use super::layout::identifiers;
use super::names;
use crate::model::EnumValue;
use crate::text::sentence;

/// A class, as data for the templates.
#[derive(Clone, Debug, Serialize)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// The base class.
    base: &'static str,
    /// Its docstring.
    doc: String,
    /// The names of its members, the code after each (`: int`, ` = 3`), and their docstrings.
    members: Vec<[String; 3]>,
    /// Names and types of the fields of a struct.
    fields: Vec<String>,
    /// For a struct that sets its own size: the parameters of its constructor, and the values of its fields.
    constructor: Option<[Vec<String>; 2]>,
    /// For a callback: its result and the types of its parameters.
    signature: Option<(String, Vec<String>)>,
}

/// A field of a struct.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ctype: CType,
    /// The kind of value; empty if the struct is a dict in Python.
    pub doc: String,
}

/// An enum value.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// The number.
    pub value: i64,
    /// Its documentation.
    pub doc: String,
}

impl Member {
    /// Makes the member for a value of the spec. `prose` converts its documentation.
    pub fn of(value: &EnumValue, prose: impl Fn(&str) -> String) -> Self {
        Member {
            name: names::member(&value.name.value),
            value: value.value,
            doc: prose(&sentence(&value.summary.passed())),
        }
    }
}

impl Class {
    fn new(name: String, base: &'static str, doc: &Docstring) -> Self {
        let (members, fields) = (Vec::new(), Vec::new());
        Class { name, base, doc: doc.text(4), members, fields, constructor: None, signature: None }
    }

    /// Makes the class of an enum. `flags`: the values are bits.
    pub fn numbers(name: String, doc: &Docstring, flags: bool, members: Vec<Member>) -> Self {
        let base = if flags { "_Numbers.IntFlag" } else { "_Numbers.NamedNumber" };
        let members = members.into_iter().map(|member| {
            [member.name, format!(" = {}", member.value), Docstring::flowing(&member.doc).text(4)]
        });
        Class { members: members.collect(), ..Class::new(name, base, doc) }
    }

    /// Makes the class of an enum with the classes of Python itself. `flags`: the values are bits.
    pub fn constants(name: String, doc: &Docstring, flags: bool, members: Vec<Member>) -> Self {
        let base = if flags { "_E.IntFlag" } else { "_E.IntEnum" };
        Class { base, ..Class::numbers(name, doc, flags, members) }
    }

    /// Makes the class of a struct. `sized`: the first field is its own size, which the constructor sets.
    pub fn structure(name: String, doc: &Docstring, fields: &[Field], sized: bool) -> Self {
        let defined: Vec<String> = fields.iter().map(|field| field.name.clone()).collect();
        let documented = fields.iter().filter(|field| !field.doc.is_empty());
        let members = documented.map(|field| {
            let doc = Docstring::flowing(&field.ctype.named_in(&field.doc));
            [field.name.clone(), format!(": {}", names::hint(&field.ctype.raw(), &defined)), doc.text(4)]
        });
        let spelled = fields.iter().map(|field| format!("(\"{}\", {})", field.name, field.ctype.name()));
        Class {
            members: members.collect(),
            fields: spelled.collect(),
            constructor: fields
                .split_first()
                .filter(|_| sized)
                .map(|(size, rest)| constructor(&name, size, rest, &defined)),
            ..Class::new(name, "_C.Structure", doc)
        }
    }

    /// Makes the class of a callback.
    pub fn callback(name: String, doc: &Docstring, params: &[CType], result: Option<&CType>) -> Self {
        let result = result.map_or("None".to_owned(), CType::name);
        let signature = Some((result, params.iter().map(CType::name).collect()));
        Class { signature, ..Class::new(name, "_Callbacks.CFuncPtr", doc) }
    }

    fn names(&self, name: &str) -> bool {
        let params = self.signature.iter().flat_map(|(_, params)| params);
        self.fields.iter().chain(params).any(|code| identifiers(code).any(|word| word == name))
    }
}

/// Makes a constructor that sets the size, and takes a Python value for each other field except arrays.
fn constructor(name: &str, size: &Field, fields: &[Field], defined: &[String]) -> [Vec<String>; 2] {
    let this = names::free("self".to_owned(), defined);
    let mut params = vec![this.clone(), "*".to_owned()];
    let mut values = vec![this, format!("{}=_C.sizeof({name})", size.name)];
    for Field { name, ctype, .. } in fields {
        let (param, value) = match ctype {
            CType::Array(..) | CType::Struct(_) | CType::Pointer(_) => continue,
            CType::Text => ("str | None = None".to_owned(), format!("_Text.encode_or_null({name})")),
            // A null callback is an object too.
            CType::Callback(class) => {
                (format!("{class} | None = None"), format!("{class}() if {name} is None else {name}"))
            }
            CType::Bool => ("bool = False".to_owned(), name.clone()),
            ctype => (format!("{} = 0", ctype.hint()), name.clone()),
        };
        params.push(format!("{name}: {}", names::hint(&param, defined)));
        values.push(format!("{name}={value}"));
    }
    [params, values]
}

/// Orders classes so that each comes after those that it uses, and otherwise keeps their order.
pub fn in_order(mut open: Vec<Class>) -> Vec<Class> {
    let mut done = Vec::new();
    while !open.is_empty() {
        let waits =
            |class: &Class| open.iter().any(|other| other.name != class.name && class.names(&other.name));
        // Classes that use each other keep their order: Python then reports the missing name.
        let next = open.iter().position(|class| !waits(class)).unwrap_or(0);
        done.push(open.remove(next));
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(name: &str, ctype: CType) -> Class {
        let field = Field { name: "field".to_owned(), ctype, doc: "A field.".to_owned() };
        Class::structure(name.to_owned(), &Docstring::new("A struct."), &[field], false)
    }

    #[test]
    fn in_order_puts_used_classes_first() {
        let inner = CType::Struct("Inner".to_owned());
        let classes = vec![class("Outer", inner), class("Inner", CType::Bool), class("Last", CType::Bool)];
        let names: Vec<String> = in_order(classes).into_iter().map(|class| class.name).collect();
        assert_eq!(names, ["Inner", "Outer", "Last"]);
    }

    #[test]
    fn structure_with_size_has_a_constructor() {
        let field = |name: &str, ctype| Field { name: name.to_owned(), ctype, doc: String::new() };
        let fields = [field("name", CType::Text), field("self", CType::Bool), field("str", CType::Bool)];
        let defined = fields.each_ref().map(|field| field.name.clone());
        let [params, values] =
            constructor("Options", &field("size", CType::Int("_C.c_size_t")), &fields, &defined);
        let expected =
            ["self_", "*", "name: _B.str | None = None", "self: bool = False", "str: bool = False"];
        assert_eq!(params, expected);
        let expected =
            ["self_", "size=_C.sizeof(Options)", "name=_Text.encode_or_null(name)", "self=self", "str=str"];
        assert_eq!(values, expected);
    }
}
