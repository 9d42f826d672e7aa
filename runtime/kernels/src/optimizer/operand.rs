//! Arguments that all optimizers share.

use crate::error::{Error, Result};
use crate::loops::movement;
use crate::loops::slices::{Slot, scalar};
use crate::tensor::{View, ViewMut};

/// An optional output.
pub(super) type Output<'a> = Option<ViewMut<'a>>;

/// Returns the parameter that a step starts from, and the output for the new master parameter.
///
/// # Errors
/// [`Error::Missing`] if a mixed-precision step lacks the master parameter, and [`Error::Types`] if the
/// gradient has a
/// different type than the parameter.
pub(super) fn masters<'a, 'o>(
    param: &'a View<'a>,
    grad: &View<'_>,
    master_param: Option<&'a View<'a>>,
    master_param_out: Option<&'o mut ViewMut<'_>>,
    multi_precision: bool,
) -> Result<(&'a View<'a>, Output<'o>)> {
    if grad.dtype() != param.dtype() {
        return Err(Error::Types { what: "grad", actual: grad.dtype(), expected: param.dtype() });
    }
    match (multi_precision, master_param, master_param_out) {
        (false, ..) => Ok((param, None)),
        (true, Some(master), Some(out)) => Ok((master, Some(out.reborrow()))),
        _ => Err(Error::Missing { missing: "master_param", because: "multi_precision" }),
    }
}

/// Returns the input and the output of a state if it is `wanted`; otherwise ignores them.
///
/// # Errors
/// [`Error::Missing`].
pub(super) fn state<'a, 'o>(
    wanted: bool,
    because: &'static str,
    name: &'static str,
    input: Option<&'a View<'a>>,
    output: Option<&'o mut ViewMut<'_>>,
) -> Result<(Option<&'a View<'a>>, Output<'o>)> {
    match (wanted, input, output) {
        (false, ..) => Ok((None, None)),
        (true, Some(input), Some(output)) => Ok((Some(input), Some(output.reborrow()))),
        _ => Err(Error::Missing { missing: name, because }),
    }
}

/// Returns true if the step is skipped.
pub(super) fn skips(skip_update: Option<&View<'_>>) -> Result<bool> {
    Ok(match skip_update {
        None => false,
        Some(skip) => scalar("skip_update", skip)? != 0.0,
    })
}

/// Skips a step: copies each input to its output, where both are given.
pub(super) fn keep<const N: usize>(pairs: [(Output<'_>, Option<&View<'_>>); N]) -> Result<()> {
    for (out, input) in pairs {
        if let (Some(mut out), Some(input)) = (out, input) {
            movement::copy(&mut out, input)?;
        }
    }
    Ok(())
}

/// Reads the first element of a tensor whose elements are all equal; 0 if the tensor is empty.
pub(super) fn first(view: &View<'_>) -> Result<f64> {
    if view.is_empty() {
        return Ok(0.0);
    }
    let first = (0..view.dims().len()).try_fold(view.clone(), |view, _| view.select(0, 0))?;
    scalar("a state", &first)
}

/// Stores a number in a one-element tensor.
pub(super) fn put(out: &mut ViewMut<'_>, value: f64) -> Result<()> {
    crate::expect_length("out", 1, out.len())?;
    Slot::store(out, &[value])
}

/// Checks that each list has one tensor for each parameter.
pub(super) fn expect_lists<const N: usize>(count: usize, lists: [(&'static str, usize); N]) -> Result<()> {
    lists.into_iter().try_for_each(|(name, len)| crate::expect_length(name, count, len))
}

/// Returns the `n`-th tensor of an optional list.
pub(super) fn nth<'a, 'i>(list: Option<&'a [View<'i>]>, n: usize) -> Option<&'a View<'i>> {
    list.and_then(|list| list.get(n))
}

/// Returns the outputs of a list, all of which are required.
///
/// # Errors
/// [`Error::Length`] if one is missing.
pub(super) fn all<'a>(name: &'static str, outs: &'a mut [Option<ViewMut<'_>>]) -> Result<Vec<ViewMut<'a>>> {
    let count = outs.len();
    let given: Vec<ViewMut<'a>> = outs.iter_mut().flatten().map(ViewMut::reborrow).collect();
    crate::expect_length(name, count, given.len())?;
    Ok(given)
}

/// Reborrows the requested outputs for a call.
pub(super) fn shorts<'a>(outs: &'a mut [Option<ViewMut<'_>>]) -> Vec<Output<'a>> {
    outs.iter_mut().map(|out| out.as_mut().map(ViewMut::reborrow)).collect()
}
