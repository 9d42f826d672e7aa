//! The steps of a function as statements.

use crate::emit::rust::attribute::data_type;
use crate::emit::rust::operators::arguments;
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{ToTokens, format_ident, quote};

use super::argument::{Argument, argument, attribute};
use crate::emit::rust::attribute::number;
use crate::emit::rust::context::Context;
use crate::emit::rust::method::values::Values;
use crate::emit::rust::names;
use crate::formula::Ty as FormulaTy;
use crate::model::{
    Arity, AttributeType, ComputeValue, ElementType, Function, Method, OperatorCall, OutputType, ParamId,
    Step, Target, TensorName, Work,
};

/// Emits the statements of all steps.
pub(super) fn steps(context: Context, function: &Function) -> Vec<TokenStream> {
    let mut writer = Writer { context, function, statements: Vec::new(), parts: 0 };
    for step in &function.compute {
        writer.step(step);
    }
    writer.statements
}

struct Writer<'a> {
    context: Context<'a>,
    function: &'a Function,
    statements: Vec<TokenStream>,
    /// The number of results of calls inside of other calls.
    parts: usize,
}

impl<'a> Writer<'a> {
    fn step(&mut self, step: &Step) {
        match self.method(&step.call) {
            None => self.rule_step(step),
            Some(method) if matches!(method.work, Work::Formula(_)) => self.formula_step(step, &method),
            Some(method) => self.kernel_step(step, &method),
        }
    }

    /// Returns the method that a call names; `None` for a function that is written by hand.
    fn method(&self, call: &OperatorCall) -> Option<Method<'a>> {
        self.context.spec.operators.as_ref()?.method(&call.callee)
    }

    fn rule_step(&mut self, step: &Step) {
        let (mut first, mut locals) = (vec![quote!(call)], Vec::new());
        for target in &step.targets {
            match target {
                Target::Param(id) => first.push(self.passed(&TensorName::Param(*id))),
                Target::Local { name, .. } => locals.push(names::snake(name)),
            }
        }
        let call = self.rule(&step.call, &first);
        self.statements.push(match locals.as_slice() {
            [] => quote!(#call;),
            [local] => quote!(let #local = #call;),
            _ => quote!(let (#(#locals),*) = #call;),
        });
    }

    fn formula_step(&mut self, step: &Step, method: &Method) {
        let Some(target) = step.targets.first() else { return };
        let statement = match target {
            Target::Param(id) => {
                let target = self.passed(&TensorName::Param(*id));
                let call = self.formula(&step.call, method, Some(target));
                quote!(#call?;)
            }
            Target::Local { name, like: None } => {
                let call = self.formula(&step.call, method, None);
                let name = names::snake(name);
                quote!(let #name = #call?;)
            }
            Target::Local { name, like: Some(like) } => {
                let like = self.passed(like);
                let name = names::snake(name);
                self.statements.push(quote!(let #name = call.tensor_like(#like)?;));
                let call = self.formula(&step.call, method, Some(quote!(&#name)));
                quote!(#call?;)
            }
        };
        self.statements.push(statement);
    }

    /// Emits the call of a formula, which writes `target` if there is one, and otherwise yields a tensor.
    fn formula(&mut self, call: &OperatorCall, method: &Method, target: Option<TokenStream>) -> TokenStream {
        let operands: Vec<TokenStream> = call.arguments.iter().map(|value| self.operand(value)).collect();
        let names: Vec<Ident> =
            method.inputs.iter().map(|input| names::snake(&method.operator.variable_name(*input))).collect();
        let attributes = arguments(method, &self.attributes(call, method));
        let (described, name) = (describe(method), names::snake(&method.name));
        let work = quote!(&mut |device, launch, out, [#(#names),*]| device.#name(launch, out, #(#names,)* #attributes));
        match target {
            Some(target) => quote!(call.write(&#described, #target, [#(#operands),*], #work)),
            None => quote!(call.formula(&#described, [#(#operands),*], #work)),
        }
    }

    fn operand(&mut self, value: &ComputeValue) -> TokenStream {
        match value {
            ComputeValue::Call(call) => {
                let part = self.part(call);
                quote!((&#part).into())
            }
            ComputeValue::Name(TensorName::Param(id))
                if argument(self.context, self.function.param(*id)) == Argument::Value =>
            {
                let name = self.function.param(*id).ident();
                quote!(#name.into())
            }
            ComputeValue::Name(name) => {
                let name = self.passed(name);
                if name.to_string().starts_with('&') { quote!((#name).into()) } else { quote!(#name.into()) }
            }
            ComputeValue::Integer(value) => {
                let value = Literal::i64_suffixed(*value);
                quote!(#value.into())
            }
            ComputeValue::Number(value) => {
                let value = number(*value);
                quote!(f64::into(#value))
            }
            other => self.value(other),
        }
    }

    fn kernel_step(&mut self, step: &Step, method: &Method) {
        let operator = method.operator;
        let tensors: Vec<TokenStream> = step.call.arguments.iter().map(|value| self.tensor(value)).collect();
        let plain: Vec<&TokenStream> = tensors
            .iter()
            .zip(&method.inputs)
            .filter(|(_, input)| operator.arity(**input) == Arity::One)
            .map(|(tensor, _)| tensor)
            .collect();
        let outputs: Vec<(String, Option<&crate::model::Operand>)> = method.outputs();
        let mut results = Vec::new();
        let mut finish = Vec::new();
        for (index, (name, output)) in outputs.iter().enumerate() {
            let Some(target) = step.targets.get(index) else {
                results.push(quote!(None));
                continue;
            };
            let ty = output.map_or(OutputType::Like(0), |output| output.ty);
            let (target, is_optional) = self.kernel_target(target);
            let ty = match ty {
                OutputType::Like(index) | OutputType::Wide(index) if tensors.get(index).is_none() => {
                    quote!(#target.data_type())
                }
                OutputType::Like(index) => {
                    let input = &tensors[index];
                    quote!(#input.data_type())
                }
                OutputType::Wide(index) => {
                    let input = &tensors[index];
                    quote!(wide(#input.data_type()))
                }
                OutputType::Any | OutputType::ComplexOf(_) | OutputType::RealOf(_) => {
                    quote!(#target.data_type())
                }
                fixed => data_type(fixed),
            };
            let result = format_ident!("{name}_result");
            let arity = output.map_or(Arity::One, |output| output.arity);
            if is_optional {
                let made = quote!(call.output(target, #ty, &[#(&#plain),*]));
                self.statements
                    .push(quote!(let mut #result = #target.as_ref().map(|target| #made).transpose()?;));
                results.push(quote!(#result.as_mut().map(|out| out.elements())));
                finish.push(quote!(if let Some(result) = #result { result.finish()?; }));
                continue;
            }
            self.statements.push(quote!(let mut #result = call.output(&#target, #ty, &[#(&#plain),*])?;));
            // The checks refuse outputs in lists.
            results.push(match arity {
                Arity::Optional => quote!(Some(#result.elements())),
                Arity::One | Arity::List | Arity::OptionalList => quote!(#result.elements()),
            });
            finish.push(quote!(#result.finish()?;));
        }
        let inputs: Vec<TokenStream> = method
            .inputs
            .iter()
            .enumerate()
            .map(|(index, input)| {
                let value = step.call.arguments.get(index);
                self.kernel_input(operator.arity(*input), value, tensors.get(index))
            })
            .collect();
        let attributes = arguments(method, &self.attributes(&step.call, method));
        let (described, name) = (describe(method), names::snake(&method.name));
        let first = plain.first().map_or_else(
            || match step.targets.first() {
                Some(target) => {
                    let (target, _) = self.kernel_target(target);
                    quote!(#target.data_type())
                }
                None => quote!(DataType::FLOAT32),
            },
            |first| quote!(#first.data_type()),
        );
        let (drawn, random) = self.random(step, method);
        self.statements.push(quote! {
            #drawn
            call.run(&#described, #first, &mut |device, launch| {
                device.#name(launch, #(#results,)* #(#inputs,)* #attributes #random)
            })?;
            #(#finish)*
        });
    }

    /// Emits a target as an expression. Also returns true if it may be missing.
    fn kernel_target(&mut self, target: &Target) -> (TokenStream, bool) {
        match target {
            Target::Param(id) => {
                let param = self.function.param(*id);
                let name = param.ident();
                (quote!(#name), argument(self.context, param) == Argument::OptionalTensor)
            }
            Target::Local { name, like } => {
                let name = names::snake(name);
                if let Some(like) = like {
                    let like = self.passed(like);
                    self.statements.push(quote!(let #name = call.tensor_like(#like)?;));
                }
                (quote!(#name), false)
            }
        }
    }

    /// Emits a tensor as an expression.
    fn tensor(&mut self, value: &ComputeValue) -> TokenStream {
        match value {
            ComputeValue::Name(TensorName::Local(name)) => names::snake(name).into_token_stream(),
            ComputeValue::Name(TensorName::Param(id)) => self.function.param(*id).ident().into_token_stream(),
            ComputeValue::Call(call) => self.part(call).into_token_stream(),
            other => self.value(other),
        }
    }

    fn kernel_input(
        &self,
        arity: Arity,
        value: Option<&ComputeValue>,
        tensor: Option<&TokenStream>,
    ) -> TokenStream {
        let is_optional = match value {
            Some(ComputeValue::Name(TensorName::Param(id))) => {
                argument(self.context, self.function.param(*id)) == Argument::OptionalTensor
            }
            _ => false,
        };
        match (arity, tensor) {
            (_, None) => quote!(None),
            (Arity::One, Some(tensor)) => quote!(#tensor.elements()),
            (Arity::Optional, Some(tensor)) if is_optional => {
                quote!(#tensor.as_ref().map(|tensor| tensor.elements()))
            }
            (Arity::Optional, Some(tensor)) if matches!(value, Some(ComputeValue::Absent)) => tensor.clone(),
            (Arity::Optional, Some(tensor)) => quote!(Some(#tensor.elements())),
            (Arity::List, Some(tensor)) => quote!(&call.all_elements(&#tensor)),
            (Arity::OptionalList, Some(tensor)) => quote!(Some(&call.all_elements(&#tensor))),
        }
    }

    /// Emits the statement that draws a seed and an offset, and the two as arguments.
    fn random(&mut self, step: &Step, method: &Method) -> (Option<TokenStream>, Option<TokenStream>) {
        let given = step.call.attribute("generator");
        let (true, Some(value), Some(target)) = (method.operator.random, given, step.targets.first()) else {
            return (None, None);
        };
        let generator = self.value(value);
        let (target, _) = self.kernel_target(target);
        (
            Some(quote!(let (seed, offset) = call.draw(#generator, #target.len())?;)),
            Some(quote!(seed, offset)),
        )
    }
}

impl Values for Writer<'_> {
    fn param(&self, id: ParamId) -> TokenStream {
        let param = self.function.param(id);
        let name = param.ident();
        match argument(self.context, param) {
            Argument::Tensor | Argument::Tensors => quote!(&#name),
            Argument::OptionalTensor => quote!(#name.as_ref()),
            Argument::Number | Argument::Value => quote!(#name),
        }
    }

    fn part(&mut self, call: &OperatorCall) -> Ident {
        let value = match self.method(call) {
            None => self.rule(call, &[quote!(call)]),
            Some(method) => {
                let call = self.formula(call, &method, None);
                quote!(#call?)
            }
        };
        self.parts += 1;
        let part = format_ident!("part_{}", self.parts);
        self.statements.push(quote!(let #part = #value;));
        part
    }

    fn attribute(&mut self, value: &ComputeValue, ty: AttributeType) -> TokenStream {
        match (value, ty) {
            (ComputeValue::Name(TensorName::Param(id)), _) => {
                attribute(self.context, self.function.param(*id), ty)
            }
            (ComputeValue::Integer(value), AttributeType::F64) => number(*value as f64),
            (ComputeValue::List(values), AttributeType::Integers) => {
                let values: Vec<TokenStream> =
                    values.iter().map(|value| self.attribute(value, AttributeType::I64)).collect();
                quote!(&[#(#values),*])
            }
            (ComputeValue::Call(call), AttributeType::Integers | AttributeType::Numbers) => {
                let part = self.part(call);
                quote!(&#part)
            }
            (ComputeValue::Call(call), _) => self.part(call).into_token_stream(),
            (value, _) => self.value(value),
        }
    }
}

/// Emits the description of a method: its name and its element types.
fn describe(method: &Method) -> TokenStream {
    let name = &method.name;
    let types = method.operator.types.iter().map(|ty| match ty {
        ElementType::Float => quote!(FLOAT),
        ElementType::Integer => quote!(INTEGER),
        ElementType::Bool => quote!(BOOL),
        ElementType::Complex => quote!(COMPLEX),
    });
    let is_truth = matches!(method.work, Work::Formula(formulas) if formulas.result == FormulaTy::Truth);
    let truth = is_truth.then(|| quote!(.yields_bool()));
    quote!(Method::new(#name, #(#types)|*)#truth)
}
