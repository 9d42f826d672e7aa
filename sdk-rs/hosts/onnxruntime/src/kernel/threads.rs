//! The threads of the session that calls a kernel.

use std::cell::Cell;
use std::ffi::c_void;

use crate::api::runtime::{KernelContext, OnnxRuntime};

/// A call of a kernel in which the host lends its threads.
#[derive(Clone, Copy)]
struct Lender {
    runtime: &'static OnnxRuntime,
    context: KernelContext,
}

thread_local! {
    /// The innermost call that the thread is in.
    static LENDER: Cell<Option<Lender>> = const { Cell::new(None) };
}

/// Lets [`share`] use the threads of a call until it is dropped.
pub(super) struct Shared(Option<Lender>);

impl Shared {
    /// # Safety
    /// The call lasts until the value is dropped, which happens on the same thread.
    pub(super) unsafe fn of(runtime: &'static OnnxRuntime, context: KernelContext) -> Self {
        Self(LENDER.replace(Some(Lender { runtime, context })))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        LENDER.set(self.0);
    }
}

/// Calls a function once with each number below `parts`, on the calling thread and on threads of the session whose node it
/// computes. Returns when all calls have returned. The function must not panic.
///
/// For operators of a device that uses [the host's memory](crate::Library::with_host_memory). Elsewhere, the calling thread
/// does all the work.
pub fn share(parts: usize, work: &(dyn Fn(usize) + Sync)) {
    /// # Safety
    /// `data` leads to the work.
    unsafe extern "C-unwind" fn part(data: *mut c_void, part: usize) {
        // SAFETY: `share` passes a reference that is valid until all parts are done.
        let work = unsafe { *data.cast::<&(dyn Fn(usize) + Sync)>() };
        work(part);
    }
    if parts > 1
        && let Some(Lender { runtime, context }) = LENDER.get()
    {
        let data = (&raw const work).cast_mut().cast();
        // SAFETY: the call lasts. The function gets what it expects, and the host has returned from it when it returns.
        if unsafe { runtime.parallel_for(context, Some(part), parts, 0, data) }.is_ok() {
            return;
        }
    }
    (0..parts).for_each(work);
}
