//! A function of an export's Python package: its binding, its body, its docstring and its stub.

use super::docstring::Docstring;
use super::layout::{assigned, bracketed};
use super::names;
use super::package::Context;
use super::sdk::nullless;
use crate::emit::text::{collapse, enumerate, sentence};
use crate::emit::words::Words;
use crate::model::*;
use crate::python::{Form, Item, form, is_implied, optional_args};

/// Enums with more values than this are not listed with each parameter.
const LISTED: usize = 16;

/// A function of a module.
#[derive(Clone, Copy)]
pub(super) struct Method<'a> {
    context: Context<'a>,
    function: &'a Function,
    pub(super) python: &'a PythonFunction,
}

/// How a parameter gets to C.
struct Passed {
    /// What `argtypes` has for it.
    ctype: String,
    /// The lines that prepare it.
    prepare: Vec<String>,
    /// What stands in the call.
    value: String,
}

impl<'a> Method<'a> {
    pub(super) fn new(context: Context<'a>, function: &'a Function, python: &'a PythonFunction) -> Self {
        Method { context, function, python }
    }

    fn name(self) -> String {
        names::variable(&self.python.name.value)
    }

    /// A parameter as a variable of the body, which has names of its own.
    fn local(self, id: ParamId) -> String {
        let name = names::variable(&self.function.param(id).name.value);
        let taken = ["args", "ret"].contains(&name.as_str()) || name == self.python.name.value;
        if taken { format!("{name}_") } else { name }
    }

    fn form(self, id: ParamId) -> Option<Form<'a>> {
        form(self.context.spec, self.function.param(id))
    }

    fn is_callback(self, param: &Param) -> bool {
        matches!(param.ty, Ty::Named(id) if matches!(self.context.spec.ty(id).kind, TypeKind::Callback { .. }))
    }

    /// Whether C gets the place of a value rather than the value.
    fn is_place(self, param: &Param) -> bool {
        let is_address = match param.ty {
            Ty::Pointer => true,
            Ty::Named(id) => {
                matches!(self.context.spec.ty(id).kind, TypeKind::Handle { form: HandleForm::Pointee(_), .. })
            }
            _ => false,
        };
        let is_array = matches!(param.length, Some(Length::Count(_)));
        is_array || (param.dir != Direction::In && (!is_address || param.role == Role::Creates))
    }

    fn passed(self, id: ParamId) -> Passed {
        let param = self.function.param(id);
        let name = self.local(id);
        let is_given = self.python.args.contains(&id);
        let is_used = is_given || self.python.returns.contains(&id);
        let pointer = |ctype: &str| format!("POINTER({ctype})");
        if is_implied(self.function, id) {
            let list = self.function.params.iter().position(|other| other.is_python_list_of(id));
            let list = self.local(ParamId(list.unwrap_or_default()));
            let ctype = self.context.ctype(Item::Number(param.ty));
            return Passed { ctype, prepare: Vec::new(), value: format!("len({list})") };
        }
        match self.form(id) {
            Some(Form::Text) => Passed {
                ctype: "c_char_p".to_owned(),
                prepare: match is_given {
                    true if param.nullable => vec![format!("{name} = encoded_or_null({name})")],
                    true => vec![format!("{name} = encoded({name})")],
                    false => Vec::new(),
                },
                value: if is_given { name } else { "None".to_owned() },
            },
            Some(Form::Buffer(extent)) => Passed {
                ctype: "c_char_p".to_owned(),
                prepare: vec![format!("{name} = create_string_buffer({})", self.extent(extent))],
                value: name,
            },
            Some(Form::List(item, extent)) => {
                let ctype = self.context.ctype(item);
                let prepare = match param.dir {
                    Direction::In => {
                        format!("{name} = listed({ctype}, {name}{})", self.required_length(id, extent))
                    }
                    _ => format!("{name} = ({ctype} * {})()", self.extent(extent)),
                };
                Passed { ctype: pointer(&ctype), prepare: vec![prepare], value: name }
            }
            Some(Form::One(item)) => {
                let ctype = self.context.ctype(item);
                let is_place = self.is_place(param);
                match item {
                    _ if !is_used && (is_place || param.by_pointer) => {
                        Passed { ctype: pointer(&ctype), prepare: Vec::new(), value: "None".to_owned() }
                    }
                    _ if !is_used => Passed { ctype, prepare: Vec::new(), value: "0".to_owned() },
                    Item::Dict(_) if is_given => Passed {
                        prepare: match param.nullable {
                            true => vec![format!("{name} = packed_or_null({ctype}, {name})")],
                            false => vec![format!("{name} = packed({ctype}, {name})")],
                        },
                        ctype: if is_place || param.by_pointer { pointer(&ctype) } else { ctype },
                        value: name,
                    },
                    _ if is_place => {
                        let start = if is_given { name.clone() } else { String::new() };
                        Passed {
                            prepare: vec![format!("{name} = {ctype}({start})")],
                            ctype: pointer(&ctype),
                            value: name,
                        }
                    }
                    _ => Passed { ctype, prepare: Vec::new(), value: name },
                }
            }
            // A rule has refused it, unless the body is written by hand.
            None => Passed { ctype: "c_uint64".to_owned(), prepare: Vec::new(), value: "0".to_owned() },
        }
    }

    fn extent(self, extent: &Extent) -> String {
        match extent {
            Extent::Param(id) => self.local(*id),
            Extent::Number(number) => number.to_string(),
            Extent::Call(_) => "0".to_owned(),
        }
    }

    /// Lists of one length have to agree, as the second one is read as far as the first one goes.
    fn required_length(self, id: ParamId, extent: &Extent) -> String {
        match extent {
            Extent::Number(number) => format!(", {number}"),
            Extent::Param(length) => {
                let first = self.function.params.iter().position(|other| other.is_python_list_of(*length));
                match first.map(ParamId) {
                    Some(first) if first != id => format!(", len({})", self.local(first)),
                    _ => String::new(),
                }
            }
            Extent::Call(_) => String::new(),
        }
    }

    fn params(self) -> impl Iterator<Item = ParamId> {
        (0..self.function.params.len()).map(ParamId)
    }

    /// `_malloc = bind("aclrtMalloc", POINTER(c_uint64), c_size_t, c_int32)`
    pub(super) fn binding(self) -> Vec<String> {
        if self.python.by_hand {
            return Vec::new();
        }
        let restype = match &self.function.result {
            ResultKind::Status => None,
            ResultKind::None => Some("None".to_owned()),
            ResultKind::Value(result) => match form(self.context.spec, result) {
                Some(Form::Text) => Some("c_char_p".to_owned()),
                Some(Form::One(item)) => Some(self.context.ctype(item)),
                _ => None,
            },
        };
        let symbol = format!("\"{}\"", self.function.c_name);
        let argtypes = self.params().map(|id| self.passed(id).ctype);
        let restype = restype.map(|restype| format!("restype={restype}"));
        let items: Vec<String> = std::iter::once(symbol).chain(argtypes).chain(restype).collect();
        bracketed(0, &format!("{} = bind(", names::bound(&self.python.name.value)), &items, ")")
    }

    pub(super) fn head(self) -> Vec<String> {
        vec![format!("def {}(*args: Any) -> {}:", self.name(), self.hint())]
    }

    pub(super) fn body(self) -> Vec<String> {
        let name = self.name();
        if self.python.by_hand {
            return vec![format!("    return _hand.{name}(*args)")];
        }
        let mut lines = Vec::new();
        let args: Vec<String> = self.python.args.iter().map(|id| self.local(*id)).collect();
        let optional = optional_args(self.function, self.python);
        let again = match optional {
            0 => format!("again({name}, {}, args)", args.len()),
            _ => format!("again({name}, {}, args, {optional})", args.len()),
        };
        match (args.as_slice(), optional) {
            ([], _) => {
                lines.extend(["    if args:".to_owned(), format!("        return {again}")]);
            }
            (_, 0) => {
                lines.push("    try:".to_owned());
                lines.extend(assigned(8, &args, "args"));
            }
            // What is left out is null.
            _ => {
                let nulls = vec!["None"; optional].join(", ");
                let comma = if optional == 1 { "," } else { "" };
                let needed = args.len() - optional;
                lines.push("    try:".to_owned());
                let given =
                    if needed == 0 { "len(args)".to_owned() } else { format!("len(args) - {needed}") };
                lines.extend(assigned(8, &args, &format!("(*args, *({nulls}{comma})[{given} :])")));
            }
        }
        let margin = if args.is_empty() { 4 } else { 8 };
        let indent = " ".repeat(margin);
        let passed: Vec<Passed> = self.params().map(|id| self.passed(id)).collect();
        lines.extend(passed.iter().flat_map(|passed| &passed.prepare).map(|line| format!("{indent}{line}")));
        let values: Vec<String> = passed.iter().map(|passed| passed.value.clone()).collect();
        let call = format!("{}(", names::bound(&self.python.name.value));
        let results: Vec<String> = self.python.returns.iter().map(|id| self.read(*id)).collect();
        let (head, tail, end) = match &self.function.result {
            ResultKind::Status if results.is_empty() => (format!("return {call}"), ")", None),
            ResultKind::Status => {
                let last = results.iter().map(String::as_str).chain(["ret"]).collect::<Vec<_>>().join(", ");
                (format!("ret = {call}"), ")", Some(format!("    return {last}")))
            }
            ResultKind::Value(result) if result.ty == Ty::String => {
                let decoded = if result.nullable { "decoded_or_none" } else { "decoded" };
                (format!("return {decoded}({call}"), "))", None)
            }
            ResultKind::Value(_) => (format!("return {call}"), ")", None),
            ResultKind::None => (call, ")", None),
        };
        lines.extend(bracketed(margin, &head, &values, tail));
        if !args.is_empty() {
            lines.extend(["    except REFUSED:".to_owned(), format!("        return {again}")]);
        }
        lines.extend(end);
        lines
    }

    /// Whether an argument is returned as it came.
    fn is_echo(self, id: ParamId) -> bool {
        self.function.param(id).dir == Direction::In
    }

    /// What is returned of a parameter.
    fn read(self, id: ParamId) -> String {
        let name = self.local(id);
        match self.form(id) {
            Some(Form::One(Item::Dict(_))) => format!("unpacked({name})"),
            Some(Form::One(_)) if self.is_echo(id) || !self.is_place(self.function.param(id)) => name,
            Some(Form::One(_)) => format!("{name}.value"),
            Some(Form::Buffer(_)) => format!("decoded({name}.value)"),
            Some(Form::List(Item::Dict(_), _)) => format!("[unpacked(each) for each in {name}]"),
            Some(Form::List(..)) => format!("list({name})"),
            _ => name,
        }
    }

    /// `malloc(size, policy) -> (dev_ptr, ret)`
    pub(super) fn signature(self) -> String {
        format!("{}({}) -> {}", self.python.name.value, self.arguments(), self.results())
    }

    fn arguments(self) -> String {
        let args: Vec<&str> =
            self.python.args.iter().map(|id| self.function.param(*id).name.value.as_str()).collect();
        let (needed, optional) = args.split_at(args.len() - optional_args(self.function, self.python));
        let comma = if needed.is_empty() || optional.is_empty() { "" } else { ", " };
        match optional {
            [] => needed.join(", "),
            _ => format!("{}[{comma}{}]", needed.join(", "), optional.join(", ")),
        }
    }

    fn results(self) -> String {
        let results = self.python.returns.iter().map(|id| self.function.param(*id).name.value.as_str());
        match &self.function.result {
            ResultKind::None => "None".to_owned(),
            ResultKind::Value(_) => self.hint(),
            ResultKind::Status => {
                let results: Vec<&str> = results.chain(["ret"]).collect();
                if results.len() == 1 { results.concat() } else { format!("({})", results.join(", ")) }
            }
        }
    }

    /// What a type checker knows of the result.
    fn hint(self) -> String {
        let results = self.python.returns.iter().map(|id| match self.form(*id) {
            Some(Form::One(item)) => one(item).to_owned(),
            Some(Form::List(item, _)) => format!("list[{}]", one(item)),
            Some(Form::Text | Form::Buffer(_)) => "str".to_owned(),
            None => "Any".to_owned(),
        });
        match &self.function.result {
            ResultKind::None => "None".to_owned(),
            ResultKind::Status => match results.collect::<Vec<_>>().as_slice() {
                [] => "int".to_owned(),
                results => format!("tuple[{}, int]", results.join(", ")),
            },
            ResultKind::Value(result) => match form(self.context.spec, result) {
                Some(Form::One(item)) => one(item).to_owned(),
                Some(Form::Text) if result.nullable => "str | None".to_owned(),
                Some(Form::Text) => "str".to_owned(),
                _ => "Any".to_owned(),
            },
        }
    }

    /// The function as a stub has it.
    pub(super) fn stub(self) -> Vec<String> {
        let optional = self.python.args.len() - optional_args(self.function, self.python);
        let args = self.python.args.iter().enumerate().map(|(index, id)| {
            let param = self.function.param(*id);
            let or_none = if param.nullable { " | None" } else { "" };
            let hint = match self.form(*id) {
                // Whatever the callback is to get.
                _ if param.context_of.is_some() => "Any".to_owned(),
                None if self.is_callback(param) => format!("Callable[..., object]{or_none}"),
                Some(Form::One(Item::Dict(_))) => format!("Mapping[str, Any]{or_none}"),
                Some(Form::One(item)) => one(item).to_owned(),
                Some(Form::List(item, _)) => format!("Sequence[{}]", one(item)),
                Some(Form::Text | Form::Buffer(_)) => format!("str{or_none}"),
                None => "Any".to_owned(),
            };
            let default = if index < optional { "" } else { " = ..." };
            format!("{}: {hint}{default}", self.local(*id))
        });
        let mut args: Vec<String> = args.collect();
        if !args.is_empty() {
            args.push("/".to_owned());
        }
        bracketed(0, &format!("def {}(", self.name()), &args, &format!(") -> {}: ...", self.hint()))
    }

    pub(super) fn docstring(self) -> Vec<String> {
        let function = self.function;
        let mut doc = Docstring::new(&self.context.prose(&function.summary)).signed(self.signature());
        doc.paragraphs(&self.prose(&function.doc));
        let args = self.python.args.iter().map(|id| self.entry(*id)).collect();
        doc.entries("Args", args);
        let mut returns: Vec<(String, String)> =
            self.python.returns.iter().filter(|id| !self.is_echo(**id)).map(|id| self.entry(*id)).collect();
        match &function.result {
            ResultKind::Status => {
                returns.push(("ret".to_owned(), self.statuses()));
                doc.entries("Returns", returns);
            }
            ResultKind::Value(result) => doc.section("Returns", &self.prose(&collapse(&result.doc))),
            ResultKind::None => {}
        }
        if let Some(Fallback { kind: FallbackKind::Refuse { status, .. }, .. }) = &function.fallback {
            let words = Words::new(self.context.spec, self.context.interface);
            let number = words.status(*status).value;
            doc.paragraph(&match function.result {
                ResultKind::Status => format!("This function is always refused, with {number}."),
                _ => "This function is always refused.".to_owned(),
            });
        }
        doc.lines(4)
    }

    /// A parameter with what it is, and with the values that it may have.
    fn entry(self, id: ParamId) -> (String, String) {
        let param = self.function.param(id);
        let null = if matches!(self.form(id), Some(Form::Text)) { "None" } else { "0" };
        let mut text = nullless(&sentence(&self.prose(&collapse(&param.doc))), null);
        if let Ty::Named(ty) = param.ty
            && let TypeKind::Enum { values, .. } = &self.context.spec.ty(ty).kind
            && values.len() <= LISTED
        {
            let named = values.iter().filter(|value| !value.alias);
            let values: Vec<String> =
                named.map(|value| format!("{} ``{}``", value.value, value.c_name)).collect();
            text = format!("{text} {}.", enumerate(&values).replace(" and ", " or "));
        }
        (param.name.value.clone(), text)
    }

    /// What the status says.
    fn statuses(self) -> String {
        let words = Words::new(self.context.spec, self.context.interface);
        let failures = self.function.returns.iter().filter(|(status, _)| words.status(*status).value != 0);
        let failures: Vec<String> = failures
            .map(|(status, when)| {
                let status = words.status(*status);
                format!("{} ``{}``: {}", status.value, status.c_name, self.prose(&collapse(when)))
            })
            .collect();
        match failures.as_slice() {
            [] => "0 on success.".to_owned(),
            failures => format!("0 on success. {}.", failures.join(". ")),
        }
    }

    /// Prose with Python's names, and with numbers in the place of statuses, which have no names there.
    fn prose(self, text: &str) -> String {
        let words = Words::new(self.context.spec, self.context.interface);
        let statuses = self.context.spec.status_values(words.interface);
        let numbered = crate::emit::text::map_code_spans(text, |span| {
            let status = statuses.iter().find(|status| status.name.value == span && status.value != 0)?;
            let is_param = self.function.params.iter().any(|param| param.name.value == span);
            (!is_param).then(|| format!("{} (`{}`)", status.value, status.c_name))
        });
        self.context.prose(&numbered)
    }
}

/// What a type checker knows of a single value.
fn one(item: Item) -> &'static str {
    match item {
        Item::Number(_) | Item::Address => "int",
        Item::Float(_) => "float",
        Item::Dict(_) => "dict[str, Any]",
    }
}
