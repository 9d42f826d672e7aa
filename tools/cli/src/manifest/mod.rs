//! The manifest of a plugin, read from its file without loading it.

mod elf;

use std::io;
use std::path::Path;

use object::{Architecture, FileKind, ReadRef};
use serde::{Deserialize, Serialize};
use tenon_loader::library_data;
use thiserror::Error;

use elf::Elf;

/// The newest version of the format that this program reads.
const VERSION: u32 = 1;

/// Most characters of a text that a message quotes.
const LONGEST_QUOTE: usize = 256;

/// Properties of a plugin's file.
#[derive(Debug)]
pub struct PluginFile {
    /// The architecture that it was built for.
    pub architecture: Architecture,
    /// Its manifest; `None` if it was not made with Tenon, or by an older Tenon.
    pub manifest: Option<Manifest>,
}

/// Facts about a plugin, as its manifest states them.
#[derive(Clone, Debug, Serialize)]
pub struct Manifest {
    pub device_type: String,
    /// The oldest release that it is made for.
    pub since: String,
    /// The releases that load it, oldest first.
    pub releases: Vec<String>,
    /// Its functions; `None` if its table is filled at run time.
    pub functions: Option<Functions>,
    /// The operators that it computes. Those of plugins in C are not listed.
    pub operators: Vec<String>,
    pub build: Build,
}

/// The functions of a plugin, by name.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Functions {
    pub native: Vec<String>,
    /// Those that the spec's fallbacks implement in the plugin.
    pub fallback: Vec<String>,
}

/// The build of a plugin.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Build {
    /// The version of Tenon.
    pub tenon: String,
    /// The language of the plugin: `rust`, `c` or `c++`.
    pub language: String,
}

/// A note of a plugin. One states the device, and others may list operators.
#[derive(Debug, Deserialize)]
struct Record {
    interface: Option<String>,
    device_type: Option<String>,
    since: Option<String>,
    #[serde(default)]
    releases: Vec<String>,
    native: Option<Vec<String>>,
    #[serde(default)]
    fallback: Vec<String>,
    table: Option<Table>,
    #[serde(default)]
    operators: Vec<String>,
    build: Option<Build>,
}

/// The only member that all versions of the format have.
#[derive(Debug, Deserialize)]
struct Versioned {
    manifest: u32,
}

/// A table of functions in the file.
#[derive(Debug, Deserialize)]
struct Table {
    /// The symbol that points to it.
    symbol: String,
    /// The release that has its layout.
    release: String,
}

/// A file whose manifest cannot be read.
#[derive(Debug, Error)]
pub enum ManifestError {
    #[error("cannot read it: {0}")]
    Read(#[from] io::Error),
    #[error("it is not a library for 64-bit Linux{}", kind.map(|kind| format!(", but {kind}")).unwrap_or_default())]
    OtherFormat { kind: Option<&'static str> },
    #[error("its file is damaged: {0}")]
    Damaged(#[from] object::Error),
    #[error("its manifest is damaged: {0}")]
    Text(#[from] serde_json::Error),
    #[error("its manifest is damaged: it has no {0}")]
    Incomplete(&'static str),
    #[error("its manifest is damaged: two notes describe the device")]
    Twice,
    #[error("its manifest is damaged: its {0} has control characters: `{text}`", text = .1.escape_debug())]
    ControlCharacters(&'static str, String),
    #[error("its file is damaged: it has more {0} than any plugin")]
    TooLarge(&'static str),
    #[error("its manifest has version {0}, and this program knows {VERSION}: update Tenon")]
    Newer(u32),
}

/// Reads the file of a plugin.
pub fn read(path: &Path) -> Result<PluginFile, ManifestError> {
    let data = library_data(path).map_err(io::Error::from)?;
    match read_data(&data) {
        Err(ManifestError::OtherFormat { .. }) => {
            Err(ManifestError::OtherFormat { kind: tenon_loader::foreign_kind(path) })
        }
        outcome => outcome,
    }
}

/// Reads the contents of a plugin's file.
pub fn read_data<'data, R: ReadRef<'data>>(data: R) -> Result<PluginFile, ManifestError> {
    if !matches!(FileKind::parse(data), Ok(FileKind::Elf64)) {
        return Err(ManifestError::OtherFormat { kind: None });
    }
    let elf = Elf::parse(data)?;
    let mut manifest = None::<Manifest>;
    let mut operators = Vec::new();
    for text in elf.notes()? {
        let version = serde_json::from_slice::<Versioned>(&text)?.manifest;
        if version > VERSION {
            return Err(ManifestError::Newer(version));
        }
        let record = serde_json::from_slice::<Record>(&text)?;
        record.check()?;
        operators.extend(record.operators.iter().cloned());
        if record.interface.as_deref() == Some("device") {
            if manifest.is_some() {
                return Err(ManifestError::Twice);
            }
            manifest = Some(Manifest::of(record, &elf)?);
        }
    }
    if let Some(manifest) = &mut manifest {
        manifest.operators = operators;
    }
    Ok(PluginFile { architecture: elf.architecture(), manifest })
}

impl Record {
    /// Refuses texts that a terminal would obey. A host refuses such a device type when it loads the plugin.
    fn check(&self) -> Result<(), ManifestError> {
        let of_build = self.build.iter().flat_map(|build| [&build.tenon, &build.language]);
        let names = self.native.iter().flatten().chain(&self.fallback).chain(&self.operators);
        let texts = (self.device_type.iter().map(|text| ("device type", text)))
            .chain(self.since.iter().chain(&self.releases).map(|text| ("release", text)))
            .chain(of_build.map(|text| ("build", text)))
            .chain(names.map(|text| ("list of names", text)));
        for (what, text) in texts {
            if text.chars().any(char::is_control) {
                return Err(ManifestError::ControlCharacters(
                    what,
                    text.chars().take(LONGEST_QUOTE).collect(),
                ));
            }
        }
        Ok(())
    }
}

impl Manifest {
    fn of<'data, R: ReadRef<'data>>(record: Record, elf: &Elf<'data, R>) -> Result<Self, ManifestError> {
        let functions = match (record.native, &record.table) {
            (Some(native), _) => Some(Functions { native, fallback: record.fallback }),
            (None, Some(table)) => elf
                .functions(&table.symbol, &table.release)?
                .map(|native| Functions { native, ..Functions::default() }),
            (None, None) => None,
        };
        Ok(Self {
            device_type: record.device_type.ok_or(ManifestError::Incomplete("device type"))?,
            since: record.since.ok_or(ManifestError::Incomplete("oldest release"))?,
            releases: record.releases,
            functions,
            operators: Vec::new(),
            build: record.build.ok_or(ManifestError::Incomplete("build"))?,
        })
    }
}
