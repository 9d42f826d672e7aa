//! The memory for the params and the table, which the plugin fills during the negotiation and may use afterwards.

use std::ffi::c_void;
use std::mem::{offset_of, size_of};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tenon::device::Release;
use tenon::device::ffi::{self, v2_6};

/// Returns the offset of a field of the params, in words, after checking that it is the same in every release.
macro_rules! place {
    ($($field:ident).+) => {{
        const PLACE: usize = offset_of!(ffi::CustomRuntimeParams, $($field).+);
        const { assert!(PLACE == offset_of!(v2_6::CustomRuntimeParams, $($field).+)) };
        const { assert!(PLACE % WORD == 0) };
        PLACE / WORD
    }};
}

pub(super) const WORD: usize = size_of::<u64>();

/// A table size that matches no release. It is larger than all of them, for plugins that accept any table that is
/// large enough, and smaller than the memory.
pub(super) const NO_TABLE: usize = 16 << 10;

/// Words for the params, and for a guard area behind them.
const PARAMS_WORDS: usize = (2 << 10) / WORD;
/// Words for the table, and for a guard area behind it.
const TABLE_WORDS: usize = (NO_TABLE + (4 << 10)) / WORD;

const NEWEST_PARAMS: usize = Release::NEWEST.params_size();

/// Returns the value of an unwritten word: it is no address and no small number, and repeats no byte.
fn pattern(index: usize) -> u64 {
    0xA5C3_7E19_D24B_0000 | index as u64
}

/// The state of a word of the table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    Untouched,
    Zero,
    Filled,
}

/// The params and the table as a host passes them to a plugin, each followed by a guard area.
///
/// The words are atomic because the plugin writes them through pointers that it may keep.
pub(crate) struct Memory {
    words: Arc<[AtomicU64]>,
    /// Length of the zeroed part of the offered table; hosts zero theirs too.
    zeros: usize,
}

impl Memory {
    pub(crate) fn new() -> Self {
        Self { words: (0..PARAMS_WORDS + TABLE_WORDS).map(|_| AtomicU64::new(0)).collect(), zeros: 0 }
    }

    /// Resets the memory to the unwritten state, and sets these sizes.
    ///
    /// A table with the size of a release is zeroed, as by a host. A table of another size is filled with the
    /// pattern, so that words the plugin clears can be detected.
    pub(super) fn prepare(&mut self, params_size: usize, table_size: usize) {
        self.zeros = if table_size == NO_TABLE { 0 } else { table_size / WORD };
        for (index, word) in self.words.iter().enumerate() {
            let zero = match index.checked_sub(PARAMS_WORDS) {
                None => index < NEWEST_PARAMS / WORD,
                Some(index) => index < self.zeros,
            };
            word.store(if zero { 0 } else { pattern(index) }, Ordering::Relaxed);
        }
        self.words[place!(size)].store(params_size as u64, Ordering::Relaxed);
        self.words[place!(interface)].store(self.table().expose_provenance() as u64, Ordering::Relaxed);
        self.words[PARAMS_WORDS].store(table_size as u64, Ordering::Relaxed);
    }

    pub(super) fn params(&self) -> *mut c_void {
        self.words.as_ptr().cast_mut().cast()
    }

    pub(crate) fn table(&self) -> *mut c_void {
        self.words[PARAMS_WORDS..].as_ptr().cast_mut().cast()
    }

    fn param(&self, index: usize) -> u64 {
        self.words[index].load(Ordering::Relaxed)
    }

    fn pointer<T>(&self, index: usize) -> *mut T {
        std::ptr::with_exposed_provenance_mut(self.param(index) as usize)
    }

    /// Returns true if the params still point to this table.
    pub(super) fn is_lent(&self) -> bool {
        self.pointer::<c_void>(place!(interface)).addr() == self.table().addr()
    }

    pub(crate) fn version(&self) -> [usize; 3] {
        [place!(version.major), place!(version.minor), place!(version.patch)]
            .map(|index| self.param(index) as usize)
    }

    pub(crate) fn device_type(&self) -> *const std::ffi::c_char {
        self.pointer(place!(device_type))
    }

    pub(crate) fn sub_device_type(&self) -> *const std::ffi::c_char {
        self.pointer(place!(sub_device_type))
    }

    /// Returns the pointer to the passes. In 2.6 this word is reserved and null.
    pub(crate) fn pir_default_passes(&self) -> *mut c_void {
        self.pointer(offset_of!(ffi::CustomRuntimeParams, pir_default_passes) / WORD)
    }

    /// Returns the end of the last word written behind the params of the newest release; `None` if there is none.
    pub(super) fn past_params(&self) -> Option<usize> {
        let first = NEWEST_PARAMS / WORD;
        (first..PARAMS_WORDS)
            .rev()
            .find(|&index| self.param(index) != pattern(index))
            .map(|index| (index + 1) * WORD)
    }

    /// Returns true if the plugin wrote to the params.
    pub(super) fn answers(&self) -> bool {
        let answers = place!(version)..NEWEST_PARAMS / WORD;
        !self.is_lent() || answers.clone().any(|index| self.param(index) != 0)
    }

    /// Returns the size stored in the table, which the plugin may have changed.
    pub(super) fn size(&self) -> usize {
        self.words[PARAMS_WORDS].load(Ordering::Relaxed) as usize
    }

    /// Returns the state of each word of the table; the first word is the table's size.
    pub(super) fn table_words(&self) -> impl DoubleEndedIterator<Item = Word> + ExactSizeIterator {
        self.words[PARAMS_WORDS..].iter().enumerate().map(|(index, word)| {
            match word.load(Ordering::Relaxed) {
                0 if index < self.zeros => Word::Untouched,
                0 => Word::Zero,
                value if index >= self.zeros && value == pattern(PARAMS_WORDS + index) => Word::Untouched,
                _ => Word::Filled,
            }
        })
    }

    /// Ends the negotiation: sets unwritten words to null, and writes the detected size.
    pub(super) fn settle(&mut self, release: Release) {
        let untouched: Vec<bool> = self.table_words().map(|word| word == Word::Untouched).collect();
        for (word, untouched) in self.words[PARAMS_WORDS..].iter().zip(untouched) {
            if untouched {
                word.store(0, Ordering::Relaxed);
            }
        }
        self.words[PARAMS_WORDS].store(release.table_size() as u64, Ordering::Relaxed);
        self.words[place!(size)].store(release.params_size() as u64, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Memory").finish_non_exhaustive()
    }
}
