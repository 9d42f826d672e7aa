//! Settings from the environment.

/// A variable of the environment whose value cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{variable}={value}: {reason}")]
pub struct BadSetting {
    /// The variable.
    pub variable: &'static str,
    /// Its value.
    pub value: String,
    /// The reason.
    pub reason: String,
}

impl BadSetting {
    pub(crate) fn new(variable: &'static str, value: &str, reason: impl Into<String>) -> Self {
        Self { variable, value: value.to_owned(), reason: reason.into() }
    }
}

/// Returns the text of a variable; an empty variable counts as not set. A set-user-ID program reads no
/// variable, because variables can name files.
pub(crate) fn text(variable: &'static str) -> Option<String> {
    let value = tenon::trusted_variable(variable)?.to_string_lossy().into_owned();
    (!value.is_empty()).then_some(value)
}

/// Returns a switch: `1`, `on`, `true` and `yes`, or the opposite of them.
pub(crate) fn switch(variable: &'static str, default: bool) -> Result<bool, BadSetting> {
    let Some(value) = text(variable) else { return Ok(default) };
    tenon::parse_switch(&value).ok_or_else(|| BadSetting::new(variable, &value, "expected 1 or 0"))
}

/// Returns a whole number, at least 1.
pub(crate) fn number(variable: &'static str, default: u64) -> Result<u64, BadSetting> {
    let Some(value) = text(variable) else { return Ok(default) };
    match value.trim().parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(BadSetting::new(variable, &value, "expected a whole number, at least 1")),
    }
}

/// Returns a number of bytes, at least 1.
pub(crate) fn bytes(variable: &'static str) -> Result<Option<usize>, BadSetting> {
    let Some(value) = text(variable) else { return Ok(None) };
    match tenon::parse_bytes(&value) {
        Ok(0) => Err(BadSetting::new(variable, &value, "a device needs some memory")),
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) => Err(BadSetting::new(variable, &value, error.to_string())),
    }
}
