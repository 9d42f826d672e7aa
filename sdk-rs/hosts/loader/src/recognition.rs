//! The evidence for the release of a plugin.

use std::fmt;

use tenon::device::Release;

/// The way in which the release of a plugin was detected. `Display` writes a clause that refers to the plugin as "it".
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recognition {
    /// There is no table, because it is the built-in device.
    BuiltIn,
    /// The plugin promises to compare both sizes, and accepted those of this release.
    Promised,
    /// The plugin accepted both sizes of this release, and declined every pair with a size that matches no release.
    BothSizes,
    /// The plugin accepted the size of this release's table, with a params size that matches no release.
    TableSize,
    /// The plugin does not check the table's size; what it wrote fits only this release.
    Evidence(Evidence),
    /// The plugin does not check the table's size; each pointer that it wrote means the same in all of these
    /// releases.
    Indifferent {
        /// The matching releases, oldest first.
        candidates: Vec<Release>,
        /// The traces of its writes.
        evidence: Evidence,
    },
    /// The plugin does not check the table's size; what it wrote fits several releases, and this one was declared.
    Declared {
        /// The matching releases, oldest first.
        candidates: Vec<Release>,
        /// The traces of its writes.
        evidence: Evidence,
    },
}

impl fmt::Display for Recognition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => formatter.write_str("it is part of this library"),
            Self::Promised => {
                formatter.write_str("it promises to compare both sizes, and accepted this release's")
            }
            Self::BothSizes => formatter.write_str("it compares both sizes, and accepted this release's"),
            Self::TableSize => {
                formatter.write_str("it goes by the size of the table, and accepted this release's")
            }
            Self::Evidence(evidence) => {
                write!(
                    formatter,
                    "it checks no size of the table; what it wrote fits this release alone: {evidence}"
                )
            }
            Self::Indifferent { candidates, evidence } => write!(
                formatter,
                "it checks no size of the table; what it wrote means the same in {}: {evidence}",
                releases(candidates)
            ),
            Self::Declared { candidates, evidence } => write!(
                formatter,
                "it checks no size of the table; what it wrote fits {}, and this one was declared: {evidence}",
                releases(candidates)
            ),
        }
    }
}

/// The writes of a plugin that does not check the size of the table. `Display` writes clauses about "it".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Number of pointers that it set.
    pub pointers: usize,
    /// End of the last member that it wrote or cleared, in bytes from the start of the table.
    pub extent: usize,
    /// The way in which it cleared the table before it set pointers.
    pub clearing: Clearing,
    /// The size that it stored in the table, if it changed it.
    pub stated: Option<usize>,
    /// The params size that it requires, if it requires one.
    pub params: Option<usize>,
}

/// The way in which a plugin cleared the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clearing {
    /// It did not clear the table.
    None,
    /// It cleared as many bytes as its own table has.
    Own,
    /// It cleared as many bytes as the host stated, which is no evidence.
    Stated,
}

impl fmt::Display for Evidence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pointers, extent, .. } = self;
        let pointers = if *pointers == 1 { "1 pointer".to_owned() } else { format!("{pointers} pointers") };
        match self.clearing {
            Clearing::None => {
                write!(formatter, "it filled {pointers} up to byte {extent} and cleared nothing")?
            }
            Clearing::Own => {
                write!(formatter, "it filled {pointers} and wrote each of the first {extent} bytes")?
            }
            Clearing::Stated => {
                write!(formatter, "it filled {pointers} and cleared as much as the host stated")?
            }
        }
        if let Some(stated) = self.stated {
            write!(formatter, ", stated a table of {stated} bytes")?;
        }
        if let Some(params) = self.params {
            write!(formatter, ", insists on params of {params} bytes")?;
        }
        Ok(())
    }
}

/// Formats releases as a list: `2.6`, `3.0 or 3.1`.
pub(crate) fn releases(releases: &[Release]) -> String {
    let names: Vec<&str> = releases.iter().map(|release| release.name()).collect();
    match names.as_slice() {
        [] => "none".to_owned(),
        [one] => (*one).to_owned(),
        [front @ .., last] => format!("{} or {last}", front.join(", ")),
    }
}
