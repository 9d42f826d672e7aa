//! Writes every output of a spec, in memory.

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior};
use rayon::prelude::*;

use super::{EMITTERS, Inputs, Job, Stamp, python};
use crate::out::{DuplicatePath, FileMap, Output, path};

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
    Python(#[from] python::CoreError),
    /// The table of contents has no line for the reference.
    #[error("`{0}` has no line `{{{{ reference }}}}`")]
    NoReference(String),
}

/// Writes every output that the spec asks for.
///
/// # Errors
/// If two outputs have the same path. Other errors are bugs in the generator, or are in the table of contents.
pub fn emit(inputs: &Inputs) -> Result<FileMap, EmitError> {
    emit_some(inputs, |_| true)
}

/// Writes the outputs that belong into version control.
///
/// # Errors
/// As for [`emit`].
pub fn emit_committed(inputs: &Inputs) -> Result<FileMap, EmitError> {
    emit_some(inputs, |key| inputs.loaded.spec.outputs.is_committed(key))
}

fn emit_some(inputs: &Inputs, wanted: impl Fn(&str) -> bool) -> Result<FileMap, EmitError> {
    let spec = &inputs.loaded.spec;
    let job =
        Job { spec, stamp: &Stamp::new(inputs.loaded, inputs.folder), templates: &templates()?, inputs };
    let places: Vec<_> = EMITTERS
        .iter()
        .filter(|emitter| wanted(emitter.key))
        .flat_map(|emitter| spec.outputs.places(emitter.key).map(move |place| (emitter, place)))
        .collect();
    let outputs: Vec<_> = places.par_iter().map(|(emitter, place)| (emitter.emit)(&job, place)).collect();
    let mut files = FileMap::default();
    for ((emitter, place), outputs) in places.into_iter().zip(outputs) {
        let uncommitted = !spec.outputs.is_committed(emitter.key);
        for output in outputs? {
            let path = match output.path.as_str() {
                "" => place.path.value.clone(),
                below => path::join(&place.path.value, below),
            };
            files.add(Output { path, uncommitted, ..output }, place.path.span)?;
        }
    }
    Ok(files)
}

/// Returns the templates. They are part of the executable, so that it can be copied anywhere.
fn templates() -> Result<Environment<'static>, minijinja::Error> {
    let mut templates = Environment::new();
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    let syntax =
        SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build()?;
    templates.set_syntax(syntax);
    templates.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    for emitter in EMITTERS {
        (emitter.add_filters)(&mut templates);
        for (name, text) in emitter.templates {
            templates.add_template(name, text)?;
        }
    }
    Ok(templates)
}
