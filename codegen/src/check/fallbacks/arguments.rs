//! Rules about the arguments of a fallback.

use crate::diagnostic::{Code, Diagnostic};
use crate::model::{
    Argument, Call, Direction, Extent, FallbackKind, Function, Length, Param, ParamId, Role, Space, Ty,
};
use crate::source::At;
use crate::text::{enumerate, quoted};

use super::super::Check;
use super::super::show::show_constant;
use super::{Site, fits};

/// Checks that a call passes an argument for every parameter of the called function.
pub(in super::super) fn check_given(check: &Check, site: Site) {
    for call in site.calls() {
        let callee = check.interface.function(call.function.value);
        let missing = callee.params.iter().enumerate().filter(|(index, param)| {
            let is_passed_on = site.passes_outputs_on() && param.is_output();
            !param.is_status && !is_passed_on && !call.arguments.iter().any(|(id, _)| id.0 == *index)
        });
        let missing: Vec<&Param> = missing.map(|(_, param)| param).collect();
        if let [first, ..] = missing[..] {
            let names = enumerate(&quoted(missing.iter().map(|param| &param.name.value)));
            let message = format!("the call of `{}` does not pass {names}", callee.name.value);
            Diagnostic::new(Code::FallbackIncomplete, call.function.span, message)
                .label("arguments are missing")
                .related(first.name.span, "this parameter")
                .report(check);
        }
    }
}

/// Checks that an argument has the type, memory space and nullability that the parameter requires.
pub(in super::super) fn check_arguments(check: &Check, site: Site) {
    let mut written: Vec<Argument> = Vec::new();
    for call in site.calls() {
        let callee = check.interface.function(call.function.value);
        for (id, argument) in &call.arguments {
            let passing = Passing { site, call, callee, param: callee.param(*id), argument };
            if let Some(diagnostic) = passing.mistake(check, &written) {
                check.report(diagnostic);
            }
        }
        let writes = |(id, _): &&(ParamId, At<Argument>)| callee.param(*id).dir != Direction::In;
        written.extend(call.arguments.iter().filter(writes).map(|(_, argument)| argument.value));
    }
}

/// An argument that is passed to a parameter.
struct Passing<'a> {
    site: Site<'a>,
    call: &'a Call,
    callee: &'a Function,
    param: &'a Param,
    argument: &'a At<Argument>,
}

impl Passing<'_> {
    fn mistake(&self, check: &Check, written: &[Argument]) -> Option<Diagnostic> {
        if !check.is_sound(self.param) {
            return None;
        }
        match self.argument.value {
            Argument::Param(id) => {
                let given = self.site.function.param(id);
                if !check.is_sound(given) {
                    return None;
                }
                self.other_type(check, given)
                    .or_else(|| self.other_direction(given, written))
                    .or_else(|| self.other_life(given))
                    .or_else(|| self.other_space(given))
                    .or_else(|| self.other_length(given.length.as_ref(), &given.name.value))
            }
            Argument::Buffer(index) => self.misused_buffer(check, index, written),
            Argument::Constant(constant) => {
                let is_read = self.param.dir == Direction::In && self.param.length.is_none();
                let fits = is_read && fits(check, constant, self.param.ty);
                let expected = || check.show_type(self.param.ty);
                (!fits).then(|| {
                    self.unfit(check, &show_constant(constant), &format!("not a value of {}", expected()))
                })
            }
        }
    }

    fn other_type(&self, check: &Check, given: &Param) -> Option<Diagnostic> {
        let is_array = |param: &Param| matches!(param.length, Some(Length::Count(_)));
        let same = given.ty == self.param.ty && is_array(given) == is_array(self.param);
        (!same).then(|| self.unfit(check, &given.name.value, &check.show_param(given)))
    }

    fn other_direction(&self, given: &Param, written: &[Argument]) -> Option<Diagnostic> {
        let (name, parameter) = (&given.name.value, &self.param.name.value);
        let callee = &self.callee.name.value;
        let is_written = written.contains(&self.argument.value);
        match (self.param.dir, given.dir) {
            (Direction::In, Direction::In | Direction::InOut) => None,
            (Direction::Out, Direction::Out | Direction::InOut) => None,
            (Direction::InOut, Direction::InOut) => None,
            (Direction::In | Direction::InOut, Direction::Out) if is_written => None,
            (Direction::In | Direction::InOut, Direction::Out) => {
                let message = format!("`{callee}` reads `{name}`, which is not written before");
                let label = format!("`{name}` is `out`");
                Some(self.error(message, label).related(given.places.span("dir"), "the function writes it"))
            }
            (Direction::Out | Direction::InOut, Direction::In) => {
                let message = format!("`{callee}` writes `{parameter}`, but `{name}` is only read");
                let label = format!("`{name}` is `in`");
                Some(self.error(message, label).related(self.param.places.span("dir"), "declared here"))
            }
        }
    }

    fn other_life(&self, given: &Param) -> Option<Diagnostic> {
        let (name, callee) = (&given.name.value, &self.callee.name.value);
        let is_pointer = self.param.ty == Ty::Pointer;
        let message = match (self.param.role, given.role) {
            (Role::Destroys, Role::Uses | Role::Creates) => {
                format!("`{callee}` destroys `{name}`, which the caller still uses")
            }
            (Role::Creates, Role::Uses) if is_pointer && given.dir == Direction::Out => {
                format!("`{callee}` allocates memory, but `{name}` is already allocated")
            }
            (Role::Uses, Role::Creates) if is_pointer && self.param.dir == Direction::Out => {
                format!("`{callee}` writes into memory, but `{name}` is not yet allocated")
            }
            (Role::Creates | Role::Destroys | Role::Uses, _) => return None,
        };
        let diagnostic = self.error(message, "another role is expected");
        Some(diagnostic.related(self.param.places.span("role"), "the role of the parameter"))
    }

    fn other_space(&self, given: &Param) -> Option<Diagnostic> {
        if reaches(self.param.space, given.space) {
            return None;
        }
        let (name, parameter) = (&given.name.value, &self.param.name.value);
        let message = match given.space {
            Some(space) => format!("`{name}` is memory of {}, but `{parameter}` is not", show_space(space)),
            None => format!("`{name}` has no `space`, but `{parameter}` needs one"),
        };
        let diagnostic = self.error(message, "memory of another space is expected");
        Some(diagnostic.related(self.param.places.span("space"), "declared here"))
    }

    /// Checks that memory is passed with its own length, because another length may exceed it.
    fn other_length(&self, given: Option<&Length>, name: &str) -> Option<Diagnostic> {
        let (taken, unit) = extent(self.param.length.as_ref()?);
        let (known, _) = extent(given?);
        let (Extent::Param(taken), Extent::Param(known)) = (taken, known) else { return None };
        let (_, length) = self.call.arguments.iter().find(|(id, _)| id == taken)?;
        let Argument::Param(passed) = length.value else { return None };
        if passed == *known {
            return None;
        }
        let [known, passed] = [*known, passed].map(|id| &self.site.function.param(id).name.value);
        let message = format!("`{name}` has `{known}` {unit}, but the call passes `{passed}`");
        let code = Code::FallbackTypes;
        let diagnostic = Diagnostic::new(code, length.span, message).label(format!("`{known}` is expected"));
        Some(diagnostic.related(self.argument.span, "this is the memory"))
    }

    fn misused_buffer(&self, check: &Check, index: usize, written: &[Argument]) -> Option<Diagnostic> {
        let FallbackKind::Sequence { buffers, .. } = &self.site.fallback.kind else {
            return None;
        };
        let buffer = &buffers[index];
        let name = &buffer.name.value;
        if self.param.ty != Ty::Pointer || self.param.role != Role::Uses {
            return Some(self.unfit(check, name, "a buffer"));
        }
        if !reaches(self.param.space, Some(Space::Host)) {
            let message = format!("`{name}` is host memory, but `{}` is not", self.param.name.value);
            let diagnostic = self.error(message, "a buffer is always host memory");
            return Some(diagnostic.related(self.param.places.span("space"), "declared here"));
        }
        let is_read = self.param.dir != Direction::Out;
        if is_read && buffer.fill.is_none() && !written.contains(&self.argument.value) {
            let message = format!("`{}` reads `{name}`, which is not written before", self.callee.name.value);
            let diagnostic = self.error(message, "the content is undefined");
            return Some(diagnostic.related(buffer.name.span, "`fill` would initialise it"));
        }
        self.other_length(Some(&Length::Bytes(Extent::Param(buffer.bytes))), name)
    }

    /// Returns the diagnostic for an argument of a wrong kind.
    fn unfit(&self, check: &Check, argument: &str, given: &str) -> Diagnostic {
        let (callee, parameter) = (&self.callee.name.value, &self.param.name.value);
        let message = format!("`{argument}` does not fit `{parameter}` of `{callee}`");
        let expected = format!("{} is expected", check.show_param(self.param));
        let diagnostic = self.error(message, format!("this is {given}"));
        diagnostic.related(self.param.places.span("type"), expected)
    }

    fn error(&self, message: String, label: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Code::FallbackTypes, self.argument.span, message).label(label)
    }
}

fn extent(length: &Length) -> (&Extent, &'static str) {
    match length {
        Length::Bytes(extent) => (extent, "bytes"),
        Length::Count(extent) => (extent, "elements"),
    }
}

/// Returns true if memory of one space can be passed where memory of another is expected.
fn reaches(taken: Option<Space>, given: Option<Space>) -> bool {
    match (taken, given) {
        (None, _) | (Some(Space::Any), Some(_)) => true,
        (Some(Space::Host), given) => matches!(given, Some(Space::Host | Space::Unified)),
        (Some(Space::Device), given) => matches!(given, Some(Space::Device | Space::Unified)),
        (Some(Space::Unified), given) => given == Some(Space::Unified),
        (Some(Space::Any), None) => false,
    }
}

fn show_space(space: Space) -> &'static str {
    match space {
        Space::Host => "the host",
        Space::Device => "a device",
        Space::Unified => "both host and device",
        Space::Any => "either host or device",
    }
}
