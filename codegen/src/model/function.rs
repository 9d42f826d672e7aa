//! Functions and their fallbacks.

use super::{
    Availability, Constant, Form, FunctionId, GroupId, Param, ParamId, Places, Prose, PythonFunction, Step,
};
use crate::source::{At, Span};

/// The result of a function.
#[derive(Debug)]
pub enum ResultKind {
    /// The interface's status.
    Status,
    /// No result.
    None,
    /// A value.
    Value(Box<Param>),
}

/// The consequence of leaving a function out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Hosts reject a plugin without it.
    Load,
    /// Hosts load a plugin without it, and then misbehave.
    Use,
    /// It may be left out.
    Optional,
}

/// A function.
#[derive(Debug)]
pub struct Function {
    /// Its name.
    pub name: At<String>,
    /// The name in C.
    pub c_name: String,
    /// One line.
    pub summary: String,
    /// Longer, in Markdown.
    pub doc: Prose,
    /// Parameters in the order of the ABI.
    pub params: Vec<Param>,
    /// The form of each parameter, in the same order.
    pub forms: Vec<Form>,
    /// The struct that contains the parameters, if the ABI passes one.
    pub args: Option<ArgsStruct>,
    /// The result.
    pub result: ResultKind,
    /// The consequence of leaving it out.
    pub need: Need,
    /// The behaviour of hosts if the pointer is null.
    pub when_null: String,
    /// True if the slot is filled with the fallback by default.
    pub fill_always: bool,
    /// The releases that have it.
    pub availability: Availability,
    /// True if its first parameter is the object that contains its pointer.
    pub is_of_object: bool,
    /// True if the trait's method receives the address of that object.
    pub receives_object: bool,
    /// Of a table of a host: the index of its pointer.
    pub slot: Option<u64>,
    /// The object that the call releases. Generated code has such a function; implementations do not.
    pub releases: Option<ParamId>,
    /// True if C callers may pass further arguments, which the function does not read.
    pub variadic: bool,
    /// True if the caller waits for device work.
    pub blocking: bool,
    /// The stream in whose order the work runs.
    pub stream_ordered: Option<ParamId>,
    /// The statuses that mean yes and no.
    pub question: Option<(StatusValue, StatusValue)>,
    /// The fallback.
    pub fallback: Option<Fallback>,
    /// The reason for having no fallback, if the spec gives one.
    pub no_fallback: String,
    /// The statuses that it returns, with the condition for each.
    pub returns: Vec<(StatusValue, Prose)>,
    /// Its names in other APIs.
    pub analogue: Vec<(String, String)>,
    /// The method or function of the SDK's Python package that calls it, such as `Stream.synchronize`.
    pub method: Option<String>,
    /// Its form in the Python package, if it has one.
    pub python: Option<PythonFunction>,
    /// The steps that compute it with operators; empty if nothing does.
    pub compute: Vec<Step>,
    /// Related functions.
    pub see: Vec<FunctionId>,
    /// The group that describes it.
    pub group: GroupId,
    /// The spans of its keys.
    pub places: Places,
}

/// A struct of arguments, which the ABI passes by address.
///
/// It begins with its size in the caller's release. Members beyond that size are neither read nor written.
#[derive(Clone, Debug)]
pub struct ArgsStruct {
    /// Its name in C.
    pub c_name: String,
    /// The first member, which is the size.
    pub size_field: String,
    /// The reserved pointer after it.
    pub extension: Option<String>,
}

/// A value of the interface's status: an index into the enum's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusValue(pub usize);

/// The fallback for a function that is missing.
#[derive(Debug)]
pub struct Fallback {
    /// Its kind, with the values or calls that it consists of.
    pub kind: FallbackKind,
    /// Its relation to the behaviour of hosts.
    pub rule: Rule,
    /// The reason for another rule than the host's.
    pub why: String,
    /// The cost for the caller.
    pub costs: String,
    /// The location in the spec.
    pub span: Span,
}

/// The origin of a fallback's behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Hosts do the same when the pointer is null.
    Host,
    /// Hosts do something else, or nothing.
    Ours,
}

/// The forms of a fallback.
#[derive(Debug)]
pub enum FallbackKind {
    /// A value for each out-parameter, and for what the function returns.
    Constant {
        /// The out-parameters with their values.
        outputs: Vec<(ParamId, Constant)>,
        /// The value that the function returns instead of a status.
        returned: Option<Constant>,
    },
    /// The result of another function.
    Call(Call),
    /// Several calls in order.
    Sequence {
        /// Host buffers.
        buffers: Vec<Buffer>,
        /// The calls.
        calls: Vec<Call>,
        /// The boolean answer.
        answer: Option<bool>,
    },
    /// A hand-written Rust function.
    Strategy {
        /// Name of the Rust function.
        name: At<String>,
        /// The functions that it calls.
        needs: Vec<At<FunctionId>>,
    },
    /// Returns an error status.
    Refuse {
        /// The status.
        status: StatusValue,
        /// The message.
        message: String,
    },
    /// Does nothing, which is correct.
    Nothing,
}

/// A host buffer of a fallback.
#[derive(Debug)]
pub struct Buffer {
    /// Its name.
    pub name: At<String>,
    /// Its length in bytes.
    pub bytes: ParamId,
    /// The byte that fills it.
    pub fill: Option<ParamId>,
}

/// A call in a fallback.
#[derive(Debug)]
pub struct Call {
    /// The called function.
    pub function: At<FunctionId>,
    /// The arguments, each with the parameter that it is passed to, in the order of the parameters.
    pub arguments: Vec<(ParamId, At<Argument>)>,
}

/// An argument of a call in a fallback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A parameter of the function that has the fallback.
    Param(ParamId),
    /// A buffer of the fallback.
    Buffer(usize),
    /// A constant.
    Constant(Constant),
}
