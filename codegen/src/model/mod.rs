//! The resolved spec: the only thing that checks and emitters see.
//!
//! Names have become ids, defaults have been filled in, and what was left out has a meaning. Spans stay where a
//! rule may have to point at something.

pub mod lower;
mod query;

use crate::source::{At, Span};

/// Everything that a folder describes.
#[derive(Debug)]
pub struct Spec {
    /// Name of the project.
    pub project: String,
    /// One sentence.
    pub summary: String,
    /// Where outputs go.
    pub outputs: Outputs,
    /// What people run to bring them up to date.
    pub command: String,
    /// The interfaces, in the order of the docs.
    pub interfaces: Vec<Interface>,
}

/// Folders of outputs, relative to the output root; `None`: not emitted.
#[derive(Debug, Default)]
pub struct Outputs {
    /// C headers.
    pub header: Option<String>,
    /// Markdown reference.
    pub reference: Option<String>,
    /// JSON Schema.
    pub schema: Option<String>,
    /// Rust, for reading.
    pub rust: Option<String>,
    /// The table of contents of the book.
    pub summary: Option<SummaryFile>,
}

/// The table of contents of the book around the reference.
#[derive(Debug)]
pub struct SummaryFile {
    /// The file with the chapters written by hand.
    pub template: String,
    /// The file that is written from it.
    pub to: String,
}

macro_rules! index {
    ($(#[$doc:meta] $name:ident)*) => {$(
        #[$doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub usize);
    )*};
}

index! {
    /// Index into [`Spec::interfaces`].
    InterfaceId
    /// Index into [`Interface::functions`].
    FunctionId
    /// Index into [`Function::params`], or into the params of a callback.
    ParamId
    /// Index into [`Interface::releases`].
    ReleaseId
    /// Index into [`Interface::groups`].
    GroupId
}

/// A type of some interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId {
    /// The interface that describes it.
    pub interface: InterfaceId,
    /// Index into its [`Interface::types`].
    pub index: usize,
}

/// Where an entry and the keys below it were written, so that a rule can point at the one it means.
#[derive(Clone, Debug)]
pub struct Places {
    /// The key; of an entry of a list, its name.
    pub key: Span,
    /// The value; of a block, only where it begins.
    pub value: Span,
    /// From the first byte of the value to the last.
    pub extent: Span,
    below: Vec<(String, Places)>,
}

/// A set of functions that belong together.
#[derive(Debug)]
pub struct Interface {
    /// Its name and its folder.
    pub name: At<String>,
    /// How its functions are found.
    pub kind: InterfaceKind,
    /// Heading in the docs.
    pub title: String,
    /// One sentence.
    pub summary: String,
    /// Longer, in Markdown.
    pub doc: String,
    /// Name of the Rust trait (table, export) or struct (import).
    pub trait_name: String,
    /// File name of the C header.
    pub header: String,
    /// Interfaces whose types are in reach.
    pub uses: Vec<InterfaceId>,
    /// The enum in which functions answer.
    pub status: Option<TypeId>,
    /// Whether calls may throw C++ exceptions.
    pub unwinds: bool,
    /// Releases of the host, oldest first.
    pub releases: Vec<Release>,
    /// Groups, in the order of the docs.
    pub groups: Vec<Group>,
    /// Types, in the order of the groups.
    pub types: Vec<Type>,
    /// Functions, in the order of the groups.
    pub functions: Vec<Function>,
    /// What C names of functions begin with.
    pub prefix: String,
    /// Where `interface.yaml` says what.
    pub places: Places,
}

/// How the functions of an interface are found.
#[derive(Debug)]
pub enum InterfaceKind {
    /// In a struct of function pointers that a plugin fills.
    Table(Box<Table>),
    /// By symbol, in a library that offers them.
    Export,
    /// By symbol, in a host that offers them.
    Import {
        /// Where they are looked for, in this order.
        libraries: Vec<String>,
    },
}

/// A release of a host.
#[derive(Debug)]
pub struct Release {
    /// Its name, such as `3.1`.
    pub name: At<String>,
    /// Exact host versions that were checked.
    pub hosts: Vec<String>,
    /// What sets it apart.
    pub note: String,
}

/// From when to when something is there; both ends included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Availability {
    /// `None`: from the first release.
    pub since: Option<ReleaseId>,
    /// `None`: to the newest release.
    pub until: Option<ReleaseId>,
}

/// A group of functions and types.
#[derive(Debug)]
pub struct Group {
    /// Its name and its file.
    pub name: String,
    /// Heading in the docs.
    pub title: String,
    /// One line.
    pub summary: String,
    /// Longer, in Markdown.
    pub doc: String,
}

/// The table of an interface of that kind.
#[derive(Debug)]
pub struct Table {
    /// C name of the struct.
    pub c_name: String,
    /// The member with the size.
    pub size_field: String,
    /// Slots in the order of the ABI.
    pub blocks: Vec<Block>,
    /// The hand-over.
    pub plugin: Option<Plugin>,
    /// Where the table is written.
    pub span: Span,
}

/// A run of slots with a reserve at its end.
#[derive(Debug)]
pub struct Block {
    /// Its name.
    pub name: String,
    /// Its slots.
    pub slots: Vec<Slot>,
    /// The array of unused slots behind them.
    pub reserved: Option<Reserved>,
    /// Where it is named.
    pub span: Span,
}

/// One pointer of a table.
#[derive(Debug)]
pub struct Slot {
    /// The functions that had it, one after the other.
    pub functions: Vec<At<FunctionId>>,
    /// Whether it came out of the reserve.
    pub from_reserve: bool,
}

/// Unused slots.
#[derive(Debug)]
pub struct Reserved {
    /// Name of the array.
    pub name: String,
    /// How many there were at first.
    pub count: u64,
    /// Where it is written.
    pub span: Span,
}

/// The hand-over between host and plugin.
#[derive(Debug)]
pub struct Plugin {
    /// The symbol that a plugin exports.
    pub entry: String,
    /// The struct that is handed over.
    pub params: TypeId,
    /// The field of the params that points to the table.
    pub table: String,
    /// The field with the size of the params.
    pub size: String,
    /// The field that takes the version.
    pub version_field: String,
    /// The version: major, minor, patch.
    pub version: [u64; 3],
    /// What the C macros with its numbers begin with, where the ABI has a name for that.
    pub version_macro: Option<String>,
    /// The field that names the device.
    pub device_type: String,
    /// The field that names the variant of the device.
    pub sub_device_type: Option<String>,
    /// Longer, in Markdown.
    pub doc: String,
}

/// A described type.
#[derive(Debug)]
pub struct Type {
    /// Its name in Rust, Python and the docs.
    pub name: At<String>,
    /// Its name in C.
    pub c_name: String,
    /// What it is.
    pub kind: TypeKind,
    /// One line.
    pub summary: String,
    /// Longer, in Markdown.
    pub doc: String,
    /// When it is there.
    pub availability: Availability,
    /// The group that describes it.
    pub group: GroupId,
    /// Where it says what.
    pub places: Places,
}

/// What a type is.
#[derive(Debug)]
pub enum TypeKind {
    /// An opaque pointer.
    Handle {
        /// The struct tag behind it.
        tag: String,
        /// Whether C passes it as `Name*` rather than as `Name`.
        by_pointer: bool,
        /// What null means, if it is allowed.
        null: Option<String>,
    },
    /// A number in a struct, passed by pointer.
    Id {
        /// The struct tag.
        tag: String,
        /// Name of the member.
        field: String,
        /// Type of the member.
        ty: Ty,
    },
    /// Named numbers.
    Enum {
        /// Whether they are bits.
        flags: bool,
        /// The numbers.
        values: Vec<EnumValue>,
    },
    /// A struct.
    Struct {
        /// Whether it has no tag.
        anonymous: bool,
        /// Its members.
        fields: Vec<Param>,
    },
    /// A pointer to a function.
    Callback {
        /// Its parameters.
        params: Vec<Param>,
        /// What it returns; `None`: nothing.
        result: Option<Box<Param>>,
    },
}

/// A named number.
#[derive(Debug)]
pub struct EnumValue {
    /// Its name.
    pub name: At<String>,
    /// Its name in C.
    pub c_name: String,
    /// The number.
    pub value: i64,
    /// What it means.
    pub summary: String,
    /// Whether it is a second name for a number.
    pub alias: bool,
    /// What generated code answers with it.
    pub means: Option<Meaning>,
    /// When it is there.
    pub availability: Availability,
    /// Where it says what.
    pub places: Places,
}

/// What generated code has to say with a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// An argument is null, out of range or stale.
    InvalidArgument,
    /// The function is not there.
    Unsupported,
    /// The implementation panicked.
    Internal,
}

/// A type as it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ty {
    /// `bool`
    Bool,
    /// A whole number of fixed width.
    Int {
        /// 8, 16, 32 or 64.
        bits: u8,
        /// Whether it has a sign.
        signed: bool,
    },
    /// `float`
    F32,
    /// `double`
    F64,
    /// `size_t`
    Size,
    /// `unsigned long long`: as wide as `u64`, but another type in C++.
    ULongLong,
    /// `char`
    Char,
    /// A NUL-terminated text.
    String,
    /// `void*`
    Pointer,
    /// A described type.
    Named(TypeId),
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// How much memory a pointer points to.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// Its type.
    pub ty: Ty,
    /// Who writes it.
    pub dir: Direction,
    /// Which memory it points to.
    pub space: Option<Space>,
    /// How much memory it points to.
    pub length: Option<Length>,
    /// Whether null is allowed.
    pub nullable: bool,
    /// Its part in a life.
    pub role: Role,
    /// The parameter that owns it.
    pub of: Option<ParamId>,
    /// The stream that must have passed before the memory may go.
    pub held: Option<ParamId>,
    /// The callback that gets it.
    pub context_of: Option<ParamId>,
    /// Whether the call reports through it.
    pub is_status: bool,
    /// Whether the ABI points to const, where it is not as `dir` says.
    pub constness: Option<bool>,
    /// The C++ spelling, where C cannot say it.
    pub upstream: Option<String>,
    /// When it is there.
    pub availability: Availability,
    /// What the implementation gets in releases without it.
    pub absent: Option<Absent>,
    /// What it is.
    pub doc: String,
    /// Where it says what.
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
    pub doc: String,
    /// Parameters in the order of the ABI.
    pub params: Vec<Param>,
    /// What it returns.
    pub result: ResultKind,
    /// Whether an implementation must have it.
    pub need: Need,
    /// What hosts do when the pointer is null.
    pub when_null: String,
    /// Whether the slot is filled with the fallback unasked.
    pub fill_always: bool,
    /// When it is there.
    pub availability: Availability,
    /// Whether the caller waits for device work.
    pub blocking: bool,
    /// The stream in whose order the work runs.
    pub stream_ordered: Option<ParamId>,
    /// The status as an answer: (yes, no).
    pub question: Option<(StatusValue, StatusValue)>,
    /// What stands in when there is none.
    pub fallback: Option<Fallback>,
    /// When each status is returned.
    pub returns: Vec<(StatusValue, String)>,
    /// Its names elsewhere.
    pub analogue: Vec<(String, String)>,
    /// Related functions.
    pub see: Vec<FunctionId>,
    /// The group that describes it.
    pub group: GroupId,
    /// Where it says what.
    pub places: Places,
}

/// A value of the interface's status: an index into the enum's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusValue(pub usize);

/// What stands in for a function that is not there.
#[derive(Debug)]
pub struct Fallback {
    /// What is done.
    pub kind: FallbackKind,
    /// Whether it is the host's own rule.
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
