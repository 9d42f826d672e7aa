//! Tenon's generator.
//!
//! Data flows one way: [`yaml`] reads a file and keeps places, [`grammar`] lists the keys of each file, [`model`] resolves
//! the spec, [`check`] applies the rules, [`emit`] makes the outputs in memory, and [`out`] writes those that changed.
//! Beside them, [`sdk`] names what the SDK offers, and [`exports`] reads what a crate exports to
//! C by hand.
//!
//! Nothing after [`model`] reads YAML, and nothing but [`emit`] writes an output language. Two things before it speak of
//! languages. The model has what a spec says for one of them alone, such as the place of a function in a Python package.
//! [`language`] has facts that rules need as well as emitters: reserved words, which C header declares what, and the form
//! of a parameter in Python. The kinds of outputs are part of the grammar, and [`emit::EMITTERS`] has an emitter for each.

pub mod check;
#[cfg(feature = "cli")]
pub mod cli;
pub mod diagnostic;
pub mod emit;
pub mod exports;
pub mod formula;
pub mod grammar;
#[cfg(feature = "cli")]
pub mod import;
pub mod language;
pub mod model;
pub mod out;
pub mod output_path;
pub mod sdk;
pub mod source;
pub mod text;
pub mod yaml;

use diagnostic::Diagnostic;
use model::Spec;
use source::{Files, Sources};

/// A spec that keeps every rule.
#[derive(Debug)]
pub struct CheckedSpec {
    /// The model.
    pub spec: Spec,
    /// The files it came from.
    pub sources: Sources,
}

/// The errors of a spec.
#[derive(Debug)]
pub struct InvalidSpec {
    /// Every mistake, by file and place.
    pub diagnostics: Vec<Diagnostic>,
    /// The files they are in.
    pub sources: Sources,
}

impl InvalidSpec {
    /// Renders the diagnostics as a compiler would show them.
    pub fn render(&self, colour: bool) -> String {
        diagnostic::render(&self.sources, &self.diagnostics, colour)
    }
}

/// Reads a spec, resolves it and holds it to the rules.
///
/// # Errors
/// All mistakes at once.
pub fn load(files: &dyn Files) -> Result<CheckedSpec, Box<InvalidSpec>> {
    let model::lower::Lowered { sources, spec, mut diagnostics } = model::lower::lower(files);
    if let Some(spec) = &spec {
        check::check(spec, &sources, &mut diagnostics);
    }
    match spec {
        Some(spec) if diagnostics.is_empty() => Ok(CheckedSpec { spec, sources }),
        _ => Err(Box::new(InvalidSpec { diagnostics: diagnostics.into_sorted(), sources })),
    }
}
