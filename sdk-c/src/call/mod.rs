//! The path of a call from an export to a device: handle lookup, counting, and recording a failure.

pub(crate) mod counts;
pub(crate) mod sized;
pub(crate) mod text;
pub(crate) mod thread_state;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};

use tenon::Origin;
use tenon::device::{Device, DeviceId, Function};
use tenon::reflect::Role;
use tenon::support::has_room;

pub use crate::call::thread_state::Inside;
use crate::devices::pool;
use crate::devices::table::{self, DeviceGuard};
pub use crate::error::Failure;
use crate::error::{ErrorRecord, panicked, set_last_error};
use crate::library::lifecycle;
use crate::plugins::loaded::LoadedPlugin;
use crate::{DeviceHandle, PluginHandle, Status};

/// The functions that create an object or queue work, by number.
static NEEDS_ROOM: LazyLock<[bool; Function::ALL.len()]> = LazyLock::new(|| {
    Function::ALL.map(|function| {
        let info = function.info();
        info.stream_ordered.is_some() || info.params.iter().any(|param| param.role == Role::Creates)
    })
});

type Outcome = std::thread::Result<Result<(), Failure>>;

/// Calls a function of the spec that takes a device.
#[inline(always)]
pub fn on_device(
    handle: DeviceHandle,
    function: Function,
    body: impl FnOnce(&dyn Device, DeviceId) -> Result<(), Failure>,
) -> Status {
    if matches!(function, Function::InitDevice | Function::DeinitDevice) {
        return called_by_library(function, "a device is opened for the first time, or closed for the last");
    }
    let device = match enter(handle.0) {
        Ok(device) => device,
        Err(failure) => return not_entered(function, failure),
    };
    device.calls.add(function);
    if NEEDS_ROOM[function as usize] && !has_room() {
        return failed(&device, function, Ok(Err(Failure::no_room())));
    }
    if matches!(function, Function::DestroyStream | Function::DeviceMemoryDeallocate) {
        return before_pool(&device, function, body);
    }
    // `AssertUnwindSafe`: the body only has `&dyn Device`, so a panic cannot leave broken state here.
    let outcome = catch_unwind(AssertUnwindSafe(|| body(device.device(), device.id)));
    if let Ok(Ok(())) = outcome {
        return Status::SUCCESS;
    }
    failed(&device, function, outcome)
}

/// Calls a function that destroys a stream or frees memory, after informing the device's pool.
#[inline(never)]
fn before_pool(
    device: &DeviceGuard,
    function: Function,
    body: impl FnOnce(&dyn Device, DeviceId) -> Result<(), Failure>,
) -> Status {
    let outcome = catch_unwind(AssertUnwindSafe(|| match pool::before_pool(device, function)? {
        Some(behind_pool) => body(&*behind_pool, device.id),
        None => body(device.device(), device.id),
    }));
    match outcome {
        Ok(Ok(())) => Status::SUCCESS,
        outcome => failed(device, function, outcome),
    }
}

/// Calls a function of the spec that takes no device.
pub fn on_plugin(
    handle: PluginHandle,
    function: Function,
    body: impl FnOnce(&dyn Device) -> Result<(), Failure>,
) -> Status {
    if matches!(function, Function::Initialize | Function::Finalize) {
        return called_by_library(
            function,
            "the first device of a plugin is opened, and when the plugin is unloaded",
        );
    }
    let name = export_name(function);
    let plugin = match lifecycle::hold_ready(handle.0) {
        Ok(plugin) => plugin,
        Err(failure) => return fail(&name, None, None, Some(function), failure),
    };
    plugin.calls.add(function);
    match catch_unwind(AssertUnwindSafe(|| body(&*plugin.device()?))) {
        Ok(Ok(())) => Status::SUCCESS,
        outcome => fail(&name, None, Some(&plugin), Some(function), failure_of(outcome)),
    }
}

/// A further device of a call, held open until this is dropped.
pub struct Further(DeviceGuard);

impl Further {
    /// Returns the number of the device.
    pub fn id(&self) -> DeviceId {
        self.0.id
    }
}

/// Holds a further device of a call. It must belong to the same plugin as the first one.
///
/// # Errors
/// If it is not open, or belongs to another plugin.
pub fn same_plugin(
    first: DeviceHandle,
    other: DeviceHandle,
    param: &'static str,
) -> Result<Further, Failure> {
    let first = DeviceGuard::of(first.0)?;
    let other = DeviceGuard::of(other.0)?;
    if first.plugin.handle == other.plugin.handle {
        Ok(Further(other))
    } else {
        Err(Failure::invalid(format!("`{param}` is a device of another plugin")))
    }
}

/// Marks the thread as inside a stream's callback until the guard is dropped.
pub fn called_back() -> Inside {
    Inside::new()
}

/// Finds the open device that has a number which a plugin returned.
///
/// # Errors
/// If it is not open.
pub fn device_of_same(plugin: PluginHandle, id: DeviceId) -> Result<DeviceHandle, Failure> {
    table::find(plugin.0, id)
        .map(DeviceHandle)
        .ok_or_else(|| Failure::not_found(format!("device {} of the plugin is not open", id.0)))
}

/// Fails if the host has no memory for the description of an object or of a block.
pub(crate) fn need_room() -> Result<(), Failure> {
    if has_room() { Ok(()) } else { Err(Failure::no_room()) }
}

/// Runs the body of a hand-written export.
pub(crate) fn export(name: &str, body: impl FnOnce() -> Result<(), Failure>) -> Status {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => Status::SUCCESS,
        outcome => fail(name, None, None, None, failure_of(outcome)),
    }
}

/// Runs the body of a hand-written export that takes an open device, and makes the device current.
pub(crate) fn export_on(
    name: &str,
    handle: DeviceHandle,
    body: impl FnOnce(&DeviceGuard) -> Result<(), Failure>,
) -> Status {
    let device = match enter(handle.0) {
        Ok(device) => device,
        Err(failure) => return fail(name, None, None, None, failure),
    };
    match catch_unwind(AssertUnwindSafe(|| body(&device))) {
        Ok(Ok(())) => Status::SUCCESS,
        outcome => fail(name, Some(&device), Some(&device.plugin), None, failure_of(outcome)),
    }
}

/// Holds a device and makes it the current one of the thread.
#[inline]
pub(crate) fn enter(handle: usize) -> Result<DeviceGuard, Failure> {
    let device = DeviceGuard::of(handle)?;
    if !thread_state::is_selected(handle) {
        select(&device)?;
    }
    Ok(device)
}

/// Makes a device the current one of the thread, and makes its plugin select it.
#[cold]
fn select(device: &DeviceGuard) -> Result<(), Failure> {
    let plugin = device.plugin.handle;
    if thread_state::selected_device(plugin) != Some(device.id) {
        // If this fails, it is unknown which device the plugin has selected.
        thread_state::set_selected_device(plugin, None);
        thread_state::clear_current();
        match catch_unwind(AssertUnwindSafe(|| device.device().set_device(device.id))) {
            Ok(selected) => selected?,
            Err(panic) => return Err(panicked(panic)),
        }
        thread_state::set_selected_device(plugin, Some(device.id));
    }
    thread_state::set_current(device.handle);
    Ok(())
}

fn failure_of(outcome: Outcome) -> Failure {
    match outcome {
        Ok(Err(failure)) => failure,
        Ok(Ok(())) => unreachable!("a success is no failure"),
        Err(panic) => panicked(panic),
    }
}

fn export_name(function: Function) -> String {
    format!("tenon_{}", function.name())
}

#[cold]
#[inline(never)]
fn not_entered(function: Function, failure: Failure) -> Status {
    fail(&export_name(function), None, None, None, failure)
}

#[cold]
fn called_by_library(function: Function, when: &str) -> Status {
    let text = format!("the library calls `{}` itself, when {when}", function.name());
    fail(&export_name(function), None, None, None, Failure::busy(text))
}

#[cold]
#[inline(never)]
fn failed(device: &DeviceGuard, function: Function, outcome: Outcome) -> Status {
    if function == Function::SetDevice {
        thread_state::set_selected_device(device.plugin.handle, None);
        thread_state::clear_current();
    }
    fail(&export_name(function), Some(device), Some(&device.plugin), Some(function), failure_of(outcome))
}

/// Records the last error of the thread, and returns its status.
#[cold]
#[inline(never)]
pub(crate) fn fail(
    name: &str,
    device: Option<&DeviceGuard>,
    plugin: Option<&Arc<LoadedPlugin>>,
    function: Option<Function>,
    failure: Failure,
) -> Status {
    let message = failure.to_string();
    let mut status = failure.status();
    let mut refusal = None;
    let mut plugin_message = None;
    if let Failure::Device(error) = &failure {
        let is_lacking = plugin.zip(function).is_some_and(|(plugin, function)| plugin.lacks(function));
        match &error.origin {
            Origin::Layer(layer) => refusal = Some(layer.clone()),
            _ if is_lacking => status = Status::UNSUPPORTED,
            Origin::Plugin => plugin_message = Some(message.clone()),
            Origin::Device if plugin.is_some_and(|plugin| plugin.speaks_by_itself(function)) => {
                plugin_message = Some(message.clone());
            }
            Origin::Device => {}
        }
    }
    if status == Status::SUCCESS {
        // A failure must never look like a success, whatever status the device returns.
        status = <Status as tenon::StatusCode>::INTERNAL;
    }
    let (layer, rule) =
        refusal.map_or((None, None), |refusal| (Some(refusal.layer.into_owned()), refusal.rule));
    set_last_error(&ErrorRecord {
        status,
        function: name.to_owned(),
        device: device.map(|device| device.name()),
        plugin: plugin.map(|plugin| plugin.name().to_owned()),
        plugin_message,
        layer,
        rule: rule.map(std::borrow::Cow::into_owned),
        message,
    });
    status
}
