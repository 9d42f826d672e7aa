//! Tracks the memory that an operator reads and writes, so that a mutable slice never overlaps another slice.
//!
//! Tensors of one call may share memory: an output is often an input, and views overlap. Mutable slices in
//! Rust must not overlap. Therefore each slice of a tensor is recorded, and an overlapping slice is rejected.

use std::cell::RefCell;
use std::ops::Range;

use crate::error::{Error, Result};

/// The kind of access to a slice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::kernel) enum Access {
    /// Shared read access.
    Read,
    /// Exclusive write access.
    Write,
}

/// The slices of one call.
#[derive(Default, Debug)]
pub(in crate::kernel) struct Ledger(RefCell<Vec<(Range<usize>, Access)>>);

impl Ledger {
    /// Records a slice.
    ///
    /// # Errors
    /// The slice overlaps an earlier one, and one of the two is writable.
    pub(in crate::kernel) fn claim(&self, name: &str, range: Range<usize>, access: Access) -> Result<()> {
        let mut claims = self.0.borrow_mut();
        let conflicts = claims.iter().any(|(other, earlier)| {
            (access == Access::Write || *earlier == Access::Write) && overlap(other, &range)
        });
        if conflicts {
            return Err(Error::broken(format!("`{name}` shares memory with another argument")));
        }
        claims.push((range, access));
        Ok(())
    }
}

/// Returns true if two ranges share an address; an empty range shares none.
fn overlap(left: &Range<usize>, right: &Range<usize>) -> bool {
    left.start.max(right.start) < left.end.min(right.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_are_alone() {
        let ledger = Ledger::default();
        ledger.claim("a", 0..8, Access::Read).unwrap();
        ledger.claim("b", 4..12, Access::Read).unwrap();
        ledger.claim("c", 12..16, Access::Write).unwrap();
        ledger.claim("empty", 14..14, Access::Write).unwrap();
        assert!(ledger.claim("d", 7..9, Access::Write).is_err());
        let refused = ledger.claim("e", 15..20, Access::Read).unwrap_err();
        assert_eq!(refused.message, "`e` shares memory with another argument");
    }
}
