//! Parameters of Python functions: decides how each is passed to C, for both packages.

use super::ctype::CType;
use super::names;
use crate::model::python_form::{self, Item, PythonForm, list_of};
use crate::model::{
    self, Carrier, Direction, Extent, Form, Function, HandleForm, Length, Output, ParamId, PythonFunction,
    Role, Spec, Ty, TypeKind,
};
use crate::sdk::{Handle, PLUGIN, SdkApi};

/// The form in which a parameter is passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pass {
    /// The caller passes a value, which is passed unchanged.
    Value,
    /// The caller passes a ctypes object or a dict, whose address is passed.
    Address,
    /// The caller passes a number. The address of a copy is passed.
    Copy,
    /// The caller passes a list. The expression is its length, if the caller cannot choose it.
    List(Option<String>),
    /// The length of the list with this name.
    Length(String),
    /// An output.
    Output,
    /// The caller passes a value, which the function replaces.
    Exchange,
    /// The function writes as many elements as an expression says.
    Room(String),
    /// The function writes all elements that it has. It is called twice; the named parameter is their number.
    Filled(String),
    /// The number of elements that the function writes.
    Filling,
    /// Null: the caller neither passes nor receives it. True if it is an address.
    Null(bool),
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct Param {
    /// Its variable in Python.
    pub name: String,
    /// The type of its value, or of the value that it points to.
    pub ctype: CType,
    /// The form in which it is passed.
    pub pass: Pass,
    /// True if null is allowed.
    pub nullable: bool,
    /// The documentation for callers that pass it.
    pub doc: String,
    /// The documentation for callers that receive it.
    pub returned: String,
}

impl Param {
    /// Returns true if callers of the bindings pass it.
    pub fn is_taken(&self) -> bool {
        matches!(self.pass, Pass::Value | Pass::Address | Pass::Copy | Pass::List(_) | Pass::Exchange)
    }

    /// Returns true if callers of the bindings receive it.
    pub fn is_given(&self) -> bool {
        matches!(self.pass, Pass::Output | Pass::Exchange | Pass::Room(_) | Pass::Filled(_))
    }

    /// Returns true if null means that there is no string or object, which is `None` in Python.
    pub fn may_be_none(&self) -> bool {
        let is_object = self.pass == Pass::Address || self.ctype.null() == "None";
        self.nullable && is_object && matches!(self.pass, Pass::Value | Pass::Address)
    }

    /// Returns its type in `argtypes`.
    pub fn argtype(&self) -> String {
        match self.pass {
            Pass::Value | Pass::Length(_) | Pass::Null(false) => self.ctype.name(),
            _ => self.ctype.pointer(),
        }
    }

    /// Returns the parameter with its type hint: `size: int`.
    pub fn hint(&self) -> String {
        let hint = match self.pass {
            Pass::List(_) => format!("_Abc.Sequence[{}]", self.ctype.hint()),
            _ => self.ctype.hint(),
        };
        let or_none = if self.may_be_none() { " | None" } else { "" };
        format!("{}: {hint}{or_none}", self.name)
    }

    /// Returns the type hint of the value that callers receive.
    pub fn given(&self) -> String {
        match (&self.pass, &self.ctype) {
            (Pass::Room(_) | Pass::Filled(_), CType::Char) => "str".to_owned(),
            (Pass::Room(_) | Pass::Filled(_) | Pass::List(_), ctype) => format!("list[{}]", ctype.given()),
            (_, ctype) => ctype.given(),
        }
    }
}

/// Returns how a function of the SDK passes a parameter.
pub fn of_face(sdk_api: SdkApi, function: &Function, id: ParamId) -> (CType, Pass) {
    let param = function.param(id);
    let ctype = CType::of(sdk_api.spec, param.ty);
    let pass = pass_of_face(sdk_api, function, id, &ctype);
    // The caller's memory is passed as an address, whatever it contains.
    let is_memory = param.dir == Direction::Out && pass == Pass::Value;
    (if is_memory { CType::Address } else { ctype }, pass)
}

fn pass_of_face(sdk_api: SdkApi, function: &Function, id: ParamId, ctype: &CType) -> Pass {
    let name = |id: ParamId| names::variable(&function.param(id).name.value);
    let is_filled = |form: &Form| {
        let is_counter = |len: &Extent| *len == Extent::Param(id);
        matches!(form, Form::Slice { len, mutable: true } if is_counter(len))
    };
    match &function.forms[id.0] {
        Form::Carried(Carrier::Slice(list)) if matches!(function.forms[list.0], Form::Slice { .. }) => {
            Pass::Length(name(*list))
        }
        Form::Slice { len: Extent::Param(counter), mutable: false } => Pass::List(Some(name(*counter))),
        Form::Slice { len: Extent::Param(counter), mutable: true }
            if function.param(*counter).dir == Direction::InOut =>
        {
            Pass::Filled(name(*counter))
        }
        Form::Output(Output::Array(count) | Output::Text(count)) => Pass::Room(count.to_string()),
        Form::Output(Output::Vec(counted)) => {
            let first = match sdk_api.called_with(function) {
                Handle::Plugin => PLUGIN.to_owned(),
                Handle::Device(id) => name(id),
            };
            let counted = names::variable(&sdk_api.interface.function(*counted).name.value);
            // A parameter may have the name of the function.
            let is_hidden = function.params.iter().any(|param| names::variable(&param.name.value) == counted);
            let called = if is_hidden { format!("_B.globals()[\"{counted}\"]") } else { counted };
            Pass::Room(format!("{called}({first})"))
        }
        Form::Output(_) => Pass::Output,
        Form::StructRef { mutable: true } | Form::ByteBuffer { mutable: true } => Pass::Address,
        Form::InOut if function.forms.iter().any(is_filled) => Pass::Filling,
        Form::InOut => match ctype {
            // A handle that is passed by address is only read, or is invalid afterwards.
            CType::Address => Pass::Copy,
            _ => Pass::Exchange,
        },
        _ => Pass::Value,
    }
}

/// Returns how a function of an export's package passes a parameter. `local` returns the variable of a parameter.
pub fn of_export(
    spec: &Spec,
    function: &Function,
    python: &PythonFunction,
    id: ParamId,
    local: &dyn Fn(ParamId) -> String,
) -> (CType, Pass) {
    let param = function.param(id);
    let list_of = |length| list_of(&function.params, length);
    let plain = |item| CType::plain(spec, item);
    if let Some(list) = list_of(id) {
        return (plain(Item::Number(param.ty)), Pass::Length(local(list)));
    }
    let count = |extent: &Extent| match extent {
        Extent::Param(id) => local(*id),
        Extent::Number(number) => number.to_string(),
        Extent::Call(_) => "0".to_owned(),
    };
    let is_taken = python.args.contains(&id);
    let is_used = is_taken || python.returns.contains(&id);
    match python_form::form(spec, param) {
        _ if param.context_of.is_some() => (CType::Object("_T.Any"), Pass::Value),
        Some(PythonForm::Text) => (CType::Text, if is_taken { Pass::Value } else { Pass::Null(false) }),
        Some(PythonForm::Buffer(extent)) => (CType::Char, Pass::Room(count(extent))),
        Some(PythonForm::List(item, extent)) if param.dir == Direction::In => {
            // Lists that share a length parameter must have the same length: the first one determines how much of the
            // second is read.
            let length = match extent {
                Extent::Param(length) => list_of(*length)
                    .filter(|first| *first != id)
                    .map(|first| format!("_B.len({})", local(first))),
                extent => Some(count(extent)),
            };
            (plain(item), Pass::List(length))
        }
        Some(PythonForm::List(item, extent)) => (plain(item), Pass::Room(count(extent))),
        Some(PythonForm::One(item)) => {
            let is_place = is_place(spec, param);
            let by_address = is_place || param.by_pointer;
            let pass = match item {
                _ if !is_used => Pass::Null(by_address),
                Item::Dict(_) if is_taken && by_address => Pass::Address,
                Item::Dict(_) if is_taken => Pass::Value,
                _ if is_place && is_taken => Pass::Exchange,
                _ if is_place => Pass::Output,
                _ => Pass::Value,
            };
            (plain(item), pass)
        }
        // A rule rejects this, unless the body is hand-written.
        None => {
            let is_callback = matches!(spec.kind(param.ty), Some(TypeKind::Callback { .. }));
            (CType::Object(if is_callback { "_Abc.Callable[..., object]" } else { "_T.Any" }), Pass::Value)
        }
    }
}

/// Returns true if C receives the location of a value instead of the value.
fn is_place(spec: &Spec, param: &model::Param) -> bool {
    let is_address = match param.ty {
        Ty::Pointer => true,
        Ty::Named(id) => {
            matches!(spec.ty(id).kind, TypeKind::Handle { form: HandleForm::Pointee(_), .. })
        }
        _ => false,
    };
    let is_array = matches!(param.length, Some(Length::Count(_)));
    is_array || (param.dir != Direction::In && (!is_address || param.role == Role::Creates))
}
