//! The layer that makes a device look smaller: without some functions, with less memory, and with fewer devices.
//!
//! The program then uses the fallbacks of the hidden functions, so each of them can be tested on any device.
//!
//! | variable | meaning |
//! |---|---|
//! | `TENON_PROFILE_HIDE` | names of optional functions that appear to be absent, separated by commas; `all` hides all optional functions |
//! | `TENON_PROFILE_MEMORY` | the memory of each device: bytes, or with a unit (`512MiB`, `2GB`) |
//! | `TENON_PROFILE_DEVICES` | the maximum number of devices |

mod limits;

use std::sync::Arc;

use tenon::device::{Forwarded, Function, Partial};
use tenon::reflect::Need;

use crate::setting::{self, BadSetting};
use limits::Limits;

const HIDE: &str = "TENON_PROFILE_HIDE";
const MEMORY: &str = "TENON_PROFILE_MEMORY";
const DEVICES: &str = "TENON_PROFILE_DEVICES";
/// The value of [`HIDE`] for all optional functions.
const ALL: &str = "all";

/// The properties of a device that looks smaller. The default changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The functions that appear to be absent. Required functions are never hidden.
    pub hidden: Vec<Function>,
    /// The maximum memory of each device in bytes.
    pub memory: Option<usize>,
    /// The maximum number of devices, at least one.
    pub devices: Option<usize>,
}

impl Profile {
    /// Returns the profile in the environment.
    ///
    /// # Errors
    /// If a variable has an invalid value, or names a function that does not exist or is required.
    pub fn from_env() -> Result<Self, BadSetting> {
        Ok(Profile {
            hidden: setting::text(HIDE).map_or_else(|| Ok(Vec::new()), |names| functions(&names))?,
            memory: setting::bytes(MEMORY)?,
            devices: setting::text(DEVICES)
                .map(|_| setting::number(DEVICES, 1))
                .transpose()?
                .map(|most| most as usize),
        })
    }

    /// Returns an implementation with the properties of this profile.
    pub fn apply(&self, device: Arc<dyn Partial>) -> Arc<dyn Partial> {
        Arc::new(Forwarded(Limits::new(device, self.clone())))
    }
}

/// Returns true if a device may lack a function.
fn is_optional(function: Function) -> bool {
    function.info().need == Need::Optional
}

/// Returns the functions in a list of names.
fn functions(names: &str) -> Result<Vec<Function>, BadSetting> {
    let bad = |reason: String| BadSetting::new(HIDE, names, reason);
    let mut functions = Vec::new();
    for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        if name == ALL {
            functions.extend(Function::ALL.into_iter().filter(|function| is_optional(*function)));
            continue;
        }
        let function = Function::of_name(name).ok_or_else(|| {
            let near = Function::ALL.into_iter().map(Function::name);
            let near = near.min_by_key(|known| strsim::damerau_levenshtein(known, name)).unwrap_or_default();
            bad(format!("there is no function `{name}`; did you mean `{near}`?"))
        })?;
        if !is_optional(function) {
            return Err(bad(format!("`{name}` is required, so it cannot be hidden")));
        }
        functions.push(function);
    }
    Ok(functions)
}
