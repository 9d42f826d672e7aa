//! Where each thread finds its state.
//!
//! A shared library asks the system where a thread-local is, by a call that takes as long as all the rest of the way to a
//! device. On x86-64 a register leads to the thread's control block, whose address no other live thread has. So threads
//! have seats in a table by that address, and only one that found its seat taken has to ask.

use std::cell::Cell;

use crate::thread::Thread;

thread_local! {
    // Needs no destructor, so that it can be read as long as there is the thread.
    static STATE: Cell<*const Thread> = const { Cell::new(std::ptr::null()) };
}

/// The state of the calling thread; null if it has none.
#[inline(always)]
pub(crate) fn get() -> *const Thread {
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    if let Some(state) = seats::get() {
        return state;
    }
    asked()
}

#[cold]
#[inline(never)]
fn asked() -> *const Thread {
    STATE.get()
}

/// Sets the state of a thread that does not live to take it away.
pub(crate) fn set_unseated(state: *const Thread) {
    STATE.set(state);
}

/// Sets the state of the calling thread, or takes it away.
pub(crate) fn set(state: *const Thread) {
    STATE.set(state);
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    seats::set(state);
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod seats {
    use std::ptr::null_mut;
    use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

    use super::Thread;

    /// Bits of a seat's number.
    const BITS: u32 = 10;

    struct Seat {
        /// Address of the control block of the thread that has it; 0: nobody.
        block: AtomicUsize,
        state: AtomicPtr<Thread>,
    }

    static SEATS: [Seat; 1 << BITS] =
        [const { Seat { block: AtomicUsize::new(0), state: AtomicPtr::new(null_mut()) } }; 1 << BITS];

    /// The address of the calling thread's control block.
    #[inline(always)]
    fn block() -> usize {
        let block: usize;
        // SAFETY: by the ABI of the platform the control block begins with its own address.
        unsafe {
            std::arch::asm!(
                "mov {0}, qword ptr fs:[0]",
                out(reg) block,
                options(nostack, preserves_flags, readonly, pure),
            );
        }
        block
    }

    #[inline(always)]
    fn seat(block: usize) -> &'static Seat {
        // Blocks lie as far from each other as stacks do: the upper bits of the product depend on all of theirs.
        &SEATS[block.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - BITS)]
    }

    /// A seat says the same to its own thread at all times, so that nothing need be ordered.
    #[inline(always)]
    pub(super) fn get() -> Option<*const Thread> {
        let block = block();
        let seat = seat(block);
        (seat.block.load(Ordering::Relaxed) == block).then(|| seat.state.load(Ordering::Relaxed).cast_const())
    }

    pub(super) fn set(state: *const Thread) {
        let block = block();
        let seat = seat(block);
        if state.is_null() {
            if seat.block.load(Ordering::Relaxed) == block {
                seat.state.store(null_mut(), Ordering::Relaxed);
                seat.block.store(0, Ordering::Release);
            }
        } else if seat.block.compare_exchange(0, block, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            seat.state.store(state.cast_mut(), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_finds_its_own_also_where_seats_are_taken() {
        // More than there are seats: some have to share one, and only one of them can have it.
        let barrier = std::sync::Barrier::new(1100);
        std::thread::scope(|scope| {
            for number in 1..=1100usize {
                let barrier = &barrier;
                let builder = std::thread::Builder::new().stack_size(64 << 10);
                let body = move || {
                    let mine = std::ptr::without_provenance::<Thread>(number * 64);
                    assert!(get().is_null());
                    set(mine);
                    barrier.wait();
                    let found = get();
                    set(std::ptr::null());
                    assert_eq!(found, mine);
                    assert!(get().is_null());
                };
                builder.spawn_scoped(scope, body).unwrap();
            }
        });
    }
}
