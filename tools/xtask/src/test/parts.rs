//! The table of parts.

use crate::diopi;
use crate::docs;
use crate::failure::Failure;
use crate::onnxruntime;
use crate::paddle::{self, examples};
use crate::sdk::{self, wheel};
use crate::test::{Options, bare, lint, rust};
use crate::tools::{fetch, survey::Survey};

/// The runs that include a part.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// All runs.
    Quick,
    /// All runs without `--quick`.
    Full,
    /// Only runs with `--complete`: lints, which `cargo xtask lint` runs too, and what repeats other parts.
    Complete,
}

/// Parts of one lane run one after the other, in the order of the table. Both lanes run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Uses cargo's debug builds, which are locked during a build, or writes generated files; then what the other lane has
    /// built, so that both take about as long.
    Sources,
    /// Uses release builds, wheels and Python environments.
    Packages,
}

/// A part of the tests.
pub struct Part {
    /// The name in the output and in the summary.
    pub name: &'static str,
    /// The runs that include it.
    pub when: When,
    /// Its lane.
    pub lane: Lane,
    /// Parts that must have ended before it starts. They are above it in the table.
    pub after: &'static [&'static str],
    /// Runs it in this process.
    pub run: fn(&Options) -> Result<(), Failure>,
}

impl Part {
    const fn new(
        when: When,
        lane: Lane,
        name: &'static str,
        run: fn(&Options) -> Result<(), Failure>,
    ) -> Self {
        Part { name, when, lane, after: &[], run }
    }

    const fn after(mut self, names: &'static [&'static str]) -> Self {
        self.after = names;
        self
    }
}

const DOWNLOADS: &str = "downloads";
const EXAMPLES: &str = "the examples for PaddlePaddle";
/// The name of the part that `cargo xtask sdk` runs alone.
pub const C_SDK: &str = "the C SDK";

/// All parts. In each lane, the fastest are first.
pub const PARTS: &[Part] = &[
    Part::new(When::Complete, Lane::Sources, "format and clippy", |_| lint::rust()),
    Part::new(When::Full, Lane::Packages, DOWNLOADS, |_| downloads()),
    Part::new(When::Quick, Lane::Sources, "generated files are fresh", |_| {
        docs::codegen()?.arg("--check").run()
    }),
    Part::new(When::Complete, Lane::Packages, "dependencies and their notices", |_| lint::dependencies()),
    Part::new(When::Complete, Lane::Packages, "lints and types of Python", |_| lint::python()),
    Part::new(When::Complete, Lane::Sources, "links in the Rust documentation", |_| lint::rustdoc()),
    Part::new(When::Full, Lane::Packages, C_SDK, |_| sdk::c::test()),
    Part::new(When::Quick, Lane::Sources, "Rust and C", |options| {
        if options.quick { rust::quick() } else { rust::all() }
    })
    .after(&[DOWNLOADS]),
    Part::new(When::Full, Lane::Sources, EXAMPLES, |_| examples::build()),
    Part::new(When::Full, Lane::Sources, "the DIOPI library", |_| diopi::test()).after(&[C_SDK]),
    Part::new(When::Full, Lane::Sources, "the plugin in ONNX Runtime", |options| {
        onnxruntime::test(options.all_releases)
    })
    .after(&[C_SDK]),
    Part::new(When::Full, Lane::Packages, "the Python SDK", |options| {
        sdk::python::test(options.all_releases)
    }),
    Part::new(When::Full, Lane::Packages, "the plugin's wheel", |_| wheel::test()),
    Part::new(When::Full, Lane::Sources, "every interleaving of streams and events", |_| {
        rust::interleavings()
    }),
    Part::new(When::Full, Lane::Sources, "the book", |_| docs::check()),
    Part::new(When::Full, Lane::Packages, "the plugin in PaddlePaddle", |options| {
        paddle::test(options.all_releases)
    })
    .after(&[EXAMPLES]),
    Part::new(When::Full, Lane::Packages, "the Python SDK beside PaddlePaddle", |_| {
        sdk::python::test_with_paddle(&paddle::newest()?)
    })
    .after(&[EXAMPLES]),
    Part::new(When::Full, Lane::Sources, "formulas and their references", |_| docs::formulas()),
    Part::new(When::Complete, Lane::Sources, "the README's commands on a bare machine", |_| bare::test()),
];

/// Fetches the tools and PaddlePaddle's headers.
fn downloads() -> Result<(), Failure> {
    fetch::fetch(&Survey::take())?;
    paddle::headers().map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_wait_only_for_parts_above_them() {
        for (index, part) in PARTS.iter().enumerate() {
            for name in part.after {
                assert!(PARTS[..index].iter().any(|above| above.name == *name), "{}: {name}", part.name);
            }
        }
    }

    #[test]
    fn quick_parts_share_one_lane() {
        let mut quick = PARTS.iter().filter(|part| part.when == When::Quick);
        assert!(quick.all(|part| part.lane == Lane::Sources));
    }
}
