//! The model: the resolved spec. Checks and emitters use only this.
//!
//! Names are replaced by ids, and defaults are filled in. Spans are kept where a rule may need to point at something.

pub mod abi;
mod composition;
mod compute;
mod error;
mod form;
mod function;
mod kernel;
pub mod lower;
mod method;
mod node;
mod operator;
mod param;
mod passing;
mod prose;
mod python;
pub mod python_form;
mod query;
mod refusal;
mod table;
mod types;

pub use composition::{Composition, Part as CompositionPart, Recipe, Term};
pub use compute::{Callee, ComputeKind, ComputeValue, Coverage, OperatorCall, Step, Target, TensorName};
pub use error::ErrorObject;
pub use form::{Carrier, Form, Output, is_byte_buffer};
pub use function::{
    ArgsStruct, Argument, Buffer, Call, Fallback, FallbackKind, Function, Need, ResultKind, Rule, StatusValue,
};
pub use kernel::{
    IgnoredTensor, Kernel, KernelAttribute, KernelGroup, KernelInput, KernelOutput, KernelRole, KernelShape,
    KernelType, OperatorId, ShapeArgument,
};
pub use method::{Method, Parameter, ParameterKind, Work};
pub use node::{ModelNode, NodeAttribute, NodeGroup, NodeWork};
pub use operator::{
    Arity, Attribute, AttributeType, AttributeValue, Body, ElementType, Elementwise, Fold, Formula, Gradient,
    Operand, Operator, OperatorGroup, Operators, OutputType, Reduction, ReductionWork, Unsound,
    gradient_name,
};
pub use param::{Absent, Constant, Direction, Extent, Holds, Length, Param, Role, Space};
pub use passing::Passing;
pub use prose::{Part, Prose};
pub use python::{PythonFunction, PythonModule, PythonPackage};
pub use table::{
    Block, Extension, ExtensionRelease, HandOver, Object, ObjectTable, OwnedTable, Plugin, Reserved, Slot,
    Table, TableField,
};
pub use types::{EnumForm, EnumValue, HandleForm, Meaning, Representation, Ty, Type, TypeKind};

use crate::source::{At, Span};

/// Everything that a folder of YAML files describes.
#[derive(Debug)]
pub struct Spec {
    /// Name of the project.
    pub project: String,
    /// One sentence.
    pub summary: String,
    /// The folders of outputs.
    pub outputs: Outputs,
    /// The command that updates the outputs.
    pub command: String,
    /// The interfaces, in the order of the docs.
    pub interfaces: Vec<Interface>,
    /// The operators, if the spec has any.
    pub operators: Option<Operators>,
}

/// The folders of outputs.
#[derive(Debug, Default)]
pub struct Outputs {
    /// The places that the spec names.
    pub places: Vec<OutputPlace>,
    /// The keys of outputs that are not committed.
    pub uncommitted: Vec<String>,
}

/// A file or a folder of outputs.
#[derive(Debug)]
pub struct OutputPlace {
    /// The key in `outputs` that names it.
    pub key: &'static str,
    /// The path, relative to the output root and in its shortest form.
    pub path: At<String>,
    /// The kind of outputs.
    pub kind: PlaceKind,
    /// The interface whose outputs it contains, if it is for one interface.
    pub interface: Option<At<InterfaceId>>,
    /// The files that it is made from: keys and paths.
    pub reads: Vec<(&'static str, String)>,
}

/// The kind of outputs in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceKind {
    /// A folder that contains nothing else.
    OwnFolder,
    /// A folder that may contain other files.
    Folder,
    /// A file.
    File,
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

/// The spans of an entry and of the keys below it, so that a rule can point at the right one.
#[derive(Clone, Debug)]
pub struct Places {
    /// The key; of an entry of a list, its name.
    pub key: Span,
    /// The value; for a block, only its first token.
    pub value: Span,
    /// From the first byte of the value to the last.
    pub extent: Span,
    below: Vec<(String, Places)>,
}

/// A set of functions that belong together.
#[derive(Debug)]
pub struct Interface {
    /// Its name, which is also the name of its folder.
    pub name: At<String>,
    /// The way in which its functions are found.
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
    /// Interfaces whose types it can use.
    pub uses: Vec<InterfaceId>,
    /// The enum with the statuses that functions return.
    pub status: Option<TypeId>,
    /// The error object that functions return instead of a status, if there is one.
    pub error: Option<ErrorObject>,
    /// The import whose error object functions return, if they return one of the host.
    pub host_error: Option<InterfaceId>,
    /// The first members of structs of arguments: `(size_field, extension)`.
    pub args: Option<(String, Option<String>)>,
    /// True if calls may throw C++ exceptions.
    pub unwinds: bool,
    /// Releases of the host, oldest first.
    pub releases: Vec<Release>,
    /// The earlier interface whose releases they are, if they are not its own.
    pub releases_of: Option<InterfaceId>,
    /// Groups, in the order of the docs.
    pub groups: Vec<Group>,
    /// Types, in the order of the groups.
    pub types: Vec<Type>,
    /// Functions, in the order of the groups.
    pub functions: Vec<Function>,
    /// The prefix of C names of functions.
    pub prefix: String,
    /// The C macro for weak linkage; `None`: every symbol exists.
    pub weak: Option<String>,
    /// The names of hand-written fallbacks.
    pub strategies: Vec<At<String>>,
    /// Names from outside the spec that its docs mention.
    pub foreign_names: Vec<String>,
    /// Its form in the SDK, if the SDK exports it.
    pub sdk: Option<Sdk>,
    /// The Python package for its functions, if there is one.
    pub python: Option<PythonPackage>,
    /// Kernels of the host that compute operators of the spec.
    pub kernels: Vec<KernelGroup>,
    /// Operators of the host's models, which operators of the spec compute.
    pub nodes: Vec<NodeGroup>,
    /// The spans of the keys of `interface.yaml`.
    pub places: Places,
}

/// The form in which the SDK exports a table.
#[derive(Debug)]
pub struct Sdk {
    /// The prefix of C names of functions and types.
    pub prefix: String,
    /// The id that the SDK replaces with its own device handle.
    pub device: TypeId,
    /// Functions that only the SDK itself may call; it rejects calls by programs.
    pub manages: Vec<FunctionId>,
}

/// The way in which the functions of an interface are found.
#[derive(Debug)]
pub enum InterfaceKind {
    /// Through a struct of function pointers that a plugin fills.
    Table(Box<Table>),
    /// By symbol, in a library that exports them.
    Export,
    /// By symbol, in a host that exports them.
    Import {
        /// The libraries that are searched, in this order.
        libraries: Vec<String>,
    },
    /// By index, in a table of the host.
    HostTable {
        /// C name of the struct.
        c_name: String,
    },
    /// Through the pointers of objects, which the implementer makes.
    Objects,
}

impl InterfaceKind {
    /// Returns true for symbols of a library.
    pub fn is_export(&self) -> bool {
        matches!(self, InterfaceKind::Export)
    }

    /// Returns true for functions whose pointers an implementer fills, and may leave null.
    pub fn is_filled(&self) -> bool {
        matches!(self, InterfaceKind::Table(_) | InterfaceKind::Objects)
    }

    /// Returns true for functions that a host has, and the implementer calls.
    pub fn is_of_host(&self) -> bool {
        matches!(self, InterfaceKind::Import { .. } | InterfaceKind::HostTable { .. })
    }
}

/// A release of a host.
#[derive(Clone, Debug)]
pub struct Release {
    /// Its name, such as `3.1`.
    pub name: At<String>,
    /// Exact host versions that were checked.
    pub hosts: Vec<At<String>>,
    /// A note on how to recognise it.
    pub note: String,
    /// The number with which a program asks for it, if it has one.
    pub number: Option<u32>,
}

/// A range of releases, including both ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Availability {
    /// `None`: from the first release on.
    pub since: Option<ReleaseId>,
    /// `None`: to the newest release.
    pub until: Option<ReleaseId>,
}

/// A second name of a primitive in C.
#[derive(Clone, Debug)]
pub struct Typedef {
    /// Its name in C.
    pub c_name: String,
    /// The primitive.
    pub ty: Ty,
    /// One line.
    pub summary: String,
}

/// A group of functions and types.
#[derive(Debug)]
pub struct Group {
    /// Its name, which is also the name of its file.
    pub name: String,
    /// Heading in the docs.
    pub title: String,
    /// One line.
    pub summary: String,
    /// Longer, in Markdown.
    pub doc: String,
    /// File name of the header that declares its members.
    pub header: At<String>,
    /// True if the header of the interface does not include that header.
    pub is_apart: bool,
    /// Second names of primitives in C.
    pub typedefs: Vec<Typedef>,
    /// The spans of its keys.
    pub places: Places,
}
