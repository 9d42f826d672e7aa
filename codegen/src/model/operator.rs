//! Operators: what is computed, independent of any framework.

use std::collections::BTreeSet;

use super::Step;
use crate::formula::{Binary, Elements, Expr, ExprKind, Ty, Variable};
use crate::source::{At, Span};

/// The operators of a spec.
#[derive(Debug)]
pub struct Operators {
    /// The name of the list of operators, which is also the name of its folder.
    pub name: At<String>,
    /// The heading in the docs.
    pub title: String,
    /// One sentence.
    pub summary: String,
    /// Longer, in Markdown.
    pub doc: String,
    /// The groups, in the order of the docs.
    pub groups: Vec<OperatorGroup>,
    /// The operators that have reported mistakes.
    pub unsound: Unsound,
}

/// Names of operators and gradients with mistakes that are reported. Whatever refers to them cannot be checked, and further
/// reports would only follow from the first ones.
#[derive(Clone, Debug)]
pub struct Unsound {
    names: BTreeSet<String>,
    /// True if the names of some operators are not known.
    pub is_partial: bool,
}

impl Unsound {
    /// Makes an empty list.
    pub fn new(is_partial: bool) -> Self {
        Self { names: BTreeSet::new(), is_partial }
    }

    /// Adds a name.
    pub fn insert(&mut self, name: String) {
        self.names.insert(name);
    }

    /// Returns true if the operator of this name has mistakes. `is_known`: it is in the model.
    pub fn contains(&self, name: &str, is_known: bool) -> bool {
        self.names.contains(name) || (self.is_partial && !is_known)
    }
}

/// Operators that belong together.
#[derive(Debug)]
pub struct OperatorGroup {
    /// Its name, which is also the name of its file.
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
    /// Its unique name.
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
    /// The operator whose entry states the attributes: itself, or one before it.
    pub attributes_of: String,
    /// Its outputs; a formula has one.
    pub outputs: Vec<Operand>,
    /// The computation.
    pub body: Body,
    /// Steps that compute it by other operators, for a device that does not have it; empty if there are none.
    pub sequence: Vec<Step>,
    /// True if its kernel takes a seed and an offset for random numbers.
    pub random: bool,
    /// The same computation in Python, for tests; empty if there is none.
    pub reference: String,
    /// The place of the entry.
    pub span: Span,
}

/// The computation of an operator.
#[derive(Debug)]
pub enum Body {
    /// Element by element, by a formula.
    Formula(Box<Elementwise>),
    /// Along dimensions, by formulas.
    Reduction(Reduction),
    /// By a hand-written function: its path in the crate of kernels. Its arguments are the outputs, the inputs and
    /// the attributes, in this order.
    Kernel(String),
}

/// The formulas of an elementwise operator.
#[derive(Debug)]
pub struct Elementwise {
    /// The kind of elements that its formulas compute with, from the operator's types.
    pub elements: Elements,
    /// The type of the output's elements: the inputs' type, or boolean.
    pub result: Ty,
    /// Named parts of the formulas. Each may use only those before it.
    pub parts: Vec<(String, Formula)>,
    /// The formula of an element of the output.
    pub formula: Formula,
    /// The gradients, in the order of the inputs.
    pub gradients: Vec<Gradient>,
    /// For each input, the interval from which tests take its elements.
    pub domains: Vec<[f64; 2]>,
    /// An expression that is zero where the gradient does not exist.
    pub kinks: Option<Formula>,
}

/// The formulas of a reduction, or of its gradient.
#[derive(Debug)]
pub struct Reduction {
    /// The path of the generated function in the crate of kernels.
    pub path: String,
    /// The kind of elements that its formulas compute with, from the operator's types.
    pub elements: Elements,
    /// True if all elements are reduced; otherwise attributes name the dimensions.
    pub of_all: bool,
    /// The formulas.
    pub work: ReductionWork,
}

/// The formulas of a reduction, or of its gradient.
#[derive(Debug)]
pub enum ReductionWork {
    /// One value from all elements.
    Fold(Box<Fold>),
    /// Element by element. Each element of a reduced input stands for all elements that were reduced to it.
    Spread {
        /// For each input: true if it has the shape of the result.
        reduced: Vec<bool>,
        /// The formula of an element of the output.
        formula: Formula,
    },
}

/// The formulas of one value from all elements.
#[derive(Debug)]
pub struct Fold {
    /// The value of an element; `None`: the input itself.
    pub element: Option<Formula>,
    /// The result for no elements.
    pub start: Formula,
    /// The combination of two results.
    pub step: Formula,
    /// The output; `None`: the result.
    pub finish: Option<Formula>,
    /// True if there must be an element.
    pub nonempty: bool,
}

impl Fold {
    /// Returns true if the result is always one of the elements.
    pub fn chooses(&self) -> bool {
        let chooses = match &self.step.expr.kind {
            ExprKind::Call(function, arguments) => {
                ["min", "max"].contains(&function.name) && arguments.iter().all(is_operand)
            }
            _ => false,
        };
        chooses && self.element.is_none()
    }

    /// Returns true if the result is the sum of the elements.
    pub fn adds(&self) -> bool {
        let adds = match &self.step.expr.kind {
            ExprKind::Binary(Binary::Add, left, right) => is_operand(left) && is_operand(right),
            _ => false,
        };
        adds && self.element.is_none()
    }
}

/// Returns true for one of the results that a step combines.
fn is_operand(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Variable(Variable::Left | Variable::Right))
}

/// An element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementType {
    /// Floating-point numbers of any width.
    Float,
    /// Integers of any width.
    Integer,
    /// Booleans.
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
    /// The element type, if it is an output.
    pub ty: OutputType,
    /// The path of the function that computes its shape, if it is an output whose shape the host does not compute.
    pub shape: Option<String>,
    /// The index of the input with the same shape, if it is an output of a kernel whose entry names one.
    pub shape_of: Option<usize>,
    /// The index of the input whose memory hosts also pass for it, if it is an output of a kernel that they call in place.
    pub in_place: Option<usize>,
    /// True if it is an input whose elements decide about the shape of an output.
    pub decides_shape: bool,
    /// True if it is an input whose elements are real, or may be, where those of other inputs are complex.
    pub is_real: bool,
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
    /// Any number, or no list. For outputs this is the same as a list, because each output in a list may be missing.
    OptionalList,
}

impl Arity {
    /// Returns true if there may be several tensors.
    pub fn is_list(self) -> bool {
        matches!(self, Arity::List | Arity::OptionalList)
    }
}

/// The element type of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputType {
    /// The type of an input: its index.
    Like(usize),
    /// The type in which sums of an input are computed: 32-bit floating-point for narrower types.
    Wide(usize),
    /// Complex numbers with parts of the width of an input: its index.
    ComplexOf(usize),
    /// Real numbers of the width of an input's parts: its index.
    RealOf(usize),
    /// Chosen by the caller.
    Any,
    /// Booleans.
    Bool,
    /// 32-bit integers.
    I32,
    /// 64-bit integers.
    I64,
    /// 32-bit floating-point numbers.
    F32,
}

/// A parameter of an operator that is the same for all elements.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// The type of its value.
    pub ty: AttributeType,
    /// Its value if a caller passes none.
    pub default: Option<AttributeValue>,
    /// Its documentation.
    pub doc: String,
}

/// The type of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeType {
    /// A boolean.
    Bool,
    /// An integer.
    I64,
    /// A floating-point number.
    F64,
    /// Integers.
    Integers,
    /// Floating-point numbers.
    Numbers,
    /// A string.
    Text,
    /// Strings.
    Texts,
}

impl AttributeType {
    /// Returns the type with a name in the spec language.
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

    /// Formats the type for messages.
    pub fn shown(self) -> &'static str {
        match self {
            AttributeType::Bool => "a boolean",
            AttributeType::I64 => "an integer",
            AttributeType::F64 => "a number",
            AttributeType::Integers => "a list of integers",
            AttributeType::Numbers => "a list of numbers",
            AttributeType::Text => "text",
            AttributeType::Texts => "a list of strings",
        }
    }

    /// Returns the type in formulas; `None` if they cannot use it.
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
    /// A boolean.
    Truth(bool),
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Number(f64),
    /// Integers.
    Integers(Vec<i64>),
    /// Floating-point numbers.
    Numbers(Vec<f64>),
    /// A string.
    Text(String),
    /// Strings.
    Texts(Vec<String>),
}

/// An expression, with the text that it was parsed from.
#[derive(Clone, Debug)]
pub struct Formula {
    /// The text.
    pub text: String,
    /// The expression.
    pub expr: Expr,
}

/// The gradient with respect to an input.
#[derive(Debug)]
pub struct Gradient {
    /// Index into [`Operator::inputs`].
    pub input: usize,
    /// The formula of an element of the gradient, for floating-point numbers.
    pub formula: Formula,
}

impl Operator {
    /// Returns the formulas, if it is an elementwise operator.
    pub fn elementwise(&self) -> Option<&Elementwise> {
        match &self.body {
            Body::Formula(elementwise) => Some(elementwise),
            Body::Reduction(_) | Body::Kernel(_) => None,
        }
    }

    /// Returns the input whose elements are reduced, if it is a reduction and not the gradient of one.
    #[must_use]
    pub fn reduces(&self) -> Option<usize> {
        self.reduction()
            .is_some_and(|reduction| matches!(reduction.work, ReductionWork::Fold(_)))
            .then_some(0)
    }

    /// Returns the formulas, if it is a reduction or the gradient of one.
    pub fn reduction(&self) -> Option<&Reduction> {
        match &self.body {
            Body::Reduction(reduction) => Some(reduction),
            Body::Formula(_) | Body::Kernel(_) => None,
        }
    }

    /// Returns the name of a variable in formulas and kernels.
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
            Variable::Left => "left".to_owned(),
            Variable::Right => "right".to_owned(),
            Variable::Result => "result".to_owned(),
            Variable::Count => "count".to_owned(),
        }
    }
}

impl Elementwise {
    /// Returns the variables that a formula uses, directly or through its parts, in the order of [`Variable`].
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

/// Returns the name of the gradient of a tensor: `dx` for `x`.
pub fn gradient_name(tensor: &str) -> String {
    format!("d{tensor}")
}
