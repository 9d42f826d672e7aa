//! The spec language: the keys of each mapping, and the values that they accept.
//!
//! [`crate::source::shape`] checks files against it. The JSON Schema for editors is generated from it.

mod interface;
mod kernels;
mod operators;

pub use interface::{HAND_OVER_PARAMS, INTERFACE};
pub use kernels::KERNEL_GROUP;
pub use operators::{OPERATOR_GROUP, OPERATORS};

use crate::source::shape::{Key, Shape, Value};

const fn key(name: &'static str, value: Value, doc: &'static str) -> Key {
    Key { name, doc, value, needed: false, example: None }
}

pub(crate) const fn needed(name: &'static str, value: Value, doc: &'static str) -> Key {
    Key { name, doc, value, needed: true, example: None }
}

const SINCE: Key = key(
    "since",
    Value::Release,
    "The first release that has it; default: the first release of the interface.",
);
const UNTIL: Key = key("until", Value::Release, "The last release that has it; default: the newest.");
const SUMMARY: Key = needed("summary", Value::Line, "Summary in one line, for tables.");
const DOC: Key = key("doc", Value::Prose, "Documentation for users, in Markdown.");
const C_NAME: Key = key("c", Value::Symbol, "Its name in the ABI.");

/// Text, or its parts for different readers.
const TEXT: Value = Value::Any(&[Value::Prose, Value::Shape(&PARTS)]);

static PARTS: Shape = Shape {
    name: "the parts of a text",
    keys: &[
        key("all", Value::Prose, "For all readers."),
        key("in", Value::Prose, "Of an `inout` parameter: the value that is passed."),
        key("out", Value::Prose, "Of an `inout` parameter: the value that is written."),
        key("c", Value::Prose, "For callers from C and for implementers, who pass or receive pointers."),
        key("python", Value::Prose, "For callers from Python, where functions return their outputs."),
        key("host", Value::Prose, "For implementers: the behaviour of the host that calls them."),
    ],
};

/// `spec.yaml`.
pub static SPEC: Shape = Shape {
    name: "a spec",
    keys: &[
        needed("project", Value::Snake, "Name of the project; include guards begin with it."),
        SUMMARY,
        needed(
            "interfaces",
            Value::List(&Value::Snake),
            "Folders with an `interface.yaml`, in the order of the docs.",
        ),
        key("operators", Value::Snake, "The folder with an `operators.yaml`."),
        needed("outputs", Value::Shape(&OUTPUTS), "Paths of the outputs, relative to `--out`."),
        key(
            "command",
            Value::Line,
            "Command that regenerates the outputs, for the first line of each; default: `cargo run -p codegen`.",
        ),
    ],
};

static OUTPUTS: Shape = Shape { name: "the list of outputs", keys: crate::emit::KEYS };

/// A group file.
pub static GROUP: Shape = Shape {
    name: "a group",
    keys: &[
        needed("group", Value::Snake, "Name of the group; also of its file."),
        needed("title", Value::Line, "Heading in the docs."),
        SUMMARY,
        DOC,
        key(
            "header",
            Value::Line,
            "Kind `export`: the header that declares it; default: the header of the interface.",
        ),
        key(
            "apart",
            Value::Bool,
            "Kind `export`: true if the header of the interface does not include the header of the group.",
        ),
        key("typedefs", Value::List(&Value::Shape(&TYPEDEF)), "Second names of primitives in C."),
        key("types", Value::List(&Value::Shape(&TYPE)), "Types, in the order in which C needs them."),
        key("functions", Value::List(&Value::Shape(&FUNCTION)), "Functions, in the order of the docs."),
    ],
};

static TYPEDEF: Shape = Shape {
    name: "a typedef",
    keys: &[
        needed("c", Value::Symbol, "Its name in C."),
        needed("type", Value::Type, "The primitive that it names."),
        SUMMARY,
    ],
};

static TYPE: Shape = Shape {
    name: "a type",
    keys: &[
        needed("name", Value::Pascal, "Its name in Rust, Python and the docs."),
        needed(
            "kind",
            Value::Word(&["handle", "id", "enum", "struct", "callback"]),
            "`handle`: an opaque pointer; `id`: a number passed by pointer; the others have their meaning in C.",
        ),
        needed("c", Value::Symbol, "Its name in C."),
        SUMMARY,
        DOC,
        key("tag", Value::Symbol, "Struct tag of a handle or an id; a handle without a tag is a `void*`."),
        key("by", Value::Word(&["pointer"]), "`pointer` for a handle that C passes as `c*` instead of `c`."),
        key(
            "const",
            Value::Bool,
            "Of a handle by pointer: `false` if the ABI points to the object without `const`.",
        ),
        key(
            "c_const",
            Value::Symbol,
            "Of a handle with a tag: its name in C if the object is read-only; parameters with `const: true` have this type.",
        ),
        key("null", Value::Line, "Meaning of a null handle, if null is allowed."),
        key(
            "compute",
            Value::Word(&["call", "tensor", "number", "integers", "generator"]),
            "Its meaning in the key `compute` of functions: the context of the call, a tensor, a number with its data type, a list of integers, or a generator of random numbers.",
        ),
        key("orders", Value::Bool, "True if work runs in the order of the handle, so that it is a stream."),
        key("field", Value::Shape(&ID_FIELD), "The member of an id."),
        key("flags", Value::Bool, "True if the values of an enum are bits."),
        key(
            "as",
            Value::Word(&["int", "macros"]),
            "An enum whose C type is `int`: a typedef of `int`, with the values in an unnamed enum or as macros.",
        ),
        key("values", Value::List(&Value::Shape(&ENUM_VALUE)), "The values of an enum."),
        key("anonymous", Value::Bool, "True for a typedef of a struct without a tag."),
        key("union", Value::Bool, "True for a union: its members share their memory."),
        key(
            "unnamed",
            Value::Bool,
            "True for a union without a name: C declares it inside the structs that have a field of it.",
        ),
        key("fields", Value::Map(&Value::Shape(&PARAM)), "The members of a struct."),
        key("params", Value::Map(&Value::Shape(&PARAM)), "The parameters of a callback."),
        key("result", Value::Any(&[Value::Word(&["none"]), Value::Shape(&PARAM)]), "Result of a callback."),
        key(
            "once",
            Value::Bool,
            "True for a callback that is called once for each call that takes it, and not if that call fails.",
        ),
        SINCE,
        UNTIL,
    ],
};

static ID_FIELD: Shape = Shape {
    name: "the member of an id",
    keys: &[
        needed("name", Value::Snake, "Its name."),
        needed("type", Value::Type, "Its type, which is an integer."),
    ],
};

static ENUM_VALUE: Shape = Shape {
    name: "a value of an enum",
    keys: &[
        needed("name", Value::Snake, "Its name."),
        needed("c", Value::Symbol, "Its name in C."),
        needed("value", Value::Integer, "Its number."),
        needed("summary", Value::Any(&[Value::Line, Value::Shape(&PARTS)]), "Its meaning."),
        key("alias", Value::Bool, "True if it is a second name for a number."),
        key(
            "means",
            Value::Word(&["invalid_argument", "unsupported", "internal"]),
            "Of a status: the error for which generated code returns it.",
        ),
        SINCE,
        UNTIL,
    ],
};

static CALL: Shape =
    Shape { name: "a call", keys: &[needed("call", Value::Snake, "The function that returns the value.")] };

static PARAM: Shape = Shape {
    name: "a parameter, field or result",
    keys: &[
        needed("type", Value::Type, "A primitive or a type of the spec."),
        key("c", Value::Symbol, "Of a field: its name in C, if it differs."),
        key(
            "lent",
            Value::Bool,
            "Of an `out` array of handles: true if the function returns the address of its own list.",
        ),
        key("python", Value::Symbol, "Of a field: its key in Python's dicts, if it differs."),
        key("dir", Value::Word(&["in", "out", "inout"]), "The direction of data; default: `in`."),
        key(
            "space",
            Value::Word(&["host", "device", "unified", "any"]),
            "The memory that a `pointer` points to.",
        ),
        key(
            "bytes",
            Value::Any(&[Value::Integer, Value::Snake, Value::Shape(&CALL)]),
            "Length in bytes of the memory that it points to.",
        ),
        key(
            "count",
            Value::Any(&[Value::Integer, Value::Snake, Value::Shape(&CALL)]),
            "Number of elements, for an array.",
        ),
        key("nullable", Value::Bool, "True if null is allowed."),
        key(
            "by",
            Value::Word(&["pointer"]),
            "`pointer` for a struct that C passes as `const c*` instead of `c`.",
        ),
        key(
            "role",
            Value::Word(&["creates", "destroys", "uses"]),
            "Its role in the life of a handle or an allocation.",
        ),
        key("of", Value::Snake, "The parameter that owns it."),
        key(
            "held",
            Value::Any(&[Value::Bool, Value::Snake]),
            "The stream that uses the memory after the call, so that it is freed only after the stream's work; `false`: it can be freed when the call returns.",
        ),
        key("context_of", Value::Snake, "The callback parameter that receives this pointer."),
        key("status", Value::Bool, "True if the call reports its status through this parameter."),
        key(
            "failure",
            Value::Integer,
            "Of the result of an export: its value if the function fails; default: 0 or null.",
        ),
        key(
            "const",
            Value::Any(&[Value::Bool, Value::Word(&["objects"])]),
            "True if the ABI points to const, false if it does not; default: as `dir` implies. `objects`: in an array of handles with `c_const`, the objects are const and the array is not.",
        ),
        key("upstream", Value::Line, "The C++ type, if C has none."),
        key("c_type", Value::Line, "Its type in C, if C spells it differently, such as `void**`."),
        SINCE,
        UNTIL,
        key(
            "absent",
            Value::Any(&[Value::Shape(&CALL), Value::Integer, Value::Bool]),
            "Its value for implementations in releases without it.",
        ),
        key("doc", TEXT, "Its meaning, with its unit."),
    ],
};

static FUNCTION: Shape = Shape {
    name: "a function",
    keys: &[
        needed("name", Value::Snake, "Its name."),
        C_NAME,
        SUMMARY,
        needed("doc", TEXT, "Its behaviour: order, blocking, units, edge cases."),
        key("params", Value::Map(&Value::Shape(&PARAM)), "Parameters, in the order of the ABI."),
        key("args", Value::Symbol, "C name of the struct whose members are the parameters."),
        key(
            "result",
            Value::Any(&[Value::Word(&["status", "none"]), Value::Shape(&PARAM)]),
            "Its result; default: `status`.",
        ),
        key(
            "required",
            Value::Word(&["load", "use"]),
            "`load`: hosts refuse a plugin without it, or the symbol always exists; `use`: hosts load a plugin without it, and then misbehave.",
        ),
        key(
            "when_null",
            Value::Prose,
            "Behaviour of hosts if the pointer is null; absent with `required: load`.",
        ),
        key(
            "fill",
            Value::Word(&["always"]),
            "`always`: the slot contains the fallback by default, because null is unsound in a host.",
        ),
        SINCE,
        UNTIL,
        key(
            "variadic",
            Value::Bool,
            "Kind `export`: true if C callers may pass further arguments, which the function does not read.",
        ),
        key("blocking", Value::Bool, "True if the call waits for device work."),
        key("stream_ordered", Value::Snake, "The stream parameter in whose order the work runs."),
        key("status_as_bool", Value::Shape(&QUESTION), "The statuses that mean yes and no."),
        key("fallback", Value::Shape(&FALLBACK), "Its replacement if an implementation lacks it.")
            .such_as("{ nothing: true }"),
        key(
            "no_fallback",
            Value::Prose,
            "The reason for which an optional function of a table has no fallback.",
        ),
        key("returns", Value::Map(&TEXT), "Status value → the condition for it."),
        key("analogue", Value::Map(&Value::Line), "API → the name of the same function there."),
        key(
            "python",
            Value::Shape(&PYTHON_FUNCTION),
            "Its form in the Python package; default: not in the package.",
        ),
        key(
            "compute",
            Value::Any(&[Value::Line, Value::List(&Value::Line)]),
            "Kind `export`: the steps that compute it with operators, such as `out = add(input, other)`.",
        ),
        key("see", Value::List(&Value::Snake), "Related functions."),
    ],
};

static PYTHON_FUNCTION: Shape = Shape {
    name: "a Python function",
    keys: &[
        needed("name", Value::Snake, "Its name."),
        key("module", Value::Snake, "Its module; default: the package itself."),
        key(
            "args",
            Value::List(&Value::Snake),
            "The parameters that it takes, in order; default: those that are neither an output nor the length of a list.",
        ),
        key(
            "returns",
            Value::List(&Value::Snake),
            "The parameters that it returns, in order, before the status; default: every output.",
        ),
        key("by_hand", Value::Bool, "True if its body is written by hand."),
    ],
};

static QUESTION: Shape = Shape {
    name: "a question",
    keys: &[
        needed("yes", Value::Snake, "The status that means yes."),
        needed("no", Value::Snake, "The status that means no."),
    ],
};

static ARGUMENTS: Value = Value::Map(&Value::Any(&[Value::Null, Value::Snake, Value::Integer, Value::Bool]));

static FALLBACK: Shape = Shape {
    name: "a fallback",
    keys: &[
        key(
            "constant",
            Value::Any(&[
                Value::Integer,
                Value::Bool,
                Value::Null,
                Value::Map(&Value::Any(&[Value::Integer, Value::Bool, Value::Null])),
            ]),
            "A value for each out-parameter.",
        ),
        key("call", Value::Map(&ARGUMENTS), "The value of another function."),
        key("let", Value::Map(&Value::Shape(&BUFFER)), "Host buffers that exist while the fallback runs."),
        key("sequence", Value::List(&Value::Map(&ARGUMENTS)), "Calls in sequence."),
        key("then", Value::Bool, "The result after a sequence."),
        key("strategy", Value::Snake, "A strategy written by hand."),
        key("needs", Value::List(&Value::Snake), "The functions that the strategy calls."),
        key("refuse", Value::Snake, "The status that the caller receives."),
        key("message", Value::Line, "The message beside the status."),
        key("nothing", Value::Bool, "`true`: does nothing, and succeeds."),
        key(
            "rule",
            Value::Word(&["host", "ours"]),
            "`host`: it does the same as hosts; `ours`: it does not.",
        ),
        key("why", Value::Prose, "The reason for a fallback that differs from the host's."),
        key("costs", Value::Line, "Its cost for the caller."),
    ],
};

static BUFFER: Shape = Shape {
    name: "a buffer",
    keys: &[
        needed("bytes", Value::Snake, "The parameter with its length in bytes."),
        key("fill", Value::Snake, "The parameter whose value fills it."),
    ],
};

/// The shape of each kind of file, by the name of its schema.
pub static FILES: &[(&str, &Shape)] = &[
    ("spec", &SPEC),
    ("interface", &INTERFACE),
    ("group", &GROUP),
    ("operators", &OPERATORS),
    ("operator-group", &OPERATOR_GROUP),
    ("kernel-group", &KERNEL_GROUP),
];
