//! Runs plans.

use super::live::{Enter, Leave, Live, list, wrong};
use super::plan::{Plan, Step, Target, Type, Value};
use super::{Composed, Temporaries, rules};
use crate::by_name::{Packed, call_method};
use crate::{Launch, TensorMut, TensorRef, broadcast};
use tenon::device::{DataType, Error, Result};

/// A plan that runs.
pub(super) struct Running<'r> {
    device: &'r Composed<'r>,
    memory: &'r dyn Temporaries,
    launch: Launch,
    plan: &'static Plan,
    /// The type of the elements for which the plan runs.
    ty: DataType,
    /// The inputs and attributes of the method, and the results of earlier steps.
    values: Vec<(&'static str, Live<'r>)>,
    outputs: Vec<(&'static str, Option<TensorMut<'r>>)>,
    /// The shapes of the outputs that are there.
    shapes: Vec<(&'static str, Vec<usize>)>,
}

impl<'r> Running<'r> {
    pub(super) fn new(
        device: &'r Composed<'_>,
        launch: Launch,
        plan: &'static Plan,
        ty: DataType,
    ) -> Result<Self> {
        let memory = device.memory.get()?;
        Ok(Self {
            device,
            memory,
            launch,
            plan,
            ty,
            values: Vec::new(),
            outputs: Vec::new(),
            shapes: Vec::new(),
        })
    }

    /// Adds an output of the method.
    pub(super) fn output(&mut self, name: &'static str, output: impl Leave<'r>) {
        let output = output.leave();
        self.shapes.extend(output.as_ref().map(|output| (name, output.dims().to_vec())));
        self.outputs.push((name, output));
    }

    /// Adds an input or an attribute of the method.
    pub(super) fn value(&mut self, name: &'static str, value: impl Enter<'r>) {
        self.values.push((name, value.enter()));
    }

    /// Runs the steps.
    pub(super) fn run(mut self) -> Result<()> {
        for name in self.plan.refuses {
            let is_input =
                self.values.iter().any(|(own, value)| own == name && matches!(value, Live::Tensor(_)));
            if is_input || self.outputs.iter().any(|(own, output)| own == name && output.is_some()) {
                let method = self.plan.method;
                return Err(Error::unsupported(&format!(
                    "`{method}` with `{name}`, which its sequence does not use"
                )));
            }
        }
        if self.plan.is_gradient { self.gradient() } else { self.steps() }
    }

    fn steps(&mut self) -> Result<()> {
        self.plan.steps.iter().try_for_each(|step| self.step(step))
    }

    /// Computes a gradient, which is summed over the dimensions along which its operand was repeated.
    fn gradient(mut self) -> Result<()> {
        let inputs = self.values.iter().filter_map(|(_, value)| value.tensor().ok());
        let dims = common_shape(inputs)?;
        let Some((_, Some(out))) = self.outputs.first_mut() else { return Err(wrong("it has no output")) };
        if dims == out.dims() {
            return self.steps();
        }
        let whole = self.memory.temporary(out.data_type(), &dims)?;
        let mut out = std::mem::replace(out, whole);
        self.steps()?;
        let whole = self.outputs.first_mut().and_then(|(_, whole)| whole.take());
        let whole = whole.ok_or_else(|| wrong("it has no output"))?.into_input();
        self.call("reduce_as", [Some(&mut out)].into_iter(), &[Live::Tensor(whole)], &[])
    }

    fn step(&mut self, step: &'static Step) -> Result<()> {
        match step {
            Step::Let(name, value) => {
                let value = self.evaluate(value)?;
                self.values.push((name, value));
                Ok(())
            }
            Step::Write(name, value) => {
                let Some(mut out) = self.take(name)? else { return Ok(()) };
                let written = self.write(&mut out, value);
                self.put(name, out);
                written
            }
            Step::Run(targets, method, operands, attributes) => {
                self.run_method(targets, method, operands, attributes)
            }
        }
    }

    /// Calls a method whose outputs have their shapes.
    fn run_method(
        &mut self,
        targets: &'static [Target],
        method: &str,
        operands: &'static [Value],
        attributes: &'static [Value],
    ) -> Result<()> {
        for target in targets {
            if let Target::Output(name) = target
                && self.output_of(name)?.is_none()
            {
                return Ok(());
            }
        }
        let operands = self.operands(operands)?;
        let attributes = self.evaluate_all(attributes)?;
        let mut outputs = Vec::with_capacity(targets.len());
        for target in targets {
            outputs.push(match target {
                Target::Unwanted => None,
                Target::Output(name) => self.take(name)?,
                Target::Like(_, like, ty) => {
                    let ty = match ty {
                        Type::Own => self.ty,
                        Type::Fixed(ty) => *ty,
                    };
                    let like = self.evaluate(like)?;
                    Some(self.memory.temporary(ty, like.shape()?)?)
                }
            });
        }
        let called = self.call(method, outputs.iter_mut().map(Option::as_mut), &operands, &attributes);
        for (target, output) in targets.iter().zip(outputs) {
            match (target, output) {
                (Target::Output(name), Some(output)) => self.put(name, output),
                (Target::Like(name, ..), Some(output)) => {
                    self.values.push((name, Live::Tensor(output.into_input())));
                }
                _ => {}
            }
        }
        called
    }

    /// Writes a value to an output, which may be larger.
    fn write(&mut self, out: &mut TensorMut<'r>, value: &'static Value) -> Result<()> {
        match value {
            Value::If(condition, then, otherwise) => {
                let chosen = if self.evaluate(condition)?.truth()? { then } else { otherwise };
                self.write(out, chosen)
            }
            Value::Call(method, operands, attributes) | Value::Test(method, operands, attributes) => {
                let operands = self.operands(operands)?;
                let attributes = self.evaluate_all(attributes)?;
                let dims = common_shape(operands.iter().filter_map(|operand| operand.tensor().ok()))?;
                if dims == out.dims() {
                    return self.call(method, [Some(out)].into_iter(), &operands, &attributes);
                }
                let mut result = self.memory.temporary(out.data_type(), &dims)?;
                self.call(method, [Some(&mut result)].into_iter(), &operands, &attributes)?;
                self.call("expand", [Some(out)].into_iter(), &[Live::Tensor(result.into_input())], &[])
            }
            _ => {
                let operand = self.operands(std::slice::from_ref(value))?;
                self.call("expand", [Some(out)].into_iter(), &operand, &[])
            }
        }
    }

    /// Computes an elementwise method in memory of its own.
    fn result(
        &mut self,
        ty: DataType,
        method: &str,
        operands: &'static [Value],
        attributes: &'static [Value],
    ) -> Result<Live<'r>> {
        let operands = self.operands(operands)?;
        let attributes = self.evaluate_all(attributes)?;
        let dims = common_shape(operands.iter().filter_map(|operand| operand.tensor().ok()))?;
        let mut result = self.memory.temporary(ty, &dims)?;
        self.call(method, [Some(&mut result)].into_iter(), &operands, &attributes)?;
        Ok(Live::Tensor(result.into_input()))
    }

    /// Calls a method by its name.
    fn call<'o, 't: 'o>(
        &self,
        method: &str,
        outputs: impl Iterator<Item = Option<&'o mut TensorMut<'t>>>,
        operands: &[Live<'r>],
        attributes: &[Live<'r>],
    ) -> Result<()> {
        let mut packed = Packed::default();
        outputs.for_each(|output| packed.push(output));
        operands.iter().for_each(|operand| packed.push(operand.tensor().ok()));
        attributes.iter().try_for_each(|attribute| attribute.push(&mut packed))?;
        // SAFETY: the values are those above.
        unsafe { call_method(self.device, method, self.launch, packed.arguments()) }
    }

    /// Returns the operands of a method: tensors, or nothing.
    fn operands(&mut self, values: &'static [Value]) -> Result<Vec<Live<'r>>> {
        let mut operands = Vec::with_capacity(values.len());
        for value in values {
            operands.push(match self.evaluate(value)? {
                Live::Absent => Live::Absent,
                value => Live::Tensor(value.operand(self.memory, self.ty)?),
            });
        }
        Ok(operands)
    }

    fn evaluate_all(&mut self, values: &'static [Value]) -> Result<Vec<Live<'r>>> {
        values.iter().map(|value| self.evaluate(value)).collect()
    }

    fn evaluate(&mut self, value: &'static Value) -> Result<Live<'r>> {
        match value {
            Value::Name(name) => self.named(name),
            Value::Number(value) => Ok(Live::Number(*value)),
            Value::Integer(value) => Ok(Live::Integer(*value)),
            Value::Truth(value) => Ok(Live::Truth(*value)),
            Value::Text(value) => Ok(Live::Text(value)),
            Value::Absent => Ok(Live::Absent),
            Value::List(values) => list(&self.evaluate_all(values)?),
            Value::Call(method, operands, attributes) => self.result(self.ty, method, operands, attributes),
            Value::Test(method, operands, attributes) => {
                self.result(DataType::BOOL, method, operands, attributes)
            }
            Value::Rule(name, values) => rules::call(name, &self.evaluate_all(values)?),
            Value::Math(name, values) => math(name, &self.evaluate_all(values)?),
            Value::If(condition, then, otherwise) => {
                let chosen = if self.evaluate(condition)?.truth()? { then } else { otherwise };
                self.evaluate(chosen)
            }
        }
    }

    /// Returns the value with a name. An output stands for its shape.
    fn named(&self, name: &str) -> Result<Live<'r>> {
        if let Some((_, value)) = self.values.iter().rev().find(|(own, _)| *own == name) {
            return Ok(value.clone());
        }
        let shape = self.shapes.iter().find(|(own, _)| *own == name);
        let shape = shape.map(|(_, dims)| Live::Shape(dims.clone()));
        shape.ok_or_else(|| wrong("it names an unknown value"))
    }

    /// Returns an output, if it is there.
    fn output_of(&self, name: &str) -> Result<&Option<TensorMut<'r>>> {
        let output = self.outputs.iter().find(|(own, _)| *own == name);
        output.map(|(_, output)| output).ok_or_else(|| wrong("it names an unknown output"))
    }

    /// Takes an output for a call.
    fn take(&mut self, name: &str) -> Result<Option<TensorMut<'r>>> {
        let output = self.outputs.iter_mut().find(|(own, _)| *own == name);
        output.map(|(_, output)| output.take()).ok_or_else(|| wrong("it names an unknown output"))
    }

    fn put(&mut self, name: &str, output: TensorMut<'r>) {
        if let Some((_, place)) = self.outputs.iter_mut().find(|(own, _)| *own == name) {
            *place = Some(output);
        }
    }
}

/// Computes the common shape of some operands.
fn common_shape<'o, 't: 'o>(operands: impl Iterator<Item = &'o TensorRef<'t>>) -> Result<Vec<usize>> {
    let mut dims = Vec::new();
    let mut numbers = None;
    for operand in operands {
        dims = broadcast(&dims, operand.dims())?;
        let ty = operand.data_type();
        if ty != DataType::BOOL && *numbers.get_or_insert(ty) != ty {
            return Err(Error::unsupported("a composed operator with operands of different types"));
        }
    }
    Ok(dims)
}

/// Computes with attributes.
fn math<'v>(name: &str, values: &[Live<'v>]) -> Result<Live<'v>> {
    if let [one, other] = values
        && let (Live::Truth(one), Live::Truth(other)) = (one, other)
    {
        return Ok(Live::Truth(match name {
            "&&" => *one && *other,
            "||" => *one || *other,
            "==" => one == other,
            "!=" => one != other,
            _ => return Err(wrong(name)),
        }));
    }
    if let [Live::Truth(value)] = values {
        return if name == "!" { Ok(Live::Truth(!value)) } else { Err(wrong(name)) };
    }
    let numbers = values.iter().map(Live::number).collect::<Result<Vec<f64>>>()?;
    let number = match (name, numbers.as_slice()) {
        ("negate", [one]) => -one,
        ("exp", [one]) => one.exp(),
        ("sqrt", [one]) => one.sqrt(),
        ("abs", [one]) => one.abs(),
        ("pow", [one, other]) => one.powf(*other),
        ("+", [one, other]) => one + other,
        ("-", [one, other]) => one - other,
        ("*", [one, other]) => one * other,
        ("/", [one, other]) => one / other,
        ("==", [one, other]) => return Ok(Live::Truth(one == other)),
        ("!=", [one, other]) => return Ok(Live::Truth(one != other)),
        ("<", [one, other]) => return Ok(Live::Truth(one < other)),
        ("<=", [one, other]) => return Ok(Live::Truth(one <= other)),
        (">", [one, other]) => return Ok(Live::Truth(one > other)),
        (">=", [one, other]) => return Ok(Live::Truth(one >= other)),
        _ => return Err(wrong(name)),
    };
    Ok(Live::Number(number))
}
