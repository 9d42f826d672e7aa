//! Captures that no program has recorded: files with right checksums and any content.

use std::path::Path;

use tenon::device::{Function, Release};
use tenon_layers::capture::{Argument, Hash, Output, Position, ReadError, Recording};

/// A file in the making.
pub struct Made {
    bytes: Vec<u8>,
    calls: u64,
    contents: u32,
}

/// The kinds of records.
pub mod kind {
    pub const INTERFACE: u8 = 1;
    pub const PLUGIN: u8 = 2;
    pub const CONTENT: u8 = 3;
    pub const CALL: u8 = 4;
    pub const OUTCOME: u8 = 5;
    pub const ARRIVAL: u8 = 6;
    pub const END: u8 = 7;
}

impl Made {
    /// Begins a file of a plugin with this name.
    pub fn new(plugin: &[u8]) -> Self {
        let mut made = Made { bytes: b"tenoncap\x01\0\0\0".to_vec(), calls: 0, contents: 0 };
        let mut interface = text(Release::NEWEST.name().as_bytes());
        interface.extend((Function::ALL.len() as u32).to_le_bytes());
        Function::ALL.iter().for_each(|function| interface.extend(text(function.name().as_bytes())));
        made.record(kind::INTERFACE, &interface);
        made.record(kind::PLUGIN, &[&0u32.to_le_bytes()[..], &text(plugin)].concat());
        made
    }

    /// Adds a record with its checksum.
    pub fn record(&mut self, kind: u8, content: &[u8]) -> &mut Self {
        let length = (content.len() as u64).to_le_bytes();
        let mut sum = 0x811c_9dc5_u32;
        for byte in std::iter::once(&kind).chain(&length).chain(content) {
            sum = (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        }
        self.bytes.push(kind);
        self.bytes.extend(length);
        self.bytes.extend(sum.to_le_bytes());
        self.bytes.extend(content);
        self
    }

    /// Adds some bytes and returns their number.
    pub fn content(&mut self, bytes: &[u8]) -> u32 {
        self.stored(Hash::of(bytes), bytes.len() as u64, bytes)
    }

    /// Adds bytes as the file stores them.
    pub fn stored(&mut self, hash: Hash, length: u64, stored: &[u8]) -> u32 {
        let hash = u128::from_str_radix(&hash.to_string(), 16).unwrap().to_le_bytes();
        self.record(kind::CONTENT, &[&hash[..], &length.to_le_bytes(), stored].concat());
        self.contents += 1;
        self.contents - 1
    }

    /// Adds a call without its outcome, and returns its number.
    pub fn begin(&mut self, function: Function, arguments: &[Argument]) -> u64 {
        let number = self.calls;
        self.calls += 1;
        let mut call = number.to_le_bytes().to_vec();
        for part in [0, 1, function as u32] {
            call.extend(part.to_le_bytes());
        }
        call.push(arguments.len() as u8);
        arguments.iter().for_each(|argument| call.extend(encoded(argument)));
        self.record(kind::CALL, &call);
        number
    }

    /// Adds the outcome of a call.
    pub fn end(&mut self, call: u64, status: u32, outputs: &[(u8, Output)]) -> &mut Self {
        let mut outcome = call.to_le_bytes().to_vec();
        outcome.extend(status.to_le_bytes());
        outcome.extend([0, outputs.len() as u8]);
        for (index, output) in outputs {
            let (kind, value) = match output {
                Output::Number(number) => (0, *number),
                Output::Created(id) => (1, *id),
            };
            outcome.extend([*index, kind]);
            outcome.extend(value.to_le_bytes());
        }
        outcome.push(0);
        self.record(kind::OUTCOME, &outcome)
    }

    /// Adds a call that succeeded.
    pub fn call(
        &mut self,
        function: Function,
        arguments: &[Argument],
        outputs: &[(u8, Output)],
    ) -> &mut Self {
        let call = self.begin(function, arguments);
        self.end(call, 0, outputs)
    }

    /// Adds an allocation of a function such as `DeviceMemoryAllocate`.
    pub fn allocate(&mut self, function: Function, id: u64, size: u64) -> &mut Self {
        let arguments = [Argument::Number(0), Argument::Output, Argument::Number(size)];
        self.call(function, &arguments, &[(1, Output::Created(id))])
    }

    /// Adds the creation of a handle by a function such as `CreateStream`.
    pub fn create(&mut self, function: Function, id: u64) -> &mut Self {
        self.call(function, &[Argument::Number(0), Argument::Output], &[(1, Output::Created(id))])
    }

    /// Writes the file, and reads it.
    pub fn read(&self, file: &Path) -> Result<Recording, ReadError> {
        std::fs::write(file, &self.bytes).unwrap();
        Recording::open(file)
    }

    /// Returns the bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Returns an address in memory.
pub fn memory(block: u64, offset: u64) -> Argument {
    Argument::Memory(Position { block, offset })
}

/// Returns host memory that a call reads.
pub fn source(content: u32, length: u64) -> Argument {
    Argument::Source { content: Some(content), length, position: None }
}

/// Returns host memory that a call writes.
pub fn destination(length: u64) -> Argument {
    Argument::Destination { length, position: None }
}

fn text(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u64).to_le_bytes()[..], bytes].concat()
}

fn place(position: Option<Position>) -> Vec<u8> {
    let place = position.map_or([0; 2], |position| [position.block, position.offset]);
    place.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn encoded(argument: &Argument) -> Vec<u8> {
    let number = |kind: u8, number: u64| [&[kind][..], &number.to_le_bytes()].concat();
    match argument {
        Argument::Number(value) => number(0, *value),
        Argument::Null => vec![1],
        Argument::Handle(id) => number(2, *id),
        Argument::Memory(position) => [vec![3], place(Some(*position))].concat(),
        Argument::Source { content, length, position } => {
            let known = [4, u8::from(content.is_some())];
            let content = content.unwrap_or(0).to_le_bytes();
            [&known[..], &content, &length.to_le_bytes(), &place(*position)].concat()
        }
        Argument::Destination { length, position } => [number(5, *length), place(*position)].concat(),
        Argument::Text(bytes) => [vec![6], text(bytes)].concat(),
        Argument::Output => vec![7],
        Argument::Callback => vec![8],
        Argument::Unknown => vec![9],
    }
}
