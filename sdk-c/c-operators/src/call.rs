//! Calls of the functions of a plugin.

use std::collections::HashMap;
use std::ffi::CStr;

use tenon::device::ffi::C_Device_st;
use tenon::device::{DataType, Error, Result, Status};
use tenon::operators::{Launch, Operators};
use tenon::support;

use crate::ffi;
use crate::table::TenonOperators;

/// A member of the table.
#[repr(C)]
pub(crate) struct Slot<F> {
    function: Option<F>,
    #[allow(dead_code, reason = "it is read from the table of the plugin, before this one is made")]
    data_types: u64,
}

impl<F: Copy> Slot<F> {
    /// Returns the function of a method.
    pub(crate) fn get(&self, method: &str) -> Result<F> {
        self.function.ok_or_else(|| Error::unsupported(method))
    }
}

/// The operators of a plugin in C, as the traits have them.
pub struct CTable {
    functions: TenonOperators,
    /// The bits of the types that each method of the plugin accepts.
    data_types: HashMap<&'static str, u64>,
    plugin: String,
}

impl CTable {
    pub(crate) fn new(
        functions: TenonOperators,
        data_types: HashMap<&'static str, u64>,
        plugin: String,
    ) -> Self {
        Self { functions, data_types, plugin }
    }

    pub(crate) fn functions(&self) -> &TenonOperators {
        &self.functions
    }

    /// Calls a function with a launch, and returns its error.
    pub(crate) fn call(
        &self,
        method: &'static str,
        launch: Launch,
        call: impl FnOnce(*const ffi::Launch) -> Status,
    ) -> Result<()> {
        let mut device = C_Device_st { id: launch.device.0 };
        let mut message = [0_u8; MESSAGE_SIZE];
        let launch = ffi::Launch {
            device: &raw mut device,
            stream: launch.stream.as_raw(),
            message: message.as_mut_ptr().cast(),
            message_size: message.len(),
        };
        let status = support::guard(Some(&self.plugin), method, || call(&raw const launch));
        if status == Status::SUCCESS {
            return Ok(());
        }
        Err(match CStr::from_bytes_until_nul(&message) {
            Ok(text) if !text.is_empty() => Error::from_plugin(status, text.to_string_lossy().into_owned()),
            Ok(_) => Error::from_plugin(status, format!("`{method}` returned the status `{status:?}`")),
            Err(_) => Error::from_plugin(status, String::from_utf8_lossy(&message).into_owned()),
        })
    }

    /// Calls a function that computes a shape.
    pub(crate) fn shape(
        &self,
        method: &'static str,
        launch: Launch,
        call: impl FnOnce(*const ffi::Launch, *mut ffi::Shape) -> Status,
    ) -> Result<Vec<usize>> {
        let mut shape = ffi::Shape { rank: 0, dims: [0; ffi::SHAPE_RANK] };
        self.call(method, launch, |launch| call(launch, &raw mut shape))?;
        let dims = shape.dims.get(..shape.rank).ok_or_else(|| {
            let message = format!("`{method}` returned a shape of {} dimensions", shape.rank);
            Error::from_plugin(Status::INTERNAL_ERROR, message)
        })?;
        Ok(dims.to_vec())
    }
}

/// The bytes that a function has for its message.
const MESSAGE_SIZE: usize = 512;

impl Operators for CTable {
    fn provides(&self, method: &str, ty: DataType) -> bool {
        let accepted = self.data_types.get(method);
        accepted.is_some_and(|accepted| *accepted == 0 || accepted & bit(ty) != 0)
    }
}

/// Returns the bit of an element type: `TENON_DATA_TYPE`.
pub(crate) fn bit(ty: DataType) -> u64 {
    u32::try_from(ty.0).ok().and_then(|number| 1_u64.checked_shl(number)).unwrap_or_default()
}
