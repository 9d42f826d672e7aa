//! The bytes in memory as far as the recorded calls determine them.
//!
//! Operators and kernels of a program run on the device between the calls, and a capture does not see them. Memory whose
//! recorded content differs from the content here has been changed by them.

use std::collections::{BTreeMap, HashMap};

use super::access::{Origin, Range, writes};
use super::call::{Call, ContentId, ObjectId, Position};
use super::format::Hash;
use super::reader::{ReadError, Recording};

/// Bytes with a known value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bytes {
    Content(ContentId),
    Byte(u8),
}

/// Bytes next to each other.
#[derive(Clone, Copy, Debug)]
struct Piece {
    length: u64,
    bytes: Bytes,
    /// The index of the first byte in the bytes, which repeat.
    start: u64,
}

/// The most pieces of a block. A block with more is unknown: each copy within a block can double their number.
const MOST_PIECES: usize = 1 << 16;

/// The known pieces of each block, by their offset.
#[derive(Default)]
pub(super) struct Shadow {
    blocks: HashMap<ObjectId, BTreeMap<u64, Piece>>,
}

impl Shadow {
    /// Follows a call that succeeded when it was recorded.
    pub(super) fn apply(&mut self, call: &Call) {
        for (range, origin) in writes(call) {
            let Some(length) = range.length else {
                self.forget(range);
                continue;
            };
            let pieces = match origin {
                Origin::Memory(from) => self.pieces(from, length),
                Origin::Content(content) => {
                    vec![(0, Piece { length, bytes: Bytes::Content(content), start: 0 })]
                }
                Origin::Byte(byte) => vec![(0, Piece { length, bytes: Bytes::Byte(byte), start: 0 })],
                Origin::Device => Vec::new(),
            };
            self.forget(range);
            let block = self.blocks.entry(range.position.block).or_default();
            let at = |offset: u64| range.position.offset.checked_add(offset);
            block.extend(pieces.into_iter().filter_map(|(offset, piece)| Some((at(offset)?, piece))));
            if block.len() > MOST_PIECES {
                block.clear();
            }
        }
    }

    /// Forgets the bytes of a range.
    pub(super) fn forget(&mut self, range: Range) {
        let Some(block) = self.blocks.get_mut(&range.position.block) else { return };
        let start = range.position.offset;
        let end = range.length.map_or(u64::MAX, |length| start.saturating_add(length));
        // What a piece before the range has behind its start, or behind its end, is cut.
        if let Some((offset, piece)) =
            block.range(..start).next_back().map(|(offset, piece)| (*offset, *piece))
        {
            let (kept, last) = (start - offset, offset.saturating_add(piece.length));
            if last > start {
                block.insert(offset, Piece { length: kept, ..piece });
            }
            if last > end {
                block.insert(end, rest(piece, end - offset));
            }
        }
        let inside: Vec<u64> = block.range(start..end).map(|(offset, _)| *offset).collect();
        for offset in inside {
            if let Some(piece) = block.remove(&offset)
                && offset.saturating_add(piece.length) > end
            {
                block.insert(end, rest(piece, end - offset));
            }
        }
    }

    /// Returns the known pieces of a range, by their offset in it.
    fn pieces(&self, from: Position, length: u64) -> Vec<(u64, Piece)> {
        let Some(block) = self.blocks.get(&from.block) else { return Vec::new() };
        let (start, end) = (from.offset, from.offset.saturating_add(length));
        let before = block.range(..start).next_back();
        let overlapping = before.into_iter().chain(block.range(start..end));
        let cut = overlapping.filter_map(|(offset, piece)| {
            let (first, last) = ((*offset).max(start), offset.saturating_add(piece.length).min(end));
            (first < last).then(|| {
                let piece = Piece { length: last - first, ..rest(*piece, first - offset) };
                (first - start, piece)
            })
        });
        cut.collect()
    }

    /// Returns the hash of the bytes of a range; `None` if they are not all known.
    pub(super) fn hash(
        &self,
        recording: &Recording,
        from: Position,
        length: u64,
    ) -> Result<Option<Hash>, ReadError> {
        let pieces = self.pieces(from, length);
        let known: u64 = pieces.iter().map(|(_, piece)| piece.length).sum();
        if known != length {
            return Ok(None);
        }
        let mut hash = Hash::EMPTY;
        for (_, piece) in pieces {
            let length = piece.length as usize;
            hash = match piece.bytes {
                Bytes::Byte(byte) => hash.with(std::iter::repeat_n(byte, length)),
                Bytes::Content(content) => {
                    let content = recording.content(content)?;
                    let start = (piece.start % (content.len() as u64).max(1)) as usize;
                    hash.with(content.iter().copied().cycle().skip(start).take(length))
                }
            };
        }
        Ok(Some(hash))
    }
}

/// Returns a piece without its first bytes.
fn rest(piece: Piece, cut: u64) -> Piece {
    Piece { length: piece.length - cut, start: piece.start.wrapping_add(cut), ..piece }
}
