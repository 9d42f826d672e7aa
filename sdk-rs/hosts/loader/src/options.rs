//! Options for loading a plugin.

use tenon::device::Release;

use crate::library::Binding;

/// Options for loading a plugin.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// The release that the plugin was built for, if it cannot be detected. Loading fails if the plugin contradicts
    /// it.
    pub release: Option<Release>,
    /// The release to offer first, if the plugin may support several.
    pub preferred: Option<Release>,
    /// The plugin's name; by default the name in the manifest or the name of the file.
    pub name: Option<String>,
    /// The time at which the functions that the library imports are resolved.
    pub binding: Binding,
}
