//! Modules: renders a template, and imports the names that the code uses.

use std::collections::BTreeSet;

use minijinja::{Environment, Value, context};

use super::layout::{self, identifiers};
use super::names;
use crate::out::Output;

/// A module that names are imported from. A leading dot means a module of the same package.
pub type Source<'a> = (&'a str, Vec<&'a str>);

/// The names that modules import from Python's standard library.
const STANDARD: [(&str, &str); 3] = [
    ("collections.abc", "Callable Mapping Sequence"),
    (
        "ctypes",
        "Array POINTER Structure c_bool c_char c_char_p c_double c_float c_int c_int8 c_int16 c_int32 c_int64 c_size_t \
         c_ssize_t c_uint8 c_uint16 c_uint32 c_uint64 c_ulonglong c_void_p create_string_buffer sizeof",
    ),
    ("typing", "Any TYPE_CHECKING"),
];

/// Writes modules that have the same first line and may import the same names.
pub struct Modules<'a> {
    /// The templates.
    pub templates: &'a Environment<'a>,
    /// The first line of each.
    pub marker: &'a str,
    /// The other modules of the package.
    pub beside: Vec<Source<'a>>,
    /// The modules of the package that are exported as its names.
    pub exported: Vec<&'a str>,
}

impl Modules<'_> {
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
        let text = template.render(
            context! { marker => self.marker, imports => [(); 0], points => false, ..data.clone() },
        )?;
        let code = code(&text);
        let mut words: BTreeSet<&str> = identifiers(&code).collect();
        for class in code.lines().filter_map(|line| line.strip_prefix("class ")) {
            words.remove(identifiers(class).next().unwrap_or_default());
        }
        // Only type checkers need it.
        let points = words.contains("_Pointer");
        if points {
            words.insert("TYPE_CHECKING");
        }
        let standard = STANDARD
            .iter()
            .flat_map(|(module, names)| import(module, &names.split(' ').collect::<Vec<_>>(), &words));
        let mut beside: Vec<_> = self.beside.iter().collect();
        beside.sort();
        let beside = beside.into_iter().flat_map(|(module, names)| import(module, names, &words));
        let exported = self.exported.iter().map(|name| format!("from . import {name} as {name}"));
        let imports = [standard.collect::<Vec<_>>(), exported.chain(beside).collect()];
        let text = template.render(context! { marker => self.marker, imports, points, ..data })?;
        Ok(Output::new(path, text, note))
    }
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
