//! Groups of processes that meet at an address. The collectives themselves are functions of the spec.

use std::ffi::c_char;

use tenon::device::{Function, ffi};

use crate::call::text::{place, required};
use crate::call::{export_on, need_room};
use crate::devices::table::DeviceGuard;
use crate::error::Failure;
use crate::{DeviceHandle, Status};

impl From<tenon_gloo::Error> for Failure {
    fn from(error: tenon_gloo::Error) -> Self {
        match error {
            tenon_gloo::Error::Invalid(message) => Self::invalid(message),
            error => Self::new(Status::FAILED, error.to_string()),
        }
    }
}

/// Joins a group of processes that meet at an address, as one of its ranks.
///
/// Rank 0 listens at the address, the others connect to it, and rank 0 sends them the root id that its device makes. Then
/// each calls `tenon_xccl_comm_init_rank`. The call returns when all have come. A group of one process needs no network.
///
/// The address can be used again for the next group. Strangers that reach it can take a place in the group, so it must be in
/// a private network. Collectives may need further ports, which the device chooses. The environment variable
/// `TENON_COMM_TIMEOUT` has the longest wait in seconds; the default is 600.
///
/// @param[in] device The device whose memory the collectives use.
/// @param[in] address `HOST:PORT` of rank 0, such as `"192.168.0.1:6170"`, the same in all processes.
/// @param[in] rank The rank of this process, from 0 to `ranks` - 1.
/// @param[in] ranks Number of processes in the group.
/// @param[out] comm The communicator. `tenon_xccl_destroy_comm` leaves the group.
/// @retval TENON_SUCCESS On success.
/// @retval TENON_INVALID_HANDLE `device` is not an open device.
/// @retval TENON_INVALID_ARGUMENT `address` is `null` or no address, or `rank` is not less than `ranks`. [C] Or `comm` is
///     `null`.
/// @retval TENON_UNSUPPORTED The device has no collectives.
/// @retval TENON_FAILED The processes did not all come in time, two have the same rank, or they disagree about `ranks`; the
///     last error names the ranks.
/// @retval other The status that the plugin returned.
/// @par Threads
///     Any thread, also several at once with different addresses.
///
/// # Safety
/// `address` is null or a NUL-terminated string; `comm` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_comm_join(
    device: DeviceHandle,
    address: *const c_char,
    rank: usize,
    ranks: usize,
    comm: *mut ffi::C_CCLComm,
) -> Status {
    export_on("tenon_comm_join", device, |open| {
        let comm = place("comm", comm)?;
        // SAFETY: the caller's promise.
        let address = unsafe { required("address", address) }?.to_string_lossy();
        need_room()?;
        if open.plugin.lacks(Function::XcclCommInitRank) {
            return Err(Failure::new(Status::UNSUPPORTED, "the device has no collectives".to_owned()));
        }
        let mut id = tenon_gloo::meet(&address, rank, ranks, || root_id(open))?;
        let joined = open.device().xccl_comm_init_rank(ranks, &mut id, rank)?;
        // SAFETY: checked to be not null and aligned; writable by the caller's promise.
        unsafe { comm.write(joined.as_raw()) };
        Ok(())
    })
}

/// Makes the root id of a new group.
fn root_id(open: &DeviceGuard) -> Result<Vec<u8>, Failure> {
    /// A larger id can only be a mistake of the plugin.
    const MOST: usize = 1 << 16;
    let size = open.device().xccl_get_unique_id_size()?;
    if size > MOST {
        let message = format!("the plugin reports a root id of {size} bytes; at most {MOST} are supported");
        return Err(Failure::new(<Status as tenon::StatusCode>::INTERNAL, message));
    }
    let mut id = vec![0; size];
    open.device().xccl_get_unique_id(&mut id)?;
    Ok(id)
}
