//! The registration with PaddlePaddle.

use std::ffi::{CStr, CString, c_char, c_void};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use tenon::device::ffi::v2_6::CustomRuntimeParams;
use tenon::device::{Function, HandOverError, Loaded, Status, WithFallbacks, host_release};
use tenon::support;
use tenon_operators::by_name::{Calls, LoadedOperators, ReadError};
use tenon_paddle_operators::{Loaded as Host, register_device};

/// The reason why operators are not registered.
#[derive(Debug)]
enum RegisterError {
    /// The host is none that the spec describes.
    Host(HandOverError),
    /// The device type is null.
    NoDeviceType,
    /// The table of the device lacks a function that operators need.
    NoFunction(Function),
    /// The operators cannot be used.
    Operators(ReadError),
    /// The plugin has registered operators before.
    Twice,
    /// PaddlePaddle does not export a function that operators need, or refuses a kernel.
    Paddle(String),
    /// A panic of this library.
    Panic(String),
}

impl fmt::Display for RegisterError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(error) => error.fmt(formatter),
            Self::NoDeviceType => {
                write!(formatter, "`device_type` is null: set it before the operators are registered")
            }
            Self::NoFunction(function) => write!(
                formatter,
                "the device has no `{}`: fill its table before the operators are registered",
                function.name()
            ),
            Self::Operators(error) => error.fmt(formatter),
            Self::Twice => write!(formatter, "a plugin registers its operators once"),
            Self::Paddle(message) | Self::Panic(message) => write!(formatter, "{message}"),
        }
    }
}

impl std::error::Error for RegisterError {}

/// The functions of a device that kernels need, and that have no fallback.
const NEEDED: [Function; 3] = [Function::GetDevice, Function::MemoryCopyH2d, Function::MemoryCopyD2h];

/// Registers the operators of a plugin. `tenon/paddle_operators.h` has the documentation.
///
/// # Safety
/// `params` is null or what the host passed to `InitPlugin`, with the table and the device type that the plugin has
/// set. `operators` is null or what the plugin exports, with functions that stay callable. `message` is null or has room for
/// `message_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_paddle_register_operators(
    params: *const c_void,
    operators: *const c_void,
    message: *mut c_char,
    message_size: usize,
) -> Status {
    // SAFETY: the caller's promise.
    let registered = || unsafe { register(params, operators.cast()) };
    // A panic leaves operators without a host, and the process ends if PaddlePaddle throws an exception.
    let outcome = catch_unwind(AssertUnwindSafe(registered)).unwrap_or_else(|panic| {
        Err(RegisterError::Panic(format!("panicked: {}", support::panic_text(&*panic))))
    });
    let Err(error) = outcome else { return Status::SUCCESS };
    // SAFETY: the caller's promise.
    unsafe { support::write_message(&error.to_string(), message, message_size) };
    match error {
        RegisterError::Paddle(_) => Status::FAILED,
        RegisterError::Panic(_) => Status::INTERNAL_ERROR,
        _ => Status::ERROR,
    }
}

/// # Safety
/// As for [`tenon_paddle_register_operators`].
unsafe fn register(params: *const c_void, operators: *const Calls) -> Result<(), RegisterError> {
    // SAFETY: the caller's promise.
    let release = unsafe { host_release(params) }.map_err(RegisterError::Host)?;
    let params = params.cast::<CustomRuntimeParams>();
    // SAFETY: the sizes are those of a release, and the struct of each begins with the members of the oldest.
    let (device_table, device_type) =
        unsafe { ((&raw const (*params).interface).read(), (&raw const (*params).device_type).read()) };
    if device_type.is_null() {
        return Err(RegisterError::NoDeviceType);
    }
    // SAFETY: the plugin sets a string.
    let device_type: CString = unsafe { CStr::from_ptr(device_type) }.to_owned();
    let name = device_type.to_string_lossy();
    // SAFETY: the table has the layout of the release by its size, and the plugin has filled it.
    let device = unsafe { Loaded::from_table(release, device_table, None) }.named(&name);
    if let Some(function) = NEEDED.into_iter().find(|function| !device.has(*function)) {
        return Err(RegisterError::NoFunction(function));
    }
    // SAFETY: the caller's promise.
    let operators = unsafe { LoadedOperators::read(operators, &name) }.map_err(RegisterError::Operators)?;

    if IS_REGISTERED.load(Ordering::Relaxed) {
        return Err(RegisterError::Twice);
    }
    // Another host may load the plugin several times. It has no use for the first one either.
    let plugin = PLUGIN.get_or_init(|| Plugin { device, operators, device_type });
    let device = WithFallbacks(&plugin.device);
    let host = register_device(device, &plugin.operators, release, &plugin.device_type);
    if host.map_err(RegisterError::Paddle)? == Host::ByPaddle {
        IS_REGISTERED.store(true, Ordering::Relaxed);
    }
    Ok(())
}

/// A plugin as kernels use it, until the process ends.
struct Plugin {
    device: Loaded,
    operators: LoadedOperators,
    device_type: CString,
}

static PLUGIN: OnceLock<Plugin> = OnceLock::new();
static IS_REGISTERED: AtomicBool = AtomicBool::new(false);
