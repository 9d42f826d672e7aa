//! The layer that records calls, so that they can be repeated on another device.
//!
//! Each call is recorded with its arguments, its outcome and its thread, and with the bytes of the host memory that it
//! reads. Equal bytes are stored once. Of bytes that a call writes to the host, only the hash is stored. Handles and
//! addresses become numbers of objects, so that the calls can be repeated elsewhere.
//!
//! | variable | meaning |
//! |---|---|
//! | `TENON_CAPTURE_FILE` | the file; without it `tenon-capture-<pid>.cap` in the current folder |
//!
//! Each record is written before the call goes on, so the file of a program that crashed contains all its calls, the one
//! that crashed included. [`Recording`] reads a file, [`replay`] repeats it, [`trim`] cuts out a part, and
//! [`c_program`] makes a C program of it.

mod access;
pub mod c_program;
mod call;
mod check;
mod display;
mod form;
mod format;
mod reader;
mod record;
pub mod replay;
mod shadow;
pub mod trim;

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, MutexGuard, Once};
use tenon::support::Mutex;

use tenon::device::{Device, Layer, Outcome as CallOutcome, Result};
use tenon::reflect;

pub use call::{Argument, Arrival, Call, ContentId, ObjectId, Outcome, Output, Position};
pub use format::Hash;
pub use reader::{Event, ReadError, Recording};

use crate::at_exit;
use crate::setting;
use record::Recorder;

/// The destination of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The file, which is overwritten.
    pub file: PathBuf,
}

impl Default for Options {
    fn default() -> Self {
        Self { file: format!("tenon-capture-{}.cap", std::process::id()).into() }
    }
}

impl Options {
    /// Returns the default, changed by the environment.
    pub fn from_env() -> Self {
        setting::text("TENON_CAPTURE_FILE").map_or_else(Self::default, |file| Self { file: file.into() })
    }
}

/// The file of a capture cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the capture to {}: {source}; TENON_CAPTURE_FILE names another file", file.display())]
pub struct CaptureError {
    /// The file.
    pub file: PathBuf,
    /// The error of the system.
    pub source: io::Error,
}

/// A capture: one file for all plugins of the process.
///
/// It ends with [`Capture::finish`], or when the process ends.
pub struct Capture {
    recorder: Arc<Mutex<Recorder>>,
}

/// The captures that end with the process.
static AT_EXIT: Mutex<Vec<Arc<Mutex<Recorder>>>> = Mutex::new(Vec::new());

extern "C" fn finish_all() {
    for recorder in lock(&AT_EXIT).iter() {
        lock(recorder).finish();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

impl Capture {
    /// Creates the file and begins.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn start(options: &Options) -> std::result::Result<Self, CaptureError> {
        static INSTALL: Once = Once::new();
        let recorder = Recorder::create(&options.file)
            .map_err(|source| CaptureError { file: options.file.clone(), source })?;
        let recorder = Arc::new(Mutex::new(recorder));
        INSTALL.call_once(|| at_exit::call(finish_all));
        lock(&AT_EXIT).push(recorder.clone());
        Ok(Self { recorder })
    }

    /// Returns a layer that records the calls of one plugin.
    pub fn layer(&self, plugin: &str) -> Arc<CaptureLayer> {
        let number = lock(&self.recorder).add_plugin(plugin);
        Arc::new(CaptureLayer { recorder: self.recorder.clone(), plugin: number })
    }

    /// Returns the file.
    pub fn file(&self) -> PathBuf {
        lock(&self.recorder).path().to_owned()
    }

    /// Ends the file. Later calls are not recorded.
    pub fn finish(&self) {
        lock(&self.recorder).finish();
        lock(&AT_EXIT).retain(|other| !Arc::ptr_eq(other, &self.recorder));
    }
}

/// The layer that records the calls of one plugin.
pub struct CaptureLayer {
    recorder: Arc<Mutex<Recorder>>,
    plugin: u32,
}

/// The note of a call that is not recorded.
const NOT_RECORDED: u64 = u64::MAX;

impl Layer for CaptureLayer {
    fn before(&self, call: &reflect::Call<'_>, _: &dyn Device) -> Result<u64> {
        let mut recorder = lock(&self.recorder);
        Ok(if recorder.is_on() { recorder.before(self.plugin, call) } else { NOT_RECORDED })
    }

    fn after(&self, call: &reflect::Call<'_>, number: u64, outcome: &CallOutcome<'_>, _: &dyn Device) {
        let mut recorder = lock(&self.recorder);
        if number != NOT_RECORDED && recorder.is_on() {
            recorder.after(self.plugin, number, call, outcome);
        }
    }
}
