//! Reductions and their gradients: resolves the names and types of their formulas.

use super::flag;
use super::operators::{OperatorLowerer, elements, types};
use crate::diagnostic::{Code, Diagnostic};
use crate::formula::{Elements, Name, Ty, Variable};
use crate::model::{Attribute, AttributeType, Body, Fold, Formula, Reduction, ReductionWork};
use crate::yaml::Node;

/// The attributes that name the dimensions, in the order of the parameters.
const DIMENSIONS: [(&str, AttributeType); 3] = [
    ("axis", AttributeType::Integers),
    ("keep_dim", AttributeType::Bool),
    ("reduce_all", AttributeType::Bool),
];

fn name(text: &str, variable: Variable, ty: Ty) -> Name {
    Name { text: text.to_owned(), variable, ty }
}

impl OperatorLowerer<'_> {
    /// Reads an operator that computes one value from all elements along dimensions.
    pub(super) fn fold(
        &mut self,
        group: &str,
        node: &Node,
        reduction: &Node,
        attributes: &[Attribute],
    ) -> Option<Body> {
        self.single_tensors(node)?;
        self.only_elementwise(node);
        let elements = self.elements_of(node);
        let of_all = self.dimensions(node, attributes)?;
        let [(input, _)] = node.entries_of("inputs") else {
            let message = "a reduction has one input";
            self.diagnostics.push(Diagnostic::new(Code::OperatorForm, node.span, message));
            return None;
        };
        let input = [name(&input.value, Variable::Input(0), Ty::Number)];
        let mut read = |key: &str, names: &[Name], elements| match reduction.get(key) {
            Some(node) => self.parse(node, names, elements).map(Some),
            None => Some(None),
        };
        let element = read("element", &input, elements)?;
        let ty = element.as_ref().map_or(Ty::Number, |element| element.expr.ty);
        // It has no names, and an infinity is the extreme value of an integer.
        let start = read("start", &[], Elements::Floats)??;
        let results = [name("left", Variable::Left, ty), name("right", Variable::Right, ty)];
        let step = read("step", &results, elements)??;
        let numbers = [name("result", Variable::Result, ty), name("count", Variable::Count, Ty::Number)];
        let finish = read("finish", &numbers, elements)?;
        let unused = results.iter().find(|name| !step.expr.uses(name.variable));
        if let Some((unused, node)) = unused.zip(reduction.get("step")) {
            let message = format!("the step does not use `{}`", unused.text);
            Diagnostic::new(Code::Unused, node.span, message)
                .help("`left` and `right` are the results of two parts of the elements")
                .add_to(self.diagnostics);
        }
        for (key, formula) in [("start", &start), ("step", &step)] {
            self.expect_type(reduction, key, formula, ty);
        }
        let nonempty = flag(reduction, "nonempty");
        let work = ReductionWork::Fold(Box::new(Fold { element, start, step, finish, nonempty }));
        Some(body(group, node, elements, of_all, work))
    }

    /// Reads the gradient of such an operator, which is computed element by element.
    pub(super) fn spread(
        &mut self,
        group: &str,
        node: &Node,
        formula: &Node,
        attributes: &[Attribute],
    ) -> Option<Body> {
        self.single_tensors(node)?;
        self.only_elementwise(node);
        let elements = self.elements_of(node);
        let of_all = self.dimensions(node, attributes)?;
        let inputs = node.entries_of("inputs");
        let tensors = inputs
            .iter()
            .enumerate()
            .map(|(index, (input, _))| name(&input.value, Variable::Input(index), Ty::Number));
        let mut names: Vec<Name> = tensors.collect();
        names.push(name("count", Variable::Count, Ty::Number));
        let formula = self.parse(formula, &names, elements)?;
        let mut is_used = vec![false; inputs.len()];
        formula.expr.visit(&mut |expr| {
            if let Some(Variable::Input(index)) = expr.variable() {
                is_used[index] = true;
            }
        });
        for ((input, _), _) in inputs.iter().zip(is_used).filter(|(_, is_used)| !is_used) {
            let message = format!("the formula does not use `{}`", input.value);
            self.diagnostics.push(Diagnostic::new(Code::OperatorForm, input.span, message));
        }
        let reduced = inputs.iter().map(|(_, node)| flag(node, "reduced")).collect();
        Some(body(group, node, elements, of_all, ReductionWork::Spread { reduced, formula }))
    }

    fn elements_of(&mut self, node: &Node) -> Elements {
        let elements = elements(&types(node));
        if elements == Elements::Integers {
            let message = "a reduction takes floating-point numbers";
            self.diagnostics.push(Diagnostic::new(Code::OperatorForm, node.span, message));
        }
        elements
    }

    /// Returns true if all elements are reduced, and false if the attributes name the dimensions.
    fn dimensions(&mut self, node: &Node, attributes: &[Attribute]) -> Option<bool> {
        let given: Vec<(&str, AttributeType)> =
            attributes.iter().map(|attribute| (&*attribute.name, attribute.ty)).collect();
        if given.is_empty() || given == DIMENSIONS {
            return Some(given.is_empty());
        }
        let place = node.get("attributes").map_or(node.span, |attributes| attributes.span);
        let message = "the attributes of a reduction must be `axis`, `keep_dim` and `reduce_all`";
        Diagnostic::new(Code::OperatorForm, place, message)
            .help("`axis` is of the type `integers`, the others are `bool`; without them all elements are reduced")
            .add_to(self.diagnostics);
        None
    }

    fn expect_type(&mut self, reduction: &Node, key: &str, formula: &Formula, ty: Ty) {
        if let Some(node) = reduction.get(key).filter(|_| formula.expr.ty != ty) {
            let message = format!("`{key}` is {}, but an element is {}", formula.expr.ty.shown(), ty.shown());
            self.diagnostics.push(Diagnostic::new(Code::FormulaType, node.span, message));
        }
    }
}

fn body(group: &str, node: &Node, elements: Elements, of_all: bool, work: ReductionWork) -> Body {
    let name = node.text_of("op").unwrap_or_default();
    Body::Reduction(Reduction { path: format!("formulas::{group}::{name}"), elements, of_all, work })
}
