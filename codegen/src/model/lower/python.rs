//! The Python package of an interface, and the form of each function in it.

use super::{Lowerer, Scope, flag, prose};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::python_form::{is_output, list_of};
use crate::model::{Param, ParamId, PythonFunction, PythonModule, PythonPackage};
use crate::yaml::Node;

impl Lowerer<'_> {
    pub(super) fn python_package(&mut self, node: &Node) -> Option<PythonPackage> {
        let modules = node.entries_of("modules");
        let is_plain = node.text_of("conventions") != Some("acl");
        match node.get("library") {
            None if is_plain => {
                let span = node.name_of("package").map_or(node.span, |name| name.span);
                Diagnostic::new(Code::MissingKey, span, "the package does not name its library")
                    .label("`library` is missing")
                    .help("write `library: libname.so`, or `conventions: acl` if calls are written by hand")
                    .add_to(self.diagnostics);
            }
            Some(library) if !is_plain => {
                Diagnostic::new(Code::PythonPlace, library.span, "these conventions load no library")
                    .label("the module `_call`, which is written by hand, does")
                    .add_to(self.diagnostics);
            }
            _ => {}
        }
        Some(PythonPackage {
            name: node.name_of("package")?,
            library: is_plain.then(|| prose(node, "library")),
            modules: modules
                .iter()
                .map(|(name, node)| PythonModule {
                    name: name.clone(),
                    summary: prose(node, "summary"),
                    doc: prose(node, "doc"),
                    by_hand: flag(node, "by_hand"),
                })
                .collect(),
        })
    }

    /// Lowers the Python form of a function. By default, every parameter is an argument or a result.
    pub(super) fn python_function(
        &mut self,
        scope: Scope,
        node: &Node,
        params: &[Param],
    ) -> Option<PythonFunction> {
        let mut listed = |key: &str| -> Option<Vec<ParamId>> {
            let list = node.get(key)?;
            Some(list.items().iter().filter_map(|node| self.param_id(params, node)).collect())
        };
        let (args, returns) = (listed("args"), listed("returns"));
        let module = match node.get("module") {
            Some(module) => Some(self.python_module(scope, module)?),
            None => None,
        };
        let all = || params.iter().enumerate().map(|(index, param)| (ParamId(index), param));
        Some(PythonFunction {
            name: node.name_of("name")?,
            module,
            args: args.unwrap_or_else(|| {
                let taken = all().filter(|(id, param)| !is_output(param) && list_of(params, *id).is_none());
                taken.map(|(id, _)| id).collect()
            }),
            returns: returns
                .unwrap_or_else(|| all().filter(|(_, param)| is_output(param)).map(|(id, _)| id).collect()),
            by_hand: flag(node, "by_hand"),
        })
    }

    /// Resolves the name of a module of the interface's package.
    fn python_module(&mut self, scope: Scope, node: &Node) -> Option<usize> {
        let name = node.text()?;
        let package = scope.trees.interface.get("python");
        let modules = package.map_or(&[][..], |package| package.entries_of("modules"));
        let found = modules.iter().position(|(known, _)| known.value == name);
        // If the package is missing, a rule reports it once.
        if found.is_none() && package.is_some() {
            let message = format!("the Python package has no module `{name}`");
            Diagnostic::new(Code::PythonPlace, node.span, message)
                .label("not one of `python.modules` in `interface.yaml`")
                .nearest(name, modules.iter().map(|(name, _)| name.value.as_str()))
                .add_to(self.diagnostics);
        }
        found
    }
}
