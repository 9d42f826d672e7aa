//! The kinds of outputs: the keys of `outputs` in `spec.yaml`. Each has an emitter.

use crate::yaml::shape::Value::{self, Line};
use crate::yaml::shape::{Key, Shape, needed, optional, shapes};

/// A kind of output.
#[derive(Debug)]
pub struct OutputKind {
    /// The key of `outputs` that asks for it.
    pub key: &'static str,
    /// The documentation of the key.
    doc: &'static str,
    /// The form of the key's value.
    pub takes: Takes,
}

/// The form of the value of a key.
#[derive(Debug)]
pub enum Takes {
    /// A folder that may contain nothing else.
    OwnFolder,
    /// A folder that may contain other files.
    Folder,
    /// A file.
    File,
    /// Interface → file.
    FilePerInterface,
    /// [`Takes::OwnFolder`] or [`Takes::FilePerInterface`].
    OwnFolderOrFiles,
    /// A mapping with the file as `to`, and the files that it is made from.
    FileFrom(&'static Shape),
}

impl OutputKind {
    const fn key(&self) -> Key {
        const FILES: Value = Value::Map(&Line);
        let value = match self.takes {
            Takes::OwnFolder | Takes::Folder | Takes::File => Line,
            Takes::FilePerInterface => FILES,
            Takes::OwnFolderOrFiles => Value::Any(&[Line, FILES]),
            Takes::FileFrom(shape) => Value::Shape(shape),
        };
        Key { name: self.key, doc: self.doc, ..optional(value) }
    }
}

macro_rules! kinds {
    ($($name:ident = $key:literal, $takes:expr, $doc:literal;)*) => {
        $(
            #[doc = $doc]
            pub static $name: OutputKind = OutputKind { key: $key, doc: $doc, takes: $takes };
        )*

        /// All kinds, in the order in which they are written.
        pub static KINDS: &[&OutputKind] = &[$(&$name),*];

        /// The mapping `outputs`.
        pub(super) static OUTPUTS: Shape = Shape {
            name: "the list of outputs",
            keys: &[
                $($name.key(),)*
                Key {
                    name: "uncommitted",
                    doc: "Outputs that are not committed: `--check` skips them.",
                    ..optional(Value::List(&Value::Word(&[$($key),*])))
                },
            ],
        };
    };
}

kinds! {
    HEADER = "header", Takes::Folder, "Folder of the C headers.";
    C_OPERATORS = "c_operators", Takes::File, "The C header with the arguments of operators.";
    REFERENCE = "reference", Takes::OwnFolder, "Folder of the Markdown reference.";
    SCHEMA = "schema", Takes::OwnFolder, "Folder of the JSON Schema of the spec language.";
    RUST = "rust", Takes::OwnFolderOrFiles, "Folder of the Rust modules, one file for each interface; or interface → the file of its module, or a folder for its parts.";
    RUST_EXPORTS = "rust_exports", Takes::FilePerInterface, "Export, or interface with `sdk` → the Rust file with its C functions, or a folder with a file for each group.";
    RUST_FORWARDERS = "rust_forwarders", Takes::FilePerInterface, "Export → the Rust file that lists the C functions for another library, which call those of `rust_exports`. The latter then have no symbols.";
    RUST_TRAITS = "rust_traits", Takes::File, "The Rust file with the table of traits, from which the attribute macros take their messages.";
    RUST_FORMULAS = "rust_formulas", Takes::OwnFolder, "Folder of the Rust loops of operators, one file for each group.";
    RUST_OPERATOR_ATTRIBUTES = "rust_operator_attributes", Takes::OwnFolder, "Folder of the Rust structs of attributes of operators, one file for each group.";
    RUST_OPERATORS = "rust_operators", Takes::OwnFolder, "Folder of the Rust traits of operators, one file for each group.";
    RUST_OPERATOR_LIST = "rust_operator_list", Takes::File, "The Rust file with the list of the methods of operators, for macros.";
    RUST_OPERATOR_PLANS = "rust_operator_plans", Takes::File, "The Rust file with the plans of operators that other operators of the same device compute.";
    RUST_KERNELS = "rust_kernels", Takes::FilePerInterface, "Import → the folder of the Rust kernels for its host, one file for each group.";
    RUST_NODES = "rust_nodes", Takes::FilePerInterface, "Import → the folder of the Rust lists of nodes of its models, one file for each group.";
    RUST_COMPUTATIONS = "rust_computations", Takes::FilePerInterface, "Export → the folder of the Rust functions that are computed with operators, one file for each group that has some.";
    PYTHON = "python", Takes::Folder, "Folder of the Python packages.";
    PYTHON_OPERATORS = "python_operators", Takes::OwnFolder, "Folder of the Python functions of operators, one module for each group.";
    PYTHON_OPERATOR_CASES = "python_operator_cases", Takes::File, "File of the elementwise operators with their references, for tests in Python.";
    SUMMARY = "summary", Takes::FileFrom(&SUMMARY_FILE), "The table of contents of the book around the reference.";
    EXPORTS = "exports", Takes::FileFrom(&EXPORTS_FILE), "The C header of hand-written exports, which the command generates with cbindgen.";
    JSON = "json", Takes::File, "File with the resolved spec as JSON, for generators of your own.";
}

shapes! {
    static EXPORTS_FILE = "a header of exports" {
        /// The root of the crate with the exports.
        from: needed(Line),
        /// The configuration of cbindgen.
        config: needed(Line),
        /// The header.
        to: needed(Line),
    }

    static SUMMARY_FILE = "a table of contents" {
        /// The file with the hand-written chapters and a line `{{ reference }}`.
        template: needed(Line),
        /// The file that mdBook reads.
        to: needed(Line),
    }
}
