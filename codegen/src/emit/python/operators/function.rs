//! One function: its signature, its documentation, and its call.

use super::{Function, Shapes};
use crate::emit::python::docstring::Docstring;
use crate::emit::python::layout;
use crate::emit::python::names;
use crate::formula::{Expr, ExprKind, Ty, Variable};
use crate::model::{
    Arity, Attribute, AttributeType, AttributeValue, ElementType, Elementwise, Method, Operand, Operator,
    OutputType,
};
use crate::text::{collapse, sentence};

/// The attributes that make a reduction or a scan ignore the dimensions.
const FLAT: [&str; 2] = ["flatten", "asvector"];

/// The parts of a function.
pub(super) struct Parts<'a> {
    pub(super) operator: &'a Operator,
    pub(super) method: Method<'a>,
    pub(super) shapes: Shapes,
}

impl Parts<'_> {
    pub(super) fn function(&self) -> Function {
        let wanted: Vec<&Operand> =
            self.operator.outputs.iter().filter(|output| output.arity == Arity::One).collect();
        let is_single = wanted.len() == 1;
        let results =
            if is_single { Vec::new() } else { wanted.iter().map(|it| names::variable(&it.name)).collect() };
        let gives = match wanted.len() {
            1 => "Buffer".to_owned(),
            number => format!("tuple[{}]", vec!["Buffer"; number].join(", ")),
        };
        Function {
            name: names::variable(&self.operator.name.value),
            object: format!("_{}", self.operator.name.value.to_uppercase()),
            made: self.made(),
            params: self.params(is_single),
            gives,
            doc: self.doc(is_single),
            results,
            method: match self.shapes {
                Shapes::Broadcast => "elementwise",
                _ if is_single => "one",
                _ => "several",
            },
            passed: self.passed(is_single),
        }
    }

    /// Returns the attributes that callers pass.
    fn attributes(&self) -> impl Iterator<Item = &Attribute> {
        let attributes = self.method.attributes.iter().map(|index| &self.operator.attributes[*index]);
        // Without an axis all dimensions are reduced.
        attributes.filter(|attribute| attribute.name != "reduce_all")
    }

    pub(super) fn inputs(&self) -> impl Iterator<Item = &Operand> {
        self.method.inputs.iter().filter_map(|variable| match variable {
            Variable::Input(index) => Some(&self.operator.inputs[*index]),
            _ => None,
        })
    }

    fn is_any(&self) -> bool {
        self.operator.outputs.iter().any(|it| it.arity == Arity::One && it.ty == OutputType::Any)
    }

    /// Returns the default of the element type that the caller chooses; `None` if the caller must pass it.
    fn default_type(&self) -> Option<&'static str> {
        let axis = self.operator.attributes.iter().find(|attribute| attribute.name == "axis");
        match axis {
            Some(Attribute { ty: AttributeType::Integers, .. }) => Some("None"),
            None if self.operator.attributes.is_empty() => None,
            _ => Some("\"int64\""),
        }
    }

    fn made(&self) -> Vec<String> {
        let quoted = |words: Vec<String>| format!("\"{}\"", words.join(" "));
        let results = self.operator.outputs.iter().map(|output| match output.ty {
            _ if output.arity != Arity::One => "-".to_owned(),
            _ if self.operator.elementwise().is_some_and(|formulas| formulas.result == Ty::Number) => {
                "elements".to_owned()
            }
            OutputType::Like(index) => index.to_string(),
            // Not offered, unless the output is optional.
            OutputType::Wide(index) | OutputType::ComplexOf(index) | OutputType::RealOf(index) => {
                index.to_string()
            }
            OutputType::Any => "any".to_owned(),
            OutputType::Bool => "bool".to_owned(),
            OutputType::I32 => "int32".to_owned(),
            OutputType::I64 => "int64".to_owned(),
            OutputType::F32 => "float32".to_owned(),
        });
        let results = match self.operator.elementwise() {
            Some(formulas) if formulas.result == Ty::Truth => vec!["bool".to_owned()],
            _ => results.collect(),
        };
        let kinds = self.method.attributes.iter().map(|index| match self.operator.attributes[*index].ty {
            AttributeType::Bool => "b",
            AttributeType::I64 => "i",
            AttributeType::F64 => "f",
            AttributeType::Integers => "I",
            AttributeType::Numbers => "F",
            AttributeType::Text | AttributeType::Texts => "t",
        });
        let mut made = vec![
            format!("\"{}\"", self.operator.name.value),
            quoted(types(self.operator)),
            quoted(results),
            format!("\"{}\"", kinds.collect::<String>()),
        ];
        let conditions = self.conditions();
        if !conditions.is_empty() {
            made.push(format!("conditions={conditions:?}"));
        }
        if matches!(self.shapes, Shapes::Asked) {
            let shapes = self.operator.outputs.iter().filter(|output| output.arity == Arity::One);
            let shapes = shapes.map(|output| output.name.clone());
            made.push(format!("shapes={}", quoted(shapes.collect())));
        }
        made
    }

    /// Returns the inputs that only choose between others: their elements are booleans.
    pub(super) fn conditions(&self) -> Vec<usize> {
        let Some(Elementwise { formula, .. }) = self.operator.elementwise() else { return Vec::new() };
        let ExprKind::Choice { condition, then, otherwise } = &formula.expr.kind else { return Vec::new() };
        let is_used = |expr: &Expr, variable: Variable| {
            let mut is_used = false;
            expr.visit(&mut |expr| is_used |= matches!(expr.kind, ExprKind::Variable(it) if it == variable));
            is_used
        };
        let inputs = self.method.inputs.iter().enumerate().filter(|(_, variable)| {
            self.operator.types.contains(&ElementType::Bool)
                && is_used(condition, **variable)
                && !is_used(then, **variable)
                && !is_used(otherwise, **variable)
        });
        inputs.map(|(index, _)| index).collect()
    }

    fn params(&self, is_single: bool) -> Vec<String> {
        let is_formula = self.operator.elementwise().is_some();
        let inputs = self.inputs().map(|input| {
            let name = names::variable(&input.name);
            match input.arity {
                Arity::Optional => (format!("{name}: Buffer | None"), Some("None".to_owned())),
                _ if is_formula && self.method.inputs.len() > 1 => (format!("{name}: Operand"), None),
                _ => (format!("{name}: Buffer"), None),
            }
        });
        let attributes = self.attributes().map(|attribute| self.attribute(attribute));
        let mut chosen =
            self.is_any().then(|| ("dtype: DTypeLike".to_owned(), self.default_type().map(str::to_owned)));
        if let Some((hint, Some(default))) = &mut chosen
            && default == "None"
        {
            hint.push_str(" | None");
        }
        let required = chosen.take_if(|(_, default)| default.is_none());
        let mut params: Vec<String> = Vec::new();
        let (mut has_default, mut is_named) = (false, false);
        for (param, default) in inputs.chain(required).chain(attributes) {
            if has_default && default.is_none() && !is_named {
                params.push("*".to_owned());
                is_named = true;
            }
            has_default |= default.is_some();
            params.push(default.map_or_else(|| param.clone(), |default| format!("{param} = {default}")));
        }
        if !is_named {
            params.push("*".to_owned());
        }
        params.extend(chosen.map(|(param, default)| format!("{param} = {}", default.unwrap_or_default())));
        params.extend(is_single.then(|| "out: Buffer | None = None".to_owned()));
        params.push("stream: Stream | None = None".to_owned());
        params
    }

    /// Returns the parameter of an attribute, and its default.
    fn attribute(&self, attribute: &Attribute) -> (String, Option<String>) {
        let name = names::variable(&attribute.name);
        if matches!(self.shapes, Shapes::Reduced) && name == "axis" && attribute.ty == AttributeType::Integers
        {
            return (format!("{name}: int | Sequence[int] | None"), Some("None".to_owned()));
        }
        let hint = match attribute.ty {
            AttributeType::Bool => "bool",
            AttributeType::I64 => "int",
            AttributeType::F64 => "float",
            AttributeType::Integers => "Sequence[int]",
            AttributeType::Numbers => "Sequence[float]",
            AttributeType::Text | AttributeType::Texts => "str",
        };
        (format!("{name}: {hint}"), attribute.default.as_ref().and_then(literal))
    }

    /// Returns the arguments of the call.
    fn passed(&self, is_single: bool) -> Vec<String> {
        let is_flat = self.operator.attributes.iter().find(|it| FLAT.contains(&&*it.name));
        let is_axes = |attribute: &Attribute| {
            matches!(self.shapes, Shapes::Reduced)
                && attribute.name == "axis"
                && attribute.ty == AttributeType::Integers
        };
        let inputs: Vec<String> = self.inputs().map(|input| names::variable(&input.name)).collect();
        let attributes = self.method.attributes.iter().map(|index| {
            let attribute = &self.operator.attributes[*index];
            match names::variable(&attribute.name) {
                _ if attribute.name == "reduce_all" => "False".to_owned(),
                name if is_axes(attribute) => format!("_compute.axes({name})"),
                name => name,
            }
        });
        let attributes: Vec<String> = attributes.collect();
        let first = inputs.first().cloned().unwrap_or_default();
        let wanted: Vec<&Operand> =
            self.operator.outputs.iter().filter(|output| output.arity == Arity::One).collect();
        let flag = is_flat.map(|attribute| names::variable(&attribute.name));
        let shapes = match self.shapes {
            Shapes::Broadcast => None,
            Shapes::Asked => Some("None".to_owned()),
            Shapes::Inputs => {
                let shape = |output: &&Operand| {
                    let input =
                        names::variable(&self.operator.inputs[output.shape_of.unwrap_or_default()].name);
                    let flag = flag.iter().map(|flag| format!(", {flag}")).collect::<String>();
                    format!("_compute.same({input}{flag})")
                };
                Some(format!("[{}]", wanted.iter().map(shape).collect::<Vec<_>>().join(", ")))
            }
            Shapes::Reduced => {
                let axis = flag.map_or_else(|| "axis".to_owned(), |flag| format!("None if {flag} else axis"));
                let shape = format!("_compute.reduced({first}, {axis}, keep_dim)");
                Some(if is_single { format!("[{shape}]") } else { format!("[{shape}] * {}", wanted.len()) })
            }
        };
        let dtype = shapes.is_some().then(|| if self.is_any() { "dtype" } else { "None" }.to_owned());
        let lists = [format!("[{}]", inputs.join(", ")), format!("[{}]", attributes.join(", "))];
        let rest = is_single.then(|| "out".to_owned()).into_iter().chain(["stream".to_owned()]);
        lists.into_iter().chain(shapes).chain(dtype).chain(rest).collect()
    }

    fn doc(&self, is_single: bool) -> String {
        let mut doc = Docstring::new(&sentence(&self.operator.summary));
        doc.paragraphs(&self.operator.doc);
        let inputs = self.inputs().map(|it| (names::variable(&it.name), collapse(&it.doc)));
        let dtype = self.is_any().then(|| {
            let text = match self.default_type() {
                Some("None") => "The element type of the result. None: that of `x`.",
                Some(_) => "The element type of the indices.",
                None => "The element type of the result.",
            };
            ("dtype".to_owned(), text.to_owned())
        });
        let attributes = self.attributes().map(|attribute| {
            let text = collapse(&attribute.doc);
            (names::variable(&attribute.name), text)
        });
        let out = is_single.then(|| {
            (
                "out".to_owned(),
                "The buffer for the result, which may be an input. None: a new one.".to_owned(),
            )
        });
        let stream = "The stream on which it is computed. None: the current stream of the device.".to_owned();
        let entries = inputs.chain(attributes).chain(dtype).chain(out).chain([("stream".to_owned(), stream)]);
        doc.entries("Args", entries.map(|(name, text)| (name, sentence(&text))).collect());
        let wanted = self.operator.outputs.iter().filter(|output| output.arity == Arity::One);
        let returned: Vec<String> = if is_single {
            wanted.map(|output| collapse(&output.doc)).collect()
        } else {
            wanted.map(|it| format!("`{}`: {}", it.name, sentence(&collapse(&it.doc)))).collect()
        };
        doc.section("Returns", &returned.join(" "));
        doc.text(4)
    }
}

/// Returns the words for the element types of an operator.
pub(super) fn types(operator: &Operator) -> Vec<String> {
    let word = |ty: &ElementType| match ty {
        ElementType::Float => "float",
        ElementType::Integer => "integer",
        ElementType::Bool => "bool",
        ElementType::Complex => "complex",
    };
    operator.types.iter().map(|ty| word(ty).to_owned()).collect()
}

/// Writes the value of an attribute; `None` for an infinity, which has no literal.
pub(super) fn literal(value: &AttributeValue) -> Option<String> {
    Some(match value {
        AttributeValue::Truth(true) => "True".to_owned(),
        AttributeValue::Truth(false) => "False".to_owned(),
        AttributeValue::Integer(integer) => integer.to_string(),
        AttributeValue::Number(number) if !number.is_finite() => format!("float(\"{number}\")"),
        AttributeValue::Number(number) => format!("{number:?}"),
        AttributeValue::Integers(integers) if integers.is_empty() => "()".to_owned(),
        AttributeValue::Numbers(numbers) if numbers.is_empty() => "()".to_owned(),
        AttributeValue::Text(text) => layout::literal(text),
        AttributeValue::Integers(_) | AttributeValue::Numbers(_) | AttributeValue::Texts(_) => return None,
    })
}
