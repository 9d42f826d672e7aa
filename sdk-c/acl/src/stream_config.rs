//! Settings for streams that are to be made.

use std::sync::{Mutex, PoisonError};

use crate::api::{AclError, StreamConfigAttr};
use crate::error::{Error, Result, refuse};
use crate::info::no_such;
use crate::runtime::{Runtime, unknown};

/// What a stream is to be.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settings {
    /// Address of working memory for models, which is kept for its owner and not used.
    work: usize,
    /// Its length in bytes.
    work_size: usize,
    flags: usize,
    priority: u32,
}

/// Settings behind a handle.
pub(crate) struct StreamConfig {
    handle: usize,
    settings: Mutex<Settings>,
}

impl Runtime {
    pub(crate) fn create_stream_config(&self) -> Result<usize> {
        let made =
            self.stream_configs.insert_with(|handle| StreamConfig { handle, settings: Mutex::default() });
        made.map(|made| made.handle)
            .ok_or_else(|| Error::new(AclError::BAD_ALLOC, "a million sets of settings are alive"))
    }

    pub(crate) fn destroy_stream_config(&self, handle: usize) -> Result<()> {
        self.stream_configs.remove(handle).map(drop).ok_or_else(|| unknown("handle", handle))
    }

    pub(crate) fn set_stream_config(
        &self,
        handle: usize,
        attr: StreamConfigAttr,
        value: &[u8],
    ) -> Result<()> {
        let config = self.stream_configs.get(handle).ok_or_else(|| unknown("handle", handle))?;
        let mut settings = config.settings.lock().unwrap_or_else(PoisonError::into_inner);
        match attr {
            StreamConfigAttr::WORK_ADDR_PTR => settings.work = usize::from_ne_bytes(exactly(value)?),
            StreamConfigAttr::WORK_SIZE => settings.work_size = usize::from_ne_bytes(exactly(value)?),
            StreamConfigAttr::FLAG => settings.flags = usize::from_ne_bytes(exactly(value)?),
            StreamConfigAttr::PRIORITY => settings.priority = u32::from_ne_bytes(exactly(value)?),
            StreamConfigAttr(other) => return no_such("attr", other),
        }
        Ok(())
    }

    /// Makes a stream of settings; 0: of the defaults.
    pub(crate) fn create_stream_of(&self, handle: usize) -> Result<usize> {
        let settings = match handle {
            0 => Settings::default(),
            handle => {
                let config = self.stream_configs.get(handle).ok_or_else(|| unknown("handle", handle))?;
                *config.settings.lock().unwrap_or_else(PoisonError::into_inner)
            }
        };
        // What does not fit is none of the flags either.
        self.create_stream(settings.priority, u32::try_from(settings.flags).unwrap_or(u32::MAX))
    }
}

fn exactly<const LENGTH: usize>(value: &[u8]) -> Result<[u8; LENGTH]> {
    match value.try_into() {
        Ok(value) => Ok(value),
        Err(_) => refuse(
            AclError::INVALID_PARAM,
            format!("`value_size` is {}, where the value has {LENGTH} bytes", value.len()),
        ),
    }
}
