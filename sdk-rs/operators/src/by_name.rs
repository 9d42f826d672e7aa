//! Calls of operators by name: the function that a plugin exports, and its arguments.
//!
//! libtenon finds the operators of a plugin by the symbol `tenon_operator_calls`, which [`export_operators!`] defines. The
//! function returns [`Calls`]. The arguments of a call are those of the method: outputs, inputs, the seed and the offset of
//! random numbers, and attributes.
//!
//! The caller and the plugin may have different releases of the spec. The last attributes may be missing: they have their
//! defaults then. A method refuses arguments beyond those that it knows.
//!
//! [`export_operators!`]: crate::export_operators

mod arguments;
mod entry;
mod loaded;
mod methods;
mod packed;
mod run;
mod serve;

use std::ffi::{c_char, c_void};

use tenon::device::ffi::C_Device;
use tenon::device::{DataType, Status, ffi};

pub use arguments::Arguments;
pub use loaded::{LoadedOperators, ReadError};
#[cfg(test)]
pub(crate) use methods::find;
pub use methods::{call_method, exists};
pub use packed::{Pack, Packed};
pub use serve::{call, provides};

/// The name of the function that a plugin exports.
pub const SYMBOL: &str = "tenon_operator_calls";

/// The type of that function. Its result lives as long as the library, and is null if there are no operators.
pub type Export = unsafe extern "C-unwind" fn() -> *const Calls;

/// The functions that call the operators of a plugin.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Calls {
    /// Size of this struct in bytes. A later version may append members.
    pub size: usize,
    /// Returns true if a method is implemented for elements of a type.
    pub provides: unsafe extern "C-unwind" fn(*const c_char, DataType) -> bool,
    /// Calls a method.
    pub call: unsafe extern "C-unwind" fn(*const Call) -> Status,
}

/// A call of a method.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Size of this struct in bytes. A later version may append members.
    pub size: usize,
    /// The name of the method.
    pub method: *const c_char,
    /// Where it runs.
    pub launch: *const RawLaunch,
    /// The arguments of the method.
    pub arguments: *const Argument,
    /// The number of arguments.
    pub count: usize,
    /// Room for the shape that the method computes; null for a method that computes elements.
    pub shape: *mut Shape,
}

/// `TenonLaunch`: where an operator runs, and room for a message.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawLaunch {
    /// The current device of the thread.
    pub device: C_Device,
    /// The stream; null is the default stream of the device.
    pub stream: ffi::C_Stream,
    /// Room for the reason of a failure. It is empty at first.
    pub message: *mut c_char,
    /// Size of that room in bytes.
    pub message_size: usize,
}

/// `TenonTensor`: a tensor in device memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Tensor {
    /// Address of the first element.
    pub data: *mut c_void,
    /// Type of the elements.
    pub data_type: DataType,
    /// Number of dimensions.
    pub rank: usize,
    /// Length of each dimension.
    pub dims: *const usize,
    /// Distance between neighbours along each dimension, in elements.
    pub strides: *const isize,
}

/// The most dimensions of a [`Shape`].
pub const SHAPE_RANK: usize = 16;

/// `TenonShape`: a shape that a method computes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Shape {
    /// Number of dimensions.
    pub rank: usize,
    /// Length of each dimension.
    pub dims: [usize; SHAPE_RANK],
}

/// An argument of a method.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// The type of the values.
    pub kind: Kind,
    /// The number of values: 1 unless the method takes a list.
    pub count: usize,
    /// The address of the first value.
    pub values: *const c_void,
}

/// The type of the values of an [`Argument`].
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(pub u32);

impl Kind {
    /// No value: an optional tensor or list that is not there.
    pub const ABSENT: Self = Self(0);
    /// Pointers to [`Tensor`]. A pointer in a list of outputs may be null.
    pub const TENSORS: Self = Self(1);
    /// `i64`. A truth value is 0 or 1.
    pub const INTEGERS: Self = Self(2);
    /// `f64`
    pub const NUMBERS: Self = Self(3);
    /// The bytes of a text in UTF-8.
    pub const TEXT: Self = Self(4);
    /// [`Text`]
    pub const TEXTS: Self = Self(5);
}

/// `TenonText`: a text in UTF-8.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// Address of the first byte.
    pub first: *const c_char,
    /// Number of bytes.
    pub count: usize,
}

const _: () = assert!(size_of::<Tensor>() == 40 && size_of::<Shape>() == 136);
const _: () = assert!(size_of::<RawLaunch>() == 32 && size_of::<Argument>() == 24);

/// Exports the operators of a plugin, so that libtenon and its Python package can call them by name.
///
/// The argument is the type of the operators, which implements [`Operators`](trait@crate::Operators) and
/// [`Default`]. A second argument is an expression that makes them in another way. A crate exports its operators once.
///
/// ```
/// use tenon_operators::Operators;
///
/// #[derive(Default)]
/// struct MyNpu;
///
/// #[tenon_operators::operators]
/// impl Operators for MyNpu {}
///
/// tenon_operators::export_operators!(MyNpu);
/// ```
#[macro_export]
macro_rules! export_operators {
    ($operators:ty) => {
        $crate::export_operators!($operators, <$operators as ::core::default::Default>::default());
    };
    ($operators:ty, $make:expr) => {
        const _: () = {
            use $crate::by_name;

            fn operators() -> &'static $operators {
                static OPERATORS: ::std::sync::OnceLock<$operators> = ::std::sync::OnceLock::new();
                OPERATORS.get_or_init(|| $make)
            }

            unsafe extern "C-unwind" fn provides(
                method: *const ::core::ffi::c_char,
                ty: $crate::tenon::device::DataType,
            ) -> bool {
                // SAFETY: the caller's promise.
                unsafe { by_name::provides(operators(), method, ty) }
            }

            unsafe extern "C-unwind" fn call(call: *const by_name::Call) -> $crate::tenon::device::Status {
                // SAFETY: the caller's promise.
                unsafe { by_name::call(operators(), call) }
            }

            static CALLS: by_name::Calls =
                by_name::Calls { size: ::core::mem::size_of::<by_name::Calls>(), provides, call };

            /// Returns the functions that call the operators.
            #[unsafe(no_mangle)]
            extern "C-unwind" fn tenon_operator_calls() -> *const by_name::Calls {
                &raw const CALLS
            }
        };
    };
}
