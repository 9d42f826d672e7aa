//! Methods: the functions in which a provider computes operators.

use super::{
    Arity, Attribute, AttributeType, AttributeValue, Body, Callee, Elementwise, Kernel, KernelOutput,
    Operand, Operator, Operators, gradient_name,
};
use crate::formula::Variable;

/// A method takes this many attributes or more as one struct, so that a call names them, and an attribute can be added.
const ATTRIBUTES_OF_A_STRUCT: usize = 3;

/// A function that computes an operator, or the gradient of an elementwise operator by one input.
#[derive(Debug)]
pub struct Method<'a> {
    /// The operator.
    pub operator: &'a Operator,
    /// Its name: that of the operator, or `relu_dx`.
    pub name: String,
    /// The computation: which one, and the body that performs it.
    pub work: Work<'a>,
    /// The tensors that it reads, in the order of its parameters.
    pub inputs: Vec<Variable>,
    /// Indices into the attributes of the operator, in the order of its parameters.
    pub attributes: Vec<usize>,
}

/// The work of a method.
#[derive(Debug, Clone, Copy)]
pub enum Work<'a> {
    /// The outputs of the operator, by a function of all inputs and attributes: its path in the crate of kernels.
    Kernel(&'a str),
    /// The output of an elementwise operator.
    Formula(&'a Elementwise),
    /// A gradient of an elementwise operator: index into its gradients.
    Gradient(&'a Elementwise, usize),
    /// The shape of an output, which hosts do not compute: the path of a function in the crate of kernels.
    Shape(&'a str),
}

/// A parameter of a method.
#[derive(Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// The values that a caller passes.
    pub kind: ParameterKind,
}

/// The kind of a parameter of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// Tensors that the method writes.
    Output(Arity),
    /// Tensors that the method reads.
    Input(Arity),
    /// A value that is the same for all elements.
    Attribute(AttributeType),
    /// A number that determines the random numbers.
    Random,
}

impl Operator {
    /// Returns the methods of an operator: one for its outputs, one for each gradient, and one for each shape.
    pub fn methods(&self) -> Vec<Method<'_>> {
        let gradients = self.elementwise().map_or(0, |formulas| formulas.gradients.len());
        let shapes = self.outputs.iter().filter_map(|output| self.shape(output));
        let gradients = (0..gradients).map(|index| self.gradient(index));
        std::iter::once(self.forward()).chain(gradients).chain(shapes).collect()
    }

    /// Returns the method that computes the shape of an output; `None` if hosts compute it.
    pub fn shape<'a>(&'a self, output: &'a Operand) -> Option<Method<'a>> {
        let name = format!("{}_{}_shape", self.name.value, output.name);
        Some(Method { name, work: Work::Shape(output.shape.as_deref()?), ..self.forward() })
    }

    /// Returns the method that computes an output of a kernel; `None` for an output that is ignored.
    pub fn method_for(&self, output: &KernelOutput) -> Option<Method<'_>> {
        match output {
            KernelOutput::Output(_) => Some(self.forward()),
            KernelOutput::Gradient(index) => Some(self.gradient(*index)),
            KernelOutput::Ignored(_) => None,
        }
    }

    /// Returns the names of the methods that a kernel calls, each once.
    pub fn methods_of(&self, kernel: &Kernel) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let shape = |output: &KernelOutput| match output {
            KernelOutput::Output(index) => self.shape(&self.outputs[*index]),
            KernelOutput::Gradient(_) | KernelOutput::Ignored(_) => None,
        };
        for method in
            kernel.outputs.iter().flat_map(|output| [self.method_for(output), shape(output)]).flatten()
        {
            if !names.contains(&method.name) {
                names.push(method.name);
            }
        }
        names
    }

    /// Returns the method that computes the outputs.
    pub fn forward(&self) -> Method<'_> {
        let path = match &self.body {
            Body::Kernel(path) => path,
            Body::Reduction(reduction) => &reduction.path,
            Body::Formula(formulas) => {
                let uses = formulas.uses(&formulas.formula);
                return Method::new(self, self.name.value.clone(), Work::Formula(formulas), &uses);
            }
        };
        let inputs = (0..self.inputs.len()).map(Variable::Input);
        let attributes = (0..self.attributes.len()).map(Variable::Attribute);
        let uses: Vec<Variable> = inputs.chain(attributes).collect();
        Method::new(self, self.name.value.clone(), Work::Kernel(path), &uses)
    }

    fn gradient(&self, index: usize) -> Method<'_> {
        let formulas = self.elementwise().expect("only elementwise operators have formulas of gradients");
        let gradient = &formulas.gradients[index];
        let name = format!("{}_{}", self.name.value, gradient_name(&self.inputs[gradient.input].name));
        let mut uses = formulas.uses(&gradient.formula);
        // It has the shape of the result, which no other tensor may have.
        if !uses.contains(&Variable::OutputGradient) {
            uses.push(Variable::OutputGradient);
        }
        Method::new(self, name, Work::Gradient(formulas, index), &uses)
    }

    /// Returns true for an input whose elements decide about the shape of an output.
    pub fn decides_shape(&self, variable: Variable) -> bool {
        matches!(variable, Variable::Input(index) if self.inputs[index].decides_shape)
    }

    /// Returns the number of tensors of a variable.
    pub fn arity(&self, variable: Variable) -> Arity {
        match variable {
            Variable::Input(index) => self.inputs[index].arity,
            _ => Arity::One,
        }
    }
}

impl Operators {
    /// Returns the method that a step calls; `None` if it calls a function that is written by hand.
    pub fn method(&self, callee: &Callee) -> Option<Method<'_>> {
        match callee {
            Callee::Method { operator, name } => {
                self.operator(*operator).methods().into_iter().find(|method| method.name == *name)
            }
            Callee::Rule(_) => None,
        }
    }
}

impl<'a> Method<'a> {
    fn new(operator: &'a Operator, name: String, work: Work<'a>, uses: &[Variable]) -> Self {
        let attribute = |variable: &Variable| match variable {
            Variable::Attribute(index) => Some(*index),
            _ => None,
        };
        let is_tensor = |variable: &&Variable| {
            matches!(variable, Variable::Input(_) | Variable::Output | Variable::OutputGradient)
        };
        Method {
            operator,
            name,
            work,
            inputs: uses.iter().filter(is_tensor).copied().collect(),
            attributes: uses.iter().filter_map(attribute).collect(),
        }
    }

    /// Returns the outputs: name, and the operator's output, which a gradient is not.
    pub fn outputs(&self) -> Vec<(String, Option<&'a Operand>)> {
        match self.work {
            Work::Gradient(formulas, index) => {
                let input = formulas.gradients[index].input;
                vec![(gradient_name(&self.operator.inputs[input].name), None)]
            }
            Work::Shape(_) => Vec::new(),
            Work::Formula(_) | Work::Kernel(_) => {
                self.operator.outputs.iter().map(|output| (output.name.clone(), Some(output))).collect()
            }
        }
    }

    /// Returns the parameters: outputs, inputs, attributes, and the two numbers that determine random numbers.
    pub fn parameters(&self) -> Vec<Parameter> {
        let outputs = self.outputs().into_iter().map(|(name, output)| {
            let arity = output.map_or(Arity::One, |output| output.arity);
            Parameter { name, kind: ParameterKind::Output(arity) }
        });
        let inputs = self.inputs.iter().map(|variable| Parameter {
            name: self.operator.variable_name(*variable),
            kind: ParameterKind::Input(self.operator.arity(*variable)),
        });
        let attributes = self.attributes.iter().map(|index| {
            let attribute = &self.operator.attributes[*index];
            Parameter { name: attribute.name.clone(), kind: ParameterKind::Attribute(attribute.ty) }
        });
        let numbers: &[&str] =
            if self.operator.random && self.shape().is_none() { &["seed", "offset"] } else { &[] };
        let numbers =
            numbers.iter().map(|name| Parameter { name: (*name).to_owned(), kind: ParameterKind::Random });
        outputs.chain(inputs).chain(attributes).chain(numbers).collect()
    }

    /// Returns its parameters in the order of a call by name. Attributes come last, so that a caller of an older spec
    /// can leave out those that it does not know.
    pub fn call_parameters(&self) -> Vec<Parameter> {
        let (attributes, others): (Vec<Parameter>, Vec<Parameter>) =
            self.parameters().into_iter().partition(|it| matches!(it.kind, ParameterKind::Attribute(_)));
        others.into_iter().chain(attributes).collect()
    }

    /// Returns the operator whose attributes the method takes as one struct; `None` if it takes each by itself, because they
    /// are few.
    pub fn attributes_as_struct(&self) -> Option<String> {
        if self.attributes.len() < ATTRIBUTES_OF_A_STRUCT {
            return None;
        }
        let has_all = self.attributes.len() == self.operator.attributes.len();
        Some(if has_all { self.operator.attributes_of.clone() } else { self.name.clone() })
    }

    /// Returns the attributes, in the order of its parameters.
    pub fn attributes(&self) -> impl Iterator<Item = &'a Attribute> {
        self.attributes.iter().map(|index| &self.operator.attributes[*index])
    }

    /// Returns the value of a parameter if a caller passes none.
    pub fn default(&self, parameter: &Parameter) -> Option<&'a AttributeValue> {
        let attributes = &self.operator.attributes;
        attributes.iter().find(|attribute| attribute.name == parameter.name)?.default.as_ref()
    }

    /// Returns the name of the shape that it computes, `out_shape` for `topk_out_shape`; `None` if it computes
    /// elements.
    pub fn shape(&self) -> Option<&str> {
        let operator = &self.operator.name.value;
        let name = self.name.strip_prefix(operator.as_str())?.strip_prefix('_')?;
        matches!(self.work, Work::Shape(_)).then_some(name)
    }

    /// Returns the formula, if it has one.
    pub fn formula(&self) -> Option<(&'a Elementwise, &'a super::Formula)> {
        match self.work {
            Work::Kernel(_) | Work::Shape(_) => None,
            Work::Formula(formulas) => Some((formulas, &formulas.formula)),
            Work::Gradient(formulas, index) => Some((formulas, &formulas.gradients[index].formula)),
        }
    }
}
