//! The execution provider for ONNX Runtime.

use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use tenon::device::ffi::C_DeviceInterface;
use tenon::device::{Loaded, Release, WithFallbacks};
use tenon_onnxruntime::Library;
use tenon_operators::by_name::{Calls, LoadedOperators};

/// A provider as a plugin describes it. `tenon/onnxruntime_provider.h` has the documentation.
#[repr(C)]
#[derive(Debug)]
pub struct Provider {
    size: usize,
    name: *const c_char,
    vendor: *const c_char,
    version: *const c_char,
    vendor_id: u32,
    device: *const C_DeviceInterface,
    operators: Option<unsafe extern "C" fn() -> *const Calls>,
}

/// Makes the factory of a provider. `tenon/onnxruntime_provider.h` has the documentation.
///
/// # Safety
/// `provider` is null or describes a provider whose functions stay callable. The other arguments are those that ONNX Runtime
/// passes to `CreateEpFactories`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_onnxruntime_create_factories(
    provider: *const Provider,
    name: *const c_char,
    base: *const c_void,
    logger: *const c_void,
    factories: *mut *mut c_void,
    capacity: usize,
    count: *mut usize,
) -> *mut c_void {
    static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
    // SAFETY: the caller's promise.
    let described = || unsafe { describe(provider) };
    let library = LIBRARY.get_or_init(|| {
        catch_unwind(AssertUnwindSafe(described)).unwrap_or_else(|_| Err("the provider panicked".to_owned()))
    });
    // SAFETY: the caller's promise.
    unsafe {
        match library {
            Ok(library) => {
                tenon_onnxruntime::create_factories(library, name, base, logger, factories, capacity, count)
            }
            Err(reason) => tenon_onnxruntime::refuse_host(base, reason),
        }
    }
}

/// Releases a factory that [`tenon_onnxruntime_create_factories`] has made.
///
/// # Safety
/// `factory` is one of this library, and nothing uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_onnxruntime_release_factory(factory: *mut c_void) -> *mut c_void {
    // SAFETY: the caller's promise.
    unsafe { tenon_onnxruntime::release_factory(factory) }
}

/// # Safety
/// As for [`tenon_onnxruntime_create_factories`].
unsafe fn describe(provider: *const Provider) -> Result<Library, String> {
    // SAFETY: the caller's promise.
    let provider = unsafe { provider.as_ref() }.filter(|provider| provider.size >= size_of::<Provider>());
    let provider = provider.ok_or("the provider is null, or `size` is not sizeof(TenonProvider)")?;
    let text = |text: *const c_char, what: &str| {
        if text.is_null() {
            return Err(format!("the {what} of the provider is null"));
        }
        // SAFETY: not null; a string by the caller's promise.
        Ok(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    };
    let name = text(provider.name, "name")?;
    if provider.device.is_null() {
        return Err(format!("{name}: the table of the device is null"));
    }
    // SAFETY: the caller promises the table of the header that the plugin includes, and functions that stay callable.
    let (device, operators) = unsafe {
        let device =
            Loaded::from_table(Release::NEWEST, provider.device.cast_mut().cast(), None).named(&name);
        let operators = provider.operators.map_or(std::ptr::null(), |operators| operators());
        let operators =
            LoadedOperators::read(operators, &name).map_err(|error| format!("{name}: {error}"))?;
        (device, operators)
    };
    let device: &'static Loaded = Box::leak(Box::new(device));
    let operators: &'static LoadedOperators = Box::leak(Box::new(operators));
    let library = Library::of_device(Box::new(WithFallbacks(device)), operators)
        .with_name(&name)
        .with_vendor(&text(provider.vendor, "vendor")?, provider.vendor_id)
        .with_version(&text(provider.version, "version")?);
    Ok(library)
}
