//! Which plugin is tested, and how it is opened.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tenon::device::Release;
use tenon_loader::{Binding, LoadOptions, PaddleLibraries, Plugin};

use crate::Error;

/// The plugin to test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// A library, or a manifest that names one.
    File {
        /// The location.
        path: PathBuf,
        /// The release that it was built for, if it does not report it.
        release: Option<String>,
        /// The PaddlePaddle whose libraries are loaded first, for a plugin that calls it.
        host: Option<PaddleLibraries>,
    },
    /// A device that is part of Tenon, by its name: `cpu`.
    Builtin(String),
}

/// A plugin that is open.
pub(crate) struct Opened {
    pub(crate) plugin: Arc<Plugin>,
}

impl Source {
    /// Returns its arguments on the command line.
    pub fn text(&self) -> String {
        match self {
            Source::File { path, release, host } => {
                let release = release.as_ref().map_or_else(String::new, |name| format!(" --release {name}"));
                let host = host
                    .as_ref()
                    .map_or_else(String::new, |host| format!(" --host {}", host.python.display()));
                format!("{}{release}{host}", path.display())
            }
            Source::Builtin(name) => format!("--builtin {name}"),
        }
    }

    /// Returns true if the libraries of a PaddlePaddle are loaded first.
    pub(crate) fn has_host(&self) -> bool {
        matches!(self, Source::File { host: Some(_), .. })
    }

    pub(crate) fn open(&self) -> Result<Opened, Error> {
        let plugin = match self {
            Source::Builtin(name) if name == "cpu" => {
                Plugin::built_in(c"cpu", tenon_cpu::Cpu::shared().clone())
            }
            Source::Builtin(name) => return Err(Error::UnknownBuiltin { name: name.clone() }),
            Source::File { path, release, host } => {
                let release = release.as_deref().map(release_of).transpose()?;
                host.as_ref().map_or(Ok(()), PaddleLibraries::open)?;
                // A process whose end does no harm is what the cases run in.
                let options =
                    LoadOptions { release, binding: Binding::LaterForHost, ..LoadOptions::default() };
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
