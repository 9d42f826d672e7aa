//! The Python package of an export: its modules, each with a stub that names the parameters.
//!
//! With the conventions of pyACL, a function takes positional arguments only and checks their number itself, like a function written in C. Its stub
//! names the parameters for type checkers and editors.

mod docs;
mod plain;

use minijinja::value::Serde;
use minijinja::{Environment, Value, context};

use super::class::{Class, Field};
use super::ctype::CType;
use super::docstring::{Docstring, spans};
use super::function::{binding, hinted};
use super::module::{Modules, Source};
use super::names;
use super::param::{Param, Pass, of_export};
use crate::model::abi;
use crate::model::python_form::{Item as One, PythonForm, form, optional_args};
use crate::model::{Param as ModelParam, *};
use crate::out::Output;
use crate::text::count;

/// Modules that import no classes.
const NO_CLASSES: Source<'static> = ("", Vec::new());

/// Writes the modules of an interface's package, with paths relative to the folder of packages.
///
/// # Errors
/// If a template does not match its data, which is a bug in the generator.
pub fn package(
    templates: &Environment,
    spec: &Spec,
    interface: &Interface,
    marker: &str,
) -> Result<Vec<Output>, minijinja::Error> {
    let Some(package) = &interface.python else { return Ok(Vec::new()) };
    let context = Context { spec, interface, package };
    let structs = context.structs();
    let classes: Vec<Class> = structs.iter().map(|id| context.class(*id)).collect();
    let struct_names: Vec<&str> = classes.iter().map(|class| class.name.as_str()).collect();
    let mut outputs = Vec::new();
    for module in std::iter::once(None).chain((0..package.modules.len()).map(Some)) {
        if module.is_some_and(|index| package.modules[index].by_hand) {
            continue;
        }
        let data = context.module(module);
        let (file, hand) = match module {
            Some(index) => (&*package.modules[index].name.value, &*package.modules[index].name.value),
            None => ("__init__", &*package.name.value),
        };
        let offered = plain::offered(context, module);
        let mut helpers = vec![
            ("_Call", "from . import _call as _Call".to_owned()),
            ("_Hand", format!("from ._hand import {hand} as _Hand")),
        ];
        helpers.extend(offered.iter().map(|(name, import)| (name.as_str(), import.clone())));
        let classes: Source = ("._structs", struct_names.clone());
        let mut exported: Vec<&str> = match module {
            Some(_) => Vec::new(),
            None => package.modules.iter().map(|module| &*module.name.value).collect(),
        };
        exported.sort_unstable();
        let path = format!("{}/{file}", package.name.value);
        let functions = context.methods(None).filter(|method| method.python.module == module);
        let note = count(functions.count(), "function");
        let modules = Modules { templates, marker, helpers, classes, exported };
        if package.is_plain() {
            let names = plain::names(context, module);
            let data = context! { names, is_root => module.is_none(), ..data };
            outputs.push(modules.write(format!("{path}.py"), "python/plain.py.j2", data, note)?);
            continue;
        }
        outputs.push(modules.write(format!("{path}.py"), "python/package.py.j2", data.clone(), note)?);
        let modules = Modules { helpers: Vec::new(), classes: NO_CLASSES, ..modules };
        let note = "the types of its functions".to_owned();
        outputs.push(modules.write(format!("{path}.pyi"), "python/package.pyi.j2", data, note)?);
    }
    if let Some(library) = &package.library {
        outputs.extend(plain::helpers(templates, context, marker, library)?);
    }
    if !classes.is_empty() {
        let note = super::class_count(&classes);
        let path = format!("{}/_structs.py", package.name.value);
        let modules = Modules::alone(templates, marker);
        outputs.push(modules.write(
            path,
            "python/structs.py.j2",
            context! { classes => Serde(&classes) },
            note,
        )?);
    }
    Ok(outputs)
}

/// Returns the signature of a function in its package: `acl.rt.malloc(size, policy) -> (dev_ptr, ret)`.
pub fn signature(spec: &Spec, interface: &Interface, function: &Function) -> Option<String> {
    let context = Context { spec, interface, package: interface.python.as_ref()? };
    let python = function.python.as_ref()?;
    let method = Method { context, function, python };
    Some(format!("{}.{}", context.path(python.module), method.signature()))
}

/// An interface and its Python package.
#[derive(Clone, Copy)]
struct Context<'a> {
    spec: &'a Spec,
    interface: &'a Interface,
    package: &'a PythonPackage,
}

impl<'a> Context<'a> {
    /// Returns the path of a module: `acl.rt`.
    fn path(self, module: Option<usize>) -> String {
        let package = &self.package.name.value;
        match module {
            Some(index) => format!("{package}.{}", self.package.modules[index].name.value),
            None => package.clone(),
        }
    }

    fn module(self, module: Option<usize>) -> Value {
        let (summary, text) = match module {
            Some(index) => (&self.package.modules[index].summary, &self.package.modules[index].doc),
            None => (&self.interface.summary, &self.interface.doc),
        };
        let defined: Vec<String> = self
            .methods(None)
            .filter(|method| method.python.module == module)
            .map(|method| names::variable(&method.python.name.value))
            .collect();
        let section = |(index, group): (usize, &Group)| {
            let methods = self.methods(Some(GroupId(index))).filter(|method| method.python.module == module);
            let functions: Vec<Value> = methods.map(|method| method.item(&defined)).collect();
            (!functions.is_empty()).then(|| context! { comment => &group.title, functions })
        };
        let sections = self.interface.groups.iter().enumerate().filter_map(section);
        context! {
            summary => self.prose(summary),
            text => self.prose(text),
            sections => sections.collect::<Value>(),
        }
    }

    /// Returns the functions of a group, or all.
    fn methods(self, group: Option<GroupId>) -> impl Iterator<Item = Method<'a>> {
        let functions = self.interface.functions.iter();
        functions.filter(move |function| group.is_none_or(|group| function.group == group)).filter_map(
            move |function| Some(Method { context: self, function, python: function.python.as_ref()? }),
        )
    }

    /// Converts prose for docstrings: functions get their Python names.
    fn prose(self, text: &str) -> String {
        spans(text, |span| {
            let (name, rest) = span.split_at(span.find('(').unwrap_or(span.len()));
            let functions = &self.interface.functions;
            let function =
                functions.iter().find(|function| function.name.value == name || function.c_name == name)?;
            Some(match &function.python {
                Some(python) => format!("{}.{}{rest}", self.path(python.module), python.name.value),
                None => format!("{}{rest}", function.c_name),
            })
        })
    }

    /// Returns the structs that generated bodies read or write, each after those that it uses.
    fn structs(self) -> Vec<TypeId> {
        let mut used = Vec::new();
        let generated = self.methods(None).filter(|method| !method.python.by_hand);
        for param in generated.flat_map(|method| &method.function.params) {
            self.add_structs(param, &mut used);
        }
        used
    }

    fn add_structs(self, param: &ModelParam, used: &mut Vec<TypeId>) {
        let Some(PythonForm::One(One::Dict(id)) | PythonForm::List(One::Dict(id), _)) =
            form(self.spec, param)
        else {
            return;
        };
        if !used.contains(&id) {
            self.fields(id).iter().for_each(|field| self.add_structs(field, used));
            used.push(id);
        }
    }

    fn fields(self, id: TypeId) -> &'a [ModelParam] {
        match &self.spec.ty(id).kind {
            TypeKind::Struct { fields, .. } => fields,
            _ => &[],
        }
    }

    fn class(self, id: TypeId) -> Class {
        let ty = self.spec.ty(id);
        let fields = self.fields(id).iter().map(|field| {
            let plain = |item| CType::plain(self.spec, item);
            let ctype = match form(self.spec, field) {
                Some(PythonForm::List(item, Extent::Number(count))) => {
                    CType::Array(Box::new(plain(item)), *count)
                }
                Some(PythonForm::One(item)) => plain(item),
                // Any other pointer is an integer, like every address.
                _ => plain(One::Address),
            };
            let name = field.python_name.as_ref().unwrap_or(&field.name.value);
            Field { name: name.clone(), ctype, doc: String::new() }
        });
        let mut doc = Docstring::new(&self.prose(&ty.summary));
        let size = abi::size_of(self.spec, Ty::Named(id), None).0;
        doc.paragraph(&format!("``{}``: {size} bytes.", ty.c_name));
        Class::structure(names::variable(&ty.name.value), &doc, &fields.collect::<Vec<_>>(), false)
    }
}

/// A function of a module.
#[derive(Clone, Copy)]
struct Method<'a> {
    context: Context<'a>,
    function: &'a Function,
    python: &'a PythonFunction,
}

impl Method<'_> {
    /// Returns the variable of a parameter in the body. It differs from the body's other names.
    fn local(self, id: ParamId) -> String {
        // A body of the conventions of pyACL calls its own function again.
        let mut taken = if self.context.package.is_plain() {
            Vec::new()
        } else {
            vec![names::variable(&self.python.name.value), self.own("args"), self.own("ret")]
        };
        for param in &self.function.params[..=id.0] {
            taken.push(names::free(names::variable(&param.name.value), &taken));
        }
        taken.pop().unwrap_or_default()
    }

    /// Returns a variable of the body itself, which differs from the name of the function.
    fn own(self, name: &str) -> String {
        names::free(name.to_owned(), &[names::variable(&self.python.name.value)])
    }

    fn param(self, id: ParamId) -> Param {
        let local = |id| self.local(id);
        let (ctype, pass) = of_export(self.context.spec, self.function, self.python, id, &local);
        // The type of a value that only a hand-written body understands.
        let nullable = self.function.param(id).nullable && ctype != CType::Object("_T.Any");
        Param { name: self.local(id), ctype, pass, nullable, doc: String::new(), returned: String::new() }
    }

    fn item(self, defined: &[String]) -> Value {
        let params: Vec<Param> =
            (0..self.function.params.len()).map(|index| self.param(ParamId(index))).collect();
        let result = match &self.function.result {
            ResultKind::Status => None,
            ResultKind::None => Some("None".to_owned()),
            ResultKind::Value(result) => Some(self.ctype(result).name()),
        };
        let assigned = format!("{} = ", self.own("ret"));
        // The text before and after the call.
        let call = match &self.function.result {
            ResultKind::Status if self.python.returns.is_empty() => ["return ", ")"],
            ResultKind::Status => [assigned.as_str(), ")"],
            ResultKind::Value(result) if result.ty == Ty::String && result.nullable => {
                ["return _Call.decoded_or_none(", "))"]
            }
            ResultKind::Value(result) if result.ty == Ty::String => ["return _Call.decoded(", "))"],
            ResultKind::Value(_) => ["return ", ")"],
            ResultKind::None => ["", ")"],
        }
        .map(str::to_owned);
        let optional = optional_args(self.function, self.python);
        let needed = self.python.args.len() - optional;
        let mut takes: Vec<String> = self.python.args.iter().map(|id| params[id.0].hint()).collect();
        takes[needed..].iter_mut().for_each(|hint| hint.push_str(" = ..."));
        takes.iter_mut().for_each(|param| *param = hinted(param, defined));
        takes.extend((!takes.is_empty()).then(|| "/".to_owned()));
        context! {
            plain => self.context.package.is_plain().then(|| self.plain(&params, defined, call.clone())),
            name => names::variable(&self.python.name.value),
            bound => names::bound(&self.python.name.value),
            binding => binding(&self.function.c_name, &params, result),
            takes,
            gives => names::hint(&self.gives(&params), defined),
            doc => self.docstring(),
            prepared => params.iter().filter_map(prepared).collect::<Vec<_>>(),
            passed => params.iter().map(passed).collect::<Vec<_>>(),
            results => self.python.returns.iter().map(|id| read(&params[id.0])).collect::<Vec<_>>(),
            all => self.own("args"),
            ret => self.own("ret"),
            by_hand => self.python.by_hand,
            args => self.python.args.iter().map(|id| self.local(*id)).collect::<Vec<_>>(),
            given => given(&self.own("args"), needed, optional),
            optional,
            call,
        }
    }

    /// Returns the type of a function's return value.
    fn ctype(self, result: &ModelParam) -> CType {
        match form(self.context.spec, result) {
            Some(PythonForm::Text) => CType::Text,
            Some(PythonForm::One(item)) => CType::plain(self.context.spec, item),
            _ => CType::Object("_T.Any"),
        }
    }

    /// Returns the type of the result for type checkers.
    fn gives(self, params: &[Param]) -> String {
        let results: Vec<String> = self.python.returns.iter().map(|id| params[id.0].given()).collect();
        match &self.function.result {
            ResultKind::None => "None".to_owned(),
            ResultKind::Status if results.is_empty() => "int".to_owned(),
            ResultKind::Status => format!("tuple[{}, int]", results.join(", ")),
            ResultKind::Value(result) => {
                let ctype = self.ctype(result);
                let or_none = if ctype == CType::Text && result.nullable { " | None" } else { "" };
                ctype.given() + or_none
            }
        }
    }

    /// Returns the signature: `malloc(size, policy) -> (dev_ptr, ret)`.
    fn signature(self) -> String {
        let name = |id: &ParamId| self.function.param(*id).name.value.as_str();
        let args: Vec<&str> = self.python.args.iter().map(name).collect();
        let (needed, optional) = args.split_at(args.len() - optional_args(self.function, self.python));
        let comma = if needed.is_empty() || optional.is_empty() { "" } else { ", " };
        let args = match optional {
            [] => needed.join(", "),
            _ => format!("{}[{comma}{}]", needed.join(", "), optional.join(", ")),
        };
        let status = (!self.context.package.is_plain()).then_some("ret");
        let results: Vec<&str> = self.python.returns.iter().map(name).chain(status).collect();
        let results = match &self.function.result {
            ResultKind::Status if results.is_empty() => "None".to_owned(),
            ResultKind::Status if results.len() == 1 => results.concat(),
            ResultKind::Status => format!("({})", results.join(", ")),
            _ => self.gives(&[]),
        };
        format!("{}({args}) -> {results}", self.python.name.value)
    }
}

/// Returns the value that the arguments are unpacked from; omitted arguments are null.
fn given(args: &str, needed: usize, optional: usize) -> String {
    let nulls = vec!["None"; optional].join(", ");
    let comma = if optional == 1 { "," } else { "" };
    match (needed, optional) {
        (_, 0) => args.to_owned(),
        (0, _) => format!("(*{args}, *({nulls}{comma})[_B.len({args}) :])"),
        _ => format!("(*{args}, *({nulls}{comma})[_B.len({args}) - {needed} :])"),
    }
}

/// Returns the statement that converts an argument for ctypes.
fn prepared(param: &Param) -> Option<String> {
    let (name, ctype) = (&param.name, param.ctype.name());
    let or_null = if param.nullable { "_or_null" } else { "" };
    let value = match (&param.pass, &param.ctype) {
        (Pass::Value, CType::Text) => format!("_Call.encoded{or_null}({name})"),
        (Pass::Value | Pass::Address, CType::Dict(_)) => format!("_Call.packed{or_null}({ctype}, {name})"),
        (Pass::List(None), _) => format!("_Call.listed({ctype}, {name})"),
        (Pass::List(Some(length)), _) => format!("_Call.listed({ctype}, {name}, {length})"),
        (Pass::Room(count), CType::Char) => format!("_C.create_string_buffer({count})"),
        (Pass::Room(count), _) => format!("({ctype} * {count})()"),
        (Pass::Output, _) => format!("{ctype}()"),
        (Pass::Exchange, _) => format!("{ctype}({name})"),
        _ => return None,
    };
    Some(format!("{name} = {value}"))
}

/// Returns the argument for the foreign function.
fn passed(param: &Param) -> String {
    match &param.pass {
        Pass::Length(list) => format!("_B.len({list})"),
        Pass::Null(by_address) if *by_address || param.ctype == CType::Text => "None".to_owned(),
        Pass::Null(_) => "0".to_owned(),
        _ => param.name.clone(),
    }
}

/// Returns the result for a parameter.
fn read(param: &Param) -> String {
    let name = &param.name;
    match (&param.pass, &param.ctype) {
        (Pass::Room(_), CType::Char) => format!("_Call.decoded({name}.value)"),
        (Pass::Room(_) | Pass::List(_), ctype) => ctype.read_list(name),
        (Pass::Value, ctype) if !matches!(ctype, CType::Dict(_)) => name.clone(),
        (_, ctype) => ctype.read(name),
    }
}
