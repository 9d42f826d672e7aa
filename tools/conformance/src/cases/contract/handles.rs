//! Creates and destroys handles, by the name of their type.

use tenon::device::Function;

use crate::case::{Verdict, skipped};
use crate::plugin_under_test::{PluginUnderTest, address, id};

/// Returns the functions that create and destroy a handle.
pub(super) fn lifecycle(name: &str) -> Option<(Function, Function)> {
    Some(match name {
        "Stream" => (Function::CreateStream, Function::DestroyStream),
        "Event" => (Function::CreateEvent, Function::DestroyEvent),
        "BlasHandle" => (Function::InitBlasHandle, Function::DestroyBlasHandle),
        "BlasLtHandle" => (Function::InitBlasltHandle, Function::DestroyBlasltHandle),
        _ => return None,
    })
}

/// Returns a new handle.
pub(super) fn make(plugin: &PluginUnderTest, name: &str, device: i32) -> Verdict<u64> {
    match name {
        "Stream" => plugin.stream(device),
        "Event" => plugin.event(device),
        "BlasHandle" => {
            let (mut handle, stream) = (0_u64, plugin.stream(device)?);
            let arguments = [id(device), address(&mut handle), stream];
            plugin.ok(Function::InitBlasHandle, &arguments)?;
            Ok(handle)
        }
        "BlasLtHandle" => {
            let mut handle = 0_u64;
            plugin.ok(Function::InitBlasltHandle, &[id(device), address(&mut handle)])?;
            Ok(handle)
        }
        _ => skipped(format!("no `{name}` can be made without the host")),
    }
}

/// Returns a destroyed handle.
pub(super) fn destroyed(plugin: &PluginUnderTest, name: &str, device: i32) -> Verdict<u64> {
    let Some((_, destroy)) =
        lifecycle(name).filter(|(make, destroy)| plugin.is_native(*make) && plugin.is_native(*destroy))
    else {
        return skipped(format!("no `{name}` can be made and destroyed"));
    };
    let handle = make(plugin, name, device)?;
    if handle == 0 {
        return skipped("the plugin has no stream but the default one, which does not end");
    }
    plugin.ok(destroy, &[id(device), handle])?;
    Ok(handle)
}
