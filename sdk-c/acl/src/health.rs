//! Damaged hardware: devices report none.

use crate::api::{AclError, ErrorInfo, ErrorInfoDetail, ErrorType, MemUceInfo, MemUceInfoArray};
use crate::error::{Result, refuse};
use crate::runtime::Runtime;

impl Runtime {
    /// How much memory of a device is damaged: none that is known.
    pub(crate) fn damaged_memory(&self, device: i32, places: &[MemUceInfo]) -> Result<usize> {
        self.home(device.into())?;
        if places.is_empty() {
            return refuse(AclError::INVALID_PARAM, "`array_size` is 0");
        }
        Ok(0)
    }

    /// What of a device is damaged: nothing that is known.
    pub(crate) fn damage(&self, device: i32) -> Result<ErrorInfo> {
        self.home(device.into())?;
        let range = MemUceInfo { addr: std::ptr::null_mut(), len: 0, reserved: [0; 14] };
        let uce_info = MemUceInfoArray { array_size: 0, mem_uce_info_array: [range; 20] };
        let detail = ErrorInfoDetail { uce_info };
        Ok(ErrorInfo { try_repair: 0, has_detail: 0, reserved: [0; 2], error_type: ErrorType::NONE, detail })
    }
}
