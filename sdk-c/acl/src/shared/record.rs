//! The record at the end of a shared file: what was exported, and who may import it.

use std::ops::Range;

/// The length of the processes and of the ranges in a record: one page of the smallest size each.
const PAGE: usize = 4096;
/// The length of a record.
pub(super) const LENGTH: usize = 2 * PAGE;
/// Identifies records, and the version of their layout.
const MAGIC: &[u8; 8] = b"tenon\0\0\x02";
/// The maximum number of processes in a record.
const MOST: usize = (PAGE - 16) / 4;
/// The maximum number of ranges in a record.
const MOST_RANGES: usize = PAGE / 16;

/// The exported ranges of a file, and the processes that may import them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    /// Empty before the file is exported, and after its owner has withdrawn it.
    pub(super) ranges: Vec<Range<usize>>,
    /// True if all processes may import it, not only those that are listed.
    pub(super) is_open: bool,
    pub(super) processes: Vec<i32>,
}

impl Record {
    /// Adds processes to the list. Returns false if there are too many.
    pub(super) fn allow(&mut self, processes: &[i32]) -> bool {
        for process in processes {
            if !self.processes.contains(process) {
                self.processes.push(*process);
            }
        }
        self.processes.len() <= MOST
    }

    /// Adds a range. Returns false if there are too many.
    pub(super) fn add(&mut self, range: Range<usize>) -> bool {
        if !self.ranges.contains(&range) {
            self.ranges.push(range);
        }
        self.ranges.len() <= MOST_RANGES
    }

    /// Returns true if a range was exported, or is a part of one that was.
    pub(super) fn has(&self, range: &Range<usize>) -> bool {
        self.ranges.iter().any(|known| known.start <= range.start && range.end <= known.end)
    }

    pub(super) fn to_bytes(&self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        let (first, second) = bytes.split_at_mut(PAGE);
        first[..8].copy_from_slice(MAGIC);
        first[9] = self.is_open.into();
        first[10..12].copy_from_slice(&(self.ranges.len().min(MOST_RANGES) as u16).to_ne_bytes());
        let count = self.processes.len().min(MOST);
        first[12..16].copy_from_slice(&(count as u32).to_ne_bytes());
        for (place, process) in first[16..].chunks_exact_mut(4).zip(&self.processes) {
            place.copy_from_slice(&process.to_ne_bytes());
        }
        let numbers = self.ranges.iter().flat_map(|range| [range.start as u64, range.end as u64]);
        for (place, number) in second.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_ne_bytes());
        }
        bytes
    }

    /// Reads a record; `None` if it is none of this version.
    pub(super) fn of_bytes(bytes: &[u8; LENGTH]) -> Option<Self> {
        let (first, second) = bytes.split_at(PAGE);
        let number = |at: usize| Some(i32::from_ne_bytes(first.get(at..at + 4)?.try_into().ok()?));
        let count = usize::try_from(number(12)?).ok().filter(|count| *count <= MOST)?;
        let range_count = usize::from(u16::from_ne_bytes([first[10], first[11]]));
        let processes = (0..count).map(|index| number(16 + 4 * index)).collect::<Option<_>>()?;
        let bound = |at: usize| {
            let bytes = second.get(8 * at..8 * at + 8)?.try_into().ok()?;
            usize::try_from(u64::from_ne_bytes(bytes)).ok()
        };
        let ranges = (0..range_count).map(|index| Some(bound(2 * index)?..bound(2 * index + 1)?));
        let ranges = ranges.collect::<Option<_>>()?;
        first.starts_with(MAGIC).then_some(Record { ranges, is_open: first[9] == 1, processes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_is_read_as_it_was_written() {
        let mut record = Record { is_open: true, ..Record::default() };
        assert!(record.add(0..8) && record.add(64..128) && record.add(0..8));
        assert_eq!(record.ranges, [0..8, 64..128]);
        assert!(record.has(&(70..128)) && !record.has(&(0..9)) && !record.has(&(8..64)));
        assert!(record.allow(&[7, 9, 7]));
        assert_eq!(record.processes, [7, 9]);
        assert_eq!(Record::of_bytes(&record.to_bytes()), Some(record.clone()));
        assert!(!record.allow(&(0..2000).collect::<Vec<i32>>()));
        assert!((0..2000).any(|start| !record.add(start..3000)));
        assert_eq!(Record::of_bytes(&[0; LENGTH]), None);
    }
}
