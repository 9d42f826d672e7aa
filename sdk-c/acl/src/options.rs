//! Options that a program sets and asks for, of the process and of each context.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::api::{AclError, SysParamOpt};
use crate::error::{Result, refuse};
use crate::info::no_such;

/// The options that were set.
#[derive(Debug, Default)]
pub(crate) struct Options(Mutex<BTreeMap<i32, i64>>);

impl Options {
    pub(crate) fn set(&self, option: SysParamOpt, value: i64) -> Result<()> {
        check(option)?;
        if value != 0 && value != 1 {
            return refuse(AclError::INVALID_PARAM, format!("`value` is {value}; it is 1 for on, 0 for off"));
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(option.0, value);
        Ok(())
    }

    pub(crate) fn get(&self, option: SysParamOpt) -> Result<i64> {
        check(option)?;
        let value = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&option.0).copied();
        match value {
            Some(value) => Ok(value),
            None => refuse(AclError::RT_SYSPARAMOPT_NOT_SET, format!("the option {option:?} was never set")),
        }
    }
}

fn check(option: SysParamOpt) -> Result<()> {
    if option.name().is_some() { Ok(()) } else { no_such("opt", option.0) }
}
