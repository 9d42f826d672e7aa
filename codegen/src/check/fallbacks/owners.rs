//! Owners in a fallback: a stream or memory is passed with the device that owns it.

use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Argument, Param, ParamId};

use super::super::Check;
use super::Site;

/// Checks that an argument belongs to the device that is passed with it.
pub(in super::super) fn check_owners(check: &Check, site: Site) {
    for call in site.calls() {
        let callee = check.interface.function(call.function.value);
        let given = |wanted: ParamId| {
            let (_, argument) = call.arguments.iter().find(|(id, _)| *id == wanted)?;
            match argument.value {
                Argument::Param(id) => Some((id, argument.span)),
                Argument::Buffer(_) | Argument::Constant(_) => None,
            }
        };
        for (index, taken) in callee.params.iter().enumerate() {
            let Some(owner) = taken.of.and_then(given) else { continue };
            let Some((argument, span)) = given(ParamId(index)) else { continue };
            let param = site.function.param(argument);
            if param.of == Some(owner.0) || !check.is_sound(param) || !check.is_sound(taken) {
                continue;
            }
            let expected = &site.function.param(owner.0).name.value;
            Diagnostic::new(Code::FallbackOwner, span, owner_message(site, param, expected))
                .label(format!("an owner `{expected}` is expected"))
                .related(
                    owner.1,
                    format!(
                        "this is the `{}` of the call",
                        name_of(callee.params.get(taken.of.map_or(0, |id| id.0)))
                    ),
                )
                .report(check);
        }
    }
}

fn owner_message(site: Site, param: &Param, expected: &str) -> String {
    let name = &param.name.value;
    match param.of {
        Some(owner) => {
            format!(
                "`{name}` belongs to `{}`, but the call passes `{expected}`",
                site.function.param(owner).name.value
            )
        }
        None => format!("`{name}` is not declared to belong to `{expected}`"),
    }
}

fn name_of(param: Option<&Param>) -> &str {
    param.map_or("owner", |param| &param.name.value)
}
