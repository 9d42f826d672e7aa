//! The paths of pages, links between them, and Markdown with links for names.

use crate::model::*;
use crate::text::map_code_spans;

/// A page of an interface, which resolves names and makes relative links.
#[derive(Clone, Copy)]
pub struct Links<'a> {
    spec: &'a Spec,
    interface: &'a Interface,
    /// The path of the page, relative to the reference.
    page: &'a str,
    /// The function that the page is about. It and its parameters do not become links.
    about: Option<&'a Function>,
}

impl<'a> Links<'a> {
    /// Makes the links of a page of an interface.
    pub fn new(spec: &'a Spec, interface: &'a Interface, page: &'a str) -> Self {
        Links { spec, interface, page, about: None }
    }

    /// Makes the links of the page of a function.
    pub fn about(self, function: &'a Function) -> Self {
        Links { about: Some(function), ..self }
    }

    /// Returns the link from this page to a path that is relative to the reference.
    pub fn to(self, path: &str) -> String {
        relative(self.page, path)
    }

    /// Returns the link to the page of a function.
    pub fn function(self, function: &Function) -> String {
        self.to(&function_page(self.interface, function))
    }

    /// Returns the link to a type on the page of its group.
    pub fn ty(self, id: TypeId) -> String {
        let interface = &self.spec.interfaces[id.interface.0];
        let ty = self.spec.ty(id);
        format!("{}#{}", self.to(&group_page(interface, ty.group)), anchor(&type_heading(ty)))
    }

    /// Adds links to the code spans of Markdown that name an item.
    pub fn markdown(self, text: &str) -> String {
        map_code_spans(text, |span| {
            let own = |function: &Function| function.params.iter().any(|param| param.name.value == span);
            if self.about.is_some_and(|function| function.name.value == span || own(function)) {
                return None;
            }
            // A call, such as `memory_copy_h2d(device, dst)`, links to the function.
            let name = span.split('(').next().unwrap_or(span);
            let called = |function: &&Function| function.name.value == name || function.c_name == name;
            let target = match self.interface.functions.iter().find(called) {
                Some(function) => self.function(function),
                None => self.ty(self.type_named(span)?),
            };
            Some(format!("[`{span}`]({target})"))
        })
    }

    /// Works like [`Links::markdown`], for a cell of a table.
    pub fn cell(self, text: &str) -> String {
        self.markdown(&crate::text::collapse(text)).replace('|', "\\|")
    }

    fn type_named(self, name: &str) -> Option<TypeId> {
        let own = self.spec.interfaces.iter().position(|other| std::ptr::eq(other, self.interface))?;
        let reach = std::iter::once(InterfaceId(own)).chain(self.interface.uses.iter().copied());
        reach.into_iter().find_map(|interface| {
            let types = &self.spec.interfaces[interface.0].types;
            let index = types.iter().position(|ty| ty.name.value == name)?;
            Some(TypeId { interface, index })
        })
    }

    /// Formats a type in a table: its name in the spec, as a link if the spec describes it.
    pub fn type_name(self, ty: Ty) -> String {
        match ty {
            Ty::Named(id) => format!("[`{}`]({})", self.spec.ty(id).name.value, self.ty(id)),
            ty => format!("`{}`", ty.name(self.spec)),
        }
    }
}

/// Returns the path of an interface's page: `device/index.md`.
pub fn interface_page(interface: &Interface) -> String {
    format!("{}/index.md", interface.name.value)
}

/// Returns the path of the page about an interface's layout: `device/layout.md`.
pub fn layout_page(interface: &Interface) -> String {
    format!("{}/layout.md", interface.name.value)
}

/// Returns the path of the page about an interface's C API: `device/c-api.md`.
pub fn c_api_page(interface: &Interface) -> String {
    format!("{}/c-api.md", interface.name.value)
}

/// Returns the path of a group's page: `device/memory.md`.
pub fn group_page(interface: &Interface, group: GroupId) -> String {
    format!("{}/{}.md", interface.name.value, interface.groups[group.0].name)
}

/// Returns the path of a function's page: `device/memory/device_memory_set.md`.
pub fn function_page(interface: &Interface, function: &Function) -> String {
    let group = &interface.groups[function.group.0].name;
    format!("{}/{group}/{}.md", interface.name.value, function.name.value)
}

/// Returns the path of the page about operators: `ops/index.md`.
pub fn operators_page(operators: &Operators) -> String {
    format!("{}/index.md", operators.name.value)
}

/// Returns the path of the list of operators: `ops/operators.json`.
pub fn operator_list_page(operators: &Operators) -> String {
    format!("{}/operators.json", operators.name.value)
}

/// Returns the path of the page of a group of operators: `ops/activation.md`.
pub fn operator_group_page(operators: &Operators, group: usize) -> String {
    format!("{}/{}.md", operators.name.value, operators.groups[group].name)
}

/// Returns the path of an operator's page: `ops/activation/relu.md`.
pub fn operator_page(operators: &Operators, id: OperatorId) -> String {
    let group = &operators.groups[id.group].name;
    format!("{}/{group}/{}.md", operators.name.value, operators.operator(id).name.value)
}

/// Returns the heading of a type, with its name in C if that is another one: a search for either finds it.
pub fn type_heading(ty: &Type) -> String {
    let (name, c) = (&ty.name.value, &ty.c_name);
    if c == name { name.clone() } else { format!("{name} (`{c}`)") }
}

/// Returns the id that mdBook gives to a heading.
pub fn anchor(heading: &str) -> String {
    let is_dropped = |letter: char| !letter.is_alphanumeric() && !matches!(letter, '_' | '-' | ' ');
    heading.to_lowercase().replace(is_dropped, "").replace(' ', "-")
}

/// Returns the relative path from one file to another; both are relative to the same folder.
pub fn relative(from: &str, to: &str) -> String {
    let folders: Vec<&str> = from.split('/').collect();
    let target: Vec<&str> = to.split('/').collect();
    let folders = &folders[..folders.len() - 1];
    let shared = folders.iter().zip(&target).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..", folders.len() - shared);
    up.chain(target[shared..].iter().copied()).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::{anchor, relative};

    #[test]
    fn anchor_keeps_letters_digits_and_underscores() {
        assert_eq!(anchor("Stream (`C_Stream`)"), "stream-c_stream");
        assert_eq!(anchor("Result, or value"), "result-or-value");
    }

    #[test]
    fn relative_returns_path_between_pages() {
        assert_eq!(relative("device/index.md", "device/memory.md"), "memory.md");
        assert_eq!(relative("device/memory/set.md", "device/memory/copy.md"), "copy.md");
        assert_eq!(relative("paddle/tensor/dim.md", "device/info.md"), "../../device/info.md");
        assert_eq!(relative("docs/src/SUMMARY.md", "docs/src/reference/index.md"), "reference/index.md");
    }
}
