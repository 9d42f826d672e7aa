//! The plugin under test, called as a host calls it: by its table, without checks in between.

mod callback_log;
mod generated_tables;
mod group;
mod guarded_buffer;
mod memory;
mod stream;
mod stream_latch;

use std::cell::Cell;
use std::ptr::from_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tenon::device::{Function, Loaded, Release, Status, ffi};
use tenon::reflect::{Direction, Kind};

pub(crate) use callback_log::CallbackLog;
pub(crate) use group::{Launch, Member, Role};
pub(crate) use guarded_buffer::GuardedBuffer;
pub(crate) use memory::{Memory, MemoryKind, pattern, same};
pub(crate) use stream_latch::StreamLatch;

use crate::case::{Stop, Verdict, blame, failed};
use crate::source::Opened;

/// Time that a case waits for forbidden behaviour of a plugin. A correct plugin never fails by it; a wrong
/// plugin has this long to show its error.
const GRACE: Duration = Duration::from_millis(25);

/// The maximum number of devices of a plugin. A larger number can only be an error.
const MOST_DEVICES: i32 = 1 << 16;

/// Time in milliseconds that a plugin may take for what it must do at once: half of the time of a case.
static PATIENCE: AtomicU64 = AtomicU64::new(5000);

/// The function that was called last, for the message of a process that dies; one more than its number.
static CURRENT: AtomicUsize = AtomicUsize::new(0);

/// The functions that the case is about, at their numbers.
static TESTED: [AtomicBool; Function::ALL.len()] = [const { AtomicBool::new(false) }; Function::ALL.len()];

/// True if one of them was called.
static REACHED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The device that was set last on this thread.
    static THREADS_DEVICE: Cell<Option<i32>> = const { Cell::new(None) };
}

/// Returns the time that a plugin may take for what it must do at once.
fn patience() -> Duration {
    Duration::from_millis(PATIENCE.load(Ordering::Relaxed))
}

/// Sets the time limit of a case.
pub(crate) fn set_timeout(timeout: Duration) {
    let half = u64::try_from(timeout.as_millis() / 2).unwrap_or(u64::MAX);
    PATIENCE.store(half, Ordering::Relaxed);
}

/// Sets the functions that the next case tests.
pub(crate) fn begin_case(functions: &[Function]) {
    REACHED.store(false, Ordering::Relaxed);
    for (function, tested) in Function::ALL.iter().zip(&TESTED) {
        tested.store(functions.contains(function), Ordering::Relaxed);
    }
}

/// Returns true if the case is about one of these functions.
fn is_tested(functions: &[Function]) -> bool {
    functions.iter().any(|function| TESTED[*function as usize].load(Ordering::Relaxed))
}

/// Returns true if a function that the case is about was called.
pub(crate) fn was_reached() -> bool {
    REACHED.load(Ordering::Relaxed)
}

/// Returns the function that was called last in this process.
pub(crate) fn current_function() -> Option<Function> {
    Function::ALL.get(CURRENT.load(Ordering::Relaxed).wrapping_sub(1)).copied()
}

/// The plugin under test.
pub struct PluginUnderTest {
    raw: Loaded,
    /// The fallbacks for functions that the plugin lacks, if the options choose them.
    stand_ins: Option<Loaded>,
    count: OnceLock<i32>,
    launch: Launch,
    /// Kept: the library stays open as long as it is called.
    opened: Opened,
}

impl PluginUnderTest {
    /// Opens a plugin. No function of it has been called yet.
    pub(crate) fn open(launch: Launch) -> Result<Self, crate::Error> {
        let opened = launch.source.open()?;
        let raw = match opened.plugin.table() {
            Some(table) => table.clone(),
            None => generated_tables::natives(&opened.plugin),
        };
        let stand_ins = launch.fallbacks.then(|| generated_tables::stand_ins(&opened.plugin));
        Ok(Self { raw, stand_ins, count: OnceLock::new(), launch, opened })
    }

    /// Returns the opened library.
    pub(crate) fn opened(&self) -> &Opened {
        &self.opened
    }

    /// Starts the plugin and its devices in the order in which PaddlePaddle does.
    pub(crate) fn start(&self) -> Verdict {
        if self.answers(Function::Initialize) {
            self.ok(Function::Initialize, &[])?;
        }
        for device in 0..self.devices()? {
            self.set_device(device)?;
            if self.answers(Function::InitDevice) {
                self.ok(Function::InitDevice, &[id(device)])?;
            }
        }
        if self.devices()? > 0 { self.set_device(0) } else { Ok(()) }
    }

    /// Returns true if the slot of a function is filled, by whomever.
    pub(crate) fn has(&self, function: Function) -> bool {
        self.raw.has(function)
    }

    /// Returns true if the slot of a function is filled with the spec's fallback.
    pub(crate) fn is_filled_by_fallback(&self, function: Function) -> bool {
        self.raw.has(function) && self.opened.plugin.is_filled_by_fallback(function)
    }

    /// Returns true if the plugin's author wrote a function.
    pub(crate) fn is_native(&self, function: Function) -> bool {
        self.raw.has(function) && !self.opened.plugin.is_filled_by_fallback(function)
    }

    /// Returns true if a call of the function gets anywhere: the plugin has it, or the options choose its
    /// fallback.
    pub(crate) fn answers(&self, function: Function) -> bool {
        self.behind(function).is_some()
    }

    fn behind(&self, function: Function) -> Option<&Loaded> {
        [Some(&self.raw), self.stand_ins.as_ref()].into_iter().flatten().find(|table| table.has(function))
    }

    pub(crate) fn release(&self) -> Release {
        self.raw.release()
    }

    /// Returns the number of devices; 0 before the first call of [`devices`](Self::devices).
    pub(crate) fn device_count(&self) -> i32 {
        self.count.get().copied().unwrap_or_default()
    }

    /// Returns the number of devices, if the plugin was asked.
    pub(crate) fn known_devices(&self) -> Option<i32> {
        self.count.get().copied()
    }

    /// Returns the number of devices, from the plugin.
    pub(crate) fn devices(&self) -> Verdict<i32> {
        if let Some(count) = self.count.get() {
            return Ok(*count);
        }
        let mut count = usize::MAX;
        self.ok(Function::GetDeviceCount, &[address(&mut count)])?;
        match i32::try_from(count) {
            Ok(count) if count <= MOST_DEVICES => Ok(*self.count.get_or_init(|| count)),
            _ => blame(
                Function::GetDeviceCount,
                format!(
                    "`get_device_count` answered `success` and wrote {count}, where hosts support at most \
                     {MOST_DEVICES} devices"
                ),
            ),
        }
    }

    /// Calls a function, and returns its status.
    ///
    /// The arguments are those of the spec, in its order. Memory that is passed by address must live until the call
    /// has returned, and for some functions until the stream has executed it.
    pub(crate) fn call(&self, function: Function, arguments: &[u64]) -> Verdict<Status> {
        let Some(table) = self.behind(function) else {
            return Err(Stop::Skipped(format!("`{}` is left out", function.name())));
        };
        self.make_current(function, arguments);
        CURRENT.store(function as usize + 1, Ordering::Relaxed);
        if TESTED[function as usize].load(Ordering::Relaxed) {
            REACHED.store(true, Ordering::Relaxed);
        }
        // SAFETY: the cases pass what the spec allows, or what a device is to refuse. Those that may not be
        // survived run in a separate process, which is why nothing is promised here.
        let status = unsafe { table.call_raw(function, arguments) };
        match status {
            None => failed(format!("`{}` was called with {} arguments", function.name(), arguments.len())),
            Some(status) if status.name().is_none() => {
                blame(function, format!("`{}` answered {}, which is not a status", function.name(), status.0))
            }
            Some(status) => Ok(status),
        }
    }

    /// Sets the device before the work for it, as PaddlePaddle does.
    fn make_current(&self, function: Function, arguments: &[u64]) {
        let first = function.info().params.first();
        let takes = first.is_some_and(|param| {
            matches!(param.kind, Kind::Id(_)) && matches!(param.direction, Direction::In)
        });
        let Some(argument) = arguments.first().filter(|argument| takes && **argument != 0) else { return };
        // SAFETY: the cases pass null or the address of such a number.
        let device = unsafe { std::ptr::with_exposed_provenance::<i32>(*argument as usize).read() };
        if function == Function::SetDevice {
            THREADS_DEVICE.set(None);
        } else if self.each_device().contains(&device) && THREADS_DEVICE.get() != Some(device) {
            // SAFETY: as a host calls it. A failure shows in the call that follows, and in cases of its own.
            let _ = unsafe { self.raw.call_raw(Function::SetDevice, &[*argument]) };
            THREADS_DEVICE.set(Some(device));
        }
    }

    /// Calls a function that must succeed.
    pub(crate) fn ok(&self, function: Function, arguments: &[u64]) -> Verdict {
        match self.call(function, arguments)? {
            Status::SUCCESS => Ok(()),
            status => blame(
                function,
                format!("`{}` answered {}{}", function.name(), status_text(status), self.own_words(function)),
            ),
        }
    }

    /// Calls a function that must fail, with any message.
    pub(crate) fn refused(&self, function: Function, arguments: &[u64], what: &str) -> Verdict {
        match self.call(function, arguments)? {
            Status::SUCCESS => {
                blame(function, format!("`{}` took {what} and answered `success`", function.name()))
            }
            _ => Ok(()),
        }
    }

    fn own_words(&self, function: Function) -> String {
        let words = self.behind(function).and_then(Loaded::last_error);
        words.map_or_else(String::new, |text| format!("; it says: {text}"))
    }

    pub(crate) fn set_device(&self, device: i32) -> Verdict {
        self.ok(Function::SetDevice, &[id(device)])
    }

    pub(crate) fn get_device(&self) -> Verdict<i32> {
        let mut device = ffi::C_Device_st { id: i32::MIN };
        self.ok(Function::GetDevice, &[address(&mut device)])?;
        Ok(device.id)
    }

    pub(crate) fn synchronize_device(&self, device: i32) -> Verdict {
        self.ok(Function::SynchronizeDevice, &[id(device)])
    }

    /// Returns all devices, for a loop.
    pub(crate) fn each_device(&self) -> std::ops::Range<i32> {
        0..self.device_count()
    }

    /// Returns a second device, or the reason to skip.
    pub(crate) fn second_device(&self) -> Verdict<i32> {
        if self.device_count() > 1 {
            Ok(1)
        } else {
            Err(Stop::Skipped("there is one device only".to_owned()))
        }
    }
}

/// Returns the argument that stands for a device: the address of its number.
///
/// As in PaddlePaddle, the place is good for the call and soon used for another number, which shows up a
/// plugin that keeps the address.
pub(crate) fn id(device: i32) -> u64 {
    const PLACES: usize = 64;
    thread_local! {
        static NUMBERS: ([AtomicI32; PLACES], Cell<usize>) =
            const { ([const { AtomicI32::new(0) }; PLACES], Cell::new(0)) };
    }
    NUMBERS.with(|(numbers, next)| {
        let place = &numbers[next.get()];
        next.set((next.get() + 1) % PLACES);
        place.store(device, Ordering::Relaxed);
        place.as_ptr().expose_provenance() as u64
    })
}

/// Returns the argument for something that is written, or read, in place.
pub(crate) fn address<T>(place: &mut T) -> u64 {
    from_mut(place).expose_provenance() as u64
}

/// Returns a status in words.
pub(crate) fn status_text(status: Status) -> String {
    match status.name() {
        Some(name) => format!("`{name}`"),
        None => format!("{}", status.0),
    }
}

/// Waits until the condition holds, or the plugin has had enough time to break its promise; whether it holds.
pub(crate) fn linger(condition: impl Fn() -> bool) -> bool {
    wait(GRACE, condition)
}

/// Waits as [`linger`], but for a shorter time than a [`linger`] that waits for the caller.
pub(crate) fn linger_briefly(condition: impl Fn() -> bool) -> bool {
    wait(GRACE / 4, condition)
}

/// Waits for a condition that must hold soon. Returns true if it does.
pub(crate) fn soon(condition: impl Fn() -> bool) -> bool {
    wait(patience(), condition)
}

fn wait(most: Duration, condition: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    loop {
        if condition() {
            return true;
        }
        if start.elapsed() >= most {
            return false;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}
