//! Calls as a capture records them.

use tenon::device::Function;

use super::format::{Decoder, Encoder, Hash};

/// The number of an object in a capture: a handle or a block of memory. An address that is used again belongs to a new
/// object.
pub type ObjectId = u64;

/// The number of some recorded bytes.
pub type ContentId = u32;

/// A position in a block of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The block.
    pub block: ObjectId,
    /// Bytes from its start.
    pub offset: u64,
}

/// An argument of a recorded call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A number, an enum, or the number of a device. Floating-point numbers are the bits of an `f64`.
    Number(u64),
    /// A null address or handle.
    Null,
    /// A handle that the plugin has created.
    Handle(ObjectId),
    /// An address in memory that the plugin has allocated.
    Memory(Position),
    /// Host memory that the call reads.
    Source {
        /// Its bytes; `None` if work that was not complete may have changed them.
        content: Option<ContentId>,
        /// Its length in bytes.
        length: u64,
        /// Its position, if the plugin has allocated it.
        position: Option<Position>,
    },
    /// Host memory that the call writes.
    Destination {
        /// Its length in bytes.
        length: u64,
        /// Its position, if the plugin has allocated it.
        position: Option<Position>,
    },
    /// A string, without its terminating zero.
    Text(Vec<u8>),
    /// A location for a result.
    Output,
    /// A callback, or its context.
    Callback,
    /// An address or a handle from outside of the capture, or a struct.
    Unknown,
}

/// A result of a recorded call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// A number.
    Number(u64),
    /// A new object.
    Created(ObjectId),
}

/// The outcome of a recorded call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The status; 0 is success.
    pub status: i32,
    /// The boolean result of a query.
    pub answer: Option<bool>,
    /// The results, each with the index of its parameter.
    pub outputs: Vec<(u8, Output)>,
    /// The hashes of the host memory that the call has written, each with the index of its parameter.
    pub hashes: Vec<(u8, Hash)>,
}

/// A recorded call.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its number: calls are numbered from 0. A part of a capture keeps the numbers.
    pub number: u64,
    /// The number of the plugin.
    pub plugin: u32,
    /// The number of the thread in the system.
    pub thread: u32,
    /// The function.
    pub function: Function,
    /// The arguments, one for each parameter of the spec.
    pub arguments: Vec<Argument>,
    /// The outcome; `None` if the program ended before the call returned.
    pub outcome: Option<Outcome>,
}

impl Call {
    /// Returns the objects that the call creates, each with the index of its parameter.
    pub fn created(&self) -> impl Iterator<Item = (usize, ObjectId)> + '_ {
        let outputs = self.outcome.iter().flat_map(|outcome| &outcome.outputs);
        outputs.filter_map(|(index, output)| match output {
            Output::Created(id) => Some((usize::from(*index), *id)),
            Output::Number(_) => None,
        })
    }

    /// Returns the objects that the call uses.
    pub fn used(&self) -> impl Iterator<Item = ObjectId> + '_ {
        self.arguments.iter().filter_map(|argument| match argument {
            Argument::Handle(id) => Some(*id),
            Argument::Memory(position) => Some(position.block),
            Argument::Source { position, .. } | Argument::Destination { position, .. } => {
                position.map(|position| position.block)
            }
            _ => None,
        })
    }

    /// Returns the argument of a parameter as a number.
    pub fn number_of(&self, param: &str) -> Option<u64> {
        let index = self.function.info().params.iter().position(|info| info.name == param)?;
        match self.arguments.get(index)? {
            Argument::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns true if the program ended during the call.
    pub fn is_unfinished(&self) -> bool {
        self.outcome.is_none()
    }

    pub(super) fn encode(&self, function: u32) -> Vec<u8> {
        let mut encoder = Encoder::default();
        encoder.long(self.number);
        encoder.int(self.plugin);
        encoder.int(self.thread);
        encoder.int(function);
        // No function has more than 255 parameters.
        encoder.byte(self.arguments.len() as u8);
        self.arguments.iter().for_each(|argument| argument.encode(&mut encoder));
        encoder.0
    }

    /// Decodes a call. The function is looked up by its number in the file; `None`: this release does not have it.
    pub(super) fn decode(decoder: &mut Decoder, functions: &[Option<Function>]) -> Option<Result<Self, u32>> {
        let (number, plugin, thread) = (decoder.long()?, decoder.int()?, decoder.int()?);
        let function = decoder.int()?;
        let arguments =
            (0..decoder.byte()?).map(|_| Argument::decode(decoder)).collect::<Option<Vec<_>>>()?;
        let Some(function) = (*functions.get(function as usize)?)
            .filter(|function| function.info().params.len() == arguments.len())
        else {
            return Some(Err(function));
        };
        Some(Ok(Call { number, plugin, thread, function, arguments, outcome: None }))
    }
}

fn encode_position(encoder: &mut Encoder, position: Option<Position>) {
    // Objects are numbered from 1.
    encoder.long(position.map_or(0, |position| position.block));
    encoder.long(position.map_or(0, |position| position.offset));
}

fn decode_position(decoder: &mut Decoder) -> Option<Option<Position>> {
    let (block, offset) = (decoder.long()?, decoder.long()?);
    Some((block != 0).then_some(Position { block, offset }))
}

impl Argument {
    fn encode(&self, encoder: &mut Encoder) {
        match self {
            Argument::Number(number) => {
                encoder.byte(0);
                encoder.long(*number);
            }
            Argument::Null => encoder.byte(1),
            Argument::Handle(id) => {
                encoder.byte(2);
                encoder.long(*id);
            }
            Argument::Memory(position) => {
                encoder.byte(3);
                encode_position(encoder, Some(*position));
            }
            Argument::Source { content, length, position } => {
                encoder.byte(4);
                encoder.byte(u8::from(content.is_some()));
                encoder.int(content.unwrap_or(0));
                encoder.long(*length);
                encode_position(encoder, *position);
            }
            Argument::Destination { length, position } => {
                encoder.byte(5);
                encoder.long(*length);
                encode_position(encoder, *position);
            }
            Argument::Text(text) => {
                encoder.byte(6);
                encoder.bytes(text);
            }
            Argument::Output => encoder.byte(7),
            Argument::Callback => encoder.byte(8),
            Argument::Unknown => encoder.byte(9),
        }
    }

    fn decode(decoder: &mut Decoder) -> Option<Self> {
        Some(match decoder.byte()? {
            0 => Argument::Number(decoder.long()?),
            1 => Argument::Null,
            2 => Argument::Handle(decoder.long()?),
            3 => Argument::Memory(decode_position(decoder)??),
            4 => {
                let (known, content) = (decoder.byte()? != 0, decoder.int()?);
                let (length, position) = (decoder.long()?, decode_position(decoder)?);
                Argument::Source { content: known.then_some(content), length, position }
            }
            5 => Argument::Destination { length: decoder.long()?, position: decode_position(decoder)? },
            6 => Argument::Text(decoder.bytes()?.to_vec()),
            7 => Argument::Output,
            8 => Argument::Callback,
            9 => Argument::Unknown,
            _ => return None,
        })
    }
}

impl Outcome {
    pub(super) fn encode(&self, number: u64) -> Vec<u8> {
        let mut encoder = Encoder::default();
        encoder.long(number);
        encoder.int(self.status.cast_unsigned());
        encoder.byte(self.answer.map_or(0, |answer| if answer { 1 } else { 2 }));
        encoder.byte(self.outputs.len() as u8);
        for (index, output) in &self.outputs {
            encoder.byte(*index);
            let (kind, value) = match output {
                Output::Number(number) => (0, *number),
                Output::Created(id) => (1, *id),
            };
            encoder.byte(kind);
            encoder.long(value);
        }
        encoder.byte(self.hashes.len() as u8);
        for (index, hash) in &self.hashes {
            encoder.byte(*index);
            encoder.hash(*hash);
        }
        encoder.0
    }

    /// Decodes an outcome, and the number of its call.
    pub(super) fn decode(decoder: &mut Decoder) -> Option<(u64, Self)> {
        let (number, status) = (decoder.long()?, decoder.int()?.cast_signed());
        let answer = match decoder.byte()? {
            0 => None,
            answer => Some(answer == 1),
        };
        let output = |decoder: &mut Decoder| {
            let (index, kind, value) = (decoder.byte()?, decoder.byte()?, decoder.long()?);
            Some((index, if kind == 1 { Output::Created(value) } else { Output::Number(value) }))
        };
        let outputs = (0..decoder.byte()?).map(|_| output(decoder)).collect::<Option<_>>()?;
        let hashes = (0..decoder.byte()?).map(|_| Some((decoder.byte()?, decoder.hash()?)));
        let hashes = hashes.collect::<Option<_>>()?;
        Some((number, Outcome { status, answer, outputs, hashes }))
    }
}

/// Bytes that a copy in stream order wrote to the host, once they were complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The number of the call that queued the copy.
    pub call: u64,
    /// The index of the parameter.
    pub param: u8,
    /// True if a query reported the completion, and not a wait.
    pub by_query: bool,
    /// The hash of the bytes.
    pub hash: Hash,
}

impl Arrival {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut encoder = Encoder::default();
        encoder.long(self.call);
        encoder.byte(self.param);
        encoder.byte(u8::from(self.by_query));
        encoder.hash(self.hash);
        encoder.0
    }

    pub(super) fn decode(decoder: &mut Decoder) -> Option<Self> {
        let (call, param, by_query) = (decoder.long()?, decoder.byte()?, decoder.byte()? != 0);
        Some(Arrival { call, param, by_query, hash: decoder.hash()? })
    }
}
