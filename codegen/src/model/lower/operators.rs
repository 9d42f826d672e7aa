//! Operators: resolves the names and types of their formulas.

mod attributes;
mod checks;

use self::attributes::Stated;
pub(super) use self::attributes::value;

use super::unresolved::References;
use super::{OperatorTrees, flag, prose, text, within};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::formula::{self, Elements, MistakeKind, Name, Scope as FormulaScope, Ty, Variable};
use crate::model::{
    Arity, Body, ElementType, Elementwise, Formula, Gradient, Operand, Operator, OperatorGroup, Operators,
    OutputType, Unsound, gradient_name,
};
use crate::source::{At, Sources, Span};
use crate::yaml::Node;
use std::collections::BTreeMap;

/// The interval from which tests take inputs, if an operator states none.
const DOMAIN: [f64; 2] = [-5.0, 5.0];

/// Resolves the operators.
pub(super) fn lower(
    trees: &OperatorTrees,
    sources: &Sources,
    references: &mut References,
    diagnostics: &mut Diagnostics,
) -> Operators {
    let unsound = Unsound::new(trees.is_partial);
    let mut lowerer =
        OperatorLowerer { sources, diagnostics, names: BTreeMap::new(), stated: Vec::new(), unsound };
    let groups = trees.groups.iter().map(|node| {
        let name = prose(node, "group");
        let operators = node.items_of("operators").iter();
        lowerer.stated.clear();
        OperatorGroup {
            operators: operators.filter_map(|node| lowerer.sound_operator(&name, node)).collect(),
            name,
            title: prose(node, "title"),
            summary: prose(node, "summary"),
            doc: prose(node, "doc"),
        }
    });
    let groups = groups.collect();
    let mut operators = Operators {
        unsound: lowerer.unsound,
        name: trees.name.clone(),
        title: prose(&trees.list, "title"),
        summary: prose(&trees.list, "summary"),
        doc: prose(&trees.list, "doc"),
        groups,
    };
    super::compute::sequences(&mut operators, trees, sources, references, diagnostics);
    operators
}

pub(super) struct OperatorLowerer<'a> {
    sources: &'a Sources,
    pub(super) diagnostics: &'a mut Diagnostics,
    /// The operators so far, with the places of their names.
    names: BTreeMap<String, Span>,
    /// The attributes of the operators of the group so far.
    stated: Vec<Stated>,
    /// The operators so far that have mistakes.
    unsound: Unsound,
}

/// The names that the formulas of an operator may use.
struct Table {
    names: Vec<(Name, Span)>,
    elements: Elements,
}

impl Table {
    fn scope(&self, wanted: impl Fn(Variable) -> bool) -> Vec<Name> {
        self.names.iter().map(|(name, _)| name).filter(|name| wanted(name.variable)).cloned().collect()
    }
}

impl OperatorLowerer<'_> {
    /// Resolves an operator, and marks it if it has a mistake.
    fn sound_operator(&mut self, group: &str, node: &Node) -> Option<Operator> {
        let operator = self.operator(group, node);
        if operator.is_none() || !self.diagnostics.trusts(node.extent()) {
            let name = text(node, "op")?;
            for (input, _) in node.entries_of("inputs") {
                self.unsound.insert(format!("{name}_{}", gradient_name(&input.value)));
            }
            self.unsound.insert(name);
        }
        operator
    }

    fn operator(&mut self, group: &str, node: &Node) -> Option<Operator> {
        let name = node.name_of("op")?;
        self.unique(&name);
        let types = types(node);
        let mut table = Table { names: Vec::new(), elements: elements(&types) };
        let inputs = self.inputs(node, &mut table);
        let outputs = self.outputs(node, &inputs, &mut table);
        let (attributes_of, attributes) = self.attributes(&name, node, &mut table);
        let body = match ["formula", "reduction", "kernel"].map(|key| node.get(key)) {
            [Some(formula), None, None] if has_reduced(node) => {
                self.spread(group, node, formula, &attributes)?
            }
            [Some(_), None, None] => Body::Formula(Box::new(self.elementwise(node, &mut table, &inputs)?)),
            [None, Some(reduction), None] => self.fold(group, node, reduction, &attributes)?,
            [None, None, Some(kernel)] => self.kernel(node, kernel)?,
            bodies => {
                let message = "an operator has one of `formula`, `reduction` and `kernel`";
                let diagnostic = Diagnostic::new(Code::OperatorForm, name.span, message);
                let label = match bodies.iter().flatten().next() {
                    Some(_) => "this one has more than one of them",
                    None => "this one has none of them",
                };
                self.diagnostics.push(diagnostic.label(label));
                return None;
            }
        };
        Some(Operator {
            summary: prose(node, "summary"),
            doc: prose(node, "doc"),
            types,
            inputs,
            attributes,
            attributes_of,
            outputs,
            body,
            sequence: Vec::new(),
            random: flag(node, "random"),
            reference: prose(node, "reference"),
            span: name.span,
            name,
        })
    }

    fn elementwise(&mut self, node: &Node, table: &mut Table, inputs: &[Operand]) -> Option<Elementwise> {
        self.single_tensors(node)?;
        let parts = self.parts(node, table);
        let forward = |variable| !matches!(variable, Variable::Output | Variable::OutputGradient);
        let formula = node.get("formula").and_then(|node| self.formula(node, table, forward));
        let gradients = self.gradients(node, table, inputs);
        let kinks = node.get("kinks").and_then(|node| self.formula(node, table, forward));
        let domains = self.domains(node, inputs);
        let formula = formula?;
        let used =
            [&formula].into_iter().chain(&kinks).chain(gradients.iter().map(|gradient| &gradient.formula));
        self.check_parts(node, &parts, used);
        let result = self.result(node, &formula);
        let elementwise =
            Elementwise { elements: table.elements, result, parts, formula, gradients, domains, kinks };
        self.check_gradients(node, inputs, &elementwise);
        Some(elementwise)
    }

    /// Checks what formulas of all kinds need: one output, single tensors, real numbers, and a reference.
    pub(super) fn single_tensors(&mut self, node: &Node) -> Option<()> {
        let place = node.get("outputs").map_or(node.span, |outputs| outputs.span);
        let refuse =
            |message: &str, label: String| Diagnostic::new(Code::OperatorForm, place, message).label(label);
        let [inputs, outputs] = ["inputs", "outputs"].map(|key| node.entries_of(key));
        if outputs.len() != 1 {
            let label = format!("there are {}", outputs.len());
            self.diagnostics.push(refuse("an operator with a formula has one output", label));
            return None;
        }
        if inputs.iter().chain(outputs).any(|(_, node)| arity(node) != Arity::One) {
            let label = "one of them is optional or a list".to_owned();
            self.diagnostics
                .push(refuse("the inputs and the output of a formula must be single tensors", label));
            return None;
        }
        if types(node).contains(&ElementType::Complex) {
            let message = "formulas do not support complex numbers".to_owned();
            self.diagnostics.push(Diagnostic::new(Code::OperatorForm, node.span, message));
        }
        if node.get("reference").is_none() {
            let message = "a formula needs a `reference` for its tests";
            self.diagnostics.push(Diagnostic::new(Code::MissingKey, node.span, message));
        }
        Some(())
    }

    /// Reads an operator that is computed by a hand-written function.
    fn kernel(&mut self, node: &Node, kernel: &Node) -> Option<Body> {
        self.only_elementwise(node);
        for (name, _) in node.entries_of("inputs").iter().filter(|(_, node)| flag(node, "reduced")) {
            let message = "`reduced` is only allowed with a formula";
            self.diagnostics.push(Diagnostic::new(Code::OperatorForm, name.span, message));
        }
        self.path(kernel).map(Body::Kernel)
    }

    /// Rejects the keys of elementwise operators.
    pub(super) fn only_elementwise(&mut self, node: &Node) {
        for key in ["where", "gradient", "domain", "kinks"] {
            if let Some(stray) = node.get(key) {
                let message = format!("`{key}` is only allowed with the formula of an elementwise operator");
                Diagnostic::new(Code::OperatorForm, stray.span, message)
                    .help("the gradient of a kernel and of a reduction is a separate operator")
                    .add_to(self.diagnostics);
            }
        }
    }

    /// Reads the path of a Rust function.
    fn path(&mut self, node: &Node) -> Option<String> {
        let path = node.text()?;
        let is_name = |part: &str| {
            part.starts_with(|c: char| c.is_ascii_lowercase())
                && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        };
        if !path.contains("::") || !path.split("::").all(is_name) {
            let message = format!("`{path}` is not the path of a function");
            let diagnostic = Diagnostic::new(Code::WrongValue, node.span, message);
            self.diagnostics.push(diagnostic.label("such as `softmax::softmax`"));
            return None;
        }
        Some(path.to_owned())
    }

    fn unique(&mut self, name: &At<String>) {
        match self.names.get(&name.value) {
            None => {
                self.names.insert(name.value.clone(), name.span);
            }
            Some(first) => {
                self.diagnostics.push(twice(&name.value, name.span, *first));
                // One of the two probably has the name of another operator.
                self.unsound.is_partial = true;
            }
        }
    }

    /// Adds a name that formulas may use.
    fn declare(&mut self, table: &mut Table, text: &str, span: Span, variable: Variable, ty: Ty) {
        match table.names.iter().find(|(name, _)| name.text == text) {
            None => table.names.push((Name { text: text.to_owned(), variable, ty }, span)),
            Some((_, first)) => self.diagnostics.push(twice(text, span, *first)),
        }
    }

    fn inputs(&mut self, node: &Node, table: &mut Table) -> Vec<Operand> {
        let entries = node.entries_of("inputs");
        for (index, (name, _)) in entries.iter().enumerate() {
            self.declare(table, &name.value, name.span, Variable::Input(index), Ty::Number);
        }
        entries.iter().map(|(name, node)| operand(name, node)).collect()
    }

    fn outputs(&mut self, node: &Node, inputs: &[Operand], table: &mut Table) -> Vec<Operand> {
        let entries = node.entries_of("outputs");
        for (name, _) in entries.iter().take(1) {
            self.declare(table, &name.value, name.span, Variable::Output, Ty::Number);
            let gradient = gradient_name(&name.value);
            self.declare(table, &gradient, name.span, Variable::OutputGradient, Ty::Number);
        }
        let output = |(name, node): &(At<String>, Node)| {
            let ty = self.output_type(node, inputs);
            let shape = node.get("shape").and_then(|shape| self.path(shape));
            let shape_of = node.name_of("shape_of").and_then(|name| self.input(inputs, &name));
            let in_place = node.name_of("in_place").and_then(|name| self.input(inputs, &name));
            let output = Operand { ty, shape, shape_of, in_place, ..operand(name, node) };
            if let Some(input) = in_place.map(|index| &inputs[index])
                && input.arity.is_list() != output.arity.is_list()
            {
                let message = format!("`{}` cannot be the memory of `{}`", output.name, input.name);
                let diagnostic = Diagnostic::new(Code::OperatorForm, name.span, message);
                self.diagnostics.push(diagnostic.label("one of them is a list, the other is not"));
            }
            output
        };
        let outputs: Vec<Operand> = entries.iter().map(output).collect();
        self.check_in_place(node, inputs, &outputs);
        outputs
    }

    fn output_type(&mut self, node: &Node, inputs: &[Operand]) -> OutputType {
        let mut input = |key: &str| self.input(inputs, &node.name_of(key)?);
        match node.text_of("type") {
            Some("bool") => OutputType::Bool,
            Some("i32") => OutputType::I32,
            Some("i64") => OutputType::I64,
            Some("f32") => OutputType::F32,
            Some("any") => OutputType::Any,
            _ => {
                let found = (input("wide").map(OutputType::Wide))
                    .or_else(|| input("complex_of").map(OutputType::ComplexOf))
                    .or_else(|| input("real_of").map(OutputType::RealOf))
                    .or_else(|| input("like").map(OutputType::Like));
                found.unwrap_or(if inputs.is_empty() { OutputType::Any } else { OutputType::Like(0) })
            }
        }
    }

    /// Resolves the name of an input.
    fn input(&mut self, inputs: &[Operand], name: &At<String>) -> Option<usize> {
        let found = inputs.iter().position(|input| input.name == name.value);
        if found.is_none() {
            let message = format!("the operator has no input `{}`", name.value);
            Diagnostic::new(Code::OperatorForm, name.span, message)
                .nearest(&name.value, inputs.iter().map(|input| input.name.as_str()))
                .add_to(self.diagnostics);
        }
        found
    }

    fn parts(&mut self, node: &Node, table: &mut Table) -> Vec<(String, Formula)> {
        let entries = node.entries_of("where");
        let mut parts = Vec::new();
        for (name, node) in entries {
            // Parts may be used by gradients, so they may use every name.
            let Some(formula) = self.formula(node, table, |_| true) else { continue };
            let ty = formula.expr.ty;
            self.declare(table, &name.value, name.span, Variable::Part(parts.len()), ty);
            parts.push((name.value.clone(), formula));
        }
        parts
    }

    fn result(&mut self, node: &Node, formula: &Formula) -> Ty {
        let output = node.get("outputs").and_then(|node| Some(&node.entries().first()?.1));
        let said = match output.and_then(|node| node.get("type")) {
            Some(_) => Ty::Truth,
            None => Ty::Number,
        };
        if let Some(place) = node.get("formula").filter(|_| said != formula.expr.ty) {
            let message =
                format!("the output is {}, but the formula is {}", said.shown(), formula.expr.ty.shown());
            Diagnostic::new(Code::FormulaType, place.span, message)
                .help("write `type: bool` at the output for booleans")
                .add_to(self.diagnostics);
        }
        said
    }

    fn gradients(&mut self, node: &Node, table: &Table, inputs: &[Operand]) -> Vec<Gradient> {
        let entries = node.entries_of("gradient");
        let mut gradients = Vec::new();
        for (name, node) in entries {
            let Some(input) = self.input(inputs, name) else { continue };
            if table.elements == Elements::Integers {
                let message = "an operator of integers has no gradient";
                self.diagnostics.push(Diagnostic::new(Code::OperatorForm, name.span, message));
                continue;
            }
            let parsed = self.formula_of(node, table, Elements::Floats, |_| true);
            let Some(formula) = parsed else { continue };
            if formula.expr.ty == Ty::Truth {
                let diagnostic = Diagnostic::new(Code::FormulaType, node.span, "a gradient must be a number");
                self.diagnostics.push(diagnostic.label("this is a boolean"));
            }
            gradients.push(Gradient { input, formula });
        }
        gradients.sort_by_key(|gradient| gradient.input);
        gradients
    }

    fn domains(&mut self, node: &Node, inputs: &[Operand]) -> Vec<[f64; 2]> {
        let mut domains = vec![DOMAIN; inputs.len()];
        for (name, node) in node.entries_of("domain") {
            let bounds: Option<Vec<f64>> = node.items().iter().map(Node::number).collect();
            let input = inputs.iter().position(|input| input.name == name.value);
            match (input, bounds.as_deref()) {
                (Some(input), Some(&[least, largest])) if least < largest => {
                    domains[input] = [least, largest]
                }
                (None, _) => {
                    let message = format!("the operator has no input `{}`", name.value);
                    self.diagnostics.push(Diagnostic::new(Code::OperatorForm, name.span, message));
                }
                _ => {
                    let message = "an interval must be two numbers, the smaller one first";
                    self.diagnostics.push(Diagnostic::new(Code::WrongValue, node.span, message));
                }
            }
        }
        domains
    }

    /// Reads an expression for an element of the operator. It may use some of the names.
    fn formula(
        &mut self,
        node: &Node,
        table: &Table,
        in_reach: impl Fn(Variable) -> bool,
    ) -> Option<Formula> {
        self.formula_of(node, table, table.elements, in_reach)
    }

    fn formula_of(
        &mut self,
        node: &Node,
        table: &Table,
        elements: Elements,
        in_reach: impl Fn(Variable) -> bool,
    ) -> Option<Formula> {
        self.parse(node, &table.scope(in_reach), elements)
    }

    /// Reads an expression that may use the names.
    pub(super) fn parse(&mut self, node: &Node, names: &[Name], elements: Elements) -> Option<Formula> {
        let text = &*node.formula()?;
        match formula::parse(text, FormulaScope { names, elements }) {
            Ok(expr) => Some(Formula { text: text.trim().to_owned(), expr }),
            Err(mistake) => {
                let code = match mistake.kind {
                    MistakeKind::Syntax => Code::FormulaSyntax,
                    MistakeKind::Name => Code::FormulaName,
                    MistakeKind::Type => Code::FormulaType,
                };
                let span = within(self.sources, node, text, &mistake.range);
                Diagnostic::new(code, span, mistake.message).label(mistake.label).add_to(self.diagnostics);
                None
            }
        }
    }
}

fn twice(name: &str, span: Span, first: Span) -> Diagnostic {
    Diagnostic::new(Code::DuplicateName, span, format!("`{name}` is named twice"))
        .label("named again here")
        .related(first, "first named here")
}

fn operand(name: &At<String>, node: &Node) -> Operand {
    let doc = node.text().map_or_else(|| prose(node, "doc"), |text| text.trim().to_owned());
    Operand {
        name: name.value.clone(),
        doc,
        arity: arity(node),
        ty: OutputType::Any,
        shape: None,
        shape_of: None,
        in_place: None,
        decides_shape: flag(node, "decides_shape"),
        is_real: flag(node, "real"),
    }
}

/// Returns the number of tensors of an entry.
pub(super) fn arity(node: &Node) -> Arity {
    let is = |key| node.get(key).and_then(Node::bool).unwrap_or_default();
    match (is("list"), is("optional")) {
        (true, false) => Arity::List,
        (true, true) => Arity::OptionalList,
        (false, true) => Arity::Optional,
        (false, false) => Arity::One,
    }
}

pub(super) fn types(node: &Node) -> Vec<ElementType> {
    let words = node.items_of("types").iter().filter_map(Node::text);
    let ty = |word| match word {
        "float" => Some(ElementType::Float),
        "integer" => Some(ElementType::Integer),
        "bool" => Some(ElementType::Bool),
        "complex" => Some(ElementType::Complex),
        _ => None,
    };
    words.filter_map(ty).collect()
}

/// Returns true if an input has the shape of a reduction's result.
fn has_reduced(node: &Node) -> bool {
    node.entries_of("inputs").iter().any(|(_, node)| flag(node, "reduced"))
}

pub(super) fn elements(types: &[ElementType]) -> Elements {
    let has_float = types.contains(&ElementType::Float);
    if types.iter().all(|ty| *ty == ElementType::Float) {
        Elements::Floats
    } else if has_float {
        Elements::Both
    } else {
        Elements::Integers
    }
}
