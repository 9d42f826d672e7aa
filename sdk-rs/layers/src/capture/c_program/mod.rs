//! Makes a C program that repeats a capture with the C SDK.

mod arguments;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;

use tenon::device::Function;
use tenon::reflect::{Kind, Role};

use super::access::{Origin, origin, writes};
use super::call::{Argument, Arrival, Call, ContentId, ObjectId};
use super::format::Hash;
use super::reader::{Event, ReadError, Recording};
use super::replay::busiest_plugin;
use super::shadow::Shadow;

const HEAD: &str = include_str!("head.c");
const MAIN: &str = include_str!("main.c");
/// The most bytes that a program contains.
pub const MOST_BYTES: u64 = 16 << 20;
/// The most bytes that copies to the host write in a program.
const MOST_HOST_BYTES: u64 = 1 << 30;
/// The number of calls in a C function, so that compilers are quick.
const CALLS_IN_FUNCTION: usize = 200;

/// A capture that cannot be written as a C program.
#[derive(Debug, thiserror::Error)]
pub enum CProgramError {
    /// The capture cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It has no calls.
    #[error("the capture has no calls")]
    Empty,
    /// It has too many bytes for a program.
    #[error(
        "the capture has {bytes} bytes of data, but a program can have {MOST_BYTES}: cut out a part with `tenon trim`"
    )]
    TooLarge {
        /// The number of bytes.
        bytes: u64,
    },
}

/// Returns a C program that repeats a capture with the C SDK and compares the results, as
/// [`replay`](super::replay::replay) does. Calls that it cannot repeat are comments.
///
/// # Errors
/// If the capture cannot be read, or is too large.
pub fn c_program(recording: &Recording) -> Result<String, CProgramError> {
    let plugin = busiest_plugin(recording).ok_or(CProgramError::Empty)?;
    let calls = || recording.calls.iter().filter(|call| call.plugin == plugin);
    let succeeded = |call: &&Call| call.outcome.as_ref().is_none_or(|outcome| outcome.status == 0);
    let devices = calls().filter(succeeded).flat_map(devices_of).collect();
    let mut program = Program { plugin, devices, ..Program::new(recording) };
    let contents: BTreeSet<ContentId> = calls().flat_map(contents_of).collect();
    let bytes = contents.iter().map(|content| recording.content_length(*content)).sum();
    if bytes > MOST_BYTES {
        return Err(CProgramError::TooLarge { bytes });
    }
    let by_number: HashMap<u64, usize> =
        recording.calls.iter().enumerate().map(|(index, call)| (call.number, index)).collect();
    for event in &recording.events {
        match event {
            Event::Call(index) if recording.calls[*index].plugin == plugin => {
                program.call(&recording.calls[*index])?;
            }
            Event::Arrival(arrival) => {
                program.arrival(&recording.calls[by_number[&arrival.call]], arrival)?
            }
            Event::Call(_) | Event::Return(_) => {}
        }
    }
    program.text()
}

/// Returns the recorded bytes that a call reads.
fn contents_of(call: &Call) -> impl Iterator<Item = ContentId> + '_ {
    call.arguments.iter().filter_map(|argument| match argument {
        Argument::Source { content, .. } => *content,
        _ => None,
    })
}

struct Program<'a> {
    recording: &'a Recording,
    plugin: u32,
    /// The C type of each object that the program creates.
    objects: BTreeMap<ObjectId, String>,
    /// Those that are not destroyed yet.
    alive: HashSet<ObjectId>,
    /// The recorded bytes that the calls read.
    contents: BTreeSet<ContentId>,
    /// The devices on which calls succeeded, which the program opens.
    devices: BTreeSet<i64>,
    /// The length of the memory for what the calls copy to the host. Copies in stream order have memory of their own.
    scratch: u64,
    hosts: BTreeMap<u64, u64>,
    /// The bytes that copies to the host have written so far.
    host_bytes: u64,
    /// The hashes that the calls determine, of copies in stream order.
    expected: HashMap<(u64, u8), Hash>,
    shadow: Shadow,
    statements: Vec<String>,
    repeated: usize,
}

impl<'a> Program<'a> {
    fn new(recording: &'a Recording) -> Self {
        Self {
            recording,
            plugin: 0,
            objects: BTreeMap::new(),
            alive: HashSet::new(),
            contents: BTreeSet::new(),
            devices: BTreeSet::new(),
            scratch: 0,
            hosts: BTreeMap::new(),
            host_bytes: 0,
            expected: HashMap::new(),
            shadow: Shadow::default(),
            statements: Vec::new(),
            repeated: 0,
        }
    }

    fn call(&mut self, call: &Call) -> Result<(), CProgramError> {
        let in_c = call.function.in_c();
        let leave_out = |reason: &str| format!("  /* {} is left out: {reason} */\n", in_comment(call));
        if in_c.managed {
            self.statements.push(leave_out("the library makes this call"));
            return Ok(());
        }
        let arguments = match self.arguments(call) {
            Ok(arguments) => arguments,
            Err(reason) => {
                self.hosts.remove(&call.number);
                writes(call).into_iter().for_each(|(range, _)| self.shadow.forget(range));
                self.statements.push(leave_out(&reason));
                return Ok(());
            }
        };
        let plugin = in_c.takes_plugin.then(|| "plugin".to_owned());
        let answer = in_c.answers.then(|| "(bool*)outputs".to_owned());
        let passed: Vec<String> = plugin.into_iter().chain(arguments.passed).chain(answer).collect();
        let note =
            if call.is_unfinished() { "  /* The recorded program ended in this call. */\n" } else { "" };
        let succeeds = self.succeeds(call);
        let mut statement = format!(
            "{}{note}  CALL({}, {succeeds}, {}({}));\n",
            arguments.before,
            call.number,
            in_c.name,
            passed.join(", ")
        );
        self.repeated += 1;
        self.contents.extend(contents_of(call));
        // A changed handle is passed by value, so the program does not get the new one.
        let is_output = |(index, _): &(usize, ObjectId)| matches!(call.arguments[*index], Argument::Output);
        for (index, id) in call.created().filter(is_output) {
            let ty = in_c.params[index].strip_suffix('*').unwrap_or("void*").trim_end();
            self.objects.insert(id, ty.to_owned());
            self.alive.insert(id);
        }
        if call.outcome.as_ref().is_some_and(|outcome| outcome.status == 0) {
            self.remove_destroyed(call);
            self.compare(call, &mut statement)?;
            self.shadow.apply(call);
        }
        self.statements.push(statement);
        Ok(())
    }

    fn remove_destroyed(&mut self, call: &Call) {
        for (param, argument) in call.function.info().params.iter().zip(&call.arguments) {
            match argument {
                _ if param.role != Role::Destroys => {}
                Argument::Handle(id) => _ = self.alive.remove(id),
                Argument::Memory(position) => _ = self.alive.remove(&position.block),
                _ => {}
            }
        }
    }

    /// Returns true if the function of the SDK succeeds: memory that cannot be allocated is an error there.
    fn succeeds(&self, call: &Call) -> bool {
        let Some(outcome) = &call.outcome else { return true };
        let params = call.function.info().params;
        let is_null = |(index, output): &(u8, super::Output)| {
            let is_block = matches!(params[usize::from(*index)].kind, Kind::Pointer);
            is_block && *output == super::Output::Number(0)
        };
        let empty = call.number_of("size") == Some(0);
        outcome.status == 0 && (empty || !outcome.outputs.iter().any(is_null))
    }

    /// Adds the comparison of what a call has copied to the host, if the calls determine it.
    fn compare(&mut self, call: &Call, statement: &mut String) -> Result<(), CProgramError> {
        for (index, argument) in call.arguments.iter().enumerate() {
            let Argument::Destination { length, position } = argument else { continue };
            let Origin::Memory(source) = origin(call, index) else { continue };
            let Some(hash) = self.shadow.hash(self.recording, source, *length)? else { continue };
            if call.function.info().stream_ordered.is_some() {
                self.expected.insert((call.number, index as u8), hash);
                continue;
            }
            let hashes = call.outcome.iter().flat_map(|outcome| &outcome.hashes);
            if hashes.clone().any(|(at, recorded)| usize::from(*at) == index && *recorded == hash) {
                let param = &call.function.info().params[index];
                let in_block =
                    position.filter(|position| self.bounds(param, *position, Some(*length)).is_ok());
                let place = in_block.map_or_else(|| "scratch".to_owned(), |position| self.at(position));
                *statement += &check_bytes(call, &place, *length, hash);
            }
        }
        Ok(())
    }

    fn arrival(&mut self, call: &Call, arrival: &Arrival) -> Result<(), CProgramError> {
        if self.expected.remove(&(arrival.call, arrival.param)) != Some(arrival.hash) {
            return Ok(());
        }
        if let Argument::Destination { length, position } = &call.arguments[usize::from(arrival.param)] {
            // The memory that the copy was queued to.
            let place = match (self.hosts.contains_key(&call.number), position) {
                (false, Some(position)) if self.alive.contains(&position.block) => self.at(*position),
                (false, _) => return Ok(()),
                (true, _) => format!("host_{}", call.number),
            };
            let mut statement = check_bytes(call, &place, *length, arrival.hash);
            if arrival.by_query {
                // Here the work may take longer.
                for device in devices_of(call) {
                    statement
                        .insert_str(0, &format!("  require(tenon_synchronize_device(device_{device}));\n"));
                }
            }
            self.statements.push(statement);
        }
        Ok(())
    }

    /// Returns the whole program.
    fn text(&self) -> Result<String, CProgramError> {
        let mut text = format!(
            "/* Repeats {} calls that were recorded from {}. Written by: tenon capture to-c\n *\n * Compile it with the C SDK \
             of Tenon: cc program.c -ltenon -o program\n * Run it: ./program [-v] [PLUGIN]; without a plugin on the built-in \
             CPU device. -v prints each call. */\n{HEAD}\n",
            self.repeated,
            in_comment(&self.recording.plugins[self.plugin as usize])
        );
        for content in &self.contents {
            let bytes = self.recording.content(*content)?;
            let _ = write!(text, "static const unsigned char content_{content}[{}] = {{", bytes.len().max(1));
            for (index, byte) in bytes.iter().enumerate() {
                text.push_str(if index % 20 == 0 { "\n    " } else { " " });
                let _ = write!(text, "{byte},");
            }
            text.push_str(if bytes.is_empty() { "0};\n" } else { "\n};\n" });
        }
        text.push_str("\nstatic tenon_plugin plugin;\n");
        for device in &self.devices {
            let _ = writeln!(text, "static tenon_device device_{device};");
        }
        for (id, ty) in &self.objects {
            let _ = writeln!(text, "static {ty} object_{id};");
        }
        for (call, length) in &self.hosts {
            let _ = writeln!(text, "static unsigned char host_{call}[{}];", (*length).max(1));
        }
        let _ = writeln!(text, "static unsigned char scratch[{}];", self.scratch.max(1));
        text.push_str("static uint64_t outputs[1024];\n\nstatic void require(tenon_status status);\n");
        let parts: Vec<_> = self.statements.chunks(CALLS_IN_FUNCTION).collect();
        for (number, part) in parts.iter().enumerate() {
            let _ = write!(text, "\nstatic void repeat_{number}(void) {{\n{}}}\n", part.concat());
        }
        text.push_str("\nstatic void open_devices(void) {\n");
        for device in &self.devices {
            let _ =
                writeln!(text, "  require(tenon_plugin_open_device(plugin, {device}, &device_{device}));");
        }
        text.push_str("}\n\nstatic void repeat(void) {\n  (void)scratch, (void)outputs;\n");
        (0..parts.len()).for_each(|number| {
            let _ = writeln!(text, "  repeat_{number}();");
        });
        text.push_str("}\n\n");
        text.push_str(&MAIN.replace("CALLS", &self.repeated.to_string()));
        Ok(text)
    }
}

fn check_bytes(call: &Call, place: &str, length: u64, Hash(hash): Hash) -> String {
    let (high, low) = ((hash >> 64) as u64, hash as u64);
    format!("  check_bytes({}, {place}, {length}u, {high:#x}u, {low:#x}u);\n", call.number)
}

/// Returns text that neither ends a comment nor begins another one. The reader has escaped the ends of lines.
fn in_comment(text: &impl std::fmt::Display) -> String {
    text.to_string().replace("*/", "* /").replace("/*", "/ *")
}

/// Returns the devices of a call. No device has a negative number.
fn devices_of(call: &Call) -> impl Iterator<Item = i64> + '_ {
    call.arguments.iter().enumerate().filter_map(|(index, argument)| match argument {
        Argument::Number(device) if is_device(call.function, index) => {
            Some(*device as i64).filter(|device| *device >= 0)
        }
        _ => None,
    })
}

/// Returns true if a parameter is a device.
fn is_device(function: Function, index: usize) -> bool {
    matches!(function.info().params[index].kind, Kind::Id(_))
}
