//! Which plugin is tested, and how it is opened.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tenon::device::Release;
use tenon_host::{LoadOptions, Plugin};

use crate::Error;

/// The plugin to test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// A library, or a manifest that names one.
    File {
        /// Where it is.
        path: PathBuf,
        /// The release that it was built for, where it does not tell by itself.
        release: Option<String>,
    },
    /// A device that is part of Tenon, by its name: `cpu`.
    Builtin(String),
}

/// A plugin that is open.
pub(crate) struct Opened {
    pub(crate) plugin: Arc<Plugin>,
}

impl Source {
    /// Its arguments on the command line.
    pub fn text(&self) -> String {
        match self {
            Source::File { path, release: None } => path.display().to_string(),
            Source::File { path, release: Some(release) } => {
                format!("{} --release {release}", path.display())
            }
            Source::Builtin(name) => format!("--builtin {name}"),
        }
    }

    pub(crate) fn open(&self) -> Result<Opened, Error> {
        let plugin = match self {
            Source::Builtin(name) if name == "cpu" => Plugin::builtin(),
            Source::Builtin(name) => return Err(Error::UnknownBuiltin { name: name.clone() }),
            Source::File { path, release } => {
                let release = release.as_deref().map(release_of).transpose()?;
                let options = LoadOptions { release, ..LoadOptions::default() };
                Plugin::load(path, &options).map_err(|error| Error::Load { message: error.to_string() })?
            }
        };
        Ok(Opened { plugin })
    }
}

fn release_of(name: &str) -> Result<Release, Error> {
    Release::ALL.into_iter().find(|release| release.name() == name).ok_or_else(|| Error::UnknownRelease {
        name: name.to_owned(),
        known: Release::ALL.map(Release::name).join(", "),
    })
}
