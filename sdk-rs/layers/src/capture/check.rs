//! Holds each record of a file to the description of its function, before anything uses it.
//!
//! The reader makes these checks, so they hold for every tool: a call has arguments of the [form](Form) of its
//! parameters, numbers fit their types, contents have the length that the call gives, results belong to their
//! parameters, and a number of an object always stands for the same kind of object.

use std::collections::HashMap;

use tenon::device::Function;
use tenon::reflect::{Extent, Kind, ParamInfo, Role, Space};

use super::access;
use super::call::{Argument, Arrival, Call, ObjectId, Outcome, Output, Position};
use super::form::Form;

/// An object that a recorded call creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Object {
    /// A handle of this type.
    Handle(&'static str),
    /// Memory.
    Block(Block),
}

/// Memory that a recorded call allocates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// `None`: an address that only the plugin uses.
    pub(super) space: Option<Space>,
    /// In bytes.
    pub(super) length: u64,
    /// The recorded device.
    pub(super) device: Option<u64>,
}

impl Block {
    /// Returns true if the host can use the memory.
    pub(super) fn is_host(&self) -> bool {
        matches!(self.space, Some(Space::Host | Space::Unified))
    }

    /// Checks that a parameter may be an address in this block, from which the call uses `length` bytes; `None`: unknown.
    pub(super) fn check(&self, param: &ParamInfo, offset: u64, length: Option<u64>) -> Result<(), String> {
        if self.space.is_none() || param.space.is_none() {
            // The plugin gets the address back that it returned.
            let is_same = self.space == param.space && offset == 0;
            return is_same.then_some(()).ok_or_else(|| format!("the length of `{}` is unknown", param.name));
        }
        let length = length.ok_or_else(|| format!("the length of `{}` is unknown", param.name))?;
        let end = offset.checked_add(length);
        if end.is_none_or(|end| end > self.length) {
            return Err("it reaches past the end of its memory".to_owned());
        }
        let is_whole = offset == 0 && length == self.length && self.space == param.space;
        if param.role == Role::Destroys && !is_whole {
            return Err("it frees other memory than was allocated".to_owned());
        }
        if matches!(param.space, Some(Space::Host | Space::Unified)) && !self.is_host() {
            return Err(format!("`{}` is not memory of the host", param.name));
        }
        Ok(())
    }
}

/// The records that were checked.
#[derive(Debug, Default)]
pub(super) struct Checker {
    objects: HashMap<ObjectId, Object>,
    last: Option<u64>,
}

impl Checker {
    /// Returns the objects of the calls, by number.
    pub(super) fn into_objects(self) -> HashMap<ObjectId, Object> {
        self.objects
    }

    /// Checks a call.
    pub(super) fn call(&mut self, call: &Call) -> Result<(), String> {
        let number = call.number;
        if self.last.is_some_and(|last| number <= last) {
            return Err(format!("call {number} is out of order"));
        }
        self.last = Some(number);
        let params = call.function.info().params;
        for (param, argument) in params.iter().zip(&call.arguments) {
            let form = Form::of(param);
            if !form.accepts(argument) {
                return Err(format!(
                    "in call {number}, `{}` of `{}` is {} and not {}",
                    param.name,
                    call.function.name(),
                    argument.form_name(),
                    form.name()
                ));
            }
            let reason = match argument {
                Argument::Number(value) if !fits(param.kind, *value) => Some("does not fit its type"),
                Argument::Handle(id) => match (form, self.objects.get(id)) {
                    (Form::Handle(wanted), Some(found)) if *found != Object::Handle(wanted) => {
                        Some("is an object of another type")
                    }
                    _ => None,
                },
                _ => argument
                    .position()
                    .and_then(|position| self.objects.get(&position.block))
                    .is_some_and(|object| !matches!(object, Object::Block(_)))
                    .then_some("is not an address in memory"),
            };
            if let Some(reason) = reason {
                return Err(fault(call, param, reason));
            }
        }
        // Lengths are numbers that were checked above.
        for (param, argument) in params.iter().zip(&call.arguments) {
            let (Form::Source(extent) | Form::Destination(extent)) = Form::of(param) else { continue };
            let (Argument::Source { length, .. } | Argument::Destination { length, .. }) = argument else {
                continue;
            };
            if given(call, extent) != Some(*length) {
                return Err(fault(call, param, "has another length than the call gives"));
            }
        }
        Ok(())
    }

    /// Checks the outcome of a call.
    pub(super) fn outcome(&mut self, call: &Call, outcome: &Outcome) -> Result<(), String> {
        let number = call.number;
        if call.outcome.is_some() {
            return Err(format!("call {number} has two outcomes"));
        }
        if outcome.status != 0 && !(outcome.outputs.is_empty() && outcome.hashes.is_empty()) {
            return Err(format!("call {number} failed, but has results"));
        }
        let is_ordered = |indices: &[u8]| indices.is_sorted_by(|first, second| first < second);
        let outputs: Vec<u8> = outcome.outputs.iter().map(|(index, _)| *index).collect();
        let hashes: Vec<u8> = outcome.hashes.iter().map(|(index, _)| *index).collect();
        if !is_ordered(&outputs) || !is_ordered(&hashes) {
            return Err(format!("call {number} has a result twice"));
        }
        let ordered = call.function.info().stream_ordered.is_some();
        if !hashes.iter().all(|index| !ordered && is_destination(call, *index)) {
            return Err(format!("call {number} has the hash of memory that it does not write"));
        }
        outcome.outputs.iter().try_for_each(|(index, output)| self.output(call, usize::from(*index), *output))
    }

    fn output(&mut self, call: &Call, index: usize, output: Output) -> Result<(), String> {
        let param = call.function.info().params.get(index).filter(|param| param.is_output());
        let param = param.ok_or_else(|| format!("call {} has a result without a parameter", call.number))?;
        let is_address = matches!(param.kind, Kind::Handle { .. } | Kind::Pointer);
        let object = match (output, param.kind) {
            (Output::Number(value), _) if !is_address || value == 0 => return Ok(()),
            (Output::Created(_), Kind::Handle { name, .. }) => Object::Handle(name),
            (Output::Created(_), Kind::Pointer) if param.role == Role::Creates => Object::Block(Block {
                space: param.space,
                length: access::allocated(call, index),
                device: param.of.and_then(|owner| call.arguments.get(owner)).and_then(
                    |device| match device {
                        Argument::Number(device) => Some(*device),
                        _ => None,
                    },
                ),
            }),
            _ => return Err(fault(call, param, "has a result of another kind")),
        };
        let Output::Created(id) = output else { return Ok(()) };
        match self.objects.get(&id) {
            Some(known) if param.role == Role::Creates || *known != object => {
                Err(fault(call, param, "is a new object with the number of another one"))
            }
            // Objects are numbered from 1.
            None if id == 0 => Err(fault(call, param, "is an object with the number 0")),
            _ => {
                self.objects.insert(id, object);
                Ok(())
            }
        }
    }
}

/// Checks that a call has queued the copy that is complete.
pub(super) fn arrival(call: &Call, arrival: &Arrival) -> Result<(), String> {
    let succeeded = call.outcome.as_ref().is_some_and(|outcome| outcome.status == 0);
    let ordered = call.function.info().stream_ordered.is_some();
    if succeeded && ordered && is_destination(call, arrival.param) {
        Ok(())
    } else {
        Err(format!("call {} has queued no copy to the host that could be complete", call.number))
    }
}

fn fault(call: &Call, param: &ParamInfo, reason: &str) -> String {
    format!("in call {}, `{}` of `{}` {reason}", call.number, param.name, call.function.name())
}

fn is_destination(call: &Call, index: u8) -> bool {
    matches!(call.arguments.get(usize::from(index)), Some(Argument::Destination { .. }))
}

/// Returns the length that a call gives.
fn given(call: &Call, extent: Extent) -> Option<u64> {
    match extent {
        Extent::Param(index) => match call.arguments.get(index)? {
            Argument::Number(number) => Some(*number),
            _ => None,
        },
        Extent::Number(number) => Some(number),
        Extent::Call(_) => None,
    }
}

/// Returns true if a number, in the form in which layers see it, fits a type.
fn fits(kind: Kind, number: u64) -> bool {
    let signed = number as i64;
    match kind {
        Kind::Bool => number <= 1,
        Kind::Int { bits: 64, .. } | Kind::Float { .. } => true,
        Kind::Int { bits, signed: true } => {
            (signed << (64 - u32::from(bits))) >> (64 - u32::from(bits)) == signed
        }
        Kind::Int { bits, signed: false } => number >> bits == 0,
        Kind::Enum { values, .. } => {
            i32::try_from(signed).is_ok() || values.iter().any(|(value, _)| *value == signed)
        }
        Kind::Id(_) => i32::try_from(signed).is_ok(),
        Kind::Text | Kind::Pointer | Kind::Handle { .. } | Kind::Struct(_) | Kind::Callback(_) => false,
    }
}

impl Argument {
    /// Returns the position in memory of the plugin.
    pub(super) fn position(&self) -> Option<Position> {
        match self {
            Argument::Memory(position) => Some(*position),
            Argument::Source { position, .. } | Argument::Destination { position, .. } => *position,
            _ => None,
        }
    }
}

/// Returns the reason why a call with a number is not made: it names a device or a value that the spec does not have.
pub(super) fn unknown_value(function: Function, index: usize, number: u64) -> Option<String> {
    let param = &function.info().params[index];
    match param.kind {
        Kind::Enum { values, .. } if !values.iter().any(|(value, _)| *value == number as i64) => {
            Some(format!("`{}` has no value {}", param.name, number as i64))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fit_their_types() {
        let fitting = |kind, numbers: &[i64]| {
            numbers.iter().copied().filter(|number| fits(kind, *number as u64)).collect::<Vec<_>>()
        };
        let numbers =
            [-(1 << 31) - 1, -(1 << 31), -129, -128, -1, 0, 1, 2, 127, 128, 255, 256, (1 << 31) - 1, 1 << 32];
        assert_eq!(fitting(Kind::Bool, &numbers), [0, 1]);
        assert_eq!(fitting(Kind::int(8, false), &numbers), [0, 1, 2, 127, 128, 255]);
        assert_eq!(fitting(Kind::int(8, true), &numbers), [-128, -1, 0, 1, 2, 127]);
        assert_eq!(fitting(Kind::int(64, false), &numbers), numbers);
        assert_eq!(fitting(Kind::Id("DeviceId"), &numbers), numbers[1..13]);
        assert_eq!(fitting(Kind::named("E", &[(1 << 32, "LARGE")]), &numbers), numbers[1..]);
    }

    #[test]
    fn memory_is_used_within_its_bounds_and_freed_as_a_whole() {
        let block = Block { space: Some(Space::Device), length: 10, device: Some(0) };
        let device = ParamInfo::input("src", Kind::Pointer).space(Space::Device);
        let freed = ParamInfo::input("ptr", Kind::Pointer).space(Space::Device).destroys();
        let host = ParamInfo::input("src", Kind::Pointer).space(Space::Host);
        assert_eq!(block.check(&device, 4, Some(6)), Ok(()));
        let bad = [
            (&device, 4, Some(7)),
            (&device, 4, Some(u64::MAX)),
            (&device, 0, None),
            (&freed, 0, Some(9)),
            (&freed, 1, Some(9)),
            (&host, 0, Some(1)),
        ];
        for (param, offset, length) in bad {
            assert!(block.check(param, offset, length).is_err(), "{offset} {length:?}");
        }
        assert_eq!(block.check(&freed, 0, Some(10)), Ok(()));
    }
}
