//! Stream configurations: the priority and flags for creating a stream.

use tenon::support::Mutex;

use tenon::handle::HandleTable;

use crate::api::{AclError, StreamConfigAttr};
use crate::error::{Error, Result, refuse, unknown_handle, unknown_value};
use crate::state::handles::HandleKind;

/// The lowest priority of a stream; the highest one is 0.
pub(crate) const LEAST_PRIORITY: u32 = 7;

/// The flags of streams.
mod flag {
    pub(crate) const ALL: u32 = 0x3f;
    /// The flags of streams that the device schedules itself.
    pub(crate) const DEVICE: u32 = 0x30;
}

/// The configuration of a stream.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StreamConfig {
    /// The address of working memory for models. It is stored, but not used.
    work: usize,
    /// The length of the working memory, in bytes.
    work_size: usize,
    flags: usize,
    priority: u32,
}

impl StreamConfig {
    /// Returns a configuration with this priority and these flags.
    pub(crate) fn new(priority: u32, flags: u32) -> Self {
        StreamConfig { priority, flags: flags as usize, ..Self::default() }
    }

    /// Returns the priority and the flags, if a stream can have them.
    pub(crate) fn checked(self) -> Result<(u32, u32)> {
        // Values that do not fit are unknown flags too.
        let (priority, flags) = (self.priority, u32::try_from(self.flags).unwrap_or(u32::MAX));
        if priority > LEAST_PRIORITY {
            return refuse(
                AclError::INVALID_PARAM,
                format!("`priority` is {priority}; it must be from 0, the highest, to {LEAST_PRIORITY}"),
            );
        }
        if flags & !flag::ALL != 0 {
            return refuse(
                AclError::INVALID_PARAM,
                format!("`flag` is {flags:#x}, which is not a valid set of flags"),
            );
        }
        if flags & flag::DEVICE != 0 {
            return refuse(
                AclError::RT_FEATURE_NOT_SUPPORT,
                format!("`flag` is {flags:#x}: streams that the device schedules are not supported"),
            );
        }
        Ok((priority, flags))
    }
}

struct Entry {
    config: Mutex<StreamConfig>,
}

/// The configurations that the program has created.
pub(crate) struct StreamConfigs(HandleTable<Entry>);

impl Default for StreamConfigs {
    fn default() -> Self {
        StreamConfigs(HandleTable::new(HandleKind::StreamConfig as u8))
    }
}

impl StreamConfigs {
    /// Creates a configuration with default values.
    pub(crate) fn create(&self) -> Result<usize> {
        let entry = self.0.insert_with(|_| Entry { config: Mutex::default() });
        entry
            .map(|(handle, _)| handle)
            .ok_or_else(|| Error::new(AclError::BAD_ALLOC, "16 million configurations exist already"))
    }

    /// Destroys a configuration.
    pub(crate) fn destroy(&self, handle: usize) -> Result<()> {
        self.0.remove(handle).map(drop).ok_or_else(|| unknown_handle("handle", handle))
    }

    /// Sets an attribute of a configuration.
    pub(crate) fn set(&self, handle: usize, attr: StreamConfigAttr, value: &[u8]) -> Result<()> {
        let entry = self.0.get(handle).ok_or_else(|| unknown_handle("handle", handle))?;
        let mut config = entry.config.lock();
        match attr {
            StreamConfigAttr::WORK_ADDR_PTR => config.work = usize::from_ne_bytes(exactly(value)?),
            StreamConfigAttr::WORK_SIZE => config.work_size = usize::from_ne_bytes(exactly(value)?),
            StreamConfigAttr::FLAG => config.flags = usize::from_ne_bytes(exactly(value)?),
            StreamConfigAttr::PRIORITY => config.priority = u32::from_ne_bytes(exactly(value)?),
            StreamConfigAttr(other) => return unknown_value("attr", other),
        }
        Ok(())
    }

    /// Returns the configuration of a handle. 0 is the default configuration.
    pub(crate) fn get(&self, handle: usize) -> Result<StreamConfig> {
        if handle == 0 {
            return Ok(StreamConfig::default());
        }
        let entry = self.0.get(handle).ok_or_else(|| unknown_handle("handle", handle))?;
        Ok(*entry.config.lock())
    }
}

fn exactly<const LENGTH: usize>(value: &[u8]) -> Result<[u8; LENGTH]> {
    match value.try_into() {
        Ok(value) => Ok(value),
        Err(_) => refuse(
            AclError::INVALID_PARAM,
            format!("`value_size` is {}, but the value has {LENGTH} bytes", value.len()),
        ),
    }
}
