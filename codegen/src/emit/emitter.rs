//! The interface of an emitter: the key of `outputs` that enables it, and the files that it writes.

use minijinja::Environment;

use super::python::CoreError;
use super::stamp::Stamp;
use crate::Loaded;
use crate::exports::Exports;
use crate::model::{OutputPlace, Spec};
use crate::out::{DuplicatePath, Output};
use crate::source::shape::{Key, Shape, Value, optional};

/// One kind of output.
pub trait Emitter {
    /// The key of `outputs` in `spec.yaml` that enables it.
    const KEY: &'static str;
    /// The documentation of the key.
    const DOC: &'static str;
    /// The form of the key's value.
    const TAKES: Takes;
    /// Its templates: names and texts.
    const TEMPLATES: &'static [(&'static str, &'static str)] = &[];

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
    /// A hand-written export that cannot be expressed in Python.
    #[error(transparent)]
    Python(#[from] CoreError),
    /// The table of contents has no line for the reference.
    #[error("`{0}` has no line `{{{{ reference }}}}`")]
    NoReference(String),
}

/// The form of the value of a key in `outputs`.
#[derive(Debug)]
pub enum Takes {
    /// A folder that may contain nothing else.
    OwnFolder,
    /// A folder that may contain other files.
    Folder,
    /// A file.
    File,
    /// Interface → file.
    FilePerInterface,
    /// [`Takes::OwnFolder`] or [`Takes::FilePerInterface`].
    OwnFolderOrFiles,
    /// A mapping with the file as `to`, and the files that it is made from.
    FileFrom(&'static Shape),
}

/// The inputs of emitters in addition to the model.
#[derive(Debug)]
pub struct Inputs<'a> {
    /// The spec.
    pub loaded: &'a Loaded,
    /// The name of the spec's folder.
    pub folder: &'a str,
    /// The text of the hand-written table of contents, if `outputs.summary` names one.
    pub summary: Option<&'a str>,
    /// The hand-written exports, if `outputs.exports` names a crate.
    pub exports: Option<&'a Exports>,
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
    /// [`Emitter::KEY`]
    pub key: &'static str,
    /// [`Emitter::TAKES`]
    pub takes: Takes,
    pub(super) templates: &'static [(&'static str, &'static str)],
    pub(super) add_filters: fn(&mut Environment),
    pub(super) emit: fn(&Job, &OutputPlace) -> Result<Vec<Output>, EmitError>,
}

impl Registered {
    pub(super) const fn of<E: Emitter>() -> Self {
        Registered {
            key: E::KEY,
            takes: E::TAKES,
            templates: E::TEMPLATES,
            add_filters: E::add_filters,
            emit: E::emit,
        }
    }
}

/// Returns the key of an emitter in the grammar of `spec.yaml`.
pub(super) const fn key_of<E: Emitter>() -> Key {
    const FILES: Value = Value::Map(&Value::Line);
    let value = match E::TAKES {
        Takes::OwnFolder | Takes::Folder | Takes::File => Value::Line,
        Takes::FilePerInterface => FILES,
        Takes::OwnFolderOrFiles => Value::Any(&[Value::Line, FILES]),
        Takes::FileFrom(shape) => Value::Shape(shape),
    };
    Key { name: E::KEY, doc: E::DOC, ..optional(value) }
}
