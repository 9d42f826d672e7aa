//! The Python package of an interface, and the form of each function in it.

use super::*;
use crate::language::python::{is_output, list_of};

impl Lowerer<'_> {
    pub(super) fn python_package(&mut self, node: &Node) -> Option<PythonPackage> {
        let modules = node.get("modules").map_or(&[][..], Node::entries);
        Some(PythonPackage {
            name: node.get("package").and_then(Node::at)?,
            modules: modules
                .iter()
                .map(|(name, node)| PythonModule {
                    name: name.clone(),
                    summary: text(node, "summary").unwrap_or_default(),
                    doc: prose(node, "doc"),
                    by_hand: flag(node, "by_hand"),
                })
                .collect(),
        })
    }

    /// Lowers the Python form of a function. By default, every parameter is an argument or a result.
    pub(super) fn python_function(
        &mut self,
        trees: &InterfaceTrees,
        node: &Node,
        params: &[Param],
    ) -> Option<PythonFunction> {
        let mut listed = |key: &str| -> Option<Vec<ParamId>> {
            let list = node.get(key)?;
            Some(list.items().iter().filter_map(|node| self.param_id(params, node)).collect())
        };
        let (args, returns) = (listed("args"), listed("returns"));
        let module = match node.get("module") {
            Some(module) => Some(self.python_module(trees, module)?),
            None => None,
        };
        let all = || params.iter().enumerate().map(|(index, param)| (ParamId(index), param));
        Some(PythonFunction {
            name: node.get("name").and_then(Node::at)?,
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
    fn python_module(&mut self, trees: &InterfaceTrees, node: &Node) -> Option<usize> {
        let name = node.text()?;
        let package = trees.interface.get("python");
        let modules = package.and_then(|package| package.get("modules")).map_or(&[][..], Node::entries);
        let found = modules.iter().position(|(known, _)| known.value == name);
        // If the package is missing, a rule reports it once.
        if found.is_none() && package.is_some() {
            Diagnostic::new(
                Code::PythonPlace,
                node.span,
                format!("the Python package has no module `{name}`"),
            )
            .label("not one of `python.modules` in `interface.yaml`")
            .nearest(name, modules.iter().map(|(name, _)| name.value.as_str()))
            .add_to(self.diagnostics);
        }
        found
    }
}
