//! Layers between the exports and the plugins.

pub(crate) mod stack;

use std::ffi::c_char;

use crate::Status;
use crate::call::export;
use crate::call::sized;
use crate::call::text::required;
use crate::error::Failure;
use crate::library::lifecycle;

pub use stack::{After, Before, CustomLayer, Direction, Finish, LayerCall, Param, ParamKind};

/// Sets the layers by name, instead of `TENON_LAYERS`. If they cannot be created, the layers do not change.
///
/// @param[in] names A list such as `"validate,trace"`; empty: none.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_ARGUMENT `names` is `null`, names an unknown layer, or a layer cannot be created;
/// the last error has the reason.
/// @retval TENON_BUSY A plugin has been used, so the layers cannot change any more; or `names` contains `profile`,
/// which must be on when plugins are loaded; or the call is made from inside another call or from a stream
/// callback.
/// @par Threads
///     Any thread, also several at once; the calls run one after the other.
///
/// # Safety
/// `names` is null or a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_layers_enable(names: *const c_char) -> Status {
    export("tenon_layers_enable", || {
        // SAFETY: the caller's promise.
        let names = unsafe { required("names", names) }?.to_string_lossy();
        lifecycle::change_layers(|layers| layers.open(&names))
    })
}

/// Adds a layer of the program, inside the layers that were set by name and the layers that were added
/// before.
///
/// @param[in] layer The layer, which is copied. `user_data` and the functions must stay valid until the
/// library has shut down.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_ARGUMENT `layer` or its name is `null`, its size is wrong, or there are too many
/// layers.
/// @retval TENON_BUSY A plugin has been used, so the layers cannot change any more; or the call is made from
/// inside another call or from a stream callback.
/// @par Threads
///     Any thread, also several at once; the calls run one after the other.
///
/// # Safety
/// `layer` is null or can be read, its name is null or a string, and its functions have the right types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_layer_register(layer: *const CustomLayer) -> Status {
    export("tenon_layer_register", || {
        // SAFETY: the caller's promise.
        let layer = unsafe { sized::read(layer) }?.ok_or_else(|| Failure::invalid("`layer` is null"))?;
        // SAFETY: the caller's promise.
        let name = unsafe { required("layer->name", layer.name) }?.to_string_lossy().into_owned();
        lifecycle::change_layers(|layers| layers.add(name, layer))
    })
}
