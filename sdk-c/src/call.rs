//! From a handle to a device: what every function of the library goes through.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tenon::device::{Device, DeviceId, Function};

pub use crate::error::Failure;
use crate::error::{Story, panicked, remember};
use crate::loaded::{self, LoadedPlugin};
use crate::open::{self, Pin};
use crate::refusal::{self, Refusal};
pub use crate::thread::Inside;
use crate::{DeviceHandle, PluginHandle, Status, buffer};

type Outcome = std::thread::Result<Result<(), Failure>>;

/// Calls a function of the spec that is about a device.
#[inline(always)]
pub fn on_device(
    handle: DeviceHandle,
    function: Function,
    body: impl FnOnce(&dyn Device, DeviceId) -> Result<(), Failure>,
) -> Status {
    if matches!(function, Function::InitDevice | Function::DeinitDevice) {
        return own_affair(function, "a device is opened for the first time, or closed for the last");
    }
    let pin = match Pin::current(handle.0) {
        Some(pin) => pin,
        None => match enter(handle.0) {
            Ok(pin) => pin,
            Err(failure) => return unopened(function, failure),
        },
    };
    pin.count(function);
    if function == Function::DestroyStream {
        return on_retiring(&pin, function, body);
    }
    // What a panic leaves behind in the device is the device's own affair: it sees `&self` only.
    let outcome = catch_unwind(AssertUnwindSafe(|| body(pin.device(), pin.id)));
    if let Ok(Ok(())) = outcome {
        return Status::SUCCESS;
    }
    failed(&pin, function, outcome)
}

/// Calls a function that destroys a stream, which the pool must forget before.
#[inline(never)]
fn on_retiring(
    pin: &Pin,
    function: Function,
    body: impl FnOnce(&dyn Device, DeviceId) -> Result<(), Failure>,
) -> Status {
    let outcome = catch_unwind(AssertUnwindSafe(|| match buffer::retiring(pin)? {
        Some(retiring) => body(&*retiring, pin.id),
        None => body(pin.device(), pin.id),
    }));
    match outcome {
        Ok(Ok(())) => Status::SUCCESS,
        outcome => failed(pin, function, outcome),
    }
}

/// Calls a function of the spec that is about no device.
pub fn on_plugin(
    handle: PluginHandle,
    function: Function,
    body: impl FnOnce(&dyn Device) -> Result<(), Failure>,
) -> Status {
    if matches!(function, Function::Initialize | Function::Finalize) {
        return own_affair(
            function,
            "the first device of a plugin is opened, and when the plugin is unloaded",
        );
    }
    let name = named(function);
    let plugin = match loaded::hold_ready(handle.0) {
        Ok(plugin) => plugin,
        Err(failure) => return fail(&name, None, None, Some(function), failure),
    };
    plugin.tally.count(function);
    match catch_unwind(AssertUnwindSafe(|| body(&*plugin.device()?))) {
        Ok(Ok(())) => Status::SUCCESS,
        outcome => fail(&name, None, Some(&plugin), Some(function), failure_of(outcome)),
    }
}

/// A further device of a call, which is not closed before this is dropped.
pub struct Further(Pin);

impl Further {
    /// Its number.
    pub fn id(&self) -> DeviceId {
        self.0.id
    }
}

/// A further device of a call, which must be of the same plugin.
///
/// # Errors
/// When it is not open, or is of another plugin.
pub fn same_plugin(
    first: DeviceHandle,
    other: DeviceHandle,
    param: &'static str,
) -> Result<Further, Failure> {
    let (plugin, _) = open::identity(first.0)?;
    let other = Pin::of(other.0)?;
    if plugin == other.plugin.handle {
        Ok(Further(other))
    } else {
        Err(Failure::invalid(format!("`{param}` is a device of another plugin")))
    }
}

/// Marks the thread as being inside of a stream's callback until this is dropped.
pub fn called_back() -> Inside {
    Inside::new()
}

/// The open device of a number that a plugin gave.
///
/// # Errors
/// When nobody has opened it.
pub fn device_of_same(plugin: PluginHandle, id: DeviceId) -> Result<DeviceHandle, Failure> {
    open::find(plugin.0, id)
        .map(DeviceHandle)
        .ok_or_else(|| Failure::not_found(format!("device {} of the plugin is not open", id.0)))
}

/// Runs the body of an export that is written by hand.
pub(crate) fn export(name: &str, body: impl FnOnce() -> Result<(), Failure>) -> Status {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => Status::SUCCESS,
        outcome => fail(name, None, None, None, failure_of(outcome)),
    }
}

/// Runs the body of an export that is written by hand and about an open device, which becomes the current one.
pub(crate) fn export_on(
    name: &str,
    handle: DeviceHandle,
    body: impl FnOnce(&Pin) -> Result<(), Failure>,
) -> Status {
    let pin = match Pin::current(handle.0).map_or_else(|| enter(handle.0), Ok) {
        Ok(pin) => pin,
        Err(failure) => return fail(name, None, None, None, failure),
    };
    match catch_unwind(AssertUnwindSafe(|| body(&pin))) {
        Ok(Ok(())) => Status::SUCCESS,
        outcome => fail(name, Some(&pin), Some(&pin.plugin), None, failure_of(outcome)),
    }
}

/// Holds a device and makes it the current one of the thread.
#[cold]
pub(crate) fn enter(handle: usize) -> Result<Pin, Failure> {
    let pin = Pin::of(handle)?;
    let thread = pin.thread();
    if thread.told(pin.plugin.handle) != Some(pin.id) {
        // If this fails nobody knows what the plugin takes for the current device.
        thread.note_told(pin.plugin.handle, None);
        thread.forget_current();
        match catch_unwind(AssertUnwindSafe(|| pin.device().set_device(pin.id))) {
            Ok(told) => told?,
            Err(panic) => return Err(panicked(panic)),
        }
        thread.note_told(pin.plugin.handle, Some(pin.id));
    }
    thread.remember_current(pin.slot(), &pin);
    Ok(pin)
}

fn failure_of(outcome: Outcome) -> Failure {
    match outcome {
        Ok(Err(failure)) => failure,
        Ok(Ok(())) => unreachable!("a success is no failure"),
        Err(panic) => panicked(panic),
    }
}

fn named(function: Function) -> String {
    format!("tenon_{}", function.name())
}

#[cold]
#[inline(never)]
fn unopened(function: Function, failure: Failure) -> Status {
    fail(&named(function), None, None, None, failure)
}

#[cold]
fn own_affair(function: Function, when: &str) -> Status {
    let text = format!("the library calls `{}` itself, when {when}", function.name());
    fail(&named(function), None, None, None, Failure::busy(text))
}

#[cold]
#[inline(never)]
fn failed(pin: &Pin, function: Function, outcome: Outcome) -> Status {
    if function == Function::SetDevice {
        pin.thread().note_told(pin.plugin.handle, None);
        pin.thread().forget_current();
    }
    fail(&named(function), Some(pin), Some(&pin.plugin), Some(function), failure_of(outcome))
}

/// Keeps the story of a failure; returns what the caller is answered.
#[cold]
#[inline(never)]
pub(crate) fn fail(
    name: &str,
    device: Option<&Pin>,
    plugin: Option<&Arc<LoadedPlugin>>,
    function: Option<Function>,
    failure: Failure,
) -> Status {
    let message = failure.message();
    let refused = refusal::take(&message);
    let mut status = failure.status();
    let mut plugin_message = None;
    if let Some(Refusal { status: by_layer, .. }) = refused {
        status = by_layer;
    } else if let Failure::Device(error) = &failure {
        if plugin.zip(function).is_some_and(|(plugin, function)| plugin.lacks(function)) {
            status = Status::UNSUPPORTED;
        } else if error.is_quoted || plugin.is_some_and(|plugin| plugin.speaks_by_itself(function)) {
            plugin_message = Some(message.clone());
        }
    }
    if status == Status::SUCCESS {
        // A failure must never look like a success, whatever the device says.
        status = <Status as tenon::StatusCode>::INTERNAL;
    }
    remember(&Story {
        status: Some(status),
        function: name.to_owned(),
        device: device.map(|device| device.name()),
        plugin: plugin.map(|plugin| plugin.name().to_owned()),
        plugin_message,
        rule: refused.as_ref().and_then(Refusal::rule),
        layer: refused.map(|refusal| refusal.layer),
        message,
    });
    status
}

impl Pin {
    #[inline(always)]
    fn count(&self, function: Function) {
        let column = self.thread().column.get();
        // SAFETY: whoever holds a pin has made its device the thread's current one, with a column that stays until the
        // device is closed, or longer.
        unsafe { &*column }.count(function);
    }
}
