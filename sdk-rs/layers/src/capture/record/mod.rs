//! Turns calls into records and writes them.

mod objects;
mod progress;

use std::collections::HashMap;
use std::ffi::CStr;
use std::io;
use std::path::Path;

use tenon::StatusCode as _;
use tenon::device::{self, Function, Release};
use tenon::reflect::{self, Direction, Kind, Length, ParamInfo, Role, Space};

use super::call::{Argument, Arrival, Call, ContentId, Outcome, Output};
use super::form::Form;
use super::format::{Encoder, Hash, MAGIC, RecordKind, VERSION, record};
use crate::output::{OutputFile, Writer};
use objects::{Objects, Owner, Removed};
use progress::{Progress, QueuedCopy, StreamKey};

/// The state of a capture. One lock protects it, so the records are in the order of the calls.
pub(super) struct Recorder {
    file: OutputFile,
    has_ended: bool,
    /// The process that records: a forked process does not write to the file.
    process: u32,
    plugins: u32,
    calls: u64,
    contents: HashMap<Hash, ContentId>,
    objects: Objects,
    progress: Progress,
    /// The objects that the calls in progress destroy.
    removed: HashMap<u64, Vec<Removed>>,
}

impl Recorder {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let mut recorder = Self {
            file: OutputFile::open(path, Writer { what: "capture", extension: "cap" })?,
            has_ended: false,
            process: std::process::id(),
            plugins: 0,
            calls: 0,
            contents: HashMap::new(),
            objects: Objects::default(),
            progress: Progress::default(),
            removed: HashMap::new(),
        };
        match recorder.try_write(&head()) {
            None => Ok(recorder),
            Some(error) => Err(error),
        }
    }

    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Adds a plugin and returns its number.
    pub(super) fn add_plugin(&mut self, name: &str) -> u32 {
        let number = self.plugins;
        self.plugins += 1;
        self.write(&plugin_record(number, name));
        number
    }

    /// Ends the file. Later calls are not recorded.
    pub(super) fn finish(&mut self) {
        if self.is_on() {
            self.write(&record(RecordKind::End, &[]));
            self.close();
        }
    }

    fn close(&mut self) {
        if !self.has_ended {
            self.has_ended = true;
            self.file.close();
        }
    }

    pub(super) fn is_on(&self) -> bool {
        !self.has_ended && self.process == std::process::id()
    }

    /// Writes a record as a whole, or returns the error.
    fn try_write(&mut self, record: &[u8]) -> Option<io::Error> {
        if self.has_ended {
            return None;
        }
        // A file without a buffer: what was written survives a crash of the process.
        let is_written = self.file.append(record, |_| 0) == record.len();
        if is_written { None } else { self.file.error() }
    }

    /// Writes a record. After a failure the capture ends, so that the file has no gap.
    fn write(&mut self, record: &[u8]) {
        if let Some(error) = self.try_write(record) {
            self.close();
            tenon::support::write_line(format_args!(
                "the capture {} ends after {} calls: {error}",
                self.file.path().display(),
                self.calls
            ));
        }
    }

    /// Records a call before it is made, and returns its number.
    pub(super) fn before(&mut self, plugin: u32, call: &reflect::Call<'_>) -> u64 {
        let number = self.calls;
        self.calls += 1;
        let params = call.function.params;
        let arguments = (0..params.len()).map(|index| self.argument(plugin, call, index)).collect();
        let recorded = Call {
            number,
            plugin,
            thread: thread_id(),
            function: Function::ALL[call.index],
            arguments,
            outcome: None,
        };
        self.write(&record(RecordKind::Call, &recorded.encode(call.index as u32)));
        self.remove_destroyed(plugin, call, number);
        number
    }

    fn argument(&mut self, plugin: u32, call: &reflect::Call<'_>, index: usize) -> Argument {
        let (param, word) = (&call.function.params[index], call.arguments[index]);
        let position = |objects: &Objects| objects.position(owner(plugin, call, param), word);
        match Form::of(param) {
            Form::Output => Argument::Output,
            Form::Callback => Argument::Callback,
            Form::Number => Argument::Number(word),
            _ if word == 0 => Argument::Null,
            Form::Text => {
                // SAFETY: the caller passes a string to the function, which may read it.
                let text = unsafe { CStr::from_ptr(tenon::support::pointer(word)) };
                Argument::Text(text.to_bytes().to_vec())
            }
            Form::Handle(name) => {
                self.objects.handle(plugin, name, word).map_or(Argument::Unknown, Argument::Handle)
            }
            Form::Source(_) => {
                let length = call.length(param).unwrap_or(0);
                // No memory has more bytes.
                let is_possible = isize::try_from(length).is_ok();
                let content = (is_possible && !self.progress.is_written(word, length)).then(|| {
                    // SAFETY: the caller passes this memory to a function that reads it.
                    unsafe { bytes_at(word, length) }
                });
                let content = content.map(|bytes| self.content(bytes));
                Argument::Source { content, length, position: position(&self.objects) }
            }
            Form::Destination(_) => {
                let length = call.length(param).unwrap_or(0);
                Argument::Destination { length, position: position(&self.objects) }
            }
            Form::Memory => position(&self.objects).map_or(Argument::Unknown, Argument::Memory),
            Form::Opaque => Argument::Unknown,
        }
    }

    /// Returns the number of some bytes, which are written once.
    fn content(&mut self, bytes: &[u8]) -> ContentId {
        let hash = Hash::of(bytes);
        let next = self.contents.len() as ContentId;
        let id = *self.contents.entry(hash).or_insert(next);
        if id == next {
            self.write(&content_record(bytes));
        }
        id
    }

    /// Removes what a call destroys, before the plugin can use the address again.
    fn remove_destroyed(&mut self, plugin: u32, call: &reflect::Call<'_>, number: u64) {
        for (param, word) in call.function.params.iter().zip(call.arguments) {
            if param.role != Role::Destroys || *word == 0 {
                continue;
            }
            let removed = match param.kind {
                Kind::Handle { name, .. } => self.objects.remove_handle(plugin, name, *word),
                _ => {
                    self.progress.forget_memory(*word, call.length(param).unwrap_or(1));
                    self.objects.remove_block(owner(plugin, call, param), *word)
                }
            };
            if let Some(removed) = removed {
                self.removed.entry(number).or_default().push(removed);
            }
        }
    }

    /// Records the outcome of a call.
    pub(super) fn after(
        &mut self,
        plugin: u32,
        number: u64,
        call: &reflect::Call<'_>,
        result: &device::Outcome<'_>,
    ) {
        let removed = self.removed.remove(&number).unwrap_or_default();
        let mut outcome = Outcome {
            status: result.error.map_or(0, |error| error.status.code()),
            answer: result.answer,
            ..Outcome::default()
        };
        match result.error {
            Some(_) => removed.into_iter().for_each(|removed| self.objects.restore(removed)),
            None => {
                for index in 0..call.function.params.len() {
                    self.result(plugin, number, call, index, &mut outcome);
                }
            }
        }
        self.write(&record(RecordKind::Outcome, &outcome.encode(number)));
        if result.error.is_none() {
            self.follow(plugin, call, result.answer);
        }
    }

    /// Adds a result of a call that succeeded.
    fn result(
        &mut self,
        plugin: u32,
        number: u64,
        call: &reflect::Call<'_>,
        index: usize,
        outcome: &mut Outcome,
    ) {
        let (param, word) = (&call.function.params[index], call.arguments[index]);
        if param.direction == Direction::In {
            return;
        }
        // No function has more than 255 parameters.
        let number_of_param = index as u8;
        if param.is_output() {
            if matches!(param.length, Some(Length::Count(_))) {
                // Arrays and strings are not recorded.
                return;
            }
            let output = match param.kind {
                _ if word == 0 => Output::Number(0),
                Kind::Handle { name, .. } => {
                    let known =
                        self.objects.handle(plugin, name, word).filter(|_| param.role != Role::Creates);
                    Output::Created(known.unwrap_or_else(|| self.objects.add_handle(plugin, name, word)))
                }
                Kind::Pointer if param.role == Role::Creates => {
                    let length = call.length(param).unwrap_or(0);
                    Output::Created(self.objects.add_block(owner(plugin, call, param), word, length))
                }
                _ => Output::Number(word),
            };
            outcome.outputs.push((number_of_param, output));
        } else if param.space == Some(Space::Host)
            && let (Some(Length::Bytes(_)), Some(length)) = (param.length, call.length(param))
            && word != 0
        {
            let copy = QueuedCopy { call: number, param: number_of_param, address: word, length };
            match (call.function.stream_ordered, stream(plugin, call, &self.objects)) {
                (Some(_), Some(stream)) => self.progress.queue(stream, copy),
                // The stream is older than the capture.
                (Some(_), None) => {}
                (None, _) => {
                    // SAFETY: the call has written the caller's memory before it returned.
                    let bytes = unsafe { bytes_at(word, length) };
                    outcome.hashes.push((number_of_param, Hash::of(bytes)));
                }
            }
        }
    }

    /// Follows what a successful call says about the progress of streams.
    fn follow(&mut self, plugin: u32, call: &reflect::Call<'_>, answer: Option<bool>) {
        let stream = stream(plugin, call, &self.objects);
        let event = handle(call, "Event").and_then(|event| self.objects.handle(plugin, "Event", event));
        let device = call.argument("device").unwrap_or(0);
        let done = match (Function::ALL[call.index], stream, event) {
            (Function::SynchronizeDevice, ..) => self.progress.complete_device(plugin, device),
            (Function::SynchronizeStream, Some(stream), _) => self.progress.complete_stream(stream),
            (Function::QueryStream, Some(stream), _) if answer == Some(true) => {
                self.progress.complete_stream(stream)
            }
            (Function::SynchronizeEvent, _, Some(event)) => self.progress.complete_event(event),
            (Function::QueryEvent, _, Some(event)) if answer == Some(true) => {
                self.progress.complete_event(event)
            }
            (function, Some(stream), event) => {
                match (function, event) {
                    (Function::RecordEvent, Some(event)) => self.progress.record_event(stream, event),
                    (Function::StreamWaitEvent, Some(event)) => self.progress.wait_event(stream, event),
                    (Function::StreamAddCallback | Function::DestroyStream, _) => {
                        self.progress.forget_stream(stream);
                    }
                    (Function::CudaStreamBeginCapture, _) => self.progress.set_captured(stream, true),
                    (Function::CudaStreamEndCapture, _) => self.progress.set_captured(stream, false),
                    _ => {}
                }
                return;
            }
            _ => return,
        };
        for copy in done {
            // SAFETY: the copy is complete, and the program has not been told so yet, so it still keeps the memory.
            let bytes = unsafe { bytes_at(copy.address, copy.length) };
            let (call, param, by_query) = (copy.call, copy.param, answer.is_some());
            let arrival = Arrival { call, param, by_query, hash: Hash::of(bytes) };
            self.write(&record(RecordKind::Arrival, &arrival.encode()));
        }
    }
}

/// Returns the start of a file: the head, and the description of the interface.
pub(super) fn head() -> Vec<u8> {
    let mut encoder = Encoder::default();
    encoder.bytes(Release::ALL.last().map_or("", |release| release.name()).as_bytes());
    encoder.int(Function::ALL.len() as u32);
    Function::ALL.into_iter().for_each(|function| encoder.bytes(function.name().as_bytes()));
    let mut head = MAGIC.to_vec();
    head.extend(VERSION.to_le_bytes());
    head.extend(record(RecordKind::Interface, &encoder.0));
    head
}

/// Returns the record of a plugin.
pub(super) fn plugin_record(number: u32, name: &str) -> Vec<u8> {
    let mut encoder = Encoder::default();
    encoder.int(number);
    encoder.bytes(name.as_bytes());
    record(RecordKind::Plugin, &encoder.0)
}

/// Returns the record of some bytes, compressed if that makes them shorter.
fn content_record(bytes: &[u8]) -> Vec<u8> {
    let compressed = lz4_flex::block::compress(bytes);
    let stored = if compressed.len() < bytes.len() { &compressed } else { bytes };
    stored_content_record(Hash::of(bytes), bytes.len() as u64, stored)
}

/// Returns the record of bytes that are already in the form in which a file has them.
pub(super) fn stored_content_record(hash: Hash, length: u64, stored: &[u8]) -> Vec<u8> {
    let mut encoder = Encoder::default();
    encoder.hash(hash);
    encoder.long(length);
    encoder.0.extend(stored);
    record(RecordKind::Content, &encoder.0)
}

/// Returns the owner of the memory of a parameter.
fn owner(plugin: u32, call: &reflect::Call<'_>, param: &ParamInfo) -> Owner {
    Owner { plugin, device: param.of.and_then(|index| call.arguments.get(index)).copied() }
}

/// Returns the first handle of a type among the inputs.
fn handle(call: &reflect::Call<'_>, kind: &str) -> Option<u64> {
    let is_input = |param: &ParamInfo| {
        param.direction == Direction::In && matches!(param.kind, Kind::Handle { name, .. } if name == kind)
    };
    let index = call.function.params.iter().position(is_input)?;
    call.arguments.get(index).copied()
}

/// Returns the stream of a call.
fn stream(plugin: u32, call: &reflect::Call<'_>, objects: &Objects) -> Option<StreamKey> {
    let address = handle(call, "Stream")?;
    let is_device = |param: &ParamInfo| matches!(param.kind, Kind::Id(_));
    let device = call.function.params.iter().position(is_device).and_then(|index| call.arguments.get(index));
    let stream = if address == 0 { 0 } else { objects.handle(plugin, "Stream", address)? };
    Some(StreamKey { plugin, device: device.copied().unwrap_or(0), stream })
}

/// Views memory of the host.
///
/// # Safety
/// The memory is readable and does not change while the slice lives.
unsafe fn bytes_at<'a>(address: u64, length: u64) -> &'a [u8] {
    let length = usize::try_from(length).ok().filter(|length| isize::try_from(*length).is_ok());
    match length {
        // SAFETY: the caller's promise.
        Some(length) => unsafe { tenon::HostPtr::from_addr(address as usize).bytes(length) },
        None => &[],
    }
}

fn thread_id() -> u32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::gettid() }.cast_unsigned()
}
