//! Parameters, fields and results: one description for all three.

use super::{Availability, FunctionId, ParamId, Places, Prose, Ty};
use crate::source::At;

/// The direction of a parameter.
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
    /// The host's.
    Host,
    /// A device's.
    Device,
    /// Both can follow it.
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

/// A number that bounds memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The value of a parameter (of a field, in a struct).
    Param(ParamId),
    /// A number.
    Number(u64),
    /// The value of a function.
    Call(FunctionId),
}

/// The part of a parameter in the life of a handle or an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// It begins with the call.
    Creates,
    /// It ends with the call.
    Destroys,
    /// It has to be alive.
    Uses,
}

/// A parameter of a function or a callback, a field of a struct, or the value that a function returns.
#[derive(Debug)]
pub struct Param {
    /// Its name.
    pub name: At<String>,
    /// Of a field: the ABI's spelling, where that is another.
    pub c_name: Option<String>,
    /// Of a field: its key in the dicts of Python, where that is not its name.
    pub python_name: Option<String>,
    /// Its type.
    pub ty: Ty,
    /// The direction.
    pub dir: Direction,
    /// Which memory it points to.
    pub space: Option<Space>,
    /// The size of the memory that it points to.
    pub length: Option<Length>,
    /// True if the function returns the address of its own list.
    pub lent: bool,
    /// True if null is allowed.
    pub nullable: bool,
    /// True if a struct that the function only reads is passed by its address.
    pub by_pointer: bool,
    /// Its part in a life.
    pub role: Role,
    /// The parameter that owns it.
    pub of: Option<ParamId>,
    /// The stream whose work must finish before the memory may be freed.
    pub held: Option<ParamId>,
    /// The callback that gets it.
    pub context_of: Option<ParamId>,
    /// True if the call reports through it.
    pub is_status: bool,
    /// Of a result: the value that is returned if the call failed.
    pub failure: i64,
    /// True if the ABI points to const, if that differs from the default of `dir`.
    pub constness: Option<bool>,
    /// Of an array of handles that are const: true if the array is not.
    pub is_array_mutable: bool,
    /// The C++ spelling, if C has none.
    pub upstream: Option<String>,
    /// The releases that have it.
    pub availability: Availability,
    /// The value for the implementation in releases without it.
    pub absent: Option<Absent>,
    /// The documentation.
    pub doc: Prose,
    /// The spans of its keys.
    pub places: Places,
}

/// A value that stands in for a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absent {
    /// The value of a function.
    Call(FunctionId),
    /// A constant.
    Constant(Constant),
}

/// A constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constant {
    /// A whole number.
    Integer(i64),
    /// A truth value.
    Bool(bool),
    /// The null handle.
    Null,
}
