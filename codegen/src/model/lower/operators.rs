//! Operators: names and types of their formulas are resolved here.

use super::*;
use crate::formula::{self, Elements, MistakeKind, Name, Scope as FormulaScope, Ty, Variable};

/// The files of the operators of a spec.
pub(super) struct OperatorTrees {
    pub(super) name: At<String>,
    pub(super) list: Node,
    pub(super) groups: Vec<Node>,
}

/// The interval of tests where an operator names none.
const DOMAIN: [f64; 2] = [-5.0, 5.0];

impl Reader<'_> {
    pub(super) fn operators(&mut self, name: &At<String>) -> Option<OperatorTrees> {
        let file = self.add(&format!("{}/operators.yaml", name.value), name)?;
        let list = self.parse(file, &grammar::OPERATORS)?;
        let groups = self.distinct(&list, "groups").into_iter().filter_map(|group| {
            let file = self.add(&format!("{}/{}.yaml", name.value, group.value), &group)?;
            self.parse(file, &grammar::OPERATOR_GROUP)
        });
        let groups = groups.collect();
        self.report_strays(&name.value, "operators", &list, "groups");
        Some(OperatorTrees { name: name.clone(), list, groups })
    }
}

/// Resolves the operators.
pub(super) fn lower(trees: &OperatorTrees, sources: &Sources, diagnostics: &mut Diagnostics) -> Operators {
    let mut lowerer = OperatorLowerer { sources, diagnostics, names: BTreeMap::new() };
    let groups = trees.groups.iter().map(|node| OperatorGroup {
        name: text(node, "group").unwrap_or_default(),
        title: text(node, "title").unwrap_or_default(),
        summary: text(node, "summary").unwrap_or_default(),
        doc: prose(node, "doc"),
        operators: node
            .get("operators")
            .map_or(&[][..], Node::items)
            .iter()
            .filter_map(|node| lowerer.operator(node))
            .collect(),
    });
    Operators {
        name: trees.name.clone(),
        title: text(&trees.list, "title").unwrap_or_default(),
        summary: text(&trees.list, "summary").unwrap_or_default(),
        doc: prose(&trees.list, "doc"),
        groups: groups.collect(),
    }
}

struct OperatorLowerer<'a> {
    sources: &'a Sources,
    diagnostics: &'a mut Diagnostics,
    /// The operators so far, with where their names are.
    names: BTreeMap<String, Span>,
}

/// The names that the formulas of an operator may use so far.
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
    fn operator(&mut self, node: &Node) -> Option<Operator> {
        let name = node.get("op").and_then(Node::at)?;
        self.unique(&name);
        let types = types(node);
        let mut table = Table { names: Vec::new(), elements: elements(&types) };
        let inputs = self.inputs(node, &mut table);
        let output = self.output(node, &mut table)?;
        let attributes = self.attributes(node, &mut table);
        let parts = self.parts(node, &mut table);
        let forward = |variable| !matches!(variable, Variable::Output | Variable::OutputGradient);
        let formula = node.get("formula").and_then(|node| self.formula(node, &table, forward));
        let gradients = self.gradients(node, &table, &inputs);
        let kinks = node.get("kinks").and_then(|node| self.formula(node, &table, forward));
        let domains = self.domains(node, &inputs);
        let formula = formula?;
        let result = self.result(node, &formula);
        Some(Operator {
            summary: text(node, "summary").unwrap_or_default(),
            doc: prose(node, "doc"),
            types,
            elements: table.elements,
            domains,
            inputs,
            attributes,
            output,
            result,
            parts,
            formula,
            gradients,
            reference: text(node, "reference").unwrap_or_default(),
            kinks,
            span: name.span,
            name,
        })
    }

    fn unique(&mut self, name: &At<String>) {
        match self.names.get(&name.value) {
            None => {
                self.names.insert(name.value.clone(), name.span);
            }
            Some(first) => self.diagnostics.push(twice(&name.value, name.span, *first)),
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
        let entries = node.get("inputs").map_or(&[][..], Node::entries);
        for (index, (name, _)) in entries.iter().enumerate() {
            self.declare(table, &name.value, name.span, Variable::Input(index), Ty::Number);
        }
        entries.iter().map(|(name, node)| operand(name, node)).collect()
    }

    fn output(&mut self, node: &Node, table: &mut Table) -> Option<Operand> {
        let outputs = node.get("outputs")?;
        let [(name, value)] = outputs.entries() else {
            Diagnostic::new(Code::OperatorForm, outputs.span, "an elementwise operator has one output")
                .label(format!("there are {}", outputs.entries().len()))
                .add_to(self.diagnostics);
            return None;
        };
        let gradient = gradient_name(&name.value);
        self.declare(table, &name.value, name.span, Variable::Output, Ty::Number);
        self.declare(table, &gradient, name.span, Variable::OutputGradient, Ty::Number);
        Some(operand(name, value))
    }

    fn attributes(&mut self, node: &Node, table: &mut Table) -> Vec<Attribute> {
        let entries = node.get("attributes").map_or(&[][..], Node::entries);
        let mut attributes = Vec::new();
        for (index, (name, node)) in entries.iter().enumerate() {
            let ty = match node.get("type").and_then(Node::text) {
                Some("bool") => Ty::Truth,
                _ => Ty::Number,
            };
            self.declare(table, &name.value, name.span, Variable::Attribute(index), ty);
            attributes.push(Attribute {
                name: name.value.clone(),
                ty,
                default: node.get("default").and_then(|node| self.default(node, ty)),
                doc: prose(node, "doc"),
            });
        }
        attributes
    }

    fn default(&mut self, node: &Node, ty: Ty) -> Option<AttributeValue> {
        let value = match ty {
            Ty::Number => node.number().map(AttributeValue::Number),
            Ty::Truth => node.bool().map(AttributeValue::Truth),
        };
        if value.is_none() {
            let message = format!("the attribute is {}, and its default is {}", ty.shown(), node.kind());
            self.diagnostics.push(Diagnostic::new(Code::WrongValue, node.span, message));
        }
        value
    }

    fn parts(&mut self, node: &Node, table: &mut Table) -> Vec<(String, Formula)> {
        let entries = node.get("where").map_or(&[][..], Node::entries);
        let mut parts = Vec::new();
        for (name, node) in entries {
            // Parts may serve gradients, so that all names are in reach.
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
                format!("the output is {}, and the formula {}", said.shown(), formula.expr.ty.shown());
            Diagnostic::new(Code::FormulaType, place.span, message)
                .help("truth values have `type: bool` at the output")
                .add_to(self.diagnostics);
        }
        said
    }

    fn gradients(&mut self, node: &Node, table: &Table, inputs: &[Operand]) -> Vec<Gradient> {
        let entries = node.get("gradient").map_or(&[][..], Node::entries);
        let mut gradients = Vec::new();
        for (name, node) in entries {
            let Some(input) = inputs.iter().position(|input| input.name == name.value) else {
                let message = format!("the operator has no input `{}`", name.value);
                let diagnostic = Diagnostic::new(Code::OperatorForm, name.span, message);
                let known = inputs.iter().map(|input| input.name.as_str());
                self.diagnostics.push(diagnostic.nearest(&name.value, known));
                continue;
            };
            if table.elements == Elements::Integers {
                let message = "an operator of integers has no gradient";
                self.diagnostics.push(Diagnostic::new(Code::OperatorForm, name.span, message));
                continue;
            }
            let parsed = self.formula_of(node, table, Elements::Floats, |_| true);
            let Some(formula) = parsed else { continue };
            if formula.expr.ty == Ty::Truth {
                let diagnostic = Diagnostic::new(Code::FormulaType, node.span, "a gradient is a number");
                self.diagnostics.push(diagnostic.label("this is a truth value"));
            }
            gradients.push(Gradient { input, formula });
        }
        gradients.sort_by_key(|gradient| gradient.input);
        gradients
    }

    fn domains(&mut self, node: &Node, inputs: &[Operand]) -> Vec<[f64; 2]> {
        let mut domains = vec![DOMAIN; inputs.len()];
        for (name, node) in node.get("domain").map_or(&[][..], Node::entries) {
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
                    let message = "an interval is two numbers, the smaller one first";
                    self.diagnostics.push(Diagnostic::new(Code::WrongValue, node.span, message));
                }
            }
        }
        domains
    }

    /// Reads an expression of the operator's elements that may use some of the names.
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
        let text = node.text()?;
        let names = table.scope(in_reach);
        match formula::parse(text, FormulaScope { names: &names, elements }) {
            Ok(expr) => Some(Formula { text: text.trim().to_owned(), expr }),
            Err(mistake) => {
                let code = match mistake.kind {
                    MistakeKind::Syntax => Code::FormulaSyntax,
                    MistakeKind::Name => Code::FormulaName,
                    MistakeKind::Type => Code::FormulaType,
                };
                let span = self.within(node, text, &mistake.range);
                Diagnostic::new(code, span, mistake.message).label(mistake.label).add_to(self.diagnostics);
                None
            }
        }
    }

    /// The place of a part of a text; that of the whole, where YAML folds or escapes the text.
    fn within(&self, node: &Node, text: &str, range: &std::ops::Range<usize>) -> Span {
        let source = &self.sources.file(node.span.file).text;
        let written = source.get(node.span.start..).unwrap_or_default();
        let skipped = match () {
            () if written.starts_with(text) => 0,
            () if written.get(1..).is_some_and(|inner| inner.starts_with(text)) => 1,
            () => return node.span,
        };
        let start = node.span.start + skipped;
        // The end of a text is shown at its last character.
        let first = range.start.min(text.len().saturating_sub(1));
        Span { start: start + first, end: start + range.end.max(first + 1), ..node.span }
    }
}

fn twice(name: &str, span: Span, first: Span) -> Diagnostic {
    Diagnostic::new(Code::DuplicateName, span, format!("`{name}` is named twice"))
        .label("the second time")
        .related(first, "the first time")
}

fn operand(name: &At<String>, node: &Node) -> Operand {
    let doc = node.text().map_or_else(|| prose(node, "doc"), |text| text.trim().to_owned());
    Operand { name: name.value.clone(), doc }
}

fn types(node: &Node) -> Vec<ElementType> {
    let words = node.get("types").into_iter().flat_map(Node::items).filter_map(Node::text);
    let ty = |word| match word {
        "float" => Some(ElementType::Float),
        "integer" => Some(ElementType::Integer),
        "bool" => Some(ElementType::Bool),
        _ => None,
    };
    words.filter_map(ty).collect()
}

fn elements(types: &[ElementType]) -> Elements {
    let has_float = types.contains(&ElementType::Float);
    match types.iter().any(|ty| *ty != ElementType::Float) {
        false => Elements::Floats,
        true if has_float => Elements::Both,
        true => Elements::Integers,
    }
}
