//! Kernels of operators that are written by hand: the arguments of one function.

use crate::emit::rust::attribute::data_type;
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

use super::names;
use crate::emit::rust::attribute::constant;
use crate::emit::rust::operators::arguments;
use crate::formula::Variable;
use crate::model::{
    Arity, AttributeType, Kernel, KernelAttribute, KernelInput, KernelOutput, KernelRole, KernelShape,
    KernelType, Operator, OutputType, ShapeArgument,
};

/// Emits the statements of a kernel: views of the tensors, then the call.
pub(super) fn body(kernel: &Kernel, operator: &Operator) -> TokenStream {
    let inputs: Vec<Argument> =
        (0..operator.inputs.len()).map(|index| input(kernel, operator, index)).collect();
    let attributes: Vec<Argument> =
        (0..operator.attributes.len()).map(|index| attribute(kernel, operator, index)).collect();
    let outputs: Vec<Argument> =
        (0..operator.outputs.len()).map(|index| output(kernel, operator, index)).collect();
    let read: Vec<&TokenStream> = inputs.iter().map(|argument| &argument.value).collect();
    let values: Vec<TokenStream> = attributes.iter().map(|argument| argument.value.clone()).collect();
    let with = arguments(&operator.forward(), &values);
    let given = quote!(#(#read,)* #with);
    let shapes = kernel.outputs.iter().filter_map(|output| shape(operator, output, &given));
    let rule = kernel.shape.as_ref().map(|shape| ruled(kernel, operator, shape, [&inputs, &attributes]));
    let opened = inputs.iter().chain(&attributes).map(|argument| &argument.statement);
    let allocated = outputs.iter().map(|argument| &argument.statement);
    let results = outputs.iter().map(|argument| &argument.value);
    let name = names::snake(&operator.name.value);
    let (drawn, seed_and_offset) = operator.random.then(|| random(kernel, operator)).unzip();
    let reduced = operator.reduces().map(|index| {
        let input = names::snake(&operator.inputs[index].name);
        quote!(call.expect_reducible(&#input)?;)
    });
    quote! {
        #(#opened)*
        #reduced
        #(#shapes)*
        #rule
        #(#allocated)*
        #drawn
        call.run(&mut |device, launch| device.#name(launch, #(#results,)* #given #seed_and_offset))
    }
}

/// Emits the statement that gets a seed and an offset, and the two as arguments.
fn random(kernel: &Kernel, operator: &Operator) -> (TokenStream, TokenStream) {
    let seed = kernel.attributes.iter().find(|attribute| attribute.role == KernelRole::Seed);
    let seed = seed.map_or_else(
        || quote!(0),
        |seed| {
            let name = names::snake(&seed.name);
            quote!(i64::from(self.#name))
        },
    );
    let out = operator.outputs.first().map(|output| names::snake(&output.name));
    // A choice without replacement draws a number for each element of the input.
    let inputs = operator
        .inputs
        .iter()
        .enumerate()
        .filter(|&(index, input)| input.arity == Arity::One && kernel.takes(Variable::Input(index)));
    let inputs = inputs.map(|(_, input)| names::snake(&input.name));
    let count = quote!(#out.len()#(.max(#inputs.len()))*);
    (quote!(let (seed, offset) = call.random(#seed, #count)?;), quote!(seed, offset))
}

/// Emits the statements that set the shape of an output if hosts do not compute it.
fn shape(operator: &Operator, output: &KernelOutput, given: &TokenStream) -> Option<TokenStream> {
    let KernelOutput::Output(index) = output else { return None };
    let method = names::snake(&operator.shape(&operator.outputs[*index])?.name);
    let name = names::snake(&operator.output_name(output));
    Some(quote! {
        let dims = call.run(&mut |device, launch| device.#method(launch, #given))?;
        self.#name.reshape(&dims)?;
    })
}

/// Emits the statement that sets the shape of the first output by a rule, given the inputs and the attributes of the
/// operator.
fn ruled(
    kernel: &Kernel,
    operator: &Operator,
    shape: &KernelShape,
    [inputs, attributes]: [&[Argument]; 2],
) -> Option<TokenStream> {
    let takes = shape.takes.iter().map(|argument| match *argument {
        ShapeArgument::Input(index) => inputs[index].value.clone(),
        ShapeArgument::Ignored(index) => match &kernel.inputs[index] {
            KernelInput::Ignored(ignored) => {
                let name = names::snake(&ignored.name);
                quote!(self.#name)
            }
            KernelInput::Variable(_) => quote!(),
        },
        ShapeArgument::Attribute(index) => {
            let given = &kernel.attributes[index];
            match given.role {
                KernelRole::Attribute(index) => attributes[index].value.clone(),
                _ if given.ty == KernelType::IntArray => {
                    given_attribute(given, AttributeType::Integers).value
                }
                _ => {
                    let name = names::snake(&given.name);
                    quote!(self.#name)
                }
            }
        }
    });
    let first = kernel.outputs.first()?;
    let out = names::snake(&operator.output_name(first));
    let rule = names::snake(&shape.rule);
    let is_optional =
        matches!(first, KernelOutput::Output(index) if operator.outputs[*index].arity == Arity::Optional);
    Some(if is_optional {
        quote! {
            if let Some(out) = self.#out {
                out.reshape(&shapes::#rule(#(#takes),*)?)?;
            }
        }
    } else {
        quote!(self.#out.reshape(&shapes::#rule(#(#takes),*)?)?;)
    })
}

/// An argument of the function, and the statement before it.
struct Argument {
    statement: TokenStream,
    value: TokenStream,
}

impl Argument {
    fn value(value: impl ToTokens) -> Self {
        Argument { statement: TokenStream::new(), value: value.into_token_stream() }
    }
}

fn input(kernel: &Kernel, operator: &Operator, index: usize) -> Argument {
    if !kernel.takes(Variable::Input(index)) {
        let is_list = operator.inputs[index].arity == Arity::List;
        return Argument::value(if is_list { quote!(&[]) } else { quote!(None) });
    }
    let name = names::snake(&operator.inputs[index].name);
    match operator.inputs[index].arity {
        Arity::One => Argument { statement: quote!(let #name = self.#name.view()?;), value: quote!(&#name) },
        Arity::Optional if kernel.plain.contains(&operator.inputs[index].name) => {
            Argument { statement: quote!(let #name = self.#name.view()?;), value: quote!(#name.as_ref()) }
        }
        Arity::Optional => Argument {
            statement: quote!(let #name = self.#name.map(Tensor::view).transpose()?;),
            value: quote!(#name.as_ref()),
        },
        Arity::List => Argument {
            statement: quote! {
                let #name = self.#name.into_iter().map(Tensor::view).collect::<Result<Vec<_>>>()?;
            },
            value: quote!(&#name),
        },
        Arity::OptionalList => Argument {
            statement: quote! {
                let #name = self.#name
                    .map(|list| list.into_iter().map(Tensor::view).collect::<Result<Vec<_>>>())
                    .transpose()?;
            },
            value: quote!(#name.as_deref()),
        },
    }
}

fn output(kernel: &Kernel, operator: &Operator, index: usize) -> Argument {
    let output = &operator.outputs[index];
    let Some(given) =
        kernel.outputs.iter().find(|given| matches!(given, KernelOutput::Output(output) if *output == index))
    else {
        let is_list = output.arity.is_list();
        return Argument::value(if is_list { quote!(&mut []) } else { quote!(None) });
    };
    let name = names::snake(&operator.output_name(given));
    let of = |index: usize| {
        let name = names::snake(&operator.inputs[index].name);
        match operator.inputs[index].arity {
            Arity::One => quote!(&#name),
            Arity::Optional | Arity::List => quote!(#name.iter()),
            Arity::OptionalList => quote!(#name.iter().flatten()),
        }
    };
    let ty = match output.ty {
        OutputType::Like(index) if operator.inputs[index].arity == Arity::One => {
            let of = of(index);
            quote!(outputs::like(#of))
        }
        OutputType::Like(index)
            if operator.inputs[index].arity == Arity::Optional && output.arity == Arity::Optional =>
        {
            let name = names::snake(&operator.inputs[index].name);
            let first = of(0);
            quote!(outputs::like_optional(#name.as_ref(), out, #first)?)
        }
        OutputType::Like(index) => {
            let of = of(index);
            quote!(outputs::like_first(#of)?)
        }
        OutputType::Wide(index) => {
            let of = of(index);
            quote!(outputs::wide(#of))
        }
        OutputType::ComplexOf(index) => {
            let is_part = |other: &usize| *other == index || operator.inputs[*other].is_real;
            let parts: Vec<_> = (0..operator.inputs.len()).filter(is_part).map(of).collect();
            match parts.as_slice() {
                [of] => quote!(outputs::complex_of(#of)?),
                parts => quote!(outputs::widest_complex([#(#parts),*])?),
            }
        }
        OutputType::RealOf(index) => {
            let of = of(index);
            quote!(outputs::real_of(#of)?)
        }
        OutputType::Any if output.arity == Arity::One => quote!(self.#name.tensor().data_type()?),
        OutputType::Any if output.arity == Arity::Optional => quote!(out.tensor().data_type()?),
        OutputType::Any => {
            return Argument {
                statement: quote!(let mut #name = outputs::views(self.#name, |out| out.tensor().data_type())?;),
                value: quote!(&mut #name),
            };
        }
        fixed => data_type(fixed),
    };
    match output.arity {
        Arity::One => {
            Argument { statement: quote!(let mut #name = self.#name.view(#ty)?;), value: quote!(&mut #name) }
        }
        Arity::Optional => Argument {
            statement: quote! {
                let mut #name = outputs::wanted(self.#name)?.map(|out| out.view(#ty)).transpose()?;
            },
            value: quote!(#name.as_mut()),
        },
        Arity::List | Arity::OptionalList => Argument {
            statement: quote! {
                let ty = #ty;
                let mut #name = outputs::views(self.#name, |_| Ok(ty))?;
            },
            value: quote!(&mut #name),
        },
    }
}

fn attribute(kernel: &Kernel, operator: &Operator, index: usize) -> Argument {
    let ty = operator.attributes[index].ty;
    match kernel.source(index) {
        Some(given) => given_attribute(given, ty),
        None => Argument::value(kernel.constant(operator, index).map(constant).unwrap_or_default()),
    }
}

fn given_attribute(given: &KernelAttribute, ty: AttributeType) -> Argument {
    let name = names::snake(&given.name);
    match (ty, given.ty) {
        (AttributeType::I64, KernelType::I32) => Argument::value(quote!(i64::from(self.#name))),
        (AttributeType::F64, KernelType::I32 | KernelType::F32) => {
            Argument::value(quote!(f64::from(self.#name)))
        }
        (AttributeType::F64, KernelType::I64) => Argument::value(quote!(self.#name as f64)),
        (AttributeType::I64, KernelType::Scalar) => {
            Argument { statement: quote!(let #name = self.#name.to_i64()?;), value: quote!(#name) }
        }
        (AttributeType::Bool, KernelType::Scalar) => {
            Argument { statement: quote!(let #name = self.#name.to_i64()? != 0;), value: quote!(#name) }
        }
        (_, KernelType::Scalar) => {
            Argument { statement: quote!(let #name = self.#name.to_f64()?;), value: quote!(#name) }
        }
        (_, KernelType::IntArray) => Argument::value(quote!(self.#name.get())),
        (_, KernelType::ListI32) => Argument {
            statement: quote!(let #name: Vec<i64> = self.#name.iter().copied().map(i64::from).collect();),
            value: quote!(&#name),
        },
        (_, KernelType::ListF32) => Argument {
            statement: quote!(let #name: Vec<f64> = self.#name.iter().copied().map(f64::from).collect();),
            value: quote!(&#name),
        },
        (_, KernelType::ListString) => Argument::value(quote!(&self.#name)),
        _ => Argument::value(quote!(self.#name)),
    }
}
