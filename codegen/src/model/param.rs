//! Parameters, fields and results, which share one description.

use super::{Availability, FunctionId, ParamId, Places, Prose, Ty};
use crate::source::At;

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

/// Which memory a pointer points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// The size of the memory that a pointer points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Length {
    /// In bytes.
    Bytes(Extent),
    /// In elements: the parameter is an array.
    Count(Extent),
}

/// The number in a [`Length`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The value of a parameter (of a field, in a struct).
    Param(ParamId),
    /// A constant.
    Number(u64),
    /// The result of a function.
    Call(FunctionId),
}

/// The role of a parameter in the lifetime of a handle or an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The call creates it.
    Creates,
    /// The call destroys it.
    Destroys,
    /// The call uses it; it must be alive.
    Uses,
}

/// A parameter of a function or a callback, a field of a struct, or the value that a function returns.
#[derive(Debug)]
pub struct Param {
    /// Its name.
    pub name: At<String>,
    /// For a field: its name in C, if that differs.
    pub c_name: Option<String>,
    /// For a field: its key in Python dicts, if that differs from its name.
    pub python_name: Option<String>,
    /// Its type.
    pub ty: Ty,
    /// The side that writes it.
    pub dir: Direction,
    /// Which memory it points to.
    pub space: Option<Space>,
    /// The size of the memory that it points to.
    pub length: Option<Length>,
    /// True if the function returns the address of its own list.
    pub lent: bool,
    /// True if null is allowed.
    pub nullable: bool,
    /// True if it is a struct that the function only reads but that is passed by address.
    pub by_pointer: bool,
    /// Its role in a lifetime.
    pub role: Role,
    /// The parameter that owns it.
    pub of: Option<ParamId>,
    /// The stream whose work must finish before the memory may be freed.
    pub held: Option<ParamId>,
    /// The callback that it is passed to.
    pub context_of: Option<ParamId>,
    /// True if it is the status of the call.
    pub is_status: bool,
    /// For a result: the value that is returned if the call failed.
    pub failure: i64,
    /// True if the C type points to const; `None` unless that differs from the default for `dir`.
    pub constness: Option<bool>,
    /// Of an array of handles that are const: true if the array is not.
    pub is_array_mutable: bool,
    /// The C++ type, if C has none.
    pub upstream: Option<String>,
    /// The C type, if C spells it differently.
    pub c_type: Option<String>,
    /// The releases that have it.
    pub availability: Availability,
    /// For a data member of an object: the value that it is made with; `None`: 0 or null. For a parameter: what it leads to.
    pub holds: Option<Holds>,
    /// The value that the implementation receives in releases that lack the parameter.
    pub absent: Option<Absent>,
    /// The documentation.
    pub doc: Prose,
    /// The spans of its keys.
    pub places: Places,
}

/// The value that a data member of an object is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// The number of the host's release.
    Release,
    /// The size of the struct in bytes.
    Size,
    /// The object whose function made it.
    Owner,
    /// A value of the implementer's own.
    Value,
    /// A constant.
    Constant(i64),
}

/// A value for a missing parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absent {
    /// The result of a function.
    Call(FunctionId),
    /// A constant.
    Constant(Constant),
}

/// A constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constant {
    /// An integer.
    Integer(i64),
    /// A boolean.
    Bool(bool),
    /// The null handle.
    Null,
}
