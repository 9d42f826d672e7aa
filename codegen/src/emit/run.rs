//! Every output of a spec, in memory.

use std::thread;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior};

use super::stamp::Stamp;
use super::{c, docs, rust, schema};
use crate::Loaded;
use crate::out::{DuplicatePath, FileMap, Output};
use crate::sdk::Face;

/// What can go wrong while outputs are written in memory.
#[derive(Debug, thiserror::Error)]
pub enum EmitError {
    /// Two outputs share a path.
    #[error(transparent)]
    Duplicate(#[from] DuplicatePath),
    /// A template does not fit its data.
    #[error("a template of codegen is wrong")]
    Template(#[from] minijinja::Error),
    /// The Rust that was put together does not parse.
    #[error("the expansion is not Rust: {0}")]
    Rust(String),
    /// The table of contents has no place for the reference.
    #[error("`{0}` has no line `{{{{ reference }}}}`")]
    NoReference(String),
}

/// What emitters need beside the model.
#[derive(Debug)]
pub struct Inputs<'a> {
    /// The spec.
    pub loaded: &'a Loaded,
    /// The name of the spec's folder.
    pub folder: &'a str,
    /// The text of the table of contents that is written by hand, where `outputs.summary` names one.
    pub summary: Option<&'a str>,
}

/// Writes every output that the spec asks for.
///
/// # Errors
/// When two outputs share a path; anything else is a mistake of ours or in the table of contents.
pub fn emit(inputs: &Inputs) -> Result<FileMap, EmitError> {
    let spec = &inputs.loaded.spec;
    let stamp = Stamp::new(inputs.loaded, inputs.folder);
    let templates = templates()?;
    // The two large outputs are written side by side.
    let (headers, reference) = thread::scope(|scope| {
        let reference = scope.spawn(|| match spec.outputs.reference {
            Some(_) => docs::reference(&templates, spec, &stamp),
            None => Ok(Vec::new()),
        });
        let header = |interface| c::header(&templates, spec, interface, stamp.interface(interface));
        let headers: Result<Vec<String>, minijinja::Error> = match spec.outputs.header {
            Some(_) => spec.interfaces.iter().map(header).collect(),
            None => Ok(Vec::new()),
        };
        (headers, reference.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let mut files = FileMap::default();
    if let Some(folder) = &spec.outputs.header {
        files.own(folder, false);
        for (interface, text) in spec.interfaces.iter().zip(headers?) {
            files.add(Output::new(format!("{folder}/{}", interface.header), text, c::tally(interface)))?;
        }
        for face in spec.interfaces.iter().filter_map(|interface| Face::of(spec, interface)) {
            for output in c::sdk_headers(&templates, face, &stamp.interface(face.interface))? {
                files.add(Output { path: format!("{folder}/{}", output.path), ..output })?;
            }
        }
    }
    if let Some(folder) = &spec.outputs.schema {
        files.own(folder, true);
        for output in schema::schemas(&stamp) {
            files.add(Output { path: format!("{folder}/{}", output.path), ..output })?;
        }
    }
    if let Some(folder) = &spec.outputs.reference {
        files.own(folder, true);
        for output in reference? {
            files.add(Output { path: format!("{folder}/{}", output.path), ..output })?;
        }
        if let (Some(file), Some(template)) = (&spec.outputs.summary, inputs.summary) {
            let output = docs::summary(spec, &stamp, folder, &file.to, template)
                .ok_or_else(|| EmitError::NoReference(file.template.clone()))?;
            files.add(output)?;
        }
    }
    if let Some(folder) = &spec.outputs.rust {
        files.own(folder, true);
        for interface in &spec.interfaces {
            let text = rust::interface_text(spec, interface).map_err(EmitError::Rust)?;
            let text = format!("// {}\n\n{text}", stamp.interface(interface));
            files.add(Output::new(
                format!("{folder}/{}.rs", interface.name.value),
                text,
                c::tally(interface),
            ))?;
        }
    }
    Ok(files)
}

/// The templates, compiled into the command so that it can be copied anywhere.
fn templates() -> Result<Environment<'static>, minijinja::Error> {
    let mut templates = Environment::new();
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    let syntax =
        SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build()?;
    templates.set_syntax(syntax);
    templates.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    templates.add_filter("doxygen", |lines: Vec<String>, margin: Option<&str>| c::comment(lines, margin));
    for (name, text) in c::TEMPLATES {
        templates.add_template(name, text)?;
    }
    for (name, text) in docs::TEMPLATES {
        templates.add_template(name, text)?;
    }
    Ok(templates)
}
