//! The grammar of `interface.yaml`.

use super::{DOC, PARAM, SUMMARY, key, needed};
use crate::source::shape::{Shape, Value};

/// `interface.yaml`.
pub static INTERFACE: Shape = Shape {
    name: "an interface",
    keys: &[
        needed("interface", Value::Snake, "Name of the interface; also of its folder."),
        needed(
            "kind",
            Value::Word(&["table", "export", "import"]),
            "`table`: a struct of function pointers that a plugin fills; `export`: symbols that a library offers; `import`: symbols that a host offers.",
        ),
        needed("title", Value::Line, "Heading in the docs."),
        SUMMARY,
        DOC,
        needed(
            "trait",
            Value::Pascal,
            "Name of the Rust trait; for an import, of the struct with the loaded symbols.",
        ),
        needed("header", Value::Line, "File name of the C header."),
        key("uses", Value::List(&Value::Snake), "Interfaces whose types this one uses."),
        needed(
            "status",
            Value::Type,
            "The enum that functions return as their status; its value 0 is success.",
        ),
        key(
            "error",
            Value::Shape(&ERROR),
            "Kind `table`: the error object that functions return instead of a status; null is success.",
        ),
        key("args", Value::Shape(&ARGS), "Kind `table`: the first members of structs of arguments."),
        key("unwinds", Value::Bool, "True if a call may throw a C++ exception through generated code."),
        key("releases", Value::List(&Value::Shape(&RELEASE)), "Releases of the host, oldest first."),
        needed("groups", Value::List(&Value::Snake), "Files, in the order of the docs."),
        key("table", Value::Shape(&TABLE), "Kind `table`: the struct of function pointers."),
        key("plugin", Value::Shape(&PLUGIN), "Kind `table`: the hand-over between host and plugin."),
        key(
            "extension",
            Value::Shape(&EXTENSION),
            "Kind `table`: a second table, for functions without a slot in the host's table.",
        ),
        key(
            "libraries",
            Value::List(&Value::Line),
            "Kind `import`: the libraries that are searched for symbols, in this order.",
        ),
        key(
            "kernels",
            Value::List(&Value::Snake),
            "Kind `import`: files in the folder `kernels`, which map kernels of the host to operators.",
        ),
        key("prefix", Value::Symbol, "Prefix of the C names of functions."),
        key(
            "weak",
            Value::Symbol,
            "Kind `export` and `import`: the C macro for weak linkage, which optional functions have.",
        ),
        key("strategies", Value::Map(&Value::Line), "Fallbacks written by hand: name → description."),
        key("names", Value::List(&Value::Symbol), "Names of other programs that docs mention in backticks."),
        key("sdk", Value::Shape(&SDK), "Kind `table`: the functions that the SDK offers for it."),
        key(
            "python",
            Value::Shape(&PYTHON_PACKAGE),
            "Kind `export`: the Python package that has the functions.",
        ),
    ],
};

static ERROR: Shape = Shape {
    name: "an error object",
    keys: &[
        needed("type", Value::Type, "The handle that functions return; null is success."),
        needed("code", Value::Snake, "The function that takes it and returns its `status`."),
        needed("message", Value::Snake, "The function that takes it and returns its text."),
        needed("destroy", Value::Snake, "The function that destroys it."),
    ],
};

static ARGS: Shape = Shape {
    name: "the head of structs of arguments",
    keys: &[
        needed(
            "size_field",
            Value::Snake,
            "The first member: the size of the struct in bytes, as the caller knows it.",
        ),
        key("extension", Value::Snake, "The reserved pointer after it, which is null."),
    ],
};

static PYTHON_PACKAGE: Shape = Shape {
    name: "a Python package",
    keys: &[
        needed("package", Value::Snake, "Its name; functions without a module are in the package itself."),
        key(
            "modules",
            Value::Map(&Value::Shape(&PYTHON_MODULE)),
            "The modules in it, in the order of the docs.",
        ),
    ],
};

static PYTHON_MODULE: Shape = Shape {
    name: "a Python module",
    keys: &[SUMMARY, DOC, key("by_hand", Value::Bool, "True if the whole file is written by hand.")],
};

static SDK: Shape = Shape {
    name: "an SDK section",
    keys: &[
        needed("prefix", Value::Snake, "Prefix of the C names of functions and types."),
        needed("device", Value::Type, "The id that the SDK replaces with its own device handle."),
        key(
            "manages",
            Value::List(&Value::Snake),
            "Functions that only the SDK itself may call; it refuses calls by programs.",
        ),
    ],
};

static RELEASE: Shape = Shape {
    name: "a release",
    keys: &[
        needed("release", Value::Release, "Its name, in quotes."),
        needed("hosts", Value::List(&Value::Release), "Exact host versions that were checked, in quotes."),
        key("note", Value::Line, "A note on how to recognise it."),
    ],
};

static TABLE: Shape = Shape {
    name: "a table",
    keys: &[
        needed("struct", Value::Symbol, "C name of the struct."),
        needed("size_field", Value::Snake, "The first member: the size of the struct in bytes."),
        needed("blocks", Value::List(&Value::Shape(&BLOCK)), "Slots, in the order of the ABI."),
    ],
};

static EXTENSION: Shape = Shape {
    name: "an extension",
    keys: &[
        needed("struct", Value::Symbol, "C name of the struct, which begins with its size and its version."),
        needed("entry", Value::Symbol, "The symbol that a plugin exports; it returns the struct's address."),
        needed(
            "releases",
            Value::List(&Value::Shape(&EXTENSION_RELEASE)),
            "Releases of the extension, oldest first.",
        ),
        DOC,
    ],
};

static EXTENSION_RELEASE: Shape = Shape {
    name: "a release of an extension",
    keys: &[
        needed("release", Value::Release, "Its name, in quotes: major and minor number."),
        needed("slots", Value::List(&Value::Snake), "The functions that it added, one for each slot."),
    ],
};

static BLOCK: Shape = Shape {
    name: "a block of slots",
    keys: &[
        needed("block", Value::Snake, "Name of the block."),
        key("fields", Value::Map(&Value::Shape(&PARAM)), "Data members before the slots of the block."),
        key(
            "slots",
            Value::List(&Value::Any(&[Value::Snake, Value::Shape(&SLOT)])),
            "Functions, one for each slot; required for a block without `fields`.",
        ),
        key("reserved", Value::Shape(&RESERVED), "Unused slots at the end of the block."),
    ],
};

static SLOT: Shape = Shape {
    name: "a slot",
    keys: &[
        key("one_of", Value::List(&Value::Snake), "Functions that have the slot in different releases."),
        key("reserved", Value::Snake, "A function whose slot was part of the block's reserve."),
    ],
};

static RESERVED: Shape = Shape {
    name: "a reserve",
    keys: &[
        needed("name", Value::Symbol, "Name of the array in C."),
        needed("count", Value::Integer, "Number of its slots in the first release."),
    ],
};

static PLUGIN: Shape = Shape {
    name: "a hand-over",
    keys: &[
        needed(
            "entry",
            Value::Symbol,
            "The symbol that a plugin exports; it takes a pointer to the params, or returns the table.",
        ),
        key(
            "owns",
            Value::Word(&["table"]),
            "`table`: the plugin owns the table, and the entry returns its address.",
        ),
        key("params", Value::Pascal, "The struct that host and plugin fill together."),
        key("table", Value::Snake, "The field that points to the table."),
        key("size", Value::Snake, "The field that holds the size of the params in bytes."),
        key("version", Value::Shape(&VERSION), "The version that a plugin states."),
        key("device_type", Value::Snake, "The field that names the device."),
        key("sub_device_type", Value::Snake, "The field that names the variant of the device."),
        DOC,
    ],
};

/// The keys of a hand-over in which the host owns the table.
pub static HAND_OVER_PARAMS: [&str; 5] = ["params", "table", "size", "version", "device_type"];

static VERSION: Shape = Shape {
    name: "a version",
    keys: &[
        needed("field", Value::Snake, "The field for the version."),
        needed("value", Value::Release, "The version, in quotes."),
        key("macro", Value::Symbol, "Prefix of the C macros with its numbers."),
    ],
};
