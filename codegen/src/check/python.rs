//! The Python package of an export: the module, arguments and results of each function.

use crate::diagnostic::{Code, Diagnostic};
use crate::language::python::{Form, form, is_keyword, is_output, list_of};
use crate::model::{Direction, Extent, Function, Length, ParamId, PythonFunction};

use super::Check;

/// A function is in the interface's package.
pub(super) fn check_place(check: &Check) {
    let has_package = check.interface.python.is_some() || check.interface.places.has("python");
    for function in check.interface.functions.iter().filter(|_| !has_package) {
        if let Some(place) = function.places.get("python") {
            let message = format!("`{}` has no Python package to be in", check.interface.name.value);
            Diagnostic::new(Code::PythonPlace, place.key, message)
                .label("this needs `python` in `interface.yaml`")
                .report(check);
        }
    }
}

/// Parameters that C reads are arguments, and parameters that it writes are results; each is one of both.
pub(super) fn check_parameters(check: &Check) {
    for (function, python) in generated(check) {
        let Some(place) = function.places.get("python") else { continue };
        let error =
            |key: &str, message: String| Diagnostic::new(Code::PythonParameters, place.span(key), message);
        for (index, id) in python.args.iter().enumerate() {
            let param = function.param(*id);
            let name = &param.name.value;
            if is_output(param) {
                let message = format!("`{name}` is written by `{}`", function.name.value);
                error("args", message)
                    .label("so it is returned")
                    .related(param.name.span, "this one")
                    .report(check);
            } else if list_of(&function.params, *id).is_some() {
                let message = format!("`{name}` is the length of a list");
                error("args", message)
                    .label("so it is no argument")
                    .related(param.name.span, "this one")
                    .report(check);
            } else if python.args[..index].contains(id) {
                error("args", format!("`{name}` is there twice"))
                    .label("one argument is one parameter")
                    .report(check);
            }
        }
        for (index, id) in python.returns.iter().enumerate() {
            let param = function.param(*id);
            let name = &param.name.value;
            if param.dir == Direction::In && !python.args.contains(id) {
                let message =
                    format!("`{name}` is neither an argument nor written by `{}`", function.name.value);
                let diagnostic = error("returns", message).label("so there is nothing to return");
                check.report(diagnostic.related(param.name.span, "this one"));
            } else if python.returns[..index].contains(id) {
                error("returns", format!("`{name}` is there twice"))
                    .label("one value is one parameter")
                    .report(check);
            }
        }
        for (index, param) in function.params.iter().enumerate() {
            let id = ParamId(index);
            let is_used = python.args.contains(&id)
                || python.returns.contains(&id)
                || list_of(&function.params, id).is_some();
            if !is_used && !check.may_be_null(param) {
                let message = format!("Python neither passes nor returns `{}`", param.name.value);
                Diagnostic::new(Code::PythonParameters, place.key, message)
                    .label("name it in `args` or in `returns`")
                    .related(param.name.span, "this one may not be null")
                    .report(check);
            }
        }
    }
}

/// Every argument and result has a form in Python.
pub(super) fn check_forms(check: &Check) {
    for (function, python) in generated(check) {
        check_room(check, function, python);
        let result = function.result.value();
        if result.is_some() && !python.returns.is_empty() {
            let message = format!("`{}` returns a value, and writes others", function.name.value);
            Diagnostic::new(Code::PythonForm, function.places.at("result").key, message)
                .label("beside a status, Python returns either")
                .help("write `by_hand: true` and the body by hand")
                .report(check);
        }
        let passed = python.args.iter().chain(&python.returns).map(|id| function.param(*id));
        let sound = passed.chain(result).filter(|param| check.knows_type(param));
        for param in sound.filter(|param| form(check.spec, param).is_none()) {
            let message = format!("{} has no form in Python", check.show_param(param));
            Diagnostic::new(Code::PythonForm, param.places.span("type"), message)
                .label("numbers, texts, lists and dicts have one")
                .help("write `by_hand: true` and the body by hand")
                .report(check);
        }
    }
}

/// Python knows how much room an output needs before the call.
fn check_room(check: &Check, function: &Function, python: &PythonFunction) {
    for param in python.returns.iter().map(|id| function.param(*id)) {
        let Some(Length::Bytes(Extent::Param(id)) | Length::Count(Extent::Param(id))) = param.length else {
            continue;
        };
        let is_buffer = matches!(form(check.spec, param), Some(Form::Buffer(_) | Form::List(..)));
        if is_buffer && param.dir == Direction::Out && !python.args.contains(&id) {
            let (name, length) = (&param.name.value, function.param(id));
            let message = format!("nothing says how much room `{name}` needs");
            Diagnostic::new(Code::PythonForm, param.name.span, message)
                .label("Python makes it before the call")
                .related(length.name.span, "this is no argument")
                .help("write `by_hand: true` and the body by hand")
                .report(check);
        } else if is_buffer && function.param(id).dir != Direction::In {
            let message = format!("`{}` is written by the call", function.param(id).name.value);
            Diagnostic::new(Code::PythonForm, function.param(id).places.span("dir"), message)
                .label("Python has to know it before, and would not see what becomes of it")
                .help("write `by_hand: true` and the body by hand")
                .report(check);
        }
    }
}

/// The name of a function is unique in its module and no keyword of Python.
pub(super) fn check_names(check: &Check) {
    let Some(package) = &check.interface.python else { return };
    let functions = check.interface.functions.iter().filter_map(|function| function.python.as_ref());
    let mut seen: Vec<&PythonFunction> = Vec::new();
    for python in functions {
        let name = &python.name;
        let error = |code, message| Diagnostic::new(code, name.span, message);
        let before =
            seen.iter().find(|other| other.module == python.module && other.name.value == name.value);
        let module =
            package.modules.iter().find(|module| python.module.is_none() && module.name.value == name.value);
        if let Some(span) = before.map(|other| other.name.span).or(module.map(|module| module.name.span)) {
            let message = format!("the Python name `{}` is there twice", name.value);
            error(Code::DuplicateName, message)
                .label("the second one")
                .related(span, "the first one")
                .report(check);
        }
        if is_keyword(&name.value) {
            let message = format!("`{}` is a keyword of Python", name.value);
            check.report(error(Code::Keyword, message).label("no module can have this"));
        }
        seen.push(python);
    }
}

/// The functions whose bodies are generated.
fn generated<'a>(check: &Check<'a>) -> impl Iterator<Item = (&'a Function, &'a PythonFunction)> {
    let functions = check.interface.functions.iter();
    functions
        .filter(|function| check.trusts(&function.places, "python"))
        .filter(|function| function.params.iter().all(|param| check.is_sound(param)))
        .filter_map(|function| Some((function, function.python.as_ref()?)))
        .filter(|(_, python)| !python.by_hand)
}
