//! Devices: counting, opening and closing them, the current device, and device information.

pub(crate) mod pool;
pub mod report;
pub(crate) mod table;

use std::ffi::{c_char, c_int};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tenon::device::{DeviceId, Function};

use crate::call::text::{optional, place};
use crate::call::thread_state;
use crate::call::{enter, export, export_on};
use crate::devices::table::{DeviceGuard, OpenDevice};
use crate::error::Failure;
use crate::library::lifecycle::{self, Lifecycle, hold_ready};
use crate::plugins::loaded::LoadedPlugin;
use crate::plugins::table::hold;
use crate::{DeviceHandle, PluginHandle, Status, buffer};

/// The time for which closing waits for calls of other threads.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Opens a device of a plugin, or returns it if it is already open.
pub(crate) fn open_of(
    lifecycle: &Lifecycle,
    plugin: &Arc<LoadedPlugin>,
    ordinal: c_int,
) -> Result<usize, Failure> {
    lifecycle.make_ready(plugin)?;
    let device = plugin.device()?;
    let list = device.get_device_list()?;
    let index = usize::try_from(ordinal).unwrap_or(usize::MAX);
    let number = list.get(index).ok_or_else(|| {
        let there = match list.len() {
            0 => "is none".to_owned(),
            1 => "is one".to_owned(),
            count => format!("are {count}"),
        };
        Failure::not_found(format!("there is no device {}:{ordinal}; there {there}", plugin.device_type()))
    })?;
    let id = i32::try_from(*number).map(DeviceId).map_err(|_| {
        Failure::new(
            <Status as tenon::StatusCode>::INTERNAL,
            format!("the plugin's device {index} has the number {number}, which is not valid"),
        )
    })?;
    if let Some(handle) = table::find(plugin.handle, id) {
        DeviceGuard::of(handle)?.open_again();
        return Ok(handle);
    }
    let begun = device.init_device(id);
    thread_state::forget_selected_device(plugin.handle);
    begun?;
    table::publish(plugin.clone(), device.clone(), id, index).inspect_err(|_| {
        // The caller needs the error of the opening, not one of this cleanup.
        let _ = device.deinit_device(id);
    })
}

/// Returns the number of a plugin's devices.
pub(crate) fn device_count(plugin: &LoadedPlugin) -> Result<usize, Failure> {
    /// A larger number can only be a mistake of the plugin.
    const MOST: usize = 1 << 16;
    match plugin.device()?.get_device_count()? {
        count if count > MOST => Err(Failure::new(
            <Status as tenon::StatusCode>::INTERNAL,
            format!(
                "the plugin of `{}` reports {count} devices; at most {MOST} are supported",
                plugin.device_type()
            ),
        )),
        count => Ok(count),
    }
}

/// Waits for all work on a device, if its plugin can.
pub(crate) fn wait_for(handle: usize) -> Result<(), Failure> {
    let device = enter(handle)?;
    // Hosts also load plugins that lack the function, and their devices must be closable too.
    if device.plugin.lacks(Function::SynchronizeDevice) {
        return Ok(());
    }
    Ok(device.device().synchronize_device(device.id)?)
}

/// Frees all memory of a device's pool.
fn give_back(handle: usize) -> Result<(), Failure> {
    let device = enter(handle)?;
    device.pool.get().map_or(Ok(0), |pool| pool.trim(0)).map(drop)?;
    Ok(())
}

/// Closes a device completely, if `may` returns success after all calls to it have returned. Frees the
/// memory of the pool first.
pub(crate) fn end(
    _: &Lifecycle,
    handle: usize,
    may: impl FnOnce(&OpenDevice) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let device = table::withdraw(handle, PATIENCE, may)?;
    buffer::forget(handle);
    thread_state::clear_current();
    thread_state::set_selected_device(device.plugin.handle, None);
    let OpenDevice { plugin, id, pool, .. } = device;
    let device = plugin.device()?;
    // Plugins free memory on the current device of the thread. If the device cannot be made current,
    // freeing fails with its own error.
    let selected = device.set_device(id);
    drop(pool);
    let ended = device.deinit_device(id);
    selected?;
    Ok(ended?)
}

/// Counts the devices of a type, open or not.
///
/// Initialises the plugin if necessary.
///
/// @param[in] type The type; `null`: that of the built-in device.
/// @param[out] count The number of devices.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_NOT_FOUND No plugin has devices of this type.
/// @retval TENON_INVALID_ARGUMENT The call initialises the library, and `TENON_LAYERS` names an unknown
///     layer. [C] Or `count` is `null`.
/// @retval TENON_BUSY The plugin is not initialised, and the call is made from inside another call or from a
/// stream callback.
/// @retval other The status that the plugin returned.
/// @par Threads
///     Any thread, also several at once.
///
/// # Safety
/// `type` is null or a NUL-terminated string; `count` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_device_count(r#type: *const c_char, count: *mut usize) -> Status {
    export("tenon_device_count", || {
        let count = place("count", count)?;
        lifecycle::running()?;
        // SAFETY: the caller's promise.
        let plugin = hold_ready(lifecycle::of_type(unsafe { optional(r#type) })?.handle)?;
        let found = device_count(&plugin)?;
        // SAFETY: checked to be not null and aligned; writable by the caller's promise.
        unsafe { count.write(found) };
        Ok(())
    })
}

/// Opens a device of a type: initialises its plugin and then the device, each once.
///
/// If the device is already open, returns the same handle. The device stays open until it has been closed
/// as often as it was opened.
///
/// @param[in] type The type; `null`: the built-in CPU device, `cpu`. If several plugins have the type, the
/// first one is used.
/// @param[in] ordinal The index of the device, from 0.
/// @param[out] device The device.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_NOT_FOUND There is no such device.
/// @retval TENON_INVALID_ARGUMENT The call initialises the library, and `TENON_LAYERS` names an unknown
///     layer. [C] Or `device` is `null`.
/// @retval TENON_BUSY The call is made from inside another call or from a stream callback, or 256
///     devices are open.
/// @retval other The status that the plugin returned.
/// @par Threads
///     Any thread, also several at once; the calls run one after the other.
///
/// # Safety
/// `type` is null or a NUL-terminated string; `device` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_device_open(
    r#type: *const c_char,
    ordinal: c_int,
    device: *mut DeviceHandle,
) -> Status {
    export("tenon_device_open", || {
        let device = place("device", device)?;
        let lifecycle = Lifecycle::begin()?;
        // SAFETY: the caller's promise.
        let plugin = lifecycle::of_type(unsafe { optional(r#type) })?;
        let handle = open_of(&lifecycle, &plugin, ordinal)?;
        // SAFETY: checked to be not null and aligned; writable by the caller's promise.
        unsafe { device.write(DeviceHandle(handle)) };
        Ok(())
    })
}

/// Opens a device of a given plugin, for device types that several plugins have.
///
/// @param[in] plugin The plugin.
/// @param[in] ordinal The index of the device, from 0.
/// @param[out] device The device.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_HANDLE `plugin` is not a loaded plugin.
/// @retval TENON_NOT_FOUND There is no such device.
/// @retval TENON_INVALID_ARGUMENT [C] `device` is `null`.
/// @retval TENON_BUSY The call is made from inside another call or from a stream callback, or 256
///     devices are open.
/// @retval other The status that the plugin returned.
/// @par Threads
///     Any thread, also several at once; the calls run one after the other.
///
/// # Safety
/// `device` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_plugin_open_device(
    plugin: PluginHandle,
    ordinal: c_int,
    device: *mut DeviceHandle,
) -> Status {
    export("tenon_plugin_open_device", || {
        let device = place("device", device)?;
        let lifecycle = Lifecycle::begin()?;
        let plugin = hold(plugin.0)?;
        let handle = open_of(&lifecycle, &plugin, ordinal)?;
        // SAFETY: checked to be not null and aligned; writable by the caller's promise.
        unsafe { device.write(DeviceHandle(handle)) };
        Ok(())
    })
}

/// Closes a device once. The last closing waits for the device's work, frees the pool's memory, and shuts the
/// device down.
///
/// @param[in] device The device; after the last closing the handle is invalid.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_HANDLE `device` is not an open device.
/// @retval TENON_BUSY Buffers or memory of its pool are in use, or calls of other threads do not end within
/// 10 seconds, or the call is made from inside another call or from a stream callback. The device stays open.
/// @retval other The status that the plugin returned. After a failure of `synchronize_device` or
/// `device_memory_deallocate` the device stays open; after one of `deinit_device` it is closed nevertheless.
/// @par Threads
///     Any thread, but not a stream callback. Waits for running calls of other threads.
#[unsafe(no_mangle)]
pub extern "C" fn tenon_device_close(device: DeviceHandle) -> Status {
    export("tenon_device_close", || close(device.0))
}

/// Closes a device once.
pub(crate) fn close(handle: usize) -> Result<(), Failure> {
    drop(DeviceGuard::of(handle)?);
    let lifecycle = Lifecycle::begin()?;
    {
        let device = DeviceGuard::of(handle)?;
        if device.close_shared() {
            return Ok(());
        }
        // Checked here to fail early, and again when no call can change the result any more.
        may_close(&device)?;
    }
    wait_for(handle)?;
    give_back(handle)?;
    end(&lifecycle, handle, may_close)
}

/// Succeeds if no buffer and no other memory of the device's pool is in use.
fn may_close(device: &OpenDevice) -> Result<(), Failure> {
    match device.buffers.load(Ordering::Acquire) {
        0 => {}
        count => return Err(Failure::busy(format!("buffers of {} are in use: {count}", device.name()))),
    }
    match device.pool.get().map_or(0, |pool| pool.statistics().in_use) {
        0 => Ok(()),
        bytes => Err(Failure::busy(format!("{bytes} bytes of the pool of {} are in use", device.name()))),
    }
}

/// Makes a device the current one of the calling thread.
///
/// Functions that take a device do this themselves. Call it only if the program uses #tenon_device_current.
///
/// @param[in] device The device.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_HANDLE `device` is not an open device.
/// @retval other The status of the plugin's `set_device`.
/// @par Threads
///     Any thread, also several at once; each has its own current device.
#[unsafe(no_mangle)]
pub extern "C" fn tenon_device_make_current(device: DeviceHandle) -> Status {
    export_on("tenon_device_make_current", device, |_| Ok(()))
}

/// Gets the current device of the calling thread: the device of its last call.
///
/// @param[out] device The device.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_NOT_FOUND The thread has no current device, or the device is closed.
/// @retval TENON_INVALID_ARGUMENT [C] `device` is `null`.
/// @par Threads
///     Any thread, also several at once; each has its own current device.
///
/// # Safety
/// `device` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_device_current(device: *mut DeviceHandle) -> Status {
    export("tenon_device_current", || {
        let device = place("device", device)?;
        let current = thread_state::current();
        if DeviceGuard::of(current).is_err() {
            return Err(Failure::not_found("this thread has no current device"));
        }
        // SAFETY: checked to be not null and aligned; writable by the caller's promise.
        unsafe { device.write(DeviceHandle(current)) };
        Ok(())
    })
}

/// Information about a device. The strings belong to the library and stay valid until the plugin is unloaded.
///
/// A value that the plugin does not provide is 0 or false.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DeviceInfo {
    /// The device type, as for #tenon_device_open.
    pub r#type: *const c_char,
    /// The index among the plugin's devices.
    pub ordinal: c_int,
    /// The plugin.
    pub plugin: PluginHandle,
    /// The name of the plugin.
    pub plugin_name: *const c_char,
    /// Total memory in bytes.
    pub total_memory: usize,
    /// Free memory in bytes.
    pub free_memory: usize,
    /// The unit in bytes to which allocations are rounded up.
    pub min_chunk_size: usize,
    /// The compute capability, as in CUDA: ten times the major number plus the minor number.
    pub compute_capability: usize,
    /// Version of the runtime.
    pub runtime_version: usize,
    /// Version of the driver.
    pub driver_version: usize,
    /// Number of multiprocessors.
    pub multi_processors: usize,
    /// True if the device supports `float16`.
    pub float16: bool,
    /// True if the device supports `bfloat16`.
    pub bfloat16: bool,
    /// True if the host can read and write device memory at the device's address, once the work that uses the
    /// memory is done. True for the built-in device only; a plugin cannot state it.
    pub host_accessible: bool,
}

/// Gets information about a device.
///
/// @param[in] device The device.
/// @param[out] info The information.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_HANDLE `device` is not an open device.
/// @retval TENON_INVALID_ARGUMENT [C] `info` is `null`.
/// @par Threads
///     Any thread, also several at once.
///
/// # Safety
/// `info` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_device_get_info(device: DeviceHandle, info: *mut DeviceInfo) -> Status {
    export_on("tenon_device_get_info", device, |open| {
        let info = place("info", info)?;
        // SAFETY: checked to be not null and aligned; writable by the caller's promise.
        unsafe { info.write(describe(open)) };
        Ok(())
    })
}

fn describe(open: &DeviceGuard) -> DeviceInfo {
    let (device, id) = (open.device(), open.id);
    let (total_memory, free_memory) =
        device.device_memory_stats(id).map_or((0, 0), |memory| (memory.total_memory, memory.free_memory));
    DeviceInfo {
        r#type: open.plugin.c_device_type(),
        // The device was opened by an index of this type.
        ordinal: c_int::try_from(open.ordinal).unwrap_or(c_int::MAX),
        plugin: PluginHandle(open.plugin.handle),
        plugin_name: open.plugin.c_name(),
        total_memory,
        free_memory,
        min_chunk_size: device.device_min_chunk_size(id).unwrap_or(0),
        compute_capability: device.get_compute_capability(id).unwrap_or(0),
        runtime_version: device.get_runtime_version(id).unwrap_or(0),
        driver_version: device.get_driver_version(id).unwrap_or(0),
        multi_processors: device.get_multi_process(id).unwrap_or(0),
        float16: device.is_float16_supported(id).unwrap_or(false),
        bfloat16: device.is_bfloat16_supported(id).unwrap_or(false),
        host_accessible: open.plugin.is_built_in(),
    }
}
