//! Contexts, which own streams, and the options that a program sets for a context or the process.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, MutexGuard};
use tenon::support::Mutex;

use super::device_state::Lease;
use super::stream::Stream;
use crate::api::{AclError, SysParamOpt};
use crate::error::{Result, refuse, unknown_value};

/// A context of a device.
pub(crate) struct Context {
    pub(crate) handle: usize,
    /// True for the device's default context, which all threads share.
    pub(crate) is_primary: bool,
    pub(crate) default_stream: Arc<Stream>,
    streams: Mutex<BTreeSet<usize>>,
    pub(crate) options: Options,
    pub(crate) lease: Lease,
}

impl Context {
    /// Returns a context that has only its default stream.
    pub(crate) fn new(handle: usize, is_primary: bool, default_stream: Arc<Stream>, lease: Lease) -> Self {
        let (streams, options) = (Mutex::default(), Options::default());
        Context { handle, is_primary, default_stream, streams, options, lease }
    }

    /// Locks the handles of the streams that the program created in the context.
    pub(crate) fn streams(&self) -> MutexGuard<'_, BTreeSet<usize>> {
        self.streams.lock()
    }
}

/// The options that the program set.
#[derive(Debug, Default)]
pub(crate) struct Options(Mutex<BTreeMap<i32, i64>>);

impl Options {
    pub(crate) fn set(&self, option: SysParamOpt, value: i64) -> Result<()> {
        check(option)?;
        if value != 0 && value != 1 {
            return refuse(
                AclError::INVALID_PARAM,
                format!("`value` is {value}; it must be 1 for on or 0 for off"),
            );
        }
        self.0.lock().insert(option.0, value);
        Ok(())
    }

    pub(crate) fn get(&self, option: SysParamOpt) -> Result<i64> {
        check(option)?;
        let value = self.0.lock().get(&option.0).copied();
        match value {
            Some(value) => Ok(value),
            None => refuse(AclError::RT_SYSPARAMOPT_NOT_SET, format!("the option {option:?} was never set")),
        }
    }
}

fn check(option: SysParamOpt) -> Result<()> {
    if option.name().is_some() { Ok(()) } else { unknown_value("opt", option.0) }
}
