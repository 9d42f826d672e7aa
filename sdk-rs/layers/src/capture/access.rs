//! The memory that recorded calls read and write.

use tenon::device::Function;
use tenon::reflect::{Direction, Extent, Kind, Length, ParamInfo, Role};

use super::call::{Argument, Call, ContentId, Position};
use crate::validate::element_size;

/// Some bytes of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) position: Position,
    /// The number of bytes; `None`: unknown, up to the end of the block.
    pub(super) length: Option<u64>,
}

/// The origin of bytes that a call writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Another block.
    Memory(Position),
    /// Recorded bytes, from the first one; they repeat if they are shorter than the destination.
    Content(ContentId),
    /// A byte.
    Byte(u8),
    /// Only the device knows.
    Device,
}

/// Returns what a call reads.
pub(super) fn reads(call: &Call) -> Vec<Range> {
    let params = call.function.info().params.iter().zip(&call.arguments).enumerate();
    let is_read = |param: &ParamInfo| param.direction != Direction::Out && param.role != Role::Destroys;
    let read = params.filter(|(_, (param, _))| is_read(param));
    let range = |(index, (_, argument)): (usize, (_, &Argument))| match argument {
        Argument::Memory(position) => Some(Range { position: *position, length: length(call, index) }),
        Argument::Source { content: None, length, position: Some(position) } => {
            Some(Range { position: *position, length: Some(*length) })
        }
        _ => None,
    };
    read.filter_map(range).collect()
}

/// Returns what a call writes, each with the origin of the bytes. The program wrote recorded bytes to memory of the
/// plugin before the call.
pub(super) fn writes(call: &Call) -> Vec<(Range, Origin)> {
    let params = call.function.info().params.iter().zip(&call.arguments).enumerate();
    let range = |(index, (param, argument)): (usize, (&ParamInfo, &Argument))| match argument {
        Argument::Memory(position) if param.direction != Direction::In => {
            Some((Range { position: *position, length: length(call, index) }, origin(call, index)))
        }
        Argument::Destination { length, position: Some(position) } => {
            Some((Range { position: *position, length: Some(*length) }, origin(call, index)))
        }
        Argument::Source { content: Some(content), length, position: Some(position) } => {
            Some((Range { position: *position, length: Some(*length) }, Origin::Content(*content)))
        }
        _ => None,
    };
    params.filter_map(range).collect()
}

/// Returns the origin of the bytes that a call writes to a parameter.
pub(super) fn origin(call: &Call, index: usize) -> Origin {
    let params = call.function.info().params;
    let from = |argument: &Argument| match argument {
        Argument::Memory(position) => Some(Origin::Memory(*position)),
        Argument::Source { content: Some(content), .. } => Some(Origin::Content(*content)),
        Argument::Source { content: None, position: Some(position), .. } => Some(Origin::Memory(*position)),
        _ => None,
    };
    let origin = match call.function {
        Function::DeviceMemorySet => call.number_of("value").map(|value| Origin::Byte(value as u8)),
        Function::AsyncMemoryFill => {
            let pattern = params.iter().position(|param| param.name == "pattern");
            pattern.and_then(|pattern| from(&call.arguments[pattern]))
        }
        // The functions of this group only move bytes. The source of a copy has the length of its destination.
        function if function.info().group == "memory" => {
            let bytes = |index: usize| match params[index].length {
                Some(Length::Bytes(extent)) => Some(extent),
                _ => None,
            };
            let is_source = |source: &usize| {
                params[*source].direction == Direction::In
                    && bytes(*source).is_some_and(|extent| bytes(index) == Some(extent))
            };
            (0..params.len()).find(is_source).and_then(|source| from(&call.arguments[source]))
        }
        _ => None,
    };
    origin.unwrap_or(Origin::Device)
}

/// Returns the length in bytes of the memory of a parameter; `None` if the call does not give it.
pub(super) fn length(call: &Call, index: usize) -> Option<u64> {
    let params = call.function.info().params;
    let Some(length) = params[index].length else {
        // Vectors have a number of elements of a type.
        let is_type = |param: &ParamInfo| matches!(param.kind, Kind::Enum { name: "DataType", .. });
        let data_type = &call.arguments[params.iter().position(is_type)?];
        let Argument::Number(data_type) = data_type else { return None };
        return call.number_of("numel")?.checked_mul(element_size(*data_type));
    };
    match length {
        Length::Bytes(Extent::Param(length)) => match call.arguments[length] {
            Argument::Number(number) => Some(number),
            _ => None,
        },
        Length::Bytes(Extent::Number(number)) => Some(number),
        Length::Bytes(Extent::Call(_)) | Length::Count(_) => None,
    }
}

/// Returns the length in bytes of the memory that a call allocates.
pub(super) fn allocated(call: &Call, index: usize) -> u64 {
    length(call, index).unwrap_or(0)
}
