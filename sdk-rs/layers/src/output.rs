//! The file of a layer: one writer, no signals, no link, and never a file of the program.
//!
//! Everything but [`OutputFile::open`] may run in a signal handler: nothing allocates or locks. No write raises a
//! signal.

use std::ffi::CString;
use std::fs::{File, TryLockError};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd as _, IntoRawFd as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use tenon::support::write_line;

/// The layer that writes a file.
#[derive(Clone, Copy)]
pub(crate) struct Writer {
    /// The kind of the file, such as `trace`.
    pub(crate) what: &'static str,
    /// The extension of a second file, if another process writes the first one.
    pub(crate) extension: &'static str,
}

/// An open file, with one writer at a time.
pub(crate) struct OutputFile {
    path: PathBuf,
    c_path: CString,
    /// -1 once it is closed.
    descriptor: AtomicI32,
    /// Device and inode: a program may close descriptors that it did not open, and then get their numbers.
    identity: (u64, u64),
    /// True if the file has positions. A pipe has none.
    is_regular: bool,
    /// The number of bytes.
    written: AtomicU64,
    /// The system's number of the first error.
    error: AtomicI32,
}

impl OutputFile {
    /// Opens a file. If another writer has locked it, opens a file with the process id in its name instead.
    pub(crate) fn open(path: &Path, writer: Writer) -> io::Result<Self> {
        // Paths are resolved now, because the program may change its working directory.
        let mut path = std::path::absolute(path)?;
        let mut file = create(&path)?;
        if !lock(&file) {
            let taken = path.clone();
            path.set_extension(format!("{}.{}", std::process::id(), writer.extension));
            write_line(format_args!(
                "another process writes the {} {}; this one goes to {}",
                writer.what,
                taken.display(),
                path.display()
            ));
            file = create(&path)?;
            if !lock(&file) {
                return Err(io::Error::new(io::ErrorKind::ResourceBusy, "another writer has the file"));
            }
        }
        let metadata = file.metadata()?;
        if metadata.is_file() {
            file.set_len(0)?;
        }
        Ok(Self {
            c_path: CString::new(path.as_os_str().as_bytes())?,
            path,
            identity: (metadata.dev(), metadata.ino()),
            is_regular: metadata.is_file(),
            descriptor: AtomicI32::new(file.into_raw_fd()),
            written: AtomicU64::new(0),
            error: AtomicI32::new(0),
        })
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of bytes in the file.
    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Returns the first error.
    pub(crate) fn error(&self) -> Option<io::Error> {
        let error = self.error.load(Ordering::Relaxed);
        (error != 0).then(|| io::Error::from_raw_os_error(error))
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.descriptor.load(Ordering::Acquire) < 0
    }

    /// Appends all bytes. If that fails, appends as many of those that could be written as `whole` returns, so that no
    /// partial record stays. Returns the number of bytes appended.
    pub(crate) fn append(&self, bytes: &[u8], whole: fn(&[u8]) -> usize) -> usize {
        let mut signals = BlockedSignals::block();
        let start = self.written();
        let position = self.is_regular.then_some(start);
        let kept = match self.checked().map_err(|error| (0, error)).and_then(|file| {
            write_some(file, bytes, position).map_err(|(count, error)| {
                if position.is_none() {
                    return (count, error);
                }
                let kept = whole(&bytes[..count]);
                // SAFETY: the descriptor is that of the file. If it cannot be cut, readers find the partial record.
                unsafe { libc::ftruncate(file, (start + kept as u64).cast_signed()) };
                (kept, error)
            })
        }) {
            Ok(()) => bytes.len(),
            Err((kept, error)) => {
                let _ = self.error.compare_exchange(0, error, Ordering::Relaxed, Ordering::Relaxed);
                kept
            }
        };
        self.written.store(start + kept as u64, Ordering::Relaxed);
        signals.restore();
        kept
    }

    /// Writes bytes over others. Returns true on success; a pipe has no bytes to write over.
    pub(crate) fn overwrite(&self, position: u64, bytes: &[u8]) -> bool {
        if !self.is_regular || position + bytes.len() as u64 > self.written() {
            return false;
        }
        let mut signals = BlockedSignals::block();
        let outcome = self.checked().is_ok_and(|file| write_some(file, bytes, Some(position)).is_ok());
        signals.restore();
        outcome
    }

    /// Closes the file. Nothing can be written afterwards.
    pub(crate) fn close(&self) {
        if let Ok(file) = self.checked() {
            // SAFETY: the descriptor is that of the file that was opened here.
            unsafe { libc::close(file) };
        }
        self.descriptor.store(-1, Ordering::Release);
    }

    /// Returns the descriptor, if it still is that of the file. Otherwise the file is opened once more.
    fn checked(&self) -> Result<i32, i32> {
        let known = self.descriptor.load(Ordering::Relaxed);
        if identity(known) == Some(self.identity) {
            return Ok(known);
        }
        if known < 0 || !self.is_regular {
            return Err(libc::EBADF);
        }
        let flags = libc::O_WRONLY | libc::O_CLOEXEC | libc::O_NOFOLLOW;
        // SAFETY: the path is a text with a zero at its end.
        let opened = unsafe { libc::open(self.c_path.as_ptr(), flags) };
        if opened < 0 {
            return Err(last_error());
        }
        // SAFETY: opened above. Without effect on a file system without locks.
        let is_taken = unsafe { libc::flock(opened, libc::LOCK_EX | libc::LOCK_NB) } != 0
            && last_error() == libc::EWOULDBLOCK;
        if identity(opened) != Some(self.identity) || is_taken {
            // SAFETY: the descriptor was opened above, and nothing else uses it.
            unsafe { libc::close(opened) };
            return Err(if is_taken { libc::EBUSY } else { libc::ESTALE });
        }
        self.descriptor.store(opened, Ordering::Relaxed);
        Ok(opened)
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        self.close();
    }
}

/// Opens a file without changing its contents, which may be another writer's. For a FIFO it waits for a reader. A link
/// is an error: in a folder of several users, it may lead to any file of this user.
///
/// `OpenOptions` is not used, because it retries after a signal. In programs that handle Ctrl-C, such as Python, the
/// signal could then not end the wait.
fn create(path: &Path) -> io::Result<File> {
    let c_path = CString::new(path.as_os_str().as_bytes())?;
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    // SAFETY: the path is a text with a zero at its end, and the mode has the type that `open` takes for it.
    let descriptor = unsafe { libc::open(c_path.as_ptr(), flags, 0o666 as libc::c_uint) };
    if descriptor < 0 {
        let error = io::Error::last_os_error();
        return Err(match error.raw_os_error() {
            Some(libc::ELOOP) if path.is_symlink() => io::Error::new(
                io::ErrorKind::InvalidInput,
                "it is a symbolic link, and links are not followed",
            ),
            _ => error,
        });
    }
    // SAFETY: the descriptor was opened above, and nothing else uses it.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}

/// Locks a file for writing until it is closed. Without effect on a file system without locks.
fn lock(file: &File) -> bool {
    !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

fn identity(descriptor: i32) -> Option<(u64, u64)> {
    let mut status = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the place can be written; a number that is not a descriptor is an error.
    if unsafe { libc::fstat(descriptor, status.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: written by the call.
    let status = unsafe { status.assume_init() };
    Some((status.st_dev, status.st_ino))
}

/// Writes all bytes, or returns the number of bytes written before the error.
fn write_some(descriptor: i32, bytes: &[u8], position: Option<u64>) -> Result<(), (usize, i32)> {
    let mut count = 0;
    while count < bytes.len() {
        let rest = &bytes[count..];
        // SAFETY: the bytes are valid.
        let written = unsafe {
            match position {
                Some(position) => libc::pwrite(
                    descriptor,
                    rest.as_ptr().cast(),
                    rest.len(),
                    (position + count as u64).cast_signed(),
                ),
                None => libc::write(descriptor, rest.as_ptr().cast(), rest.len()),
            }
        };
        match usize::try_from(written) {
            Ok(written) => count += written,
            Err(_) => match last_error() {
                libc::EINTR => {}
                error => return Err((count, error)),
            },
        }
    }
    Ok(())
}

fn last_error() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// The signals that a write raises if a pipe has no reader or a file has reached its size limit.
/// They are blocked on this thread, and a signal that was raised meanwhile is discarded.
struct BlockedSignals {
    raised: libc::sigset_t,
    before: libc::sigset_t,
    /// Signals that were pending before, which the program raised.
    pending: libc::sigset_t,
}

impl BlockedSignals {
    const SIGNALS: [i32; 2] = [libc::SIGPIPE, libc::SIGXFSZ];

    fn block() -> Self {
        // SAFETY: sets of zeros are valid, and the places can be written.
        unsafe {
            let mut signals =
                Self { raised: std::mem::zeroed(), before: std::mem::zeroed(), pending: std::mem::zeroed() };
            libc::sigemptyset(&raw mut signals.raised);
            for signal in Self::SIGNALS {
                libc::sigaddset(&raw mut signals.raised, signal);
            }
            libc::sigpending(&raw mut signals.pending);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const signals.raised, &raw mut signals.before);
            signals
        }
    }

    fn restore(&mut self) {
        let none = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the sets were filled by `block`.
        unsafe {
            for signal in Self::SIGNALS {
                if libc::sigismember(&raw const self.pending, signal) == 1 {
                    libc::sigdelset(&raw mut self.raised, signal);
                }
            }
            while libc::sigtimedwait(&raw const self.raised, std::ptr::null_mut(), &raw const none) > 0 {}
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut());
        }
    }
}
