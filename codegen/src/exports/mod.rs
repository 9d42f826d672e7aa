//! The hand-written C exports of a crate, beside the functions of the spec: read from its sources, with its
//! documentation.
//!
//! The C header of the same exports is made by cbindgen; this is for languages that cbindgen does not write.

mod doc;
mod read;

use std::collections::BTreeMap;
use std::path::PathBuf;

pub use doc::{Direction, Doc};
pub use read::read;

/// The exports of a crate.
#[derive(Clone, Debug, Default)]
pub struct Exports {
    /// Public constants that are whole numbers.
    pub constants: Vec<Constant>,
    /// Types that C can name.
    pub types: Vec<Type>,
    /// Exported functions.
    pub functions: Vec<Function>,
    /// C names of items that have another name in Rust, and of types that are exported elsewhere.
    pub renamed: BTreeMap<String, String>,
    /// Their C header, without its first line.
    pub header: String,
}

/// A public constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// Its name in Rust.
    pub name: String,
    /// Its value.
    pub value: u64,
}

/// A type.
#[derive(Clone, Debug)]
pub struct Type {
    /// Its name in Rust.
    pub name: String,
    /// The kind of type.
    pub kind: TypeKind,
    /// Its documentation.
    pub doc: Doc,
}

/// The kind of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeKind {
    /// A number that stands for something: `struct DeviceHandle(usize)`.
    Handle,
    /// Named numbers, with what each means.
    Enum(Vec<(String, i64, String)>),
    /// A struct.
    Struct(Vec<Field>),
    /// A pointer to a function that may be null.
    Callback {
        /// Its parameters.
        params: Vec<(String, Ty)>,
        /// The result; `None`: nothing.
        result: Option<Ty>,
    },
}

/// A field of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Ty,
    /// The type.
    pub doc: String,
}

/// An exported function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its symbol.
    pub name: String,
    /// Its parameters.
    pub params: Vec<(String, Ty)>,
    /// The result; `None`: nothing.
    pub result: Option<Ty>,
    /// Its documentation.
    pub doc: Doc,
}

/// A type as it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ty {
    /// A type by the last part of its path: `usize`, `c_char`, `DeviceHandle`.
    Named(String),
    /// A pointer.
    Pointer(Box<Ty>),
    /// An array of a fixed length.
    Array(Box<Ty>, u64),
}

/// The reason for which the exports could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A file could not be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file is not Rust.
    #[error("`{}` is not Rust", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// The location and the reason.
        source: syn::Error,
    },
    /// Something is exported that the reader does not know.
    #[error("`{item}` in `{}`: {reason}", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// The name.
        item: String,
        /// The missing fact about it.
        reason: String,
    },
}
