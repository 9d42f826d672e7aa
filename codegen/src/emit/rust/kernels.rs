//! Kernels of a host: their arguments, how they compute an operator, and their registration.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};

use super::{file, names, output};
use crate::emit::text::{count, sentence};
use crate::emit::{EmitError, Emitter, Job, Takes};
use crate::formula::{Ty, Variable};
use crate::model::{
    AttributeValue, Availability, ElementType, Formula, Interface, Kernel, KernelAttribute, KernelGroup,
    KernelOutput, KernelRole, KernelType, Operator, Operators, OutputPlace, gradient_name,
};
use crate::out::Output;

/// The kernels of each interface that has some.
pub struct Kernels;

impl Emitter for Kernels {
    const KEY: &'static str = "rust_kernels";
    const DOC: &'static str =
        "Import → the folder of the Rust kernels for its host, one file for each group.";
    const TAKES: Takes = Takes::FilePerInterface;

    fn emit(job: &Job, place: &OutputPlace) -> Result<Vec<Output>, EmitError> {
        let (Some(id), Some(operators)) = (&place.interface, &job.spec.operators) else {
            return Ok(Vec::new());
        };
        let interface = &job.spec.interfaces[id.value.0];
        let marker = job.stamp.operators(operators);
        let groups = count(interface.kernels.len(), "group");
        let mut outputs = vec![output("mod.rs".to_owned(), file::text(root(interface)), &marker, groups)?];
        for group in &interface.kernels {
            let text = file::text(Context { operators, interface }.module(group));
            let note = count(group.kernels.len(), "kernel");
            outputs.push(output(format!("{}.rs", group.name), text, &marker, note)?);
        }
        Ok(outputs)
    }
}

fn root(interface: &Interface) -> TokenStream {
    let modules: Vec<Ident> = interface.kernels.iter().map(|group| names::snake(&group.name)).collect();
    quote! {
        //! The kernels that compute operators of the spec.
        #(mod #modules;)*

        use crate::error::Result;
        use crate::kernel::Registry;

        /// Registers the kernels of the running release.
        pub(crate) fn register(registry: Registry) -> Result<()> {
            #(#modules::register(registry)?;)*
            Ok(())
        }
    }
}

/// Lists of arguments are broken where their line would be longer.
const WIDTH: usize = 100;

#[derive(Clone, Copy)]
struct Context<'a> {
    operators: &'a Operators,
    interface: &'a Interface,
}

impl Context<'_> {
    fn module(self, group: &KernelGroup) -> TokenStream {
        let kernels = group.kernels.iter().map(|kernel| self.kernel(group, kernel));
        let registrations = group.kernels.iter().map(|kernel| self.registration(group, kernel));
        let doc = format!(" {}", sentence(&group.summary));
        let attributes = || group.kernels.iter().flat_map(|kernel| &kernel.attributes);
        let scalar =
            attributes().any(|attribute| attribute.ty == KernelType::Scalar).then(|| quote!(Scalar,));
        let data_type = attributes().any(|attribute| attribute.ty == KernelType::DataType);
        let data_type = data_type.then(|| {
            quote!(
                use tenon::device::DataType;
            )
        });
        let has = |ty| {
            group.kernels.iter().any(|kernel| self.operators.operator(kernel.operator).types.contains(&ty))
        };
        let types = [
            (ElementType::Float, quote!(FLOATS,)),
            (ElementType::Integer, quote!(INTEGERS,)),
            (ElementType::Bool, quote!(BOOL,)),
        ];
        let types = types.into_iter().filter(|(ty, _)| has(*ty)).map(|(_, name)| name);
        let release = group.kernels.iter().any(|kernel| kernel.available != Availability::default());
        let release = release.then(|| {
            quote!(
                use tenon::device::Release;
            )
        });
        quote! {
            #![doc = #doc]
            #data_type
            #release
            use tenon_kernels::formulas;

            use crate::error::Result;
            use crate::kernel::elementwise;
            use crate::kernel::{#(#types)* kernel};
            use crate::kernel::{Any, Call, Output, Registry, Run, #scalar Tensor};

            /// Registers the kernels of this group.
            pub(super) fn register(registry: Registry) -> Result<()> {
                #(#registrations)*
                Ok(())
            }

            #(#kernels)*
        }
    }

    /// The name of the struct: where a kernel has several forms, those before the newest one have their last release in it.
    fn struct_name(self, group: &KernelGroup, kernel: &Kernel) -> Ident {
        let name = names::pascal(&kernel.name.value);
        let forms = group.kernels.iter().filter(|other| other.name.value == kernel.name.value).count();
        match kernel.available.until {
            Some(until) if forms > 1 => {
                let release = names::release_variant(&self.interface.releases[until.0].name.value);
                format_ident!("{name}Until{release}")
            }
            _ => name,
        }
    }

    fn registration(self, group: &KernelGroup, kernel: &Kernel) -> TokenStream {
        let name = self.struct_name(group, kernel);
        let is_gradient = |output: &KernelOutput| *output != KernelOutput::Result;
        let types = match kernel.outputs.iter().any(is_gradient) {
            true => &[ElementType::Float][..],
            false => &self.operators.operator(kernel.operator).types,
        };
        let types = types.iter().map(|ty| match ty {
            ElementType::Float => quote!(FLOATS),
            ElementType::Integer => quote!(INTEGERS),
            ElementType::Bool => quote!(BOOL),
        });
        let add = quote!(registry.add_any::<#name<'static>>(&[#(#types),*])?;);
        let release = |id: crate::model::ReleaseId| {
            let variant = names::release_variant(&self.interface.releases[id.0].name.value);
            quote!(Release::#variant)
        };
        match (kernel.available.since.map(release), kernel.available.until.map(release)) {
            (None, None) => add,
            (Some(since), None) => quote!(if registry.release() >= #since { #add }),
            (None, Some(until)) => quote!(if registry.release() <= #until { #add }),
            (Some(since), Some(until)) => quote!(if (#since..=#until).contains(&registry.release()) { #add }),
        }
    }

    fn kernel(self, group: &KernelGroup, kernel: &Kernel) -> TokenStream {
        let operator = self.operators.operator(kernel.operator);
        let name = self.struct_name(group, kernel);
        let inputs = kernel.inputs.iter().map(|variable| (operator.variable_name(*variable), "Tensor<'c>"));
        let attributes =
            kernel.attributes.iter().map(|attribute| (attribute.name.clone(), kernel_type(attribute.ty)));
        let outputs = kernel.outputs.iter().map(|output| match output {
            KernelOutput::Result => (out_name(operator, *output).to_string(), "Output<'c>"),
            KernelOutput::Gradient(_) => (out_name(operator, *output).to_string(), "Option<Output<'c>>"),
        });
        let summary = match kernel.outputs.contains(&KernelOutput::Result) {
            true => sentence(&operator.summary),
            false => format!("Gradient of `{}`.", operator.name.value),
        };
        let declaration = format!(
            "kernel! {{\n    /// {summary}\n    struct {name}<'c> = c\"{}\" {{\n{}{}{}    }}\n}}",
            kernel.name.value,
            section("inputs", inputs),
            section("attributes", attributes),
            section("outputs", outputs),
        );
        let body = body(kernel, operator, &self.operators.groups[kernel.operator.group].name);
        quote! {
            __verbatim!(#declaration);

            impl Run<Any> for #name<'_> {
                fn run(self, call: &Call) -> Result<()> {
                    #body
                }
            }
        }
    }
}

/// The line of a declaration that lists arguments of one kind; one line for each where they are many.
fn section<'a>(kind: &str, arguments: impl Iterator<Item = (String, &'a str)>) -> String {
    let arguments: Vec<String> =
        arguments.map(|(name, ty)| format!("{}: {ty}", names::snake(&name))).collect();
    let line = match arguments.is_empty() {
        true => format!("        {kind}: {{}},\n"),
        false => format!("        {kind}: {{ {} }},\n", arguments.join(", ")),
    };
    match line.len() > WIDTH {
        false => line,
        true => {
            format!("        {kind}: {{\n            {},\n        }},\n", arguments.join(",\n            "))
        }
    }
}

fn out_name(operator: &Operator, output: KernelOutput) -> Ident {
    match output {
        KernelOutput::Result => names::snake(&operator.output.name),
        KernelOutput::Gradient(index) => {
            names::snake(&gradient_name(&operator.inputs[operator.gradients[index].input].name))
        }
    }
}

fn formula_of(operator: &Operator, output: KernelOutput) -> &Formula {
    match output {
        KernelOutput::Result => &operator.formula,
        KernelOutput::Gradient(index) => &operator.gradients[index].formula,
    }
}

/// The statements of a kernel: views of the tensors, then each output.
fn body(kernel: &Kernel, operator: &Operator, group: &str) -> TokenStream {
    let is_tensor = |variable: &Variable| !matches!(variable, Variable::Attribute(_) | Variable::Part(_));
    let used: Vec<Variable> = kernel
        .outputs
        .iter()
        .flat_map(|output| operator.uses(formula_of(operator, *output)))
        .filter(is_tensor)
        .collect();
    // Hosts may have released what a gradient does not use. Its shape is that of the output's gradient.
    let needed = |variable: &&Variable| used.contains(variable) || **variable == Variable::OutputGradient;
    let views: Vec<Ident> = kernel
        .inputs
        .iter()
        .filter(needed)
        .map(|variable| names::snake(&operator.variable_name(*variable)))
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
    let computed = |output: &KernelOutput, is_last: bool| {
        let formula = formula_of(operator, *output);
        let out = out_name(operator, *output);
        let (group, arguments) = (names::snake(group), arguments(kernel, operator, formula));
        match output {
            KernelOutput::Result => {
                let function = names::snake(&operator.name.value);
                let compute = quote!(|#out| formulas::#group::#function(#out, #(#arguments),*));
                match operator.result {
                    Ty::Number => quote!(elementwise::result(call, self.#out, &[#(&#views),*], #compute)),
                    Ty::Truth => quote!(elementwise::test(call, self.#out, #compute)),
                }
            }
            KernelOutput::Gradient(_) => {
                let function = names::snake(&format!("{}_{out}", operator.name.value));
                let compute = quote!(|#out| formulas::#group::#function(#out, #(#arguments),*));
                let arguments = quote!(call, self.#out, #axis, &[#(&#views),*], #compute);
                match is_last {
                    true => quote!(elementwise::gradient(#arguments)),
                    false => quote!(let #out = elementwise::early_gradient(#arguments)),
                }
            }
        }
    };
    let (last, before) = match kernel.outputs.split_last() {
        Some((last, before)) => {
            let last = computed(last, true);
            (last, before.iter().map(|output| computed(output, false)).collect())
        }
        None => (quote!(Ok(())), Vec::new()),
    };
    // Reading one may fail, which the arithmetic cannot report.
    let scalars = kernel.attributes.iter().filter(|attribute| attribute.ty == KernelType::Scalar);
    let scalars: Vec<Ident> = scalars.map(|attribute| names::snake(&attribute.name)).collect();
    let staged = kernel.outputs.split_last().map_or(&[][..], |(_, before)| before);
    let staged: Vec<Ident> = staged.iter().map(|output| out_name(operator, *output)).collect();
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
fn arguments(kernel: &Kernel, operator: &Operator, formula: &Formula) -> Vec<TokenStream> {
    let uses = operator.uses(formula).into_iter();
    uses.filter_map(|variable| match variable {
        Variable::Part(_) => None,
        Variable::Attribute(index) => {
            let given = kernel.attributes.iter().find(|given| given.role == KernelRole::Attribute(index));
            Some(given.map_or_else(|| default(operator, index), value))
        }
        tensor => {
            let name = names::snake(&operator.variable_name(tensor));
            Some(quote!(&#name))
        }
    })
    .collect()
}

/// The default of an attribute that a kernel does not get.
fn default(operator: &Operator, index: usize) -> TokenStream {
    match operator.attributes[index].default {
        Some(AttributeValue::Truth(value)) => quote!(#value),
        Some(AttributeValue::Number(value)) => {
            let value = Literal::f64_unsuffixed(value);
            quote!(#value)
        }
        // Reported when the kernel was read.
        None => quote!(f64::NAN),
    }
}

/// An attribute of a kernel as the formula takes it.
fn value(attribute: &KernelAttribute) -> TokenStream {
    let name = names::snake(&attribute.name);
    match attribute.ty {
        KernelType::F32 | KernelType::I32 => quote!(f64::from(self.#name)),
        KernelType::I64 => quote!(self.#name as f64),
        KernelType::Scalar => quote!(#name),
        KernelType::Bool | KernelType::F64 | KernelType::String | KernelType::DataType => quote!(self.#name),
    }
}

fn kernel_type(ty: KernelType) -> &'static str {
    match ty {
        KernelType::Bool => "bool",
        KernelType::I32 => "i32",
        KernelType::I64 => "i64",
        KernelType::F32 => "f32",
        KernelType::F64 => "f64",
        KernelType::Scalar => "Scalar<'c>",
        KernelType::String => "&'c str",
        KernelType::DataType => "DataType",
    }
}
