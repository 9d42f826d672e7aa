//! Formulas as expressions in Rust.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use crate::emit::rust::names;
use crate::formula::{Binary, Constant, Elements, Expr, ExprKind, Ty};
use crate::model::Operator;

/// Returns the trait of the numbers that a formula computes with.
pub(super) fn bound(elements: Elements) -> TokenStream {
    match elements {
        Elements::Floats => quote!(Floating),
        Elements::Both => quote!(Numeric),
        Elements::Integers => quote!(Whole),
    }
}

/// Emits a formula as a number of the type `T`: true is one.
pub(super) fn number(operator: &Operator, expr: &Expr) -> TokenStream {
    let value = expression(operator, expr);
    match expr.ty {
        Ty::Number => value,
        Ty::Truth => quote!(T::of_truth(#value)),
    }
}

/// Returns the precedence of an expression in Rust. Operands of lower precedence need parentheses.
fn binding(expr: &Expr) -> u8 {
    match &expr.kind {
        ExprKind::Choice { .. } => 0,
        ExprKind::Binary(operator, ..) => binary(*operator).1,
        ExprKind::Negate(_) | ExprKind::Not(_) => UNARY,
        ExprKind::Number(_)
        | ExprKind::Constant(_)
        | ExprKind::Truth(_)
        | ExprKind::Variable(_)
        | ExprKind::Call(..) => POSTFIX,
    }
}

const UNARY: u8 = 6;
const POSTFIX: u8 = 7;

/// Returns the operator in Rust, and its precedence.
pub fn binary(operator: Binary) -> (TokenStream, u8) {
    match operator {
        Binary::Or => (quote!(||), 1),
        Binary::And => (quote!(&&), 2),
        Binary::Equal => (quote!(==), 3),
        Binary::NotEqual => (quote!(!=), 3),
        Binary::Less => (quote!(<), 3),
        Binary::LessEqual => (quote!(<=), 3),
        Binary::Greater => (quote!(>), 3),
        Binary::GreaterEqual => (quote!(>=), 3),
        Binary::Add => (quote!(+), 4),
        Binary::Subtract => (quote!(-), 4),
        Binary::Multiply => (quote!(*), 5),
        Binary::Divide => (quote!(/), 5),
    }
}

/// Emits an operand, in parentheses if its precedence is lower than its place needs.
fn operand(operator: &Operator, expr: &Expr, place: u8) -> TokenStream {
    let tokens = expression(operator, expr);
    if binding(expr) < place { quote!((#tokens)) } else { tokens }
}

/// Emits a formula.
pub(super) fn expression(operator: &Operator, expr: &Expr) -> TokenStream {
    match &expr.kind {
        ExprKind::Number(value) => {
            let value = Literal::f64_unsuffixed(*value);
            quote!(T::of(#value))
        }
        ExprKind::Constant(constant) => match constant {
            Constant::Pi => quote!(T::of(std::f64::consts::PI)),
            Constant::E => quote!(T::of(std::f64::consts::E)),
            Constant::Inf => quote!(T::of(f64::INFINITY)),
            Constant::Nan => quote!(T::of(f64::NAN)),
        },
        ExprKind::Truth(value) => quote!(#value),
        ExprKind::Variable(variable) => {
            let name = names::snake(&operator.variable_name(*variable));
            quote!(#name)
        }
        // The negative of the largest integer is not the smallest one.
        ExprKind::Negate(inner) if matches!(inner.kind, ExprKind::Constant(Constant::Inf)) => {
            quote!(T::of(f64::NEG_INFINITY))
        }
        ExprKind::Negate(inner) => {
            let inner = operand(operator, inner, UNARY);
            quote!(-#inner)
        }
        ExprKind::Not(inner) => {
            let inner = operand(operator, inner, UNARY);
            quote!(!#inner)
        }
        ExprKind::Binary(sign, left, right) => {
            let (tokens, place) = binary(*sign);
            // Comparisons do not chain, and the right operand of `-` and `/` needs a higher precedence.
            let is_comparison = expr.ty == Ty::Truth && left.ty == Ty::Number;
            let left = operand(operator, left, place + u8::from(is_comparison));
            let right = operand(operator, right, place + 1);
            quote!(#left #tokens #right)
        }
        ExprKind::Call(function, arguments) => {
            let name = names::snake(function.name);
            let mut arguments = arguments.iter();
            let receiver = arguments.next().map(|first| operand(operator, first, POSTFIX));
            let rest = arguments.map(|argument| expression(operator, argument));
            quote!(#receiver.#name(#(#rest),*))
        }
        ExprKind::Choice { condition, then, otherwise } => {
            let condition = expression(operator, condition);
            let then = expression(operator, then);
            let otherwise = match &otherwise.kind {
                ExprKind::Choice { .. } => expression(operator, otherwise),
                _ => {
                    let otherwise = expression(operator, otherwise);
                    quote!({ #otherwise })
                }
            };
            quote!(if #condition { #then } else #otherwise)
        }
    }
}
