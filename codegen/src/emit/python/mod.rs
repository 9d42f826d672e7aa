//! Python: the bindings of the SDK, as modules below the package that people import.
//!
//! `types.py` has the types of the spec, `functions.py` its functions, `core.py` what the library exports beside them,
//! and `version.py` the version of all of it. What they share and no spec says is written by hand beside them.

mod call;
mod core;
pub mod ctypes;
pub mod docstring;
pub mod layout;
mod method;
pub mod names;
mod package;
mod raises;
mod sdk;
mod types;

use std::collections::{BTreeMap, BTreeSet};

use minijinja::Environment;
use minijinja::value::Serde;
use serde::Serialize;

use self::call::Call;
use self::core::Core;
use self::docstring::Docstring;
use self::raises::Exceptions;
use self::sdk::Sdk;
use self::types::{ClassItem, TypeClass, in_order};
use crate::emit::EmitError;
use crate::emit::text::{count, sentence, uncapital, wrap};
use crate::exports::Exports;
use crate::model::GroupId;
use crate::out::Output;
use crate::sdk::Face;

pub use self::core::CoreError;
pub use self::package::{package, signature};

/// Names and texts of the templates.
pub const TEMPLATES: [(&str, &str); 5] = [
    ("python/bindings.py.j2", include_str!("../../../templates/python/bindings.py.j2")),
    ("python/version.py.j2", include_str!("../../../templates/python/version.py.j2")),
    ("python/module.py.j2", include_str!("../../../templates/python/module.py.j2")),
    ("python/module.pyi.j2", include_str!("../../../templates/python/module.pyi.j2")),
    ("python/structs.py.j2", include_str!("../../../templates/python/structs.py.j2")),
];

/// What the modules take from `ctypes`.
const CTYPES: &[&str] = &[
    "Array",
    "POINTER",
    "Structure",
    "c_bool",
    "c_char",
    "c_char_p",
    "c_double",
    "c_float",
    "c_int",
    "c_int8",
    "c_int16",
    "c_int32",
    "c_int64",
    "c_size_t",
    "c_uint8",
    "c_uint16",
    "c_uint32",
    "c_uint64",
    "c_ulonglong",
    "c_void_p",
    "create_string_buffer",
    "sizeof",
];

/// What they take from the modules beside them that are written by hand.
const BESIDE: &[(&str, &[&str])] = &[
    ("arrays", &["filled", "packed"]),
    ("callbacks", &["FUNCFLAG_CDECL", "CFuncPtr"]),
    ("check", &["failed"]),
    ("library", &["bind"]),
    ("numbers", &["IntFlag", "NamedNumber"]),
    ("text", &["decode", "encode", "encode_or_null"]),
];

/// A module of bindings.
#[derive(Debug, Serialize)]
struct Module<'a> {
    marker: &'a str,
    doc: Vec<String>,
    /// What only type checkers need from `ctypes`.
    typing: Vec<String>,
    imports: Vec<String>,
    classes: Vec<ClassItem>,
    sections: Vec<Section>,
}

#[derive(Debug, Serialize)]
struct Section {
    comment: Vec<String>,
    functions: Vec<FunctionItem>,
}

#[derive(Debug, Serialize)]
struct FunctionItem {
    binding: Vec<String>,
    head: Vec<String>,
    doc: Vec<String>,
    body: Vec<String>,
}

#[derive(Serialize)]
struct Version<'a> {
    marker: &'a str,
    numbers: Vec<u64>,
}

/// The bindings of a library, with paths relative to the folder of packages: of the functions of the spec, and of what
/// the library exports beside them, with the marker of that.
///
/// # Errors
/// When an export has no form in Python; or a template does not fit its data, which is a mistake of ours.
pub fn bindings(
    templates: &Environment,
    face: Face,
    marker: &str,
    exports: Option<(&Exports, String)>,
) -> Result<Vec<Output>, EmitError> {
    let exceptions = Exceptions::of(face);
    let sdk = Sdk::new(face, &exceptions);
    let classes = in_order(sdk.types());
    let known: BTreeSet<String> = classes.iter().map(|class| class.name().to_owned()).collect();
    let note = match classes.len() {
        1 => "1 class".to_owned(),
        number => format!("{number} classes"),
    };
    let types = module(marker, types_doc(), classes, Vec::new(), &BTreeSet::new());
    let groups = face.interface.groups.iter().enumerate();
    let sections = groups.map(|(index, group)| {
        let comment = format!("{}: {}", group.title, uncapital(&sentence(&group.summary)));
        (comment, sdk.functions(GroupId(index)))
    });
    let functions = module(marker, functions_doc(face), Vec::new(), sections.collect(), &known);
    let template = templates.get_template("python/bindings.py.j2")?;
    let mut outputs = vec![
        Output::new(path(face, "types"), template.render(Serde(&types))?, note),
        Output::new(
            path(face, "functions"),
            template.render(Serde(&functions))?,
            count(face.interface.functions.len(), "function"),
        ),
    ];
    if let Some((exports, marker)) = exports {
        let core = Core { exports, face, exceptions: &exceptions };
        let functions = core.functions()?;
        let note = count(functions.len(), "function");
        let sections = Vec::from([(String::new(), functions)]);
        let module = module(&marker, core_doc(face), in_order(core.types()?), sections, &known);
        outputs.push(Output::new(path(face, "core"), template.render(Serde(&module))?, note));
        let version = Version { marker: &marker, numbers: version(exports) };
        let text = templates.get_template("python/version.py.j2")?.render(Serde(&version))?;
        outputs.push(Output::new(path(face, "version"), text, "the version of the library"));
    }
    Ok(outputs)
}

fn version(exports: &Exports) -> Vec<u64> {
    let number =
        |name| exports.constants.iter().find(|constant| constant.name == name).map(|constant| constant.value);
    ["VERSION_MAJOR", "VERSION_MINOR", "VERSION_PATCH"].into_iter().filter_map(number).collect()
}

/// The folder of the bindings, relative to the folder of packages: `tenon/_native`.
pub fn folder(face: Face) -> String {
    format!("{}/_native", face.handle("").trim_end_matches('_'))
}

fn path(face: Face, module: &str) -> String {
    format!("{}/{module}.py", folder(face))
}

fn module<'a>(
    marker: &'a str,
    doc: Docstring,
    classes: Vec<TypeClass>,
    sections: Vec<(String, Vec<Call>)>,
    known: &BTreeSet<String>,
) -> Module<'a> {
    let mut words: BTreeSet<String> = classes.iter().flat_map(TypeClass::words).collect();
    words.extend(sections.iter().flat_map(|(_, functions)| functions).flat_map(Call::words));
    let own: BTreeSet<&str> = classes.iter().map(TypeClass::name).collect();
    let taken = |name: &&str| words.contains(*name) && !own.contains(name);
    let mut imports = Vec::new();
    if words.contains("Sequence") {
        imports.extend(import("collections.abc", vec!["Sequence".to_owned()]));
    }
    imports.extend(import("ctypes", CTYPES.iter().copied().filter(taken).map(str::to_owned).collect()));
    let typing = words.contains("_Pointer");
    if typing {
        imports.extend(import("typing", vec!["TYPE_CHECKING".to_owned()]));
    }
    let mut beside: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (module, names) in BESIDE {
        beside.entry(module).or_default().extend(names.iter().copied().filter(taken).map(str::to_owned));
    }
    let types = known.iter().filter(|name| taken(&name.as_str())).cloned();
    beside.entry("types").or_default().extend(types);
    let beside: Vec<String> =
        beside.into_iter().flat_map(|(module, names)| import(&format!(".{module}"), names)).collect();
    if !beside.is_empty() {
        imports.extend((!imports.is_empty()).then(String::new));
        imports.extend(beside);
    }
    Module {
        marker,
        doc: doc.lines(0),
        typing: if typing { vec!["from ctypes import _Pointer".to_owned()] } else { Vec::new() },
        imports,
        classes: classes.iter().map(TypeClass::item).collect(),
        sections: sections
            .into_iter()
            .map(|(comment, functions)| Section {
                comment: wrap(&comment, layout::WIDTH - 2),
                functions: functions
                    .iter()
                    .map(|function| FunctionItem {
                        binding: function.binding(),
                        head: function.head(),
                        doc: function.docstring(),
                        body: function.body(),
                    })
                    .collect(),
            })
            .filter(|section| !section.functions.is_empty())
            .collect(),
    }
}

/// A line of imports, or the lines of one that is too long.
fn import(module: &str, mut names: Vec<String>) -> Vec<String> {
    names::sort_imports(&mut names);
    let head = format!("from {module} import ");
    let line = format!("{head}{}", names.join(", "));
    match names.is_empty() {
        true => Vec::new(),
        false if line.len() <= layout::WIDTH => vec![line],
        false => layout::listed(0, &format!("{head}("), &names, ")"),
    }
}

fn types_doc() -> Docstring {
    let mut doc = Docstring::new("What the functions of the library take and answer.");
    doc.paragraph(
        "Handles and addresses have no class: they are numbers, and 0 is null. Handles of the library's own are looked \
         up at each call, so that one that is 0, closed or made up is an error and nothing worse. All others are \
         handles of a plugin, which the library hands on as they are.",
    );
    doc.paragraph(
        "In the fields of a structure and in the parameters of a callback, ctypes has None for an address that is 0, \
         and bytes for a text. A number that has no name here, such as one of a newer plugin, is a member without a \
         name, and no error.",
    );
    doc
}

fn functions_doc(face: Face) -> Docstring {
    let mut doc = Docstring::new(&format!("{} as functions.", face.interface.title));
    doc.paragraph(&format!(
        "One function for each of the {} of {}. Each goes straight to the plugin, or to what stands in where the \
         plugin has none; which of the two was decided when the plugin was loaded.",
        count(face.interface.functions.len(), "function"),
        uncapital(&face.interface.title),
    ));
    doc.paragraph(
        "A function that is about a device takes its handle, and makes that device the current one of the calling \
         thread; any other takes the handle of a plugin. Handles and addresses are numbers, and 0 is null. What C \
         writes through a pointer is returned: several values as a tuple, an array as a list.",
    );
    doc.paragraph(
        "Beside what is listed with it, a function raises ``InvalidHandleError`` for a device or a plugin that is 0, \
         closed or made up, ``InvalidArgumentError`` for an argument that is 0 where it must not be or is out of \
         range, ``RefusedError`` when a layer refused the call, and ``ctypes.ArgumentError`` for an argument of \
         another type.",
    );
    doc.paragraph(&exceptions_of(face));
    doc.paragraph(
        "While a function runs, other threads of Python do too: the interpreter's lock is released. Sizes are in bytes, \
         and nothing is taken over: what a caller passes has to stay as long as the call, or the work that it queued, \
         needs it. A function with an underscore before its name is the one of ctypes, which answers a status.",
    );
    doc
}

fn exceptions_of(face: Face) -> String {
    format!("The exceptions are those of ``{}.errors``.", face.handle("").trim_end_matches('_'))
}

fn core_doc(face: Face) -> Docstring {
    let mut doc =
        Docstring::new("What the library does beside handing calls on: its life, plugins, devices, memory.");
    doc.paragraph(
        "Handles and addresses are numbers, and 0 is null. A text is a ``str``, but bytes in the field of a structure. \
         What C writes through a pointer is returned. Beside what is listed with it, a function raises \
         ``ctypes.ArgumentError`` for an argument of another type.",
    );
    doc.paragraph(&exceptions_of(face));
    doc.paragraph(
        "While a function runs, other threads of Python do too: the interpreter's lock is released. A function with an \
         underscore before its name is the one of ctypes, which answers a status.",
    );
    doc
}
