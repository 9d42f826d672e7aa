//! Names of shared files, as text and as a number.

use std::fmt;
use std::path::PathBuf;

/// The bits of each part in a number.
const PROCESS_BITS: u32 = 22;
const DESCRIPTOR_BITS: u32 = 20;
const INODE_BITS: u32 = 22;

/// The name of a shared file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) process: u32,
    pub(super) descriptor: u32,
    /// The lower bits of the inode. They differ if the process has closed the file and the descriptor is another one.
    pub(super) inode: u32,
}

impl Name {
    pub(super) fn new(descriptor: u32, inode: u64) -> Self {
        let inode = (inode & u64::from(u32::MAX >> (32 - INODE_BITS))) as u32;
        Name { process: std::process::id(), descriptor, inode }
    }

    /// Returns true if this process has the file.
    pub(crate) fn is_own(self) -> bool {
        self.process == std::process::id()
    }

    /// Returns true if the process still has a file of this number. It has none after it has died.
    pub(super) fn is_open(self) -> bool {
        self.path().exists()
    }

    /// Returns the path by which another process opens the file.
    pub(super) fn path(self) -> PathBuf {
        format!("/proc/{}/fd/{}", self.process, self.descriptor).into()
    }

    /// Returns the name as a number, which is never 0.
    pub(crate) fn to_number(self) -> u64 {
        let upper = u64::from(self.process) << DESCRIPTOR_BITS | u64::from(self.descriptor);
        upper << INODE_BITS | u64::from(self.inode)
    }

    /// Returns the name that a number stands for.
    pub(crate) fn of_number(number: u64) -> Self {
        let part = |shift: u32, bits: u32| (number >> shift & ((1 << bits) - 1)) as u32;
        Name {
            process: part(INODE_BITS + DESCRIPTOR_BITS, PROCESS_BITS),
            descriptor: part(INODE_BITS, DESCRIPTOR_BITS),
            inode: part(0, INODE_BITS),
        }
    }

    /// Reads the text of a name.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-').map(|part| u32::from_str_radix(part, 16).ok());
        let name = Name { process: parts.next()??, descriptor: parts.next()??, inode: parts.next()?? };
        parts.next().is_none().then_some(name)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:x}-{:x}-{:x}", self.process, self.descriptor, self.inode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_survives_both_forms() {
        let name = Name { process: (1 << 22) - 1, descriptor: (1 << 20) - 1, inode: (1 << 22) - 1 };
        assert_eq!(Name::of_number(name.to_number()), name);
        assert_eq!(Name::parse(&name.to_string()), Some(name));
        assert_eq!(Name::new(3, u64::MAX).inode, (1 << 22) - 1);
    }

    #[test]
    fn other_text_is_no_name() {
        for text in ["", "1-2", "1-2-3-4", "1-2-x", "100000000-1-1"] {
            assert_eq!(Name::parse(text), None, "{text}");
        }
    }
}
