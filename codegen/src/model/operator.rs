//! Operators: what is computed, independent of any framework.

use crate::formula::{Elements, Expr, ExprKind, Ty, Variable};
use crate::source::{At, Span};

/// The operators of a spec.
#[derive(Debug)]
pub struct Operators {
    /// The name of the list and of its folder.
    pub name: At<String>,
    /// The heading in the docs.
    pub title: String,
    /// One sentence.
    pub summary: String,
    /// Longer, in Markdown.
    pub doc: String,
    /// The groups, in the order of the docs.
    pub groups: Vec<OperatorGroup>,
}

/// Operators that belong together.
#[derive(Debug)]
pub struct OperatorGroup {
    /// Its name and its file.
    pub name: String,
    /// The heading in the docs.
    pub title: String,
    /// One line.
    pub summary: String,
    /// Longer, in Markdown.
    pub doc: String,
    /// The operators, in the order of the docs.
    pub operators: Vec<Operator>,
}

/// An elementwise operator with one output.
#[derive(Debug)]
pub struct Operator {
    /// Its name, which no other operator has.
    pub name: At<String>,
    /// One line.
    pub summary: String,
    /// Longer, in Markdown.
    pub doc: String,
    /// The types of elements that its inputs may have.
    pub types: Vec<ElementType>,
    /// The elements that its numbers stand for, from its types.
    pub elements: Elements,
    /// Its inputs.
    pub inputs: Vec<Operand>,
    /// Its attributes.
    pub attributes: Vec<Attribute>,
    /// Its output.
    pub output: Operand,
    /// The type of the output's elements: numbers of the inputs' type, or truth values.
    pub result: Ty,
    /// Named parts of the formulas, each of which uses only those before it.
    pub parts: Vec<(String, Formula)>,
    /// An element of the output.
    pub formula: Formula,
    /// The gradients, in the order of the inputs.
    pub gradients: Vec<Gradient>,
    /// The same in Python, for tests.
    pub reference: String,
    /// For each input, the interval that tests use.
    pub domains: Vec<[f64; 2]>,
    /// Zero where the gradient does not exist.
    pub kinks: Option<Formula>,
    /// Where the entry is.
    pub span: Span,
}

/// A type of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementType {
    /// Floating-point numbers of any width.
    Float,
    /// Integers of any width.
    Integer,
    /// Truth values.
    Bool,
}

/// An input or an output.
#[derive(Debug)]
pub struct Operand {
    /// Its name.
    pub name: String,
    /// Its documentation.
    pub doc: String,
}

/// A value that is the same for all elements.
#[derive(Debug)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// The type of its value.
    pub ty: Ty,
    /// Its value where a caller gives none.
    pub default: Option<AttributeValue>,
    /// Its documentation.
    pub doc: String,
}

/// The value of an attribute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AttributeValue {
    /// A number.
    Number(f64),
    /// A truth value.
    Truth(bool),
}

/// An expression with the text that it was read from.
#[derive(Clone, Debug)]
pub struct Formula {
    /// The text.
    pub text: String,
    /// The expression.
    pub expr: Expr,
}

/// The gradient by an input.
#[derive(Debug)]
pub struct Gradient {
    /// Index into [`Operator::inputs`].
    pub input: usize,
    /// An element of the gradient, for floating-point numbers.
    pub formula: Formula,
}

impl Operator {
    /// The variables that a formula needs, parts and what they need included, in the order of [`Variable`].
    pub fn uses(&self, formula: &Formula) -> Vec<Variable> {
        let mut uses = Vec::new();
        self.collect(&formula.expr, &mut uses);
        uses.sort_unstable();
        uses
    }

    fn collect(&self, expr: &Expr, uses: &mut Vec<Variable>) {
        expr.visit(&mut |expr| {
            let ExprKind::Variable(variable) = expr.kind else { return };
            if uses.contains(&variable) {
                return;
            }
            uses.push(variable);
            if let Variable::Part(index) = variable {
                self.collect(&self.parts[index].1.expr, uses);
            }
        });
    }

    /// The name of a variable in formulas.
    pub fn variable_name(&self, variable: Variable) -> String {
        match variable {
            Variable::Input(index) => self.inputs[index].name.clone(),
            Variable::Output => self.output.name.clone(),
            Variable::OutputGradient => gradient_name(&self.output.name),
            Variable::Attribute(index) => self.attributes[index].name.clone(),
            Variable::Part(index) => self.parts[index].0.clone(),
        }
    }
}

/// The name of the gradient of a tensor: `dx` for `x`.
pub fn gradient_name(tensor: &str) -> String {
    format!("d{tensor}")
}
