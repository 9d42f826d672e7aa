//! The device of a library, and its operators.

use std::sync::OnceLock;

use tenon::device::{DataType, Device, Plugin};
use tenon_operators::{Compositions, Operators};

/// A device with its operators, as a library for hosts of DIOPI.
#[allow(missing_debug_implementations, reason = "it consists of functions")]
pub struct Library {
    pub(crate) vendor_name: String,
    pub(crate) version: &'static str,
    pub(crate) device: &'static dyn Device,
    pub(crate) operators: &'static dyn Operators,
    compositions: OnceLock<Compositions>,
}

impl Library {
    /// Describes a device that implements both `Device` and `Operators`.
    pub fn new<D: Plugin<Instance = D> + Operators>() -> Self {
        Self::with_operators::<D>(D::instance())
    }

    /// Sets the name of the vendor and the device, which hosts display. Some test suites expect the word
    /// `Device` in it.
    #[must_use]
    pub fn with_vendor_name(self, name: impl Into<String>) -> Self {
        Self { vendor_name: name.into(), ..self }
    }

    /// Sets the version of the library to that of the package.
    #[doc(hidden)]
    #[must_use]
    pub fn of_package(self, version: &'static str) -> Self {
        Self { version, ..self }
    }

    /// Describes a device whose operators belong to another type.
    pub fn with_operators<D: Plugin>(operators: &'static dyn Operators) -> Self {
        let path = std::any::type_name::<D>();
        let name = path.rsplit_once("::").map_or(path, |(_, name)| name);
        Self {
            vendor_name: format!("{name} Device"),
            version: "",
            device: Box::leak(Box::new(D::whole())),
            operators,
            compositions: OnceLock::new(),
        }
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

unsafe extern "Rust" {
    /// Returns the library, which [`library!`](crate::library!) defines.
    safe fn tenon_diopi_library() -> &'static Library;
}

/// Returns the library that this crate is part of.
pub(crate) fn library() -> &'static Library {
    tenon_diopi_library()
}

/// Sets the device of the library. Use this macro exactly once in a library.
///
/// `library!(MyNpu)` is for a device that implements both traits. `library!(EXPRESSION)` takes a [`Library`].
#[macro_export]
macro_rules! library {
    ($device:ty) => {
        $crate::library!(@ $crate::Library::new::<$device>());
    };
    (@ $library:expr) => {
        #[doc(hidden)]
        #[unsafe(no_mangle)]
        fn tenon_diopi_library() -> &'static $crate::Library {
            static LIBRARY: std::sync::LazyLock<$crate::Library> = std::sync::LazyLock::new(|| {
                let library: $crate::Library = $library;
                library.of_package(concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")))
            });
            &LIBRARY
        }
    };
}
