//! The layer that records calls and the work of streams.
//!
//! The file is JSON in the format of Chrome's traces, which <https://ui.perfetto.dev> and `chrome://tracing` show. Each
//! call is an event of its thread with its arguments and its status; a collective also has the rank of the process, the number
//! of ranks, and the bytes of its `count` elements. Each device has a counter for the memory in use.
//! Each stream is a lane: the layer queues a callback behind each piece of work, which records the time. The device does
//! not report when work starts, so an event on a lane begins when the work was queued or when the work before it ended,
//! whichever is later. No callback is queued while a stream is captured into a graph. A program whose own callbacks wait
//! for other streams can deadlock with a plugin that runs all callbacks on one thread: set `TENON_TRACE_STREAMS=0`.
//!
//! | variable | meaning |
//! |---|---|
//! | `TENON_TRACE_FILE` | the file; without it `tenon-trace-<pid>.json` in the current folder |
//! | `TENON_TRACE_LIMIT` | the maximum number of events in the file, 1,000,000 by default; further ones are dropped and counted |
//! | `TENON_TRACE_STREAMS=0` | no lanes, and no callbacks |
//!
//! Each thread records into its own ring buffer of 1 MiB. Another thread formats and writes the events. If it
//! cannot keep up, calls wait; this wait is not part of their recorded time. When the process ends or crashes, the
//! content of the ring buffers is written. Viewers and [`summary`] can read a file without its end. Events that cannot
//! be written, because the disk is full or the reader of a pipe has gone, are counted in the file and reported on
//! standard error.

mod collectives;
mod crash;
mod format;
mod lanes;
mod memory;
mod output;
mod ring;
pub mod summary;
mod tracer;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tenon::StatusCode as _;
use tenon::device::{Device, Function, Layer, Outcome, Partial, Result};
use tenon::reflect::Call;

use crate::clock;
use crate::setting::{self, BadSetting};

use collectives::Memberships;
use lanes::Lanes;
use memory::InUse;
use ring::{Header, Kind, MOST};
use tracer::{Tracer, header};

/// The destination of a trace, and its level of detail.
#[derive(Clone, Debug)]
pub struct Options {
    /// The file, which is overwritten. If another process is writing the file, the process id is added to the
    /// name.
    pub file: PathBuf,
    /// The maximum number of events in the file; further ones are dropped and counted.
    pub limit: u64,
    /// True if each stream gets a lane, for which a callback is queued behind each piece of work.
    pub streams: bool,
}

impl Default for Options {
    fn default() -> Self {
        let file = format!("tenon-trace-{}.json", std::process::id()).into();
        Self { file, limit: 1_000_000, streams: true }
    }
}

impl Options {
    /// Returns the default, changed by the environment.
    ///
    /// # Errors
    /// If a variable has an invalid value.
    pub fn from_env() -> std::result::Result<Self, BadSetting> {
        let default = Self::default();
        Ok(Self {
            file: setting::text("TENON_TRACE_FILE").map_or(default.file, PathBuf::from),
            limit: setting::number("TENON_TRACE_LIMIT", default.limit)?,
            streams: setting::switch("TENON_TRACE_STREAMS", default.streams)?,
        })
    }
}

/// The file of a trace cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the trace to {}: {source}; TENON_TRACE_FILE names another file", file.display())]
pub struct TraceError {
    /// The file.
    pub file: PathBuf,
    /// The error of the system.
    pub source: io::Error,
}

/// A trace: one file for all plugins of the process.
///
/// It is closed by [`Trace::finish`], or when the process ends; dropping it does neither.
pub struct Trace {
    tracer: &'static Tracer,
    options: Options,
}

impl Trace {
    /// Creates the file and begins.
    ///
    /// # Errors
    /// If the file cannot be made, or a thread cannot be started.
    pub fn start(options: Options) -> std::result::Result<Self, TraceError> {
        let started = Tracer::start(&options.file, options.limit);
        let tracer = started.map_err(|source| TraceError { file: options.file.clone(), source })?;
        crash::watch(tracer);
        Ok(Self { tracer, options })
    }

    /// Returns a layer that records the calls of one plugin. `partial` says which functions it has itself.
    ///
    /// Plugins beyond the 64th share one number.
    pub fn layer<P: Partial + ?Sized>(&self, plugin: &str, partial: &P) -> Arc<TraceLayer> {
        let plugin = self.tracer.add_plugin(plugin).unwrap_or(u8::MAX);
        let lanes = self.options.streams && partial.provides(Function::StreamAddCallback);
        Arc::new(TraceLayer {
            tracer: self.tracer,
            plugin,
            in_use: Box::new(InUse::new()),
            memberships: Memberships::default(),
            lanes: lanes.then(|| Lanes::new(self.tracer, plugin)),
        })
    }

    /// Returns the destination.
    pub fn file(&self) -> &std::path::Path {
        self.tracer.path()
    }

    /// Writes all that was recorded until now.
    pub fn flush(&self) {
        self.tracer.flush();
    }

    /// Writes all and ends the file. Later calls are not recorded.
    pub fn finish(&self) {
        self.tracer.close();
    }
}

/// The layer that records the calls of one plugin.
pub struct TraceLayer {
    tracer: &'static Tracer,
    plugin: u8,
    in_use: Box<InUse>,
    memberships: Memberships,
    lanes: Option<Arc<Lanes>>,
}

impl Layer for TraceLayer {
    #[inline]
    fn before(&self, call: &Call<'_>, _: &dyn Device) -> Result<u64> {
        if let Some(lanes) = &self.lanes {
            lanes.before(call);
        }
        Ok(clock::now())
    }

    fn after(&self, call: &Call<'_>, start: u64, outcome: &Outcome<'_>, next: &dyn Device) {
        let end = clock::now();
        if self.tracer.is_closed() {
            return;
        }
        self.record(call, (start, end), outcome);
        if let Some(lanes) = &self.lanes {
            lanes.after(call, outcome.error.is_some(), next);
        }
    }
}

impl TraceLayer {
    #[inline]
    fn record(&self, call: &Call<'_>, (start, end): (u64, u64), outcome: &Outcome<'_>) {
        let function = call.index as u16;
        let in_use = match memory::change(function) {
            Some(change) if outcome.error.is_none() => self.in_use.count(change, call.arguments),
            _ => None,
        };
        let mut record = [0; MOST];
        record[1] = start;
        record[2] = end;
        let mut words = 3;
        let mut kind = Kind::Call;
        if let Some(bytes) = in_use {
            record[3] = bytes;
            words = 4;
            kind = Kind::MemoryCall;
        }
        if let Some(of_group) = self.memberships.note(call.index, call.arguments, outcome.error.is_some()) {
            record[3..6].copy_from_slice(&of_group);
            words = 6;
            kind = Kind::Collective;
        }
        // The parameters of every function fit; further ones would be cut.
        let arguments = &call.arguments[..call.arguments.len().min(MOST - words)];
        record[words..words + arguments.len()].copy_from_slice(arguments);
        words += arguments.len();
        let header = Header {
            function,
            plugin: self.plugin,
            answer: outcome.answer.map_or(0, |answer| if answer { 1 } else { 2 }),
            status: outcome.error.map_or(0, |error| error.status.code() as i16),
            ..header(kind, words as u8)
        };
        record[0] = header.pack();
        self.tracer.record(&record[..words]);
    }
}
