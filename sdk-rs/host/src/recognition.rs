//! The evidence for the release of a plugin.

use std::fmt;

use tenon::device::Release;

/// The way in which the release of a plugin was detected; as text, a clause that begins with the plugin as
/// "it".
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recognition {
    /// There is no table: it is the built-in device.
    BuiltIn,
    /// It promises to compare both sizes, and accepted this release's.
    Promised,
    /// The plugin accepted both sizes of this release, and refused every pair with a size of no release.
    BothSizes,
    /// It accepted the size of this release's table, beside params of a size that no release has.
    TableSize,
    /// The plugin does not read the table's size; the words that it wrote fit only this release.
    Evidence(Evidence),
    /// It does not look at the table's size, and each pointer that it wrote means the same in all of these
    /// releases.
    Indifferent {
        /// The matching releases, oldest first.
        candidates: Vec<Release>,
        /// The words that it wrote.
        evidence: Evidence,
    },
    /// The plugin does not read the table's size; the words that it wrote fit several releases, and this one was
    /// declared.
    Declared {
        /// The matching releases, oldest first.
        candidates: Vec<Release>,
        /// The words that it wrote.
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

/// The writes of a plugin that ignores the size of the table; as text, clauses about "it".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Number of pointers that it filled.
    pub pointers: usize,
    /// Bytes from the start of the table to the end of the last member that it wrote or cleared.
    pub extent: usize,
    /// The way in which it cleared the table before.
    pub clearing: Clearing,
    /// The size that it wrote into the table, if it changed that.
    pub stated: Option<usize>,
    /// The size of the params that it insists on, if it does.
    pub params: Option<usize>,
}

/// The way in which a plugin cleared the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clearing {
    /// Not at all.
    None,
    /// By its own size, which is that of its table.
    Own,
    /// By the size that the host stated, which gives no evidence.
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

/// Releases as people write them: `2.6`, `3.0 or 3.1`.
pub(crate) fn releases(releases: &[Release]) -> String {
    let names: Vec<&str> = releases.iter().map(|release| release.name()).collect();
    match names.as_slice() {
        [] => "none".to_owned(),
        [one] => (*one).to_owned(),
        [front @ .., last] => format!("{} or {last}", front.join(", ")),
    }
}
