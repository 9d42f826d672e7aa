//! Cuts a part out of a capture, with the earlier calls that it needs.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::ops::Range as Numbers;
use std::path::{Path, PathBuf};

use tenon::device::Function;
use tenon::reflect::Role;

use super::access::{Range, reads, writes};
use super::call::{Argument, Call, ContentId, ObjectId};
use super::format::RecordKind;
use super::reader::{Event, ReadError, Recording};
use super::record::{head, plugin_record, stored_content_record};

/// A part that cannot be cut out.
#[derive(Debug, thiserror::Error)]
pub enum TrimError {
    /// The capture cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The capture has no calls with these numbers.
    #[error(
        "the capture has no calls with numbers from {from} and below {to}; its calls have the numbers {first} to {last}"
    )]
    Empty {
        /// The first number.
        from: u64,
        /// The number behind the last one.
        to: u64,
        /// The first number in the capture.
        first: u64,
        /// The last number in the capture.
        last: u64,
    },
    /// The file cannot be written.
    #[error("cannot write {}: {source}", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// The content of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The calls in the range.
    pub calls: usize,
    /// The earlier calls that they need.
    pub earlier: usize,
}

/// Writes the calls in a range of numbers to a file, after the earlier calls that they need: those that create their
/// objects, and those that determine the bytes that they read. The calls keep their numbers.
///
/// # Errors
/// If the range is empty, or a file cannot be read or written.
pub fn trim(recording: &Recording, range: Numbers<u64>, file: &Path) -> Result<Part, TrimError> {
    let kept = Selection::of(recording, &range).kept;
    let numbers = recording.calls.iter().map(|call| call.number);
    let calls = kept.iter().filter(|index| range.contains(&recording.calls[**index].number)).count();
    if calls == 0 {
        let (first, last) = (numbers.clone().min().unwrap_or(0), numbers.max().unwrap_or(0));
        return Err(TrimError::Empty { from: range.start, to: range.end, first, last });
    }
    let failed = |source| TrimError::Write { file: file.to_owned(), source };
    let mut output = BufWriter::new(File::create_new(file).map_err(failed)?);
    let mut put = |bytes: &[u8]| output.write_all(bytes).map_err(failed);
    put(&head())?;
    for (number, name) in recording.plugins.iter().enumerate() {
        put(&plugin_record(number as u32, name))?;
    }
    let mut contents: HashMap<ContentId, ContentId> = HashMap::new();
    let mut last_return = None;
    for event in &recording.events {
        match event {
            Event::Call(index) if kept.contains(index) => {
                let mut call = recording.calls[*index].clone();
                for argument in &mut call.arguments {
                    let Argument::Source { content: Some(content), .. } = argument else { continue };
                    let next = contents.len() as ContentId;
                    let id = *contents.entry(*content).or_insert(next);
                    if id == next {
                        let (hash, length, stored) = recording.stored(*content)?;
                        put(&stored_content_record(hash, length, &stored))?;
                    }
                    *content = id;
                }
                put(&super::format::record(RecordKind::Call, &call.encode(call.function as u32)))?;
            }
            Event::Return(index) => {
                last_return = Some(*index);
                let call = &recording.calls[*index];
                if let Some(outcome) = call.outcome.as_ref().filter(|_| kept.contains(index)) {
                    put(&super::format::record(RecordKind::Outcome, &outcome.encode(call.number)))?;
                }
            }
            // The call before it has waited for it.
            Event::Arrival(arrival) if range.contains(&arrival.call) => {
                if last_return.is_some_and(|index| range.contains(&recording.calls[index].number)) {
                    put(&super::format::record(RecordKind::Arrival, &arrival.encode()))?;
                }
            }
            Event::Call(_) | Event::Arrival(_) => {}
        }
    }
    if !kept.iter().any(|index| recording.calls[*index].is_unfinished()) {
        put(&super::format::record(RecordKind::End, &[]))?;
    }
    output.flush().map_err(failed)?;
    Ok(Part { calls, earlier: kept.len() - calls })
}

/// The calls of a part.
struct Selection<'a> {
    recording: &'a Recording,
    /// The indices of the calls.
    kept: HashSet<usize>,
    objects: HashSet<ObjectId>,
    /// The first kept call before the range whose work is in stream order.
    first_queued: usize,
}

impl<'a> Selection<'a> {
    fn of(recording: &'a Recording, range: &Numbers<u64>) -> Self {
        let inside = |(index, call): (usize, &Call)| range.contains(&call.number).then_some(index);
        let kept: HashSet<usize> = recording.calls.iter().enumerate().filter_map(inside).collect();
        let mut selection = Self { recording, kept, objects: HashSet::new(), first_queued: usize::MAX };
        let end = selection.kept.iter().max().map_or(0, |last| last + 1);
        let selected = selection.current_devices(end);
        selection.kept.extend(selected);
        // A kept call can make an earlier or a later one necessary.
        loop {
            let before = selection.kept.len();
            selection.go_back(end);
            if selection.kept.len() == before {
                return selection;
            }
        }
    }

    /// Returns the calls that set the current device of each thread before its first kept call.
    fn current_devices(&self, end: usize) -> Vec<usize> {
        let mut last: HashMap<u32, usize> = HashMap::new();
        let mut done: HashSet<u32> = HashSet::new();
        for (index, call) in self.recording.calls[..end].iter().enumerate() {
            if self.kept.contains(&index) {
                done.insert(call.thread);
            } else if call.function == Function::SetDevice && !done.contains(&call.thread) {
                last.insert(call.thread, index);
            }
        }
        last.into_iter().filter(|(thread, _)| done.contains(thread)).map(|(_, index)| index).collect()
    }

    /// Goes back from the end of the part, with the bytes that later calls read.
    fn go_back(&mut self, end: usize) {
        let mut bytes = NeededBytes::default();
        for index in (0..end).rev() {
            let call = &self.recording.calls[index];
            let succeeded = call.outcome.as_ref().is_some_and(|outcome| outcome.status == 0);
            let is_kept = self.kept.contains(&index) || (succeeded && self.is_needed(index, call, &bytes));
            if !is_kept {
                continue;
            }
            self.kept.insert(index);
            self.objects.extend(call.used());
            if call.function.info().stream_ordered.is_some() {
                self.first_queued = self.first_queued.min(index);
            }
            if succeeded {
                writes(call).into_iter().for_each(|(range, _)| bytes.remove(range));
            }
            reads(call).into_iter().for_each(|range| bytes.add(range));
        }
    }

    /// Returns true if kept calls need a call.
    fn is_needed(&self, index: usize, call: &Call, bytes: &NeededBytes) -> bool {
        let info = call.function.info();
        let is_kept = |id: &ObjectId| self.objects.contains(id);
        let is_set_up = matches!(call.function, Function::Initialize | Function::InitDevice);
        let destroys = info.params.iter().any(|param| param.role == Role::Destroys);
        let mut used = call.used().peekable();
        if is_set_up || call.created().any(|(_, id)| is_kept(&id)) {
            return true;
        }
        let mut written = writes(call).into_iter().peekable();
        if written.peek().is_some() {
            return written.any(|(range, _)| bytes.contains(range));
        }
        if destroys {
            return used.all(|id| is_kept(&id));
        }
        // These keep the order of the kept work.
        let orders = matches!(
            call.function,
            Function::RecordEvent
                | Function::StreamWaitEvent
                | Function::SynchronizeStream
                | Function::SynchronizeEvent
                | Function::SynchronizeDevice
        );
        orders && index > self.first_queued && (used.peek().is_none() || used.any(|id| is_kept(&id)))
    }
}

/// The bytes of blocks that later calls read.
#[derive(Default)]
struct NeededBytes(HashMap<ObjectId, Vec<(u64, u64)>>);

fn ends(range: Range) -> (u64, u64) {
    let start = range.position.offset;
    (start, range.length.map_or(u64::MAX, |length| start.saturating_add(length)))
}

impl NeededBytes {
    fn add(&mut self, range: Range) {
        let (start, end) = ends(range);
        if start < end {
            self.0.entry(range.position.block).or_default().push((start, end));
        }
    }

    /// Removes bytes that a call writes. A write of unknown length may leave some as they are.
    fn remove(&mut self, range: Range) {
        let (start, end) = ends(range);
        if range.length.is_none() {
            return;
        }
        if let Some(needed) = self.0.get_mut(&range.position.block) {
            let parts = |(from, to): (u64, u64)| [(from, to.min(start)), (from.max(end), to)];
            *needed = needed.drain(..).flat_map(parts).filter(|(from, to)| from < to).collect();
        }
    }

    fn contains(&self, range: Range) -> bool {
        let (start, end) = ends(range);
        let needed = self.0.get(&range.position.block);
        needed.is_some_and(|needed| needed.iter().any(|(from, to)| *from < end && start < *to))
    }
}
