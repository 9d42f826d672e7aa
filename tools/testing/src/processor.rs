//! The processor time of programs.

use std::mem::MaybeUninit;
use std::time::Duration;

/// Returns the processor time of all programs that this one has waited for, and of those that they have waited for.
pub fn processor_time_of_children() -> Duration {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the address is that of a struct of this type, which the function fills; zero is a value of it, too.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    processor_time(&usage)
}

/// Returns the time that the processor spent on what the system measured.
pub fn processor_time(usage: &libc::rusage) -> Duration {
    let time = |time: libc::timeval| {
        let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
        Duration::from_secs(seconds) + Duration::from_micros(u64::try_from(time.tv_usec).unwrap_or_default())
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}
