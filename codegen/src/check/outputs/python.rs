//! The Python package of an export: the module, arguments and results of each function.

use crate::diagnostic::{Code, Diagnostic};
use crate::language::python::is_keyword;
use crate::model::python_form::{PythonForm, form, is_output, list_of};
use crate::model::{Direction, Extent, Function, Length, ParamId, PythonFunction};

use crate::check::Check;

/// Checks that a function with a `python` entry belongs to an interface with a Python package.
pub(crate) fn check_place(check: &Check) {
    let has_package = check.interface.python.is_some() || check.interface.places.has("python");
    for function in check.interface.functions.iter().filter(|_| !has_package) {
        if let Some(place) = function.places.get("python") {
            let message = format!("the interface `{}` has no Python package", check.interface.name.value);
            Diagnostic::new(Code::PythonPlace, place.key, message)
                .label("`python` is missing in `interface.yaml`")
                .report(check);
        }
    }
}

/// Checks that each parameter is either an argument, if C reads it, or a result, if C writes it.
pub(crate) fn check_parameters(check: &Check, function: &Function) {
    let Some((place, python)) = function.places.get("python").zip(generated(check, function)) else { return };
    let error =
        |key: &str, message: String| Diagnostic::new(Code::PythonParameters, place.span(key), message);
    for (index, id) in python.args.iter().enumerate() {
        let param = function.param(*id);
        let name = &param.name.value;
        if is_output(param) {
            let message = format!("`{name}` is written by `{}`", function.name.value);
            error("args", message)
                .label("so it is a result, not an argument")
                .related(param.name.span, "the parameter")
                .report(check);
        } else if list_of(&function.params, *id).is_some() {
            let message = format!("`{name}` is the length of a list, which Python passes implicitly");
            error("args", message)
                .label("so it is not an argument")
                .related(param.name.span, "the parameter")
                .report(check);
        } else if python.args[..index].contains(id) {
            error("args", format!("`{name}` is listed twice"))
                .label("each parameter is one argument")
                .report(check);
        }
    }
    for (index, id) in python.returns.iter().enumerate() {
        let param = function.param(*id);
        let name = &param.name.value;
        if param.dir == Direction::In && !python.args.contains(id) {
            let message = format!("`{name}` is neither an argument nor written by `{}`", function.name.value);
            let diagnostic = error("returns", message).label("so it cannot be returned");
            check.report(diagnostic.related(param.name.span, "the parameter"));
        } else if python.returns[..index].contains(id) {
            error("returns", format!("`{name}` is listed twice"))
                .label("each parameter is one result")
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
                .label("add it to `args` or `returns`")
                .related(param.name.span, "this parameter may not be null")
                .report(check);
        }
    }
}

/// Checks that every argument and result can be converted to Python.
pub(crate) fn check_forms(check: &Check, function: &Function) {
    let Some(python) = generated(check, function) else { return };
    check_room(check, function, python);
    let result = function.result.value();
    if result.is_some() && !python.returns.is_empty() {
        let message = format!("`{}` both returns a value and has outputs", function.name.value);
        Diagnostic::new(Code::PythonForm, function.places.at("result").key, message)
            .label("a generated function can return one or the other")
            .help("set `by_hand: true`, and write the function by hand")
            .report(check);
    }
    let passed = python.args.iter().chain(&python.returns).map(|id| function.param(*id));
    let sound = passed.chain(result).filter(|param| check.knows_type(param));
    for param in sound.filter(|param| form(check.spec, param).is_none()) {
        let message = format!("{} has no equivalent in Python", check.show_param(param));
        Diagnostic::new(Code::PythonForm, param.places.span("type"), message)
            .label("supported are numbers, strings, lists and dicts")
            .help("set `by_hand: true`, and write the function by hand")
            .report(check);
    }
}

/// Checks that Python knows the size of an output's buffer before the call.
fn check_room(check: &Check, function: &Function, python: &PythonFunction) {
    for param in python.returns.iter().map(|id| function.param(*id)) {
        let Some(Length::Bytes(Extent::Param(id)) | Length::Count(Extent::Param(id))) = param.length else {
            continue;
        };
        let is_buffer = matches!(form(check.spec, param), Some(PythonForm::Buffer(_) | PythonForm::List(..)));
        if is_buffer && param.dir == Direction::Out && !python.args.contains(&id) {
            let (name, length) = (&param.name.value, function.param(id));
            let message = format!("the size of the buffer for `{name}` is not known before the call");
            Diagnostic::new(Code::PythonForm, param.name.span, message)
                .label("Python allocates it before the call")
                .related(length.name.span, "this is not an argument")
                .help("set `by_hand: true`, and write the function by hand")
                .report(check);
        } else if is_buffer && function.param(id).dir != Direction::In {
            let message = format!("`{}` is changed by the call", function.param(id).name.value);
            Diagnostic::new(Code::PythonForm, function.param(id).places.span("dir"), message)
                .label("Python would not receive the new value")
                .help("set `by_hand: true`, and write the function by hand")
                .report(check);
        }
    }
}

/// Checks that the name of a function is unique in its module, and is not a keyword of Python.
pub(crate) fn check_names(check: &Check) {
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
            let message = format!("the Python name `{}` is used twice", name.value);
            error(Code::DuplicateName, message)
                .label("used again here")
                .related(span, "first used here")
                .report(check);
        }
        if is_keyword(&name.value) {
            let message = format!("`{}` is a keyword of Python", name.value);
            check.report(error(Code::Keyword, message).label("a module cannot define this"));
        }
        seen.push(python);
    }
}

/// Returns the Python form of a function whose body is generated.
fn generated<'a>(check: &Check, function: &'a Function) -> Option<&'a PythonFunction> {
    let is_sound =
        check.trusts(&function.places, "python") && function.params.iter().all(|param| check.is_sound(param));
    function.python.as_ref().filter(|python| is_sound && !python.by_hand)
}
