//! Writes every output of a spec, in memory.

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior};
use rayon::prelude::*;

use super::emitter::{EmitError, Inputs, Job, Registered};
use super::registry::EMITTERS;
use super::rust::rustfmt;
use super::stamp::Stamp;
use crate::grammar;
use crate::out::{FileMap, Hash, LastRun, Output};
use crate::output_path;

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
    let written: Vec<_> = places.par_iter().map(|(emitter, place)| (emitter.emit)(&job, place)).collect();
    let mut outputs = Vec::new();
    for ((emitter, place), written) in places.into_iter().zip(written) {
        let uncommitted = !spec.outputs.is_committed(emitter.kind.key);
        for output in written? {
            let path = match output.path.as_str() {
                "" => place.path.value.clone(),
                below => output_path::join(&place.path.value, below),
            };
            outputs.push((emitter, Output { path, uncommitted, ..output }, place.path.span));
        }
    }
    format(outputs.iter_mut().map(|(emitter, output, _)| (*emitter, output)), inputs.last_run)?;
    let mut files = FileMap::default();
    for (_, output, span) in outputs {
        files.add(output, span)?;
    }
    Ok(files)
}

/// Formats the Rust outputs of emitters, a part of them in each thread. Those that were the same before the last run
/// formatted them get the same text again.
fn format<'a>(
    outputs: impl Iterator<Item = (&'a Registered, &'a mut Output)>,
    last_run: Option<&LastRun>,
) -> Result<(), EmitError> {
    let is_formatted =
        |(emitter, output): &(&Registered, &mut Output)| !emitter.is_compact && output.path.ends_with(".rs");
    let is_new = |output: &mut &mut Output| {
        let unformatted = Hash::of(output.text.as_bytes());
        output.unformatted = Some(unformatted);
        match last_run.and_then(|run| run.formatted(&output.path, unformatted)) {
            Some(text) => {
                output.text = text;
                false
            }
            None => true,
        }
    };
    let mut outputs: Vec<_> = outputs.filter(is_formatted).map(|(_, output)| output).collect();
    outputs.retain_mut(is_new);
    // Each part takes about the same time.
    outputs.sort_by_key(|output| output.text.len());
    let threads = rayon::current_num_threads();
    let mut parts: Vec<Vec<&mut Output>> = std::iter::repeat_with(Vec::new).take(threads).collect();
    for (index, output) in outputs.into_iter().enumerate() {
        parts[index % threads].push(output);
    }
    parts.into_par_iter().try_for_each(rustfmt::format)
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
