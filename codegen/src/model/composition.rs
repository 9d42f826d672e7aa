//! Compositions: methods that are computed by calls of other methods.

use std::collections::HashMap;

use super::{
    Callee, ComputeValue, ElementType, Elementwise, Method, Operator, OperatorCall, OperatorId, Operators,
    Step, Work,
};
use crate::formula::{Binary, Elements, Expr, ExprKind, Function, Ty, Variable};

/// A method that other methods can compute.
#[derive(Debug)]
pub struct Composition<'a> {
    /// The method.
    pub method: Method<'a>,
    /// The computation.
    pub recipe: Recipe<'a>,
    /// The methods that it calls, each once.
    pub parts: Vec<Part>,
}

/// The computation of a composition.
#[derive(Debug)]
pub enum Recipe<'a> {
    /// A formula: the named parts that it uses, and the value.
    Formula(Vec<(&'a str, Term<'a>)>, Term<'a>),
    /// The steps in the entry of the operator.
    Sequence(&'a [Step]),
}

/// A method that a composition calls.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// Its name.
    pub method: String,
    /// True if its elements are booleans; otherwise they have the type of the composition.
    pub of_truth: bool,
}

/// A value in a formula, as calls of elementwise operators.
#[derive(Debug)]
pub enum Term<'a> {
    /// A tensor.
    Tensor(Variable),
    /// The value of a named part.
    Part(&'a str),
    /// A value that is the same for all elements: of numbers and attributes alone.
    Uniform(&'a Expr),
    /// The numbers 0 and 1, which expansions of functions use.
    Whole(i32),
    /// A call of an elementwise operator.
    Call {
        /// The name of its method.
        method: &'a str,
        /// The values of its inputs.
        operands: Vec<Term<'a>>,
        /// The type of the result.
        result: Ty,
    },
    /// One of two values, chosen by an attribute.
    Choice(&'a Expr, Box<Term<'a>>, Box<Term<'a>>),
}

impl Operators {
    /// Returns the methods that other methods can compute, in the order of the docs.
    pub fn compositions(&self) -> Vec<Composition<'_>> {
        let primitives = Primitives::of(self);
        self.ids().flat_map(|id| self.compositions_of(id, &primitives)).collect()
    }

    fn compositions_of<'a>(
        &'a self,
        id: OperatorId,
        primitives: &Primitives<'a>,
    ) -> impl Iterator<Item = Composition<'a>> {
        let operator = self.operator(id);
        operator.methods().into_iter().filter_map(move |method| match method.work {
            Work::Shape(_) => None,
            Work::Formula(_) | Work::Kernel(_) if !operator.sequence.is_empty() => {
                let mut parts = Vec::new();
                operator.sequence.iter().for_each(|step| collect_call(&step.call, &mut parts));
                Some(Composition::new(method, Recipe::Sequence(&operator.sequence), parts))
            }
            Work::Kernel(_) => None,
            Work::Formula(_) | Work::Gradient(..) => of_formula(method, primitives),
        })
    }

    /// Returns the circles of methods that are composed of each other.
    pub fn circles(&self) -> Vec<Vec<String>> {
        let compositions = self.compositions();
        let parts = compositions.iter().map(|it| (it.method.name.as_str(), it.parts.as_slice())).collect();
        let mut search = Search { parts, done: Vec::new(), way: Vec::new(), circles: Vec::new() };
        compositions.iter().for_each(|composition| search.visit(&composition.method.name));
        search.circles
    }
}

/// A depth-first search for circles.
struct Search<'a> {
    parts: HashMap<&'a str, &'a [Part]>,
    done: Vec<&'a str>,
    way: Vec<&'a str>,
    circles: Vec<Vec<String>>,
}

impl<'a> Search<'a> {
    fn visit(&mut self, name: &'a str) {
        if let Some(start) = self.way.iter().position(|earlier| *earlier == name) {
            self.circles.push(self.way[start..].iter().map(|name| (*name).to_owned()).collect());
            return;
        }
        let Some(parts) = self.parts.get(name).copied().filter(|_| !self.done.contains(&name)) else {
            return;
        };
        self.way.push(name);
        parts.iter().for_each(|part| self.visit(&part.method));
        self.way.pop();
        self.done.push(name);
    }
}

impl<'a> Composition<'a> {
    fn new(method: Method<'a>, recipe: Recipe<'a>, mut parts: Vec<Part>) -> Self {
        parts.sort();
        parts.dedup();
        Self { method, recipe, parts }
    }
}

/// Adds the methods that a call and the calls in its values need.
fn collect_call(call: &OperatorCall, parts: &mut Vec<Part>) {
    if let Callee::Method { name, .. } = &call.callee {
        parts.push(Part { method: name.clone(), of_truth: false });
    }
    call.values().for_each(|value| collect_value(value, parts));
}

fn collect_value(value: &ComputeValue, parts: &mut Vec<Part>) {
    match value {
        ComputeValue::Call(call) => collect_call(call, parts),
        ComputeValue::List(values) => values.iter().for_each(|value| collect_value(value, parts)),
        _ => {}
    }
}

/// Expresses the formula of a method as calls. Returns `None` if an operation in it is not an operator, or if the
/// formula is one operation.
fn of_formula<'a>(method: Method<'a>, primitives: &Primitives<'a>) -> Option<Composition<'a>> {
    let (formulas, formula) = method.formula()?;
    let operator = method.operator;
    if matches!(method.work, Work::Formula(_)) && primitives.has(operator) {
        return None;
    }
    if formulas.elements == Elements::Integers || tests_truth(operator, formulas, &formula.expr) {
        return None;
    }
    let mut lowering = Lowering { formulas, primitives, parts: Vec::new(), named: Vec::new() };
    let value = lowering.term(&formula.expr)?;
    let is_gradient = matches!(method.work, Work::Gradient(..));
    if !matches!(value, Term::Call { .. }) || is_gradient {
        lowering.part("expand", false);
    }
    if is_gradient && operator.inputs.len() > 1 {
        lowering.part("reduce_as", false);
    }
    let Lowering { parts, named, .. } = lowering;
    Some(Composition::new(method, Recipe::Formula(named, value), parts))
}

/// Returns true if elements of an input may be booleans where the formula compares them with numbers.
fn tests_truth(operator: &Operator, formulas: &Elementwise, expr: &Expr) -> bool {
    let mut compares = false;
    let mut visit = |expr: &Expr| {
        compares |= matches!(&expr.kind, ExprKind::Binary(binary, ..) if compares_numbers(*binary))
    };
    expr.visit(&mut visit);
    formulas.parts.iter().for_each(|(_, part)| part.expr.visit(&mut visit));
    compares && operator.types.contains(&ElementType::Bool)
}

fn compares_numbers(binary: Binary) -> bool {
    use Binary::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
    matches!(binary, Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual)
}

/// Turns formulas into calls.
struct Lowering<'a, 'p> {
    formulas: &'a Elementwise,
    primitives: &'p Primitives<'a>,
    parts: Vec<Part>,
    named: Vec<(&'a str, Term<'a>)>,
}

impl<'a> Lowering<'a, '_> {
    fn part(&mut self, method: &str, of_truth: bool) {
        self.parts.push(Part { method: method.to_owned(), of_truth });
    }

    fn term(&mut self, expr: &'a Expr) -> Option<Term<'a>> {
        if self.is_uniform(expr) {
            return Some(Term::Uniform(expr));
        }
        match &expr.kind {
            ExprKind::Number(_) | ExprKind::Constant(_) | ExprKind::Truth(_) => None,
            ExprKind::Variable(Variable::Part(index)) => self.named(*index),
            ExprKind::Variable(variable) => Some(Term::Tensor(*variable)),
            ExprKind::Negate(inner) => self.call(Operation::Negate, [&**inner]),
            ExprKind::Not(inner) => self.call(Operation::Not, [&**inner]),
            ExprKind::Binary(binary, left, right) => {
                self.call(Operation::Binary(*binary), [&**left, &**right])
            }
            ExprKind::Call(function, arguments) => self.function(function, arguments),
            ExprKind::Choice { condition, then, otherwise } if self.is_uniform(condition) => {
                let (then, otherwise) = (self.term(then)?, self.term(otherwise)?);
                Some(Term::Choice(condition, Box::new(then), Box::new(otherwise)))
            }
            ExprKind::Choice { condition, then, otherwise } => {
                self.call(Operation::Choice, [&**condition, &**then, &**otherwise])
            }
        }
    }

    fn named(&mut self, index: usize) -> Option<Term<'a>> {
        let (name, formula) = &self.formulas.parts[index];
        if !self.named.iter().any(|(known, _)| known == name) {
            let value = self.term(&formula.expr)?;
            self.named.push((name, value));
        }
        Some(Term::Part(name))
    }

    fn call<const N: usize>(&mut self, operation: Operation, operands: [&'a Expr; N]) -> Option<Term<'a>> {
        let of_truth = match operation {
            Operation::Not => true,
            Operation::Choice => operands.last()?.ty == Ty::Truth,
            _ => operands.first()?.ty == Ty::Truth,
        };
        let terms = operands.into_iter().map(|operand| self.term(operand)).collect::<Option<_>>()?;
        self.apply(operation, terms, of_truth)
    }

    /// Expresses a function as an operator or as a sequence of operations.
    fn function(&mut self, function: &'static Function, arguments: &'a [Expr]) -> Option<Term<'a>> {
        let mut terms = arguments.iter().map(|argument| self.term(argument)).collect::<Option<Vec<_>>>()?;
        match (function.name, arguments) {
            ("clamp", _) => {
                let upper = terms.pop()?;
                let bounded = self.apply(Operation::Function("max"), terms, false)?;
                self.apply(Operation::Function("min"), vec![bounded, upper], false)
            }
            // `max(x, 0) + log1p(exp(-abs(x)))`
            ("softplus", [argument]) => {
                let positive =
                    self.apply(Operation::Function("max"), vec![terms.pop()?, Term::Whole(0)], false)?;
                let mut rest = self.term(argument)?;
                for operation in [
                    Operation::Function("abs"),
                    Operation::Negate,
                    Operation::Function("exp"),
                    Operation::Function("log1p"),
                ] {
                    rest = self.apply(operation, vec![rest], false)?;
                }
                self.apply(Operation::Binary(Binary::Add), vec![positive, rest], false)
            }
            _ => self.apply(Operation::Function(function.name), terms, false),
        }
    }

    fn apply(&mut self, operation: Operation, terms: Vec<Term<'a>>, of_truth: bool) -> Option<Term<'a>> {
        let primitive = self.primitives.find(operation)?;
        self.part(primitive.name, of_truth);
        let mut terms: Vec<Option<Term>> = terms.into_iter().map(Some).collect();
        let operands =
            primitive.order.iter().map(|position| terms.get_mut(*position)?.take()).collect::<Option<_>>()?;
        let result = if of_truth { Ty::Truth } else { primitive.result };
        Some(Term::Call { method: primitive.name, operands, result })
    }

    /// Returns true if the value is the same for all elements, and Rust can compute it.
    fn is_uniform(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Number(_) | ExprKind::Constant(_) | ExprKind::Truth(_) => true,
            ExprKind::Variable(variable) => matches!(variable, Variable::Attribute(_)),
            ExprKind::Negate(inner) | ExprKind::Not(inner) => self.is_uniform(inner),
            ExprKind::Binary(_, left, right) => self.is_uniform(left) && self.is_uniform(right),
            ExprKind::Call(function, arguments) => {
                matches!(function.name, "exp" | "sqrt" | "pow" | "abs")
                    && arguments.iter().all(|argument| self.is_uniform(argument))
            }
            ExprKind::Choice { .. } => false,
        }
    }
}

/// An operation of formulas.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Operation {
    Negate,
    Not,
    Choice,
    Binary(Binary),
    Function(&'static str),
}

/// An elementwise operator that is one operation.
#[derive(Debug)]
struct Primitive<'a> {
    operation: Operation,
    name: &'a str,
    /// For each input, which operand of the operation it is.
    order: Vec<usize>,
    result: Ty,
}

/// The operators that are one operation.
struct Primitives<'a>(Vec<Primitive<'a>>);

impl<'a> Primitives<'a> {
    fn of(operators: &'a Operators) -> Self {
        Self(operators.ids().filter_map(|id| Primitive::of(operators.operator(id))).collect())
    }

    fn find(&self, operation: Operation) -> Option<&Primitive<'a>> {
        self.0.iter().find(|primitive| primitive.operation == operation)
    }

    fn has(&self, operator: &Operator) -> bool {
        self.0.iter().any(|primitive| primitive.name == operator.name.value)
    }
}

impl<'a> Primitive<'a> {
    /// Describes an operator that is a single operation on all of its inputs; returns `None` for any other operator.
    fn of(operator: &'a Operator) -> Option<Self> {
        let formulas = operator.elementwise().filter(|_| operator.attributes.is_empty())?;
        let operands =
            |operands: &[&Expr]| operands.iter().map(|expr| input(expr)).collect::<Option<Vec<_>>>();
        let (operation, inputs) = match &formulas.formula.expr.kind {
            ExprKind::Negate(inner) => (Operation::Negate, operands(&[inner])?),
            // Logical operators take the elements of any type as truth values.
            ExprKind::Binary(Binary::Equal, left, right) if is_zero(right) => {
                (Operation::Not, operands(&[left])?)
            }
            ExprKind::Binary(binary @ (Binary::And | Binary::Or), left, right) => {
                (Operation::Binary(*binary), operands(&[tested(left)?, tested(right)?])?)
            }
            ExprKind::Binary(binary, left, right) => (Operation::Binary(*binary), operands(&[left, right])?),
            ExprKind::Call(function, arguments) => {
                (Operation::Function(function.name), operands(&arguments.iter().collect::<Vec<_>>())?)
            }
            ExprKind::Choice { condition, then, otherwise } => {
                (Operation::Choice, operands(&[tested(condition)?, then, otherwise])?)
            }
            _ => return None,
        };
        let order = (0..operator.inputs.len()).map(|index| inputs.iter().position(|input| *input == index));
        let order = order.collect::<Option<Vec<_>>>()?;
        let is_each_once = order.len() == inputs.len();
        is_each_once.then(|| Self { operation, name: &operator.name.value, order, result: formulas.result })
    }
}

fn input(expr: &Expr) -> Option<usize> {
    match expr.kind {
        ExprKind::Variable(Variable::Input(index)) => Some(index),
        _ => None,
    }
}

/// Returns the value that an expression of the form `value != 0` tests.
fn tested(expr: &Expr) -> Option<&Expr> {
    match &expr.kind {
        ExprKind::Binary(Binary::NotEqual, value, zero) if is_zero(zero) => Some(value),
        _ => None,
    }
}

fn is_zero(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Number(value) if value == 0.0)
}
