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

/// An operator.
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
    /// Its inputs.
    pub inputs: Vec<Operand>,
    /// Its attributes.
    pub attributes: Vec<Attribute>,
    /// Its outputs; a formula has one.
    pub outputs: Vec<Operand>,
    /// The computation.
    pub body: Body,
    /// Whether its kernel takes a seed and an offset for random numbers.
    pub random: bool,
    /// The same in Python, for tests; empty if there is none.
    pub reference: String,
    /// The place of the entry.
    pub span: Span,
}

/// The computation of an operator.
#[derive(Debug)]
pub enum Body {
    /// Element by element, by a formula.
    Formula(Box<Elementwise>),
    /// By a function that is written by hand: its path in the crate of kernels. It takes the outputs, the inputs and the
    /// attributes, in this order.
    Kernel(String),
}

/// The formulas of an elementwise operator.
#[derive(Debug)]
pub struct Elementwise {
    /// The elements that its numbers stand for, from the operator's types.
    pub elements: Elements,
    /// The type of the output's elements: numbers of the inputs' type, or truth values.
    pub result: Ty,
    /// Named parts of the formulas, each of which uses only those before it.
    pub parts: Vec<(String, Formula)>,
    /// An element of the output.
    pub formula: Formula,
    /// The gradients, in the order of the inputs.
    pub gradients: Vec<Gradient>,
    /// For each input, the interval that tests use.
    pub domains: Vec<[f64; 2]>,
    /// Zero where the gradient does not exist.
    pub kinks: Option<Formula>,
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
    /// Complex numbers of any width.
    Complex,
}

/// An input or an output.
#[derive(Debug)]
pub struct Operand {
    /// Its name.
    pub name: String,
    /// Its documentation.
    pub doc: String,
    /// The number of its tensors.
    pub arity: Arity,
    /// The type of its elements, if it is an output.
    pub ty: OutputType,
    /// The path of the function that computes its shape, if it is an output whose shape hosts do not compute.
    pub shape: Option<String>,
}

/// The number of tensors of an input or an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// One.
    One,
    /// One or none.
    Optional,
    /// Any number.
    List,
    /// Any number, or no list. In a list of outputs, each of which may be left out, this is the same as a list.
    OptionalList,
}

impl Arity {
    /// Returns true if there may be several.
    pub fn is_list(self) -> bool {
        matches!(self, Arity::List | Arity::OptionalList)
    }
}

/// The type of the elements of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputType {
    /// That of an input: its index.
    Like(usize),
    /// That of an input in which sums are kept: 32-bit numbers for narrower ones.
    Wide(usize),
    /// The one that the caller chooses.
    Any,
    /// Truth values.
    Bool,
    /// 32-bit integers.
    I32,
    /// 64-bit integers.
    I64,
    /// 32-bit numbers.
    F32,
}

/// A value that is the same for all elements.
#[derive(Debug)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// The type of its value.
    pub ty: AttributeType,
    /// Its value where a caller gives none.
    pub default: Option<AttributeValue>,
    /// Its documentation.
    pub doc: String,
}

/// The type of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeType {
    /// A truth value.
    Bool,
    /// An integer.
    I64,
    /// A number.
    F64,
    /// Integers.
    Integers,
    /// Numbers.
    Numbers,
    /// A word.
    Text,
    /// Words.
    Texts,
}

impl AttributeType {
    /// The type of a word of the grammar.
    pub fn of(word: &str) -> Option<Self> {
        Some(match word {
            "bool" => AttributeType::Bool,
            "i64" => AttributeType::I64,
            "f64" => AttributeType::F64,
            "integers" => AttributeType::Integers,
            "numbers" => AttributeType::Numbers,
            "text" => AttributeType::Text,
            "texts" => AttributeType::Texts,
            _ => return None,
        })
    }

    /// The type as messages name it.
    pub fn shown(self) -> &'static str {
        match self {
            AttributeType::Bool => "a truth value",
            AttributeType::I64 => "an integer",
            AttributeType::F64 => "a number",
            AttributeType::Integers => "a list of integers",
            AttributeType::Numbers => "a list of numbers",
            AttributeType::Text => "text",
            AttributeType::Texts => "a list of texts",
        }
    }

    /// The type in formulas; `None` if they cannot use it.
    pub fn in_formulas(self) -> Option<Ty> {
        match self {
            AttributeType::Bool => Some(Ty::Truth),
            AttributeType::F64 => Some(Ty::Number),
            _ => None,
        }
    }
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum AttributeValue {
    /// A truth value.
    Truth(bool),
    /// An integer.
    Integer(i64),
    /// A number.
    Number(f64),
    /// Integers.
    Integers(Vec<i64>),
    /// Numbers.
    Numbers(Vec<f64>),
    /// A word.
    Text(String),
    /// Words.
    Texts(Vec<String>),
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
    /// The formulas, if it is an elementwise operator.
    pub fn elementwise(&self) -> Option<&Elementwise> {
        match &self.body {
            Body::Formula(elementwise) => Some(elementwise),
            Body::Kernel(_) => None,
        }
    }

    /// The name of a variable in formulas and kernels.
    pub fn variable_name(&self, variable: Variable) -> String {
        let output = || self.outputs.first().map_or("", |output| output.name.as_str());
        match variable {
            Variable::Input(index) => self.inputs[index].name.clone(),
            Variable::Output => output().to_owned(),
            Variable::OutputGradient => gradient_name(output()),
            Variable::Attribute(index) => self.attributes[index].name.clone(),
            Variable::Part(index) => {
                self.elementwise().map(|formulas| formulas.parts[index].0.clone()).unwrap_or_default()
            }
        }
    }
}

impl Elementwise {
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
}

/// The name of the gradient of a tensor: `dx` for `x`.
pub fn gradient_name(tensor: &str) -> String {
    format!("d{tensor}")
}
