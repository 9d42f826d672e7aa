//! Sizes: a number in a spec becomes that much code or memory, so that it has a bound.

use crate::diagnostic::Code;
use crate::model::{Extent, Length};

use super::Check;

/// The most elements of a fixed array.
const MOST_ELEMENTS: u64 = 65_536;

/// The most slots of a reserve.
const MOST_SLOTS: u64 = 1024;

/// A fixed array is of a size that a struct or a stack can have.
pub(super) fn check_arrays(check: &Check) {
    let params = check.params().into_iter().map(|(_, param)| param);
    for param in params.chain(check.results()) {
        let (key, number) = match param.length {
            Some(Length::Bytes(Extent::Number(number))) => ("bytes", number),
            Some(Length::Count(Extent::Number(number))) => ("count", number),
            _ => continue,
        };
        if number > MOST_ELEMENTS {
            let message = format!("`{}` is too long", param.name.value);
            check.report(
                check
                    .error(Code::TooLarge, param.places.span(key), message)
                    .label(format!("at most {MOST_ELEMENTS}")),
            );
        }
    }
}

/// A reserve has as many slots as a table can have.
pub(super) fn check_reserves(check: &Check) {
    let Some(table) = check.interface.table() else { return };
    for reserve in table.blocks.iter().filter_map(|block| block.reserved.as_ref()) {
        if reserve.count > MOST_SLOTS {
            let message = format!("the reserve `{}` is too long", reserve.name);
            check.report(
                check
                    .error(Code::TooLarge, reserve.span, message)
                    .label(format!("it has {} slots, of at most {MOST_SLOTS}", reserve.count)),
            );
        }
    }
}
