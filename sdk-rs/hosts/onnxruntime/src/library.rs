//! The device of a library, and its operators.

use std::ffi::CString;
use std::sync::OnceLock;

use tenon::device::{DataType, Device, Plugin};
use tenon_operators::{Compositions, Operators};

/// The kind of memory that a device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Only the device can access it: the host copies tensors to the device and back.
    OfTheDevice,
    /// It is host memory: tensors of the host are used where they are.
    OfTheHost,
}

/// A device with its operators, as an execution provider.
#[allow(missing_debug_implementations, reason = "it consists of functions")]
pub struct Library {
    pub(crate) name: CString,
    pub(crate) vendor: CString,
    pub(crate) vendor_id: u32,
    pub(crate) version: CString,
    pub(crate) memory: Memory,
    pub(crate) device: Box<dyn Device>,
    pub(crate) operators: &'static dyn Operators,
    compositions: OnceLock<Compositions>,
}

/// The number of a vendor that has none at the PCI-SIG. The host only compares it.
const NO_VENDOR: u32 = 0xFFFF;

impl Library {
    /// Describes a device that implements both `Device` and `Operators`.
    pub fn new<D: Plugin<Instance = D> + Operators>() -> Self {
        Self::with_operators::<D>(D::instance())
    }

    /// Describes a device whose operators belong to another type.
    pub fn with_operators<D: Plugin>(operators: &'static dyn Operators) -> Self {
        let path = std::any::type_name::<D>();
        let name = path.rsplit_once("::").map_or(path, |(_, name)| name);
        Self::of_device(Box::new(D::whole()), operators)
            .with_name(&format!("{name}ExecutionProvider"))
            .with_vendor(name, NO_VENDOR)
    }

    /// Describes a device that is not a plugin in Rust, such as a [`Loaded`](tenon::device::Loaded) table.
    pub fn of_device(device: Box<dyn Device>, operators: &'static dyn Operators) -> Self {
        Self {
            name: text("DeviceExecutionProvider"),
            vendor: text("none"),
            vendor_id: NO_VENDOR,
            version: text("0.0.0"),
            memory: Memory::OfTheDevice,
            device,
            operators,
            compositions: OnceLock::new(),
        }
    }

    /// Sets the name by which programs select the provider. ONNX Runtime's own names end in `ExecutionProvider`.
    #[must_use]
    pub fn with_name(self, name: &str) -> Self {
        Self { name: text(name), ..self }
    }

    /// Sets the vendor that programs see. `id` is its number at the PCI-SIG, or another one that no vendor has: the host
    /// takes memory of two devices for the same if they have the same number.
    #[must_use]
    pub fn with_vendor(self, name: &str, id: u32) -> Self {
        Self { vendor: text(name), vendor_id: id, ..self }
    }

    /// Sets the version, which must be a semantic version such as `1.2.0`.
    #[must_use]
    pub fn with_version(self, version: &str) -> Self {
        Self { version: text(version), ..self }
    }

    /// Lets the device use tensors where the host has them, without copies and without streams.
    ///
    /// # Safety
    /// The operators accept host memory, and compute before their call returns.
    #[must_use]
    pub unsafe fn with_host_memory(self) -> Self {
        Self { memory: Memory::OfTheHost, ..self }
    }

    /// Returns the methods that are composed of those of the device.
    pub(crate) fn compositions(&self) -> &Compositions {
        self.compositions.get_or_init(|| Compositions::of(self.operators))
    }

    /// Returns true if the device has a method for an element type, or if it is composed of others.
    pub(crate) fn provides(&self, method: &str, ty: DataType) -> bool {
        self.operators.provides(method, ty) || self.compositions().has(method, ty)
    }
}

/// Returns a text for C. What follows a null character is cut off.
fn text(text: impl Into<String>) -> CString {
    let mut text: String = text.into();
    text.truncate(text.find('\0').unwrap_or(text.len()));
    // No null character is left.
    CString::new(text).unwrap_or_default()
}

/// Exports the entry points of an execution provider. Use this macro exactly once in a library.
///
/// `library!(MyNpu)` is for a device that implements both traits. `library!(@ EXPRESSION)` takes a [`Library`].
#[macro_export]
macro_rules! library {
    ($device:ty) => {
        $crate::library!(@ $crate::Library::new::<$device>().with_version(env!("CARGO_PKG_VERSION")));
    };
    (@ $library:expr) => {
        /// Makes the factory of the library. ONNX Runtime calls it when a program registers the library.
        ///
        /// # Safety
        /// `base` is the `OrtApiBase` of ONNX Runtime, and there is room for `capacity` factories.
        #[allow(non_snake_case, reason = "ONNX Runtime looks the name up")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn CreateEpFactories(
            name: *const ::std::ffi::c_char,
            base: *const ::std::ffi::c_void,
            logger: *const ::std::ffi::c_void,
            factories: *mut *mut ::std::ffi::c_void,
            capacity: usize,
            count: *mut usize,
        ) -> *mut ::std::ffi::c_void {
            static LIBRARY: ::std::sync::LazyLock<$crate::Library> = ::std::sync::LazyLock::new(|| $library);
            // SAFETY: the caller's promise.
            unsafe { $crate::create_factories(::std::sync::LazyLock::force(&LIBRARY), name, base, logger, factories, capacity, count) }
        }

        /// Releases the factory of the library.
        ///
        /// # Safety
        /// `factory` is one of this library, and nothing uses it any more.
        #[allow(non_snake_case, reason = "ONNX Runtime looks the name up")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn ReleaseEpFactory(factory: *mut ::std::ffi::c_void) -> *mut ::std::ffi::c_void {
            // SAFETY: the caller's promise.
            unsafe { $crate::release_factory(factory) }
        }
    };
}
