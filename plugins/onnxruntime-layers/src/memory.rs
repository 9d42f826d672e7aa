//! The memory that allocators of the provider have given.
//!
//! Memory that the host can read gets guards on both sides, whose bytes must stay as they are.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::LazyLock;

use tenon::support::Mutex;

use crate::objects::{self, Object};
use crate::rules::Rule;
use crate::settings::Settings;
use crate::validate::report;

/// The bytes of a guard. An address keeps its alignment.
const GUARD: usize = 256;
/// The value of each byte of a guard.
const FILL: u8 = 0xA5;
/// The freed blocks that are remembered.
const REMEMBERED: usize = 10_000;

/// A block of memory.
#[derive(Clone, Copy, Debug)]
struct Block {
    size: usize,
    allocator: usize,
    has_guards: bool,
}

#[derive(Default)]
struct Blocks {
    used: HashMap<usize, Block>,
    freed: HashMap<usize, Block>,
    /// Whether memory of an allocator gets guards.
    guarded: HashMap<usize, bool>,
}

static BLOCKS: LazyLock<Mutex<Blocks>> = LazyLock::new(Mutex::default);

/// An allocation between its begin and its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    size: usize,
    has_guards: bool,
}

/// Begins an allocation, and makes its size larger by guards.
pub(crate) fn begin(allocator: *mut c_void, object: &Object, size: &mut usize) -> Request {
    let has_guards =
        Settings::get().is_ok_and(|settings| settings.has_guards) && gets_guards(allocator, object);
    let request = Request { size: *size, has_guards };
    if let Some(larger) = size.checked_add(2 * GUARD).filter(|_| has_guards) {
        *size = larger;
        return request;
    }
    Request { has_guards: false, ..request }
}

/// Ends an allocation. Returns the address for the host.
pub(crate) fn given(function: &str, allocator: *mut c_void, request: Request, address: usize) -> usize {
    if address == 0 {
        return address;
    }
    let inner = if request.has_guards { address + GUARD } else { address };
    let block = Block { size: request.size, allocator: allocator.addr(), has_guards: request.has_guards };
    if block.has_guards {
        // SAFETY: the block was asked for with room for both guards, and memory of the allocator can be written.
        unsafe {
            std::ptr::write_bytes(address as *mut u8, FILL, GUARD);
            std::ptr::write_bytes((inner + block.size) as *mut u8, FILL, GUARD);
        }
    }
    let mut blocks = BLOCKS.lock();
    blocks.freed.remove(&inner);
    if let Some(other) = blocks.used.insert(inner, block) {
        drop(blocks);
        let message = format!("{inner:#x} is memory of {} bytes that is in use", other.size);
        report(Rule::GivenTwice, function, &message);
    }
    inner
}

/// Notes that memory is freed. Returns the address for the provider.
pub(crate) fn freed(function: &str, allocator: *mut c_void, address: usize) -> usize {
    if address == 0 {
        return address;
    }
    let mut blocks = BLOCKS.lock();
    let Some(block) = blocks.used.remove(&address) else {
        let before = blocks.freed.get(&address).copied();
        drop(blocks);
        match before {
            Some(block) => {
                report(
                    Rule::FreedTwice,
                    function,
                    &format!("{address:#x} of {} bytes was freed before", block.size),
                );
            }
            None => {
                report(Rule::ForeignMemory, function, &format!("{address:#x} was not given by an allocator"))
            }
        }
        return address;
    };
    if blocks.freed.len() > REMEMBERED {
        blocks.freed.clear();
    }
    blocks.freed.insert(address, block);
    drop(blocks);
    if block.allocator != allocator.addr() {
        let message = format!("{address:#x} of {} bytes was given by another allocator", block.size);
        report(Rule::ForeignMemory, function, &message);
    }
    if !block.has_guards {
        return address;
    }
    check(function, address, block);
    address - GUARD
}

/// Reports memory of an allocator that is in use.
pub(crate) fn report_rest(allocator: usize, name: &str) {
    let mut blocks = BLOCKS.lock();
    blocks.guarded.remove(&allocator);
    let rest: Vec<Block> =
        blocks.used.values().copied().filter(|block| block.allocator == allocator).collect();
    blocks.used.retain(|_, block| block.allocator != allocator);
    drop(blocks);
    if !rest.is_empty() {
        let bytes: usize = rest.iter().map(|block| block.size).sum();
        report(Rule::MemoryLeft, name, &format!("{} blocks with {bytes} bytes were not freed", rest.len()));
    }
}

/// Reports bytes of the guards that something has written.
fn check(function: &str, address: usize, block: Block) {
    let before = (address - GUARD) as *const u8;
    let behind = (address + block.size) as *const u8;
    // SAFETY: the guards that `given` has written.
    let (before, behind) =
        unsafe { (std::slice::from_raw_parts(before, GUARD), std::slice::from_raw_parts(behind, GUARD)) };
    let changed = |byte: &u8| *byte != FILL;
    if let Some(place) = before.iter().rposition(changed) {
        let message = format!("memory of {} bytes: byte {} before it was written", block.size, GUARD - place);
        report(Rule::Beside, function, &message);
    }
    if let Some(place) = behind.iter().position(changed) {
        let message = format!("memory of {} bytes: byte {} behind it was written", block.size, place + 1);
        report(Rule::Beside, function, &message);
    }
}

/// Returns whether memory of an allocator gets guards: the host can read it.
fn gets_guards(allocator: *mut c_void, object: &Object) -> bool {
    if let Some(known) = BLOCKS.lock().guarded.get(&allocator.addr()) {
        return *known;
    }
    type Alloc = unsafe extern "C-unwind" fn(*mut c_void, usize) -> *mut c_void;
    type Free = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void);
    let function = |name: &str| {
        let index = object.info().functions.iter().position(|function| function.name == name);
        index.map(|index| object.function(index)).filter(|address| *address != 0)
    };
    let found = match function("Alloc").zip(function("Free")) {
        // SAFETY: functions of the allocator, of these signatures. What it gives goes back at once.
        Some((alloc, free)) => unsafe {
            let alloc: Alloc = std::mem::transmute(alloc);
            let free: Free = std::mem::transmute(free);
            let memory = alloc(allocator, 2 * GUARD);
            let found = !memory.is_null() && is_readable(memory);
            if !memory.is_null() {
                free(allocator, memory);
            }
            found
        },
        None => false,
    };
    BLOCKS.lock().guarded.insert(allocator.addr(), found);
    found
}

/// Returns whether a byte can be read, without a crash if not.
fn is_readable(address: *const c_void) -> bool {
    let mut byte = 0_u8;
    let local = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let remote = libc::iovec { iov_base: address.cast_mut(), iov_len: 1 };
    // SAFETY: the kernel checks the remote address.
    unsafe { libc::process_vm_readv(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0) == 1 }
}

/// Returns whether memory can be written, without a crash if not. Its bytes stay as they are.
pub(crate) fn is_writable(address: *mut c_void) -> bool {
    let mut word = 0_u32;
    let local = libc::iovec { iov_base: (&raw mut word).cast(), iov_len: 4 };
    let remote = libc::iovec { iov_base: address, iov_len: 4 };
    // SAFETY: the kernel checks the remote address.
    unsafe {
        libc::process_vm_readv(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0) == 4
            && libc::process_vm_writev(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0) == 4
    }
}

/// Forgets an allocator.
pub(crate) fn released(allocator: *mut c_void) {
    if let Some(object) = objects::get(allocator) {
        report_rest(allocator.addr(), object.info().name);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use crate::front;
    use crate::validate::tests::reports;

    /// `OrtAllocator`: the version, and the pointers of 1.24.
    #[repr(C)]
    struct Allocator {
        version: u32,
        functions: [usize; 6],
        /// What `Alloc` gives next; 0 for new memory.
        next: AtomicUsize,
    }

    type Alloc = unsafe extern "C-unwind" fn(*mut c_void, usize) -> *mut c_void;
    type Free = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void);

    unsafe extern "C-unwind" fn alloc(this: *mut c_void, size: usize) -> *mut c_void {
        // SAFETY: the tests call it with an allocator.
        let next = unsafe { &(*this.cast::<Allocator>()).next }.swap(0, std::sync::atomic::Ordering::Relaxed);
        // SAFETY: any size is allowed.
        if next == 0 { unsafe { libc::malloc(size) } } else { next as *mut c_void }
    }

    unsafe extern "C-unwind" fn free(_: *mut c_void, _: *mut c_void) {
        // Leaked, so that the tests may look at it.
    }

    /// Makes an allocator with the layers in front.
    fn allocator() -> *mut Allocator {
        let kind = objects::kind("OrtAllocator");
        let info = free as *const () as usize;
        let functions = [alloc as *const () as usize, free as *const () as usize, info, 0, 0, 0];
        let made = Box::leak(Box::new(Allocator { version: 24, functions, next: AtomicUsize::new(0) }));
        // SAFETY: an object of this kind.
        unsafe { front::adopt(kind, (&raw mut *made).cast(), "test", None) };
        assert_ne!(made.functions[0], alloc as *const () as usize, "the layers are in front");
        reports();
        made
    }

    fn give(allocator: *mut Allocator, size: usize) -> *mut u8 {
        // SAFETY: the first function of the allocator.
        unsafe {
            let alloc: Alloc = std::mem::transmute((*allocator).functions[0]);
            alloc(allocator.cast(), size).cast()
        }
    }

    fn take(allocator: *mut Allocator, memory: *mut u8) {
        // SAFETY: the second function of the allocator.
        unsafe {
            let free: Free = std::mem::transmute((*allocator).functions[1]);
            free(allocator.cast(), memory.cast());
        }
    }

    #[test]
    fn memory_that_is_used_well_is_not_reported() {
        let allocator = allocator();
        for size in [0, 1, 7, 4096] {
            let memory = give(allocator, size);
            assert_eq!(memory.addr() % 16, 0);
            // SAFETY: memory of this size.
            unsafe { memory.write_bytes(7, size) };
            take(allocator, memory);
        }
        take(allocator, std::ptr::null_mut());
        released(allocator.cast());
        assert_eq!(reports(), Vec::<String>::new());
    }

    #[test]
    fn bytes_beside_memory_are_watched() {
        let allocator = allocator();
        for (offset, expected) in
            [(10, "byte 1 behind it"), (40, "byte 31 behind it"), (-1, "byte 1 before it")]
        {
            let memory = give(allocator, 10);
            // SAFETY: in the guards.
            unsafe { memory.offset(offset).write(0) };
            take(allocator, memory);
            assert_eq!(reports(), [format!("P023: memory of 10 bytes: {expected} was written")]);
        }
    }

    #[test]
    fn memory_is_freed_once_and_where_it_was_given() {
        let (allocator, other) = (allocator(), allocator());
        let memory = give(allocator, 8);
        take(other, memory);
        assert_eq!(
            reports(),
            [format!("P020: {:#x} of 8 bytes was given by another allocator", memory.addr())]
        );
        take(allocator, memory);
        assert_eq!(reports(), [format!("P021: {:#x} of 8 bytes was freed before", memory.addr())]);
        take(allocator, std::ptr::without_provenance_mut(64));
        assert_eq!(reports(), ["P020: 0x40 was not given by an allocator"]);
    }

    #[test]
    fn memory_that_is_left_is_counted() {
        let allocator = allocator();
        give(allocator, 8);
        give(allocator, 9);
        released(allocator.cast());
        assert_eq!(reports(), ["P022: 2 blocks with 17 bytes were not freed"]);
    }

    #[test]
    fn memory_is_not_given_twice() {
        let allocator = allocator();
        let memory = give(allocator, 8);
        // SAFETY: an allocator of this test.
        unsafe { (*allocator).next = AtomicUsize::new(memory.addr() - GUARD) };
        give(allocator, 8);
        assert_eq!(reports(), [format!("P024: {:#x} is memory of 8 bytes that is in use", memory.addr())]);
    }

    #[test]
    fn an_object_that_is_released_and_used_is_reported_and_one_that_is_made_again_is_not() {
        let allocator = allocator();
        objects::forget(allocator.cast());
        take(allocator, give(allocator, 8));
        let found = reports();
        assert!(found[0].starts_with("P010: the object 0x"), "{found:?}");
        let kind = objects::kind("OrtAllocator");
        // SAFETY: an object of this kind, in which the layers are.
        unsafe { front::adopt(kind, allocator.cast(), "test", None) };
        reports();
        take(allocator, give(allocator, 8));
        assert_eq!(reports(), Vec::<String>::new());
    }
}
