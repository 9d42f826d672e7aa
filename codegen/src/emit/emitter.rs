//! The interface of an emitter: the kind of output, and the files that it writes.

use minijinja::Environment;

use super::stamp::Stamp;
use crate::CheckedSpec;
use crate::exports::Exports;
use crate::grammar::outputs::OutputKind;
use crate::model::{OutputPlace, Spec};
use crate::out::{DuplicatePath, LastRun, Output};
use crate::yaml::shape::Shape;

/// One kind of output.
pub trait Emitter {
    /// The kind of output that it writes.
    const KIND: &'static OutputKind;
    /// Its templates: names and texts.
    const TEMPLATES: &'static [(&'static str, &'static str)] = &[];

    /// True if its Rust is made of lists that rustfmt would spread over more lines.
    const IS_COMPACT: bool = false;

    /// Adds the filters that its templates use.
    fn add_filters(_templates: &mut Environment) {}

    /// Writes the files of a place. Their paths are relative to it; if the place is a file, the path is empty.
    ///
    /// # Errors
    /// If the spec cannot be written in this form.
    fn emit(job: &Job, place: &OutputPlace) -> Result<Vec<Output>, EmitError>;
}

/// Errors while the outputs are written.
#[derive(Debug, thiserror::Error)]
pub enum EmitError {
    /// Two outputs share a path.
    #[error(transparent)]
    Duplicate(#[from] DuplicatePath),
    /// A template does not match its data.
    #[error("a template of the generator is wrong")]
    Template(#[from] minijinja::Error),
    /// The generated Rust code does not parse.
    #[error("the generated code is not valid Rust: {0}")]
    Rust(String),
    /// rustfmt does not run.
    #[error("the Rust outputs need rustfmt, which cannot be run")]
    Rustfmt(#[source] std::io::Error),
    /// A hand-written export that cannot be expressed in Python.
    #[error("`{item}` cannot be expressed in Python: {reason}")]
    Python {
        /// The export.
        item: String,
        /// The reason.
        reason: String,
    },
    /// The table of contents has no line for the reference.
    #[error("`{0}` has no line `{{{{ reference }}}}`")]
    NoReference(String),
}

impl EmitError {
    /// Returns what to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            EmitError::Duplicate(_) => "each interface needs a header of its own name",
            EmitError::Rustfmt(_) => "it is a component of the toolchain: rustup component add rustfmt",
            EmitError::Python { .. } => "give it a form that Python can call, or leave it out of the exports",
            EmitError::NoReference(_) => "add the line to the template of the table of contents",
            EmitError::Template(_) | EmitError::Rust(_) => "this is a mistake in codegen",
        }
    }
}

/// The inputs of emitters in addition to the model.
#[derive(Debug)]
pub struct Inputs<'a> {
    /// The spec.
    pub loaded: &'a CheckedSpec,
    /// The name of the spec's folder.
    pub folder: &'a str,
    /// The text of the hand-written table of contents, if `outputs.summary` names one.
    pub summary: Option<&'a str>,
    /// The hand-written exports, if `outputs.exports` names a crate.
    pub exports: Option<&'a Exports>,
    /// The run before, whose formatted texts can be used again.
    pub last_run: Option<&'a LastRun>,
}

/// The input of an emitter.
#[derive(Debug)]
pub struct Job<'a> {
    /// The spec.
    pub spec: &'a Spec,
    /// The kinds of files of the spec language, with their shapes.
    pub grammar: &'static [(&'static str, &'static Shape)],
    /// The first lines of outputs.
    pub stamp: &'a Stamp,
    /// The templates of all emitters.
    pub templates: &'a Environment<'static>,
    /// The inputs in addition to the model.
    pub inputs: &'a Inputs<'a>,
}

/// An emitter in the registry.
pub struct Registered {
    /// [`Emitter::KIND`]
    pub kind: &'static OutputKind,
    pub(super) templates: &'static [(&'static str, &'static str)],
    pub(super) is_compact: bool,
    pub(super) add_filters: fn(&mut Environment),
    pub(super) emit: fn(&Job, &OutputPlace) -> Result<Vec<Output>, EmitError>,
}

impl Registered {
    pub(super) const fn of<E: Emitter>() -> Self {
        Registered {
            kind: E::KIND,
            templates: E::TEMPLATES,
            is_compact: E::IS_COMPACT,
            add_filters: E::add_filters,
            emit: E::emit,
        }
    }
}
