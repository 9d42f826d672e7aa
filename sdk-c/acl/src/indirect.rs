//! Copies between addresses that are in memory themselves.

use tenon::HostPtr;

use crate::api::{AclError, MemcpyKind};
use crate::copy::{Claim, Rows};
use crate::error::{Error, Result, refuse};
use crate::runtime::Runtime;

/// One end of such a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    /// Where the address is.
    pub(crate) at: usize,
    /// What is added to the address, in bytes.
    pub(crate) offset: usize,
}

impl Runtime {
    /// The address of an end.
    fn address_of(&self, param: &str, end: End) -> Result<usize> {
        let mut address = 0_usize;
        let claim = Claim { to_device: Some(false), from_device: None };
        self.copy(HostPtr::from_ptr(&raw mut address).addr(), end.at, Rows::one(size_of::<usize>()), claim)?;
        if address == 0 {
            return refuse(AclError::INVALID_PARAM, format!("the address at `{param}` is null"));
        }
        address.checked_add(end.offset).ok_or_else(|| {
            let message = format!("the offset leads from the address at `{param}` past the address space");
            Error::new(AclError::RT_PARAM_INVALID, message)
        })
    }

    /// Copies in the order of a stream, between addresses that the work before on the stream may write.
    pub(crate) fn copy_indirectly(
        &self,
        dst: End,
        room: usize,
        src: End,
        count: usize,
        kind: MemcpyKind,
        stream: usize,
    ) -> Result<()> {
        if kind != MemcpyKind::INNER_DEVICE_TO_DEVICE {
            return refuse(
                AclError::RT_FEATURE_NOT_SUPPORT,
                format!("`kind` is {kind:?}; such copies stay within a device"),
            );
        }
        for (param, end) in [("dst", dst), ("src", src)] {
            if end.at == 0 {
                return refuse(AclError::INVALID_PARAM, format!("`{param}` is null"));
            }
        }
        let rows = Rows::within(room.saturating_sub(dst.offset), count)?;
        self.stream(stream)?.synchronize(None)?;
        if count == 0 {
            return Ok(());
        }
        let (to, from) = (self.address_of("dst", dst)?, self.address_of("src", src)?);
        self.device_range("the address at `dst`", to, count)?;
        self.device_range("the address at `src`", from, count)?;
        self.copy_on(stream, (to, from), rows, Claim::of(kind)?, false)
    }
}
