//! Measures the cost of a call of the SDK over a call of the plugin's own pointer: without layers, and with
//! each of them.
//!
//! Both are called in turn, many rounds of many calls each; the figures are medians of the rounds.

#[path = "../tests/common/build.rs"]
mod build;

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::hint::black_box;
use std::ptr::null_mut;
use std::time::Instant;

use libloading::{Library, Symbol};
use tenon::device::Release;
use tenon::device::ffi::{C_DeviceInterface, CustomRuntimeParams};
use tenon::device::{Status, ffi};

const ROUNDS: usize = 200;
const CALLS: usize = 5_000;

#[repr(C)]
struct Options {
    size: usize,
    plugin_path: *const c_char,
    layers: *const c_char,
}

type Handle = *mut c_void;

fn main() {
    let plugin = build::scratch("bench").join("libidle.so");
    build::plugin("idle.c", &plugin, &["-O2"]);
    // SAFETY: the libraries are ours, and their initialisers do nothing unusual.
    let [sdk, idle] = [build::library().join("libtenon.so"), plugin.clone()]
        .map(|path| unsafe { Library::new(path) }.expect("a library"));
    let table = table(&idle);
    let sdk = Sdk { library: &sdk };
    println!("a call of the SDK beside a call of the plugin's pointer ({ROUNDS} rounds of {CALLS} calls)\n");
    println!("{:<22} {:<16} {:>9} {:>9} {:>9}", "function", "layers", "raw ns", "SDK ns", "more ns");
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    for layers in [c"", c"validate", c"trace", c"validate,trace"] {
        let name = if layers.is_empty() { "none" } else { layers.to_str().expect("ASCII") };
        if !wanted.is_empty() && !wanted.iter().any(|wanted| wanted == name) {
            continue;
        }
        measure(&sdk, &plugin, layers, &table);
    }
}

/// Returns the table that the plugin has filled.
fn table(idle: &Library) -> C_DeviceInterface {
    let mut words = vec![0u64; Release::NEWEST.table_size() / 8];
    words[0] = Release::NEWEST.table_size() as u64;
    let mut params = [0u64; 12];
    params[0] = size_of::<CustomRuntimeParams>() as u64;
    params[1] = words.as_mut_ptr().expose_provenance() as u64;
    // SAFETY: the params begin with their size and with the table, which begins with its own.
    unsafe {
        let init: Symbol<unsafe extern "C" fn(*mut c_void)> = idle.get(b"InitPlugin").expect("a plugin");
        init(params.as_mut_ptr().cast());
        words.as_ptr().cast::<C_DeviceInterface>().read()
    }
}

struct Sdk<'a> {
    library: &'a Library,
}

impl Sdk<'_> {
    /// # Safety
    /// `T` is the type of the function.
    unsafe fn function<T: Copy>(&self, name: &str) -> T {
        // SAFETY: the caller's promise.
        *unsafe { self.library.get::<T>(name.as_bytes()) }.unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn done(&self, status: i32) {
        if status != 0 {
            // SAFETY: the function has this type, and its text lives until the next failure.
            let text = unsafe {
                CStr::from_ptr(self.function::<unsafe extern "C" fn() -> *const c_char>("tenon_error_text")())
            };
            panic!("{}", text.to_string_lossy());
        }
    }
}

fn measure(sdk: &Sdk, plugin: &std::path::Path, layers: &CStr, table: &C_DeviceInterface) {
    let path = CString::new(plugin.to_str().expect("a path in UTF-8")).expect("a path without NUL");
    let trace = build::scratch("bench").join("trace.json");
    // SAFETY: no other thread runs that reads the environment.
    unsafe {
        std::env::set_var("TENON_TRACE_FILE", trace);
        // The memory is not freed, so that the free is not measured.
        std::env::set_var("TENON_VALIDATE_IGNORE", "V040");
    }
    let options = Options { size: size_of::<Options>(), plugin_path: path.as_ptr(), layers: layers.as_ptr() };
    let mut device: Handle = null_mut();
    let [mut stream, mut event, mut memory] = [null_mut(); 3];
    // SAFETY: the functions have these types, and get what their header asks for.
    unsafe {
        let init: unsafe extern "C" fn(*const Options) -> i32 = sdk.function("tenon_init");
        let open: unsafe extern "C" fn(*const c_char, c_int, *mut Handle) -> i32 =
            sdk.function("tenon_device_open");
        let make: unsafe extern "C" fn(Handle, *mut Handle) -> i32 = sdk.function("tenon_create_stream");
        let make_event: unsafe extern "C" fn(Handle, *mut Handle) -> i32 = sdk.function("tenon_create_event");
        let allocate: unsafe extern "C" fn(Handle, *mut Handle, usize) -> i32 =
            sdk.function("tenon_device_memory_allocate");
        sdk.done(init(&options));
        sdk.done(open(c"idle".as_ptr(), 0, &mut device));
        sdk.done(make(device, &mut stream));
        sdk.done(make_event(device, &mut event));
        sdk.done(allocate(device, &mut memory, 64));
    }
    let name = if layers.is_empty() { "none" } else { layers.to_str().expect("ASCII") };
    let row = |function: &str, (raw, called): (f64, f64)| {
        println!("{function:<22} {name:<16} {raw:>9.2} {called:>9.2} {:>9.2}", called - raw);
    };
    let mut id = ffi::C_Device_st { id: 0 };
    let [c_stream, c_event] = [stream, event];

    let raw = table.synchronize_device.expect("filled");
    // SAFETY: as above.
    let called: unsafe extern "C" fn(Handle) -> i32 = unsafe { sdk.function("tenon_synchronize_device") };
    row(
        "synchronize_device",
        side_by_side(
            // SAFETY: arguments as the interface says.
            || (0..CALLS).for_each(|_| assert_eq!(unsafe { black_box(raw)(&mut id) }, Status::SUCCESS)),
            // SAFETY: as above.
            || (0..CALLS).for_each(|_| assert_eq!(unsafe { black_box(called)(device) }, 0)),
        ),
    );

    let raw = table.record_event.expect("filled");
    // SAFETY: as above.
    let called: unsafe extern "C" fn(Handle, Handle, Handle) -> i32 =
        unsafe { sdk.function("tenon_record_event") };
    row(
        "record_event",
        side_by_side(
            || {
                (0..CALLS).for_each(|_| {
                    // SAFETY: arguments as the interface says.
                    let status = unsafe { black_box(raw)(&mut id, c_stream.cast(), c_event.cast()) };
                    assert_eq!(status, Status::SUCCESS);
                });
            },
            // SAFETY: as above.
            || (0..CALLS).for_each(|_| assert_eq!(unsafe { black_box(called)(device, stream, event) }, 0)),
        ),
    );

    let raw = table.memory_copy_h2d.expect("filled");
    // SAFETY: as above.
    let called: unsafe extern "C" fn(Handle, *mut c_void, *const c_void, usize) -> i32 =
        unsafe { sdk.function("tenon_memory_copy_h2d") };
    let bytes = [0u8; 64];
    row(
        "memory_copy_h2d",
        side_by_side(
            || {
                (0..CALLS).for_each(|_| {
                    // SAFETY: arguments as the interface says.
                    let status = unsafe { black_box(raw)(&mut id, memory, bytes.as_ptr().cast(), 64) };
                    assert_eq!(status, Status::SUCCESS);
                });
            },
            || {
                (0..CALLS).for_each(|_| {
                    // SAFETY: as above.
                    assert_eq!(unsafe { black_box(called)(device, memory, bytes.as_ptr().cast(), 64) }, 0);
                });
            },
        ),
    );
    // SAFETY: as above.
    let shutdown: unsafe extern "C" fn() -> i32 = unsafe { sdk.function("tenon_shutdown") };
    // SAFETY: as above.
    sdk.done(unsafe { shutdown() });
}

/// Medians of both, in nanoseconds a call.
fn side_by_side(mut one: impl FnMut(), mut other: impl FnMut()) -> (f64, f64) {
    let mut times = [Vec::new(), Vec::new()];
    let measure = |body: &mut dyn FnMut(), times: &mut Vec<f64>| {
        let begun = Instant::now();
        body();
        times.push(begun.elapsed().as_secs_f64() * 1e9 / CALLS as f64);
    };
    for _ in 0..ROUNDS {
        measure(&mut one, &mut times[0]);
        measure(&mut other, &mut times[1]);
    }
    let [one, other] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    (one, other)
}
