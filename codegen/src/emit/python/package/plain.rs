//! Packages with the usual conventions of Python: arguments by position or name, outputs as results, and an exception for a
//! failure.

use std::collections::BTreeSet;

use minijinja::value::Serde;
use minijinja::{Environment, Value, context};

use super::{Context, Method};
use crate::emit::python::class::{Class, Member};
use crate::emit::python::class_count;
use crate::emit::python::docstring::Docstring;
use crate::emit::python::function::hinted;
use crate::emit::python::module::Modules;
use crate::emit::python::names;
use crate::emit::python::param::Param;
use crate::model::python_form::optional_args;
use crate::model::{EnumValue, Function, ParamId, ResultKind, Ty, TypeId, TypeKind};
use crate::out::Output;
use crate::text::collapse;

/// Returns the names that a module offers, in the order of the alphabet.
pub fn names(context: Context, module: Option<usize>) -> Vec<String> {
    let functions = context.methods(None).filter(|method| method.python.module == module);
    let mut names: Vec<String> = functions.map(|method| names::variable(&method.python.name.value)).collect();
    names.extend(offered(context, module).into_iter().map(|(name, _)| name));
    if module.is_none() {
        names.extend(context.package.modules.iter().map(|module| module.name.value.clone()));
    }
    names.sort();
    names
}

/// Returns the classes that the package offers beside its functions, each with its import: the exception and the enums.
pub fn offered(context: Context, module: Option<usize>) -> Vec<(String, String)> {
    if module.is_some() || !context.package.is_plain() {
        return Vec::new();
    }
    let enums = context.enums().into_iter().map(|id| ("_enums", context.spec.ty(id).name.value.clone()));
    let classes = std::iter::once(("_call", "Error".to_owned())).chain(enums);
    classes.map(|(module, name)| (name.clone(), format!("from .{module} import {name} as {name}"))).collect()
}

impl<'a> Context<'a> {
    /// Returns the enums of the functions, and the status, in the order of the spec.
    fn enums(self) -> BTreeSet<TypeId> {
        let functions = self.methods(None).map(|method| method.function);
        let results = |function: &'a Function| function.params.iter().chain(function.result.value());
        let fields = self.structs().into_iter().flat_map(|id| self.fields(id));
        let named = functions.flat_map(results).chain(fields).filter_map(|param| param.ty.id());
        let is_enum = |id: &TypeId| matches!(self.spec.ty(*id).kind, TypeKind::Enum { .. });
        named.chain(self.interface.status).filter(is_enum).collect()
    }

    /// Returns the class of an enum.
    fn enum_class(self, id: TypeId) -> Class {
        let ty = self.spec.ty(id);
        let mut doc = Docstring::new(&self.prose(&ty.summary));
        doc.paragraphs(&self.prose(&ty.doc));
        let members = ty.enum_values().iter().map(|value| Member::of(value, |text| self.prose(text)));
        let flags = matches!(ty.kind, TypeKind::Enum { flags: true, .. });
        Class::constants(ty.name.value.clone(), &doc, flags, members.collect())
    }

    /// Returns the name of the value of an enum in the package: `Colour.RED`.
    pub(super) fn constant(self, ty: TypeId, value: &EnumValue) -> String {
        format!("{}.{}", self.spec.ty(ty).name.value, names::member(&value.name.value))
    }
}

/// Writes the modules that the functions use: the one that loads the library, and the marker of types.
pub fn helpers(
    templates: &Environment,
    context: Context,
    marker: &str,
    library: &str,
) -> Result<Vec<Output>, minijinja::Error> {
    let package = &context.package.name.value;
    let statuses = context.spec.status_values(context.interface).iter();
    let statuses = statuses.filter(|status| !status.alias && status.value != 0).map(|status| {
        context! { number => status.value, name => &status.c_name, meaning => collapse(&context.prose(&status.summary)) }
    });
    let template = templates.get_template("python/call.py.j2")?;
    let text = template.render(context! {
        marker,
        library,
        package,
        variable => format!("{}_LIBRARY", package.to_uppercase()),
        statuses => statuses.collect::<Value>(),
    })?;
    let mut outputs = vec![
        Output::new(format!("{package}/_call.py"), text, "the calls of the library"),
        Output::new(format!("{package}/py.typed"), "", ""),
    ];
    let classes: Vec<Class> = context.enums().into_iter().map(|id| context.enum_class(id)).collect();
    if !classes.is_empty() {
        let modules = Modules::alone(templates, marker);
        let (path, note) = (format!("{package}/_enums.py"), class_count(&classes));
        outputs.push(modules.write(
            path,
            "python/enums.py.j2",
            context! { classes => Serde(&classes) },
            note,
        )?);
    }
    Ok(outputs)
}

/// The code for one parameter.
struct Prepared {
    /// The statement before the call that makes the value for C.
    statement: Option<String>,
    /// The argument of the call.
    passed: String,
    /// The result after the call.
    read: String,
}

impl Method<'_> {
    /// Prepares what differs from the other conventions.
    pub(super) fn plain(self, params: &[Param], defined: &[String], call: [String; 2]) -> Value {
        let needed = self.python.args.len() - optional_args(self.function, self.python);
        let mut takes: Vec<String> = self.python.args.iter().map(|id| params[id.0].hint()).collect();
        takes[needed..].iter_mut().for_each(|hint| hint.push_str(" = None"));
        takes.iter_mut().for_each(|param| *param = hinted(param, defined));
        let results: Vec<String> = self.python.returns.iter().map(|id| params[id.0].given()).collect();
        let gives = match (&self.function.result, results.as_slice()) {
            (ResultKind::Status, []) => "None".to_owned(),
            (ResultKind::Status, [one]) => one.clone(),
            (ResultKind::Status, several) => format!("tuple[{}]", several.join(", ")),
            _ => self.gives(params),
        };
        let params: Vec<Prepared> =
            params.iter().enumerate().map(|(id, it)| self.prepared(ParamId(id), it)).collect();
        // A variable with a type, because what a foreign function returns has none.
        let returned = names::free("returned".to_owned(), &self.locals());
        let is_value = matches!(&self.function.result, ResultKind::Value(result) if result.ty != Ty::String);
        let call = if is_value {
            [format!("{returned}: {} = ", names::hint(&gives, defined)), ")".to_owned()]
        } else {
            call
        };
        context! {
            returned => is_value.then_some(returned),
            call,
            prepared => params.iter().filter_map(|it| it.statement.clone()).collect::<Vec<_>>(),
            passed => params.iter().map(|it| it.passed.clone()).collect::<Vec<_>>(),
            results => self.python.returns.iter().map(|id| params[id.0].read.clone()).collect::<Vec<_>>(),
            takes,
            gives => names::hint(&gives, defined),
            checks => matches!(self.function.result, ResultKind::Status),
        }
    }

    /// Prepares a parameter. An argument that is converted for C gets a variable of its own, which has another type.
    fn prepared(self, id: ParamId, param: &Param) -> Prepared {
        let statement = super::prepared(param);
        let is_argument = self.python.args.contains(&id);
        let converted =
            statement.as_ref().and_then(|statement| statement.split_once(" = ")).filter(|_| is_argument);
        let Some((_, value)) = converted else {
            return Prepared { statement, passed: super::passed(param), read: super::read(param) };
        };
        let name = names::free(format!("{}_c", param.name), &self.locals());
        let statement = Some(format!("{name} = {value}"));
        let param = Param { name, ..param.clone() };
        Prepared { statement, passed: super::passed(&param), read: super::read(&param) }
    }

    /// Returns the variables of all parameters.
    fn locals(self) -> Vec<String> {
        (0..self.function.params.len()).map(|index| self.local(ParamId(index))).collect()
    }
}
