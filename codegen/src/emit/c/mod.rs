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

pub use doxygen::{comment, tally};
pub use sdk::prototype as sdk_prototype;
pub use types::{Dialect, Speller};

use super::text::count;
use crate::headers::Headers;
use crate::model::{Function, Interface, ReleaseId, Spec};
use crate::out::Output;
use crate::sdk::Face;

/// Names and texts of the templates.
pub const TEMPLATES: [(&str, &str); 4] = [
    ("c/macros.h.j2", include_str!("../../../templates/c/macros.h.j2")),
    ("c/header.h.j2", include_str!("../../../templates/c/header.h.j2")),
    ("c/types.h.j2", include_str!("../../../templates/c/types.h.j2")),
    ("c/functions.h.j2", include_str!("../../../templates/c/functions.h.j2")),
];

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
    use crate::model::{HandleForm, TypeKind};
    let speller = Speller::new(spec, interface, interface.newest(), Dialect::C);
    let name = &ty.c_name;
    match &ty.kind {
        TypeKind::Handle { form: HandleForm::Tagged(tag), const_name: Some(const_name), .. } => {
            format!("typedef struct {tag}* {name};\ntypedef const struct {tag}* {const_name};")
        }
        TypeKind::Handle { form, .. } => match form {
            HandleForm::Void => format!("typedef void* {name};"),
            HandleForm::Tagged(tag) => format!("typedef struct {tag}* {name};"),
            HandleForm::Pointee(tag) => format!("typedef struct {tag} {name};"),
        },
        TypeKind::Id { tag, field, ty } => {
            format!("typedef struct {tag} {{ {} {field}; }}* {name};", speller.base(*ty))
        }
        TypeKind::Enum { as_int: true, .. } => format!("typedef int {name};"),
        TypeKind::Enum { .. } => format!("typedef enum {{ … }} {name};"),
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
///
/// # Errors
/// When a template does not fit its data, which is a mistake of ours.
pub fn headers(
    templates: &Environment,
    spec: &Spec,
    interface: &Interface,
    marker: &str,
) -> Result<Vec<Output>, minijinja::Error> {
    let template = templates.get_template("c/header.h.j2")?;
    let headers = Headers::of(spec, interface);
    let mut outputs = Vec::new();
    for name in headers.names() {
        let text = template.render(Serde(model::header(spec, interface, name, marker.to_owned())))?;
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
        let own = sdk::headers(templates, face, marker)?;
        outputs.extend(own.into_iter().map(|output| Output { path: beside(&output.path), ..output }));
    }
    Ok(outputs)
}
