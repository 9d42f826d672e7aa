//! The arguments of a call in C.

use std::fmt::Write as _;

use tenon::reflect::{Kind, ParamInfo};

use super::super::access::length;
use super::super::call::{Argument, Call, ObjectId, Position};
use super::super::check::unknown_value;
use super::{MOST_HOST_BYTES, Program, is_device};

/// The arguments of a call.
#[derive(Default)]
pub(super) struct Arguments {
    /// The statements before the call.
    pub(super) before: String,
    pub(super) passed: Vec<String>,
}

impl Program<'_> {
    /// Returns the arguments of a call, or the reason why it cannot be made.
    pub(super) fn arguments(&mut self, call: &Call) -> Result<Arguments, String> {
        let mut arguments = Arguments::default();
        for index in 0..call.arguments.len() {
            let passed = self.argument(call, index, &mut arguments.before)?;
            arguments.passed.push(passed);
        }
        Ok(arguments)
    }

    fn argument(&mut self, call: &Call, index: usize, before: &mut String) -> Result<String, String> {
        let param = &call.function.info().params[index];
        let ty = call.function.in_c().params[index];
        match &call.arguments[index] {
            Argument::Number(number) if is_device(call.function, index) => {
                let device = *number as i64;
                if !self.devices.contains(&device) {
                    return Err(format!("no call on device {device} succeeded"));
                }
                Ok(format!("device_{device}"))
            }
            Argument::Number(number) => match unknown_value(call.function, index, *number) {
                Some(reason) => Err(reason),
                None => Ok(number_in_c(*number, param.kind, ty)),
            },
            Argument::Null => Ok("NULL".to_owned()),
            Argument::Handle(id) => {
                self.known(*id)?;
                Ok(format!("object_{id}"))
            }
            Argument::Memory(position) => {
                self.bounds(param, *position, length(call, index))?;
                Ok(self.at(*position))
            }
            Argument::Source { content: Some(content), length, position } => {
                let source = format!("content_{content}");
                match position.filter(|position| self.bounds(param, *position, Some(*length)).is_ok()) {
                    Some(position) => {
                        let memory = self.at(position);
                        let _ = writeln!(before, "  put({memory}, {source}, {length}u);");
                        Ok(memory)
                    }
                    None if ty.starts_with("const ") => Ok(source),
                    None => Ok(format!("(void*){source}")),
                }
            }
            Argument::Source { content: None, length, position } => match position {
                Some(position) => {
                    self.bounds(param, *position, Some(*length))?;
                    Ok(self.at(*position))
                }
                None => Err("work that was not complete may have changed its source".to_owned()),
            },
            Argument::Destination { length, position } => {
                if let Some(position) = position
                    && self.bounds(param, *position, Some(*length)).is_ok()
                {
                    return Ok(self.at(*position));
                }
                self.host_bytes = self.host_bytes.saturating_add(*length);
                if self.host_bytes > MOST_HOST_BYTES {
                    return Err(format!("the copies to the host before it need {MOST_HOST_BYTES} bytes"));
                }
                if call.function.info().stream_ordered.is_some() {
                    self.hosts.insert(call.number, *length);
                    return Ok(format!("host_{}", call.number));
                }
                self.scratch = self.scratch.max(*length);
                Ok("scratch".to_owned())
            }
            // The only strings of the interface are paths, and a file of this machine is not the program's.
            Argument::Text(_) => Err(format!("`{}` names a file", param.name)),
            Argument::Output => match call.created().find(|(at, _)| *at == index) {
                Some((_, id)) => Ok(format!("&object_{id}")),
                // Each has room for 64 numbers; no function has more than 16 parameters.
                None => Ok(format!("({ty})(void*)&outputs[{}]", 64 * (index % 16))),
            },
            Argument::Callback => match param.kind {
                Kind::Callback("StreamCallback") => Ok("no_callback".to_owned()),
                Kind::Callback(_) => Err("a capture does not contain its callback".to_owned()),
                _ => Ok("NULL".to_owned()),
            },
            Argument::Unknown => Err(format!("`{}` is from outside of the capture", param.name)),
        }
    }

    fn known(&self, id: ObjectId) -> Result<(), String> {
        if self.alive.contains(&id) { Ok(()) } else { Err(format!("object #{id} does not exist here")) }
    }

    pub(super) fn bounds(
        &self,
        param: &ParamInfo,
        position: Position,
        length: Option<u64>,
    ) -> Result<(), String> {
        self.known(position.block)?;
        match self.recording.block(position.block) {
            Some(block) => block.check(param, position.offset, length),
            None => Err(format!("object #{} is not memory", position.block)),
        }
    }

    /// Returns the address of a position.
    pub(super) fn at(&self, position: Position) -> String {
        match position.offset {
            0 => format!("object_{}", position.block),
            offset => format!("at(object_{}, {offset}u)", position.block),
        }
    }
}

/// Returns a number as a C expression of a type.
fn number_in_c(number: u64, kind: Kind, ty: &str) -> String {
    match kind {
        Kind::Bool => (number != 0).to_string(),
        Kind::Float { .. } => {
            let value = f64::from_bits(number);
            match value.is_finite() {
                true => format!("({ty}){value:?}"),
                false if value.is_nan() => format!("({ty})strtod(\"nan\", NULL)"),
                false => format!("({ty})strtod(\"{}inf\", NULL)", if value < 0.0 { "-" } else { "" }),
            }
        }
        // The number without its sign is too large for a literal.
        Kind::Int { signed: true, .. } | Kind::Enum { .. } if number as i64 == i64::MIN => {
            format!("({ty})({} - 1)", i64::MIN + 1)
        }
        Kind::Int { signed: true, .. } | Kind::Enum { .. } => format!("({ty}){}", number as i64),
        _ => format!("({ty}){number}u"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_type_of_the_parameter() {
        let int = Kind::Int { bits: 64, signed: true };
        assert_eq!(number_in_c(u64::MAX, int, "int64_t"), "(int64_t)-1");
        assert_eq!(
            number_in_c(u64::MAX, Kind::Int { bits: 64, signed: false }, "size_t"),
            "(size_t)18446744073709551615u"
        );
        assert_eq!(number_in_c(0.5f64.to_bits(), Kind::Float { bits: 32 }, "float"), "(float)0.5");
        assert_eq!(
            number_in_c(f64::NEG_INFINITY.to_bits(), Kind::Float { bits: 32 }, "float"),
            "(float)strtod(\"-inf\", NULL)"
        );
        assert_eq!(number_in_c(1, Kind::Bool, "bool"), "true");
        assert_eq!(number_in_c(1 << 63, int, "int64_t"), "(int64_t)(-9223372036854775807 - 1)");
    }
}
