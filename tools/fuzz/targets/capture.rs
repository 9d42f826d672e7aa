//! Captures that no program has recorded: every tool refuses them or leaves calls out, and nothing else happens.
//!
//! An input chooses calls with arguments of the right and the wrong kind, and the records around them. Their checksums are
//! right, so that the checks behind them are reached. At last some bytes of the file may be damaged.

#[path = "sdk/input.rs"]
#[allow(dead_code, reason = "the target `sdk` uses the rest")]
mod input;
#[path = "../../../sdk-rs/layers/tests/common/made.rs"]
#[allow(dead_code, reason = "the tests of the layer use the rest")]
mod made;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use input::Input;
use made::{Made, destination, kind, memory, source};
use tenon::device::Function;
use tenon::reflect::{Direction, Kind, Length, ParamInfo, Role, Space};
use tenon_cpu::{Config, Cpu};
use tenon_layers::capture::c_program::c_program;
use tenon_layers::capture::replay::{Target, replay};
use tenon_layers::capture::trim::trim;
use tenon_layers::capture::{Argument, Output, Position, Recording};

/// The bytes of each content and of each block.
const SIZE: u64 = 64;

/// Reads, lists, repeats, cuts and translates a file.
pub fn run(data: &[u8]) {
    let file = std::env::temp_dir().join(format!("tenon-fuzz-{}.cap", std::process::id()));
    let _ = tools(data, &file);
    let _ = std::fs::remove_file(&file);
}

/// Returns the functions that were repeated.
pub fn reached(inputs: impl Iterator<Item = Vec<u8>>, file: &Path) -> BTreeSet<&'static str> {
    inputs.filter_map(|input| tools(&input, file)).flatten().collect()
}

/// Returns the functions that a replay has repeated; `None` for a file that is refused.
fn tools(data: &[u8], file: &Path) -> Option<BTreeSet<&'static str>> {
    std::fs::write(file, made(data)).expect("the folder for temporary files can be written");
    let recording = Recording::open(file).ok()?;
    recording.calls.iter().for_each(|call| assert!(!call.to_string().contains('\x1b')));
    let mut reached = BTreeSet::new();
    let _ = replay(&recording, cpu(), Target::default(), &mut |call| {
        reached.insert(call.function.name());
    });
    let _ = c_program(&recording);
    let part = file.with_extension("part");
    let _ = std::fs::remove_file(&part);
    if trim(&recording, 1..u64::MAX, &part).is_ok() {
        Recording::open(&part).expect("a part of a capture is a capture");
    }
    let _ = std::fs::remove_file(&part);
    Some(reached)
}

fn cpu() -> Arc<Cpu> {
    Arc::new(Cpu::with_config(Config { devices: 2, memory: 1 << 20, threads: 1 }))
}

/// Makes a file of the choices of an input.
fn made(data: &[u8]) -> Vec<u8> {
    let mut input = Input(data);
    let mut made = Made::new(if input.below(4) == 0 { b"\x1b*/\n" } else { b"cpu" });
    made.create(Function::CreateStream, 1).create(Function::CreateEvent, 2);
    made.allocate(Function::DeviceMemoryAllocate, 3, SIZE).allocate(Function::HostMemoryAllocate, 4, SIZE);
    made.content(&[7; SIZE as usize]);
    let mut id = 5;
    while !input.is_empty() {
        match input.byte() {
            0..=7 => _ = made.record(input.byte() % 9, &[0; 40][..input.below(40)]),
            8..=11 => {
                let hash = tenon_layers::capture::Hash::of(b"");
                made.stored(hash, SIZE << input.below(40), &[input.byte(); 64]);
            }
            12..=15 => {
                let call = u64::from(input.byte()).to_le_bytes();
                let param = [input.byte() % 8, input.byte() % 2];
                made.record(kind::ARRIVAL, &[&call[..], &param, &[0; 16]].concat());
            }
            16..=19 => _ = made.record(kind::END, &[]),
            _ => call(&mut input, &mut made, &mut id),
        }
    }
    let mut bytes = made.bytes().to_vec();
    if data.first().is_some_and(|first| first % 16 == 0) {
        let at = (data.len() * 7919) % bytes.len();
        bytes[at] ^= 1 << (data.len() % 8);
    }
    bytes
}

/// Adds a call of any function.
fn call(input: &mut Input<'_>, made: &mut Made, id: &mut u64) {
    let function = Function::ALL[input.below(Function::ALL.len())];
    let params = function.info().params;
    let arguments: Vec<Argument> = params.iter().map(|param| argument(input, param)).collect();
    let call = made.begin(function, &arguments);
    let mut outputs = Vec::new();
    for (index, param) in params.iter().enumerate().filter(|(_, param)| param.is_output()) {
        let is_object = matches!(param.kind, Kind::Handle { .. } | Kind::Pointer);
        match input.byte() {
            0..=239 if is_object && param.length.is_none_or(|length| matches!(length, Length::Bytes(_))) => {
                outputs.push((index as u8, Output::Created(*id)));
                *id += 1;
            }
            0..=239 if is_object => {}
            other => outputs.push((index as u8, Output::Number(u64::from(other)))),
        }
    }
    match input.byte() {
        0..=7 => {}
        8..=15 => _ = made.end(call, 1, &[]),
        _ => _ = made.end(call, 0, &outputs),
    }
}

/// Returns an argument: mostly of the kind of the parameter, else of any.
fn argument(input: &mut Input<'_>, param: &ParamInfo) -> Argument {
    let position = |input: &mut Input<'_>| Position {
        block: u64::from(input.byte() % 8),
        offset: if input.below(4) == 0 { input.size() as u64 } else { 0 },
    };
    let size = |input: &mut Input<'_>| if input.below(8) == 0 { input.size() as u64 } else { SIZE };
    let choice = input.byte();
    if choice >= 250 {
        return match choice {
            250 => Argument::Number(input.size() as u64),
            251 => Argument::Handle(u64::from(input.byte() % 8)),
            252 => Argument::Memory(position(input)),
            253 => Argument::Callback,
            254 => Argument::Text(vec![input.byte(); 3]),
            _ => Argument::Unknown,
        };
    }
    let is_host = param.space == Some(Space::Host) && param.role == Role::Uses;
    match param.kind {
        _ if param.direction == Direction::Out && !param.is_memory() => Argument::Output,
        Kind::Callback(_) => Argument::Callback,
        _ if param.context_of.is_some() => Argument::Callback,
        _ if choice >= 240 || matches!(param.length, Some(Length::Count(_))) => Argument::Null,
        Kind::Bool | Kind::Id(_) => Argument::Number(u64::from(input.byte() % 2)),
        Kind::Int { bits: 64, .. } => Argument::Number(size(input)),
        Kind::Int { .. } | Kind::Enum { .. } => Argument::Number(u64::from(input.byte() % 16)),
        Kind::Float { .. } => Argument::Number(1.0f64.to_bits()),
        Kind::Handle { name, .. } => match (name, input.below(4)) {
            ("Stream", 1..) => Argument::Handle(1),
            ("Event", 1..) => Argument::Handle(2),
            (_, id) => Argument::Handle(id as u64 + 5),
        },
        Kind::Pointer if is_host && param.length.is_some() => {
            let length = size(input);
            match (param.direction, input.below(3)) {
                (Direction::In, 0) => {
                    Argument::Source { content: None, length, position: Some(position(input)) }
                }
                (Direction::In, _) => source(u32::from(input.byte() % 2), length),
                (_, 0) => Argument::Destination { length, position: Some(position(input)) },
                _ => destination(length),
            }
        }
        Kind::Pointer => match input.below(4) {
            0 => Argument::Memory(position(input)),
            _ => memory(3 + u64::from(param.space == Some(Space::Host)), 0),
        },
        Kind::Text => Argument::Text(b"/dev/null".to_vec()),
        Kind::Struct(_) => Argument::Unknown,
    }
}
