//! Functions, and what stands in for those that are absent.

use super::{
    Availability, Constant, Form, FunctionId, GroupId, Param, ParamId, Places, Prose, PythonFunction,
};
use crate::source::{At, Span};

/// What a function returns.
#[derive(Debug)]
pub enum ResultKind {
    /// The interface's status.
    Status,
    /// Nothing.
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
    /// What each parameter is, in the same order.
    pub forms: Vec<Form>,
    /// The struct whose members the parameters are, if the ABI passes one.
    pub args: Option<ArgsStruct>,
    /// What it returns.
    pub result: ResultKind,
    /// True if an implementation must have it.
    pub need: Need,
    /// What hosts do when the pointer is null; of a table's function that is required to load, that they
    /// refuse.
    pub when_null: String,
    /// True if the slot is filled with the fallback unasked.
    pub fill_always: bool,
    /// When it is there.
    pub availability: Availability,
    /// True if the caller waits for device work.
    pub blocking: bool,
    /// The stream in whose order the work runs.
    pub stream_ordered: Option<ParamId>,
    /// The status as an answer: (yes, no).
    pub question: Option<(StatusValue, StatusValue)>,
    /// What stands in when there is none.
    pub fallback: Option<Fallback>,
    /// Why nothing stands in, where that is said.
    pub no_fallback: String,
    /// When each status is returned.
    pub returns: Vec<(StatusValue, Prose)>,
    /// Its names elsewhere.
    pub analogue: Vec<(String, String)>,
    /// How the Python package has it, if it does.
    pub python: Option<PythonFunction>,
    /// Related functions.
    pub see: Vec<FunctionId>,
    /// The group that describes it.
    pub group: GroupId,
    /// Where it says what.
    pub places: Places,
}

/// A struct of arguments, which the ABI passes by its address.
///
/// It begins with the number of bytes that the caller has: members behind them are neither read nor written.
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

/// What stands in for a function that is not there.
#[derive(Debug)]
pub struct Fallback {
    /// What is done.
    pub kind: FallbackKind,
    /// True if it is the host's own rule.
    pub rule: Rule,
    /// Why this rule.
    pub why: String,
    /// What the caller pays.
    pub costs: String,
    /// Where it is written.
    pub span: Span,
}

/// Whose rule a fallback is.
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
    /// Calls, one after the other.
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
        /// What it calls.
        needs: Vec<At<FunctionId>>,
    },
    /// The caller gets a status.
    Refuse {
        /// The status.
        status: StatusValue,
        /// The message.
        message: String,
    },
    /// Nothing is done, and that is right.
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
    /// What is called.
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
