//! The operators of a plugin, which are called by their names.

use std::ffi::CStr;

use super::{Call, Calls, Packed, RawLaunch, Shape};
use crate::device::ffi::C_Device_st;
use crate::device::{DataType, Error, Result, Status};
use crate::operators::{self, Launch, Operators};
use crate::support;

/// The reason why the operators of a plugin cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// The pointer is null, or no pointer to a struct.
    Null,
    /// The struct is smaller than that of the first release.
    Size(usize),
    /// A function is null.
    NoFunction(&'static str),
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Null => write!(formatter, "the operators are null: pass `tenon_operator_calls()`"),
            Self::Size(size) => write!(
                formatter,
                "the operators have a size of {size} bytes: pass `tenon_operator_calls()`, which sets it to \
                 sizeof(TenonCalls)"
            ),
            Self::NoFunction(name) => write!(formatter, "`{name}` of the operators is null"),
        }
    }
}

impl std::error::Error for ReadError {}

/// The operators of a plugin, as the traits have them.
#[derive(Debug)]
pub struct LoadedOperators {
    calls: Calls,
    plugin: String,
}

/// [`Calls`] as a plugin may have filled it.
#[repr(C)]
#[derive(Clone, Copy)]
struct Unchecked {
    size: usize,
    provides: Option<unsafe extern "C-unwind" fn(*const std::ffi::c_char, DataType) -> bool>,
    call: Option<unsafe extern "C-unwind" fn(*const Call) -> Status>,
}

const _: () = assert!(size_of::<Unchecked>() == size_of::<Calls>());

impl LoadedOperators {
    /// Copies the functions of a plugin. `plugin` is its name in messages.
    ///
    /// # Errors
    /// [`ReadError`].
    ///
    /// # Safety
    /// `calls` is null, or points to a struct that begins with its size. Its functions stay callable, and do what [`Calls`]
    /// says.
    pub unsafe fn read(calls: *const Calls, plugin: &str) -> std::result::Result<Self, ReadError> {
        if calls.is_null() || !calls.is_aligned() {
            return Err(ReadError::Null);
        }
        // SAFETY: not null and aligned; the caller promises the size.
        let size = unsafe { calls.cast::<usize>().read() };
        if size < size_of::<Calls>() {
            return Err(ReadError::Size(size));
        }
        // SAFETY: the struct has all members by its size, and a null pointer is a missing function.
        let Unchecked { provides, call, .. } = unsafe { calls.cast::<Unchecked>().read() };
        let provides = provides.ok_or(ReadError::NoFunction("provides"))?;
        let call = call.ok_or(ReadError::NoFunction("call"))?;
        Ok(Self::new(Calls { size: size_of::<Calls>(), provides, call }, plugin))
    }

    /// Takes functions that were checked. `plugin` is the name of the plugin in messages.
    #[must_use]
    pub fn new(calls: Calls, plugin: &str) -> Self {
        Self { calls, plugin: plugin.to_owned() }
    }

    /// Computes elements.
    fn elements(&self, method: &CStr, launch: Launch, packed: &Packed<'_>) -> Result<()> {
        self.call(method, launch, packed, std::ptr::null_mut())
    }

    /// Computes a shape.
    fn shape(&self, method: &CStr, launch: Launch, packed: &Packed<'_>) -> Result<Vec<usize>> {
        let mut shape = Shape::default();
        self.call(method, launch, packed, &raw mut shape)?;
        let dims = shape.dims.get(..shape.rank).ok_or_else(|| {
            let method = method.to_string_lossy();
            let message = format!("`{method}` returned a shape of {} dimensions", shape.rank);
            Error::from_plugin(Status::INTERNAL_ERROR, message)
        })?;
        Ok(dims.to_vec())
    }

    fn call(&self, method: &CStr, launch: Launch, packed: &Packed<'_>, shape: *mut Shape) -> Result<()> {
        let mut device = C_Device_st { id: launch.device.0 };
        let mut message = [0_u8; MESSAGE_SIZE];
        let launch = RawLaunch {
            device: &raw mut device,
            stream: launch.stream.as_raw(),
            message: message.as_mut_ptr().cast(),
            message_size: message.len(),
        };
        let arguments = packed.arguments();
        let call = Call {
            size: size_of::<Call>(),
            method: method.as_ptr(),
            launch: &raw const launch,
            arguments: arguments.as_ptr(),
            count: arguments.len(),
            shape,
        };
        // SAFETY: the pointers are those of the values above, which outlive the call.
        let called = || unsafe { (self.calls.call)(&raw const call) };
        let status = support::guard(Some(&self.plugin), "tenon_operator_calls", called);
        if status == Status::SUCCESS {
            return Ok(());
        }
        Err(match CStr::from_bytes_until_nul(&message) {
            Ok(text) if !text.is_empty() => Error::from_plugin(status, text.to_string_lossy().into_owned()),
            Ok(_) => {
                let method = method.to_string_lossy();
                Error::from_plugin(status, format!("`{method}` returned the status `{status:?}`"))
            }
            Err(_) => Error::from_plugin(status, String::from_utf8_lossy(&message).into_owned()),
        })
    }
}

/// The bytes that a function has for its message.
const MESSAGE_SIZE: usize = 512;

impl Operators for LoadedOperators {
    fn provides(&self, method: &str, ty: DataType) -> bool {
        let Ok(name) = std::ffi::CString::new(method) else { return false };
        // SAFETY: the function takes any string.
        let provides = || unsafe { (self.calls.provides)(name.as_ptr(), ty) };
        support::guard(Some(&self.plugin), "tenon_operator_calls", provides)
    }
}

/// Implements the traits by calls with packed arguments.
macro_rules! implement {
    ($($group:ident { $(
        $method:ident(
            $($output:ident: $written:ident),*;
            $($input:ident: $read:ident),*;
            $($attribute:ident: $kind:ident $(= $default:expr)?),*
        ) $(random($($random:ident),*))? = $work:ident($($with:tt)*);
    )* })*) => {$(
        impl operators::$group for LoadedOperators { $(
            #[allow(clippy::too_many_arguments, reason = "a method has as many parameters as its entry in the spec")]
            fn $method(
                &self,
                launch: Launch,
                $($output: crate::operator_parameter!($written),)*
                $($input: crate::operator_parameter!($read),)*
                $($attribute: crate::operator_parameter!($kind),)*
                $($($random: i64,)*)?
            ) -> crate::operator_result!($work) {
                let mut packed = Packed::default();
                $(packed.push($output);)*
                $(packed.push($input);)*
                $($(packed.push($random);)*)?
                $(push!(packed $attribute $(= $default)?);)*
                let name = const { c_name(concat!(stringify!($method), "\0")) };
                run!($work self name launch packed)
            }
        )* }
    )*};
}

/// Appends an attribute.
macro_rules! push {
    ($packed:ident $attribute:ident) => {
        $packed.push($attribute)
    };
    ($packed:ident $attribute:ident = $default:expr) => {
        $packed.push_with_default($attribute, $default)
    };
}

/// Calls the method.
macro_rules! run {
    (shape $self:ident $name:ident $launch:ident $packed:ident) => {
        $self.shape($name, $launch, &$packed)
    };
    ($elements:ident $self:ident $name:ident $launch:ident $packed:ident) => {
        $self.elements($name, $launch, &$packed)
    };
}

/// Returns a name that ends with its only zero byte as a string of C.
const fn c_name(name: &str) -> &CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a name without a zero byte at its end"),
    }
}

operator_methods!(implement);
