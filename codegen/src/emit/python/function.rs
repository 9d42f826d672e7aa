//! Python functions that call a foreign function: their data for the templates.

use serde::Serialize;

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

/// The data of every function for the templates.
#[derive(Debug, Serialize)]
pub struct Function<E> {
    /// Its name in Python.
    pub name: String,
    /// The name of the ctypes function.
    pub bound: String,
    /// The symbol and its types.
    pub binding: Vec<String>,
    /// Its parameters with their type hints.
    pub takes: Vec<String>,
    /// The type hint of its result.
    pub gives: String,
    /// Its docstring.
    pub doc: String,
    /// Statements before the call.
    pub prepared: Vec<String>,
    /// The arguments of the call.
    pub passed: Vec<String>,
    /// The parameters that it returns.
    pub results: Vec<String>,
    /// Data for only one of the packages.
    #[serde(flatten)]
    pub more: E,
}

/// Data for functions of the bindings: what happens after the call.
#[derive(Debug, Serialize)]
pub struct Ending {
    /// The variable for the status or the value; empty if there is neither.
    local: String,
    /// The type hint of a value as ctypes returns it; empty for a status.
    raw: String,
    /// The expression that is returned for the value.
    cooked: String,
    /// For a function that is called twice: the list, the variable for its length, and the element type.
    filled: Option<[String; 3]>,
}

/// Returns the arguments of a binding: `"tenon_device_open", c_char_p, c_int, POINTER(c_void_p)`.
pub fn binding(symbol: &str, params: &[Param], result: Option<String>) -> Vec<String> {
    let symbol = format!("\"{symbol}\"");
    let result = result.map(|result| format!("restype={result}"));
    std::iter::once(symbol).chain(params.iter().map(Param::argtype)).chain(result).collect()
}

impl Call {
    /// Prepares the data for the template.
    pub fn item(&self) -> Function<Ending> {
        let taken: Vec<&Param> = self.params.iter().filter(|param| param.is_taken()).collect();
        let given: Vec<&Param> = self.params.iter().filter(|param| param.is_given()).collect();
        // Optional parameters come after the required ones.
        let needed = taken.iter().rposition(|param| !param.may_be_none()).map_or(0, |index| index + 1);
        let takes = taken
            .iter()
            .enumerate()
            .map(|(index, param)| format!("{}{}", param.hint(), if index < needed { "" } else { " = None" }));
        let (result, gives) = match &self.answer {
            Answer::Status => (None, tuple(&given.iter().map(|param| param.given()).collect::<Vec<_>>())),
            Answer::Value(ctype, _) => (Some(ctype.name()), ctype.given()),
            Answer::Nothing => (Some("None".to_owned()), "None".to_owned()),
        };
        Function {
            name: self.name.clone(),
            bound: names::bound(&self.name),
            binding: binding(&self.symbol, &self.params, result),
            takes: takes.collect(),
            gives,
            doc: self.docstring(&taken, &given),
            prepared: self.params.iter().filter_map(Self::prepared).collect(),
            passed: self.params.iter().map(Self::passed).collect(),
            results: given.into_iter().map(Self::read).collect(),
            more: self.ending(),
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
    fn place(param: &Param) -> String {
        match param.pass {
            Pass::Exchange => format!("new_{}", param.name),
            _ => param.name.clone(),
        }
    }

    fn prepared(param: &Param) -> Option<String> {
        let (place, ctype) = (Self::place(param), param.ctype.name());
        match &param.pass {
            Pass::Output => Some(format!("{place} = {ctype}()")),
            Pass::Exchange => Some(format!("{place} = {ctype}({})", param.name)),
            Pass::Room(count) => Some(format!("{place} = ({ctype} * {count})()")),
            Pass::Length(list) => Some(format!("{place} = len({list})")),
            _ => None,
        }
    }

    fn passed(param: &Param) -> String {
        let name = &param.name;
        match &param.pass {
            Pass::Value if param.ctype == CType::Text && param.nullable => format!("encode_or_null({name})"),
            Pass::Value if param.ctype == CType::Text => format!("encode({name})"),
            Pass::Copy => format!("{}({name})", param.ctype.name()),
            Pass::List(length) => {
                let length = length.as_deref().unwrap_or("None");
                format!("packed({}, {name}, {length})", param.ctype.name())
            }
            _ => Self::place(param),
        }
    }

    fn read(param: &Param) -> String {
        let place = Self::place(param);
        match (&param.pass, &param.ctype) {
            (Pass::Room(_) | Pass::Filled(_), CType::Char) => format!("decode({place}.value)"),
            (Pass::Room(_) | Pass::Filled(_), ctype) => ctype.read_list(&place),
            (_, ctype) => ctype.read(&place),
        }
    }

    fn ending(&self) -> Ending {
        let filled = self.params.iter().find_map(|param| match &param.pass {
            Pass::Filled(count) => Some([param.name.clone(), count.clone(), param.ctype.name()]),
            _ => None,
        });
        let (local, raw, cooked) = match &self.answer {
            Answer::Status => (self.local("status"), String::new(), String::new()),
            Answer::Value(ctype, _) => {
                let local = self.local("answer");
                let cooked = ctype.cooked(&local);
                (local, ctype.raw(), cooked)
            }
            Answer::Nothing => Default::default(),
        };
        Ending { local, raw, cooked, filled }
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

/// Returns the type hint of several values.
fn tuple(hints: &[String]) -> String {
    match hints {
        [] => "None".to_owned(),
        [one] => one.clone(),
        several => format!("tuple[{}]", several.join(", ")),
    }
}
