//! Formulas as calls of elementwise methods.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};

use super::{names, result_type};
use crate::emit::rust::attribute::number;
use crate::emit::rust::operators::expression::binary;
use crate::formula::{Constant, Expr, ExprKind, Ty, Variable};
use crate::model::{Method, Term, Work};

/// Emits the body of a method from the parts and the value of its formula.
pub(super) fn body(method: &Method, parts: &[(&str, Term)], value: &Term) -> TokenStream {
    let mut writer = Writer { method, count: 0, statements: TokenStream::new() };
    for (name, part) in parts {
        let part = writer.owned(part);
        let name = names::snake(name);
        writer.statements.extend(quote!(let #name = #part;));
    }
    let comment = method.formula().map(|(_, formula)| {
        let text = formula.text.split_whitespace().collect::<Vec<_>>().join(" ");
        quote!(__comment!(#text);)
    });
    let outputs = method.outputs();
    let out = names::snake(&outputs[0].0);
    let inputs = method.inputs.iter().map(|input| writer.tensor(*input)).collect::<Vec<_>>();
    let is_gradient = matches!(method.work, Work::Gradient(..));
    let write = writer.root(value, &out);
    let statements = writer.statements;
    match is_gradient {
        false => quote!(#comment #statements #write),
        true => quote! {
            #comment
            self.gradient(launch, #out, &[#(#inputs),*], |#out| {
                #statements
                #write
            })
        },
    }
}

struct Writer<'a> {
    method: &'a Method<'a>,
    /// The number of intermediate results so far.
    count: usize,
    statements: TokenStream,
}

impl Writer<'_> {
    fn tensor(&self, variable: Variable) -> Ident {
        names::snake(&self.method.operator.variable_name(variable))
    }

    /// Writes the value of the formula to the output.
    fn root(&mut self, term: &Term, out: &Ident) -> TokenStream {
        match term {
            Term::Call { method, operands, .. } => {
                let operands: Vec<TokenStream> =
                    operands.iter().map(|operand| self.operand(operand)).collect();
                let method = names::snake(method);
                quote! {
                    self.write(launch, #out, &[#(#operands),*], |result| {
                        self.#method(launch, result, #(#operands),*)
                    })
                }
            }
            Term::Choice(condition, then, otherwise) => {
                let condition = self.uniform(condition);
                let branches = [then, otherwise].map(|term| self.branch(|writer| writer.root(term, out)));
                let [then, otherwise] = branches;
                quote!(if #condition { #then } else { #otherwise })
            }
            _ => {
                let operand = self.operand(term);
                quote!(self.expand(launch, #out, #operand))
            }
        }
    }

    /// Emits a branch: the statements that `write` adds, then its value.
    fn branch(&mut self, write: impl FnOnce(&mut Self) -> TokenStream) -> TokenStream {
        let before = std::mem::take(&mut self.statements);
        let value = write(self);
        let statements = std::mem::replace(&mut self.statements, before);
        quote!(#statements #value)
    }

    /// Emits a value as a reference to a tensor.
    fn operand(&mut self, term: &Term) -> TokenStream {
        match term {
            Term::Tensor(variable) => self.tensor(*variable).into_token_stream(),
            Term::Part(name) => {
                let name = names::snake(name);
                quote!(&#name)
            }
            _ => {
                let value = self.owned(term);
                self.count += 1;
                let part = format_ident!("part_{}", self.count);
                self.statements.extend(quote!(let #part = #value;));
                quote!(&#part)
            }
        }
    }

    /// Emits a value as an owned tensor.
    fn owned(&mut self, term: &Term) -> TokenStream {
        match term {
            Term::Tensor(variable) => {
                let tensor = self.tensor(*variable);
                quote!(#tensor.clone())
            }
            Term::Part(name) => {
                let name = names::snake(name);
                quote!(#name.clone())
            }
            Term::Uniform(expr) if expr.ty == Ty::Truth => {
                let value = self.uniform(expr);
                quote!(self.constant(DataType::BOOL, f64::from(#value))?)
            }
            Term::Uniform(expr) => {
                let value = self.uniform(expr);
                quote!(self.constant(ty, #value)?)
            }
            Term::Whole(value) => {
                let value = number(f64::from(*value));
                quote!(self.constant(ty, #value)?)
            }
            Term::Call { method, operands, result } => {
                let operands: Vec<TokenStream> =
                    operands.iter().map(|operand| self.operand(operand)).collect();
                let (method, ty) = (names::snake(method), result_type(*result));
                quote! {
                    self.result(#ty, &[#(#operands),*], |result| self.#method(launch, result, #(#operands),*))?
                }
            }
            Term::Choice(condition, then, otherwise) => {
                let condition = self.uniform(condition);
                let [then, otherwise] =
                    [then, otherwise].map(|term| self.branch(|writer| writer.owned(term)));
                quote!(if #condition { #then } else { #otherwise })
            }
        }
    }

    /// Emits a value that is the same for all elements.
    fn uniform(&self, expr: &Expr) -> TokenStream {
        match &expr.kind {
            ExprKind::Number(value) => number(*value),
            ExprKind::Constant(Constant::Pi) => quote!(std::f64::consts::PI),
            ExprKind::Constant(Constant::E) => quote!(std::f64::consts::E),
            ExprKind::Constant(Constant::Inf) => quote!(f64::INFINITY),
            ExprKind::Constant(Constant::Nan) => quote!(f64::NAN),
            ExprKind::Truth(value) => quote!(#value),
            ExprKind::Variable(variable) => self.tensor(*variable).into_token_stream(),
            ExprKind::Negate(inner) => {
                let inner = self.nested(inner);
                quote!(-#inner)
            }
            ExprKind::Not(inner) => {
                let inner = self.nested(inner);
                quote!(!#inner)
            }
            ExprKind::Binary(operator, left, right) => {
                let (left, right, operator) = (self.nested(left), self.nested(right), binary(*operator).0);
                quote!(#left #operator #right)
            }
            ExprKind::Call(function, arguments) => {
                let name = match function.name {
                    "pow" => "powf",
                    name => name,
                };
                let name = names::snake(name);
                let arguments = arguments.iter().map(|argument| self.uniform(argument));
                quote!(f64::#name(#(#arguments),*))
            }
            ExprKind::Choice { condition, then, otherwise } => {
                let [condition, then, otherwise] = [condition, then, otherwise].map(|it| self.uniform(it));
                quote!(if #condition { #then } else { #otherwise })
            }
        }
    }

    fn nested(&self, expr: &Expr) -> TokenStream {
        let value = self.uniform(expr);
        match expr.kind {
            ExprKind::Binary(..) | ExprKind::Negate(_) | ExprKind::Choice { .. } => quote!((#value)),
            _ => value,
        }
    }
}
