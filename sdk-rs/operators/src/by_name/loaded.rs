//! The operators of a plugin, which are called by their names.

use std::ffi::CStr;

use super::{Call, Calls, Packed, Shape};
use crate::{Launch, Operators, attributes};
use tenon::device::{DataType, Error, Result, Status};
use tenon::support;

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
        // SAFETY: the arguments and the place of the shape are values that outlive the call.
        let called = || unsafe { self.calls.run(method, launch, packed.arguments(), shape) };
        support::guard(Some(&self.plugin), "tenon_operator_calls", called).map_err(|error| {
            if !error.message.is_empty() {
                return error;
            }
            let (method, status) = (method.to_string_lossy(), error.status);
            Error::from_plugin(status, format!("`{method}` returned the status `{status:?}`"))
        })
    }
}

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
            $({$Attributes:ident; $($field:ident: $field_kind:ident $(= $field_default:expr)?),*})?
            $($attribute:ident: $kind:ident $(= $default:expr)?),*
        ) $(random($($random:ident),*))? = $work:ident($($of:tt)*);
    )* })*) => {$(
        impl crate::$group for LoadedOperators { $(
            fn $method(
                &self,
                launch: Launch,
                $($output: crate::operator_parameter!($written),)*
                $($input: crate::operator_parameter!($read),)*
                $(with: &attributes::$Attributes,)?
                $($attribute: crate::operator_parameter!($kind),)*
                $($($random: i64,)*)?
            ) -> crate::operator_result!($work) {
                let mut packed = Packed::default();
                $(packed.push($output);)*
                $(packed.push($input);)*
                $($(packed.push($random);)*)?
                $(
                    let attributes::$Attributes { $($field),* } = *with;
                    $(push!(packed $field $(= $field_default)?);)*
                )?
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
