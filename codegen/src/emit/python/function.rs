//! Python functions that call a foreign function: their data for the templates.

use minijinja::{Value, context};

use super::ctype::CType;
use super::docstring::Docstring;
use super::names;
use super::param::{Param, Pass};

/// A function of the bindings. It takes its parameters by name, and raises an exception if the status is not success.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its name in Python: `device_open`.
    pub name: String,
    /// Its name in the library: `tenon_device_open`.
    pub symbol: String,
    /// All of its parameters, in the order of C.
    pub params: Vec<Param>,
    /// The result.
    pub answer: Answer,
    /// The description before its parameters.
    pub doc: Docstring,
    /// The exceptions: names, and when they are raised.
    pub raises: Vec<(String, String)>,
    /// The last paragraph.
    pub notes: Vec<String>,
}

/// The result of a foreign function.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A status: anything but 0 raises.
    Status,
    /// A value, with its description.
    Value(CType, String),
    /// No result.
    Nothing,
}

/// Returns the arguments of a binding: `"tenon_device_open", c_char_p, c_int, POINTER(c_void_p)`.
pub fn binding(symbol: &str, params: &[Param], result: Option<String>) -> Vec<String> {
    let symbol = format!("\"{symbol}\"");
    let result = result.map(|result| format!("restype={result}"));
    std::iter::once(symbol).chain(params.iter().map(Param::argtype)).chain(result).collect()
}

impl Call {
    /// Prepares the data for the template. `defined`: the names of the functions of the module.
    pub fn item(&self, defined: &[String]) -> Value {
        let (taken, given) = (self.taken(), self.given());
        let takes: Vec<String> = self.takes().iter().map(|param| hinted(param, defined)).collect();
        let result = match &self.answer {
            Answer::Status => None,
            Answer::Value(ctype, _) => Some(ctype.name()),
            Answer::Nothing => Some("None".to_owned()),
        };
        context! {
            name => &self.name,
            bound => names::bound(&self.name),
            binding => binding(&self.symbol, &self.params, result),
            takes,
            gives => names::hint(&self.gives(), defined),
            doc => self.docstring(&taken, &given),
            prepared => self.params.iter().filter_map(|param| self.prepared(param)).collect::<Vec<_>>(),
            passed => self.params.iter().map(|param| self.passed(param)).collect::<Vec<_>>(),
            results => given.into_iter().map(|param| self.read(param)).collect::<Vec<_>>(),
            ..self.ending(defined)
        }
    }

    /// Returns its name, its parameters and its result: `device_open(type: str, ordinal: int) -> int`.
    pub fn signature(&self) -> String {
        format!("{}({}) -> {}", self.name, self.takes().join(", "), self.gives())
    }

    fn taken(&self) -> Vec<&Param> {
        self.params.iter().filter(|param| param.is_taken()).collect()
    }

    fn given(&self) -> Vec<&Param> {
        self.params.iter().filter(|param| param.is_given()).collect()
    }

    /// Returns the parameters in Python, with their types.
    fn takes(&self) -> Vec<String> {
        let taken = self.taken();
        // Optional parameters come after the required ones.
        let needed = taken.iter().rposition(|param| !param.may_be_none()).map_or(0, |index| index + 1);
        let default = |index| if index < needed { "" } else { " = None" };
        taken.iter().enumerate().map(|(index, param)| format!("{}{}", param.hint(), default(index))).collect()
    }

    /// Returns the type of the result in Python.
    fn gives(&self) -> String {
        match &self.answer {
            Answer::Status => tuple(&self.given().iter().map(|param| param.given()).collect::<Vec<_>>()),
            Answer::Value(ctype, _) => ctype.given(),
            Answer::Nothing => "None".to_owned(),
        }
    }

    fn docstring(&self, taken: &[&Param], given: &[&Param]) -> String {
        let mut doc = self.doc.clone();
        let entry = |param: &&Param| (param.name.clone(), param.ctype.named_in(&param.doc));
        doc.entries("Args", taken.iter().map(entry).collect());
        match (&self.answer, given) {
            (Answer::Value(_, text), _) => doc.section("Returns", text),
            (_, [one]) => doc.section("Returns", &one.returned),
            (_, several) => {
                let entry = |param: &&Param| (param.name.clone(), param.returned.clone());
                doc.entries("Returns", several.iter().map(entry).collect());
            }
        }
        doc.entries("Raises", self.raises.clone());
        self.notes.iter().for_each(|note| doc.paragraph(note));
        doc.text(4)
    }

    /// Returns the variable for an output: the parameter's name, unless the caller's value has that name.
    fn place(&self, param: &Param) -> String {
        match param.pass {
            Pass::Exchange => self.local(&format!("new_{}", param.name)),
            _ => param.name.clone(),
        }
    }

    fn prepared(&self, param: &Param) -> Option<String> {
        let (place, ctype) = (self.place(param), param.ctype.name());
        match &param.pass {
            Pass::Output => Some(format!("{place} = {ctype}()")),
            Pass::Exchange => Some(format!("{place} = {ctype}({})", param.name)),
            Pass::Room(count) => Some(format!("{place} = ({ctype} * {count})()")),
            Pass::Length(list) => Some(format!("{place} = _B.len({list})")),
            _ => None,
        }
    }

    fn passed(&self, param: &Param) -> String {
        let name = &param.name;
        match &param.pass {
            Pass::Value if param.ctype == CType::Text && param.nullable => {
                format!("_Text.encode_or_null({name})")
            }
            Pass::Value if param.ctype == CType::Text => format!("_Text.encode({name})"),
            Pass::Copy => format!("{}({name})", param.ctype.name()),
            Pass::List(length) => {
                let length = length.as_deref().unwrap_or("None");
                format!("_Arrays.packed({}, {name}, {length})", param.ctype.name())
            }
            _ => self.place(param),
        }
    }

    fn read(&self, param: &Param) -> String {
        let place = self.place(param);
        match (&param.pass, &param.ctype) {
            (Pass::Room(_) | Pass::Filled(_), CType::Char) => format!("_Text.decode({place}.value)"),
            (Pass::Room(_) | Pass::Filled(_), ctype) => ctype.read_list(&place),
            (_, ctype) => ctype.read(&place),
        }
    }

    /// Describes what happens after the call: `local` is the variable for the status or the value. A value has a type
    /// hint `raw` as ctypes returns it, and the expression `cooked` for what is returned.
    fn ending(&self, defined: &[String]) -> Value {
        // For a function that is called twice: the list, the variable for its length, and the element type.
        let filled = self.params.iter().find_map(|param| match &param.pass {
            Pass::Filled(count) => Some(vec![param.name.clone(), count.clone(), param.ctype.name()]),
            _ => None,
        });
        match &self.answer {
            Answer::Status => context! { filled, raw => "", local => self.local("status") },
            Answer::Value(ctype, _) => {
                let local = self.local("answer");
                context! { filled, raw => names::hint(&ctype.raw(), defined), cooked => ctype.cooked(&local), local }
            }
            Answer::Nothing => context! { filled, raw => "", local => "" },
        }
    }

    /// Returns a variable that has the name of no parameter.
    fn local(&self, name: &str) -> String {
        let mut name = name.to_owned();
        while self.params.iter().any(|param| param.name == name) {
            name.push('_');
        }
        name
    }
}

/// Returns a parameter with its hint for a module that defines names.
pub fn hinted(param: &str, defined: &[String]) -> String {
    match param.split_once(": ") {
        Some((name, hint)) => format!("{name}: {}", names::hint(hint, defined)),
        None => param.to_owned(),
    }
}

/// Returns the type hint of several values.
fn tuple(hints: &[String]) -> String {
    match hints {
        [] => "None".to_owned(),
        [one] => one.clone(),
        several => format!("tuple[{}]", several.join(", ")),
    }
}
