//! The Python form of each parameter of an export.
//!
//! Rules and emitters use the same functions, so that an emitter can write each parameter that the rules accept.

use super::*;

/// The kind of a parameter in Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PythonForm<'a> {
    /// A single value.
    One(Item),
    /// A `str`.
    Text,
    /// A `str` that the function writes into as many bytes.
    Buffer(&'a Extent),
    /// A `list` of as many values.
    List(Item, &'a Extent),
}

/// A single value in Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// An `int`: a number, or a value of an enum.
    Number(Ty),
    /// An `int` that stands for an address or a handle.
    Address,
    /// A `float`.
    Float(Ty),
    /// A `dict` of the fields of a struct.
    Dict(TypeId),
}

/// Returns the form of a parameter, of a field or of a result; `None`: Python has none for it.
pub fn form<'a>(spec: &Spec, param: &'a Param) -> Option<PythonForm<'a>> {
    let is_written = param.dir != Direction::In;
    match (&param.length, param.ty) {
        (Some(Length::Bytes(extent) | Length::Count(extent)), Ty::Char | Ty::String)
            if param.dir == Direction::Out =>
        {
            Some(PythonForm::Buffer(extent))
        }
        (Some(Length::Count(Extent::Call(_))), _) => None,
        // An array of one is the one.
        (Some(Length::Count(Extent::Number(1))), ty) => Some(PythonForm::One(item(spec, ty)?)),
        (Some(Length::Count(extent)), ty) => {
            // The length of an output list is a parameter of the caller.
            (param.dir != Direction::InOut).then_some(PythonForm::List(item(spec, ty)?, extent))
        }
        (_, Ty::String) => (!is_written).then_some(PythonForm::Text),
        (_, ty) => Some(PythonForm::One(item(spec, ty)?)),
    }
}

fn item(spec: &Spec, ty: Ty) -> Option<Item> {
    match ty {
        Ty::Bool | Ty::Int { .. } | Ty::Size | Ty::ULongLong | Ty::Char => Some(Item::Number(ty)),
        Ty::F32 | Ty::F64 => Some(Item::Float(ty)),
        Ty::Pointer => Some(Item::Address),
        Ty::String => None,
        Ty::Named(id) => match &spec.ty(id).kind {
            TypeKind::Handle { .. } => Some(Item::Address),
            TypeKind::Enum { .. } => Some(Item::Number(ty)),
            // Only a person knows which member of a union is valid.
            TypeKind::Struct { is_union: true, .. } => None,
            TypeKind::Struct { fields, .. } => {
                fields.iter().all(|field| form(spec, field).is_some()).then_some(Item::Dict(id))
            }
            TypeKind::Id { .. } | TypeKind::Callback { .. } => None,
        },
    }
}

/// Returns the number of trailing arguments that may be left out: strings that may be null.
pub fn optional_args(function: &Function, python: &PythonFunction) -> usize {
    let may_be_left_out = |id: &&ParamId| {
        let param = function.param(**id);
        param.ty == Ty::String && param.nullable && param.dir == Direction::In
    };
    python.args.iter().rev().take_while(may_be_left_out).count()
}

/// Returns true if a Python function returns a parameter: an address of memory stays an argument, text and
/// lists come back.
pub fn is_output(param: &Param) -> bool {
    let is_address = param.ty == Ty::Pointer
        && param.role != Role::Creates
        && !matches!(param.length, Some(Length::Count(_)));
    param.dir == Direction::Out && !is_address
}

/// Returns the first list argument in Python whose length a parameter is: the body computes the length itself.
pub fn list_of(params: &[Param], length: ParamId) -> Option<ParamId> {
    let counts = |param: &Param| {
        param.dir == Direction::In && param.length == Some(Length::Count(Extent::Param(length)))
    };
    params.iter().position(counts).map(ParamId)
}
