//! The spec language: which keys each mapping has and what they take.
//!
//! [`crate::source::shape`] checks files against it, and the JSON Schema for editors is written from it.

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

const SINCE: Key = key("since", Value::Release, "The release that added it; left out: there from the first.");
const UNTIL: Key = key("until", Value::Release, "The last release that had it.");
const SUMMARY: Key = needed("summary", Value::Line, "One line, for tables.");
const DOC: Key = key("doc", Value::Prose, "What a user has to know, in Markdown.");
const C_NAME: Key = key("c", Value::Symbol, "The ABI's own spelling.");

/// Text, or its parts for different readers.
const TEXT: Value = Value::Any(&[Value::Prose, Value::Shape(&PARTS)]);

static PARTS: Shape = Shape {
    name: "the parts of a text",
    keys: &[
        key("all", Value::Prose, "Everybody reads it."),
        key("in", Value::Prose, "Of an `inout` parameter: the value that is passed."),
        key("out", Value::Prose, "Of an `inout` parameter: the value that is written."),
        key("c", Value::Prose, "Those who pass pointers or get them: callers from C, and implementers."),
        key("python", Value::Prose, "Callers from Python, to whom functions return what they write."),
        key("host", Value::Prose, "Implementers: what the host does that calls them."),
    ],
};

/// `spec.yaml`.
pub static SPEC: Shape = Shape {
    name: "a spec",
    keys: &[
        needed("project", Value::Snake, "Name of the project, and first part of the include guards."),
        SUMMARY,
        needed(
            "interfaces",
            Value::List(&Value::Snake),
            "Folders with an `interface.yaml`, in the order of the docs.",
        ),
        key("operators", Value::Snake, "The folder with an `operators.yaml`."),
        needed("outputs", Value::Shape(&OUTPUTS), "Where outputs go, relative to `--out`."),
        key(
            "command",
            Value::Line,
            "What people run to bring the outputs up to date, for the first line of each; `cargo run -p codegen` if left out.",
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
            "Kind `export`: the header that declares it; the interface's if left out.",
        ),
        key("types", Value::List(&Value::Shape(&TYPE)), "Types, in the order in which C needs them."),
        key("functions", Value::List(&Value::Shape(&FUNCTION)), "Functions, in the order of the docs."),
    ],
};

static TYPE: Shape = Shape {
    name: "a type",
    keys: &[
        needed("name", Value::Pascal, "Its name in Rust, Python and the docs."),
        needed(
            "kind",
            Value::Word(&["handle", "id", "enum", "struct", "callback"]),
            "`handle`: an opaque pointer; `id`: a number passed by pointer; the rest as in C.",
        ),
        needed("c", Value::Symbol, "Its name in C."),
        SUMMARY,
        DOC,
        key(
            "tag",
            Value::Symbol,
            "The struct tag behind a handle or an id; a handle without one is a `void*`.",
        ),
        key("by", Value::Word(&["pointer"]), "A handle that C passes as `c*` rather than as `c`."),
        key(
            "const",
            Value::Bool,
            "Of a handle by pointer: `false` where the ABI points to the object without `const`.",
        ),
        key(
            "c_const",
            Value::Symbol,
            "Of a handle with a tag: its name in C where the object may only be read; parameters with `const: true` take it.",
        ),
        key("null", Value::Line, "What a null handle means, if null is allowed."),
        key(
            "compute",
            Value::Word(&["call", "tensor", "number", "integers", "generator"]),
            "Its meaning in the key `compute` of functions: the surroundings of the call, a tensor, a number with its data type, a list of integers, or a generator of random numbers.",
        ),
        key("orders", Value::Bool, "Whether work runs in the order of a handle, so that it is a stream."),
        key("field", Value::Shape(&ID_FIELD), "The member of an id."),
        key("flags", Value::Bool, "Whether the values of an enum are bits."),
        key(
            "as",
            Value::Word(&["int"]),
            "An enum whose C type is `int`: a typedef of it, and the values in an enum without a name.",
        ),
        key("values", Value::List(&Value::Shape(&ENUM_VALUE)), "The values of an enum."),
        key("anonymous", Value::Bool, "A typedef of a struct without a tag."),
        key("union", Value::Bool, "A struct whose members share one place."),
        key(
            "unnamed",
            Value::Bool,
            "A union without a name: C declares it in place, in the structs that have a field of it.",
        ),
        key("fields", Value::Map(&Value::Shape(&PARAM)), "The members of a struct."),
        key("params", Value::Map(&Value::Shape(&PARAM)), "The parameters of a callback."),
        key(
            "result",
            Value::Any(&[Value::Word(&["none"]), Value::Shape(&PARAM)]),
            "What a callback returns.",
        ),
        key(
            "once",
            Value::Bool,
            "A callback that is called once each time it is handed over, and never if that call fails.",
        ),
        SINCE,
        UNTIL,
    ],
};

static ID_FIELD: Shape = Shape {
    name: "the member of an id",
    keys: &[
        needed("name", Value::Snake, "Its name."),
        needed("type", Value::Type, "Its type: a whole number."),
    ],
};

static ENUM_VALUE: Shape = Shape {
    name: "a value of an enum",
    keys: &[
        needed("name", Value::Snake, "Its name."),
        needed("c", Value::Symbol, "Its name in C."),
        needed("value", Value::Integer, "Its number."),
        needed("summary", Value::Any(&[Value::Line, Value::Shape(&PARTS)]), "What it means."),
        key("alias", Value::Bool, "Whether it is a second name for a number."),
        key(
            "means",
            Value::Word(&["invalid_argument", "unsupported", "internal"]),
            "Of a status: what generated code answers with it.",
        ),
        SINCE,
        UNTIL,
    ],
};

static CALL: Shape =
    Shape { name: "a call", keys: &[needed("call", Value::Snake, "The function whose value it is.")] };

static PARAM: Shape = Shape {
    name: "a parameter, field or result",
    keys: &[
        needed("type", Value::Type, "A primitive or a type of the spec."),
        key("c", Value::Symbol, "Of a field: its name in C, where that is another."),
        key(
            "lent",
            Value::Bool,
            "Of an `out` array of handles: the function hands out the address of a list of its own.",
        ),
        key("python", Value::Symbol, "Of a field: its key in the dicts of Python, where that is another."),
        key("dir", Value::Word(&["in", "out", "inout"]), "Who writes it; `in` if left out."),
        key(
            "space",
            Value::Word(&["host", "device", "unified", "any"]),
            "Which memory a `pointer` points to.",
        ),
        key(
            "bytes",
            Value::Any(&[Value::Integer, Value::Snake, Value::Shape(&CALL)]),
            "Length in bytes of what it points to.",
        ),
        key(
            "count",
            Value::Any(&[Value::Integer, Value::Snake, Value::Shape(&CALL)]),
            "Number of elements; makes it an array.",
        ),
        key("nullable", Value::Bool, "Whether null is allowed."),
        key("by", Value::Word(&["pointer"]), "A struct that is passed as `const c*` rather than as `c`."),
        key(
            "role",
            Value::Word(&["creates", "destroys", "uses"]),
            "Its part in the life of a handle or an allocation.",
        ),
        key("of", Value::Snake, "The parameter that owns it."),
        key(
            "held",
            Value::Any(&[Value::Bool, Value::Snake]),
            "The stream parameter that must have passed before the memory may go; `false`: it may go when the call returns.",
        ),
        key("context_of", Value::Snake, "The callback parameter that gets this pointer."),
        key("status", Value::Bool, "Whether the call reports through this parameter."),
        key(
            "failure",
            Value::Integer,
            "Of the result of an export: what it returns when it failed; 0 or null if left out.",
        ),
        key(
            "const",
            Value::Any(&[Value::Bool, Value::Word(&["objects"])]),
            "Whether the ABI points to const, where that is not as `dir` says; `objects`: of an array of handles with `c_const`, the objects are const and the array is not.",
        ),
        key("upstream", Value::Line, "The C++ spelling of the type, where C cannot say it."),
        SINCE,
        UNTIL,
        key(
            "absent",
            Value::Any(&[Value::Shape(&CALL), Value::Integer, Value::Bool]),
            "What the implementation gets in releases without it.",
        ),
        key("doc", TEXT, "What it is, with its unit."),
    ],
};

static FUNCTION: Shape = Shape {
    name: "a function",
    keys: &[
        needed("name", Value::Snake, "Its name."),
        C_NAME,
        SUMMARY,
        needed("doc", TEXT, "What it does: order, blocking, units, edge cases."),
        key("params", Value::Map(&Value::Shape(&PARAM)), "Parameters, in the order of the ABI."),
        key("args", Value::Symbol, "Its parameters are the members of a struct of this name in C."),
        key(
            "result",
            Value::Any(&[Value::Word(&["status", "none"]), Value::Shape(&PARAM)]),
            "What it returns; `status` if left out.",
        ),
        key(
            "required",
            Value::Word(&["load", "use"]),
            "`load`: a host refuses a plugin without it, or the symbol always exists; `use`: a host loads the plugin and then misbehaves.",
        ),
        key(
            "when_null",
            Value::Prose,
            "What hosts do when the pointer is null; left out with `required: load`, where they refuse the plugin.",
        ),
        key(
            "fill",
            Value::Word(&["always"]),
            "Null is unsound in a host: the slot is always filled with the fallback.",
        ),
        SINCE,
        UNTIL,
        key("blocking", Value::Bool, "Whether the caller waits for device work."),
        key("stream_ordered", Value::Snake, "The stream parameter in whose order the work runs."),
        key("status_as_bool", Value::Shape(&QUESTION), "The status is the answer of a question."),
        key(
            "fallback",
            Value::Shape(&FALLBACK),
            "What stands in when an implementation has none; left out where nothing does.",
        )
        .such_as("{ nothing: true }"),
        key("no_fallback", Value::Prose, "Why nothing stands in for an optional function of a table."),
        key("returns", Value::Map(&TEXT), "Status value → when it is returned."),
        key("analogue", Value::Map(&Value::Line), "Its name elsewhere."),
        key(
            "python",
            Value::Shape(&PYTHON_FUNCTION),
            "How the Python package has it; it does not if left out.",
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
        key("module", Value::Snake, "The module that it is in; the package itself if left out."),
        key(
            "args",
            Value::List(&Value::Snake),
            "The parameters that it takes, in order; if left out, those that are neither an output nor the length of a list.",
        ),
        key(
            "returns",
            Value::List(&Value::Snake),
            "The parameters that it returns, in order, before the status; every output if left out.",
        ),
        key("by_hand", Value::Bool, "Whether its body is written by hand."),
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
        key("let", Value::Map(&Value::Shape(&BUFFER)), "Host buffers that live as long as the fallback."),
        key("sequence", Value::List(&Value::Map(&ARGUMENTS)), "Calls in sequence."),
        key("then", Value::Bool, "The answer after a sequence."),
        key("strategy", Value::Snake, "A strategy written by hand."),
        key("needs", Value::List(&Value::Snake), "The functions that the strategy calls."),
        key("refuse", Value::Snake, "The status that the caller gets."),
        key("message", Value::Line, "The message beside the status."),
        key("nothing", Value::Bool, "Does nothing, and succeeds."),
        key("rule", Value::Word(&["host", "ours"]), "Whose rule it is."),
        key("why", Value::Prose, "Why this rule."),
        key("costs", Value::Line, "What the caller pays."),
    ],
};

static BUFFER: Shape = Shape {
    name: "a buffer",
    keys: &[
        needed("bytes", Value::Snake, "Its length in bytes: a parameter."),
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
