//! The spec as data at run time, for layers, reports and conformance cases.
//!
//! The tables are generated: one `reflection::FUNCTIONS` for each interface with a trait.
//!
//! ```
//! use tenon::device::Function;
//!
//! let copy = Function::AsyncMemoryCopyH2d.info();
//! assert_eq!(copy.name, "async_memory_copy_h2d");
//! let names: Vec<&str> = copy.params.iter().map(|param| param.name).collect();
//! assert_eq!(names, ["device", "stream", "dst", "src", "size"]);
//! assert_eq!(copy.stream_ordered, Some(1), "the work runs in the order of `stream`");
//! ```
//!
//! A layer receives the entry of each call. This one refuses all calls that wait:
//!
//! ```
//! use std::sync::Arc;
//!
//! use tenon::device::*;
//! use tenon::reflect::Call;
//!
//! struct NoWaits;
//!
//! impl Layer for NoWaits {
//!     fn before(&self, call: &Call<'_>, _: &dyn Device) -> Result<u64> {
//!         if call.function.blocking {
//!             return Err(Error::invalid(format!("`{}` waits for the device", call.function.name)));
//!         }
//!         Ok(0)
//!     }
//!     fn after(&self, _: &Call<'_>, _: u64, _: &Outcome<'_>, _: &dyn Device) {}
//! }
//! # use tenon::DevicePtr;
//! # #[derive(Default)]
//! # struct MyNpu;
//! # tenon_testing::stub_device! { #[tenon::device] impl MyNpu {} optional {} }
//!
//! let device = Layered::new(MyNpu, vec![Arc::new(NoWaits)]);
//! assert!(device.get_device_count().is_ok());
//! let error = device.synchronize_device(DeviceId(0)).unwrap_err();
//! assert_eq!(error.message, "`synchronize_device` waits for the device");
//! ```

/// The spec of a function.
#[derive(Debug)]
pub struct FunctionInfo {
    /// Its name in the spec.
    pub name: &'static str,
    /// The group that describes it.
    pub group: &'static str,
    /// Summary of one line.
    pub summary: &'static str,
    /// All parameters in the order of the spec, lengths and outputs included.
    pub params: &'static [ParamInfo],
    /// The consequence of leaving it out.
    pub need: Need,
    /// True if the call waits for device work.
    pub blocking: bool,
    /// Index of the parameter that is the stream in whose order the work runs.
    pub stream_ordered: Option<usize>,
    /// True if its status answers a yes-or-no question.
    pub question: bool,
    /// The fallback for implementations that lack it.
    pub fallback: Option<FallbackInfo>,
    /// First release that has it; `None`: the oldest known one.
    pub since: Option<&'static str>,
    /// Last release that has it; `None`: the newest known one.
    pub until: Option<&'static str>,
    /// Names of the statuses that it returns, each with its condition.
    pub returns: &'static [(&'static str, &'static str)],
}

impl FunctionInfo {
    /// The default values: an optional function. Generated entries set only the fields that differ.
    pub const OPTIONAL: Self = Self {
        name: "",
        group: "",
        summary: "",
        params: &[],
        need: Need::Optional,
        blocking: false,
        stream_ordered: None,
        question: false,
        fallback: None,
        since: None,
        until: None,
        returns: &[],
    };
}

/// The consequence of leaving a function out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Hosts refuse a plugin without it.
    Load,
    /// Hosts load a plugin without it and then misbehave.
    Use,
    /// An implementation may leave it out.
    Optional,
}

/// The fallback for an absent function.
#[derive(Debug)]
pub struct FallbackInfo {
    /// Its form.
    pub kind: FallbackKind,
    /// Description, one sentence.
    pub text: &'static str,
    /// The functions that it calls.
    pub calls: &'static [&'static str],
    /// True if hosts use the same fallback themselves.
    pub host_rule: bool,
    /// Its cost for the caller; may be empty.
    pub costs: &'static str,
}

/// The form of a fallback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FallbackKind {
    /// Returns a value.
    Constant,
    /// Calls another function.
    Call,
    /// Calls several functions in order.
    Sequence,
    /// Runs hand-written Rust code.
    Strategy,
    /// Returns an error status.
    Refuse,
    /// Does nothing, which is correct.
    Nothing,
}

/// The spec of a parameter. Parameters refer to each other by index.
#[derive(Debug)]
pub struct ParamInfo {
    /// Its name in the spec.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// The side that writes it.
    pub direction: Direction,
    /// The memory that it points to.
    pub space: Option<Space>,
    /// The length of the memory that it points to.
    pub length: Option<Length>,
    /// True if null is allowed.
    pub nullable: bool,
    /// Its role in the lifetime of a handle or an allocation.
    pub role: Role,
    /// The parameter that owns it.
    pub of: Option<usize>,
    /// The stream whose work must be done before the memory is freed.
    pub held: Option<usize>,
    /// The callback that receives it as context.
    pub context_of: Option<usize>,
    /// First release whose signature has it; `None`: the oldest known one.
    pub since: Option<&'static str>,
    /// Last release whose signature has it; `None`: the newest known one.
    pub until: Option<&'static str>,
}

impl ParamInfo {
    /// Returns true if the parameter is the address of caller-supplied memory, and not a location for an output.
    pub fn is_memory(&self) -> bool {
        matches!(self.kind, Kind::Pointer)
            && self.context_of.is_none()
            && !(self.role == Role::Creates && self.direction == Direction::Out)
    }

    /// Returns true if the function writes an output to the location that the parameter points to.
    pub fn is_output(&self) -> bool {
        self.direction != Direction::In && !self.is_memory()
    }
}

/// Constructors for generated entries. Each method sets one property that differs from a plain input.
#[doc(hidden)]
impl ParamInfo {
    const fn new(name: &'static str, kind: Kind, direction: Direction) -> Self {
        Self {
            name,
            kind,
            direction,
            space: None,
            length: None,
            nullable: false,
            role: Role::Uses,
            of: None,
            held: None,
            context_of: None,
            since: None,
            until: None,
        }
    }

    pub const fn input(name: &'static str, kind: Kind) -> Self {
        Self::new(name, kind, Direction::In)
    }

    pub const fn output(name: &'static str, kind: Kind) -> Self {
        Self::new(name, kind, Direction::Out)
    }

    pub const fn changed(name: &'static str, kind: Kind) -> Self {
        Self::new(name, kind, Direction::InOut)
    }

    pub const fn space(self, space: Space) -> Self {
        Self { space: Some(space), ..self }
    }

    pub const fn bytes(self, bytes: Extent) -> Self {
        Self { length: Some(Length::Bytes(bytes)), ..self }
    }

    pub const fn count(self, count: Extent) -> Self {
        Self { length: Some(Length::Count(count)), ..self }
    }

    pub const fn nullable(self) -> Self {
        Self { nullable: true, ..self }
    }

    pub const fn creates(self) -> Self {
        Self { role: Role::Creates, ..self }
    }

    pub const fn destroys(self) -> Self {
        Self { role: Role::Destroys, ..self }
    }

    pub const fn of(self, owner: usize) -> Self {
        Self { of: Some(owner), ..self }
    }

    pub const fn held(self, stream: usize) -> Self {
        Self { held: Some(stream), ..self }
    }

    pub const fn context_of(self, callback: usize) -> Self {
        Self { context_of: Some(callback), ..self }
    }

    pub const fn since(self, release: &'static str) -> Self {
        Self { since: Some(release), ..self }
    }

    pub const fn until(self, release: &'static str) -> Self {
        Self { until: Some(release), ..self }
    }
}

/// The type of a parameter.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A boolean.
    Bool,
    /// An integer.
    Int {
        /// 8, 16, 32 or 64.
        bits: u8,
        /// True if it is signed.
        signed: bool,
    },
    /// A floating-point number.
    Float {
        /// 32 or 64.
        bits: u8,
    },
    /// A string: NUL-terminated, or with a length.
    Text,
    /// An address.
    Pointer,
    /// An integer that identifies something, such as a device.
    Id(&'static str),
    /// An opaque pointer.
    Handle {
        /// Name of the type.
        name: &'static str,
        /// True if null has its own meaning.
        null: bool,
    },
    /// An enum.
    Enum {
        /// Name of the type.
        name: &'static str,
        /// The numbers and their names.
        values: &'static [(i64, &'static str)],
    },
    /// A struct.
    Struct(&'static str),
    /// A callback.
    Callback(&'static str),
}

/// Constructors for generated entries.
#[doc(hidden)]
impl Kind {
    pub const fn int(bits: u8, signed: bool) -> Self {
        Self::Int { bits, signed }
    }

    pub const fn handle(name: &'static str, null: bool) -> Self {
        Self::Handle { name, null }
    }

    pub const fn named(name: &'static str, values: &'static [(i64, &'static str)]) -> Self {
        Self::Enum { name, values }
    }
}

/// The side that writes a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The caller.
    In,
    /// The function.
    Out,
    /// Both.
    InOut,
}

/// The memory that a pointer points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Host memory.
    Host,
    /// Device memory.
    Device,
    /// Memory that host and device can both dereference.
    Unified,
    /// Any memory.
    Any,
}

/// The role of a parameter in the lifetime of a handle or an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The call creates it.
    Creates,
    /// The call destroys it.
    Destroys,
    /// The call uses it; it must be alive.
    Uses,
}

/// The length of the memory that a pointer points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// In bytes.
    Bytes(Extent),
    /// In elements.
    Count(Extent),
}

/// The number in a [`Length`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The value of a parameter.
    Param(usize),
    /// A constant.
    Number(u64),
    /// The result of a function, by name.
    Call(&'static str),
}

/// A function of the C SDK.
#[derive(Debug)]
pub struct CFunction {
    /// Its name in C, such as `tenon_memory_copy_h2d`.
    pub name: &'static str,
    /// The C types of the parameters of the spec.
    pub params: &'static [&'static str],
    /// True if it takes a `tenon_plugin` before these parameters.
    pub takes_plugin: bool,
    /// True if it writes a boolean result behind these parameters.
    pub answers: bool,
    /// True if only the library may call it.
    pub managed: bool,
}

impl CFunction {
    /// Describes a function of a device that has no boolean result, and that programs may call.
    pub const fn new(name: &'static str, params: &'static [&'static str]) -> Self {
        Self { name, params, takes_plugin: false, answers: false, managed: false }
    }

    /// Describes the function as one of a plugin.
    pub const fn of_plugin(self) -> Self {
        Self { takes_plugin: true, ..self }
    }

    /// Describes the function as one with a boolean result.
    pub const fn with_answer(self) -> Self {
        Self { answers: true, ..self }
    }

    /// Describes the function as one that only the library calls.
    pub const fn managed(self) -> Self {
        Self { managed: true, ..self }
    }
}

/// A call as layers see it.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The function that is called.
    pub function: &'static FunctionInfo,
    /// Its index in `reflection::FUNCTIONS`.
    pub index: usize,
    /// The argument of each parameter, as 64 bits.
    ///
    /// Integers are sign-extended, booleans are 0 or 1, floating-point numbers are the bits of an `f64`. Pointers,
    /// handles, structs, strings and slices are passed as their address. Outputs are 0 before the call, and have
    /// their result after it succeeded; arrays and strings that a call returns stay 0.
    pub arguments: &'a [u64],
}

impl Call<'_> {
    /// Returns the argument of the parameter with this name.
    pub fn argument(&self, name: &str) -> Option<u64> {
        let index = self.function.params.iter().position(|param| param.name == name)?;
        self.arguments.get(index).copied()
    }

    /// Returns the number of elements or bytes that a parameter points to; `None` if only a function call can
    /// determine it.
    pub fn length(&self, param: &ParamInfo) -> Option<u64> {
        let (Length::Bytes(extent) | Length::Count(extent)) = param.length?;
        match extent {
            Extent::Param(index) => self.arguments.get(index).copied(),
            Extent::Number(number) => Some(number),
            Extent::Call(_) => None,
        }
    }
}
