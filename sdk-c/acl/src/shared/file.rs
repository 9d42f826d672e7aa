//! Anonymous files, which this process creates or opens by the name that another process has exported.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::sync::MutexGuard;
use tenon::support::Mutex;

use super::name::Name;
use super::record::{LENGTH, Record};
use crate::api::AclError;
use crate::error::{Error, Result, refuse};

/// Returns the error of a failed system call.
#[cold]
pub(crate) fn failed(code: AclError, what: &str) -> Error {
    Error::new(code, format!("the system could not {what}: {}", io::Error::last_os_error()))
}

/// An anonymous file with memory. If it was exported, a [`Record`] follows the memory.
#[derive(Debug)]
pub(crate) struct SharedFile {
    file: File,
    size: usize,
    record: Mutex<Record>,
}

impl SharedFile {
    /// Allocates memory, which is zero.
    pub(crate) fn new(size: usize) -> Result<Self> {
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        // SAFETY: the name is NUL-terminated.
        let descriptor = unsafe { libc::memfd_create(c"tenon".as_ptr(), flags) };
        if descriptor < 0 {
            return Err(failed(AclError::RT_MEMORY_ALLOCATION, "create physical memory"));
        }
        // SAFETY: the descriptor is new and has no other owner.
        let file = unsafe { File::from_raw_fd(descriptor) };
        let Ok(length) = libc::off_t::try_from(size) else {
            return refuse(AclError::RT_MEMORY_ALLOCATION, format!("there is no memory for {size} bytes"));
        };
        // SAFETY: the descriptor is open.
        if unsafe { libc::fallocate(descriptor, 0, 0, length) } != 0 {
            return Err(failed(AclError::RT_MEMORY_ALLOCATION, &format!("allocate {size} bytes")));
        }
        Ok(SharedFile { file, size, record: Mutex::default() })
    }

    /// Opens a file that another process has exported to this one.
    pub(crate) fn open(name: Name) -> Result<Self> {
        // A name that is made up may be the name of a terminal or a pipe.
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
        let opened = OpenOptions::new().read(true).write(true).custom_flags(flags).open(name.path());
        let file = opened.map_err(|error| not_open(name, &error))?;
        // Before its length is read, which then stays: an access beyond the end would end this process with SIGBUS.
        if !seal(&file) {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!(
                    "process {} could cut the memory that it shares, which this process would not survive",
                    name.process
                ),
            );
        }
        let mut bytes = [0; LENGTH];
        let found = file.metadata().and_then(|metadata| {
            let size = metadata.len().checked_sub(LENGTH as u64).ok_or(io::ErrorKind::InvalidData)?;
            file.read_exact_at(&mut bytes, size)?;
            Ok((metadata.ino(), usize::try_from(size).map_err(|_| io::ErrorKind::InvalidData)?))
        });
        let record = Record::of_bytes(&bytes);
        let (Ok((inode, size)), Some(record)) = (found, record) else { return Err(gone(name)) };
        if Name::new(name.descriptor, inode).inode != name.inode || record.ranges.is_empty() {
            return Err(gone(name));
        }
        let process = std::process::id().cast_signed();
        if !record.is_open && !record.processes.contains(&process) {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!(
                    "process {} has not listed this process, {process}, as one that may import the memory",
                    name.process
                ),
            );
        }
        Ok(SharedFile { file, size, record: Mutex::new(record) })
    }

    /// Opens a file of which another process has exported all.
    pub(crate) fn open_all(name: Name) -> Result<Self> {
        let file = Self::open(name)?;
        if file.has_exported(&(0..file.size)) { Ok(file) } else { Err(gone(name)) }
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Returns true if another process has exported a range of the file, or a range around it.
    pub(crate) fn has_exported(&self, range: &Range<usize>) -> bool {
        range.end <= self.size && self.record().has(range)
    }

    pub(super) fn descriptor(&self) -> i32 {
        self.file.as_raw_fd()
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock()
    }

    fn write(&self, record: &Record) -> Result<()> {
        self.file.write_all_at(&record.to_bytes(), self.size as u64).map_err(|error| {
            Error::new(AclError::RT_MEMORY_ALLOCATION, format!("memory cannot be shared: {error}"))
        })
    }

    /// Lets other processes open the file to map a range: all processes, or only those that are listed.
    pub(crate) fn export(&self, range: Range<usize>, is_open: bool) -> Result<Name> {
        let mut record = self.record();
        let mut changed = record.clone();
        if !changed.add(range) {
            return refuse(AclError::RT_RESOURCE_ALLOC_FAIL, "256 parts of the memory were exported already");
        }
        changed.is_open |= is_open;
        self.write(&changed)?;
        *record = changed;
        // Another process must not cut the file: an access to the missing part would end this process.
        if !seal(&self.file) {
            return Err(failed(AclError::RT_FEATURE_NOT_SUPPORT, "seal the memory"));
        }
        let inode = self.file.metadata().map(|metadata| metadata.ino()).unwrap_or_default();
        let name = Name::new(self.descriptor().cast_unsigned(), inode);
        if Name::of_number(name.to_number()) != name {
            return refuse(
                AclError::RT_RESOURCE_ALLOC_FAIL,
                "the process has too many open files to share memory",
            );
        }
        Ok(name)
    }

    /// Lets other processes open the file to map all of it.
    pub(crate) fn export_all(&self, is_open: bool) -> Result<Name> {
        self.export(0..self.size, is_open)
    }

    /// Lets the listed processes open the file.
    pub(crate) fn allow(&self, processes: &[i32]) -> Result<()> {
        let mut record = self.record();
        if !record.allow(processes) {
            return refuse(AclError::RT_PARAM_INVALID, "more than 1020 processes were listed");
        }
        self.write(&record)
    }

    /// Lets no further process map a range, and none open the file if no range is left.
    pub(crate) fn withdraw_range(&self, range: &Range<usize>) -> Result<()> {
        let mut record = self.record();
        record.ranges.retain(|known| known != range);
        if record.ranges.is_empty() {
            *record = Record::default();
        }
        self.write(&record)
    }

    /// Lets no further process open the file.
    pub(crate) fn withdraw(&self) -> Result<()> {
        let mut record = self.record();
        *record = Record::default();
        self.write(&record)
    }
}

/// Forbids all processes to shorten a file. Returns false if that cannot be, as for a file that is not anonymous memory.
fn seal(file: &File) -> bool {
    let descriptor = file.as_raw_fd();
    // SAFETY: the descriptor is open.
    let seals = unsafe {
        libc::fcntl(descriptor, libc::F_ADD_SEALS, libc::F_SEAL_SHRINK);
        libc::fcntl(descriptor, libc::F_GET_SEALS)
    };
    seals >= 0 && seals & libc::F_SEAL_SHRINK != 0
}

#[cold]
fn gone(name: Name) -> Error {
    let process = name.process;
    let message = format!("process {process} does not share this memory, or does so no longer");
    Error::new(AclError::RT_PARAM_INVALID, message)
}

#[cold]
fn not_open(name: Name, error: &io::Error) -> Error {
    let process = name.process;
    let message = match error.kind() {
        io::ErrorKind::NotFound => {
            format!("process {process} does not share this memory, has ended, or is in another container")
        }
        io::ErrorKind::PermissionDenied => format!("process {process} does not belong to the same user"),
        _ => format!("the memory of process {process} cannot be opened: {error}"),
    };
    Error::new(AclError::RT_PARAM_INVALID, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exported_files_can_be_opened() {
        let file = SharedFile::new(8192).unwrap();
        let name = file.export_all(false).unwrap();
        let message = SharedFile::open(name).unwrap_err().to_string();
        assert!(message.contains("has not listed this process"), "{message}");
        file.allow(&[std::process::id().cast_signed()]).unwrap();
        assert_eq!(SharedFile::open(name).unwrap().size(), 8192);
        file.withdraw().unwrap();
        assert!(SharedFile::open(name).unwrap_err().to_string().contains("no longer"));
        assert_eq!(file.export_all(true), Ok(name));
        SharedFile::open(name).unwrap();
        drop(file);
        SharedFile::open(name).unwrap_err();
    }

    #[test]
    fn only_exported_ranges_can_be_mapped() {
        let file = SharedFile::new(8192).unwrap();
        let name = file.export(64..128, true).unwrap();
        file.export(4096..8192, true).unwrap();
        SharedFile::open_all(name).unwrap_err();
        let opened = SharedFile::open(name).unwrap();
        for (range, is_exported) in [
            (64..128, true),
            (64..100, true),
            (4096..8192, true),
            (0..64, false),
            (64..129, false),
            (4096..9000, false),
        ] {
            assert_eq!(opened.has_exported(&range), is_exported, "{range:?}");
        }
        file.withdraw_range(&(4096..8192)).unwrap();
        assert!(!SharedFile::open(name).unwrap().has_exported(&(4096..8192)));
        file.withdraw_range(&(64..128)).unwrap();
        SharedFile::open(name).unwrap_err();
    }

    /// Returns the record of a file that every process may import.
    fn open_record() -> Record {
        let mut record = Record { is_open: true, ..Record::default() };
        assert!(record.add(0..8192));
        record
    }

    #[test]
    fn imported_file_cannot_be_cut() {
        // An exporter that does not seal: the importer does.
        let file = SharedFile::new(8192).unwrap();
        file.write(&open_record()).unwrap();
        let inode = file.file.metadata().unwrap().ino();
        let name = Name::new(file.descriptor().cast_unsigned(), inode);
        let opened = SharedFile::open(name).unwrap();
        assert_eq!(opened.size(), 8192);
        let error = file.file.set_len(0).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EPERM), "{error}");
    }

    #[test]
    fn file_that_cannot_be_sealed_is_refused() {
        // SAFETY: the name is NUL-terminated.
        let unsealable = unsafe { libc::memfd_create(c"other".as_ptr(), libc::MFD_CLOEXEC) };
        // SAFETY: the descriptor is new and has no other owner.
        let unsealable = unsafe { File::from_raw_fd(unsealable) };
        let plain = std::env::temp_dir().join(format!("tenon-shared-{}", std::process::id()));
        let plain_file = File::create_new(&plain).unwrap();
        for file in [unsealable, plain_file] {
            file.set_len((8192 + LENGTH) as u64).unwrap();
            file.write_all_at(&open_record().to_bytes(), 8192).unwrap();
            let name = Name::new(file.as_raw_fd().cast_unsigned(), file.metadata().unwrap().ino());
            let message = SharedFile::open(name).unwrap_err().to_string();
            assert!(message.contains("could cut the memory"), "{message}");
        }
        std::fs::remove_file(plain).unwrap();
    }
}
