//! Numbers that several processes change and wait for.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tenon::HostPtr;

use super::file::SharedFile;
use super::name::Name;
use super::pages::{self, Mapping};
use crate::api::AclError;
use crate::error::{Result, refuse};

/// The time after which a wait checks again whether it has an end: the other process may have died, or the stream may be
/// gone.
const CHECK: Duration = Duration::from_millis(50);

/// The place of the number that every change increments.
const CHANGES: usize = 0;

/// The end of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// The condition is true.
    Done,
    /// The deadline has passed.
    Late,
    /// The process that made the numbers has released them, or has ended.
    Orphaned,
}

/// A page of numbers, which are 0 at first.
#[derive(Debug)]
pub(crate) struct SharedNumbers {
    file: SharedFile,
    mapping: Mapping,
    /// The name of numbers that another process has made.
    foreign: Option<Name>,
}

impl SharedNumbers {
    pub(crate) fn new() -> Result<Self> {
        let file = SharedFile::new(pages::size())?;
        Ok(SharedNumbers { mapping: Mapping::of(&file)?, file, foreign: None })
    }

    /// Opens the numbers of another process.
    pub(crate) fn open(name: Name) -> Result<Self> {
        let file = SharedFile::open_all(name)?;
        if file.size() != pages::size() {
            return refuse(AclError::RT_PARAM_INVALID, "the key is that of memory");
        }
        Ok(SharedNumbers { mapping: Mapping::of(&file)?, file, foreign: Some(name) })
    }

    /// Lets other processes open the numbers: all, or only those that are listed.
    pub(crate) fn export(&self, is_open: bool) -> Result<Name> {
        self.foreign.map_or_else(|| self.file.export_all(is_open), Ok)
    }

    /// Lets the listed processes open the numbers.
    pub(crate) fn allow(&self, processes: &[i32]) -> Result<()> {
        match self.foreign {
            None => self.file.allow(processes),
            Some(_) => {
                refuse(AclError::RT_PARAM_INVALID, "only the process that has created it can list processes")
            }
        }
    }

    /// Returns the number in a place, counted from 0.
    pub(crate) fn number(&self, place: usize) -> &AtomicU32 {
        self.atomic(CHANGES + 1 + place)
    }

    fn atomic(&self, place: usize) -> &AtomicU32 {
        assert!(place < 16);
        let first = HostPtr::from_addr(self.mapping.start()).as_ptr().cast::<AtomicU32>();
        // SAFETY: the page is mapped as long as `self`, aligned, and all processes access it atomically.
        unsafe { &*first.add(place) }
    }

    /// Wakes those who wait for a change. Call it after each change.
    pub(crate) fn notify(&self) {
        let changes = self.atomic(CHANGES);
        changes.fetch_add(1, Ordering::Release);
        // SAFETY: the address is that of a living number.
        unsafe { libc::syscall(libc::SYS_futex, changes.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
    }

    /// Waits until `ask` returns true.
    pub(crate) fn wait(&self, until: Option<Instant>, mut ask: impl FnMut() -> bool) -> Waited {
        loop {
            let seen = self.atomic(CHANGES).load(Ordering::Acquire);
            let is_orphaned = self.foreign.is_some_and(|name| !name.is_open());
            if ask() {
                return Waited::Done;
            }
            if is_orphaned {
                return Waited::Orphaned;
            }
            let left = until.map_or(CHECK, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Waited::Late;
            }
            self.sleep(seen, left.min(CHECK));
        }
    }

    /// Sleeps until the next change, unless there was one since `seen`.
    fn sleep(&self, seen: u32, time: Duration) {
        let time = libc::timespec { tv_sec: 0, tv_nsec: time.subsec_nanos().into() };
        let changes = self.atomic(CHANGES).as_ptr();
        // SAFETY: the addresses are those of a living number and of a local variable.
        unsafe { libc::syscall(libc::SYS_futex, changes, libc::FUTEX_WAIT, seen, &raw const time) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_ends_with_a_change_or_at_the_deadline() {
        let numbers = SharedNumbers::new().unwrap();
        let is_set = || numbers.number(0).load(Ordering::Acquire) == 1;
        assert_eq!(numbers.wait(Some(Instant::now()), is_set), Waited::Late);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                numbers.number(0).store(1, Ordering::Release);
                numbers.notify();
            });
            assert_eq!(numbers.wait(None, is_set), Waited::Done);
        });
    }

    #[test]
    fn wait_for_released_numbers_ends() {
        let numbers = SharedNumbers::new().unwrap();
        let opened = SharedNumbers::open(numbers.export(true).unwrap()).unwrap();
        drop(numbers);
        assert_eq!(opened.wait(None, || false), Waited::Orphaned);
    }
}
