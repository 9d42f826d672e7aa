//! Manifests: small JSON files that name a plugin's library and state what the library itself does not report.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use tenon::device::Release;

use crate::error::LoadError;
use crate::library::Binding;
use crate::options::LoadOptions;

/// The version of the manifest format that this code reads.
const FORMAT: u64 = 1;
/// Most bytes in a manifest.
const LONGEST: u64 = 64 * 1024;

/// The content of a manifest.
///
/// ```json
/// {
///   "tenon_manifest": 1,
///   "library": "./libvendor_npu.so",
///   "name": "vendor-npu",
///   "release": "3.1",
///   "lazy": false,
///   "description": "The NPU of a vendor"
/// }
/// ```
///
/// `tenon_manifest` and `library` are required.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Manifest {
    /// The path of the manifest.
    pub path: PathBuf,
    /// The library. A relative path is resolved against the manifest's folder.
    pub library: PathBuf,
    /// The plugin's name.
    pub name: Option<String>,
    /// The release that the plugin was built for.
    pub release: Option<Release>,
    /// True if unresolved functions of the library are looked up only when they are called.
    pub lazy: bool,
    /// Free text for users.
    pub description: Option<String>,
}

/// The format version. It is parsed first, because a later format may have other keys.
#[derive(Deserialize)]
struct Head {
    tenon_manifest: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    #[serde(rename = "tenon_manifest")]
    _format: u64,
    library: String,
    name: Option<String>,
    release: Option<String>,
    #[serde(default)]
    lazy: bool,
    description: Option<String>,
}

impl Manifest {
    /// Reads a manifest. Does not check that the library exists.
    ///
    /// # Errors
    /// [`LoadError::NotFound`], [`LoadError::NotAFile`], [`LoadError::Unreadable`], or [`LoadError::Manifest`] with
    /// the line and the mistake.
    pub fn read(path: &Path) -> Result<Self, LoadError> {
        let text = tenon_files::read_text(path, LONGEST).map_err(|error| LoadError::of_file(path, error))?;
        Self::parse(path, &text).map_err(|reason| LoadError::Manifest { path: path.into(), reason })
    }

    fn parse(path: &Path, text: &str) -> Result<Self, String> {
        let head: Head = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if head.tenon_manifest != FORMAT {
            return Err(format!(
                "it is of format {}, and this library reads format {FORMAT}",
                head.tenon_manifest
            ));
        }
        let body: Body = serde_json::from_str(text).map_err(|error| error.to_string())?;
        for (key, value) in [("library", Some(&body.library)), ("name", body.name.as_ref())] {
            if value.is_some_and(String::is_empty) {
                return Err(format!("`{key}` is empty"));
            }
        }
        if Path::new(&body.library).extension().is_some_and(|extension| extension == "json") {
            return Err("`library` names another manifest, where a library was expected".to_owned());
        }
        let release = body.release.as_deref().map(release_of_name).transpose()?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Ok(Self {
            path: path.into(),
            library: folder.join(body.library),
            name: body.name,
            release,
            lazy: body.lazy,
            description: body.description,
        })
    }

    /// Merges load options: the caller's take precedence over the manifest's.
    pub(crate) fn options(&self, given: &LoadOptions) -> LoadOptions {
        LoadOptions {
            release: given.release.or(self.release),
            preferred: given.preferred,
            name: given.name.clone().or_else(|| self.name.clone()),
            binding: given.binding.max(if self.lazy { Binding::Later } else { Binding::AtOnce }),
        }
    }
}

fn release_of_name(name: &str) -> Result<Release, String> {
    Release::ALL.into_iter().find(|release| release.name() == name).ok_or_else(|| {
        let known: Vec<&str> = Release::ALL.into_iter().map(Release::name).collect();
        format!("`release` is \"{name}\", and known are {}", known.join(", "))
    })
}
