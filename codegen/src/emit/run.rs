//! Every output of a spec, in memory.

use std::thread;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior};

use super::stamp::Stamp;
use super::text::count;
use super::{c, docs, python, rust, schema};
use crate::Loaded;
use crate::exports::Exports;
use crate::model::{Interface, InterfaceFile, Spec};
use crate::out::{DuplicatePath, FileMap, Output, path};
use crate::sdk::Face;
use crate::source::At;

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
    /// What is exported by hand has no form in Python.
    #[error(transparent)]
    Python(#[from] python::CoreError),
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
    /// What is exported by hand, where `outputs.exports` names a crate.
    pub exports: Option<&'a Exports>,
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
        let of_interface = |interface| c::headers(&templates, spec, interface, &stamp.interface(interface));
        let headers: Result<Vec<Vec<Output>>, minijinja::Error> = match spec.outputs.header {
            Some(_) => spec.interfaces.iter().map(of_interface).collect(),
            None => Ok(Vec::new()),
        };
        (headers, reference.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let mut files = FileMap::default();
    if let Some(folder) = &spec.outputs.header {
        add_below(&mut files, folder, headers?.into_iter().flatten())?;
    }
    if let Some(folder) = &spec.outputs.schema {
        add_below(&mut files, folder, schema::schemas(&stamp))?;
    }
    if let Some(folder) = &spec.outputs.reference {
        let uncommitted = !spec.outputs.is_committed("reference");
        add_below(&mut files, folder, reference?.into_iter().map(|page| Output { uncommitted, ..page }))?;
        if let (Some(file), Some(template)) = (&spec.outputs.summary, inputs.summary) {
            let output = docs::summary(spec, &stamp, &folder.value, &file.to.value, template)
                .ok_or_else(|| EmitError::NoReference(file.template.clone()))?;
            let uncommitted = !spec.outputs.is_committed("summary");
            files.add(Output { uncommitted, ..output }, file.to.span)?;
        }
    }
    emit_rust(spec, &stamp, &mut files)?;
    if let Some(folder) = &spec.outputs.python {
        for interface in spec.interfaces.iter().filter(|interface| interface.python.is_some()) {
            let marker = stamp.interface(interface);
            add_below(&mut files, folder, python::package(&templates, spec, interface, &marker)?)?;
        }
        for face in spec.interfaces.iter().filter_map(|interface| Face::of(spec, interface)) {
            let marker = stamp.interface(face.interface);
            let exports = inputs.exports.zip(spec.outputs.exports.as_ref());
            let exports = exports.map(|(exports, file)| (exports, stamp.file(&file.from)));
            add_below(&mut files, folder, python::bindings(&templates, face, &marker, exports)?)?;
        }
    }
    Ok(files)
}

/// The Rust modules, the exported functions of the SDK, and the table of traits.
fn emit_rust(spec: &Spec, stamp: &Stamp, files: &mut FileMap) -> Result<(), EmitError> {
    let marked = |text: String, marker: String| format!("// {marker}\n\n{text}");
    let module = |interface: &Interface, path: String| {
        let text = rust::interface_text(spec, interface).map_err(EmitError::Rust)?;
        Ok::<_, EmitError>(Output::new(path, marked(text, stamp.interface(interface)), c::tally(interface)))
    };
    if let Some(folder) = &spec.outputs.rust {
        for interface in &spec.interfaces {
            add_below(files, folder, [module(interface, format!("{}.rs", interface.name.value))?])?;
        }
    }
    for InterfaceFile { interface, to } in &spec.outputs.rust_files {
        files.add(module(&spec.interfaces[interface.value.0], to.value.clone())?, to.span)?;
    }
    for InterfaceFile { interface, to } in &spec.outputs.rust_exports {
        let Some(face) = Face::of(spec, &spec.interfaces[interface.value.0]) else { continue };
        let text = rust::c_api_text(face).map_err(EmitError::Rust)?;
        let text = marked(text, stamp.interface(face.interface));
        files.add(Output::new(to.value.clone(), text, c::tally(face.interface)), to.span)?;
    }
    if let Some(to) = &spec.outputs.rust_traits {
        let text = marked(rust::traits_text(spec).map_err(EmitError::Rust)?, stamp.spec());
        let note = count(rust::traits(spec).len(), "trait");
        files.add(Output::new(to.value.clone(), text, note), to.span)?;
    }
    Ok(())
}

/// Adds outputs whose paths are relative to a folder of outputs.
fn add_below(
    files: &mut FileMap,
    folder: &At<String>,
    outputs: impl IntoIterator<Item = Output>,
) -> Result<(), DuplicatePath> {
    outputs.into_iter().try_for_each(|output| {
        let path = path::join(&folder.value, &output.path);
        files.add(Output { path, ..output }, folder.span)
    })
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
    python::add_filters(&mut templates);
    for (name, text) in python::TEMPLATES {
        templates.add_template(name, text)?;
    }
    for (name, text) in docs::TEMPLATES {
        templates.add_template(name, text)?;
    }
    Ok(templates)
}
