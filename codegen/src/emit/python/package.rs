//! The Python package of an export: a module for each of its modules, with a stub that names the parameters.
//!
//! A function takes its arguments by position alone and counts them itself, as one that is written in C does. Its
//! stub says what they are, for type checkers and editors.

use std::collections::BTreeSet;

use minijinja::Environment;
use minijinja::value::Serde;
use serde::Serialize;

use super::docstring::{Docstring, spans};
use super::layout::{identifiers, listed};
use super::method::Method;
use super::{CTYPES, import, names};
use crate::abi;
use crate::emit::text::count;
use crate::model::*;
use crate::out::Output;
use crate::python::{Form, Item, form};

/// What they take from the module beside them that is written by hand.
const CALL: &[&str] = &[
    "REFUSED",
    "absent",
    "again",
    "bind",
    "contents",
    "decoded",
    "decoded_or_none",
    "encoded",
    "encoded_or_null",
    "listed",
    "packed",
    "packed_or_null",
    "unpacked",
];

#[derive(Serialize)]
struct Module<'a> {
    marker: &'a str,
    doc: Vec<String>,
    imports: Vec<String>,
    stub_imports: Vec<String>,
    sections: Vec<Section>,
}

#[derive(Serialize)]
struct Section {
    comment: String,
    functions: Vec<FunctionItem>,
}

#[derive(Serialize)]
struct FunctionItem {
    binding: Vec<String>,
    head: Vec<String>,
    doc: Vec<String>,
    body: Vec<String>,
    stub: Vec<String>,
}

#[derive(Serialize)]
struct Structs<'a> {
    marker: &'a str,
    imports: Vec<String>,
    classes: Vec<StructItem>,
}

#[derive(Serialize)]
struct StructItem {
    name: String,
    doc: Vec<String>,
    fields: Vec<String>,
}

/// The modules of an interface's package, with paths relative to the folder of packages.
///
/// # Errors
/// When a template does not fit its data, which is a mistake of ours.
pub fn package(
    templates: &Environment,
    spec: &Spec,
    interface: &Interface,
    marker: &str,
) -> Result<Vec<Output>, minijinja::Error> {
    let Some(package) = &interface.python else { return Ok(Vec::new()) };
    let context = Context { spec, interface, package };
    let modules = std::iter::once(None).chain((0..package.modules.len()).map(Some));
    let by_hand = |module: &Option<usize>| module.is_some_and(|index| package.modules[index].by_hand);
    let mut outputs = Vec::new();
    for module in modules.filter(|module| !by_hand(module)) {
        let item = context.module(module, marker);
        let path = format!("{}/{}", package.name.value, context.file(module));
        let functions = item.sections.iter().map(|section| section.functions.len()).sum();
        let text = templates.get_template("python/module.py.j2")?.render(Serde(&item))?;
        let stub = templates.get_template("python/module.pyi.j2")?.render(Serde(&item))?;
        outputs.push(Output::new(format!("{path}.py"), text, count(functions, "function")));
        outputs.push(Output::new(format!("{path}.pyi"), stub, "the types of its functions"));
    }
    let structs = context.structs(marker);
    if !structs.classes.is_empty() {
        let text = templates.get_template("python/structs.py.j2")?.render(Serde(&structs))?;
        let note = match structs.classes.len() {
            1 => "1 class".to_owned(),
            number => format!("{number} classes"),
        };
        outputs.push(Output::new(format!("{}/_structs.py", package.name.value), text, note));
    }
    Ok(outputs)
}

/// A function as its package has it, with its path: `acl.rt.malloc(size, policy) -> (dev_ptr, ret)`.
pub fn signature(spec: &Spec, interface: &Interface, function: &Function) -> Option<String> {
    let context = Context { spec, interface, package: interface.python.as_ref()? };
    let python = function.python.as_ref()?;
    Some(format!("{}.{}", context.path(python.module), Method::new(context, function, python).signature()))
}

/// An interface and its package.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) spec: &'a Spec,
    pub(super) interface: &'a Interface,
    pub(super) package: &'a PythonPackage,
}

impl<'a> Context<'a> {
    fn file(self, module: Option<usize>) -> &'a str {
        module.map_or("__init__", |index| &self.package.modules[index].name.value)
    }

    /// `acl.rt`
    pub(super) fn path(self, module: Option<usize>) -> String {
        let package = &self.package.name.value;
        match module {
            Some(index) => format!("{package}.{}", self.package.modules[index].name.value),
            None => package.clone(),
        }
    }

    fn methods(self, group: GroupId, module: Option<usize>) -> Vec<Method<'a>> {
        let functions = self.interface.in_group(group);
        let methods =
            functions.filter_map(|function| Some(Method::new(self, function, function.python.as_ref()?)));
        methods.filter(|method| method.python.module == module).collect()
    }

    fn module(self, module: Option<usize>, marker: &'a str) -> Module<'a> {
        let groups = self.interface.groups.iter().enumerate();
        let sections: Vec<(&Group, Vec<Method>)> = groups
            .map(|(index, group)| (group, self.methods(GroupId(index), module)))
            .filter(|(_, methods)| !methods.is_empty())
            .collect();
        let methods = || sections.iter().flat_map(|(_, methods)| methods);
        let code: Vec<String> =
            methods().flat_map(|method| method.binding().into_iter().chain(method.body())).collect();
        let words: BTreeSet<&str> =
            code.iter().flat_map(|line| identifiers(line)).chain(["absent", "contents"]).collect();
        let taken = |known: &[&str]| -> Vec<String> {
            known.iter().filter(|name| words.contains(**name)).map(|name| (*name).to_owned()).collect()
        };
        let mut imports = import("ctypes", taken(CTYPES));
        imports.extend(import(
            "typing",
            if methods().next().is_some() { vec!["Any".to_owned()] } else { Vec::new() },
        ));
        imports.extend((!imports.is_empty()).then(String::new));
        let modules = if module.is_none() { self.module_imports() } else { Vec::new() };
        imports.extend(modules.clone());
        imports.extend(import("._call", taken(CALL)));
        if methods().any(|method| method.python.by_hand) {
            imports.push(format!("from ._hand import {} as _hand", self.hand(module)));
        }
        let structs: Vec<String> = self
            .structs_in_use()
            .into_iter()
            .map(|ty| ty.name.value.clone())
            .filter(|name| words.contains(&**name))
            .collect();
        imports.extend(import("._structs", structs));
        let stubs: Vec<String> = methods().flat_map(|method| method.stub()).collect();
        // A name that is not there is one of these too.
        let always = ["Any", "Callable"];
        let named: BTreeSet<&str> = stubs.iter().flat_map(|line| identifiers(line)).chain(always).collect();
        let typed = |known: &[&str]| -> Vec<String> {
            known.iter().filter(|name| named.contains(**name)).map(|name| (*name).to_owned()).collect()
        };
        let mut stub_imports = import("collections.abc", typed(&["Callable", "Mapping", "Sequence"]));
        stub_imports.extend(import("typing", typed(&["Any"])));
        stub_imports.extend((!modules.is_empty()).then(String::new));
        stub_imports.extend(modules);
        Module {
            marker,
            doc: self.doc(module).lines(0),
            imports,
            stub_imports,
            sections: sections
                .iter()
                .map(|(group, methods)| Section {
                    comment: group.title.clone(),
                    functions: methods
                        .iter()
                        .map(|method| FunctionItem {
                            binding: method.binding(),
                            head: method.head(),
                            doc: method.docstring(),
                            body: method.body(),
                            stub: method.stub(),
                        })
                        .collect(),
                })
                .collect(),
        }
    }

    /// The modules as names of the package.
    fn module_imports(self) -> Vec<String> {
        let mut names: Vec<&str> = self.package.modules.iter().map(|module| &*module.name.value).collect();
        names.sort_unstable();
        names.iter().map(|name| format!("from . import {name} as {name}")).collect()
    }

    fn has_functions(self, module: Option<usize>) -> bool {
        let functions = self.interface.functions.iter().filter_map(|function| function.python.as_ref());
        functions.into_iter().any(|python| python.module == module)
    }

    /// The module that has the bodies that are written by hand.
    fn hand(self, module: Option<usize>) -> &'a str {
        module.map_or(&self.package.name.value, |index| &self.package.modules[index].name.value)
    }

    fn doc(self, module: Option<usize>) -> Docstring {
        let (summary, more) = match module {
            Some(index) => (&self.package.modules[index].summary, &self.package.modules[index].doc),
            None => (&self.interface.summary, &self.interface.doc),
        };
        let mut doc = Docstring::new(&self.prose(summary));
        doc.paragraphs(&self.prose(more));
        if !self.has_functions(module) {
            doc.paragraph(
                "There is none of it here: a name of this module is a function that answers that it is not supported.",
            );
            return doc;
        }
        doc.paragraph(
            "Arguments go by their position. Handles and addresses are numbers, and 0 is null; a number that is too \
             large for its type loses its upper bits, as in C. What C writes through a pointer is returned, and the \
             status comes last: 0 is success. A wrong number of arguments or one of another type is a ``TypeError``.",
        );
        doc.paragraph(
            "While a function runs, other threads of Python do too: the interpreter's lock is released in each of \
             them. A name that is not here is a function that answers that it is not supported.",
        );
        doc
    }

    /// Prose as docstrings have it: functions by their Python names.
    pub(super) fn prose(self, text: &str) -> String {
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

    /// The structs that generated bodies fill or read, each behind those that it names.
    fn structs_in_use(self) -> Vec<&'a Type> {
        let mut used = Vec::new();
        let functions = self.interface.functions.iter();
        let generated =
            functions.filter(|function| function.python.as_ref().is_some_and(|python| !python.by_hand));
        for param in generated.flat_map(|function| &function.params) {
            self.add_structs(param, &mut used);
        }
        used
    }

    fn add_structs(self, param: &Param, used: &mut Vec<&'a Type>) {
        let Some(Form::One(Item::Dict(id)) | Form::List(Item::Dict(id), _)) = form(self.spec, param) else {
            return;
        };
        let ty = self.spec.ty(id);
        if used.iter().any(|known| std::ptr::eq(*known, ty)) {
            return;
        }
        if let TypeKind::Struct { fields, .. } = &ty.kind {
            fields.iter().for_each(|field| self.add_structs(field, used));
        }
        used.push(ty);
    }

    fn structs(self, marker: &'a str) -> Structs<'a> {
        let classes: Vec<StructItem> = self.structs_in_use().into_iter().map(|ty| self.class(ty)).collect();
        let words: BTreeSet<&str> = classes
            .iter()
            .flat_map(|class| &class.fields)
            .flat_map(|line| identifiers(line))
            .chain(["Structure"])
            .collect();
        let taken = CTYPES.iter().filter(|name| words.contains(**name)).map(|name| (*name).to_owned());
        Structs { marker, imports: import("ctypes", taken.collect()), classes }
    }

    fn class(self, ty: &Type) -> StructItem {
        let fields = match &ty.kind {
            TypeKind::Struct { fields, .. } => &fields[..],
            _ => &[],
        };
        let spelled: Vec<String> = fields
            .iter()
            .map(|field| {
                let ctype = match form(self.spec, field) {
                    Some(Form::List(item, Extent::Number(count))) => {
                        format!("{} * {count}", self.ctype(item))
                    }
                    Some(Form::One(item)) => self.ctype(item),
                    // A pointer to anything else is a number here, as every address is.
                    _ => "c_uint64".to_owned(),
                };
                format!("(\"{}\", {ctype})", field.python_name.as_ref().unwrap_or(&field.name.value))
            })
            .collect();
        let mut doc = Docstring::new(&self.prose(&ty.summary));
        let size = abi::size_of(self.spec, Ty::Named(self.id(ty)), None).0;
        doc.paragraph(&format!("``{}``: {size} bytes.", ty.c_name));
        StructItem {
            name: names::variable(&ty.name.value),
            doc: doc.lines(4),
            fields: listed(4, "_fields_ = [", &spelled, "]"),
        }
    }

    fn id(self, ty: &Type) -> TypeId {
        let interfaces = self.spec.interfaces.iter().enumerate();
        let found = interfaces.flat_map(|(interface, it)| {
            it.types
                .iter()
                .enumerate()
                .map(move |(index, ty)| (TypeId { interface: InterfaceId(interface), index }, ty))
        });
        let mut found = found.filter(|(_, known)| std::ptr::eq(*known, ty)).map(|(id, _)| id);
        found.next().unwrap_or(TypeId { interface: InterfaceId(0), index: 0 })
    }

    /// How ctypes spells a value: addresses are numbers, which None is not.
    pub(super) fn ctype(self, item: Item) -> String {
        match item {
            Item::Address => "c_uint64".to_owned(),
            Item::Number(Ty::Char) => "c_uint8".to_owned(),
            Item::Number(Ty::Named(_)) => "c_int32".to_owned(),
            Item::Number(ty) | Item::Float(ty) => super::ctypes::Form::of(self.spec, ty).ctype(),
            Item::Dict(id) => self.spec.ty(id).name.value.clone(),
        }
    }
}
