//! Modules: renders a template, and imports what the code uses.
//!
//! A module has names of its own, for what it imports. They begin with `_` and a capital letter. No name of a spec does: the
//! names of functions, parameters and values have no capital letters, and those of types have no `_`. So a spec may use any
//! name, and none is reserved.

use std::collections::BTreeSet;

use minijinja::{Environment, Value, context};

use super::layout::{self, identifiers};
use super::names;
use crate::out::Output;

/// A module whose classes are imported. A leading dot means a module of the same package.
pub type Source<'a> = (&'a str, Vec<&'a str>);

/// The modules of Python's standard library that modules use, by the names that they have there.
const STANDARD: [(&str, &str); 5] = [
    ("_B", "import builtins as _B"),
    ("_C", "import ctypes as _C"),
    ("_E", "import enum as _E"),
    ("_T", "import typing as _T"),
    ("_Abc", "from collections import abc as _Abc"),
];

/// Writes modules that have the same first line and may import the same names.
pub struct Modules<'a> {
    /// The templates.
    pub templates: &'a Environment<'a>,
    /// The first line of each.
    pub marker: &'a str,
    /// The modules of the package that the modules use: their names there, and their imports in order.
    pub helpers: Vec<(&'a str, String)>,
    /// The module with the classes of the package.
    pub classes: Source<'a>,
    /// The modules of the package that are exported as its names.
    pub exported: Vec<&'a str>,
}

impl<'a> Modules<'a> {
    /// Makes the writer of modules that use only Python's own.
    pub fn alone(templates: &'a Environment<'a>, marker: &'a str) -> Self {
        let (helpers, exported) = (Vec::new(), Vec::new());
        Modules { templates, marker, helpers, classes: ("", Vec::new()), exported }
    }

    /// Renders a module: the template gets `data` and the imports.
    ///
    /// # Errors
    /// If the template does not match the data, which is a bug in the generator.
    pub fn write(
        &self,
        path: String,
        template: &str,
        data: Value,
        note: String,
    ) -> Result<Output, minijinja::Error> {
        let template = self.templates.get_template(template)?;
        let text = template.render(context! { marker => self.marker, imports => [(); 0], ..data.clone() })?;
        let code = code(&text);
        let mut words: BTreeSet<&str> = identifiers(&code).collect();
        for class in code.lines().filter_map(|line| line.strip_prefix("class ")) {
            words.remove(identifiers(class).next().unwrap_or_default());
        }
        let standard = STANDARD.iter().filter(|(name, _)| words.contains(name));
        let standard = standard.map(|(_, import)| (*import).to_owned());
        let helpers = self.helpers.iter().filter(|(name, _)| words.contains(name));
        let helpers = helpers.map(|(_, import)| import.clone());
        let exported = self.exported.iter().map(|name| format!("from . import {name} as {name}"));
        let (module, classes) = &self.classes;
        let beside = exported.chain(helpers).chain(import(module, classes, &words));
        let imports = [standard.collect::<Vec<_>>(), sorted(beside.collect())];
        let text = template.render(context! { marker => self.marker, imports, ..data })?;
        Ok(Output::new(path, text, note))
    }
}

/// Sorts imports of the same package as linters do: by the module, then by the name.
fn sorted(mut imports: Vec<String>) -> Vec<String> {
    imports.sort_by_key(|import| {
        let (module, name) = import.split_once(" import ").unwrap_or((import, ""));
        (module.to_owned(), name.to_lowercase())
    });
    imports
}

/// Returns a module without docstrings and comments.
fn code(text: &str) -> String {
    let code: String = text.split("\"\"\"").step_by(2).collect();
    code.lines().filter(|line| !line.starts_with('#')).flat_map(|line| [line, "\n"]).collect()
}

/// Returns the import of the names of a module that are used.
fn import(module: &str, known: &[&str], used: &BTreeSet<&str>) -> Option<String> {
    let is_used = |name: &&&str| identifiers(name).last().is_some_and(|name| used.contains(name));
    let mut taken: Vec<String> = known.iter().filter(is_used).map(|name| (*name).to_owned()).collect();
    names::sort_imports(&mut taken);
    let head = format!("from {module} import ");
    match taken.is_empty() {
        true => None,
        false if head.len() + taken.join(", ").len() <= layout::WIDTH => Some(head + &taken.join(", ")),
        false => Some(layout::listed(&taken, &format!("{head}("), ")")),
    }
}
