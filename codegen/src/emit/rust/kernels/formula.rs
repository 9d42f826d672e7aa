//! Kernels of elementwise operators: each output is computed by a formula.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

use super::names;
use crate::emit::rust::operators::arguments;
use crate::formula::{Ty, Variable};
use crate::model::{
    AttributeValue, Elementwise, Kernel, KernelAttribute, KernelInput, KernelOutput, KernelRole, KernelType,
    Method, Operator,
};

/// Emits the statements of a kernel: views of the tensors, then each output.
pub(super) fn body(kernel: &Kernel, operator: &Operator, formulas: &Elementwise) -> TokenStream {
    let outputs: Vec<(&KernelOutput, Method)> =
        kernel.outputs.iter().filter_map(|output| Some((output, operator.method_for(output)?))).collect();
    // Hosts may have released what a gradient does not use.
    let needed = |variable: &Variable| outputs.iter().any(|(_, method)| method.inputs.contains(variable));
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
    let computed = |output: &KernelOutput, method: &Method, is_last: bool| {
        let out = names::snake(&operator.output_name(output));
        let arguments = given(kernel, method);
        let name = names::snake(&method.name);
        let compute = quote!(&mut |device, launch, #out| device.#name(launch, #out, #arguments));
        if !matches!(output, KernelOutput::Gradient(_)) {
            return match formulas.result {
                Ty::Number => quote!(elementwise::result(call, self.#out, &[#(&#views),*], #compute)),
                Ty::Truth => quote!(elementwise::test(call, self.#out, #compute)),
            };
        }
        let arguments = quote!(call, self.#out, #axis, &[#(&#views),*], #compute);
        if is_last {
            quote!(elementwise::gradient(#arguments))
        } else {
            quote!(let #out = elementwise::early_gradient(#arguments))
        }
    };
    let (last, before) = match outputs.split_last() {
        Some(((output, method), before)) => (computed(output, method, true), before),
        None => (quote!(Ok(())), &[][..]),
    };
    let staged: Vec<Ident> =
        before.iter().map(|(output, _)| names::snake(&operator.output_name(output))).collect();
    let before = before.iter().map(|(output, method)| computed(output, method, false));
    // Reading a scalar may fail, and the arithmetic cannot report errors.
    let scalars = kernel.attributes.iter().filter(|attribute| attribute.ty == KernelType::Scalar);
    let scalars: Vec<Ident> = scalars.map(|attribute| names::snake(&attribute.name)).collect();
    let end = if staged.is_empty() { last } else { quote!(#last?; #(#staged.store()?;)* Ok(())) };
    quote! {
        #opened
        #(let #scalars = self.#scalars.to_f64()?;)*
        #(#before?;)*
        #end
    }
}

/// Emits the arguments of a method after the output: tensors, then attributes.
fn given(kernel: &Kernel, method: &Method) -> TokenStream {
    let operator = method.operator;
    let tensors = method.inputs.iter().map(|variable| {
        let name = names::snake(&operator.variable_name(*variable));
        quote!(&#name)
    });
    let attributes = method.attributes.iter().map(|&index| match kernel.source(index) {
        Some(given) => value(given),
        None => constant(kernel.constant(operator, index)),
    });
    let attributes = arguments(method, &attributes.collect::<Vec<_>>());
    quote!(#(#tensors,)* #attributes)
}

/// Emits the value of an attribute that a kernel does not get.
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

/// Emits an attribute of a kernel as the formula takes it.
fn value(attribute: &KernelAttribute) -> TokenStream {
    let name = names::snake(&attribute.name);
    match attribute.ty {
        KernelType::F32 | KernelType::I32 => quote!(f64::from(self.#name)),
        KernelType::I64 => quote!(self.#name as f64),
        KernelType::Scalar => quote!(#name),
        _ => quote!(self.#name),
    }
}
