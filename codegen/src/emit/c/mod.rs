//! C: one header for each interface, those of the SDK, and the C++ that holds a layout against the ABI's own header.

pub mod asserts;
mod doxygen;
mod fill;
mod model;
mod names;
mod sdk;
mod table;
mod types;

use minijinja::Environment;
use minijinja::value::Serde;

use doxygen::comment;
pub use doxygen::tally;
pub use sdk::prototype as sdk_prototype;
pub use types::{Dialect, Speller};

use super::text::count;
use super::{EmitError, Emitter, Job, Takes};
use crate::grammar::needed;
use crate::language::headers;
use crate::model::{Function, Interface, OutputPlace, ReleaseId, Spec};
use crate::out::Output;
use crate::sdk::Face;
use crate::source::shape::{Shape, Value};

/// The headers of interfaces and of the SDK.
pub struct Headers;

impl Emitter for Headers {
    const KEY: &'static str = "header";
    const DOC: &'static str = "Folder of the C headers.";
    const TAKES: Takes = Takes::Folder;
    const TEMPLATES: &'static [(&'static str, &'static str)] = &[
        ("c/macros.h.j2", include_str!("../../../templates/c/macros.h.j2")),
        ("c/header.h.j2", include_str!("../../../templates/c/header.h.j2")),
        ("c/types.h.j2", include_str!("../../../templates/c/types.h.j2")),
        ("c/functions.h.j2", include_str!("../../../templates/c/functions.h.j2")),
    ];

    fn add_filters(templates: &mut Environment) {
        templates.add_filter("doxygen", |lines: Vec<String>, margin: Option<&str>| comment(lines, margin));
    }

    fn emit(job: &Job, _: &OutputPlace) -> Result<Vec<Output>, EmitError> {
        let mut outputs = Vec::new();
        for interface in &job.spec.interfaces {
            outputs.extend(headers(job, interface)?);
        }
        Ok(outputs)
    }
}

/// The header of exports that are written by hand, as cbindgen has written it for the command.
pub struct HandWritten;

impl Emitter for HandWritten {
    const KEY: &'static str = "exports";
    const DOC: &'static str =
        "The C header of exports that are written by hand, which the command reads with cbindgen.";
    const TAKES: Takes = Takes::FileFrom(&EXPORTS_FILE);

    fn emit(job: &Job, place: &OutputPlace) -> Result<Vec<Output>, EmitError> {
        let Some(exports) = job.inputs.exports else { return Ok(Vec::new()) };
        let text = format!("// {}\n\n{}", job.stamp.file(place.read("from")), exports.header);
        Ok(vec![Output::new("", text, count(exports.functions.len(), "function"))])
    }
}

static EXPORTS_FILE: Shape = Shape {
    name: "a header of exports",
    keys: &[
        needed("from", Value::Line, "The root of the crate that has them."),
        needed("config", Value::Line, "The configuration of cbindgen."),
        needed("to", Value::Line, "The header."),
    ],
};

/// The C declaration of a function as a release has it: a member of the table, or a prototype.
///
/// ```c
/// C_Status (*set_device)(C_Device device);
/// ```
pub fn declaration(
    spec: &Spec,
    interface: &Interface,
    function: &Function,
    release: Option<ReleaseId>,
) -> String {
    let speller = Speller::new(spec, interface, release, Dialect::C);
    match interface.table() {
        Some(_) => format!("{};", speller.slot(function, 0)),
        None => format!("{};", speller.prototype(function)),
    }
}

/// The C declaration of a type, as documentation shows it: without the members of enums and structs.
pub fn type_declaration(spec: &Spec, interface: &Interface, ty: &crate::model::Type) -> String {
    use crate::model::TypeKind;
    let speller = Speller::new(spec, interface, interface.newest(), Dialect::C);
    let name = &ty.c_name;
    match &ty.kind {
        TypeKind::Handle { form, const_name, .. } => {
            types::handle(form, name, form.tag().unwrap_or_default(), const_name.as_deref())
        }
        TypeKind::Id { tag, field, ty } => {
            format!("typedef struct {tag} {{ {} {field}; }}* {name};", speller.base(*ty))
        }
        TypeKind::Enum { as_int: true, .. } => format!("typedef int {name};"),
        TypeKind::Enum { .. } => format!("typedef enum {{ … }} {name};"),
        TypeKind::Struct { is_unnamed: true, .. } => "union { … };".to_owned(),
        TypeKind::Struct { anonymous, is_union, .. } => {
            let word = if *is_union { "union" } else { "struct" };
            let tag = if *anonymous { String::new() } else { format!("{name} ") };
            format!("typedef {word} {tag}{{ … }} {name};")
        }
        TypeKind::Callback { params, result, .. } => {
            format!("typedef {};", speller.callback(params, result.as_deref(), name))
        }
    }
}

/// The headers of an interface and of its face in the SDK, with paths relative to the folder of headers.
fn headers(job: &Job, interface: &Interface) -> Result<Vec<Output>, minijinja::Error> {
    let (spec, marker) = (job.spec, job.stamp.interface(interface));
    let template = job.templates.get_template("c/header.h.j2")?;
    let headers = headers::Headers::of(spec, interface);
    let mut outputs = Vec::new();
    for name in headers.names() {
        let text = template.render(Serde(model::header(spec, interface, name, marker.clone())))?;
        let note = match headers.names() {
            [_] => tally(interface),
            _ => count(headers.functions(name).count(), "function"),
        };
        outputs.push(Output::new(*name, text, note));
    }
    if let Some(face) = Face::of(spec, interface) {
        let folder = interface.header.rsplit_once('/').map_or("", |(folder, _)| folder);
        let beside =
            |file: &str| if folder.is_empty() { file.to_owned() } else { format!("{folder}/{file}") };
        let own = sdk::headers(job.templates, face, &marker)?;
        outputs.extend(own.into_iter().map(|output| Output { path: beside(&output.path), ..output }));
    }
    Ok(outputs)
}
