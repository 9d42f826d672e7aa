//! The checks of each function, computed once from the spec.

use std::sync::LazyLock;

use tenon::device::{DataType, Function, reflection};
use tenon::reflect::{Direction, Extent, FunctionInfo, Kind, Length, ParamInfo, Role, Space};

use super::collectives::Collective;

/// The checks of one function. Parameters are indices.
pub struct FunctionChecks {
    /// Input devices.
    pub devices: Vec<usize>,
    /// The device that reports name.
    pub device: Option<usize>,
    /// Parameters that must not be null, apart from handles and memory.
    pub filled: Vec<usize>,
    /// Enums, with their values.
    pub enums: Vec<(usize, &'static [(i64, &'static str)])>,
    pub handles: Vec<HandleParam>,
    pub memory: Vec<MemoryParam>,
    /// Destination and source that must not overlap, in `memory`.
    pub apart: Option<(usize, usize)>,
    /// The stream in whose order the work runs.
    pub stream: Option<usize>,
    /// The checks of a collective.
    pub collective: Option<Collective>,
    /// The effect of the function beyond its parameters.
    pub effect: Effect,
    /// True if it destroys a handle or frees memory.
    pub ends: bool,
    /// True if the layer has work to do after the call.
    pub after: bool,
}

/// A handle that goes in or comes out.
pub struct HandleParam {
    pub param: usize,
    pub name: &'static str,
    pub kind: u8,
    /// True if null is allowed; for a stream it is the default stream.
    pub null: bool,
    /// The device that it belongs to.
    pub of: Option<usize>,
    pub lifecycle: Lifecycle,
    /// True if a function of the interface creates such handles; others come from the host, and are unknown here.
    pub ours: bool,
}

/// Memory that goes in or comes out.
pub struct MemoryParam {
    pub param: usize,
    pub name: &'static str,
    pub space: Space,
    pub bytes: Bytes,
    pub nullable: bool,
    pub of: Option<usize>,
    pub held: bool,
    /// True if the function writes it.
    pub writes: bool,
    pub lifecycle: Lifecycle,
}

/// The number of bytes that a parameter points to.
#[derive(Clone, Copy)]
pub enum Bytes {
    /// As a parameter says.
    Param(usize),
    Number(u64),
    /// At least as many elements, of a type, as two parameters say.
    Elements {
        count: usize,
        of: usize,
    },
    Unknown,
}

/// The part of a call in the lifecycle of a handle or of memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Lifecycle {
    Begins,
    Ends,
    /// The object must be alive.
    Goes,
    /// The call returns it, but it belongs to another object.
    Lent,
}

/// The effect of some functions beyond their parameters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    None,
    SynchronizeStream,
    QueryStream,
    SynchronizeDevice,
    WaitEvent,
    QueryEvent,
    RecordEvent,
    StreamWaitEvent,
    AddCallback,
    BeginCapture,
    EndCapture,
    DeinitDevice,
    Finalize,
}

/// The names of the kinds of handles; a kind is an index.
pub static KINDS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let mut kinds = Vec::new();
    for param in reflection::FUNCTIONS.iter().flat_map(|function| function.params) {
        if let Kind::Handle { name, .. } = param.kind
            && !kinds.contains(&name)
        {
            kinds.push(name);
        }
    }
    kinds
});

/// The plans, in the order of the functions.
pub static CHECKS: LazyLock<Vec<FunctionChecks>> = LazyLock::new(|| {
    let made: Vec<&str> = reflection::FUNCTIONS
        .iter()
        .flat_map(|function| function.params)
        .filter_map(|param| match param.kind {
            Kind::Handle { name, .. } if param.role == Role::Creates => Some(name),
            _ => None,
        })
        .collect();
    Function::ALL.into_iter().map(|function| checks(function, function.info(), &made)).collect()
});

fn checks(function: Function, info: &'static FunctionInfo, made: &[&str]) -> FunctionChecks {
    let mut checks = FunctionChecks {
        devices: Vec::new(),
        device: None,
        filled: Vec::new(),
        enums: Vec::new(),
        handles: Vec::new(),
        memory: Vec::new(),
        apart: None,
        stream: info.stream_ordered,
        collective: Collective::of(info),
        effect: effect(function),
        ends: false,
        after: false,
    };
    for (index, param) in info.params.iter().enumerate() {
        let input = param.direction != Direction::Out;
        // Elements of arrays are not among the arguments.
        let array = matches!(param.length, Some(Length::Count(_)));
        match param.kind {
            Kind::Id("DeviceId") if input && !array => checks.devices.push(index),
            Kind::Callback(_) if !param.nullable => checks.filled.push(index),
            Kind::Enum { values, .. } if input && !array => checks.enums.push((index, values)),
            Kind::Handle { name, null } if !array => {
                checks.handles.push(handle(index, param, (name, null), made));
            }
            Kind::Pointer if !array && param.context_of.is_none() => match memory(index, param, info) {
                Some(part) => checks.memory.push(part),
                None if input && !param.nullable && param.role == Role::Uses => checks.filled.push(index),
                None => {}
            },
            _ => {}
        }
    }
    checks.device = checks.devices.first().copied();
    checks.apart = apart(&checks.memory, info);
    let handles = checks.handles.iter().map(|handle| handle.lifecycle);
    let lifecycles: Vec<Lifecycle> = handles.chain(checks.memory.iter().map(|part| part.lifecycle)).collect();
    checks.ends = lifecycles.contains(&Lifecycle::Ends);
    checks.after = !matches!(checks.effect, Effect::None | Effect::StreamWaitEvent | Effect::AddCallback)
        || lifecycles.iter().any(|lifecycle| *lifecycle != Lifecycle::Goes);
    checks
}

fn handle(
    index: usize,
    param: &'static ParamInfo,
    (name, null): (&'static str, bool),
    made: &[&str],
) -> HandleParam {
    let kind = KINDS.iter().position(|kind| *kind == name).unwrap_or_default();
    HandleParam {
        param: index,
        name: param.name,
        // There are about ten kinds.
        kind: kind as u8,
        null: null || param.nullable,
        of: param.of,
        lifecycle: lifecycle(param),
        ours: made.contains(&name),
    }
}

fn lifecycle(param: &ParamInfo) -> Lifecycle {
    match (param.role, param.direction) {
        (Role::Creates, _) => Lifecycle::Begins,
        (Role::Destroys, _) => Lifecycle::Ends,
        (Role::Uses, Direction::Out) if matches!(param.kind, Kind::Handle { .. }) => Lifecycle::Lent,
        (Role::Uses, _) => Lifecycle::Goes,
    }
}

fn memory(index: usize, param: &'static ParamInfo, info: &FunctionInfo) -> Option<MemoryParam> {
    let space = param.space?;
    let bytes = match param.length {
        Some(Length::Bytes(Extent::Param(size))) => Bytes::Param(size),
        Some(Length::Bytes(Extent::Number(size))) => Bytes::Number(size),
        _ => elements(info).unwrap_or(Bytes::Unknown),
    };
    // A result that only some callers get, of a length that the spec cannot say, may be null.
    let nullable = param.nullable || param.length.is_none() && param.direction == Direction::Out;
    Some(MemoryParam {
        param: index,
        name: param.name,
        space,
        bytes,
        nullable,
        of: param.of,
        held: param.held.is_some(),
        writes: param.direction != Direction::In,
        lifecycle: lifecycle(param),
    })
}

/// Vectors and collectives say their length as a number of elements of a type.
fn elements(info: &FunctionInfo) -> Option<Bytes> {
    let of =
        info.params.iter().position(|param| matches!(param.kind, Kind::Enum { name: "DataType", .. }))?;
    let count = info.params.iter().position(|param| matches!(param.name, "count" | "numel"))?;
    Some(Bytes::Elements { count, of })
}

/// Copies within one device: equal or apart.
fn apart(memory: &[MemoryParam], info: &FunctionInfo) -> Option<(usize, usize)> {
    let side = |direction| {
        memory.iter().position(|part| {
            part.lifecycle == Lifecycle::Goes
                && part.space == Space::Device
                && info.params[part.param].direction == direction
                && matches!(part.bytes, Bytes::Param(_))
        })
    };
    let (to, from) = (side(Direction::Out)?, side(Direction::In)?);
    (memory[to].of == memory[from].of).then_some((to, from))
}

fn effect(function: Function) -> Effect {
    match function {
        Function::SynchronizeStream => Effect::SynchronizeStream,
        Function::QueryStream => Effect::QueryStream,
        Function::SynchronizeDevice => Effect::SynchronizeDevice,
        Function::SynchronizeEvent => Effect::WaitEvent,
        Function::QueryEvent => Effect::QueryEvent,
        Function::RecordEvent => Effect::RecordEvent,
        Function::StreamWaitEvent => Effect::StreamWaitEvent,
        Function::StreamAddCallback => Effect::AddCallback,
        Function::CudaStreamBeginCapture => Effect::BeginCapture,
        Function::CudaStreamEndCapture => Effect::EndCapture,
        Function::DeinitDevice => Effect::DeinitDevice,
        Function::Finalize => Effect::Finalize,
        _ => Effect::None,
    }
}

/// Returns the length in bytes of one element of a `DataType`; 0 where it has none.
pub fn element_size(data_type: u64) -> u64 {
    let number = i32::try_from(data_type).ok();
    number.and_then(|number| DataType(number).size()).map_or(0, |size| size as u64)
}
