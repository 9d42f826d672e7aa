//! The loops of operators: one function for each formula and each gradient. They use the engine of `tenon-kernels`.

use crate::emit::rust::doc::{markdown, of_file};
use crate::emit::rust::text::imports::Used;
use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};

use super::attributes::StructNames;
use super::expression::{bound, expression, number};
use super::loops::call;
use super::reductions;
use crate::emit::descriptions::operator::equation;
use crate::emit::emitter::{EmitError, Emitter, Job};
use crate::emit::rust::files::group_files;
use crate::emit::rust::names;
use crate::formula::{Elements, Expr, ExprKind, Variable};
use crate::grammar::outputs::{self, OutputKind};
use crate::model::{
    AttributeType, Body, Elementwise, Formula, Operator, OperatorGroup, OutputPlace, gradient_name,
};
use crate::out::Output;
use crate::text::{count, sentence};

/// The loops of all operators.
pub struct Formulas;

impl Emitter for Formulas {
    const KIND: &'static OutputKind = &outputs::RUST_FORMULAS;

    fn emit(job: &Job, _: &OutputPlace) -> Result<Vec<Output>, EmitError> {
        let Some(operators) = &job.spec.operators else { return Ok(Vec::new()) };
        let groups: Vec<(&OperatorGroup, Vec<TokenStream>)> = operators
            .groups
            .iter()
            .map(|group| (group, group.operators.iter().filter_map(functions).collect()))
            .filter(|(_, functions): &(_, Vec<_>)| !functions.is_empty())
            .collect();
        let structs = StructNames::of(operators);
        let modules = groups.iter().map(|(group, functions)| {
            (&*group.name, count(functions.len(), "operator"), module(&structs, group, functions))
        });
        let note = count(groups.len(), "group");
        Ok(group_files(&job.stamp.operators(operators), note, root(&groups), modules))
    }
}

/// Emits the functions of an operator; `None` if it has no formulas.
fn functions(operator: &Operator) -> Option<TokenStream> {
    match &operator.body {
        Body::Formula(formulas) => Some(elementwise(operator, formulas)),
        Body::Reduction(reduction) => Some(reductions::function(operator, reduction)),
        Body::Kernel(_) => None,
    }
}

fn root(groups: &[(&OperatorGroup, Vec<TokenStream>)]) -> TokenStream {
    let modules = groups.iter().map(|(group, _)| {
        let doc = markdown(&sentence(&group.summary));
        let name = names::snake(&group.name);
        quote!(#doc pub mod #name;)
    });
    quote! {
        //! The operators that the spec describes by formulas.
        //!
        //! Each function computes one output, which it takes first. The engines behind them are
        //! [`elementwise`](crate::elementwise) and [`reduction`](crate::reduction): shapes broadcast, layouts are free, and
        //! the output may be an input.
        #(#modules)*
    }
}

fn module(structs: &StructNames, group: &OperatorGroup, functions: &[TokenStream]) -> TokenStream {
    let functions: TokenStream = functions.iter().cloned().collect();
    let used = Used::by(&functions);
    let wrapping = used.import(quote!(std::num), &["Wrapping"]);
    let bounds = used.import(quote!(crate::numeric), &["Floating", "Numeric", "Whole"]);
    let attributes = structs.import(quote!(crate::attributes), &used);
    let engines = used.import(quote!(crate), &["elementwise", "reduction"]);
    let loops = used.import(quote!(crate::elementwise), &["each_element"]);
    let reduction = used.import(quote!(crate::reduction), &["Along", "Fold"]);
    let doc = of_file(&group.summary);
    quote! {
        #doc
        #wrapping
        #engines
        #loops
        use crate::error::Result;
        #bounds
        #reduction
        use crate::tensor::{View, ViewMut};
        #attributes
        #functions
    }
}

fn elementwise(operator: &Operator, formulas: &Elementwise) -> TokenStream {
    let name = &operator.name.value;
    let out = &operator.outputs[0].name;
    let summary =
        format!("{}\n\n{}", sentence(&operator.summary), equation(formulas, out, &formulas.formula));
    let forward = Loop { operator, formulas, elements: formulas.elements, formula: &formulas.formula };
    let forward = forward.function(name, out, &summary);
    let gradients = formulas.gradients.iter().map(|gradient| {
        let input = &operator.inputs[gradient.input].name;
        let out = gradient_name(input);
        let equation = equation(formulas, &out, &gradient.formula);
        let summary = format!("Computes the gradient of [`{name}`] by `{input}`.\n\n{equation}");
        let gradient = Loop { operator, formulas, elements: Elements::Floats, formula: &gradient.formula };
        gradient.function(&format!("{name}_{out}"), &out, &summary)
    });
    quote!(#forward #(#gradients)*)
}

/// A formula of an operator, and the element types for which it is computed.
struct Loop<'a> {
    operator: &'a Operator,
    formulas: &'a Elementwise,
    elements: Elements,
    formula: &'a Formula,
}

impl Loop<'_> {
    fn function(&self, name: &str, out: &str, summary: &str) -> TokenStream {
        let Loop { operator, formulas, elements, formula } = *self;
        let uses = formulas.uses(formula);
        let is_tensor = |variable: &Variable| {
            matches!(variable, Variable::Input(_) | Variable::Output | Variable::OutputGradient)
        };
        let ident = |variable: &Variable| names::snake(&operator.variable_name(*variable));
        let tensors: Vec<_> = uses.iter().filter(|variable| is_tensor(variable)).map(ident).collect();
        let attributes: Vec<usize> = uses
            .iter()
            .filter_map(|variable| match variable {
                Variable::Attribute(index) => Some(*index),
                _ => None,
            })
            .collect();
        let attribute_params: Vec<TokenStream> = attributes
            .iter()
            .map(|index| {
                let name = ident(&Variable::Attribute(*index));
                match operator.attributes[*index].ty {
                    AttributeType::Bool => quote!(#name: bool),
                    _ => quote!(#name: f64),
                }
            })
            .collect();
        let converted = attributes
            .iter()
            .filter(|index| operator.attributes[**index].ty == AttributeType::F64)
            .map(|index| {
                let name = ident(&Variable::Attribute(*index));
                quote!(let #name = T::of(#name);)
            });
        let parts = uses.iter().filter_map(|variable| match variable {
            Variable::Part(index) => {
                let name = ident(variable);
                let value = expression(operator, &formulas.parts[*index].1.expr);
                Some(quote!(let #name = #value;))
            }
            _ => None,
        });
        let value = number(operator, &formula.expr);
        let (function, out) = (names::snake(name), names::snake(out));
        let whole = whole_function(&formula.expr).map(|name| {
            let input = &tensors[0];
            quote!(T::#name(#out, #input);)
        });
        let count = Literal::usize_unsuffixed(tensors.len());
        let pattern = tensors.iter().fold(quote!(#out), |pattern, tensor| quote!((#pattern, &#tensor)));
        let zipped =
            tensors.iter().fold(quote!(#out.iter_mut()), |zipped, tensor| quote!(#zipped.zip(#tensor)));
        let body = whole.unwrap_or_else(|| {
            quote! {
                #(#converted)*
                for #pattern in #zipped {
                    #(#parts)*
                    *#out = #value;
                }
            }
        });
        let bound = bound(elements);
        let call = call(
            elements,
            &out,
            &tensors.iter().map(|tensor| quote!(#tensor)).collect::<Vec<_>>(),
            &attributes
                .iter()
                .map(|index| (ident(&Variable::Attribute(*index)), operator.attributes[*index].ty))
                .collect::<Vec<_>>(),
        );
        let doc = markdown(summary);
        quote! {
            #doc
            ///
            /// # Errors
            /// If shapes or element types do not fit.
            pub fn #function(
                #out: &mut ViewMut<'_>,
                #(#tensors: &View<'_>,)*
                #(#attribute_params,)*
            ) -> Result<()> {
                #[inline(always)]
                fn each<T: #bound>(#out: &mut [T], [#(#tensors),*]: [&[T]; #count], #(#attribute_params),*) {
                    #body
                }
                #call
            }
        }
    }
}

/// The functions that the kernels also have for whole slices: they look at the elements to choose a loop.
const OF_SLICES: [&str; 3] = ["sin", "cos", "rsqrt"];

/// Returns the function of whole slices that computes a formula, if there is one.
fn whole_function(expr: &Expr) -> Option<proc_macro2::Ident> {
    let ExprKind::Call(function, arguments) = &expr.kind else { return None };
    let is_input = matches!(arguments[..], [Expr { kind: ExprKind::Variable(Variable::Input(_)), .. }]);
    (is_input && OF_SLICES.contains(&function.name)).then(|| format_ident!("{}_all", function.name))
}
