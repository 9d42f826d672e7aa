//! Maps statuses to exceptions, also in docstrings.

use heck::ToPascalCase;

use super::names;
use crate::sdk::{SdkApi, SdkStatus};

/// The exception for the interface's own statuses, which mean that the device failed.
const DEVICE: &str = "DeviceError";

/// The statuses of a library and their exceptions.
#[derive(Debug)]
pub struct Exceptions {
    statuses: Vec<SdkStatus>,
    /// The prefix of status names in C: `TENON_`.
    prefix: String,
}

impl Exceptions {
    /// Makes the exceptions of the library that exports an interface.
    pub fn of(sdk_api: SdkApi) -> Self {
        Exceptions { statuses: sdk_api.statuses(), prefix: sdk_api.status("") }
    }

    /// Returns the exception for a status, by its name in the spec; `None` for success or if there is none.
    pub fn name(&self, status: &str) -> Option<String> {
        let status = self.statuses.iter().find(|known| known.name == status)?;
        match status.value {
            0 => None,
            _ if status.is_own() => Some(format!("{}Error", status.name.to_pascal_case())),
            _ => Some(DEVICE.to_owned()),
        }
    }

    /// Returns the exception for a status, with a reason. If several statuses share the exception, the text names the
    /// status.
    pub fn raised(&self, status: &str, reason: &str) -> Option<(String, String)> {
        let known = self.statuses.iter().find(|known| known.name == status)?;
        let exception = self.name(status)?;
        let reason = reason.trim().trim_end_matches('.');
        let reason = if known.is_own() {
            format!("{}.", crate::text::capital(reason))
        } else {
            format!("{} ({}).", crate::text::capital(reason), self.member(&known.name))
        };
        Some((exception, reason))
    }

    /// Returns the exception for other statuses of a plugin.
    pub fn other(reason: &str) -> (String, String) {
        (DEVICE.to_owned(), crate::text::sentence(reason))
    }

    /// Returns an enum member in a docstring: `` ``Status.FAILED`` ``.
    fn member(&self, status: &str) -> String {
        format!("``Status.{}``", names::member(status))
    }

    /// Returns the name of a status in a docstring: its own exception if it has one.
    pub fn spelled(&self, status: &str) -> Option<String> {
        let known = self.statuses.iter().find(|known| known.name == status)?;
        Some(if known.is_own() {
            format!("{}Error", known.name.to_pascal_case())
        } else {
            format!("Status.{}", names::member(&known.name))
        })
    }

    /// Returns the name in the spec of a C status: `TENON_BUSY` → `busy`.
    pub fn of_c(&self, name: &str) -> Option<&str> {
        let name = name.strip_prefix(&self.prefix)?.to_lowercase();
        self.statuses.iter().map(|status| status.name.as_str()).find(|known| *known == name)
    }
}
