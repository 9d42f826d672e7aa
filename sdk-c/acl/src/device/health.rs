//! Hardware errors. Devices report none.

use crate::api::{AclError, ErrorInfo, ErrorInfoDetail, ErrorType, MemUceInfo, MemUceInfoArray};
use crate::error::{Result, refuse};
use crate::state::State;

/// Returns the number of damaged memory ranges of a device: always 0.
pub(crate) fn damaged_memory(state: &State, device: i32, places: &[MemUceInfo]) -> Result<usize> {
    state.device(device)?;
    if places.is_empty() {
        return refuse(AclError::INVALID_PARAM, "`array_size` is 0");
    }
    Ok(0)
}

/// Returns the error of a device: always none.
pub(crate) fn damage(state: &State, device: i32) -> Result<ErrorInfo> {
    state.device(device)?;
    let range = MemUceInfo { addr: std::ptr::null_mut(), len: 0, reserved: [0; 14] };
    let uce_info = MemUceInfoArray { array_size: 0, mem_uce_info_array: [range; 20] };
    let detail = ErrorInfoDetail { uce_info };
    Ok(ErrorInfo { try_repair: 0, has_detail: 0, reserved: [0; 2], error_type: ErrorType::NONE, detail })
}
