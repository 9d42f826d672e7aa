//! Detects the release whose table a plugin fills, by a series of offers.

mod evidence;
mod memory;

use std::ffi::c_void;
use std::path::Path;

use tenon::device::Release;
use tenon::support::guard;

use crate::error::LoadError;
use crate::recognition::Recognition;
pub(crate) use memory::Memory;
use memory::NO_TABLE;

/// The newest release.
pub(crate) const NEWEST: Release = Release::NEWEST;

/// Params sizes that match no release: one smaller and one larger than all.
const NO_PARAMS: [usize; 2] = [0, NEWEST.params_size() + 8];

/// The type of `InitPlugin`, the function that a host calls.
pub(crate) type Entry = unsafe extern "C-unwind" fn(*mut c_void);

/// The sizes that a host passes to a plugin.
#[derive(Clone, Copy)]
struct Offer {
    params: usize,
    table: usize,
    /// The conclusion if the plugin accepts it.
    means: Means,
}

#[derive(Clone, Copy)]
enum Means {
    /// The plugin checks no size.
    NoSize,
    /// The plugin checks only the size of the table.
    TableSize(Release),
    /// The plugin checks only the size of the params.
    ParamsSize,
    /// The plugin checks both sizes.
    BothSizes(Release),
}

/// The settings of a negotiation.
pub(crate) struct Question<'a> {
    /// The path of the plugin, for messages.
    pub path: &'a Path,
    /// The release that the caller or a manifest states.
    pub declared: Option<Release>,
    /// The release that the caller prefers.
    pub preferred: Option<Release>,
    /// True if the plugin promises to compare both sizes.
    pub promised: bool,
}

/// Makes offers until the plugin accepts one, and leaves the filled table in the memory. The entry point is not
/// called after that.
///
/// # Errors
/// If the plugin accepts no offer, if its release is ambiguous, or if it differs from the declared one.
///
/// # Safety
/// `entry` is a plugin's entry point, and the memory lives as long as the plugin.
pub(crate) unsafe fn negotiate(
    entry: Entry,
    question: &Question,
    memory: &mut Memory,
) -> Result<(Release, Recognition), LoadError> {
    let plugin = question.path.to_string_lossy();
    let mut wrote = false;
    for offer in offers(question) {
        memory.prepare(offer.params, offer.table);
        // SAFETY: by the contract of the entry point: the params are at least as large as in any release.
        guard(Some(&plugin), "InitPlugin", || unsafe { entry(memory.params()) });
        if !memory.is_lent() {
            return Err(LoadError::ReplacedTable { path: question.path.into() });
        }
        if let Some(bytes) = memory.past_params() {
            let (what, known) = ("the params", NEWEST.params_size());
            return Err(LoadError::Newer { path: question.path.into(), what, bytes, known });
        }
        wrote |= memory.answers() || evidence::wrote(memory);
        if !evidence::filled(memory) {
            continue;
        }
        let (release, recognition) = settle(question, offer, memory)?;
        memory.settle(release);
        return Ok((release, recognition));
    }
    Err(LoadError::Declined { path: question.path.into(), offered: releases(question).collect(), wrote })
}

/// Returns every release: the declared or else the preferred one first, then from the newest to the oldest.
fn releases(question: &Question) -> impl Iterator<Item = Release> {
    let first = question.declared.or(question.preferred);
    let others = Release::ALL.into_iter().rev().filter(move |release| Some(*release) != first);
    first.into_iter().chain(others)
}

fn offers(question: &Question) -> Vec<Offer> {
    let exact = releases(question).map(|release| Offer {
        params: release.params_size(),
        table: release.table_size(),
        means: Means::BothSizes(release),
    });
    if question.promised {
        return exact.collect();
    }
    let neither = NO_PARAMS.map(|params| Offer { params, table: NO_TABLE, means: Means::NoSize });
    let table_alone = releases(question).map(|release| Offer {
        params: NO_PARAMS[0],
        table: release.table_size(),
        means: Means::TableSize(release),
    });
    let mut params: Vec<usize> = releases(question).map(Release::params_size).collect();
    params.sort_unstable_by(|first, second| second.cmp(first));
    params.dedup();
    let params_alone =
        params.into_iter().map(|params| Offer { params, table: NO_TABLE, means: Means::ParamsSize });
    neither.into_iter().chain(table_alone).chain(params_alone).chain(exact).collect()
}

/// Determines the release of a plugin that accepted an offer.
fn settle(question: &Question, offer: Offer, memory: &Memory) -> Result<(Release, Recognition), LoadError> {
    let (release, recognition, why) = match offer.means {
        Means::NoSize => return evidence::weigh(question, None, memory),
        Means::ParamsSize => return evidence::weigh(question, Some(offer.params), memory),
        Means::TableSize(release) => {
            (release, Recognition::TableSize, "it accepts the table of another release")
        }
        Means::BothSizes(release) if question.promised => {
            (release, Recognition::Promised, "it declines that release's sizes and accepts another's")
        }
        Means::BothSizes(release) => {
            (release, Recognition::BothSizes, "it declines that release's sizes and accepts another's")
        }
    };
    let bytes = evidence::extent(memory);
    if bytes > release.table_size() {
        return Err(LoadError::PastTheEnd { path: question.path.into(), release, bytes });
    }
    match question.declared {
        Some(declared) if declared != release => Err(LoadError::Contradicted {
            path: question.path.into(),
            declared,
            found: vec![release],
            why: why.to_owned(),
        }),
        _ => Ok((release, recognition)),
    }
}
