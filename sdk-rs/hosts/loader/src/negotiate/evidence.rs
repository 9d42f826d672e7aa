//! Derives the release from what a plugin wrote, if the plugin does not check the size of the table.

use tenon::device::{Function, Release};

use super::memory::{Memory, NO_TABLE, WORD, Word};
use super::{NEWEST, Question};
use crate::error::LoadError;
use crate::recognition::{Clearing, Evidence, Recognition};

/// Returns true if the table has a non-null pointer.
pub(super) fn filled(memory: &Memory) -> bool {
    memory.table_words().skip(1).any(|word| word == Word::Filled)
}

/// Returns true if the plugin changed the table.
pub(super) fn wrote(memory: &Memory) -> bool {
    extent(memory) > WORD
}

/// Returns the end of the last word that was written, in bytes from the start of the table.
pub(super) fn extent(memory: &Memory) -> usize {
    memory.table_words().rposition(|word| word != Word::Untouched).map_or(0, |last| (last + 1) * WORD)
}

/// Returns the only matching release, or the declared one if it matches.
pub(super) fn weigh(
    question: &Question,
    params: Option<usize>,
    memory: &Memory,
) -> Result<(Release, Recognition), LoadError> {
    let path = || question.path.into();
    let words: Vec<Word> = memory.table_words().collect();
    let evidence = read(&words, memory.size(), params, extent(memory));
    if let Some(bytes) = beyond_the_newest(&evidence) {
        return Err(LoadError::Newer { path: path(), what: "the table", bytes, known: NEWEST.table_size() });
    }
    let candidates: Vec<Release> =
        Release::ALL.into_iter().filter(|release| fits(*release, &words, &evidence)).collect();
    let Some(&newest) = candidates.last() else {
        return Err(LoadError::NoReleaseFits { path: path(), evidence });
    };
    match question.declared {
        Some(declared) if !candidates.contains(&declared) => Err(LoadError::Contradicted {
            path: path(),
            declared,
            found: candidates,
            why: evidence.to_string(),
        }),
        _ if candidates.len() == 1 => Ok((newest, Recognition::Evidence(evidence))),
        Some(declared) => Ok((declared, Recognition::Declared { candidates, evidence })),
        None if candidates.iter().all(|release| means_the_same(*release, newest, &words)) => {
            let preferred = question.preferred.filter(|preferred| candidates.contains(preferred));
            Ok((preferred.unwrap_or(newest), Recognition::Indifferent { candidates, evidence }))
        }
        None => Err(LoadError::UnknownRelease { path: path(), candidates, evidence }),
    }
}

fn read(words: &[Word], size: usize, params: Option<usize>, extent: usize) -> Evidence {
    let pointers = words.iter().skip(1).filter(|word| **word == Word::Filled).count();
    let written = &words[..extent / WORD];
    // No plugin assigns reserved fields one by one. So if a word that every release reserves was written, the plugin
    // cleared the memory around it too.
    let over_a_gap = (1..written.len()).any(|index| in_reserve_everywhere(index * WORD));
    let clearing = match written.iter().skip(1).all(|word| *word != Word::Untouched) && over_a_gap {
        false => Clearing::None,
        true if extent == NO_TABLE => Clearing::Stated,
        true => Clearing::Own,
    };
    let stated = (size != NO_TABLE && size != 0).then_some(size);
    Evidence { pointers, extent, clearing, stated, params }
}

/// Returns the number of bytes written if they exceed the newest known table.
fn beyond_the_newest(evidence: &Evidence) -> Option<usize> {
    let written = (evidence.clearing != Clearing::Stated).then_some(evidence.extent);
    written.into_iter().chain(evidence.stated).find(|bytes| *bytes > NEWEST.table_size())
}

fn in_reserve_everywhere(offset: usize) -> bool {
    offset < Release::ALL[0].table_size()
        && Release::ALL.into_iter().all(|release| function_at(release, offset).is_none())
}

fn function_at(release: Release, offset: usize) -> Option<Function> {
    Function::ALL.into_iter().find(|function| release.offset_of(*function) == Some(offset))
}

/// Returns true if a plugin of this release could have written these words.
fn fits(release: Release, words: &[Word], evidence: &Evidence) -> bool {
    let size = match evidence.clearing {
        Clearing::Own => evidence.extent == release.table_size(),
        Clearing::None | Clearing::Stated => true,
    };
    let slots = words.iter().enumerate().skip(1).all(|(index, word)| match word {
        Word::Untouched => true,
        Word::Zero if evidence.clearing != Clearing::None => true,
        Word::Zero | Word::Filled => function_at(release, index * WORD).is_some(),
    });
    let stated = evidence.stated.is_none_or(|stated| stated == release.table_size());
    let params = evidence.params.is_none_or(|params| params == release.params_size());
    size && slots && stated && params
}

/// Returns true if every written pointer has the same function with the same parameters in both releases.
fn means_the_same(release: Release, other: Release, words: &[Word]) -> bool {
    words.iter().enumerate().skip(1).filter(|(_, word)| **word == Word::Filled).all(|(index, _)| {
        match (function_at(release, index * WORD), function_at(other, index * WORD)) {
            (Some(one), Some(two)) => one == two && same_parameters(one, release, other),
            _ => false,
        }
    })
}

fn same_parameters(function: Function, release: Release, other: Release) -> bool {
    let has = |since: Option<&str>, until: Option<&str>, release: Release| {
        let named = |name: &str| Release::ALL.into_iter().find(|release| release.name() == name);
        since.and_then(named).is_none_or(|since| since <= release)
            && until.and_then(named).is_none_or(|until| release <= until)
    };
    function
        .info()
        .params
        .iter()
        .all(|param| has(param.since, param.until, release) == has(param.since, param.until, other))
}
