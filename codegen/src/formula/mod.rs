//! The expression language of operators: computes an element of the result from the elements of the inputs.
//!
//! [`parse`] reads an expression, resolves its names and gives each part its type. There are two types, numbers and
//! truth values. [`Elements`] says which elements the numbers stand for, and so which functions there are.

mod function;
mod lexer;
mod parser;

use std::ops::Range;

pub use function::{Domain, FUNCTIONS, Function};
pub use parser::parse;

/// An expression whose names are resolved and whose types are right.
#[derive(Clone, Debug)]
pub struct Expr {
    /// The expression itself.
    pub kind: ExprKind,
    /// The type of its value.
    pub ty: Ty,
    /// Its place in the text, in bytes.
    pub range: Range<usize>,
}

/// The forms of an expression.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A number as it is written.
    Number(f64),
    /// `pi`, `e`, `inf` or `nan`.
    Constant(Constant),
    /// `true` or `false`.
    Truth(bool),
    /// A name.
    Variable(Variable),
    /// `-x`
    Negate(Box<Expr>),
    /// `not x`
    Not(Box<Expr>),
    /// An operation with an operand on each side.
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// A call of a function of the language.
    Call(&'static Function, Vec<Expr>),
    /// `then if condition else otherwise`
    Choice {
        /// The truth value that decides.
        condition: Box<Expr>,
        /// The value where it is true.
        then: Box<Expr>,
        /// The value where it is false.
        otherwise: Box<Expr>,
    },
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ty {
    /// A number of the operator's elements.
    Number,
    /// A truth value.
    Truth,
}

impl Ty {
    /// Returns the type as messages name it.
    pub fn shown(self) -> &'static str {
        match self {
            Ty::Number => "a number",
            Ty::Truth => "a truth value",
        }
    }
}

/// A number with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constant {
    /// The ratio of a circle's circumference to its diameter.
    Pi,
    /// The base of natural logarithms.
    E,
    /// Positive infinity.
    Inf,
    /// Not a number.
    Nan,
}

impl Constant {
    const ALL: [(&'static str, Constant); 4] =
        [("pi", Constant::Pi), ("e", Constant::E), ("inf", Constant::Inf), ("nan", Constant::Nan)];
}

/// The meaning of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variable {
    /// Index into the inputs of the operator.
    Input(usize),
    /// The result of the operator, in a gradient.
    Output,
    /// The gradient of the result, in a gradient.
    OutputGradient,
    /// Index into the attributes of the operator.
    Attribute(usize),
    /// Index into the named parts of the operator.
    Part(usize),
    /// The first of two results that a reduction combines.
    Left,
    /// The second of two results that a reduction combines.
    Right,
    /// The result of a reduction.
    Result,
    /// The number of elements that are reduced to one.
    Count,
}

/// An operation with an operand on each side, from the loosest to the tightest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// `or`
    Or,
    /// `and`
    And,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
}

/// The elements that the numbers of an expression stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements {
    /// Floating-point numbers alone.
    Floats,
    /// Integers and truth values alone.
    Integers,
    /// Both, so that the expression must be valid for either.
    Both,
}

impl Elements {
    /// Returns the elements as messages name them.
    pub fn shown(self) -> &'static str {
        match self {
            Elements::Floats => "floating-point numbers",
            Elements::Integers => "integers",
            Elements::Both => "integers and floating-point numbers",
        }
    }

    /// Returns true if a function of this domain can be used.
    pub fn has(self, domain: Domain) -> bool {
        match domain {
            Domain::Numbers => true,
            Domain::Floats => self == Elements::Floats,
            Domain::Integers => self == Elements::Integers,
        }
    }
}

/// A name that an expression may use.
#[derive(Clone, Debug)]
pub struct Name {
    /// The name as it is written.
    pub text: String,
    /// Its meaning.
    pub variable: Variable,
    /// The type of its value.
    pub ty: Ty,
}

/// The names and the elements of an expression.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// The names in reach.
    pub names: &'a [Name],
    /// The elements that numbers stand for.
    pub elements: Elements,
}

/// A mistake in an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The kind of mistake.
    pub kind: MistakeKind,
    /// Its place in the text, in bytes.
    pub range: Range<usize>,
    /// The message, in one sentence without a full stop.
    pub message: String,
    /// The text beside the caret.
    pub label: String,
}

/// The kinds of mistakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MistakeKind {
    /// The text is not an expression.
    Syntax,
    /// A name or a function is unknown.
    Name,
    /// A value has another type than its place takes.
    Type,
}

impl Expr {
    /// Returns the variable, if the expression is one.
    pub fn variable(&self) -> Option<Variable> {
        match self.kind {
            ExprKind::Variable(variable) => Some(variable),
            _ => None,
        }
    }

    /// Returns true if the variable is in the expression.
    pub fn uses(&self, variable: Variable) -> bool {
        let mut is_used = false;
        self.visit(&mut |expr| is_used |= expr.variable() == Some(variable));
        is_used
    }

    /// Visits the expression and everything in it.
    pub fn visit(&self, visitor: &mut impl FnMut(&Expr)) {
        visitor(self);
        match &self.kind {
            ExprKind::Number(_) | ExprKind::Constant(_) | ExprKind::Truth(_) | ExprKind::Variable(_) => {}
            ExprKind::Negate(inner) | ExprKind::Not(inner) => inner.visit(visitor),
            ExprKind::Binary(_, left, right) => {
                left.visit(visitor);
                right.visit(visitor);
            }
            ExprKind::Call(_, arguments) => arguments.iter().for_each(|argument| argument.visit(visitor)),
            ExprKind::Choice { condition, then, otherwise } => {
                condition.visit(visitor);
                then.visit(visitor);
                otherwise.visit(visitor);
            }
        }
    }
}

#[cfg(test)]
mod tests;
