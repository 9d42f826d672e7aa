//! Compares the memory pool with `malloc` and mimalloc, and asynchronous copies with `memcpy`.
//!
//! `cargo bench -p tenon-sdk-c --bench pool`

#[allow(dead_code, reason = "nothing is compiled against the library here")]
#[path = "../tests/common/build.rs"]
mod build;
#[path = "../../runtime/cpu/benches/common/mod.rs"]
mod common;

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::{c_char, c_int, c_void};
use std::hint::black_box;
use std::ptr::{null, null_mut};
use std::thread;

use common::{compare, head, medians, size_name};
use libloading::Library;
use mimalloc::MiMalloc;

/// Blocks that are held at once in the second table, so that no allocator can answer with the block freed
/// last.
const HELD: usize = 32;

type Handle = *mut c_void;

/// The built-in CPU device, as a C program sees it.
struct Device {
    library: &'static Library,
    handle: Handle,
    allocate: unsafe extern "C" fn(Handle, usize, Handle, *mut Handle) -> c_int,
    free: unsafe extern "C" fn(Handle, Handle, Handle) -> c_int,
    trim: unsafe extern "C" fn(Handle, usize) -> c_int,
}

// SAFETY: handles may be used on every thread.
unsafe impl Sync for Device {}

impl Device {
    fn open() -> Self {
        // SAFETY: no other thread runs that reads the environment.
        unsafe { std::env::set_var("TENON_CPU_MEMORY", "20GiB") };
        // SAFETY: the library is ours, and its initialisers do nothing unusual.
        let library = unsafe { Library::new(build::library().join("libtenon.so")) }.expect("the library");
        let library: &'static Library = Box::leak(Box::new(library));
        let mut handle = null_mut();
        // SAFETY: the functions have these types, and get what their header asks for.
        unsafe {
            let open: unsafe extern "C" fn(*const c_char, c_int, *mut Handle) -> c_int =
                function(library, "tenon_device_open");
            assert_eq!(open(null(), 0, &mut handle), 0);
            let allocate = function(library, "tenon_pool_allocate");
            let (free, trim) = (function(library, "tenon_pool_free"), function(library, "tenon_pool_trim"));
            Device { library, handle, allocate, free, trim }
        }
    }

    fn allocate(&self, size: usize, stream: Handle) -> Handle {
        let mut ptr = null_mut();
        // SAFETY: the device is open, and the address can be written.
        assert_eq!(unsafe { (self.allocate)(self.handle, size, stream, &mut ptr) }, 0);
        ptr
    }

    fn free(&self, ptr: Handle, stream: Handle) {
        // SAFETY: the device is open, and looks the address up.
        assert_eq!(unsafe { (self.free)(self.handle, ptr, stream) }, 0);
    }

    fn trim(&self) {
        // SAFETY: the device is open.
        assert_eq!(unsafe { (self.trim)(self.handle, 0) }, 0);
    }
}

/// # Safety
/// `T` is the type of the function.
unsafe fn function<T: Copy>(library: &Library, name: &str) -> T {
    // SAFETY: the caller's promise.
    *unsafe { library.get::<T>(name.as_bytes()) }.unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn main() {
    let device = Device::open();
    let threads = thread::available_parallelism().map_or(2, usize::from);
    for threads in [1, threads, 4 * threads] {
        allocations(&device, threads, 1);
        allocations(&device, threads, HELD);
    }
    copies(&device);
}

/// An allocator: `held` blocks are allocated and then freed, so many times.
trait Contender: Sync {
    fn cycles(&self, size: usize, held: usize, cycles: usize);
}

struct Malloc;
struct Mimalloc;

impl Contender for Device {
    fn cycles(&self, size: usize, held: usize, cycles: usize) {
        let mut blocks = Vec::with_capacity(held);
        for _ in 0..cycles {
            blocks.extend((0..held).map(|_| self.allocate(black_box(size), null_mut())));
            blocks.drain(..).for_each(|block| self.free(block, null_mut()));
        }
    }
}

impl Contender for Malloc {
    fn cycles(&self, size: usize, held: usize, cycles: usize) {
        let mut blocks = Vec::with_capacity(held);
        for _ in 0..cycles {
            // SAFETY: what is allocated is freed once.
            blocks.extend((0..held).map(|_| unsafe { libc::malloc(black_box(size)) }));
            // SAFETY: as above.
            blocks.drain(..).for_each(|block| unsafe { libc::free(black_box(block)) });
        }
    }
}

impl Contender for Mimalloc {
    fn cycles(&self, size: usize, held: usize, cycles: usize) {
        let layout = Layout::from_size_align(size, 64).unwrap();
        let mut blocks = Vec::with_capacity(held);
        for _ in 0..cycles {
            // SAFETY: the layout has a size, and what is allocated is freed once.
            blocks.extend((0..held).map(|_| unsafe { MiMalloc.alloc(black_box(layout)) }));
            // SAFETY: as above.
            blocks.drain(..).for_each(|block| unsafe { MiMalloc.dealloc(black_box(block), layout) });
        }
    }
}

/// Runs all threads at once, each for a number of cycles.
fn on(threads: usize, contender: &dyn Contender, size: usize, held: usize, cycles: usize) {
    if threads == 1 {
        return contender.cycles(size, held, cycles);
    }
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| contender.cycles(size, held, cycles));
        }
    });
}

fn allocations(device: &Device, threads: usize, held: usize) {
    let title = match held {
        1 => format!("allocate and free, {threads} threads"),
        _ => format!("allocate {held}, free {held}, {threads} threads"),
    };
    println!(
        "\n{title:<36} {:>12} {:>12} {:>12} {:>9} {:>9}",
        "pool", "malloc", "mimalloc", "/malloc", "/mimalloc"
    );
    for bits in (6..=26).step_by(2) {
        let size = 1_usize << bits;
        // Threads are started for each sample, which must not show; the system maps the largest for each
        // call.
        let cycles = if size > 1 << 20 { 2_000 } else { 50_000 } / held;
        device.trim();
        let [ours, malloc, mimalloc] = medians([
            &mut || on(threads, device, size, held, cycles),
            &mut || on(threads, &Malloc, size, held, cycles),
            &mut || on(threads, &Mimalloc, size, held, cycles),
        ])
        .map(|time| time / (cycles * held * threads) as f64);
        let (name, to_malloc, to_mimalloc) = (size_name(size), ours / malloc, ours / mimalloc);
        println!(
            "{name:<36} {ours:>9.1} ns {malloc:>9.1} ns {mimalloc:>9.1} ns {to_malloc:>8.2}x {to_mimalloc:>8.2}x"
        );
    }
}

fn copies(device: &Device) {
    let mut stream = null_mut();
    // SAFETY: the functions have these types, and get what their header asks for.
    let (fill, copy, wait) = unsafe {
        let create: unsafe extern "C" fn(Handle, *mut Handle) -> c_int =
            function(device.library, "tenon_create_stream");
        assert_eq!(create(device.handle, &mut stream), 0);
        let fill: unsafe extern "C" fn(Handle, Handle, u8, usize) -> c_int =
            function(device.library, "tenon_device_memory_set");
        let copy: unsafe extern "C" fn(Handle, Handle, Handle, Handle, usize) -> c_int =
            function(device.library, "tenon_async_memory_copy_d2d");
        let wait: unsafe extern "C" fn(Handle, Handle) -> c_int =
            function(device.library, "tenon_synchronize_stream");
        (fill, copy, wait)
    };
    head("copy on a stream and wait", "async d2d", "memcpy");
    for bits in (12..=28).step_by(2) {
        let size = 1_usize << bits;
        let [dst, src] = [0; 2].map(|_| device.allocate(size, stream));
        for ptr in [dst, src] {
            // SAFETY: the memory has that length.
            assert_eq!(unsafe { fill(device.handle, ptr, 1, size) }, 0);
        }
        let (mut to, from) = (vec![1_u8; size], vec![1_u8; size]);
        let (ours, theirs) = compare(
            &size_name(size),
            1,
            || {
                // SAFETY: both have that length.
                assert_eq!(unsafe { copy(device.handle, stream, dst, src, size) }, 0);
                // SAFETY: the stream is there.
                assert_eq!(unsafe { wait(device.handle, stream) }, 0);
            },
            || black_box(&mut to).copy_from_slice(black_box(&from)),
        );
        println!("{:<44} {:>9.1} GB/s {:>9.1} GB/s", "", size as f64 / ours, size as f64 / theirs);
        for ptr in [dst, src] {
            device.free(ptr, stream);
        }
    }
}
