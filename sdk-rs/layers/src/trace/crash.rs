//! Writes the remaining records when a process ends or crashes.
//!
//! At `exit` each trace is closed. When a signal ends the process (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT), the handler
//! writes the records of all threads, and then the previous handler gets the signal. The handler does not allocate or
//! lock. A panic ends in one of these two ways, so it needs no separate handling. SIGKILL loses only the most recent
//! records.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use super::tracer::Tracer;
use crate::at_exit;

/// The maximum number of traces of a process that are saved.
const TRACES: usize = 16;
const SIGNALS: [i32; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT];

static LIVE: [AtomicPtr<Tracer>; TRACES] = [const { AtomicPtr::new(std::ptr::null_mut()) }; TRACES];
static INSTALL: Once = Once::new();
static SAVING: AtomicBool = AtomicBool::new(false);
static BEFORE: Before = Before(UnsafeCell::new([const { MaybeUninit::zeroed() }; SIGNALS.len()]));
static BUFFER: Buffer = Buffer(UnsafeCell::new([0; 1 << 14]));

/// The previous handlers.
struct Before(UnsafeCell<[MaybeUninit<libc::sigaction>; SIGNALS.len()]>);
// SAFETY: each element is written once, before the handler that reads it is installed.
unsafe impl Sync for Before {}

/// The buffer in which the handler formats.
struct Buffer(UnsafeCell<[u8; 1 << 14]>);
// SAFETY: only used by the one thread that has set `SAVING`.
unsafe impl Sync for Buffer {}

/// Saves the trace when the process ends.
pub(super) fn watch(tracer: &'static Tracer) {
    let pointer = std::ptr::from_ref(tracer).cast_mut();
    for place in &LIVE {
        let old = place.load(Ordering::Acquire);
        // SAFETY: the stored pointer is null or to memory that is never freed.
        let over = unsafe { old.as_ref() }.is_none_or(Tracer::is_closed);
        if over && place.compare_exchange(old, pointer, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            break;
        }
    }
    INSTALL.call_once(install);
}

fn install() {
    at_exit::call(close_traces);
    for (index, signal) in SIGNALS.into_iter().enumerate() {
        // SAFETY: an all-zero action is the default one, and both pointers are valid. The handler makes only calls that
        // are safe in handlers. The old action is written before the new handler, which reads it, is installed.
        unsafe {
            let place = BEFORE.0.get().cast::<libc::sigaction>().add(index);
            libc::sigaction(signal, std::ptr::null(), place);
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_signal as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

fn live() -> impl Iterator<Item = &'static Tracer> {
    // SAFETY: the stored pointer is null or to memory that is never freed.
    LIVE.iter().filter_map(|place| unsafe { place.load(Ordering::Acquire).as_ref() })
}

extern "C" fn close_traces() {
    live().for_each(Tracer::close);
}

extern "C" fn on_signal(signal: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    if !SAVING.swap(true, Ordering::Acquire) {
        // SAFETY: `SAVING` was false, so no other thread uses the buffer until it is false again.
        let buffer = unsafe { &mut *BUFFER.0.get() };
        live().for_each(|tracer| tracer.save(buffer));
        SAVING.store(false, Ordering::Release);
    }
    let Some(index) = SIGNALS.iter().position(|known| *known == signal) else { return };
    // SAFETY: the old action was written before this handler was installed. A fault is raised again when the handler
    // returns, and is then handled by the old action. A signal from a process is not, so it is sent again.
    unsafe {
        libc::sigaction(signal, BEFORE.0.get().cast::<libc::sigaction>().add(index), std::ptr::null_mut());
        let sent = info.is_null() || (*info).si_code <= 0;
        if sent {
            libc::raise(signal);
        }
    }
}
