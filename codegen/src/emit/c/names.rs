//! The names of all identifiers in the C output.

use heck::ToPascalCase;

use crate::language::c::{is_of_standard_header, keyword_of};
use crate::model::*;

/// Makes the names for one interface.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    spec: &'a Spec,
    interface: &'a Interface,
}

impl<'a> Names<'a> {
    /// Makes the names for an interface.
    pub fn new(spec: &'a Spec, interface: &'a Interface) -> Self {
        Names { spec, interface }
    }

    /// Returns the include guard: `TENON_DEVICE_EXT_H`. It begins with the project, if the header's name does not.
    pub fn guard(self, header: &str) -> String {
        let name = header.replace(['.', '-', '/'], "_");
        let project = &self.spec.project;
        let own = name.strip_prefix(project.as_str()).is_some_and(|rest| rest.starts_with('_'));
        if own { name } else { format!("{project}_{name}") }.to_uppercase()
    }

    /// Returns the name of a field: the ABI's name if it has one, otherwise the spec's.
    pub fn field(self, field: &Param) -> String {
        field.c_name.clone().unwrap_or_else(|| self.variable(&field.name.value))
    }

    /// Returns the name of a variable: `stream`; a reserved word of C or C++ gets an underscore at its end.
    pub fn variable(self, name: &str) -> String {
        untaken(name)
    }

    /// Returns the name of a struct in an older release: `C_DeviceInterface_v2_6`. C has no namespaces.
    pub fn versioned(self, c_name: &str, release: ReleaseId) -> String {
        format!("{c_name}_v{}", self.release_suffix(release))
    }

    /// Returns the macro for a size: `TENON_DEVICE_SIZE_2_6`; without a release, the size of the only layout,
    /// `TENON_DEVICE_SIZE`.
    pub fn size_macro(self, release: Option<ReleaseId>) -> String {
        match release {
            Some(release) => format!("{}_SIZE_{}", self.constant_prefix(), self.release_suffix(release)),
            None => format!("{}_SIZE", self.constant_prefix()),
        }
    }

    /// Returns the name of the type of releases: `TenonDeviceRelease`.
    pub fn release_type(self) -> String {
        format!("{}{}Release", self.spec.project.to_pascal_case(), self.interface.name.value.to_pascal_case())
    }

    /// Returns the name of the constant for a release: `TENON_DEVICE_RELEASE_2_6`.
    pub fn release_constant(self, release: ReleaseId) -> String {
        format!("{}_RELEASE_{}", self.constant_prefix(), self.release_suffix(release))
    }

    /// Returns the name of the constant for an unknown release: `TENON_DEVICE_RELEASE_UNKNOWN`.
    pub fn unknown_release(self) -> String {
        format!("{}_RELEASE_UNKNOWN", self.constant_prefix())
    }

    /// Returns the name of the function that detects the release of a host: `tenon_device_release`.
    pub fn release_function(self) -> String {
        format!("{}_{}_release", self.spec.project, self.interface.name.value)
    }

    /// Returns the name of the function that fills a table: `tenon_device_fill`.
    pub fn fill_function(self) -> String {
        format!("{}_{}_fill", self.spec.project, self.interface.name.value)
    }

    /// Returns the name of the macro that a plugin defines if it supports a single release: `TENON_DEVICE_NEWEST_ONLY`.
    pub fn newest_only_macro(self) -> String {
        format!("{}_NEWEST_ONLY", self.constant_prefix())
    }

    /// Returns the name of the macro that a plugin defines as the oldest release that it supports: `TENON_DEVICE_SINCE`.
    pub fn since_macro(self) -> String {
        format!("{}_SINCE", self.constant_prefix())
    }

    /// Returns the name of the macro that puts a manifest into a plugin: `TENON_DEVICE_MANIFEST`.
    pub fn manifest_macro(self) -> String {
        format!("{}_MANIFEST", self.constant_prefix())
    }

    /// Returns the name of the symbol of a plugin's table: `tenon_device_table`.
    pub fn table_symbol(self) -> String {
        format!("{}_{}_table", self.spec.project, self.interface.name.value)
    }

    /// Returns a release as a plugin writes it for that macro: `3_0`.
    pub fn release_suffix(self, id: ReleaseId) -> String {
        self.interface.releases[id.0].name.value.replace('.', "_")
    }

    /// Returns the name of the macro that states the plugin's version: `TENON_DEVICE_STATE_VERSION`.
    pub fn state_version_macro(self) -> String {
        format!("{}_STATE_VERSION", self.constant_prefix())
    }

    /// Returns the name of a version macro: `PADDLE_CUSTOM_RUNTIME_MAJOR_VERSION`, or `TENON_DEVICE_MAJOR_VERSION` if
    /// the ABI has no prefix of its own.
    pub fn version_macro(self, plugin: &Plugin, part: &str) -> String {
        format!("{}_{part}_VERSION", self.version_prefix(plugin))
    }

    /// Returns the name of the macro that checks a version: `PADDLE_CUSTOM_RUNTIME_CHECK_VERSION`.
    pub fn check_macro(self, plugin: &Plugin) -> String {
        format!("{}_CHECK_VERSION", self.version_prefix(plugin))
    }

    fn version_prefix(self, plugin: &Plugin) -> String {
        plugin.version_macro.clone().unwrap_or_else(|| self.constant_prefix())
    }

    /// Returns the name of the macro for one part of a version: `IMAGING_CODEC_MAJOR_VERSION`.
    pub fn part_macro(self, part: &str) -> String {
        format!("{}_{}_VERSION", self.constant_prefix(), part.to_uppercase())
    }

    /// Returns the name of a macro that tests for a function or an argument: `IMAGING_CODEC_HAS_FUNCTION`.
    pub fn has_macro(self, what: &str) -> String {
        format!("{}_HAS_{what}", self.constant_prefix())
    }

    fn constant_prefix(self) -> String {
        format!("{}_{}", self.spec.project, self.interface.name.value).to_uppercase()
    }
}

/// Returns the path of a header relative to the header that includes it, so that it is found wherever both are
/// installed.
pub fn beside(from: &str, to: &str) -> String {
    let folders = |path: &str| -> Vec<String> {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        folder.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let (here, there) = (folders(from), folders(to));
    let shared = here.iter().zip(&there).take_while(|(a, b)| a == b).count();
    let up = here[shared..].iter().map(|_| "..");
    let down = there[shared..].iter().map(String::as_str);
    let name = to.rsplit('/').next().unwrap_or(to);
    up.chain(down).chain([name]).collect::<Vec<_>>().join("/")
}

/// Returns the name of a variable or a field; a reserved word of C or C++ gets an underscore at its end.
pub fn untaken(name: &str) -> String {
    if is_taken(name) { format!("{name}_") } else { name.to_owned() }
}

/// Returns true if a variable or field cannot have this name in a header.
fn is_taken(name: &str) -> bool {
    keyword_of(name).is_some() || is_of_standard_header(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_taken_reserved_words_return_true() {
        assert!(["alignas", "concept", "default", "linux", "not", "size_t"].into_iter().all(is_taken));
        assert!(!["device", "interface", "value"].into_iter().any(is_taken));
    }

    #[test]
    fn beside_returns_relative_paths() {
        assert_eq!(beside("acl/acl.h", "acl/acl_rt.h"), "acl_rt.h");
        assert_eq!(beside("acl/acl.h", "tenon/types.h"), "../tenon/types.h");
        assert_eq!(beside("log.h", "bus/bus.h"), "bus/bus.h");
    }
}
