//! A Python function around a foreign one: what it takes, what it makes room for, and what it gives back.

use super::ctypes::Form;
use super::docstring::Docstring;
use super::layout::{bracketed, identifiers, returned};
use super::names;
use crate::emit::text::capital;

/// A foreign function and the Python function that calls it.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its name in Python: `device_open`.
    pub name: String,
    /// Its name in the library: `tenon_device_open`.
    pub symbol: String,
    /// Its parameters, all of them, in the order of C.
    pub arguments: Vec<Argument>,
    /// What it returns itself.
    pub result: Answer,
    /// What it does, up to its parameters.
    pub doc: Docstring,
    /// What it raises: names of exceptions and when.
    pub raises: Vec<(String, String)>,
    /// What is said behind all else.
    pub notes: Vec<String>,
}

/// What a foreign function returns itself.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A status: anything but 0 raises.
    Status,
    /// A value, with its description.
    Value(Form, String),
    /// Nothing.
    Nothing,
}

/// A parameter of a foreign function.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// What it holds, or what it points to.
    pub form: Form,
    /// How Python passes it.
    pub pass: Pass,
    /// What it is, for those who pass it or get it.
    pub doc: String,
}

/// How Python passes a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pass {
    /// The caller passes it, and it goes on as it is.
    Value {
        /// Whether it may be null.
        nullable: bool,
    },
    /// The caller passes an object of ctypes, and its address goes on.
    Address {
        /// Whether it may be null.
        nullable: bool,
    },
    /// The caller passes a number, and the address of a copy goes on.
    Copy,
    /// The caller passes a list; the other parameter is its length.
    List(String),
    /// The length of lists that the caller passes: the first of them tells it.
    Length,
    /// The function writes it.
    Output,
    /// The caller passes it, and the function writes another one.
    Exchange,
    /// The function writes as many as an expression says.
    Room(String),
    /// The function writes as many as it has; it is asked twice. The other parameter is their number.
    Filled(String),
    /// How many there are of what is filled.
    Filling,
}

impl Argument {
    /// Whether the caller passes it.
    fn is_taken(&self) -> bool {
        matches!(
            self.pass,
            Pass::Value { .. } | Pass::Address { .. } | Pass::Copy | Pass::List(_) | Pass::Exchange
        )
    }

    /// Whether the caller gets it.
    pub fn is_given(&self) -> bool {
        matches!(self.pass, Pass::Output | Pass::Exchange | Pass::Room(_) | Pass::Filled(_))
    }

    /// Whether null is a text or an object that is not there, for which Python has `None`.
    fn may_be_none(&self) -> bool {
        match self.pass {
            Pass::Value { nullable } => nullable && self.form.null() == "None",
            Pass::Address { nullable } => nullable,
            _ => false,
        }
    }

    /// What is said to those who pass it: of `In: the new one. Out: the old one.` the first half.
    fn doc_in(&self) -> String {
        let half = self.doc.split_once(" Out: ").and_then(|(before, _)| before.strip_prefix("In: "));
        half.map_or_else(|| self.doc.clone(), capital)
    }

    /// What is said to those who get it: the second half.
    fn doc_out(&self) -> String {
        let half = self.doc.split_once(" Out: ").filter(|(before, _)| before.starts_with("In: "));
        half.map_or_else(|| self.doc.clone(), |(_, after)| capital(after))
    }

    fn variable(&self) -> String {
        names::variable(&self.name)
    }

    /// Where what the function writes lies: under its own name, unless the caller's value has it.
    fn place(&self) -> String {
        match self.pass {
            Pass::Exchange => format!("new_{}", self.name),
            _ => self.variable(),
        }
    }

    /// Its place in `argtypes`.
    fn argtype(&self) -> String {
        match self.pass {
            Pass::Value { .. } | Pass::Length => self.form.ctype(),
            // Of an array the elements.
            _ => match &self.form {
                Form::Char => "c_char_p".to_owned(),
                Form::Array(of, _) => format!("POINTER({})", of.ctype()),
                form => format!("POINTER({})", form.ctype()),
            },
        }
    }

    fn hint(&self) -> String {
        let hint = match &self.pass {
            Pass::List(_) => format!("Sequence[{}]", self.form.hint()),
            _ => self.form.hint(),
        };
        if self.may_be_none() { format!("{hint} | None") } else { hint }
    }

    /// What the caller gets of it.
    fn given(&self) -> String {
        match (&self.pass, &self.form) {
            (Pass::Room(_) | Pass::Filled(_), Form::Char) => "str".to_owned(),
            (Pass::Room(_) | Pass::Filled(_), form) => format!("list[{}]", form.given()),
            (_, form) => form.given(),
        }
    }

    fn read(&self) -> String {
        let place = self.place();
        match (&self.pass, &self.form) {
            (Pass::Room(_) | Pass::Filled(_), Form::Char) => format!("decode({place}.value)"),
            (Pass::Room(_) | Pass::Filled(_), form) => form.read_list(&place),
            (_, form) => form.read(&place),
        }
    }

    /// What goes to the foreign function.
    fn passed(&self) -> String {
        let name = self.variable();
        match &self.pass {
            Pass::Value { .. } if self.form == Form::Text && self.may_be_none() => {
                format!("encode_or_null({name})")
            }
            Pass::Value { .. } if self.form == Form::Text => format!("encode({name})"),
            Pass::Copy => format!("{}({name})", self.form.ctype()),
            Pass::List(length) => format!("packed({}, {name}, {length})", self.form.ctype()),
            Pass::Exchange => self.place(),
            _ => name,
        }
    }
}

impl Call {
    /// `_device_open = bind("tenon_device_open", c_char_p, c_int, POINTER(c_void_p))`
    pub fn binding(&self) -> Vec<String> {
        let mut items = vec![format!("\"{}\"", self.symbol)];
        items.extend(self.arguments.iter().map(Argument::argtype));
        match &self.result {
            Answer::Status => {}
            Answer::Value(form, _) => items.push(format!("restype={}", form.ctype())),
            Answer::Nothing => items.push("restype=None".to_owned()),
        }
        bracketed(0, &format!("{} = bind(", names::bound(&self.name)), &items, ")")
    }

    /// The line or lines up to the colon.
    pub fn head(&self) -> Vec<String> {
        let taken: Vec<&Argument> = self.arguments.iter().filter(|argument| argument.is_taken()).collect();
        // What may be left out stands behind all that may not.
        let needed = taken.iter().rposition(|argument| !argument.may_be_none()).map_or(0, |index| index + 1);
        let params: Vec<String> = taken
            .iter()
            .enumerate()
            .map(|(index, argument)| {
                let default = if index >= needed { " = None" } else { "" };
                format!("{}: {}{default}", argument.variable(), argument.hint())
            })
            .collect();
        bracketed(0, &format!("def {}(", self.name), &params, &format!(") -> {}:", self.answer()))
    }

    /// What it gives: nothing, one value, or several.
    fn answer(&self) -> String {
        if let Answer::Value(form, _) = &self.result {
            return form.given();
        }
        let given: Vec<String> = self.given().map(Argument::given).collect();
        match given.as_slice() {
            [] => "None".to_owned(),
            [one] => one.clone(),
            several => format!("tuple[{}]", several.join(", ")),
        }
    }

    fn given(&self) -> impl Iterator<Item = &Argument> {
        self.arguments.iter().filter(|argument| argument.is_given())
    }

    /// The docstring, inside of the function.
    pub fn docstring(&self) -> Vec<String> {
        let mut doc = self.doc.clone();
        let taken = self.arguments.iter().filter(|argument| argument.is_taken());
        let entry = |argument: &Argument| (argument.variable(), argument.form.named_in(&argument.doc_in()));
        doc.entries("Args", taken.map(entry).collect());
        match &self.result {
            Answer::Value(_, text) => doc.section("Returns", text),
            Answer::Status | Answer::Nothing => {
                let given: Vec<&Argument> = self.given().collect();
                match given.as_slice() {
                    [] => {}
                    [one] => doc.section("Returns", &one.doc_out()),
                    several => {
                        let entry = |argument: &&Argument| (argument.variable(), argument.doc_out());
                        doc.entries("Returns", several.iter().map(entry).collect());
                    }
                }
            }
        }
        doc.entries("Raises", self.raises.clone());
        self.notes.iter().for_each(|note| doc.paragraph(note));
        doc.lines(4)
    }

    /// What it does.
    pub fn body(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut line = |text: String| lines.push(format!("    {text}"));
        for argument in &self.arguments {
            let (place, ctype) = (argument.place(), argument.form.ctype());
            match &argument.pass {
                Pass::Output => line(format!("{place} = {ctype}()")),
                Pass::Exchange => line(format!("{place} = {ctype}({})", argument.variable())),
                Pass::Room(count) => line(format!("{place} = ({ctype} * {count})()")),
                Pass::Length => {
                    let of = |other: &&Argument| other.pass == Pass::List(argument.name.clone());
                    if let Some(first) = self.arguments.iter().find(of) {
                        line(format!("{place} = len({})", first.variable()));
                    }
                }
                _ => {}
            }
        }
        let passed: Vec<String> = self.arguments.iter().map(Argument::passed).collect();
        let call = format!("{}(", names::bound(&self.name));
        let filled = self.arguments.iter().find_map(|argument| match &argument.pass {
            Pass::Filled(count) => Some((argument, names::variable(count))),
            _ => None,
        });
        match (&self.result, filled) {
            (Answer::Value(form, _), _) => {
                let (answer, call) = (self.local("answer"), format!("{call}{})", passed.join(", ")));
                lines.push(format!("    {answer}: {} = {call}", form.answered()));
                lines.push(format!("    return {}", form.read_answer(&answer)));
                return lines;
            }
            (Answer::Nothing, _) => lines.extend(bracketed(4, &call, &passed, ")")),
            (Answer::Status, Some((room, count))) => {
                let room_name = room.variable();
                let ask = format!("lambda {room_name}, {count}: {call}{})", passed.join(", "));
                let items = [room.form.ctype(), ask];
                lines.extend(bracketed(4, &format!("{room_name} = filled("), &items, ")"));
            }
            (Answer::Status, None) => {
                let status = self.local("status");
                lines.extend(bracketed(4, &format!("{status} = {call}"), &passed, ")"));
                lines.push(format!("    if {status}:"));
                lines.push(format!("        failed({status})"));
            }
        }
        let given: Vec<String> = self.given().map(Argument::read).collect();
        if !given.is_empty() {
            lines.extend(returned(4, &given));
        }
        lines
    }

    /// A name that no parameter has.
    fn local(&self, name: &str) -> String {
        let mut name = name.to_owned();
        while self.arguments.iter().any(|argument| argument.variable() == name) {
            name.push('_');
        }
        name
    }

    /// The identifiers that its code names, its own parameters included.
    pub fn words(&self) -> Vec<String> {
        let lines = [self.binding(), self.head(), self.body()].concat();
        let words: Vec<String> = lines.iter().flat_map(|line| identifiers(line)).map(str::to_owned).collect();
        words
    }
}
