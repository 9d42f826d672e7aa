//! Shared by several tests: the CPU device behind layers.
#![allow(dead_code)]

pub mod child;
pub mod faulty;
pub mod made;
pub mod recording;

use std::ffi::c_void;
use std::sync::{Arc, Condvar, Mutex};

use tenon::AnyPtr;
use tenon::device::*;
use tenon_cpu::{Config, Cpu};
use tenon_layers::validate::{Checker, Options, Report, Rule, Validate};

pub const ID: DeviceId = DeviceId(0);
pub const OTHER: DeviceId = DeviceId(1);

pub type Wrapped<D> = Layered<WithFallbacks<&'static D>>;

/// Creates two devices of 64 MiB with two threads. They are never freed, as a plugin is not.
pub fn cpu() -> &'static Cpu {
    Box::leak(Box::new(Cpu::with_config(Config { devices: 2, memory: 64 << 20, threads: 2 })))
}

/// A device that is being validated, and what was found.
pub struct Validated<D: 'static> {
    pub device: Wrapped<D>,
    pub validate: Arc<Validate>,
    pub checker: Arc<Checker>,
    reports: Arc<Mutex<Vec<Report>>>,
}

pub fn validated_cpu() -> Validated<Cpu> {
    validated("cpu", cpu(), Options::default())
}

/// Validates a device; reports are collected, whatever the options say.
pub fn validated<D: Partial>(name: &str, device: &'static D, options: Options) -> Validated<D> {
    let reports = Arc::new(Mutex::new(Vec::new()));
    let collected = reports.clone();
    let sink = Arc::new(move |report: &Report| collected.lock().unwrap().push(report.clone()));
    let checker = Checker::new(Options { sink, ..options });
    let validate = checker.layer(name, device);
    let layered = Layered::new(WithFallbacks(device), vec![validate.clone() as Arc<dyn Layer>]);
    Validated { device: layered, validate, checker, reports }
}

impl<D> Validated<D> {
    /// Returns the reports since the last call.
    pub fn reports(&self) -> Vec<Report> {
        std::mem::take(&mut self.reports.lock().unwrap())
    }

    /// Returns the one report since the last look, which must be of this rule.
    #[track_caller]
    pub fn report(&self, rule: Rule) -> String {
        let reports = self.reports();
        let text = |report: &Report| report.to_string();
        assert_eq!(reports.len(), 1, "{:#?}", reports.iter().map(text).collect::<Vec<_>>());
        assert_eq!(reports[0].rule, rule, "{}", reports[0]);
        reports[0].to_string()
    }

    /// Asserts that a call was refused by a rule. Returns what was reported.
    #[track_caller]
    pub fn refused<T>(&self, rule: Rule, result: Result<T>) -> String {
        let error = result.err().expect("the call should have been refused");
        assert_eq!(error.status, Status::ERROR);
        assert_eq!(Rule::of_error(&error), Some(rule), "{error}");
        self.report(rule)
    }

    /// Checks that there was no report.
    #[track_caller]
    pub fn silent(&self) {
        let reports: Vec<String> = self.reports().iter().map(ToString::to_string).collect();
        assert!(reports.is_empty(), "{reports:#?}");
    }
}

/// A latch that blocks a stream until it is opened or dropped.
pub struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    pub fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
}

unsafe extern "C-unwind" fn wait_at(_: ffi::C_Device, _: ffi::C_Stream, gate: *mut c_void, _: *mut Status) {
    // SAFETY: `hold` leaks one reference for this call.
    let gate = unsafe { Arc::from_raw(gate.cast::<(Mutex<bool>, Condvar)>()) };
    drop(gate.1.wait_while(gate.0.lock().unwrap(), |open| !*open).unwrap());
}

/// Holds a stream back.
pub fn hold(device: &(impl Device + ?Sized), id: DeviceId, stream: Stream) -> Gate {
    let gate: Arc<(Mutex<bool>, Condvar)> = Arc::default();
    let context = AnyPtr::from_ptr(Arc::into_raw(gate.clone()));
    // SAFETY: the function is called once with this context, of which it owns a reference.
    let callback = unsafe { StreamCallback::from_raw(Some(wait_at), context) };
    device.stream_add_callback(id, stream, callback).unwrap();
    Gate(gate)
}
