//! Hints for the cache: they are checked, and nothing more is to be done.

use tenon::HostPtr;

use crate::api::{AclError, BarrierTaskInfo, CmoType};
use crate::copy::{Claim, Rows};
use crate::error::{Result, refuse};
use crate::runtime::Runtime;

/// How much device memory a descriptor takes, in bytes.
pub(crate) const DESC_SIZE: usize = 64;

/// What a descriptor begins with, so that other bytes are not taken for one.
const MARK: u64 = u64::from_ne_bytes(*b"tenoncmo");

/// A range as it lies in device memory.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Desc {
    mark: u64,
    src: u64,
    size: u64,
    reserved: [u64; 5],
}

const _: () = assert!(size_of::<Desc>() == DESC_SIZE);

impl Runtime {
    /// Writes a range down.
    pub(crate) fn set_hint_desc(&self, desc: usize, src: usize, size: usize) -> Result<()> {
        if size == 0 {
            return refuse(AclError::INVALID_PARAM, "`size` is 0");
        }
        self.device_range("cmo_desc", desc, DESC_SIZE)?;
        self.device_range("src", src, size)?;
        let written = Desc { mark: MARK, src: src as u64, size: size as u64, ..Desc::default() };
        self.copy(
            desc,
            HostPtr::from_ptr(&raw const written).addr(),
            Rows::one(DESC_SIZE),
            Claim { to_device: Some(true), from_device: Some(false) },
        )
    }

    /// Checks the hint for a range that is written down.
    pub(crate) fn hint_as_described(
        &self,
        desc: usize,
        kind: CmoType,
        stream: usize,
        reserve: usize,
    ) -> Result<()> {
        if reserve != 0 {
            return refuse(AclError::RT_PARAM_INVALID, "`reserve` is reserved and null");
        }
        self.device_range("cmo_desc", desc, DESC_SIZE)?;
        let mut written = Desc::default();
        self.copy(
            HostPtr::from_ptr(&raw mut written).addr(),
            desc,
            Rows::one(DESC_SIZE),
            Claim { to_device: Some(false), from_device: Some(true) },
        )?;
        if written.mark != MARK {
            return refuse(AclError::RT_PARAM_INVALID, "there is no descriptor at `cmo_desc`");
        }
        // They were made from numbers of this size.
        self.hint_cache(written.src as usize, written.size as usize, kind, stream)
    }

    /// Checks which hints a stream is to wait for; all are over.
    pub(crate) fn wait_for_hints(&self, info: &BarrierTaskInfo, stream: usize, flag: u32) -> Result<()> {
        if flag != 0 {
            return refuse(AclError::RT_PARAM_INVALID, format!("`flag` is {flag}; it is reserved and 0"));
        }
        let Some(hints) = info.cmo_info.get(..info.barrier_num) else {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("`task_info` has {} hints, more than {}", info.barrier_num, info.cmo_info.len()),
            );
        };
        if let Some(hint) = hints.iter().find(|hint| hint.cmo_type.name().is_none()) {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("`task_info` has {:?}, which is no hint", hint.cmo_type),
            );
        }
        self.stream(stream).map(drop)
    }
}
