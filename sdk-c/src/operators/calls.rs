//! Calls of the operators of a plugin.

use tenon::support::guard;
use tenon_operators::by_name::{Calls, SYMBOL};

use super::composed::ComposedOperators;
use super::cpu;
use super::request::{Request, call, failure, unsupported};
use crate::devices::table::DeviceGuard;
use crate::error::Failure;

/// Returns the functions that call the operators of a device.
pub(super) fn of(device: &DeviceGuard) -> Result<Calls, Failure> {
    if device.plugin.is_built_in() {
        return cpu::calls();
    }
    device.plugin.host.operators().ok_or_else(|| {
        let message = format!(
            "the plugin {} has no operators for libtenon: it does not export `{SYMBOL}`",
            device.plugin.name()
        );
        unsupported(message)
    })
}

/// Runs a method on a device.
///
/// # Safety
/// The arguments and the place of the shape are as [`Call`] promises.
pub(super) unsafe fn run(device: &DeviceGuard, request: Request<'_>) -> Result<(), Failure> {
    let calls = of(device)?;
    // SAFETY: the function of a plugin takes any string.
    let provides = || unsafe { (calls.provides)(request.method.as_ptr(), request.data_type) };
    if !guard(Some(device.plugin.name()), "tenon_operator_calls", provides) {
        if let Some(composed) = composed(device, calls).filter(|composed| composed.has(request)) {
            // SAFETY: the caller's promise.
            return unsafe { composed.run(device.device(), device.id, request) };
        }
        let data_type = format!("{:?}", request.data_type).to_lowercase();
        let method = request.method.to_string_lossy();
        return Err(unsupported(format!("the device has no operator `{method}` for {data_type}")));
    }
    if device.plugin.origin.is_built_in() {
        // SAFETY: the caller's promise.
        unsafe { cpu::run(tenon_cpu::Cpu::shared(), device.id, calls, request) }
    } else {
        // SAFETY: the caller's promise.
        guard(Some(device.plugin.name()), "tenon_operator_calls", || unsafe {
            call(calls, device.id, request.stream, request)
        })
        .map_err(failure)
    }
}

/// Returns true if a device has a method for elements of a type, or if it is composed of others.
pub(super) fn provides(device: &DeviceGuard, request: Request<'_>) -> bool {
    let Ok(calls) = of(device) else { return false };
    // SAFETY: the function of a plugin takes any string.
    let provides = || unsafe { (calls.provides)(request.method.as_ptr(), request.data_type) };
    guard(Some(device.plugin.name()), "tenon_operator_calls", provides)
        || composed(device, calls).is_some_and(|composed| composed.has(request))
}

/// Returns the operators of a plugin and what is composed of them. The built-in device has all operators.
fn composed(device: &DeviceGuard, calls: Calls) -> Option<&ComposedOperators> {
    (!device.plugin.is_built_in()).then(|| device.plugin.composed_operators(calls))
}
