//! Arguments for any function, made from what the spec says of its parameters.

use tenon::device::{CaptureMode, DataType, Function, ffi};
use tenon::reflect::{Direction, Extent, FunctionInfo, Kind, Length, ParamInfo, Role, Space};

use super::handles;
use crate::case::{Verdict, skipped};
use crate::plugin_under_test::{CallbackLog, GuardedBuffer, PluginUnderTest};

/// The length of every piece of memory, in bytes.
pub(super) const LEN: usize = 64;

/// The length of the pattern of a fill, in bytes.
const PATTERN_LEN: u64 = 4;

/// Arguments with the memory that they point to.
pub(super) struct Arguments {
    pub(super) info: &'static FunctionInfo,
    pub(super) bits: Vec<u64>,
    /// For each parameter that is written through, or read from, host memory of ours.
    pub(super) places: Vec<Option<GuardedBuffer>>,
    devices: Vec<Option<Box<ffi::C_Device_st>>>,
    log: CallbackLog,
}

/// Groups whose functions need objects of the host, or other processes, or an order of calls; they are in the cases
/// written by hand, or not tested.
const BY_HAND: [&str; 3] = ["collective", "profiler", "graph"];

/// Functions that end what the other cases use, or that take C++ objects of the host.
const OTHERS_BY_HAND: [Function; 7] = [
    Function::Initialize,
    Function::Finalize,
    Function::InitDevice,
    Function::DeinitDevice,
    Function::GetDeviceProperties,
    Function::InitEigenDevice,
    Function::DestroyEigenDevice,
];

/// Returns true if arguments can be made.
pub(super) fn can_be_made(function: Function, info: &FunctionInfo) -> bool {
    !BY_HAND.contains(&info.group) && !OTHERS_BY_HAND.contains(&function)
}

/// Returns true if a parameter, an input, is a device.
pub(super) fn is_device(param: &ParamInfo) -> bool {
    matches!(param.kind, Kind::Id(_)) && param.direction == Direction::In
}

/// Returns true if a parameter is the length in bytes of another.
pub(super) fn is_length(info: &FunctionInfo, index: usize) -> bool {
    info.params.iter().any(|param| param.length == Some(Length::Bytes(Extent::Param(index))))
}

impl Arguments {
    /// Arguments with which the function must succeed, on device 0. Outputs are filled with `poison` before.
    pub(super) fn make(plugin: &PluginUnderTest, function: Function, poison: u8) -> Verdict<Self> {
        let info = function.info();
        let mut arguments =
            Self { info, bits: Vec::new(), places: Vec::new(), devices: Vec::new(), log: CallbackLog::new() };
        for (index, param) in info.params.iter().enumerate() {
            let (mut place, mut device) = (None, None);
            let bits = arguments.one(plugin, index, param, poison, &mut place, &mut device)?;
            arguments.bits.push(bits);
            arguments.places.push(place);
            arguments.devices.push(device);
        }
        if function == Function::EventElapsedTime {
            let stream = plugin.stream(0)?;
            for (param, event) in info.params.iter().zip(&arguments.bits) {
                if matches!(param.kind, Kind::Handle { .. }) {
                    plugin.record(0, stream, *event)?;
                }
            }
            plugin.synchronize_stream(0, stream)?;
            plugin.destroy_stream(0, stream)?;
        }
        Ok(arguments)
    }

    #[allow(clippy::too_many_arguments, reason = "each is a property of the one parameter")]
    fn one(
        &self,
        plugin: &PluginUnderTest,
        index: usize,
        param: &ParamInfo,
        poison: u8,
        place: &mut Option<GuardedBuffer>,
        device: &mut Option<Box<ffi::C_Device_st>>,
    ) -> Verdict<u64> {
        if is_device(param) {
            let made = device.insert(Box::new(ffi::C_Device_st { id: 0 }));
            return Ok(crate::plugin_under_test::address(&mut **made));
        }
        if param.is_memory() {
            return Self::memory(plugin, param, poison, place);
        }
        if param.is_output() {
            let len = self.answer_len(plugin, param)?;
            let made = place.insert(GuardedBuffer::new(len, poison));
            return Ok(made.address());
        }
        Ok(match param.kind {
            Kind::Int { .. } if param.name == "pattern_size" => PATTERN_LEN,
            Kind::Int { .. } if is_length(self.info, index) => LEN as u64,
            Kind::Int { .. } if param.name == "numel" => (LEN / size_of::<f32>()) as u64,
            Kind::Float { .. } => 1.0_f64.to_bits(),
            Kind::Enum { name: "DataType", .. } => DataType::FLOAT32.0 as u64,
            Kind::Enum { name: "CaptureMode", .. } => CaptureMode::RELAXED.0 as u64,
            Kind::Handle { name, .. } => handles::make(plugin, name, 0)?,
            Kind::Callback(_) => self.log.callback(0, None)[0],
            Kind::Pointer => self.log.callback(0, None)[1],
            Kind::Int { .. } | Kind::Enum { .. } | Kind::Bool | Kind::Id(_) => 0,
            Kind::Text | Kind::Struct(_) => return skipped("no argument can be made for it"),
        })
    }

    fn memory(
        plugin: &PluginUnderTest,
        param: &ParamInfo,
        poison: u8,
        place: &mut Option<GuardedBuffer>,
    ) -> Verdict<u64> {
        let memory = match (param.space, param.role) {
            (Some(Space::Host), Role::Destroys) => plugin.pinned(0, LEN)?,
            (Some(Space::Unified), Role::Destroys) => plugin.unified(0, LEN)?,
            (Some(Space::Host), _) => {
                let made = place.insert(GuardedBuffer::new(LEN, poison));
                return Ok(made.address());
            }
            // Numbers for `blas_axpby`, bytes for all others.
            _ => plugin.filled(0, &1.0_f32.to_le_bytes().repeat(LEN / 4))?,
        };
        Ok(memory.address)
    }

    /// Returns the length of an output, in bytes.
    fn answer_len(&self, plugin: &PluginUnderTest, param: &ParamInfo) -> Verdict<usize> {
        let one = match param.kind {
            Kind::Bool => 1,
            Kind::Int { bits, .. } | Kind::Float { bits } => usize::from(bits / 8),
            Kind::Id(_) | Kind::Enum { .. } => 4,
            Kind::Pointer | Kind::Handle { .. } => 8,
            Kind::Text => 1,
            Kind::Struct(_) | Kind::Callback(_) => return skipped("no place can be made for its answer"),
        };
        let count = match param.length {
            None | Some(Length::Bytes(_)) => 1,
            Some(Length::Count(Extent::Number(count))) => usize::try_from(count).unwrap_or_default(),
            Some(Length::Count(Extent::Call("get_device_count"))) => {
                usize::try_from(plugin.devices()?).unwrap_or_default()
            }
            Some(Length::Count(_)) => return skipped("no place can be made for its answer"),
        };
        Ok(one * count)
    }

    /// Returns another device than the parameter's.
    pub(super) fn set_device(&mut self, index: usize, id: i32) {
        let device = self.devices[index].insert(Box::new(ffi::C_Device_st { id }));
        self.bits[index] = crate::plugin_under_test::address(&mut **device);
    }
}
