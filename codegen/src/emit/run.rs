//! Writes every output of a spec, in memory.

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior};
use rayon::prelude::*;

use super::emitter::{EmitError, Inputs, Job};
use super::registry::EMITTERS;
use super::stamp::Stamp;
use crate::grammar;
use crate::out::{FileMap, Output, path};

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
    let stamp = Stamp::new(inputs.loaded, inputs.folder);
    let job = Job { spec, grammar: grammar::FILES, stamp: &stamp, templates: &templates()?, inputs };
    let places: Vec<_> = EMITTERS
        .iter()
        .filter(|emitter| wanted(emitter.kind.key))
        .flat_map(|emitter| spec.outputs.places(emitter.kind).map(move |place| (emitter, place)))
        .collect();
    let outputs: Vec<_> = places.par_iter().map(|(emitter, place)| (emitter.emit)(&job, place)).collect();
    let mut files = FileMap::default();
    for ((emitter, place), outputs) in places.into_iter().zip(outputs) {
        let uncommitted = !spec.outputs.is_committed(emitter.kind.key);
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
