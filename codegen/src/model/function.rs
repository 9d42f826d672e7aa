//! Functions and their fallbacks.

use super::{
    Availability, Constant, Form, FunctionId, GroupId, Param, ParamId, Places, Prose, PythonFunction,
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

/// The need for a function in an implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A host refuses a plugin without it.
    Load,
    /// A host loads the plugin and then misbehaves.
    Use,
    /// It may be left out.
    Optional,
}

/// A function.
#[derive(Debug)]
pub struct Function {
    /// Its name.
    pub name: At<String>,
    /// The ABI's spelling.
    pub c_name: String,
    /// One line.
    pub summary: String,
    /// Longer, in Markdown.
    pub doc: Prose,
    /// Parameters in the order of the ABI.
    pub params: Vec<Param>,
    /// The form of each parameter, in the same order.
    pub forms: Vec<Form>,
    /// The struct whose members the parameters are, if the ABI passes one.
    pub args: Option<ArgsStruct>,
    /// The result.
    pub result: ResultKind,
    /// True if an implementation must have it.
    pub need: Need,
    /// The behaviour of hosts when the pointer is null; for `required: load`, that
    /// they refuse.
    pub when_null: String,
    /// True if the slot is filled with the fallback unasked.
    pub fill_always: bool,
    /// The releases that have it.
    pub availability: Availability,
    /// True if the caller waits for device work.
    pub blocking: bool,
    /// The stream in whose order the work runs.
    pub stream_ordered: Option<ParamId>,
    /// The statuses of a boolean result: (yes, no).
    pub question: Option<(StatusValue, StatusValue)>,
    /// The fallback.
    pub fallback: Option<Fallback>,
    /// Why there is no fallback, if the spec gives a reason.
    pub no_fallback: String,
    /// When each status is returned.
    pub returns: Vec<(StatusValue, Prose)>,
    /// Its names in other APIs.
    pub analogue: Vec<(String, String)>,
    /// The form in the Python package, if it has one.
    pub python: Option<PythonFunction>,
    /// Related functions.
    pub see: Vec<FunctionId>,
    /// The group that describes it.
    pub group: GroupId,
    /// The spans of its keys.
    pub places: Places,
}

/// A struct of arguments, which the ABI passes by its address.
///
/// It begins with its size in the caller's release; members beyond that size are neither read nor written.
#[derive(Clone, Debug)]
pub struct ArgsStruct {
    /// Its name in C.
    pub c_name: String,
    /// The first member.
    pub size_field: String,
    /// A reserved pointer behind it.
    pub extension: Option<String>,
}

/// A value of the interface's status: an index into the enum's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusValue(pub usize);

/// The fallback of a missing function.
#[derive(Debug)]
pub struct Fallback {
    /// The action.
    pub kind: FallbackKind,
    /// True if it is the host's own rule.
    pub rule: Rule,
    /// Why this rule.
    pub why: String,
    /// The cost for the caller.
    pub costs: String,
    /// The location in the spec.
    pub span: Span,
}

/// The owner of a fallback's rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The host does the same when the pointer is null.
    Host,
    /// The host does something else, or nothing.
    Ours,
}

/// The forms of a fallback.
#[derive(Debug)]
pub enum FallbackKind {
    /// A value for each out-parameter.
    Constant(Vec<(ParamId, Constant)>),
    /// The value of another function.
    Call(Call),
    /// Calls in sequence.
    Sequence {
        /// Host buffers.
        buffers: Vec<Buffer>,
        /// The calls.
        calls: Vec<Call>,
        /// The answer of a question.
        answer: Option<bool>,
    },
    /// Written by hand.
    Strategy {
        /// Name of the Rust function.
        name: At<String>,
        /// The called function.
        needs: Vec<At<FunctionId>>,
    },
    /// The caller gets a status.
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

/// A call of a fallback.
#[derive(Debug)]
pub struct Call {
    /// The called function.
    pub function: At<FunctionId>,
    /// The arguments, by the parameters of what is called, in their order.
    pub arguments: Vec<(ParamId, At<Argument>)>,
}

/// An argument of a call in a fallback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A parameter of the function that the fallback stands in for.
    Param(ParamId),
    /// A buffer of the fallback.
    Buffer(usize),
    /// A constant.
    Constant(Constant),
}
