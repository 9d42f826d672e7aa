//! The functions of reductions and of their gradients. They use the engines of `tenon-kernels`.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};

use super::attributes::struct_name;
use super::expression::{bound, expression, number};
use super::loops::call;
use crate::emit::descriptions::operator::reduction_equation;
use crate::emit::rust::doc::markdown;
use crate::emit::rust::names;
use crate::formula::{Elements, Ty, Variable};
use crate::model::{AttributeType, Fold, Formula, Operator, Reduction, ReductionWork};
use crate::text::sentence;

/// Emits the function of an operator.
pub(super) fn function(operator: &Operator, reduction: &Reduction) -> TokenStream {
    let function = Function { operator, reduction };
    match &reduction.work {
        ReductionWork::Fold(fold) => function.fold(fold),
        ReductionWork::Spread { reduced, formula } => function.spread(reduced, formula),
    }
}

struct Function<'a> {
    operator: &'a Operator,
    reduction: &'a Reduction,
}

impl Function<'_> {
    fn name(&self) -> Ident {
        names::snake(&self.operator.name.value)
    }

    fn out(&self) -> Ident {
        names::snake(&self.operator.outputs[0].name)
    }

    fn inputs(&self) -> Vec<Ident> {
        self.operator.inputs.iter().map(|input| names::snake(&input.name)).collect()
    }

    /// Emits a fold as a type, and the function that uses it.
    fn fold(&self, fold: &Fold) -> TokenStream {
        let (operator, elements) = (self.operator, self.reduction.elements);
        let (name, out, inputs) = (self.name(), self.out(), self.inputs());
        let ty = names::pascal(&operator.name.value);
        let doc = markdown(&format!("Folds the elements for [`{}`].", operator.name.value));
        let constants = [("CHOOSES", fold.chooses()), ("ADDS", fold.adds()), ("NONEMPTY", fold.nonempty)];
        let constants = constants.iter().filter(|(_, is_set)| *is_set).map(|(name, _)| {
            let name = format_ident!("{name}");
            quote!(const #name: bool = true;)
        });
        let bound = bound(elements);
        let start = number(operator, &fold.start.expr);
        let element = fold.element.as_ref().map(|element| {
            let (input, value) = (&inputs[0], number(operator, &element.expr));
            quote! {
                #[inline(always)]
                fn element(#input: T) -> T {
                    #value
                }
            }
        });
        // Truth values are folded as the numbers zero and one.
        let truths = (fold.step.expr.ty == Ty::Truth)
            .then(|| quote!(let (left, right) = (left.truth(), right.truth());));
        let step = number(operator, &fold.step.expr);
        let finish = fold.finish.as_ref().map(|finish| {
            let truth = (fold.step.expr.ty == Ty::Truth).then(|| quote!(let result = result.truth();));
            let value = number(operator, &finish.expr);
            let count = if uses_count(finish) { format_ident!("count") } else { format_ident!("_count") };
            quote! {
                #[inline(always)]
                fn finish(result: T, #count: T) -> T {
                    #truth
                    #value
                }
            }
        });
        let engine = match elements {
            Elements::Floats => format_ident!("float"),
            Elements::Both | Elements::Integers => format_ident!("numeric"),
        };
        let along = self.along();
        let body = quote!(reduction::#engine(#ty, #out #(, #inputs)*, #along));
        let function = self.public(&name, &body);
        quote! {
            #doc
            #[derive(Clone, Copy, Debug)]
            pub struct #ty;

            impl<T: #bound> Fold<T> for #ty {
                #(#constants)*

                #[inline(always)]
                fn start() -> T {
                    #start
                }
                #element
                #[inline(always)]
                fn step(left: T, right: T) -> T {
                    #truths
                    #step
                }
                #finish
            }
            #function
        }
    }

    /// Emits the loop of a gradient.
    fn spread(&self, reduced: &[bool], formula: &Formula) -> TokenStream {
        let (operator, elements) = (self.operator, self.reduction.elements);
        let (name, out, inputs) = (self.name(), self.out(), self.inputs());
        let value = expression(operator, &formula.expr);
        let bound = bound(elements);
        let len = Literal::usize_unsuffixed(inputs.len());
        let pattern = inputs.iter().fold(quote!(#out), |pattern, input| quote!((#pattern, &#input)));
        let zipped = inputs.iter().fold(quote!(#out.iter_mut()), |zipped, input| quote!(#zipped.zip(#input)));
        let count = uses_count(formula).then(|| format_ident!("count"));
        let count = count.as_slice();
        let operands: Vec<TokenStream> = inputs
            .iter()
            .zip(reduced)
            .map(|(input, is_reduced)| if *is_reduced { quote!(&#input) } else { quote!(#input) })
            .collect();
        let short: Vec<&Ident> =
            inputs.iter().zip(reduced).filter(|(_, reduced)| **reduced).map(|(input, _)| input).collect();
        let attributes: Vec<(Ident, AttributeType)> =
            count.iter().map(|count| (count.clone(), AttributeType::F64)).collect();
        let call = call(elements, &out, &operands, &attributes);
        let along = self.along();
        let found = if count.is_empty() { quote!(_) } else { quote!(count) };
        let body = quote! {
            #[inline(always)]
            fn each<T: #bound>(#out: &mut [T], [#(#inputs),*]: [&[T]; #len] #(, #count: f64)*) {
                #(let #count = T::of(#count);)*
                for #pattern in #zipped {
                    *#out = #value;
                }
            }
            let ([#(#short),*], #found) = reduction::spread(#out.dims(), [#(#short),*], #along)?;
            #call
        };
        self.public(&name, &body)
    }

    /// Emits the dimensions that are reduced.
    fn along(&self) -> TokenStream {
        if self.reduction.of_all {
            quote!(Along::Everything)
        } else {
            quote!(Along::named(with.axis, with.keep_dim, with.reduce_all))
        }
    }

    /// Emits the function that callers see.
    fn public(&self, name: &Ident, body: &TokenStream) -> TokenStream {
        let (out, inputs) = (self.out(), self.inputs());
        let summary = format!(
            "{}\n\n{}",
            sentence(&self.operator.summary),
            reduction_equation(self.operator, self.reduction)
        );
        let doc = markdown(&summary);
        let attributes = struct_name(&self.operator.forward());
        let dimensions = attributes.map(|attributes| quote!(with: &#attributes<'_>));
        quote! {
            #doc
            ///
            /// # Errors
            /// If shapes, dimensions or element types do not fit.
            pub fn #name(#out: &mut ViewMut<'_>, #(#inputs: &View<'_>,)* #dimensions) -> Result<()> {
                #body
            }
        }
    }
}

fn uses_count(formula: &Formula) -> bool {
    let mut uses = false;
    formula.expr.visit(&mut |expr| uses |= expr.variable() == Some(Variable::Count));
    uses
}
