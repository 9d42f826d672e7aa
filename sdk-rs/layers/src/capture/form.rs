//! The form that an argument of a parameter has in a capture.
//!
//! The description of the function determines it. The recorder writes this form, and the reader refuses every other one,
//! so no number of a file can stand for an address, a handle or a function.

use tenon::reflect::{Direction, Extent, Kind, Length, ParamInfo, Role, Space};

use super::call::Argument;

/// The form of an argument.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    /// A location for a result.
    Output,
    /// A callback, or its context.
    Callback,
    /// A string.
    Text,
    /// A number, an enum, or the number of a device.
    Number,
    /// A handle of this type.
    Handle(&'static str),
    /// Host memory that the call reads, with its length.
    Source(Extent),
    /// Host memory that the call writes, with its length.
    Destination(Extent),
    /// An address in memory of the plugin.
    Memory,
    /// An array or a struct, which a capture does not contain.
    Opaque,
}

impl Form {
    /// Returns the form of a parameter.
    pub(super) fn of(param: &ParamInfo) -> Self {
        if param.is_output() && param.direction == Direction::Out {
            return Form::Output;
        }
        if param.context_of.is_some() {
            return Form::Callback;
        }
        let is_host = param.space == Some(Space::Host) && param.role == Role::Uses;
        match (param.kind, param.length) {
            (Kind::Callback(_), _) => Form::Callback,
            (Kind::Pointer, Some(Length::Bytes(extent @ (Extent::Param(_) | Extent::Number(_)))))
                if is_host =>
            {
                match param.direction {
                    Direction::In => Form::Source(extent),
                    Direction::Out => Form::Destination(extent),
                    Direction::InOut => Form::Memory,
                }
            }
            // Other inputs with a length are arrays.
            (Kind::Pointer, None | Some(Length::Bytes(_))) => Form::Memory,
            (Kind::Struct(_), _) | (_, Some(_)) => Form::Opaque,
            (Kind::Text, None) => Form::Text,
            (Kind::Handle { name, .. }, None) => Form::Handle(name),
            (Kind::Bool | Kind::Int { .. } | Kind::Float { .. } | Kind::Id(_) | Kind::Enum { .. }, None) => {
                Form::Number
            }
        }
    }

    /// Returns true if an argument has this form.
    pub(super) fn accepts(self, argument: &Argument) -> bool {
        match argument {
            Argument::Number(_) => matches!(self, Form::Number),
            Argument::Null => !matches!(self, Form::Output | Form::Callback | Form::Number),
            Argument::Handle(_) => matches!(self, Form::Handle(_)),
            Argument::Memory(_) => matches!(self, Form::Memory | Form::Opaque),
            Argument::Source { .. } => matches!(self, Form::Source(_)),
            Argument::Destination { .. } => matches!(self, Form::Destination(_)),
            Argument::Text(_) => matches!(self, Form::Text),
            Argument::Output => matches!(self, Form::Output),
            Argument::Callback => matches!(self, Form::Callback),
            Argument::Unknown => matches!(self, Form::Handle(_) | Form::Memory | Form::Opaque),
        }
    }

    /// Returns the form in words.
    pub(super) fn name(self) -> &'static str {
        match self {
            Form::Output => "a location for a result",
            Form::Callback => "a callback",
            Form::Text => "a string",
            Form::Number => "a number",
            Form::Handle(_) => "a handle",
            Form::Source(_) => "host memory that the call reads",
            Form::Destination(_) => "host memory that the call writes",
            Form::Memory => "an address in memory of the plugin",
            Form::Opaque => "an array or a struct",
        }
    }
}

impl Argument {
    /// Returns what the argument is, in words.
    pub(super) fn form_name(&self) -> &'static str {
        match self {
            Argument::Number(_) => Form::Number.name(),
            Argument::Null => "null",
            Argument::Handle(_) => Form::Handle("").name(),
            Argument::Memory(_) => Form::Memory.name(),
            Argument::Source { .. } => "host memory that the call reads",
            Argument::Destination { .. } => "host memory that the call writes",
            Argument::Text(_) => Form::Text.name(),
            Argument::Output => Form::Output.name(),
            Argument::Callback => Form::Callback.name(),
            Argument::Unknown => "an unknown value",
        }
    }
}
