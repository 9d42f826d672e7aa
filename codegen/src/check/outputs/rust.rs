//! Names in the generated Rust: reserved names, and collisions.
//!
//! The expansion uses absolute paths for everything else, so a type may have a name such as `Option` or `Send`.

use heck::ToPascalCase;

use crate::diagnostic::{Code, Diagnostic};
use crate::model::{FallbackKind, Function, InterfaceKind, Type, TypeKind};
use crate::source::Span;

use crate::check::{Check, ParamsOf};

/// Checks that the name of a type is not used for anything else in the module of its interface.
pub(crate) fn check_types(check: &Check) {
    for ty in &check.interface.types {
        if let Some(label) = taken_type(check, &ty.name.value) {
            report_type(check, &ty.name.value, ty.name.span, &label);
        }
    }
    let name = check.interface.trait_name.as_str();
    let span = check.interface.places.span("trait");
    if let Some(label) = kept_type(check, name).filter(|_| check.interface.places.has("trait")) {
        report(check, name, span, &label, format!("name it `{}`", suggestion(check, name)));
    }
    for function in check.interface.functions.iter().filter(|function| yields_struct(function)) {
        let name = function.name.value.to_pascal_case();
        let other = check.interface.types.iter().find(|ty| ty.name.value == name);
        let label = format!("Rust returns the results of the function in a struct `{name}`");
        if let Some(ty) = other {
            let error = Diagnostic::new(Code::RustNameTwice, function.name.span, twice(&name)).label(label);
            error.related(ty.name.span, "the type").help("rename the function or the type").report(check);
        } else if taken_type(check, &name).is_some() {
            let help = "rename the function; `c` can keep the name in C";
            report(check, &name, function.name.span, &label, help.into());
        }
    }
}

/// Checks that the name of a function is valid as a method and unique as a variant of `Function`.
pub(crate) fn check_functions(check: &Check) {
    let mut seen: Vec<(String, &Function)> = Vec::new();
    for function in &check.interface.functions {
        let (name, span) = (function.name.value.as_str(), function.name.span);
        let variant = name.to_pascal_case();
        let help = || format!("name it `{}`; `c` can keep the name in C", other_function(name));
        if name.starts_with('_') {
            report(check, name, span, "in Rust a function begins with a letter", help());
        } else if matches!(variant.as_str(), "Self" | "ALL") {
            report(check, name, span, &format!("`Function::{variant}` is not a valid variant"), help());
        } else if is_import(check) && METHODS_OF_IMPORTS.contains(&name) {
            report(check, name, span, "the struct of the symbols has a method of this name", help());
        } else if let Some((_, first)) =
            seen.iter().find(|(known, other)| *known == variant && other.name.value != name)
        {
            let error = Diagnostic::new(Code::RustNameTwice, span, twice(&variant));
            check.report(
                error.label(format!("`Function::{variant}`")).related(first.name.span, "the same variant"),
            );
        }
        seen.push((variant, function));
    }
}

/// Checks that parameters, fields, values and buffers do not have names of the generated code's own variables.
pub(crate) fn check_variables(check: &Check) {
    let lists = check.lists();
    let params = lists.iter().flat_map(|list| list.params).map(|param| &param.name);
    let values = check.interface.types.iter().flat_map(Type::enum_values).map(|value| &value.name);
    let buffers = check.interface.functions.iter().filter_map(|function| function.fallback.as_ref());
    let buffers = buffers.flat_map(|fallback| match &fallback.kind {
        FallbackKind::Sequence { buffers, .. } => buffers.as_slice(),
        _ => &[],
    });
    for name in params.chain(values).chain(buffers.map(|buffer| &buffer.name)) {
        let text = name.value.as_str();
        if text == "_" || text.starts_with("__") {
            let right = other_function(text);
            let label = "names that begin with `__` are reserved for the generated code, and in C";
            let label = if text == "_" { "`_` cannot be referred to" } else { label };
            report(check, text, name.span, label, format!("name it `{right}`"));
        }
    }
    for list in lists {
        for param in list.params {
            let written = |keyword: &&&str| param.name.value == format!("{keyword}_");
            let Some(keyword) = UNRAW.iter().find(written) else { continue };
            if let Some(other) = list.params.iter().find(|other| other.name.value == *keyword) {
                let place = match list.of {
                    ParamsOf::Struct(_) => "the field",
                    ParamsOf::Function(_) | ParamsOf::Callback(_) => "the parameter",
                };
                let label =
                    format!("{place} `{keyword}` has this name in Rust, where `{keyword}` is a keyword");
                let error = Diagnostic::new(Code::RustNameTwice, param.name.span, twice(&param.name.value));
                check.report(error.label(label).related(other.name.span, "defined here"));
            }
        }
    }
}

/// Checks that the C names of types and functions are valid in Rust.
pub(crate) fn check_symbols(check: &Check) {
    let used: Vec<&str> =
        check.interface.uses.iter().map(|id| check.spec.interfaces[id.0].name.value.as_str()).collect();
    for (name, span) in crate::check::names::types_of_c(check) {
        let label = if PRIMITIVES.contains(&name) {
            Some("a type of Rust that the raw types use")
        } else if matches!(name, "ffi" | "signature")
            || is_release_module(check, name)
            || used.contains(&name)
        {
            Some("a module of the generated Rust that the raw types use")
        } else {
            None
        };
        if let Some(label) = label {
            report(check, name, span, label, "Rust cannot distinguish the two: rename it".into());
        }
        let is_other = |ty: &&Type| matches!(ty.kind, TypeKind::Enum { .. }) && ty.name.value == name;
        if let Some(ty) = check.interface.types.iter().find(is_other) {
            let error =
                Diagnostic::new(Code::RustNameTwice, span, twice(name)).label("the name of this type in C");
            error
                .related(ty.name.span, "the name of this type in Rust")
                .help("give the enum a different `name`")
                .report(check);
        }
    }
    for (name, span, _) in crate::check::names::symbols(check.interface) {
        if UNRAW.contains(&name) {
            report(check, name, span, "not an identifier in Rust, not even a raw one", "rename it".into());
        }
    }
}

/// Checks that the module of an interface does not hide a type or a module that the expansion refers to.
pub(crate) fn check_interface(check: &Check) {
    let (name, span) = (check.interface.name.value.as_str(), check.interface.name.span);
    let label = if PRIMITIVES.contains(&name) {
        "a type of Rust, which the module would hide"
    } else if MODULES.contains(&name) || UNRAW.contains(&name) {
        "a module in the expansion of each interface, or a keyword of Rust"
    } else {
        return;
    };
    report(check, name, span, label, format!("name it `{name}_api`, or after the project"));
}

/// Checks that no type or function is one that C's standard headers declare.
pub(crate) fn check_standard_headers(check: &Check) {
    for (name, span, _) in crate::check::names::symbols(check.interface) {
        if crate::language::c::is_of_standard_header(name) {
            let message = format!("`{name}` is declared by C itself");
            let label = "the generated header includes the one that has it";
            check.report(Diagnostic::new(Code::StandardName, span, message).label(label));
        }
    }
}

fn report(check: &Check, name: &str, span: Span, label: &str, help: String) {
    let message = format!("`{name}` is taken in the generated Rust");
    check.report(Diagnostic::new(Code::RustName, span, message).label(label).help(help));
}

fn report_type(check: &Check, name: &str, span: Span, label: &str) {
    let help = format!("name it `{}`; C keeps its own name in `c`", suggestion(check, name));
    report(check, name, span, label, help);
}

fn twice(name: &str) -> String {
    format!("`{name}` would be two things in the generated Rust")
}

/// Returns the reason for which no type of the interface can have a name, if there is one.
fn taken_type(check: &Check, name: &str) -> Option<String> {
    match kept_type(check, name) {
        None if name == check.interface.trait_name => {
            Some("the trait of the interface is called that".into())
        }
        kept => kept,
    }
}

/// Returns the reason for which neither a type nor the trait of the interface can have a name, if there is one.
fn kept_type(check: &Check, name: &str) -> Option<String> {
    let interface = check.interface;
    if name == "Self" {
        return Some("a word of Rust".to_owned());
    }
    let is_table = matches!(interface.kind, InterfaceKind::Table(_));
    if !is_import(check) && PARAMETERS.contains(&name) {
        return Some("a type parameter there".to_owned());
    }
    let groups = interface.trait_groups();
    let mut groups = groups.iter().filter(|(id, _)| interface.object_in(*id).is_none());
    if let Some((_, group)) = groups.find(|(id, _)| interface.group_trait(*id) == name) {
        return Some(format!("the trait of the group `{}` is called that", group.name));
    }
    let states_release = matches!(interface.kind, InterfaceKind::Objects | InterfaceKind::HostTable { .. });
    let has_release = name == "Release" && states_release && !interface.releases.is_empty();
    let is_public = COMMON.contains(&name) || (is_table && TABLE.contains(&name)) || has_release;
    is_public.then(|| format!("the module of `{}` has its own `{name}`", interface.name.value))
}

/// Returns true if a function has a struct for its results.
fn yields_struct(function: &Function) -> bool {
    function.params.iter().filter(|param| param.is_output()).count() > 1
}

fn is_import(check: &Check) -> bool {
    check.interface.kind.is_of_host()
}

fn is_release_module(check: &Check, name: &str) -> bool {
    let releases = &check.interface.releases;
    releases.iter().any(|release| name.strip_prefix('v') == Some(&release.name.value.replace('.', "_")))
}

/// Suggests a name that begins with that of the interface: `Error` → `BoardError`.
fn suggestion(check: &Check, name: &str) -> String {
    format!("{}{name}", check.interface.name.value.to_pascal_case())
}

/// Suggests another name for a function or a variable: `__count` → `count`, `load` → `the_load`.
fn other_function(name: &str) -> String {
    match name.trim_start_matches('_') {
        "" => "unnamed".to_owned(),
        plain if plain.len() < name.len() && plain.starts_with(|c: char| c.is_ascii_lowercase()) => {
            plain.to_owned()
        }
        plain => format!("the_{plain}"),
    }
}

/// Methods that the struct of an import has.
const METHODS_OF_IMPORTS: &[&str] = &["absent", "load", "missing", "of_table", "refused", "release"];

/// Names that each module has.
const COMMON: &[&str] = &["Error", "Result"];

/// Names that the module of a table has beside those.
const TABLE: &[&str] = &[
    "Forward",
    "Forwarded",
    "Function",
    "HandOverError",
    "LastError",
    "Layer",
    "Layered",
    "Loaded",
    "Outcome",
    "Partial",
    "Plugin",
    "Provided",
    "Release",
    "WithFallbacks",
    "Wrapper",
];

/// Type parameters of what a module with a trait has.
const PARAMETERS: &[&str] = &["D", "P"];

/// Modules that an expansion has or refers to.
const MODULES: &[&str] = &["ffi", "reflection", "signature", "strategy", "thunk"];

/// Words of Rust that cannot be raw identifiers.
const UNRAW: &[&str] = &["Self", "_", "crate", "self", "super"];

/// Types of Rust that are not in its keywords.
const PRIMITIVES: &[&str] = &[
    "bool", "char", "f32", "f64", "i128", "i16", "i32", "i64", "i8", "isize", "str", "u128", "u16", "u32",
    "u64", "u8", "usize",
];
