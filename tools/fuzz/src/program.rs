//! A random program: it starts the library, calls its functions, and ends it.

use std::ffi::{CStr, CString};
use std::ptr::null;
use std::sync::atomic::{AtomicUsize, Ordering};

use tenon::device::Function;
use tenon::reflect::{Direction, Extent, Kind, Length, Role};
use tenon_sdk_c::functions::call_raw;
use tenon_sdk_c::{DeviceHandle, PluginHandle, Status, devices, error, library, plugins};

use crate::arguments::{Arguments, CALLBACKS, Target, handle_name};
use crate::choices::Choices;
use crate::objects::{Memory, Objects};
use crate::tally::Tally;

/// The maximum number of devices of a plugin that a program uses.
const MOST_DEVICES: usize = 2;

/// The maximum number of live objects of a type.
const MOST_OBJECTS: usize = 24;

/// Larger allocations are freed at once: a plugin may get more from the system than there is.
const LARGEST: u64 = 1 << 20;

/// Number of the function that was called last, plus one, for the message of a process that dies.
static CURRENT: AtomicUsize = AtomicUsize::new(0);

/// The plugin and the layers that programs use.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The plugin's library or manifest; `None` is the built-in CPU device.
    pub plugin: Option<CString>,
    /// The layers to enable, separated by commas. `None` is `validate`, for the CPU device in every second program: it
    /// looks up every handle and address by itself.
    pub layers: Option<CString>,
}

impl Subject {
    fn layers(&self, seed: u64) -> &CStr {
        match &self.layers {
            Some(layers) => layers,
            None if self.plugin.is_none() && seed.is_multiple_of(2) => c"",
            None => c"validate",
        }
    }
}

/// An error that a program has found.
#[derive(Debug, thiserror::Error)]
pub enum Finding {
    /// The plugin or a device cannot be opened.
    #[error("cannot begin: `{function}` failed: {text}")]
    Begin {
        /// The export.
        function: &'static str,
        /// The message of the library.
        text: String,
    },
    /// A call broke a promise.
    #[error("`{function}` {what}; {outcome}\n{arguments}")]
    Call {
        /// The function of the spec.
        function: &'static str,
        /// The violation.
        what: String,
        /// Its status, and the last error.
        outcome: String,
        /// Its arguments, one on each line.
        arguments: String,
    },
    /// The library is still running after its shutdown.
    #[error("the library does not end: {text}")]
    End {
        /// The message of the library.
        text: String,
    },
    /// A callback did not run, or ran twice.
    #[error("{accepted} callbacks were accepted, {ran} ran")]
    Callbacks {
        /// Number of successful calls with a callback.
        accepted: usize,
        /// Number of callbacks that ran.
        ran: usize,
    },
}

/// Returns the function that was called last in this process.
pub fn current_function() -> &'static str {
    let index = CURRENT.load(Ordering::Relaxed).wrapping_sub(1);
    Function::ALL.get(index).map_or("no function", |function| function.name())
}

/// Gives the CPU device little memory, so that it runs out, and two devices, so that they can be mistaken for each
/// other.
///
/// # Safety
/// No other thread reads the environment, except through the standard library.
pub unsafe fn set_environment() {
    for (name, value) in
        [("TENON_CPU_MEMORY", "4MiB"), ("TENON_CPU_DEVICES", "2"), ("TENON_CPU_THREADS", "1")]
    {
        // SAFETY: the caller's promise.
        unsafe { std::env::set_var(name, value) };
    }
}

/// Runs the program of a seed.
///
/// # Errors
/// [`Finding`] if a function breaks a promise of `functions.h`.
pub fn run(subject: &Subject, seed: u64, tally: &mut Tally) -> Result<(), Finding> {
    CURRENT.store(0, Ordering::Relaxed);
    CALLBACKS.store(0, Ordering::Relaxed);
    let mut program = Program::begin(subject, seed)?;
    for _ in 0..64 + program.choices.below(256) {
        program.step(tally)?;
    }
    program.end()
}

struct Program {
    choices: Choices,
    objects: Objects,
    target: Target,
    /// Number of callbacks that were accepted.
    callbacks: usize,
}

fn begun(function: &'static str, status: Status) -> Result<(), Finding> {
    match status {
        Status::SUCCESS => Ok(()),
        _ => Err(Finding::Begin { function, text: error_text() }),
    }
}

/// Returns the message of the last failure of this thread.
fn error_text() -> String {
    // SAFETY: the text is the library's, and is valid until the thread's next call.
    unsafe { CStr::from_ptr(error::tenon_error_text()) }.to_string_lossy().into_owned()
}

impl Program {
    fn begin(subject: &Subject, seed: u64) -> Result<Self, Finding> {
        let options = library::Options {
            size: size_of::<library::Options>(),
            plugin_path: c"".as_ptr(),
            layers: subject.layers(seed).as_ptr(),
        };
        let mut plugin = PluginHandle::default();
        // SAFETY: the texts end with a zero byte, and the places can be written.
        unsafe {
            begun("tenon_init", library::tenon_init(&raw const options))?;
            match &subject.plugin {
                Some(path) => {
                    let status = plugins::tenon_load_plugin(path.as_ptr(), null(), &raw mut plugin);
                    begun("tenon_load_plugin", status)?;
                }
                None => {
                    let status = plugins::tenon_plugin_find(c"cpu".as_ptr(), &raw mut plugin);
                    begun("tenon_plugin_find", status)?;
                }
            }
        }
        let closed = open(plugin, 0)?;
        begun("tenon_device_close", devices::tenon_device_close(closed))?;
        let mut opened = vec![open(plugin, 0)?];
        let device_count = device_count(plugin)?;
        for ordinal in 1..device_count.min(MOST_DEVICES) {
            opened.push(open(plugin, ordinal as i32)?);
        }
        let target = Target {
            plugin: plugin.bits(),
            devices: opened.into_iter().map(DeviceHandle::bits).collect(),
            closed: closed.bits(),
            device_count,
        };
        Ok(Program { choices: Choices::new(seed), objects: Objects::default(), target, callbacks: 0 })
    }

    /// Makes one call.
    fn step(&mut self, tally: &mut Tally) -> Result<(), Finding> {
        let Some(function) = self.choices.one_of(&Function::ALL).copied() else { return Ok(()) };
        let info = function.info();
        let is_full = info.params.iter().any(|param| {
            param.role == Role::Creates
                && (handle_name(param).is_some_and(|name| self.objects.count(name) >= MOST_OBJECTS)
                    || (param.space.is_some() && self.objects.memory_count() >= 2 * MOST_OBJECTS))
        });
        if is_full {
            return Ok(());
        }
        let arguments = Arguments::choose(function, &mut self.choices, &self.objects, &self.target);
        let status = call(function, &arguments.bits, arguments.plugin);
        tally.add(function, status);
        check(function, &arguments, status)?;
        if status == Status::SUCCESS {
            self.callbacks += usize::from(arguments.has_callback);
            self.keep(function, &arguments);
        }
        Ok(())
    }

    /// Adds the objects that a call created, and removes those that it destroyed.
    fn keep(&mut self, function: Function, arguments: &Arguments) {
        for (index, param) in function.info().params.iter().enumerate() {
            let place = arguments.places[index].as_ref().filter(|_| arguments.bits[index] != 0);
            let value = place.map_or(arguments.bits[index], |place| place.value());
            let device = param.of.map_or(0, |of| arguments.bits[of]);
            match (param.role, param.space, param.length) {
                (Role::Creates, Some(space), Some(Length::Bytes(Extent::Param(length)))) => {
                    let memory = Memory { address: value, size: arguments.bits[length], space, device };
                    self.add_memory(function, memory);
                }
                (Role::Destroys, Some(_), _) => self.objects.remove_memory(value),
                (Role::Creates, ..) if place.is_some() && value != 0 => {
                    if let Some(name) = handle_name(param) {
                        self.objects.add_handle(name, value, device);
                    }
                }
                (Role::Destroys, ..) => {
                    if let Some(name) = handle_name(param) {
                        self.objects.remove_handle(name, value);
                    }
                }
                _ => {}
            }
        }
    }

    /// Adds memory that a function allocated; too much of it is freed at once.
    fn add_memory(&mut self, function: Function, memory: Memory) {
        if memory.address == 0 {
            return;
        }
        if memory.size <= LARGEST {
            return self.objects.add_memory(memory);
        }
        let frees = |other: &Function| {
            let (made, ends) = (function.info(), other.info());
            ends.params.iter().any(|param| param.role == Role::Destroys && param.space == Some(memory.space))
                && ends.params.len() == made.params.len()
        };
        if let Some(free) = Function::ALL.into_iter().find(frees) {
            call(free, &[memory.device, memory.address, memory.size], self.target.plugin);
        }
    }

    /// Ends the library. All work of streams, and all callbacks, are done then.
    fn end(self) -> Result<(), Finding> {
        // It may report an error of the device, such as a stream that is still captured, but it ends.
        let _ = library::tenon_shutdown();
        let status = library::tenon_shutdown();
        if status != Status::NOT_INITIALISED {
            return Err(Finding::End { text: error_text() });
        }
        let ran = CALLBACKS.load(Ordering::Relaxed);
        if ran == self.callbacks { Ok(()) } else { Err(Finding::Callbacks { accepted: self.callbacks, ran }) }
    }
}

fn open(plugin: PluginHandle, ordinal: i32) -> Result<DeviceHandle, Finding> {
    let mut device = DeviceHandle::default();
    // SAFETY: the place can be written.
    let status = unsafe { devices::tenon_plugin_open_device(plugin, ordinal, &raw mut device) };
    begun("tenon_plugin_open_device", status).map(|()| device)
}

fn device_count(plugin: PluginHandle) -> Result<usize, Finding> {
    let mut count = 0_usize;
    let place = (&raw mut count).expose_provenance() as u64;
    begun("tenon_get_device_count", call(Function::GetDeviceCount, &[place], plugin.bits()))?;
    Ok(count)
}

fn call(function: Function, arguments: &[u64], plugin: u64) -> Status {
    CURRENT.store(function as usize + 1, Ordering::Relaxed);
    // SAFETY: handles and addresses of devices are looked up, which is tested here; memory of the host is at least as
    // long as its length says, and places can be written or are null.
    let status = unsafe { call_raw(function, plugin, arguments) };
    status.unwrap_or(Status::INVALID_ARGUMENT)
}

/// Checks what `functions.h` promises of every call.
fn check(function: Function, arguments: &Arguments, status: Status) -> Result<(), Finding> {
    let info = function.info();
    let name = |index: usize| info.params.get(index).map_or("answer", |param| param.name);
    let finding = |what: String| {
        let values = arguments.bits.iter().enumerate();
        Err(Finding::Call {
            function: info.name,
            what,
            outcome: format!("status {}: {}", status.0, error_text()),
            arguments: values.map(|(index, bits)| format!("  {} = {bits:#x}\n", name(index))).collect(),
        })
    };
    if status.name().is_none() {
        return finding("returned an unknown status".to_owned());
    }
    if let (Status::SUCCESS, Some(what)) = (status, arguments.must_fail) {
        return finding(format!("succeeded although {what} is invalid"));
    }
    if status != Status::SUCCESS && error_text().is_empty() {
        return finding("failed without a message".to_owned());
    }
    for (index, place) in arguments.places.iter().enumerate() {
        let Some(place) = place else { continue };
        if !place.is_guarded() {
            return finding(format!("wrote behind `{}`", name(index)));
        }
        // A text is the reason of the failure.
        let is_output = info.params.get(index).is_none_or(|param| {
            param.direction == Direction::Out
                && !matches!(param.kind, Kind::Struct(_) | Kind::Callback(_) | Kind::Text)
        });
        if status != Status::SUCCESS && is_output && !place.is_untouched() {
            return finding(format!("failed and wrote `{}`", name(index)));
        }
    }
    Ok(())
}
