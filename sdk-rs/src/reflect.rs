//! The spec as data at run time: what layers, reports and conformance cases read of each function.
//!
//! The tables are generated, one `reflection::FUNCTIONS` for each interface with a trait.

/// What the spec says of a function.
#[derive(Debug)]
pub struct FunctionInfo {
    /// Its name in the spec.
    pub name: &'static str,
    /// The group that describes it.
    pub group: &'static str,
    /// One line.
    pub summary: &'static str,
    /// All parameters in the order of the spec, lengths and outputs included.
    pub params: &'static [ParamInfo],
    /// Whether an implementation must have it.
    pub need: Need,
    /// Whether the caller waits for device work.
    pub blocking: bool,
    /// The parameter in whose order, that of a stream, the work runs.
    pub stream_ordered: Option<usize>,
    /// Whether its status is an answer of yes or no.
    pub question: bool,
    /// What stands in when it is absent.
    pub fallback: Option<FallbackInfo>,
    /// The first release that has it; `None`: the oldest known.
    pub since: Option<&'static str>,
    /// The last release that has it; `None`: the newest known.
    pub until: Option<&'static str>,
    /// Names of statuses, and when each is returned.
    pub returns: &'static [(&'static str, &'static str)],
}

/// Whether an implementation must have a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A host refuses a plugin without it.
    Load,
    /// A host loads the plugin and then misbehaves.
    Use,
    /// It may be left out.
    Optional,
}

/// What stands in for a function that is absent.
#[derive(Debug)]
pub struct FallbackInfo {
    /// The form of it.
    pub kind: FallbackKind,
    /// A sentence for people.
    pub text: &'static str,
    /// The functions that it calls.
    pub calls: &'static [&'static str],
    /// Whether hosts do the same by themselves.
    pub host_rule: bool,
    /// What the caller pays; may be empty.
    pub costs: &'static str,
}

/// The forms of a fallback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FallbackKind {
    /// A value.
    Constant,
    /// Another function.
    Call,
    /// Some functions, one after the other.
    Sequence,
    /// Rust code, written by hand.
    Strategy,
    /// The caller gets a status.
    Refuse,
    /// Nothing is done, and that is right.
    Nothing,
}

/// What the spec says of a parameter. Parameters refer to each other by index.
#[derive(Debug)]
pub struct ParamInfo {
    /// Its name in the spec.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Who writes it.
    pub direction: Direction,
    /// Which memory it points to.
    pub space: Option<Space>,
    /// How much memory it points to.
    pub length: Option<Length>,
    /// Whether null is allowed.
    pub nullable: bool,
    /// Its part in the life of a handle or an allocation.
    pub role: Role,
    /// The parameter that owns it.
    pub of: Option<usize>,
    /// The stream that must have passed before the memory may go.
    pub held: Option<usize>,
    /// The callback that gets it.
    pub context_of: Option<usize>,
    /// The first release whose signature has it; `None`: the oldest known.
    pub since: Option<&'static str>,
    /// The last release whose signature has it; `None`: the newest known.
    pub until: Option<&'static str>,
}

/// The type of a parameter.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A truth value.
    Bool,
    /// A whole number.
    Int {
        /// 8, 16, 32 or 64.
        bits: u8,
        /// Whether it has a sign.
        signed: bool,
    },
    /// A floating-point number.
    Float {
        /// 32 or 64.
        bits: u8,
    },
    /// NUL-terminated, or characters of a length.
    Text,
    /// An address.
    Pointer,
    /// A number that stands for something, such as a device.
    Id(&'static str),
    /// An opaque pointer.
    Handle {
        /// Name of the type.
        name: &'static str,
        /// Whether null has a meaning of its own.
        null: bool,
    },
    /// A named number.
    Enum {
        /// Name of the type.
        name: &'static str,
        /// The numbers and their names.
        values: &'static [(i64, &'static str)],
    },
    /// A struct.
    Struct(&'static str),
    /// A function of the caller's.
    Callback(&'static str),
}

/// Who writes a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The caller.
    In,
    /// The function.
    Out,
    /// Both.
    InOut,
}

/// Which memory a pointer points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// The host's.
    Host,
    /// A device's.
    Device,
    /// Both can follow it.
    Unified,
    /// Whichever.
    Any,
}

/// The part of a parameter in the life of a handle or an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It begins with the call.
    Creates,
    /// It ends with the call.
    Destroys,
    /// It has to be alive.
    Uses,
}

/// How much memory a pointer points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// In bytes.
    Bytes(Extent),
    /// In elements.
    Count(Extent),
}

/// A number that bounds memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The value of a parameter.
    Param(usize),
    /// A number.
    Number(u64),
    /// The value of a function, by name.
    Call(&'static str),
}

/// A call as layers see it.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// What is called.
    pub function: &'static FunctionInfo,
    /// Its place in `reflection::FUNCTIONS`.
    pub index: usize,
    /// One for each of the function's parameters, as 64 bits.
    ///
    /// Numbers are sign-extended, truth values 0 or 1, floating-point numbers the bits of an `f64`. Of a pointer, a
    /// handle, a struct, a text or a slice it is the address. Outputs are 0 until a call has succeeded, and then what
    /// it yielded; arrays and texts that a call yields stay 0.
    pub arguments: &'a [u64],
}

impl Call<'_> {
    /// The argument of a parameter's name.
    pub fn argument(&self, name: &str) -> Option<u64> {
        let index = self.function.params.iter().position(|param| param.name == name)?;
        self.arguments.get(index).copied()
    }

    /// The number of elements or bytes behind a parameter, where a parameter or a number says it.
    pub fn length(&self, param: &ParamInfo) -> Option<u64> {
        let (Length::Bytes(extent) | Length::Count(extent)) = param.length?;
        match extent {
            Extent::Param(index) => self.arguments.get(index).copied(),
            Extent::Number(number) => Some(number),
            Extent::Call(_) => None,
        }
    }
}
