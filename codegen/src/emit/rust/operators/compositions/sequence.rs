//! Sequences as calls of methods.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};

use super::{names, result_type};
use crate::emit::rust::attribute::{data_type, number};
use crate::emit::rust::method::values::Values;
use crate::formula::Ty;
use crate::model::{
    Arity, AttributeType, ComputeValue, Method, OperatorCall, Operators, OutputType, ParamId, Parameter,
    ParameterKind, Step, Target, TensorName, Work,
};

/// Emits the body of a method from its steps.
pub(super) fn body(operators: &Operators, method: &Method, steps: &[Step]) -> TokenStream {
    let params = method.parameters();
    let refused = unused(&params, steps).map(|name| {
        let message = format!("`{}` with `{name}`, which its sequence does not use", method.name);
        let name = names::snake(name);
        quote! {
            if #name.is_some() {
                return Err(Error::unsupported(#message));
            }
        }
    });
    let refused: TokenStream = refused.collect();
    let mut writer = Writer { operators, params: &params, count: 0, statements: refused };
    for step in steps {
        let text = step.text.split_whitespace().collect::<Vec<_>>().join(" ");
        writer.statements.extend(quote!(__comment!(#text);));
        writer.step(step);
    }
    let statements = writer.statements;
    quote!(#statements Ok(()))
}

/// Returns the names of the optional tensors that no step uses.
fn unused<'a>(params: &'a [Parameter], steps: &'a [Step]) -> impl Iterator<Item = &'a str> {
    let is_optional =
        |kind| matches!(kind, ParameterKind::Output(Arity::Optional) | ParameterKind::Input(Arity::Optional));
    let optional = params.iter().enumerate().filter(move |(_, parameter)| is_optional(parameter.kind));
    let unused = optional.filter(|(index, _)| !steps.iter().any(|step| step.uses(ParamId(*index))));
    unused.map(|(_, parameter)| parameter.name.as_str())
}

struct Writer<'a> {
    operators: &'a Operators,
    params: &'a [Parameter],
    /// The number of intermediate results without a name so far.
    count: usize,
    statements: TokenStream,
}

impl<'a> Writer<'a> {
    fn step(&mut self, step: &Step) {
        let optional = step.targets.iter().find_map(|target| match target {
            Target::Param(id) if self.params[id.0].kind == ParameterKind::Output(Arity::Optional) => {
                Some(names::snake(&self.params[id.0].name))
            }
            _ => None,
        });
        let Some(output) = optional else { return self.required_step(step) };
        let before = std::mem::take(&mut self.statements);
        self.required_step(step);
        let statements = std::mem::replace(&mut self.statements, before);
        self.statements.extend(quote!(if let Some(#output) = #output { #statements }));
    }

    fn required_step(&mut self, step: &Step) {
        let Some(target) = step.targets.first() else { return };
        let Some(method) = self.operators.method(&step.call.callee) else {
            let value = self.rule(&step.call, &[quote!(self)]);
            if let Target::Local { name, .. } = target {
                let name = names::snake(name);
                self.statements.extend(quote!(let #name = #value;));
            }
            return;
        };
        let statement = match (&method.work, target) {
            (Work::Formula(_), Target::Local { name, like: None }) => {
                let value = self.formula(&step.call, &method);
                let name = names::snake(name);
                quote!(let #name = #value;)
            }
            (Work::Formula(_), Target::Param(id)) => {
                let out = names::snake(&self.params[id.0].name);
                let operands = self.operands(&step.call);
                let call = self.call(&step.call, &method, &[quote!(result)], &operands);
                quote!(self.write(launch, #out, &[#(#operands),*], |result| #call)?;)
            }
            _ => return self.kernel_step(step, &method),
        };
        self.statements.extend(statement);
    }

    /// Emits a call whose targets have their shapes.
    fn kernel_step(&mut self, step: &Step, method: &Method) {
        let mut makes = TokenStream::new();
        let mut ends = TokenStream::new();
        let outputs = method.outputs();
        let results: Vec<TokenStream> = outputs
            .iter()
            .enumerate()
            .map(|(index, (_, output))| {
                let arity = output.map_or(Arity::One, |output| output.arity);
                let result = match step.targets.get(index) {
                    None => return quote!(None),
                    Some(Target::Param(id)) => names::snake(&self.params[id.0].name).into_token_stream(),
                    Some(Target::Local { name, like }) => {
                        let (name, ty) = (names::snake(name), output_type(output.map(|output| output.ty)));
                        let like = like.as_ref().map(|like| self.passed(like));
                        makes.extend(quote!(let mut #name = self.temporary(#ty, #like)?;));
                        ends.extend(quote!(let #name = #name.into_input();));
                        quote!(&mut #name)
                    }
                };
                if arity == Arity::Optional { quote!(Some(#result)) } else { result }
            })
            .collect();
        let operands = self.operands(&step.call);
        let call = self.call(&step.call, method, &results, &operands);
        self.statements.extend(quote!(#makes #call?; #ends));
    }

    /// Emits the result of a formula in temporary memory.
    fn formula(&mut self, call: &OperatorCall, method: &Method) -> TokenStream {
        let operands = self.operands(call);
        let work = self.call(call, method, &[quote!(result)], &operands);
        let ty = method.formula().map_or(Ty::Number, |(formulas, _)| formulas.result);
        let ty = result_type(ty);
        quote!(self.result(#ty, &[#(#operands),*], |result| #work)?)
    }

    fn call(
        &mut self,
        call: &OperatorCall,
        method: &Method,
        results: &[TokenStream],
        operands: &[TokenStream],
    ) -> TokenStream {
        let inputs = method.inputs.iter().enumerate().map(|(index, input)| {
            match (method.operator.arity(*input), operands.get(index)) {
                (_, None) => quote!(None),
                (Arity::One, Some(operand)) => operand.clone(),
                (_, Some(operand)) => quote!(Some(#operand)),
            }
        });
        let inputs: Vec<TokenStream> = inputs.collect();
        let attributes = self.attributes(call, method);
        let name = names::snake(&method.name);
        quote!(self.#name(launch, #(#results,)* #(#inputs,)* #(#attributes),*))
    }

    fn operands(&mut self, call: &OperatorCall) -> Vec<TokenStream> {
        call.arguments.iter().map(|value| self.operand(value)).collect()
    }

    /// Emits a value as a reference to a tensor.
    fn operand(&mut self, value: &ComputeValue) -> TokenStream {
        let value = match value {
            ComputeValue::Name(name) => match self.kind(name) {
                Some(ParameterKind::Attribute(_)) => {
                    let name = self.passed(name);
                    quote!(self.constant(ty, #name)?)
                }
                _ => return self.passed(name),
            },
            ComputeValue::Integer(value) => {
                let value = number(*value as f64);
                quote!(self.constant(ty, #value)?)
            }
            ComputeValue::Number(value) => {
                let value = number(*value);
                quote!(self.constant(ty, #value)?)
            }
            ComputeValue::Call(call) => match self.operators.method(&call.callee) {
                Some(method) => self.formula(call, &method),
                None => {
                    let value = self.rule(call, &[quote!(self)]);
                    quote!(self.operand(ty, #value)?)
                }
            },
            other => return self.value(other),
        };
        let part = self.stored(&value);
        quote!(&#part)
    }

    fn stored(&mut self, value: &TokenStream) -> Ident {
        self.count += 1;
        let part = format_ident!("part_{}", self.count);
        self.statements.extend(quote!(let #part = #value;));
        part
    }

    fn kind(&self, name: &TensorName) -> Option<ParameterKind> {
        match name {
            TensorName::Param(id) => Some(self.params[id.0].kind),
            TensorName::Local(_) => None,
        }
    }
}

impl Values for Writer<'_> {
    fn param(&self, id: ParamId) -> TokenStream {
        let parameter = &self.params[id.0];
        let name = names::snake(&parameter.name);
        match parameter.kind {
            ParameterKind::Output(_) => quote!(&*#name),
            _ => name.into_token_stream(),
        }
    }

    fn part(&mut self, call: &OperatorCall) -> Ident {
        let value = match self.operators.method(&call.callee) {
            Some(method) => self.formula(call, &method),
            None => self.rule(call, &[quote!(self)]),
        };
        self.stored(&value)
    }

    fn attribute(&mut self, value: &ComputeValue, ty: AttributeType) -> TokenStream {
        match (value, ty) {
            (ComputeValue::Integer(value), AttributeType::F64) => number(*value as f64),
            (
                ComputeValue::Name(TensorName::Local(name)),
                AttributeType::Bool | AttributeType::I64 | AttributeType::F64,
            ) => names::snake(name).into_token_stream(),
            (ComputeValue::Call(call), AttributeType::Bool | AttributeType::I64 | AttributeType::F64) => {
                self.rule(call, &[quote!(self)])
            }
            (value, _) => self.value(value),
        }
    }
}

/// Emits the type of elements of a kernel's output.
fn output_type(ty: Option<OutputType>) -> TokenStream {
    match ty {
        None => quote!(ty),
        Some(ty) if data_type(ty).is_empty() => quote!(ty),
        Some(fixed) => data_type(fixed),
    }
}
