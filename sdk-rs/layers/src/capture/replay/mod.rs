//! Repeats a capture on a device and compares the results.

mod compare;
mod report;
mod words;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tenon::device::{Device, DeviceId, Error, Function, Partial, WithFallbacks};
use tenon::reflect::{Kind, Role};

pub use report::{Difference, Report, Skipped};

use super::access::writes;
use super::call::{Argument, Call, ObjectId};
use super::reader::{Event, ReadError, Recording};
use super::shadow::Shadow;
use compare::Destination;
use words::Held;

/// The device that repeats the calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The device for the calls of all recorded devices; `None`: the recorded ones.
    pub device: Option<i32>,
}

/// A capture that cannot be repeated.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It has no calls.
    #[error("the capture has no calls")]
    Empty,
    /// The plugin has fewer devices than the recorded one.
    #[error("there is no device {device}, but {}; `--device` selects the device for all calls", has(.devices))]
    NoDevice {
        /// The number of the missing device.
        device: i32,
        /// The numbers of the devices.
        devices: Vec<usize>,
    },
    /// The device cannot be prepared.
    #[error("the device cannot be used: `{function}` failed: {error}")]
    Unusable {
        /// The function.
        function: &'static str,
        /// Its error.
        error: Error,
    },
}

fn has(devices: &[usize]) -> String {
    let numbers: Vec<String> = devices.iter().map(usize::to_string).collect();
    match numbers.as_slice() {
        [] => "none at all".to_owned(),
        numbers => format!("only {}", numbers.join(", ")),
    }
}

/// Repeats the calls of a capture on a device, with fallbacks for the functions that it lacks. Of several plugins, those
/// of the one with the most calls. `show` gets each call before it is made.
///
/// All calls run on the calling thread, in the recorded order.
///
/// # Errors
/// If the file cannot be read, or the device cannot be used. A call that fails is no error.
pub fn replay(
    recording: &Recording,
    device: Arc<dyn Partial>,
    target: Target,
    show: &mut dyn FnMut(&Call),
) -> Result<Report, ReplayError> {
    let plugin = busiest_plugin(recording).ok_or(ReplayError::Empty)?;
    let mut replay = Replay {
        recording,
        plugin,
        device: WithFallbacks(device),
        target,
        blocks: HashMap::new(),
        handles: HashMap::new(),
        lost: HashMap::new(),
        shadow: Shadow::default(),
        held: Held::default(),
        destinations: HashMap::new(),
        current: HashMap::new(),
        selected: None,
        devices: HashSet::new(),
        present: HashSet::new(),
        is_queued: false,
        is_finalized: false,
        report: Report { plugin: recording.plugins[plugin as usize].clone(), ..Report::default() },
    };
    replay.prepare()?;
    let done = replay.run(show);
    // Also after an error: the device may still use memory that is held.
    if !replay.wait() {
        std::mem::forget(std::mem::take(&mut replay.destinations));
    }
    done.map(|()| replay.report)
}

/// Returns the number of the plugin with the most calls.
pub(super) fn busiest_plugin(recording: &Recording) -> Option<u32> {
    let mut counts: HashMap<u32, u64> = HashMap::new();
    for call in &recording.calls {
        *counts.entry(call.plugin).or_default() += 1;
    }
    counts
        .into_iter()
        .max_by_key(|(plugin, count)| (*count, std::cmp::Reverse(*plugin)))
        .map(|(plugin, _)| plugin)
}

/// A handle of the device.
#[derive(Clone, Copy)]
struct Handle {
    word: u64,
    /// The recorded device that owns it.
    device: Option<u64>,
}

struct Replay<'a> {
    recording: &'a Recording,
    plugin: u32,
    device: WithFallbacks<Arc<dyn Partial>>,
    target: Target,
    /// The addresses of the blocks of memory. The capture has their lengths.
    blocks: HashMap<ObjectId, u64>,
    handles: HashMap<ObjectId, Handle>,
    /// The objects that a call did not create here, with its number.
    lost: HashMap<ObjectId, u64>,
    shadow: Shadow,
    held: Held,
    destinations: HashMap<(u64, u8), Destination>,
    /// The current device of each recorded thread.
    current: HashMap<u32, i32>,
    /// The current device of this thread.
    selected: Option<i32>,
    /// The devices that calls have used and not shut down.
    devices: HashSet<i32>,
    /// The devices that exist.
    present: HashSet<i64>,
    /// True if work was queued since the last wait.
    is_queued: bool,
    is_finalized: bool,
    report: Report,
}

impl Replay<'_> {
    /// Initialises what the recorded program had initialised before the capture.
    fn prepare(&mut self) -> Result<(), ReplayError> {
        let calls = || self.recording.calls.iter().filter(|call| call.plugin == self.plugin);
        let unusable = |function: Function| {
            let function = function.name();
            move |error| ReplayError::Unusable { function, error }
        };
        if !calls().any(|call| call.function == Function::Initialize) {
            self.device.initialize().map_err(unusable(Function::Initialize))?;
        }
        let devices = self.device.get_device_list().map_err(unusable(Function::GetDeviceList))?;
        self.present = devices.iter().filter_map(|device| i64::try_from(*device).ok()).collect();
        let succeeded = |call: &&Call| call.outcome.as_ref().is_none_or(|outcome| outcome.status == 0);
        let used: HashSet<i32> = calls().filter(succeeded).flat_map(|call| self.devices_of(call)).collect();
        if let Some(device) = used.iter().find(|device| !self.present.contains(&i64::from(**device))) {
            return Err(ReplayError::NoDevice { device: *device, devices });
        }
        let is_initialised = |device: &i32| {
            calls().any(|call| {
                call.function == Function::InitDevice && self.devices_of(call).any(|other| other == *device)
            })
        };
        let mut open: Vec<i32> = used.iter().copied().filter(|device| !is_initialised(device)).collect();
        open.sort_unstable();
        for device in open {
            self.device.init_device(DeviceId(device)).map_err(unusable(Function::InitDevice))?;
        }
        self.devices = used;
        Ok(())
    }

    fn run(&mut self, show: &mut dyn FnMut(&Call)) -> Result<(), ReplayError> {
        let recording = self.recording;
        let by_number: HashMap<u64, usize> =
            recording.calls.iter().enumerate().map(|(index, call)| (call.number, index)).collect();
        for event in &recording.events {
            match event {
                Event::Call(index) => self.repeat(&recording.calls[*index], show)?,
                Event::Return(_) => {}
                Event::Arrival(arrival) => self.arrive(&recording.calls[by_number[&arrival.call]], arrival),
            }
        }
        Ok(())
    }

    /// Returns the devices of a call, as they are here.
    fn devices_of<'c>(&self, call: &'c Call) -> impl Iterator<Item = i32> + use<'c> {
        let target = self.target.device;
        let params = call.function.info().params.iter().zip(&call.arguments);
        params.filter_map(move |(param, argument)| match (param.kind, argument) {
            (Kind::Id(_), Argument::Number(device)) => Some(target.unwrap_or(*device as i32)),
            _ => None,
        })
    }

    /// Waits for all devices, so that nothing uses held memory any more. Returns false if a device cannot be waited for;
    /// the memory that it may use is never freed then.
    fn wait(&mut self) -> bool {
        let synchronize = |device: &i32| self.device.synchronize_device(DeviceId(*device)).is_ok();
        let is_done = self.devices.iter().filter(|device| !synchronize(device)).count() == 0;
        if is_done {
            self.held.clear();
            self.destinations.values_mut().for_each(|destination| destination.is_complete = true);
            self.is_queued = false;
        } else {
            self.held.abandon()
        }
        is_done
    }

    fn repeat(&mut self, call: &Call, show: &mut dyn FnMut(&Call)) -> Result<(), ReplayError> {
        if call.plugin != self.plugin {
            self.report.of_other_plugins += 1;
            return Ok(());
        }
        if self.is_finalized && call.function != Function::Initialize {
            self.skip(call, "the plugin was finalised before".to_owned());
            return Ok(());
        }
        if self.held.is_full() || matches!(call.function, Function::DeinitDevice | Function::Finalize) {
            self.wait();
        }
        let mut words = match self.words(call)? {
            Ok(words) => words,
            Err(reason) => {
                self.skip(call, reason);
                return Ok(());
            }
        };
        show(call);
        self.select(call);
        // SAFETY: the reader has held each argument to the form of its parameter. So addresses are of memory that is
        // held, or of blocks that are long enough, and handles come from the device.
        let returned = unsafe { call.function.call_with(&self.device, &mut words) };
        let Some(returned) = returned else {
            self.skip(call, "a capture does not contain its arguments".to_owned());
            return Ok(());
        };
        self.report.repeated += 1;
        if call.is_unfinished() {
            self.report.ended_in = Some(call.number);
        }
        if returned.is_ok() && call.function == Function::SetDevice {
            self.current.extend(self.devices_of(call).next().map(|device| (call.thread, device)));
            self.selected = self.devices_of(call).next();
        }
        self.compare_status(call, returned.as_ref().err());
        if returned.is_ok() {
            self.is_finalized &= call.function != Function::Initialize;
            self.is_queued |= call.function.info().stream_ordered.is_some();
            self.devices.extend(self.devices_of(call));
            self.complete(call);
            self.remove_destroyed(call);
            self.leave_ended(call);
        }
        self.keep_created(call, &words, returned.is_ok());
        let succeeded = call.outcome.as_ref().is_some_and(|outcome| outcome.status == 0);
        if succeeded {
            self.compare_contents(call, &words, returned.is_ok())?;
            match returned {
                Ok(_) => self.shadow.apply(call),
                // Bytes that depend on it are not compared.
                Err(_) => writes(call).into_iter().for_each(|(range, _)| self.shadow.forget(range)),
            }
        }
        if returned.is_ok() && call.function == Function::SynchronizeDevice && self.devices.len() == 1 {
            self.held.clear();
        }
        self.held.end_of_call(call.function.info().stream_ordered.is_some());
        Ok(())
    }

    /// Selects the device that the recorded thread had selected.
    fn select(&mut self, call: &Call) {
        let wanted = self.current.get(&call.thread).copied();
        if let Some(wanted) = wanted.filter(|wanted| self.selected != Some(*wanted))
            && self.device.set_device(DeviceId(wanted)).is_ok()
        {
            self.selected = Some(wanted);
        }
    }

    /// Reports a call that is not repeated. What it creates and writes is unknown from here on.
    fn skip(&mut self, call: &Call, reason: String) {
        self.lost.extend(call.created().map(|(_, id)| (id, call.number)));
        writes(call).into_iter().for_each(|(range, _)| self.shadow.forget(range));
        self.report.skip(call.function, reason);
    }

    /// Uses no device any more that a call has shut down.
    fn leave_ended(&mut self, call: &Call) {
        let ended = match call.function {
            Function::Finalize => None,
            Function::DeinitDevice => call.number_of("device"),
            _ => return,
        };
        self.is_finalized = ended.is_none();
        match ended {
            None => self.devices.clear(),
            Some(_) => {
                for device in self.devices_of(call) {
                    self.devices.remove(&device);
                }
            }
        }
        let is_one = self.target.device.is_some();
        let stays = |device: Option<u64>| !is_one && ended.is_some() && device.is_some() && device != ended;
        let device_of = |block: &ObjectId| self.recording.block(*block).and_then(|block| block.device);
        self.handles.retain(|_, handle| stays(handle.device));
        self.blocks.retain(|block, _| stays(device_of(block)));
        self.destinations
            .retain(|_, destination| destination.block.is_none_or(|block| stays(device_of(&block))));
    }

    fn remove_destroyed(&mut self, call: &Call) {
        for (param, argument) in call.function.info().params.iter().zip(&call.arguments) {
            match argument {
                _ if param.role != Role::Destroys => {}
                Argument::Handle(id) => {
                    self.handles.remove(id);
                }
                Argument::Memory(position) => {
                    self.blocks.remove(&position.block);
                    self.destinations.retain(|_, destination| destination.block != Some(position.block));
                }
                _ => {}
            }
        }
    }

    fn keep_created(&mut self, call: &Call, words: &[u64], succeeded: bool) {
        for (index, id) in call.created() {
            let param = &call.function.info().params[index];
            let kind = param.kind;
            let may_be_null = matches!(kind, Kind::Handle { null: true, .. });
            let word = words[index];
            if !succeeded || (word == 0 && !may_be_null) {
                if succeeded {
                    self.report.differ(call, "null instead of an address".to_owned());
                }
                self.lost.insert(id, call.number);
                continue;
            }
            match kind {
                Kind::Pointer => {
                    self.blocks.insert(id, word);
                }
                _ => {
                    let owner = param.of.and_then(|owner| call.arguments.get(owner));
                    let device = match owner {
                        Some(Argument::Number(device)) => Some(*device),
                        _ => None,
                    };
                    self.handles.insert(id, Handle { word, device });
                }
            }
        }
    }
}
