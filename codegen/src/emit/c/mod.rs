//! C: one header for each interface, those of the SDK, and the C++ that holds a layout against the ABI's own header.

pub mod asserts;
mod doxygen;
mod model;
mod names;
mod sdk;
mod table;
mod types;

use minijinja::Environment;
use minijinja::value::Serde;

pub use doxygen::{comment, tally};
pub use sdk::{headers as sdk_headers, prototype as sdk_prototype};
pub use types::{Dialect, Speller};

use crate::model::{Function, Interface, ReleaseId, Spec};

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
    use crate::model::TypeKind;
    let speller = Speller::new(spec, interface, interface.newest(), Dialect::C);
    let name = &ty.c_name;
    match &ty.kind {
        TypeKind::Handle { tag, by_pointer: true, .. } => format!("typedef struct {tag} {name};"),
        TypeKind::Handle { tag, .. } => format!("typedef struct {tag}* {name};"),
        TypeKind::Id { tag, field, ty } => {
            format!("typedef struct {tag} {{ {} {field}; }}* {name};", speller.base(*ty))
        }
        TypeKind::Enum { .. } => format!("typedef enum {{ … }} {name};"),
        TypeKind::Struct { anonymous: true, .. } => format!("typedef struct {{ … }} {name};"),
        TypeKind::Struct { .. } => format!("typedef struct {name} {{ … }} {name};"),
        TypeKind::Callback { params, result, .. } => {
            format!("typedef {};", speller.callback(params, result.as_deref(), name))
        }
    }
}

/// The header of an interface.
///
/// # Errors
/// When the template does not fit the model, which is a mistake of ours.
pub fn header(
    templates: &Environment,
    spec: &Spec,
    interface: &Interface,
    marker: String,
) -> Result<String, minijinja::Error> {
    templates.get_template("c/header.h.j2")?.render(Serde(model::header(spec, interface, marker)))
}
