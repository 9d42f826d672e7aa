//! The spec language: the keys of each mapping, and the values that they accept.
//!
//! [`crate::yaml::shape`] checks files against it. The JSON Schema for editors is generated from it.

mod interface;
mod kernels;
mod nodes;
mod operators;
pub mod outputs;

pub use interface::{HAND_OVER_PARAMS, INTERFACE};
pub use kernels::KERNEL_GROUP;
pub use nodes::NODE_GROUP;
pub use operators::{OPERATOR_GROUP, OPERATORS};

use crate::yaml::shape::Value::{self, *};
use crate::yaml::shape::{Key, Shape, needed, optional, shapes};

const SINCE: Key = Key {
    name: "since",
    doc: "The first release that has it; default: the first release of the interface.",
    ..optional(Release)
};
const UNTIL: Key =
    Key { name: "until", doc: "The last release that has it; default: the newest.", ..optional(Release) };
const SUMMARY: Key = Key { name: "summary", doc: "Summary in one line, for tables.", ..needed(Line) };
const DOC: Key = Key { name: "doc", doc: "Documentation for users, in Markdown.", ..optional(Prose) };

/// Text, or its parts for different readers.
const TEXT: Value = Any(&[Prose, Shape(&PARTS)]);

shapes! {
    static PARTS = "the parts of a text" {
        /// For all readers.
        all: optional(Prose),
        /// Of an `inout` parameter: the value that is passed.
        in: optional(Prose),
        /// Of an `inout` parameter: the value that is written.
        out: optional(Prose),
        /// For callers from C and for implementers, who pass or receive pointers.
        c: optional(Prose),
        /// For callers from Python, where functions return their outputs.
        python: optional(Prose),
        /// For implementers: the behaviour of the host that calls them.
        host: optional(Prose),
    }

    /// `spec.yaml`.
    pub static SPEC = "a spec" {
        /// Name of the project; include guards begin with it.
        project: needed(Snake),
        SUMMARY,
        /// Folders with an `interface.yaml`, in the order of the docs.
        interfaces: needed(List(&Snake)),
        /// The folder with an `operators.yaml`.
        operators: optional(Snake),
        /// Paths of the outputs, relative to `--out`.
        outputs: needed(Shape(&outputs::OUTPUTS)),
        /// Command that regenerates the outputs, for the first line of each; default: `cargo run -p codegen`.
        command: optional(Line),
    }
}

shapes! {
    /// A group file.
    pub static GROUP = "a group" {
        /// Name of the group; also of its file.
        group: needed(Snake),
        /// Heading in the docs.
        title: needed(Line),
        SUMMARY,
        DOC,
        /// Kind `export`: the header that declares it; default: the header of the interface.
        header: optional(Line),
        /// Kind `export`: true if the header of the interface does not include the header of the group.
        apart: optional(Bool),
        /// Second names of primitives in C.
        typedefs: optional(List(&Shape(&TYPEDEF))),
        /// Types, in the order in which C needs them.
        types: optional(List(&Shape(&TYPE))),
        /// Parameters that each function of the group has, before its own.
        params: optional(Map(&Shape(&PARAM))),
        /// Functions, in the order of the docs.
        functions: optional(List(&Shape(&FUNCTION))),
    }

    static TYPEDEF = "a typedef" {
        /// Its name in C.
        c: needed(Symbol),
        /// The primitive that it names.
        type: needed(Type),
        SUMMARY,
    }

    static TYPE = "a type" {
        /// Its name in Rust, Python and the docs.
        name: needed(Pascal),
        /// `handle`: an opaque pointer; `object`: a struct with the functions of its group, which the implementer makes;
        /// `id`: a number passed by pointer; the others have their meaning in C.
        kind: needed(Word(&["handle", "object", "id", "enum", "struct", "callback"])),
        /// Its name in C.
        c: needed(Symbol),
        SUMMARY,
        DOC,
        /// Struct tag of a handle or an id; a handle without a tag is a `void*`.
        tag: optional(Symbol),
        /// `pointer` for a handle that C passes as `c*` instead of `c`.
        by: optional(Word(&["pointer"])),
        /// Of a handle by pointer: `false` if the ABI points to the object without `const`.
        const: optional(Bool),
        /// Of a handle with a tag: its name in C if the object is read-only; parameters with `const: true`
        /// have this type.
        c_const: optional(Symbol),
        /// Data members of an object before its functions.
        head: optional(Map(&Shape(&PARAM))),
        /// Data members of an object after its functions.
        tail: optional(Map(&Shape(&PARAM))),
        /// Of an object whose functions are in a struct of their own, which it contains.
        functions: optional(Shape(&INNER_TABLE)),
        /// True for an object that code by hand makes, and no function of an object.
        by_hand: optional(Bool),
        /// Meaning of a null handle, if null is allowed.
        null: optional(Line),
        /// Its meaning in the key `compute` of functions: the context of the call, a tensor, a number with
        /// its data type, a list of integers, or a generator of random numbers.
        compute: optional(Word(&["call", "tensor", "number", "integers", "generator"])),
        /// True if work runs in the order of the handle, so that it is a stream.
        orders: optional(Bool),
        /// The member of an id.
        field: optional(Shape(&ID_FIELD)),
        /// True if the values of an enum are bits.
        flags: optional(Bool),
        /// An enum whose C type is `int`: a typedef of `int`, with the values in an unnamed enum or as
        /// macros. An enum with a value from 2^31 on is always a typedef of `unsigned int` with macros.
        as: optional(Word(&["int", "macros"])),
        /// The values of an enum.
        values: optional(List(&Shape(&ENUM_VALUE))),
        /// True for a typedef of a struct without a tag.
        anonymous: optional(Bool),
        /// True for a union: its members share their memory.
        union: optional(Bool),
        /// True for a union without a name: C declares it inside the structs that have a field of it.
        unnamed: optional(Bool),
        /// The members of a struct.
        fields: optional(Map(&Shape(&PARAM))),
        /// The parameters of a callback.
        params: optional(Map(&Shape(&PARAM))),
        /// Result of a callback.
        result: optional(Any(&[Word(&["none"]), Shape(&PARAM)])),
        /// True for a callback that is called once for each call that takes it, and not if that call fails.
        once: optional(Bool),
        SINCE,
        UNTIL,
    }

    static INNER_TABLE = "a struct of function pointers in an object" {
        /// Its name in C.
        struct: needed(Symbol),
        /// The member of the object that has it.
        member: needed(Symbol),
    }

    static ID_FIELD = "the member of an id" {
        /// Its name.
        name: needed(Snake),
        /// Its type, which is an integer.
        type: needed(Type),
    }

    static ENUM_VALUE = "a value of an enum" {
        /// Its name.
        name: needed(Snake),
        /// Its name in C.
        c: needed(Symbol),
        /// Its number.
        value: needed(Integer),
        /// Its meaning.
        summary: needed(Any(&[Line, Shape(&PARTS)])),
        /// True if it is a second name for a number.
        alias: optional(Bool),
        /// Of a status: the error for which generated code returns it.
        means: optional(Word(&["invalid_argument", "unsupported", "internal"])),
        SINCE,
        UNTIL,
    }

    static CALL = "a call" {
        /// The function that returns the value.
        call: needed(Snake),
    }

    static PARAM = "a parameter, field or result" {
        /// A primitive or a type of the spec.
        type: needed(Type),
        /// Of a field: its name in C, if it differs.
        c: optional(Symbol),
        /// Of an `out` array of handles, numbers or characters: true if the function returns the address of its own list; of an `out` handle by
        /// pointer, an `out` text or a result that is an object: true if it returns the address of one that the caller does
        /// not destroy.
        lent: optional(Bool),
        /// Of a field: its key in Python's dicts, if it differs.
        python: optional(Symbol),
        /// The direction of data; default: `in`.
        dir: optional(Word(&["in", "out", "inout"])),
        /// The memory that a `pointer` points to.
        space: optional(Word(&["host", "device", "unified", "any"])),
        /// Length in bytes of the memory that it points to.
        bytes: optional(Any(&[Integer, Snake, Shape(&CALL)])),
        /// Number of elements, for an array.
        count: optional(Any(&[Integer, Snake, Shape(&CALL)])),
        /// True if null is allowed.
        nullable: optional(Bool),
        /// `pointer` for a struct that C passes as `const c*` instead of `c`.
        by: optional(Word(&["pointer"])),
        /// Its role in the life of a handle or an allocation.
        role: optional(Word(&["creates", "destroys", "uses"])),
        /// The parameter that owns it.
        of: optional(Snake),
        /// The stream that uses the memory after the call, so that it is freed only after the stream's work;
        /// `false`: it can be freed when the call returns.
        held: optional(Any(&[Bool, Snake])),
        /// The callback parameter that receives this pointer.
        context_of: optional(Snake),
        /// True if the call reports its status through this parameter.
        status: optional(Bool),
        /// Of the result of an export: its value if the function fails; default: 0 or null.
        failure: optional(Integer),
        /// True if the ABI points to const, false if it does not; default: as `dir` implies. `objects`: in an
        /// array of handles with `c_const`, the objects are const and the array is not.
        const: optional(Any(&[Bool, Word(&["objects"])])),
        /// The C++ type, if C has none.
        upstream: optional(Line),
        /// Its type in C, if C spells it differently, such as `void**`.
        c_type: optional(Line),
        SINCE,
        UNTIL,
        /// Its value for implementations in releases without it.
        absent: optional(Any(&[Shape(&CALL), Integer, Bool])),
        /// Of a data member of an object: the value that it is made with, a constant, the number of the host's release, the
        /// size of the struct in bytes, or the object whose function made it; default: 0 or null. Of a `pointer` that a
        /// function of an object makes, takes or releases: `value`, if it leads to a value of the implementer's own.
        holds: optional(Any(&[Word(&["release", "size", "owner", "value"]), Integer])),
        /// Its meaning, with its unit.
        doc: optional(TEXT),
    }

    static FUNCTION = "a function" {
        /// Its name.
        name: needed(Snake),
        /// Its name in the ABI.
        c: optional(Symbol),
        SUMMARY,
        /// Its behaviour: order, blocking, units, edge cases.
        doc: needed(TEXT),
        /// Parameters, in the order of the ABI.
        params: optional(Map(&Shape(&PARAM))),
        /// C name of the struct whose members are the parameters.
        args: optional(Symbol),
        /// Its result; default: `status`.
        result: optional(Any(&[Word(&["status", "none"]), Shape(&PARAM)])),
        /// `load`: hosts refuse a plugin without it, or the symbol always exists; `use`: hosts load a plugin
        /// without it, and then misbehave.
        required: optional(Word(&["load", "use"])),
        /// Behaviour of hosts if the pointer is null; absent with `required: load`.
        when_null: optional(Prose),
        /// `always`: the slot contains the fallback by default, because null is unsound in a host.
        fill: optional(Word(&["always"])),
        /// Of an object's function: `reads` if C passes the object as a pointer to const, `releases` if the call
        /// destroys it.
        object: optional(Word(&["reads", "releases"])),
        /// Of an object's function: true if the trait's method receives the address of the object, to pass it to the host.
        receives_object: optional(Bool),
        /// Of a function in a `host_table`: the index of its pointer.
        slot: optional(Integer),
        SINCE,
        UNTIL,
        /// Kind `export`: true if C callers may pass further arguments, which the function does not read.
        variadic: optional(Bool),
        /// True if the call waits for device work.
        blocking: optional(Bool),
        /// The stream parameter in whose order the work runs.
        stream_ordered: optional(Snake),
        /// The statuses that mean yes and no.
        status_as_bool: optional(Shape(&QUESTION)),
        /// Its replacement if an implementation lacks it.
        fallback: optional(Shape(&FALLBACK)).such_as("{ nothing: true }"),
        /// The reason for which an optional function of a table has no fallback.
        no_fallback: optional(Prose),
        /// Status value → the condition for it.
        returns: optional(Map(&TEXT)),
        /// API → the name of the same function there.
        analogue: optional(Map(&Line)),
        /// Of an interface with `sdk`: what calls it in the Python package, such as `Stream.synchronize`.
        method: optional(Dotted),
        /// Its form in the Python package; default: not in the package.
        python: optional(Shape(&PYTHON_FUNCTION)),
        /// Kind `export`: the steps that compute it with operators, such as `out = add(input, other)`.
        compute: optional(Any(&[Line, List(&Line)])),
        /// Related functions.
        see: optional(List(&Snake)),
    }

    static PYTHON_FUNCTION = "a Python function" {
        /// Its name.
        name: needed(Snake),
        /// Its module; default: the package itself.
        module: optional(Snake),
        /// The parameters that it takes, in order; default: those that are neither an output nor the length
        /// of a list.
        args: optional(List(&Snake)),
        /// The parameters that it returns, in order, before the status; default: every output.
        returns: optional(List(&Snake)),
        /// True if its body is written by hand.
        by_hand: optional(Bool),
    }

    static QUESTION = "a question" {
        /// The status that means yes.
        yes: needed(Snake),
        /// The status that means no.
        no: needed(Snake),
    }
}

static ARGUMENTS: Value = Map(&Any(&[Null, Snake, Integer, Bool]));

shapes! {
    static FALLBACK = "a fallback" {
        /// A value for each out-parameter and for the value that the function returns, or one for each by its name;
        /// `result` is that of the returned value.
        constant: optional(Any(&[Integer, Bool, Null, Map(&Any(&[Integer, Bool, Null]))])),
        /// The value of another function.
        call: optional(Map(&ARGUMENTS)),
        /// Host buffers that exist while the fallback runs.
        let: optional(Map(&Shape(&BUFFER))),
        /// Calls in sequence.
        sequence: optional(List(&Map(&ARGUMENTS))),
        /// The result after a sequence.
        then: optional(Bool),
        /// A strategy written by hand.
        strategy: optional(Snake),
        /// The functions that the strategy calls.
        needs: optional(List(&Snake)),
        /// The status that the caller receives.
        refuse: optional(Snake),
        /// The message beside the status.
        message: optional(Line),
        /// `true`: does nothing, and succeeds.
        nothing: optional(Bool),
        /// `host`: it does the same as hosts; `ours`: it does not.
        rule: optional(Word(&["host", "ours"])),
        /// The reason for a fallback that differs from the host's.
        why: optional(Prose),
        /// Its cost for the caller.
        costs: optional(Line),
    }

    static BUFFER = "a buffer" {
        /// The parameter with its length in bytes.
        bytes: needed(Snake),
        /// The parameter whose value fills it.
        fill: optional(Snake),
    }
}

/// The shape of each kind of file, by the name of its schema.
pub static FILES: &[(&str, &Shape)] = &[
    ("spec", &SPEC),
    ("interface", &INTERFACE),
    ("group", &GROUP),
    ("operators", &OPERATORS),
    ("operator-group", &OPERATOR_GROUP),
    ("kernel-group", &KERNEL_GROUP),
    ("node-group", &NODE_GROUP),
];
