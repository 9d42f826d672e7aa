//! Kernels of elementwise operators: each output is computed by a formula.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

use super::names;
use crate::formula::{Ty, Variable};
use crate::model::{
    AttributeValue, Elementwise, Formula, Kernel, KernelAttribute, KernelInput, KernelOutput, KernelRole,
    KernelType, Operator,
};

/// The statements of a kernel: views of the tensors, then each output.
pub(super) fn body(kernel: &Kernel, operator: &Operator, formulas: &Elementwise, group: &str) -> TokenStream {
    let outputs: Vec<(&KernelOutput, &Formula)> =
        kernel.outputs.iter().filter_map(|output| Some((output, formulas.formula_of(output)?))).collect();
    let is_tensor = |variable: &Variable| !matches!(variable, Variable::Attribute(_) | Variable::Part(_));
    let used: Vec<Variable> =
        outputs.iter().flat_map(|(_, formula)| formulas.uses(formula)).filter(is_tensor).collect();
    // Hosts may have released what a gradient does not use. Its shape is that of the output's gradient.
    let needed = |variable: &Variable| used.contains(variable) || *variable == Variable::OutputGradient;
    let views: Vec<Ident> = kernel
        .inputs
        .iter()
        .filter_map(|input| match input {
            KernelInput::Variable(variable) if needed(variable) => {
                Some(names::snake(&operator.variable_name(*variable)))
            }
            _ => None,
        })
        .collect();
    let axis = kernel.attributes.iter().find(|attribute| attribute.role == KernelRole::Axis);
    let axis = axis.map(|attribute| names::snake(&attribute.name));
    let opened = match &axis {
        None => quote!(#(let #views = self.#views.view()?;)*),
        Some(axis) => {
            quote!(let [#(#views),*] = elementwise::aligned([#(self.#views.view()?),*], self.#axis)?;)
        }
    };
    let axis = axis.map_or_else(|| quote!(-1), |axis| quote!(self.#axis));
    let group = names::snake(group);
    let computed = |output: &KernelOutput, formula: &Formula, is_last: bool| {
        let name = operator.output_name(output);
        let out = names::snake(&name);
        let arguments = arguments(kernel, operator, formulas, formula);
        if !matches!(output, KernelOutput::Gradient(_)) {
            let function = names::snake(&operator.name.value);
            let compute = quote!(|#out| formulas::#group::#function(#out, #(#arguments),*));
            return match formulas.result {
                Ty::Number => quote!(elementwise::result(call, self.#out, &[#(&#views),*], #compute)),
                Ty::Truth => quote!(elementwise::test(call, self.#out, #compute)),
            };
        }
        let function = names::snake(&format!("{}_{name}", operator.name.value));
        let compute = quote!(|#out| formulas::#group::#function(#out, #(#arguments),*));
        let arguments = quote!(call, self.#out, #axis, &[#(&#views),*], #compute);
        match is_last {
            true => quote!(elementwise::gradient(#arguments)),
            false => quote!(let #out = elementwise::early_gradient(#arguments)),
        }
    };
    let (last, before) = match outputs.split_last() {
        Some(((output, formula), before)) => (computed(output, formula, true), before),
        None => (quote!(Ok(())), &[][..]),
    };
    let staged: Vec<Ident> =
        before.iter().map(|(output, _)| names::snake(&operator.output_name(output))).collect();
    let before = before.iter().map(|(output, formula)| computed(output, formula, false));
    // Reading one may fail, which the arithmetic cannot report.
    let scalars = kernel.attributes.iter().filter(|attribute| attribute.ty == KernelType::Scalar);
    let scalars: Vec<Ident> = scalars.map(|attribute| names::snake(&attribute.name)).collect();
    let end = match staged.is_empty() {
        true => last,
        false => quote!(#last?; #(#staged.store()?;)* Ok(())),
    };
    quote! {
        #opened
        #(let #scalars = self.#scalars.to_f64()?;)*
        #(#before?;)*
        #end
    }
}

/// The arguments of a formula's function behind the output: tensors, then attributes.
fn arguments(
    kernel: &Kernel,
    operator: &Operator,
    formulas: &Elementwise,
    formula: &Formula,
) -> Vec<TokenStream> {
    let uses = formulas.uses(formula).into_iter();
    uses.filter_map(|variable| match variable {
        Variable::Part(_) => None,
        Variable::Attribute(index) => Some(match kernel.source(index) {
            Some(given) => value(given),
            None => constant(kernel.constant(operator, index)),
        }),
        tensor => {
            let name = names::snake(&operator.variable_name(tensor));
            Some(quote!(&#name))
        }
    })
    .collect()
}

/// The value of an attribute that a kernel does not get.
fn constant(value: Option<&AttributeValue>) -> TokenStream {
    match value {
        Some(AttributeValue::Truth(value)) => quote!(#value),
        Some(AttributeValue::Number(value)) => {
            let value = Literal::f64_unsuffixed(*value);
            quote!(#value)
        }
        // Reported when the kernel was read.
        _ => quote!(f64::NAN),
    }
}

/// An attribute of a kernel as the formula takes it.
fn value(attribute: &KernelAttribute) -> TokenStream {
    let name = names::snake(&attribute.name);
    match attribute.ty {
        KernelType::F32 | KernelType::I32 => quote!(f64::from(self.#name)),
        KernelType::I64 => quote!(self.#name as f64),
        KernelType::Scalar => quote!(#name),
        _ => quote!(self.#name),
    }
}
