//! The table of loaded plugins, and the guards that keep them loaded.

use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tenon_loader::Plugin;

use crate::call::thread_state::Inside;
use crate::error::Failure;
use crate::handles::{HandleKind, Handles};
use crate::plugins::loaded::LoadedPlugin;

static PLUGINS: Handles<LoadedPlugin> = Handles::new(HandleKind::Plugin);

/// Keeps a plugin loaded, and marks the thread as inside a call.
#[must_use = "the plugin may be unloaded once this is dropped"]
pub(crate) struct PluginGuard {
    plugin: Arc<LoadedPlugin>,
    _inside: Inside,
}

impl Deref for PluginGuard {
    type Target = Arc<LoadedPlugin>;

    fn deref(&self) -> &Arc<LoadedPlugin> {
        &self.plugin
    }
}

impl Drop for PluginGuard {
    fn drop(&mut self) {
        self.plugin.remove_guard();
    }
}

/// Finds the plugin of a handle, and keeps it loaded.
pub(crate) fn hold(handle: usize) -> Result<PluginGuard, Failure> {
    PLUGINS.with(handle, |plugin| {
        plugin.add_guard();
        PluginGuard { plugin: plugin.clone(), _inside: Inside::new() }
    })
}

/// Finds the plugin of a handle. Does not keep it loaded.
pub(crate) fn find(handle: usize) -> Result<Arc<LoadedPlugin>, Failure> {
    PLUGINS.get(handle)
}

/// Adds a plugin to the table, unless it is already there. `host` is the plugin as programs should see it.
pub(crate) fn adopt(origin: Arc<Plugin>, host: Arc<Plugin>) -> Result<Arc<LoadedPlugin>, Failure> {
    let known = PLUGINS.table.all();
    if let Some(known) = known.iter().find(|known| Arc::ptr_eq(&known.origin, &origin)) {
        return Ok(known.clone());
    }
    let taken = |key: &str| known.iter().any(|known| known.key() == key);
    let key = (1..)
        .map(|number| if number == 1 { host.name().to_owned() } else { format!("{}#{number}", host.name()) })
        .find(|key| !taken(key))
        .unwrap_or_default();
    let (_, plugin) = PLUGINS.insert_with(|handle| LoadedPlugin::new(handle, key, origin, host))?;
    Ok(plugin)
}

/// Removes the handles of all plugins, after all calls to them have returned. Removes none if a call does
/// not return in time.
pub(crate) fn withdraw_all(patience: Duration) -> Result<(), Failure> {
    let begun = Instant::now();
    let idle = |plugin: &LoadedPlugin| {
        if !plugin.has_guards() {
            Ok(())
        } else {
            Err(Failure::busy(format!("a call to the plugin {} does not return", plugin.name())))
        }
    };
    loop {
        match PLUGINS.table.remove_all_if(idle) {
            Err(_) if begun.elapsed() <= patience => std::thread::sleep(Duration::from_micros(50)),
            outcome => return outcome.map(drop),
        }
    }
}

/// Removes the handle of a plugin, if it is not in use. `open_devices` counts its open devices.
pub(crate) fn withdraw(
    handle: usize,
    open_devices: impl FnOnce() -> usize,
) -> Result<Arc<LoadedPlugin>, Failure> {
    PLUGINS.remove_if(handle, |plugin| match open_devices() {
        0 if !plugin.has_guards() => Ok(()),
        0 => Err(Failure::busy("another thread is inside a call to the plugin")),
        1 => Err(Failure::busy("a device of the plugin is open")),
        open => Err(Failure::busy(format!("{open} devices of the plugin are open"))),
    })
}
