//! Limits for numbers in a spec that determine the amount of generated code or memory.

use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Direction, Extent, Function, Length, Param, ParamId, Ty};

use crate::check::Check;

/// Most elements of a fixed array.
const MOST_ELEMENTS: u64 = 65_536;

/// Most slots of a reserve.
const MOST_SLOTS: u64 = 1024;

/// Checks that a fixed array fits into a struct or onto the stack.
pub(crate) fn check_arrays(check: &Check, param: &Param) {
    let (key, number) = match param.length {
        Some(Length::Bytes(Extent::Number(number))) => ("bytes", number),
        Some(Length::Count(Extent::Number(number))) => ("count", number),
        _ => return,
    };
    if number > MOST_ELEMENTS {
        let message = format!("`{}` is too long", param.name.value);
        Diagnostic::new(Code::TooLarge, param.places.span(key), message)
            .label(format!("at most {MOST_ELEMENTS}"))
            .report(check);
    }
}

/// Checks that a reserve does not have more slots than a table can have.
pub(crate) fn check_reserves(check: &Check) {
    let Some(table) = check.interface.table() else { return };
    for reserve in table.blocks.iter().filter_map(|block| block.reserved.as_ref()) {
        if reserve.count > MOST_SLOTS {
            let message = format!("the reserve `{}` is too long", reserve.name);
            Diagnostic::new(Code::TooLarge, reserve.span, message)
                .label(format!("it has {} slots, of at most {MOST_SLOTS}", reserve.count))
                .report(check);
        }
    }
}

/// Checks that a `size` parameter is the length of some pointer parameter.
pub(crate) fn check_sizes_are_lengths(check: &Check, function: &Function) {
    let Some(pointer) = function.params.iter().find(|param| has_no_length(check, param)) else {
        return;
    };
    let sizes = function.params.iter().enumerate().filter(|(index, param)| {
        let names_a_size = ["size", "bytes"].iter().any(|word| param.name.value.contains(word));
        let is_input = param.ty == Ty::Size && param.dir == Direction::In && names_a_size;
        is_input && !is_length(function, ParamId(*index))
    });
    for (_, size) in sizes {
        let message = format!("`{}` is not the length of any parameter", size.name.value);
        let help = format!(
            "write `bytes: {}` at `{}` if it is the size of that memory",
            size.name.value, pointer.name.value
        );
        Diagnostic::new(Code::UnusedSize, size.name.span, message)
            .label("nothing refers to this size")
            .related(pointer.name.span, "this pointer has no length")
            .help(help)
            .report(check);
    }
}

/// Returns true for a pointer into a known memory space that has no length.
fn has_no_length(check: &Check, param: &Param) -> bool {
    check.is_sound(param) && param.ty == Ty::Pointer && param.space.is_some() && param.length.is_none()
}

fn is_length(function: &Function, id: ParamId) -> bool {
    function.params.iter().any(|param| {
        matches!(param.length, Some(Length::Bytes(Extent::Param(length)) | Length::Count(Extent::Param(length))) if length == id)
    })
}
