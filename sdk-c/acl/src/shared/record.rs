//! The record at the end of a shared file: who may import it.

/// The length of a record: one page of the smallest size.
pub(super) const LENGTH: usize = 4096;
/// Identifies records, and the version of their layout.
const MAGIC: &[u8; 8] = b"tenon\0\0\x01";
/// The maximum number of processes in a record.
const MOST: usize = (LENGTH - 16) / 4;

/// The processes that may import a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    /// False before the file is exported, and after its owner has withdrawn it.
    pub(super) is_exported: bool,
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

    pub(super) fn to_bytes(&self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8] = self.is_exported.into();
        bytes[9] = self.is_open.into();
        let count = self.processes.len().min(MOST);
        bytes[12..16].copy_from_slice(&(count as u32).to_ne_bytes());
        for (place, process) in bytes[16..].chunks_exact_mut(4).zip(&self.processes) {
            place.copy_from_slice(&process.to_ne_bytes());
        }
        bytes
    }

    /// Reads a record; `None` if it is none of this version.
    pub(super) fn of_bytes(bytes: &[u8; LENGTH]) -> Option<Self> {
        let number = |at: usize| Some(i32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let count = usize::try_from(number(12)?).ok().filter(|count| *count <= MOST)?;
        let is_record = bytes.starts_with(MAGIC);
        let processes = (0..count).map(|index| number(16 + 4 * index)).collect::<Option<_>>()?;
        is_record.then_some(Record { is_exported: bytes[8] == 1, is_open: bytes[9] == 1, processes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_is_read_as_it_was_written() {
        let mut record = Record { is_exported: true, ..Record::default() };
        assert!(record.allow(&[7, 9, 7]));
        assert_eq!(record.processes, [7, 9]);
        assert_eq!(Record::of_bytes(&record.to_bytes()), Some(record.clone()));
        assert!(!record.allow(&(0..2000).collect::<Vec<i32>>()));
        assert_eq!(Record::of_bytes(&[0; LENGTH]), None);
    }
}
