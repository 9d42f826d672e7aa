//! One plugin of the table.

use std::path::{Path, PathBuf};

use serde::Serialize;
use tenon::device::Release;
use tenon_conformance::Source;
use tenon_loader::{InstalledPaddle, PaddleLibraries};

use crate::doctor::child;
use crate::doctor::image::own_architecture;
use crate::doctor::paddle::probe::{Step, probe};
use crate::manifest::{self, Manifest, PluginFile};

/// A plugin, and what is known about it.
#[derive(Debug, Serialize)]
pub struct Row {
    pub file: PathBuf,
    /// The source of the row.
    pub source: Origin,
    pub device_type: Option<String>,
    pub architecture: Option<String>,
    /// The number of functions that it implements, if it is known.
    pub native: Option<usize>,
    /// The number of functions that the spec's fallbacks implement in the plugin.
    pub fallback: Option<usize>,
    /// All releases, oldest first.
    pub releases: Vec<Cell>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Manifest>,
    /// The reason for which the row is incomplete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The source of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    Manifest,
    /// The plugin was loaded.
    Loaded,
    /// The plugin could not be examined.
    Nothing,
}

/// A plugin in a release.
#[derive(Debug, Serialize)]
pub struct Cell {
    pub release: &'static str,
    pub support: Support,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conformance: Option<Conformance>,
}

/// The support of a plugin for a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Support {
    /// The plugin is made for it.
    Yes,
    /// The release loads the plugin, which is made for later ones.
    Loads,
    No,
    Unknown,
}

/// The result of the test cases.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Conformance {
    Tested {
        passed: usize,
        failed: usize,
    },
    /// Nothing could be tested.
    Untested(String),
}

impl Row {
    /// Examines a plugin.
    pub fn of(file: &Path, paddle: Option<&InstalledPaddle>) -> Self {
        let mut row = Self {
            file: file.into(),
            source: Origin::Nothing,
            device_type: None,
            architecture: None,
            native: None,
            fallback: None,
            releases: cells(|_| Support::Unknown),
            manifest: None,
            problem: None,
        };
        match manifest::read(file) {
            Ok(PluginFile { architecture, manifest }) => {
                row.architecture = Some(format!("{architecture:?}").to_lowercase());
                match manifest {
                    Some(manifest) => row.take(manifest),
                    None if architecture == own_architecture() => row.load(paddle),
                    None => row.problem = Some("it has no manifest, and this machine cannot load it".into()),
                }
            }
            Err(error) => row.problem = Some(error.to_string()),
        }
        row
    }

    /// Takes over the statements of a manifest.
    fn take(&mut self, manifest: Manifest) {
        let position =
            |name: &str| Release::ALL.into_iter().position(|release| release.name() == name).unwrap_or(0);
        let oldest = position(&manifest.since);
        self.source = Origin::Manifest;
        self.device_type = Some(manifest.device_type.clone());
        self.native = manifest.functions.as_ref().map(|functions| functions.native.len());
        self.fallback = manifest.functions.as_ref().map(|functions| functions.fallback.len());
        self.releases = cells(|release| match manifest.releases.iter().any(|name| name == release.name()) {
            false => Support::No,
            true if position(release.name()) < oldest => Support::Loads,
            true => Support::Yes,
        });
        self.manifest = Some(manifest);
    }

    /// Loads the plugin in another process, and takes over what it reports.
    fn load(&mut self, paddle: Option<&InstalledPaddle>) {
        let probed = match probe(&self.file, paddle) {
            Ok(probed) => probed,
            Err(error) => {
                self.problem = Some(format!("it cannot be tried: {error}"));
                return;
            }
        };
        let Some(first) = probed.steps.first() else {
            let how = child::describe(probed.ended.status);
            self.problem = Some(format!("it has no manifest, and the process that loaded it {how}"));
            return;
        };
        match first {
            Step::Loaded(table) => {
                self.source = Origin::Loaded;
                self.device_type = Some(table.device_type.clone());
                self.native = Some(table.functions);
                self.releases =
                    cells(|release| if release.name() == table.release { Support::Yes } else { Support::No });
            }
            Step::Refused(message) | Step::Failed(message) => self.problem = Some(message.clone()),
            Step::Devices(_) => {}
        }
    }

    /// Runs the test cases in each release that the plugin is made for.
    pub fn test(&mut self, paddle: Option<&PaddleLibraries>) {
        let is_foreign = self.architecture != Some(format!("{:?}", own_architecture()).to_lowercase());
        for cell in self.releases.iter_mut().filter(|cell| cell.support == Support::Yes) {
            cell.conformance = Some(if is_foreign {
                Conformance::Untested("it is for another architecture".into())
            } else {
                test(&self.file, cell.release, paddle)
            });
        }
    }

    /// Returns true if the plugin was examined, and no case failed.
    pub fn is_sound(&self) -> bool {
        let is_sound =
            |cell: &Cell| matches!(cell.conformance, None | Some(Conformance::Tested { failed: 0, .. }));
        self.problem.is_none() && self.releases.iter().all(is_sound)
    }
}

fn cells(support: impl Fn(Release) -> Support) -> Vec<Cell> {
    let cell =
        |release: Release| Cell { release: release.name(), support: support(release), conformance: None };
    Release::ALL.into_iter().map(cell).collect()
}

/// Runs the test cases, each group in a process of its own.
fn test(file: &Path, release: &str, paddle: Option<&PaddleLibraries>) -> Conformance {
    let source = Source::File { path: file.into(), release: Some(release.to_owned()), host: paddle.cloned() };
    match tenon_conformance::run(&source, &tenon_conformance::Options::default(), &mut |_| {}) {
        Ok(outcome) => {
            let counts = outcome.counts();
            Conformance::Tested { passed: counts.passed, failed: counts.failed }
        }
        Err(error) => Conformance::Untested(error.to_string()),
    }
}
