//! Options for loading a plugin.

use tenon::device::Release;

use crate::library::Binding;

/// Options for loading a plugin.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// The release that the plugin was built for, if it cannot be detected. A wrong one is an error.
    pub release: Option<Release>,
    /// The release that the caller prefers, among those that the plugin may have: it is offered first.
    pub preferred: Option<Release>,
    /// The plugin's name; if left out, the manifest's or the file's.
    pub name: Option<String>,
    /// When functions that the library expects from others are looked up.
    pub binding: Binding,
}
