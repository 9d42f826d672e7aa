//! Python: the bindings of the SDK, and the packages of exports.
//!
//! Rust code prepares data with all names and decisions; templates lay it out. [`param`] decides how a parameter is
//! passed, [`ctype`] decides its type, and [`module`] decides what is imported. Shared code that does not depend on
//! the spec is in hand-written modules of the package.

mod class;
mod core;
mod ctype;
pub mod docstring;
mod function;
mod layout;
mod module;
pub mod names;
mod operators;
mod package;
mod param;
mod raises;
mod sdk;

use minijinja::value::Serde;
use minijinja::{Environment, Value, context};

use self::class::{Class, in_order};
use self::core::Core;
use self::docstring::Docstring;
use self::function::Call;
use self::module::{Modules, Source};
use self::raises::Exceptions;
use self::sdk::Sdk;
use crate::emit::emitter::{EmitError, Emitter, Job};
use crate::exports::Exports;
use crate::grammar::outputs::{self, OutputKind};
use crate::model::{Function, GroupId, OutputPlace};
use crate::out::Output;
use crate::sdk::SdkApi;
use crate::text::{count, sentence, uncapital, wrap};

pub use self::operators::{OperatorCases, OperatorFunctions};
use self::package::package;
pub use self::package::signature;
pub use self::sdk::public_method;

/// The bindings of the SDK, and the packages of exports.
pub struct Packages;

impl Emitter for Packages {
    const KIND: &'static OutputKind = &outputs::PYTHON;
    const TEMPLATES: &'static [(&'static str, &'static str)] = &[
        ("python/call.py.j2", include_str!("../../../templates/python/call.py.j2")),
        ("python/calls.py.j2", include_str!("../../../templates/python/calls.py.j2")),
        ("python/classes.py.j2", include_str!("../../../templates/python/classes.py.j2")),
        ("python/core.py.j2", include_str!("../../../templates/python/core.py.j2")),
        ("python/enums.py.j2", include_str!("../../../templates/python/enums.py.j2")),
        ("python/functions.py.j2", include_str!("../../../templates/python/functions.py.j2")),
        ("python/imports.py.j2", include_str!("../../../templates/python/imports.py.j2")),
        ("python/module.py.j2", include_str!("../../../templates/python/module.py.j2")),
        ("python/package.py.j2", include_str!("../../../templates/python/package.py.j2")),
        ("python/package.pyi.j2", include_str!("../../../templates/python/package.pyi.j2")),
        ("python/plain.py.j2", include_str!("../../../templates/python/plain.py.j2")),
        ("python/structs.py.j2", include_str!("../../../templates/python/structs.py.j2")),
        ("python/types.py.j2", include_str!("../../../templates/python/types.py.j2")),
        ("python/version.py.j2", include_str!("../../../templates/python/version.py.j2")),
    ];

    fn add_filters(templates: &mut Environment) {
        layout::add_filters(templates);
        templates.add_filter("literal", layout::literal);
        templates.add_filter("docstring", |text: &str| format!("{}\n", Docstring::of_text(text).text(0)));
    }

    fn emit(job: &Job, _: &OutputPlace) -> Result<Vec<Output>, EmitError> {
        let mut outputs = Vec::new();
        for interface in &job.spec.interfaces {
            outputs.extend(package(job.templates, job.spec, interface, &job.stamp.interface(interface))?);
        }
        for sdk_api in job.spec.interfaces.iter().filter_map(|interface| SdkApi::of(job.spec, interface)) {
            outputs.extend(bindings(job, sdk_api)?);
        }
        Ok(outputs)
    }
}

/// The hand-written modules of the package, by the names that they have in the bindings.
const HELPERS: [(&str, &str); 6] = [
    ("_Arrays", "arrays"),
    ("_Callbacks", "callbacks"),
    ("_Check", "check"),
    ("_Library", "library"),
    ("_Numbers", "numbers"),
    ("_Text", "text"),
];

/// Writes the bindings of a library, with paths relative to the folder of packages. They cover the functions of the
/// spec and the library's other exports.
fn bindings(job: &Job, sdk_api: SdkApi) -> Result<Vec<Output>, EmitError> {
    let (templates, marker) = (job.templates, &job.stamp.interface(sdk_api.interface));
    let exceptions = Exceptions::of(sdk_api);
    let sdk = Sdk::new(sdk_api, &exceptions);
    let types = in_order(sdk.types());
    let names = types.iter().map(|class| class.name.as_str()).collect();
    let helpers: Vec<(&str, String)> =
        HELPERS.iter().map(|(name, module)| (*name, format!("from . import {module} as {name}"))).collect();
    let classes: Source = (".types", names);
    let modules = Modules {
        templates,
        marker,
        helpers: helpers.clone(),
        classes: classes.clone(),
        exported: Vec::new(),
    };
    let path = |module| format!("{}/{module}.py", folder(sdk_api));
    let functions = count(sdk_api.interface.functions.len(), "function");
    let groups = sdk_api.interface.groups.iter().enumerate();
    let sections = groups.map(|(index, group)| {
        let comment = format!("{}: {}", group.title, sentence(&group.summary));
        (comment, sdk.functions(GroupId(index)))
    });
    let data = bindings_data(sdk_api, &functions, Vec::new(), sections);
    let types_data = context! { classes => Serde(&types) };
    let mut outputs = vec![
        modules.write(path("types"), "python/types.py.j2", types_data, class_count(&types))?,
        modules.write(path("functions"), "python/functions.py.j2", data, functions)?,
    ];
    if let Some((exports, place)) = job.inputs.exports.zip(job.spec.outputs.place(&outputs::EXPORTS)) {
        let marker = job.stamp.file(place.read("from"));
        let core = Core { exports, sdk_api, exceptions: &exceptions };
        let functions = core.functions()?;
        let note = count(functions.len(), "function");
        let data = bindings_data(sdk_api, &note, in_order(core.types()?), [(String::new(), functions)]);
        let modules = Modules { templates, marker: &marker, helpers, classes, exported: Vec::new() };
        outputs.push(modules.write(path("core"), "python/core.py.j2", data, note)?);
        let version = context! { numbers => version(exports) };
        let note = "the version of the library".to_owned();
        outputs.push(modules.write(path("version"), "python/version.py.j2", version, note)?);
    }
    Ok(outputs)
}

/// Makes the data of a module of bindings, from the comments of its sections and their functions.
fn bindings_data(
    sdk_api: SdkApi,
    count: &str,
    classes: Vec<Class>,
    sections: impl IntoIterator<Item = (String, Vec<Call>)>,
) -> Value {
    let sections: Vec<(String, Vec<Call>)> =
        sections.into_iter().filter(|(_, functions)| !functions.is_empty()).collect();
    let functions = sections.iter().flat_map(|(_, functions)| functions);
    let defined: Vec<String> = functions.map(|function| function.name.clone()).collect();
    let sections = sections.iter().map(|(comment, functions)| {
        let functions = functions.iter().map(|function| function.item(&defined)).collect::<Value>();
        context! { comment => wrap(comment, layout::WIDTH - 2), functions }
    });
    let title = &sdk_api.interface.title;
    context! {
        package => package_name(sdk_api),
        subject => uncapital(title),
        title,
        count,
        classes => Serde(classes),
        sections => sections.collect::<Value>(),
    }
}

fn version(exports: &Exports) -> Vec<u64> {
    let number =
        |name| exports.constants.iter().find(|constant| constant.name == name).map(|constant| constant.value);
    ["VERSION_MAJOR", "VERSION_MINOR", "VERSION_PATCH"].into_iter().filter_map(number).collect()
}

/// Returns the signature of a function of the SDK's bindings, with its module.
pub fn sdk_signature(sdk_api: SdkApi, function: &Function) -> String {
    let exceptions = Exceptions::of(sdk_api);
    let call = Sdk::new(sdk_api, &exceptions).function(function);
    format!("{}.functions.{}", folder(sdk_api).replace('/', "."), call.signature())
}

fn package_name(sdk_api: SdkApi) -> String {
    sdk_api.handle("").trim_end_matches('_').to_owned()
}

/// Returns the folder of the bindings, relative to the folder of packages: `tenon/_native`.
fn folder(sdk_api: SdkApi) -> String {
    format!("{}/_native", package_name(sdk_api))
}

fn class_count(classes: &[Class]) -> String {
    match classes.len() {
        1 => "1 class".to_owned(),
        number => format!("{number} classes"),
    }
}
