//! Kernels that only 2.6 needs, or needs in this form.

mod coalesce;
mod in_place;
mod nanmedian;
mod squeeze;
mod views;

use tenon::device::Release;

use crate::error::Result;
use crate::kernel::Registry;

/// Registers the kernels.
pub(super) fn register(registry: Registry) -> Result<()> {
    if registry.release() > Release::V2_6 {
        return Ok(());
    }
    coalesce::register(registry)?;
    in_place::register(registry)?;
    nanmedian::register(registry)?;
    squeeze::register(registry)?;
    views::register(registry)
}
