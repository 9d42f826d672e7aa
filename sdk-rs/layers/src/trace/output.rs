//! The file of a trace. It contains only whole events, and counts those that could not be written.
//!
//! Everything but [`Output::open`] may run in a signal handler: nothing allocates or locks.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::output::{OutputFile, Writer};

/// The beginning of each event except the first.
const SEPARATOR: &[u8] = b",\n{";
/// A text that occurs in each call and each piece of work, and nowhere else.
const COUNTED: &[u8] = b"\"ph\":\"X\"";
/// The space in the head for the event with the number of missing events.
const RESERVED: usize = 160;

/// An open file, with one writer at a time.
pub(super) struct Output {
    file: OutputFile,
    head: Box<[u8]>,
    missing: AtomicU64,
}

impl Output {
    /// Opens a file. If another writer has locked it, opens a file with the process id in its name instead.
    pub(super) fn open(path: &Path, head: &[u8]) -> io::Result<Self> {
        let file = OutputFile::open(path, Writer { what: "trace", extension: "json" })?;
        Ok(Self { file, head: [head, &[b' '; RESERVED]].concat().into(), missing: AtomicU64::new(0) })
    }

    /// Returns the path of the file.
    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns the number of events that could not be written.
    pub(super) fn missing(&self) -> u64 {
        self.missing.load(Ordering::Relaxed)
    }

    /// Returns the first error.
    pub(super) fn error(&self) -> Option<io::Error> {
        self.file.error()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.file.is_closed()
    }

    /// Appends whole events. Events that cannot be written are counted, and leave no partial text.
    pub(super) fn write(&self, events: &[u8]) {
        let append = |bytes| self.file.append(bytes, last_separator);
        let has_head = self.file.written() > 0 || append(&self.head) == self.head.len();
        let kept = if has_head { append(events) } else { 0 };
        self.missing.fetch_add(count(&events[kept..]), Ordering::Relaxed);
    }

    /// Writes an event into the space that the head reserves for it. Returns true on success.
    pub(super) fn fill_reserved(&self, event: &[u8]) -> bool {
        let place = (self.head.len() - RESERVED) as u64;
        event.len() <= RESERVED && self.file.overwrite(place, event)
    }

    /// Writes the end, and closes the file.
    pub(super) fn close(&self, end: &[u8]) {
        self.write(end);
        self.file.close();
    }
}

/// Returns the beginning of the last event, which may have been cut off.
fn last_separator(bytes: &[u8]) -> usize {
    bytes.windows(SEPARATOR.len()).rposition(|window| window == SEPARATOR).unwrap_or(0)
}

/// Returns the number of calls and pieces of work among events.
fn count(events: &[u8]) -> u64 {
    events.windows(COUNTED.len()).filter(|window| *window == COUNTED).count() as u64
}
