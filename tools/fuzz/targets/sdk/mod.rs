//! Random calls of the C SDK, with the validate layer on. For any handles, every call
//! returns a status and records the last error, and the library can be shut down and started again.
//!
//! Only the preconditions that C cannot check hold: host memory is valid for its stated length, and out-parameters are
//! writable.

mod calls;
mod exports;
mod input;

use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

use exports::*;
use input::Input;

const SUCCESS: c_int = 0;
const NOT_INITIALISED: c_int = 23;

/// Calls of one input; more would only be slower.
const MOST_CALLS: usize = 200;

/// Memory of the host that copies may use.
const ARENA: usize = 64 << 10;

static CALLED: AtomicUsize = AtomicUsize::new(0);

extern "C" fn count(_: usize, _: usize, user_data: *mut c_void, status: *mut c_int) {
    // SAFETY: the counter is static, and the status is the caller's.
    unsafe {
        (*user_data.cast::<AtomicUsize>()).fetch_add(1, Ordering::Relaxed);
        *status = SUCCESS;
    }
}

/// Runs one program.
pub fn run(data: &[u8]) {
    prepare();
    let mut program = Program::new(data);
    program.begin();
    for _ in 0..MOST_CALLS {
        if program.input.is_empty() {
            break;
        }
        program.step();
    }
    program.end();
}

/// Creates small devices, so that memory runs out; more than one, so that they can be mistaken for each other.
fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let settings = [
            ("TENON_CPU_MEMORY", "4MiB"),
            ("TENON_CPU_DEVICES", "2"),
            ("TENON_CPU_THREADS", "1"),
            ("TENON_LAYERS", "validate"),
        ];
        for (name, value) in settings {
            // SAFETY: nothing else runs yet that reads the environment.
            unsafe { std::env::set_var(name, value) };
        }
    });
}

#[derive(Default)]
struct Program<'a> {
    input: Input<'a>,
    arena: Vec<u8>,
    plugins: Vec<usize>,
    devices: Vec<usize>,
    streams: Vec<usize>,
    events: Vec<usize>,
    memory: Vec<usize>,
    pinned: Vec<usize>,
    buffers: Vec<usize>,
    graphs: Vec<usize>,
    executables: Vec<usize>,
    blas: Vec<usize>,
    callbacks: usize,
    initialised: usize,
}

impl<'a> Program<'a> {
    fn new(data: &'a [u8]) -> Self {
        CALLED.store(0, Ordering::Relaxed);
        Program { input: Input(data), arena: vec![0; 2 * ARENA], ..Program::default() }
    }

    fn begin(&mut self) {
        let options =
            Options { size: size_of::<Options>(), plugin_path: c"".as_ptr(), layers: c"validate".as_ptr() };
        // SAFETY: the options are what they should be.
        assert_eq!(unsafe { tenon_init(&options) }, SUCCESS, "{}", story());
        self.initialised = 1;
        // Most programs want a device and a stream first.
        self.open(c"cpu".as_ptr(), 0);
        let device = self.devices.first().copied().unwrap_or_default();
        self.create(device, tenon_create_stream, |program| &mut program.streams);
    }

    /// Shuts the library down as often as it was started. All callbacks have run then.
    fn end(&mut self) {
        for _ in 0..self.initialised {
            // SAFETY: no other thread uses the library.
            let status = unsafe { tenon_shutdown() };
            self.check_status(status);
            if status == NOT_INITIALISED {
                break;
            }
        }
        // SAFETY: as above. A call may have begun the library once more.
        while unsafe { tenon_shutdown() } != NOT_INITIALISED {}
        let ran = CALLED.load(Ordering::Relaxed);
        assert_eq!(ran, self.callbacks, "callbacks that ran, and that were taken");
    }

    /// Checks that a status exists, and that a failure has a message.
    fn check_status(&self, status: c_int) -> bool {
        // SAFETY: the answers are texts or null.
        let name = unsafe { tenon_status_string(status) };
        assert!(!name.is_null(), "status {status} has no name");
        assert!((0..=4).contains(&status) || (16..=24).contains(&status), "there is no status {status}");
        if status != SUCCESS {
            assert!(!story().is_empty(), "status {status} has no story");
        }
        status == SUCCESS
    }

    fn device(&mut self) -> usize {
        self.input.handle(&self.devices)
    }

    fn stream(&mut self) -> usize {
        self.input.handle(&self.streams)
    }

    fn event(&mut self) -> usize {
        self.input.handle(&self.events)
    }

    fn plugin(&mut self) -> usize {
        self.input.handle(&self.plugins)
    }

    /// Returns an address of device memory, an address near one, or any other.
    fn memory(&mut self) -> usize {
        let by = if self.input.below(4) == 0 { self.input.size() } else { 0 };
        self.input.handle(&self.memory).wrapping_add(by)
    }

    /// Chooses host memory and its length, or null, or a length that no memory has.
    fn host(&mut self) -> (usize, usize) {
        let size = self.input.size();
        if self.input.below(8) == 0 {
            return (0, size);
        }
        let offset = self.input.below(ARENA);
        (self.arena.as_mut_ptr().addr() + offset, if size <= ARENA || size > 1 << 48 { size } else { ARENA })
    }

    /// Returns the place for an output, sometimes null.
    fn out<T>(&mut self, place: &mut T) -> *mut T {
        if self.input.below(16) == 15 { null_mut() } else { place }
    }

    fn create(
        &mut self,
        device: usize,
        create: unsafe extern "C" fn(usize, *mut usize) -> c_int,
        list: fn(&mut Self) -> &mut Vec<usize>,
    ) {
        let mut made = 0;
        let out = self.out(&mut made);
        // SAFETY: the handle is looked up, and the place can be written or is null.
        let status = unsafe { create(device, out) };
        if self.check_status(status) {
            list(self).push(made);
        }
    }

    fn open(&mut self, device_type: *const std::ffi::c_char, ordinal: c_int) {
        let mut made = 0;
        // SAFETY: the type is a text or null, and the place can be written.
        let status = unsafe { tenon_device_open(device_type, ordinal, &mut made) };
        if self.check_status(status) {
            self.devices.push(made);
        }
    }

    fn buffer(&mut self) -> usize {
        self.input.handle(&self.buffers)
    }

    /// Chooses memory that was allocated at some time, or null.
    fn live(&mut self) -> usize {
        let choice = self.input.below(self.memory.len());
        self.memory.get(choice).copied().unwrap_or_default()
    }
}

/// Returns the message of the last failure.
fn story() -> String {
    // SAFETY: the text is the library's, and stays until the next failure of this thread.
    let text = unsafe { tenon_error_text() };
    if text.is_null() {
        return String::new();
    }
    // SAFETY: as above.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
