//! Anonymous files, which this process creates or opens by the name that another process has exported.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::{Mutex, MutexGuard, PoisonError};

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
        let opened = OpenOptions::new().read(true).write(true).open(name.path());
        let file = opened.map_err(|error| not_open(name, &error))?;
        let mut bytes = [0; LENGTH];
        let found = file.metadata().and_then(|metadata| {
            let size = metadata.len().checked_sub(LENGTH as u64).ok_or(io::ErrorKind::InvalidData)?;
            file.read_exact_at(&mut bytes, size)?;
            Ok((metadata.ino(), usize::try_from(size).map_err(|_| io::ErrorKind::InvalidData)?))
        });
        let record = Record::of_bytes(&bytes);
        let (Ok((inode, size)), Some(record)) = (found, record) else { return Err(gone(name)) };
        if Name::new(name.descriptor, inode).inode != name.inode || !record.is_exported {
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

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(super) fn descriptor(&self) -> i32 {
        self.file.as_raw_fd()
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, record: &Record) -> Result<()> {
        self.file.write_all_at(&record.to_bytes(), self.size as u64).map_err(|error| {
            Error::new(AclError::RT_MEMORY_ALLOCATION, format!("memory cannot be shared: {error}"))
        })
    }

    /// Lets other processes open the file: all, or only those that are listed.
    pub(crate) fn export(&self, is_open: bool) -> Result<Name> {
        let mut record = self.record();
        record.is_exported = true;
        record.is_open |= is_open;
        self.write(&record)?;
        // Another process must not cut the file: an access to the missing part would end this process.
        // SAFETY: the descriptor is open. A failure only means that there is no such protection.
        unsafe { libc::fcntl(self.descriptor(), libc::F_ADD_SEALS, libc::F_SEAL_SHRINK) };
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

    /// Lets the listed processes open the file.
    pub(crate) fn allow(&self, processes: &[i32]) -> Result<()> {
        let mut record = self.record();
        if !record.allow(processes) {
            return refuse(AclError::RT_PARAM_INVALID, "more than 1020 processes were listed");
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
        let name = file.export(false).unwrap();
        let message = SharedFile::open(name).unwrap_err().to_string();
        assert!(message.contains("has not listed this process"), "{message}");
        file.allow(&[std::process::id().cast_signed()]).unwrap();
        assert_eq!(SharedFile::open(name).unwrap().size(), 8192);
        file.withdraw().unwrap();
        assert!(SharedFile::open(name).unwrap_err().to_string().contains("no longer"));
        assert_eq!(file.export(true), Ok(name));
        SharedFile::open(name).unwrap();
        drop(file);
        SharedFile::open(name).unwrap_err();
    }
}
