//! Loading plugins, and telling about those that are loaded or were refused.

use std::ffi::{CString, c_char};
use std::ptr::null;

use tenon::device::Release;
use tenon_host::{Binding, LoadOptions, Plugin};

use crate::call::export;
use crate::error::Failure;
use crate::library::{self, Lifecycle};
use crate::plugin_table::{adopt, hold, withdraw};
use crate::text::{optional, path, place, required};
use crate::{PluginHandle, Status};

/// How a plugin is loaded. [C] Set `size` to `sizeof(tenon_load_options)`; what is left zero is the usual.
/// [Python] What is left out is the usual.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PluginLoadOptions {
    /// Size of this struct in bytes.
    pub size: usize,
    /// The release that the plugin was built for, such as `"3.1"`, for one that does not show it. A wrong one is an error.
    pub release: *const c_char,
    /// What the plugin is called; `null`: the name in the manifest, or that of the file.
    pub name: *const c_char,
    /// True if symbols that the library does not find may stay open until they are called, which then ends the process.
    pub lazy: bool,
}

/// What is known of a plugin. The texts are the library's and stay until the plugin is unloaded.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PluginInfo {
    /// Its name in messages.
    pub name: *const c_char,
    /// The library; `null` for the built-in device.
    pub path: *const c_char,
    /// The name under which its devices are opened.
    pub device_type: *const c_char,
    /// A finer type, if the plugin states one; else `null`.
    pub sub_device_type: *const c_char,
    /// The release whose table it filled; `null` for the built-in device, which has no table.
    pub release: *const c_char,
    /// How the release was found, as a clause that begins with the plugin as "it".
    pub recognition: *const c_char,
    /// The version of the interface that it states: major, minor, patch.
    pub version: [usize; 3],
    /// How many of its devices are open now.
    pub open_devices: usize,
}

/// Something that was to be loaded and was not. The texts are the library's and stay until it is shut down.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PluginFailure {
    /// The library, the manifest, or the folder that could not be read.
    pub path: *const c_char,
    /// Why it was not loaded.
    pub reason: *const c_char,
}

/// Loads a plugin, or finds it if it is loaded already.
///
/// The library behind it is opened and asked which release it was built for; nothing is initialised before one of its
/// devices is opened. A plugin that cannot be used is an error and nothing worse; but opening a library runs its code,
/// so a path should come from somebody who may choose what runs here.
///
/// @param[in] path A library, or a manifest that ends in `.json`.
/// @param[in] options How it is loaded; may be `null`.
/// @param[out] plugin The plugin.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_NOT_FOUND There is no such file.
/// @retval TENON_LOAD_FAILED It cannot be loaded; the last error says why, and what to do.
/// @retval TENON_INVALID_ARGUMENT `path` is `null`, or `options` are not what they should be; or this call begins the
///     library, and `TENON_LAYERS` names what is no layer. [C] Or `plugin` is `null`.
/// @retval TENON_BUSY The call comes from inside of another one or from a callback of a stream.
/// @par Threads
///     Any thread, also several at once; they wait for each other.
///
/// # Safety
/// `path` and the texts in `options` are null or texts; `plugin` is null or can be written.
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
        let loaded = adopt(Plugin::load(&file, &options)?)?;
        library::list(&lifecycle, loaded.clone());
        // SAFETY: checked to be not null and aligned; writable by the caller's promise.
        unsafe { plugin.write(PluginHandle(loaded.handle)) };
        Ok(())
    })
}

/// # Safety
/// `options` are null, or can be read, with texts that are null or texts.
unsafe fn load_options(options: *const PluginLoadOptions) -> Result<LoadOptions, Failure> {
    // SAFETY: the caller's promise.
    let Some(options) = (unsafe { library::options(options)? }) else { return Ok(LoadOptions::default()) };
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
/// @param[in] plugin The plugin; its handle leads nowhere afterwards.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_HANDLE It is no loaded plugin.
/// @retval TENON_INVALID_ARGUMENT It is the built-in device, which stays.
/// @retval TENON_BUSY One of its devices is open, or a thread is inside of a call to it; or the call comes from inside
///     of another one or from a callback of a stream.
/// @retval other What the plugin's `finalize` answered; the plugin is gone nevertheless.
/// @par Threads
///     Any thread, also several at once; they wait for each other.
#[unsafe(no_mangle)]
pub extern "C" fn tenon_unload_plugin(plugin: PluginHandle) -> Status {
    export("tenon_unload_plugin", || {
        let lifecycle = Lifecycle::begin()?;
        let built_in = hold(plugin.0)?.is_built_in();
        if built_in {
            return Err(Failure::invalid("the built-in device cannot be unloaded"));
        }
        let gone = withdraw(plugin.0)?;
        library::unlist(&lifecycle, plugin.0);
        let ended = gone.finalize(&lifecycle);
        library::forget_in_layers(&lifecycle, &gone);
        ended
    })
}

/// Counts the plugins that are loaded, the built-in device among them.
///
/// @param[out] count Their number.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_ARGUMENT This call begins the library, and `TENON_LAYERS` names what is no layer.
///     [C] Or `count` is `null`.
/// @par Threads
///     Any thread, also several at once.
///
/// # Safety
/// `count` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_plugin_count(count: *mut usize) -> Status {
    export("tenon_plugin_count", || {
        let count = place("count", count)?;
        library::running()?;
        // SAFETY: checked to be not null and aligned; writable by the caller's promise.
        unsafe { count.write(library::plugins().len()) };
        Ok(())
    })
}

/// Gives the plugin at a place: first the built-in device, then the others as they were found and loaded.
///
/// @param[in] index The place, from 0.
/// @param[out] plugin The plugin.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_NOT_FOUND There are not so many.
/// @retval TENON_INVALID_ARGUMENT This call begins the library, and `TENON_LAYERS` names what is no layer.
///     [C] Or `plugin` is `null`.
/// @par Threads
///     Any thread, also several at once.
///
/// # Safety
/// `plugin` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_plugin_get(index: usize, plugin: *mut PluginHandle) -> Status {
    export("tenon_plugin_get", || {
        let plugin = place("plugin", plugin)?;
        library::running()?;
        let plugins = library::plugins();
        let found = plugins.get(index).ok_or_else(|| {
            Failure::not_found(format!("there is no plugin {index}; there are {}", plugins.len()))
        })?;
        // SAFETY: checked to be not null and aligned; writable by the caller's promise.
        unsafe { plugin.write(PluginHandle(found.handle)) };
        Ok(())
    })
}

/// Finds the plugin of a device type: of several the first, in the order of #tenon_plugin_get.
///
/// @param[in] device_type The type; `null`: the built-in device.
/// @param[out] plugin The plugin.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_NOT_FOUND No plugin has such devices; the last error names those that there are.
/// @retval TENON_INVALID_ARGUMENT This call begins the library, and `TENON_LAYERS` names what is no layer.
///     [C] Or `plugin` is `null`.
/// @par Threads
///     Any thread, also several at once.
///
/// # Safety
/// `device_type` is null or a text; `plugin` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_plugin_find(device_type: *const c_char, plugin: *mut PluginHandle) -> Status {
    export("tenon_plugin_find", || {
        let plugin = place("plugin", plugin)?;
        library::running()?;
        // SAFETY: the caller's promise.
        let found = library::of_type(unsafe { optional(device_type) })?;
        // SAFETY: checked to be not null and aligned; writable by the caller's promise.
        unsafe { plugin.write(PluginHandle(found.handle)) };
        Ok(())
    })
}

/// Tells what is known of a plugin.
///
/// @param[in] plugin The plugin.
/// @param[out] info What is known.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_HANDLE It is no loaded plugin.
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
            open_devices: plugin.open_devices(),
        };
        // SAFETY: checked to be not null and aligned; writable by the caller's promise.
        unsafe { info.write(known) };
        Ok(())
    })
}

/// Tells what was found in the places of `TENON_PLUGIN_PATH` and could not be loaded.
///
/// [C] If `failures` is `null`, `count` gets how many there are. Otherwise it holds for how many there is room, and gets
/// how many were written.
///
/// @param[out] failures The failures. [C] May be `null`.
/// @param[in,out] count Their number.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_ARGUMENT This call begins the library, and `TENON_LAYERS` names what is no layer.
///     [C] Or `count` is `null`, or the room is too small; then `count` gets what is needed.
/// @par Threads
///     Any thread, also several at once.
///
/// # Safety
/// `count` is null, or can be read and written; `failures` is null or has room for `*count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_plugin_failures(failures: *mut PluginFailure, count: *mut usize) -> Status {
    export("tenon_plugin_failures", || {
        library::running()?;
        let known = library::failures();
        let known: Vec<PluginFailure> = known
            .iter()
            .map(|failed| PluginFailure { path: failed.path.as_ptr(), reason: failed.reason.as_ptr() })
            .collect();
        // SAFETY: the caller's promise.
        unsafe { crate::text::hand_out(&known, failures, count) }
    })
}
