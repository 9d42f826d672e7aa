//! The grammar of `interface.yaml`.

use super::{DOC, PARAM, SUMMARY};
use crate::yaml::shape::Value::*;
use crate::yaml::shape::{needed, optional, shapes};

shapes! {
    /// `interface.yaml`.
    pub static INTERFACE = "an interface" {
        /// Name of the interface; also of its folder.
        interface: needed(Snake),
        /// `table`: a struct of function pointers that a plugin fills; `export`: symbols that a library
        /// offers; `import`: symbols that a host offers, or the pointers of its table; `objects`: objects with function
        /// pointers, which the implementer makes.
        kind: needed(Word(&["table", "export", "import", "objects"])),
        /// Heading in the docs.
        title: needed(Line),
        SUMMARY,
        DOC,
        /// Name of the Rust trait; for an import, of the struct with the loaded symbols; for objects, of the struct that
        /// makes them for a host.
        trait: needed(Pascal),
        /// File name of the C header.
        header: needed(Line),
        /// Interfaces whose types this one uses.
        uses: optional(List(&Snake)),
        /// The enum that functions return as their status; its value 0 is success.
        status: needed(Type),
        /// Kinds `table` and `import`: the error object that functions return instead of a status; null is success. Kind
        /// `objects`: the import whose error object they return.
        error: optional(Any(&[Snake, Shape(&ERROR)])),
        /// Kind `table`: the first members of structs of arguments.
        args: optional(Shape(&ARGS)),
        /// True if a call may throw a C++ exception through generated code.
        unwinds: optional(Bool),
        /// Releases of the host, oldest first; or the interface in `uses` that has the same ones.
        releases: optional(Any(&[Snake, List(&Shape(&RELEASE))])),
        /// Files, in the order of the docs.
        groups: needed(List(&Snake)),
        /// Kind `table`: the struct of function pointers.
        table: optional(Shape(&TABLE)),
        /// Kind `table`: the hand-over between host and plugin.
        plugin: optional(Shape(&PLUGIN)),
        /// Kind `table`: a second table, for functions without a slot in the host's table.
        extension: optional(Shape(&EXTENSION)),
        /// Kind `import`: the table of the host that has the functions, each in its `slot`.
        host_table: optional(Shape(&HOST_TABLE)),
        /// Kind `import`: the libraries that are searched for symbols, in this order.
        libraries: optional(List(&Line)),
        /// Kind `import`: files in the folder `kernels`, which map kernels of the host to operators.
        kernels: optional(List(&Snake)),
        /// Kind `import`: files in the folder `nodes`, which map operators of the host's models to operators of the spec.
        nodes: optional(List(&Snake)),
        /// Prefix of the C names of functions.
        prefix: optional(Symbol),
        /// Kind `export` and `import`: the C macro for weak linkage, which optional functions have.
        weak: optional(Symbol),
        /// Fallbacks written by hand: name → description.
        strategies: optional(Map(&Line)),
        /// Names of other programs that docs mention in backticks, and names of the host's header that the spec leaves out.
        names: optional(List(&Symbol)),
        /// Kind `table`: the functions that the SDK offers for it.
        sdk: optional(Shape(&SDK)),
        /// Kind `export`: the Python package that has the functions.
        python: optional(Shape(&PYTHON_PACKAGE)),
    }

    static ERROR = "an error object" {
        /// The handle that functions return; null is success.
        type: needed(Type),
        /// The function that takes it and returns its `status`.
        code: needed(Snake),
        /// The function that takes it and returns its text.
        message: needed(Snake),
        /// The function that destroys it.
        destroy: needed(Snake),
        /// Kind `import`: the function that makes one from a `status` and a text.
        make: optional(Snake),
    }

    static ARGS = "the head of structs of arguments" {
        /// The first member: the size of the struct in bytes, as the caller knows it.
        size_field: needed(Snake),
        /// The reserved pointer after it, which is null.
        extension: optional(Snake),
    }

    static PYTHON_PACKAGE = "a Python package" {
        /// Its name; functions without a module are in the package itself.
        package: needed(Snake),
        /// The conventions of calls. With `plain`, the default, functions take arguments by position or name, return their
        /// outputs, and raise an exception if they fail. With `acl`, they take positional arguments and return the status
        /// as the last result; the module `_call` is written by hand.
        conventions: optional(Word(&["plain", "acl"])),
        /// Conventions `plain` only, and needed there: the file of the library, such as `libimaging.so`. The environment
        /// variable with the name of the package and `_LIBRARY`, in capitals, names another one.
        library: optional(Line),
        /// The modules in it, in the order of the docs.
        modules: optional(Map(&Shape(&PYTHON_MODULE))),
    }

    static PYTHON_MODULE = "a Python module" {
        SUMMARY,
        DOC,
        /// True if the whole file is written by hand.
        by_hand: optional(Bool),
    }

    static SDK = "an SDK section" {
        /// Prefix of the C names of functions and types.
        prefix: needed(Snake),
        /// The id that the SDK replaces with its own device handle.
        device: needed(Type),
        /// Functions that only the SDK itself may call; it refuses calls by programs.
        manages: optional(List(&Snake)),
    }

    static RELEASE = "a release" {
        /// Its name, in quotes.
        release: needed(Release),
        /// Exact host versions that were checked, in quotes.
        hosts: needed(List(&Release)),
        /// A note on how to recognise it.
        note: optional(Line),
        /// The number with which a program asks for it, and which objects state.
        number: optional(Integer),
    }

    static HOST_TABLE = "a table of a host" {
        /// C name of the struct. It has no head.
        struct: needed(Symbol),
    }

    static TABLE = "a table" {
        /// C name of the struct.
        struct: needed(Symbol),
        /// The first member: the size of the struct in bytes.
        size_field: needed(Snake),
        /// Slots, in the order of the ABI.
        blocks: needed(List(&Shape(&BLOCK))),
    }

    static EXTENSION = "an extension" {
        /// C name of the struct, which begins with its size and its version.
        struct: needed(Symbol),
        /// The symbol that a plugin exports; it returns the struct's address.
        entry: needed(Symbol),
        /// Releases of the extension, oldest first.
        releases: needed(List(&Shape(&EXTENSION_RELEASE))),
        DOC,
    }

    static EXTENSION_RELEASE = "a release of an extension" {
        /// Its name, in quotes: major and minor number.
        release: needed(Release),
        /// The functions that it added, one for each slot.
        slots: needed(List(&Snake)),
    }

    static BLOCK = "a block of slots" {
        /// Name of the block.
        block: needed(Snake),
        /// Data members before the slots of the block.
        fields: optional(Map(&Shape(&PARAM))),
        /// Functions, one for each slot; required for a block without `fields`.
        slots: optional(List(&Any(&[Snake, Shape(&SLOT)]))),
        /// Unused slots at the end of the block.
        reserved: optional(Shape(&RESERVED)),
    }

    static SLOT = "a slot" {
        /// Functions that have the slot in different releases.
        one_of: optional(List(&Snake)),
        /// A function whose slot was part of the block's reserve.
        reserved: optional(Snake),
    }

    static RESERVED = "a reserve" {
        /// Name of the array in C.
        name: needed(Symbol),
        /// Number of its slots in the first release.
        count: needed(Integer),
    }

    static PLUGIN = "a hand-over" {
        /// The symbol that a plugin exports; it takes a pointer to the params, or returns the table.
        entry: needed(Symbol),
        /// `table`: the plugin owns the table, and the entry returns its address.
        owns: optional(Word(&["table"])),
        /// The struct that host and plugin fill together.
        params: optional(Pascal),
        /// The field that points to the table.
        table: optional(Snake),
        /// The field that holds the size of the params in bytes.
        size: optional(Snake),
        /// The version that a plugin states.
        version: optional(Shape(&VERSION)),
        /// The field that names the device.
        device_type: optional(Snake),
        /// The field that names the variant of the device.
        sub_device_type: optional(Snake),
        DOC,
    }
}

/// The keys of a hand-over in which the host owns the table.
pub static HAND_OVER_PARAMS: [&str; 5] = ["params", "table", "size", "version", "device_type"];

shapes! {
    static VERSION = "a version" {
        /// The field for the version.
        field: needed(Snake),
        /// The version, in quotes.
        value: needed(Release),
        /// Prefix of the C macros with its numbers.
        macro: optional(Symbol),
    }
}
