//! Loads and unloads plugins, and reports the plugins that were loaded and the ones that failed to load.

pub(crate) mod loaded;
pub(crate) mod table;

use std::ffi::{CString, c_char};
use std::ptr::null;

use tenon::device::Release;
use tenon_loader::{Binding, LoadOptions, Plugin};

use crate::call::export;
use crate::call::sized::{self, WithSize};
use crate::call::text::{optional, path, place, required};
use crate::error::Failure;
use crate::library::lifecycle::{self, Lifecycle};
use crate::plugins::table::{hold, withdraw};
use crate::{PluginHandle, Status, devices};

/// Options of #tenon_plugin_load. [C] Set `size` to `sizeof(tenon_load_options)`; members that are zero have
/// their default. [Python] Options that are left out have their default.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PluginLoadOptions {
    /// Size of this struct in bytes.
    pub size: usize,
    /// The release that the plugin was built for, such as `"3.1"`, if the library cannot detect it. If the
    /// plugin contradicts it, loading fails.
    pub release: *const c_char,
    /// The name of the plugin; `null`: the name in the manifest, or of the file.
    pub name: *const c_char,
    /// True if unresolved symbols are accepted; calling one ends the process.
    pub lazy: bool,
}

// SAFETY: after the size it has pointers and a flag, which is 0 or 1 by the caller's promise.
unsafe impl WithSize for PluginLoadOptions {}

/// Information about a plugin. The strings belong to the library and stay valid until the plugin is unloaded.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PluginInfo {
    /// The name in messages.
    pub name: *const c_char,
    /// The path of the plugin's library; `null` for the built-in device.
    pub path: *const c_char,
    /// The device type, as for #tenon_device_open.
    pub device_type: *const c_char,
    /// The subtype, if the plugin states one; else `null`.
    pub sub_device_type: *const c_char,
    /// The release whose table the plugin filled; `null` for the built-in device, which has no table.
    pub release: *const c_char,
    /// The way in which the release was detected, as a clause whose subject "it" is the plugin.
    pub recognition: *const c_char,
    /// The version of the interface that the plugin states: major, minor, patch.
    pub version: [usize; 3],
    /// Number of open devices.
    pub open_devices: usize,
}

/// A plugin, manifest or folder that could not be loaded. The strings belong to the library and stay valid
/// until it is shut down.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PluginFailure {
    /// The library, the manifest, or the folder that could not be read.
    pub path: *const c_char,
    /// The reason.
    pub reason: *const c_char,
}

/// Loads a plugin, or finds it if it is already loaded.
///
/// Opens the plugin's library and detects the release that it was built for. The plugin is initialised when
/// the first of its devices is opened. If a plugin cannot be used, the call fails without other effects.
/// Opening a library runs its code, so load only libraries that you trust.
///
/// @param[in] path A library, or a manifest that ends in `.json`.
/// @param[in] options The options; may be `null`.
/// @param[out] plugin The plugin.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_NOT_FOUND There is no such file.
/// @retval TENON_LOAD_FAILED The plugin cannot be loaded; the last error has the reason and advice.
/// @retval TENON_INVALID_ARGUMENT `path` is `null`, or `options` are not valid; or the call initialises the
/// library, and `TENON_LAYERS` names an unknown layer. [C] Or `plugin` is `null`.
/// @retval TENON_BUSY The call is made from inside another call or from a stream callback.
/// @par Threads
///     Any thread, also several at once; the calls run one after the other.
///
/// # Safety
/// `path` and the strings in `options` are null or NUL-terminated; `plugin` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_load_plugin(
    path: *const c_char,
    options: *const PluginLoadOptions,
    plugin: *mut PluginHandle,
) -> Status {
    export("tenon_load_plugin", || {
        // SAFETY: the caller's promise.
        let file = self::path(unsafe { required("path", path) }?);
        let plugin = place("plugin", plugin)?;
        // SAFETY: the caller's promise.
        let options = unsafe { load_options(options) }?;
        let lifecycle = Lifecycle::begin()?;
        let loaded = lifecycle::adopt(&lifecycle, Plugin::load(&file, &options)?)?;
        lifecycle::list(&lifecycle, loaded.clone());
        // SAFETY: checked to be not null and aligned; writable by the caller's promise.
        unsafe { plugin.write(PluginHandle(loaded.handle)) };
        Ok(())
    })
}

/// # Safety
/// `options` is null or can be read; its strings are null or NUL-terminated.
unsafe fn load_options(options: *const PluginLoadOptions) -> Result<LoadOptions, Failure> {
    // SAFETY: the caller's promise.
    let Some(options) = (unsafe { sized::read(options)? }) else { return Ok(LoadOptions::default()) };
    // SAFETY: the caller's promise.
    let [release, name] = [options.release, options.name]
        .map(|text| unsafe { optional(text) }.map(|text| text.to_string_lossy().into_owned()));
    let release = match release {
        None => None,
        Some(name) => {
            Some(Release::ALL.into_iter().find(|release| release.name() == name).ok_or_else(|| {
                let known: Vec<&str> = Release::ALL.iter().map(|release| release.name()).collect();
                Failure::invalid(format!("there is no release `{name}`; known are {}", known.join(", ")))
            })?)
        }
    };
    Ok(LoadOptions {
        release,
        name,
        binding: if options.lazy { Binding::Later } else { Binding::AtOnce },
        ..LoadOptions::default()
    })
}

/// Unloads a plugin: calls `finalize` if it was initialised, and closes its library.
///
/// @param[in] plugin The plugin; its handle is invalid afterwards.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_HANDLE `plugin` is not a loaded plugin.
/// @retval TENON_INVALID_ARGUMENT `plugin` is the built-in device, which cannot be unloaded.
/// @retval TENON_BUSY A device of the plugin is open, or a thread is inside a call to it; or the call is made
/// from inside another call or from a stream callback.
/// @retval other The status of the plugin's `finalize`; the plugin has been unloaded nevertheless.
/// @par Threads
///     Any thread, also several at once; the calls run one after the other.
#[unsafe(no_mangle)]
pub extern "C" fn tenon_unload_plugin(plugin: PluginHandle) -> Status {
    export("tenon_unload_plugin", || {
        let lifecycle = Lifecycle::begin()?;
        let built_in = hold(plugin.0)?.is_built_in();
        if built_in {
            return Err(Failure::invalid("the built-in device cannot be unloaded"));
        }
        let gone = withdraw(plugin.0, || devices::table::count_of_plugin(plugin.0))?;
        lifecycle::unlist(&lifecycle, plugin.0);
        let ended = gone.finalize(&lifecycle);
        lifecycle::forget_in_layers(&lifecycle, &gone);
        ended
    })
}

/// Counts the loaded plugins, including the built-in device.
///
/// @param[out] count The number of plugins.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_ARGUMENT The call initialises the library, and `TENON_LAYERS` names an unknown
///     layer. [C] Or `count` is `null`.
/// @par Threads
///     Any thread, also several at once.
///
/// # Safety
/// `count` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_plugin_count(count: *mut usize) -> Status {
    export("tenon_plugin_count", || {
        let count = place("count", count)?;
        lifecycle::running()?;
        // SAFETY: checked to be not null and aligned; writable by the caller's promise.
        unsafe { count.write(lifecycle::plugins().len()) };
        Ok(())
    })
}

/// Gets a plugin by index: first the built-in device, then the others in the order in which they were loaded.
///
/// @param[in] index The index, from 0.
/// @param[out] plugin The plugin.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_NOT_FOUND The index is not less than the number of plugins.
/// @retval TENON_INVALID_ARGUMENT The call initialises the library, and `TENON_LAYERS` names an unknown
///     layer. [C] Or `plugin` is `null`.
/// @par Threads
///     Any thread, also several at once.
///
/// # Safety
/// `plugin` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_plugin_get(index: usize, plugin: *mut PluginHandle) -> Status {
    export("tenon_plugin_get", || {
        let plugin = place("plugin", plugin)?;
        lifecycle::running()?;
        let plugins = lifecycle::plugins();
        let found = plugins.get(index).ok_or_else(|| {
            Failure::not_found(format!("there is no plugin {index}; there are {}", plugins.len()))
        })?;
        // SAFETY: checked to be not null and aligned; writable by the caller's promise.
        unsafe { plugin.write(PluginHandle(found.handle)) };
        Ok(())
    })
}

/// Finds the first plugin of a device type, in the order of #tenon_plugin_get.
///
/// @param[in] device_type The type; `null`: the built-in device.
/// @param[out] plugin The plugin.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_NOT_FOUND No plugin has devices of this type; the last error lists the types that exist.
/// @retval TENON_INVALID_ARGUMENT The call initialises the library, and `TENON_LAYERS` names an unknown
///     layer. [C] Or `plugin` is `null`.
/// @par Threads
///     Any thread, also several at once.
///
/// # Safety
/// `device_type` is null or a NUL-terminated string; `plugin` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_plugin_find(device_type: *const c_char, plugin: *mut PluginHandle) -> Status {
    export("tenon_plugin_find", || {
        let plugin = place("plugin", plugin)?;
        lifecycle::running()?;
        // SAFETY: the caller's promise.
        let found = lifecycle::of_type(unsafe { optional(device_type) })?;
        // SAFETY: checked to be not null and aligned; writable by the caller's promise.
        unsafe { plugin.write(PluginHandle(found.handle)) };
        Ok(())
    })
}

/// Gets information about a plugin.
///
/// @param[in] plugin The plugin.
/// @param[out] info The information.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_HANDLE `plugin` is not a loaded plugin.
/// @retval TENON_INVALID_ARGUMENT [C] `info` is `null`.
/// @par Threads
///     Any thread, also several at once.
///
/// # Safety
/// `info` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_plugin_get_info(plugin: PluginHandle, info: *mut PluginInfo) -> Status {
    export("tenon_plugin_get_info", || {
        let plugin = hold(plugin.0)?;
        let info = place("info", info)?;
        let text = |text: &Option<CString>| text.as_ref().map_or(null(), |text| text.as_ptr());
        let known = PluginInfo {
            name: plugin.c_name(),
            path: text(&plugin.texts.path),
            device_type: plugin.c_device_type(),
            sub_device_type: text(&plugin.texts.sub_device_type),
            release: text(&plugin.texts.release),
            recognition: plugin.texts.recognition.as_ptr(),
            version: plugin.host.version(),
            open_devices: devices::table::count_of_plugin(plugin.handle),
        };
        // SAFETY: checked to be not null and aligned; writable by the caller's promise.
        unsafe { info.write(known) };
        Ok(())
    })
}

/// Lists the files and folders of `TENON_PLUGIN_PATH` that could not be loaded.
///
/// [C] If `failures` is `null`, `count` gets the number of failures. Otherwise `count` holds the capacity of
/// `failures`, and gets the number of failures that were written.
///
/// @param[out] failures The failures. [C] May be `null`.
/// @param[in,out] count The number of failures.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_ARGUMENT The call initialises the library, and `TENON_LAYERS` names an unknown
///     layer. [C] Or `count` is `null`, or the capacity is too small; then `count` gets the capacity that is
///     needed.
/// @par Threads
///     Any thread, also several at once.
///
/// # Safety
/// `count` is null, or can be read and written; `failures` is null or has space for `*count` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_plugin_failures(failures: *mut PluginFailure, count: *mut usize) -> Status {
    export("tenon_plugin_failures", || {
        lifecycle::running()?;
        let known = lifecycle::failures();
        let known: Vec<PluginFailure> = known
            .iter()
            .map(|failed| PluginFailure { path: failed.path.as_ptr(), reason: failed.reason.as_ptr() })
            .collect();
        // SAFETY: the caller's promise.
        unsafe { crate::call::text::hand_out(&known, failures, count) }
    })
}
