//! The settings in the environment.

use std::path::PathBuf;
use std::sync::OnceLock;

use thiserror::Error;

/// The variable that names the library of the provider.
pub(crate) const PLUGIN: &str = "TENON_PLUGIN";
/// The variable that lists the layers.
const LAYERS: &str = "TENON_LAYERS";
/// The variable that names the file of the trace.
const FILE: &str = "TENON_TRACE_FILE";
/// The variable that turns off guards around memory.
const GUARDS: &str = "TENON_VALIDATE_GUARDS";

/// The layers, and what they use.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) validates: bool,
    /// Whether memory that the host can read gets guards.
    pub(crate) has_guards: bool,
    /// The file of the trace, if one is written.
    pub(crate) trace: Option<PathBuf>,
}

/// A variable that is not understood.
#[derive(Clone, Debug, Error)]
pub(crate) enum BadSetting {
    /// A layer that is not there.
    #[error("{LAYERS}: there is no layer `{0}`; for ONNX Runtime there are `validate` and `trace`")]
    NoLayer(String),
    /// A switch that is neither on nor off.
    #[error("{GUARDS}={0}: expected 1 or 0")]
    NoSwitch(String),
}

impl Settings {
    /// Returns the settings, which are read once.
    pub(crate) fn get() -> Result<&'static Self, BadSetting> {
        static SETTINGS: OnceLock<Result<Settings, BadSetting>> = OnceLock::new();
        SETTINGS.get_or_init(|| Self::read(variable)).as_ref().map_err(Clone::clone)
    }

    fn read(text: impl Fn(&str) -> Option<String>) -> Result<Self, BadSetting> {
        let layers = text(LAYERS).unwrap_or_default();
        let (mut validates, mut traces) = (false, false);
        for layer in layers.split(',').map(str::trim).filter(|layer| !layer.is_empty()) {
            match layer {
                "validate" => validates = true,
                "trace" => traces = true,
                other => return Err(BadSetting::NoLayer(other.to_owned())),
            }
        }
        let guards = text(GUARDS).unwrap_or_default();
        let has_guards = match guards.as_str() {
            "" => true,
            text => tenon::parse_switch(text).ok_or_else(|| BadSetting::NoSwitch(guards.clone()))?,
        };
        let file = text(FILE).filter(|file| !file.is_empty());
        let file = file.unwrap_or_else(|| format!("tenon-trace-{}.json", std::process::id()));
        Ok(Self { validates, has_guards: validates && has_guards, trace: traces.then(|| file.into()) })
    }
}

/// Returns a variable of the environment. Tests have a layer of their own.
fn variable(name: &str) -> Option<String> {
    if cfg!(test) {
        return (name == LAYERS).then(|| "validate".to_owned());
    }
    tenon::trusted_variable(name).map(|value| value.to_string_lossy().into_owned())
}

/// Returns true if there is a layer. Without one, the host calls the provider directly.
pub(crate) fn is_any() -> bool {
    Settings::get().is_ok_and(|settings| settings.validates || settings.trace.is_some())
}

/// Returns true if the layer `validate` is on.
pub(crate) fn validates() -> bool {
    Settings::get().is_ok_and(|settings| settings.validates)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads settings from variables.
    fn read(variables: &[(&str, &str)]) -> Result<Settings, String> {
        let text = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Settings::read(text).map_err(|bad| bad.to_string())
    }

    #[test]
    fn layers_are_chosen_by_name() {
        let none = read(&[]).unwrap();
        assert!(!none.validates && none.trace.is_none());
        let both = read(&[(LAYERS, "validate, trace"), (FILE, "x.json"), (GUARDS, "off")]).unwrap();
        assert!(both.validates && !both.has_guards);
        assert_eq!(both.trace.as_deref(), Some("x.json".as_ref()));
        assert!(read(&[(LAYERS, "validate")]).unwrap().has_guards);
    }

    #[test]
    fn wrong_values_are_named() {
        let message = read(&[(LAYERS, "capture")]).unwrap_err();
        assert!(message.starts_with("TENON_LAYERS: there is no layer `capture`;"), "{message}");
        let message = read(&[(LAYERS, "validate"), (GUARDS, "maybe")]).unwrap_err();
        assert_eq!(message, "TENON_VALIDATE_GUARDS=maybe: expected 1 or 0");
    }
}
