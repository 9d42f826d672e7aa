//! What has to be checked in each function, worked out once from the spec.

use std::sync::LazyLock;

use tenon::device::{Function, reflection};
use tenon::reflect::{Direction, Extent, FunctionInfo, Kind, Length, ParamInfo, Role, Space};

/// The checks of one function. Parameters are indices.
pub(super) struct Plan {
    /// Input devices.
    pub(super) devices: Vec<usize>,
    /// The device that reports name.
    pub(super) device: Option<usize>,
    /// What must not be null, apart from handles and memory.
    pub(super) filled: Vec<usize>,
    /// Enums, with their values.
    pub(super) enums: Vec<(usize, &'static [(i64, &'static str)])>,
    pub(super) handles: Vec<HandleParam>,
    pub(super) memory: Vec<MemoryParam>,
    /// Destination and source that must not overlap, in `memory`.
    pub(super) apart: Option<(usize, usize)>,
    /// The stream in whose order the work runs.
    pub(super) stream: Option<usize>,
    /// What the function does beyond its parameters.
    pub(super) act: Act,
    /// Whether it ends a life.
    pub(super) ends: bool,
    /// Whether there is something to do after the call.
    pub(super) after: bool,
}

/// A handle that goes in or comes out.
pub(super) struct HandleParam {
    pub(super) param: usize,
    pub(super) name: &'static str,
    pub(super) kind: u8,
    /// Whether null is allowed; for a stream it is the default stream.
    pub(super) null: bool,
    /// The device that it belongs to.
    pub(super) of: Option<usize>,
    pub(super) life: Life,
    /// Whether some function of the interface makes such handles; others come from the host, unknown to us.
    pub(super) ours: bool,
}

/// Memory that goes in or comes out.
pub(super) struct MemoryParam {
    pub(super) param: usize,
    pub(super) name: &'static str,
    pub(super) space: Space,
    pub(super) bytes: Bytes,
    pub(super) nullable: bool,
    pub(super) of: Option<usize>,
    pub(super) held: bool,
    pub(super) life: Life,
}

/// How many bytes a parameter points to.
#[derive(Clone, Copy)]
pub(super) enum Bytes {
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

/// The part in the life of a handle or of memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    Begins,
    Ends,
    /// Has to be alive.
    Goes,
    /// Comes out, but belongs to something else.
    Lent,
}

/// What some functions do beyond their parameters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    None,
    SynchronizeStream,
    QueryStream,
    SynchronizeDevice,
    WaitEvent,
    QueryEvent,
    RecordEvent,
    StreamWaitEvent,
    BeginCapture,
    EndCapture,
    DeinitDevice,
    Finalize,
}

/// The names of the kinds of handles; a kind is an index.
pub(super) static KINDS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
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
pub(super) static PLANS: LazyLock<Vec<Plan>> = LazyLock::new(|| {
    let made: Vec<&str> = reflection::FUNCTIONS
        .iter()
        .flat_map(|function| function.params)
        .filter_map(|param| match param.kind {
            Kind::Handle { name, .. } if param.role == Role::Creates => Some(name),
            _ => None,
        })
        .collect();
    Function::ALL.into_iter().map(|function| plan(function, function.info(), &made)).collect()
});

fn plan(function: Function, info: &'static FunctionInfo, made: &[&str]) -> Plan {
    let mut plan = Plan {
        devices: Vec::new(),
        device: None,
        filled: Vec::new(),
        enums: Vec::new(),
        handles: Vec::new(),
        memory: Vec::new(),
        apart: None,
        stream: info.stream_ordered,
        act: act(function),
        ends: false,
        after: false,
    };
    for (index, param) in info.params.iter().enumerate() {
        let input = param.direction != Direction::Out;
        // Elements of arrays are not among the arguments.
        let array = matches!(param.length, Some(Length::Count(_)));
        match param.kind {
            Kind::Id("DeviceId") if input && !array => plan.devices.push(index),
            Kind::Callback(_) if !param.nullable => plan.filled.push(index),
            Kind::Enum { values, .. } if input && !array => plan.enums.push((index, values)),
            Kind::Handle { name, null } if !array => {
                plan.handles.push(handle(index, param, (name, null), made));
            }
            Kind::Pointer if !array && param.context_of.is_none() => match memory(index, param, info) {
                Some(part) => plan.memory.push(part),
                None if input && !param.nullable && param.role == Role::Uses => plan.filled.push(index),
                None => {}
            },
            _ => {}
        }
    }
    plan.device = plan.devices.first().copied();
    plan.apart = apart(&plan.memory, info);
    let handles = plan.handles.iter().map(|handle| handle.life);
    let lives: Vec<Life> = handles.chain(plan.memory.iter().map(|part| part.life)).collect();
    plan.ends = lives.contains(&Life::Ends);
    plan.after = plan.act != Act::None && plan.act != Act::StreamWaitEvent
        || lives.iter().any(|life| *life != Life::Goes);
    plan
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
        // There are some ten kinds.
        kind: kind as u8,
        null: null || param.nullable,
        of: param.of,
        life: life(param),
        ours: made.contains(&name),
    }
}

fn life(param: &ParamInfo) -> Life {
    match (param.role, param.direction) {
        (Role::Creates, _) => Life::Begins,
        (Role::Destroys, _) => Life::Ends,
        (Role::Uses, Direction::Out) if matches!(param.kind, Kind::Handle { .. }) => Life::Lent,
        (Role::Uses, _) => Life::Goes,
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
        life: life(param),
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
            part.life == Life::Goes
                && part.space == Space::Device
                && info.params[part.param].direction == direction
                && matches!(part.bytes, Bytes::Param(_))
        })
    };
    let (to, from) = (side(Direction::Out)?, side(Direction::In)?);
    (memory[to].of == memory[from].of).then_some((to, from))
}

fn act(function: Function) -> Act {
    match function {
        Function::SynchronizeStream => Act::SynchronizeStream,
        Function::QueryStream => Act::QueryStream,
        Function::SynchronizeDevice => Act::SynchronizeDevice,
        Function::SynchronizeEvent => Act::WaitEvent,
        Function::QueryEvent => Act::QueryEvent,
        Function::RecordEvent => Act::RecordEvent,
        Function::StreamWaitEvent => Act::StreamWaitEvent,
        Function::CudaStreamBeginCapture => Act::BeginCapture,
        Function::CudaStreamEndCapture => Act::EndCapture,
        Function::DeinitDevice => Act::DeinitDevice,
        Function::Finalize => Act::Finalize,
        _ => Act::None,
    }
}

/// The length in bytes of one element of a `DataType`; 0 where it has none.
pub(super) fn element_size(data_type: u64) -> u64 {
    match data_type {
        1 | 2 | 6 => 1,
        3 | 7 | 10 | 13 => 2,
        4 | 8 | 11 => 4,
        5 | 9 | 12 | 14 => 8,
        15 => 16,
        _ => 0,
    }
}
