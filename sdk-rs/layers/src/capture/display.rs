//! Calls as text.

use std::fmt;

use tenon::device::Status;
use tenon::reflect::Kind;

use super::call::{Argument, Call, Output, Position};

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "#{}", self.block)?;
        if self.offset > 0 {
            write!(formatter, "+{}", self.offset)?;
        }
        Ok(())
    }
}

/// `12 memory_copy_h2d(device=0, dst=#3+16, src=<64 bytes>, size=64): success`
impl fmt::Display for Call {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}(", self.number, self.function.name())?;
        let inputs = self.function.info().params.iter().zip(&self.arguments);
        let inputs = inputs.filter(|(_, argument)| !matches!(argument, Argument::Output));
        for (index, (param, argument)) in inputs.enumerate() {
            write!(formatter, "{}{}=", if index == 0 { "" } else { ", " }, param.name)?;
            match (argument, param.kind) {
                (Argument::Number(bits), Kind::Float { .. }) => {
                    write!(formatter, "{}", f64::from_bits(*bits))
                }
                (Argument::Number(number), Kind::Enum { values, .. }) => {
                    let number = *number as i64;
                    match values.iter().find(|(value, _)| *value == number) {
                        Some((_, name)) => formatter.write_str(name),
                        None => write!(formatter, "{number}"),
                    }
                }
                (Argument::Number(number), Kind::Int { signed: true, .. } | Kind::Id(_)) => {
                    write!(formatter, "{}", *number as i64)
                }
                (argument, _) => write!(formatter, "{argument}"),
            }?;
        }
        formatter.write_str(")")?;
        let Some(outcome) = &self.outcome else {
            return formatter.write_str(": the program ended in this call");
        };
        for (_, output) in &outcome.outputs {
            match output {
                Output::Number(number) => write!(formatter, " -> {number}")?,
                Output::Created(id) => write!(formatter, " -> #{id}")?,
            }
        }
        match (outcome.status, outcome.answer) {
            (0, Some(answer)) => write!(formatter, ": {}", if answer { "yes" } else { "no" }),
            (status, _) => match Status(status).name() {
                Some(name) => write!(formatter, ": {name}"),
                None => write!(formatter, ": status {status}"),
            },
        }
    }
}

impl fmt::Display for Argument {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Argument::Number(number) => write!(formatter, "{number}"),
            Argument::Null => formatter.write_str("null"),
            Argument::Handle(id) => write!(formatter, "#{id}"),
            Argument::Memory(position) => write!(formatter, "{position}"),
            Argument::Source { length, position, .. } | Argument::Destination { length, position } => {
                match position {
                    Some(position) => write!(formatter, "{position}"),
                    None => write!(formatter, "<{length} bytes>"),
                }
            }
            Argument::Text(text) => write!(formatter, "{:?}", String::from_utf8_lossy(text)),
            Argument::Output | Argument::Callback => formatter.write_str("…"),
            Argument::Unknown => formatter.write_str("?"),
        }
    }
}
