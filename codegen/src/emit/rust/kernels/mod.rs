//! Kernels of a host: their arguments, how they compute an operator, and their registration.

mod formula;
mod function;

use crate::emit::rust::doc::of_file;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use crate::emit::emitter::{EmitError, Emitter, Job};
use crate::emit::rust::files::group_files;
use crate::emit::rust::names;
use crate::emit::rust::operators::StructNames;
use crate::emit::rust::text::imports::Used;
use crate::formula::Variable;
use crate::grammar::outputs::{self, OutputKind};
use crate::model::{
    Arity, Body, ElementType, Interface, Kernel, KernelGroup, KernelInput, KernelOutput, KernelType,
    Operator, Operators, OutputPlace,
};
use crate::out::Output;
use crate::text::{count, sentence};

/// The kernels of each interface that has some.
pub struct Kernels;

impl Emitter for Kernels {
    const KIND: &'static OutputKind = &outputs::RUST_KERNELS;

    fn emit(job: &Job, place: &OutputPlace) -> Result<Vec<Output>, EmitError> {
        let (Some(id), Some(operators)) = (&place.interface, &job.spec.operators) else {
            return Ok(Vec::new());
        };
        let interface = &job.spec.interfaces[id.value.0];
        let context = Context { operators, interface };
        let structs = StructNames::of(operators);
        let groups = interface.kernels.iter();
        let modules =
            groups.map(|it| (&*it.name, count(it.kernels.len(), "kernel"), context.module(&structs, it)));
        let note = count(interface.kernels.len(), "group");
        Ok(group_files(&job.stamp.operators(operators), note, root(interface), modules))
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
    fn module(self, structs: &StructNames, group: &KernelGroup) -> TokenStream {
        let kernels = group.kernels.iter().map(|kernel| self.kernel(group, kernel));
        let registrations = group.kernels.iter().map(|kernel| self.registration(group, kernel));
        let doc = of_file(&group.summary);
        let code = quote! {
            /// Registers the kernels of this group.
            pub(super) fn register(registry: Registry) -> Result<()> {
                #(#registrations)*
                Ok(())
            }

            #(#kernels)*
        };
        let used = Used::by(&code);
        let device = ["DataType", "Release"].map(|name| used.import(quote!(tenon::device), &[name]));
        let modules =
            ["elementwise", "outputs", "shapes"].map(|name| used.import(quote!(crate::kernel), &[name]));
        let lists = used.import(quote!(crate::kernel), &["FLOATS", "INTEGERS", "BOOL", "COMPLEX", "kernel"]);
        let names = ["Any", "Call", "IntArray", "Output", "Plain", "Registry", "Run", "Scalar", "Tensor"];
        let names = used.import(quote!(crate::kernel), &names);
        let attributes = structs.import(quote!(tenon_operators::attributes), &used);
        quote! {
            #doc
            #(#device)*
            use crate::error::Result;
            #(#modules)*
            #lists
            #names
            #attributes

            #code
        }
    }

    /// Returns the name of a kernel's struct. If a kernel has several forms, the names of those before the newest one
    /// end with their last release, and forms of the same release have a number.
    fn struct_name(self, group: &KernelGroup, kernel: &Kernel) -> Ident {
        let name = self.form_name(group, kernel);
        let before = group.kernels.iter().take_while(|other| !std::ptr::eq(*other, kernel));
        match before.filter(|other| self.form_name(group, other) == name).count() {
            0 => name,
            number => format_ident!("{name}Form{}", number + 1),
        }
    }

    fn form_name(self, group: &KernelGroup, kernel: &Kernel) -> Ident {
        let name = match names::pascal(&kernel.name.value) {
            name if IMPORTED.iter().any(|imported| name == imported) => format_ident!("{name}Kernel"),
            name => name,
        };
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
        let types = kernel.element_types(self.operators).iter().copied().map(type_list);
        let operator = self.operators.operator(kernel.operator);
        let mut methods = operator.methods_of(kernel);
        // Gradients that share memory with operands are moved at the end.
        if kernel.outputs.iter().filter(|output| matches!(output, KernelOutput::Gradient(_))).count() > 1 {
            methods.push("expand".to_owned());
        }
        let is_real = |input: &KernelInput| match input {
            KernelInput::Variable(Variable::Input(index)) => operator.inputs[*index].is_real,
            KernelInput::Variable(_) | KernelInput::Ignored(_) => false,
        };
        let add_any = if kernel.inputs.iter().any(is_real) { quote!(add_mixed) } else { quote!(add_any) };
        let add = quote!(registry.#add_any::<#name<'static>>(&[#(#methods),*], &[#(#types),*])?;);
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
        let inputs = kernel.inputs.iter().map(|input| input_field(kernel, operator, input));
        let attributes =
            kernel.attributes.iter().map(|attribute| (attribute.name.clone(), kernel_type(attribute.ty)));
        let outputs = kernel.outputs.iter().map(|output| output_field(operator, output));
        let summary = if !kernel.is_gradient() {
            sentence(&operator.summary)
        } else {
            format!("Gradient of `{}`.", operator.name.value)
        };
        let declaration = format!(
            "kernel! {{\n    /// {summary}\n    struct {name}<'c> = c\"{}\" {{\n{}{}{}    }}\n}}",
            kernel.name.value,
            section("inputs", inputs),
            section("attributes", attributes),
            section("outputs", outputs),
        );
        let body = match &operator.body {
            Body::Formula(formulas) => formula::body(kernel, operator, formulas),
            Body::Kernel(_) | Body::Reduction(_) => function::body(kernel, operator),
        };
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

/// Formats the arguments of one kind in a declaration: on one line if they fit, otherwise on one line for each.
fn section<'a>(kind: &str, arguments: impl Iterator<Item = (String, &'a str)>) -> String {
    let arguments: Vec<String> =
        arguments.map(|(name, ty)| format!("{}: {ty}", names::snake(&name))).collect();
    let line = if arguments.is_empty() {
        format!("        {kind}: {{}},\n")
    } else {
        format!("        {kind}: {{ {} }},\n", arguments.join(", "))
    };
    if line.len() <= WIDTH {
        line
    } else {
        format!("        {kind}: {{\n            {},\n        }},\n", arguments.join(",\n            "))
    }
}

/// Emits the name of the plugin's list of element types for a kind: `FLOATS`.
fn type_list(ty: ElementType) -> TokenStream {
    match ty {
        ElementType::Float => quote!(FLOATS),
        ElementType::Integer => quote!(INTEGERS),
        ElementType::Bool => quote!(BOOL),
        ElementType::Complex => quote!(COMPLEX),
    }
}

/// Returns the name and the type of a tensor in the declaration of a kernel.
fn input_field(kernel: &Kernel, operator: &Operator, input: &KernelInput) -> (String, &'static str) {
    let (name, arity) = match input {
        KernelInput::Ignored(ignored) => (ignored.name.clone(), ignored.arity),
        KernelInput::Variable(variable) => {
            let arity = match variable {
                Variable::Input(index) => operator.inputs[*index].arity,
                _ => Arity::One,
            };
            (operator.variable_name(*variable), arity)
        }
    };
    let ty = match arity {
        Arity::One => "Tensor<'c>",
        Arity::Optional if kernel.plain.contains(&name) => "Plain<'c>",
        Arity::Optional => "Option<Tensor<'c>>",
        Arity::List => "Vec<Tensor<'c>>",
        Arity::OptionalList => "Option<Vec<Tensor<'c>>>",
    };
    (name, ty)
}

/// Returns the name and the type of an output in the declaration of a kernel.
fn output_field(operator: &Operator, output: &KernelOutput) -> (String, &'static str) {
    let arity = match output {
        KernelOutput::Output(index) => operator.outputs[*index].arity,
        KernelOutput::Gradient(_) => Arity::Optional,
        KernelOutput::Ignored(ignored) => ignored.arity,
    };
    let ty = match arity {
        Arity::One => "Output<'c>",
        Arity::Optional => "Option<Output<'c>>",
        Arity::List | Arity::OptionalList => "Vec<Option<Output<'c>>>",
    };
    (operator.output_name(output), ty)
}

/// Types that the generated files import, whose names no struct may have.
const IMPORTED: &[&str] = &[
    "Any", "Call", "DataType", "IntArray", "Output", "Plain", "Registry", "Release", "Result", "Run",
    "Scalar", "Tensor",
];

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
        KernelType::IntArray => "IntArray<'c>",
        KernelType::ListI32 => "&'c [i32]",
        KernelType::ListI64 => "&'c [i64]",
        KernelType::ListF32 => "&'c [f32]",
        KernelType::ListF64 => "&'c [f64]",
        KernelType::ListString => "Vec<&'c str>",
    }
}
