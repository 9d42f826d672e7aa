//! C types in ctypes, and their types for callers and type checkers.

use crate::language::python::Item;
use crate::model::*;

/// A type of C as Python sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CType {
    /// A truth value.
    Bool,
    /// A whole number, by the name that ctypes has for it.
    Int(&'static str),
    /// A floating-point number, by the name that ctypes has for it.
    Float(&'static str),
    /// One byte of a text.
    Char,
    /// An address or a handle: a number, 0 for null.
    Address,
    /// A NUL-terminated text.
    Text,
    /// A named number, by the name of its class.
    Enum(String),
    /// A struct, by the name of its class.
    Struct(String),
    /// A struct that callers see as a dict of its fields, by the name of its class.
    Dict(String),
    /// A pointer to a function, by the name of its class.
    Callback(String),
    /// The address of something that Python may follow.
    Pointer(Box<CType>),
    /// A fixed number of values, one after the other.
    Array(Box<CType>, u64),
    /// The type hint of an object that only a hand-written body understands.
    Object(&'static str),
}

impl CType {
    /// A type of the spec, whatever its direction.
    pub fn of(spec: &Spec, ty: Ty) -> CType {
        match ty {
            Ty::Bool => CType::Bool,
            Ty::Int { bits, signed } => CType::Int(match (bits, signed) {
                (8, true) => "c_int8",
                (16, true) => "c_int16",
                (32, true) => "c_int32",
                (_, true) => "c_int64",
                (8, false) => "c_uint8",
                (16, false) => "c_uint16",
                (32, false) => "c_uint32",
                (_, false) => "c_uint64",
            }),
            Ty::F32 => CType::Float("c_float"),
            Ty::F64 => CType::Float("c_double"),
            Ty::Size => CType::Int("c_size_t"),
            Ty::ULongLong => CType::Int("c_ulonglong"),
            Ty::Char => CType::Char,
            Ty::String => CType::Text,
            Ty::Pointer => CType::Address,
            Ty::Named(id) => CType::of_type(spec.ty(id)),
        }
    }

    /// A described type.
    pub fn of_type(ty: &Type) -> CType {
        let name = ty.name.value.clone();
        match &ty.kind {
            // C passes an id by the address of a struct, which is a handle to everybody but the plugin.
            TypeKind::Handle { .. } | TypeKind::Id { .. } => CType::Address,
            TypeKind::Enum { .. } => CType::Enum(name),
            TypeKind::Struct { .. } => CType::Struct(name),
            TypeKind::Callback { .. } => CType::Callback(name),
        }
    }

    /// A value of a package whose callers see plain numbers: addresses, which `None` is not, and named numbers.
    pub fn plain(spec: &Spec, item: Item) -> CType {
        match item {
            Item::Address => CType::Int("c_uint64"),
            Item::Number(Ty::Char) => CType::Int("c_uint8"),
            Item::Number(Ty::Bool) => CType::Int("c_bool"),
            Item::Number(Ty::Named(_)) => CType::Int("c_int32"),
            Item::Number(ty) | Item::Float(ty) => CType::of(spec, ty),
            Item::Dict(id) => CType::Dict(spec.ty(id).name.value.clone()),
        }
    }

    /// `c_size_t`: the type itself, as `argtypes` and `_fields_` have it.
    pub fn name(&self) -> String {
        match self {
            CType::Bool => "c_bool".to_owned(),
            CType::Int(name) | CType::Float(name) => (*name).to_owned(),
            CType::Char => "c_char".to_owned(),
            CType::Address => "c_void_p".to_owned(),
            CType::Text => "c_char_p".to_owned(),
            CType::Enum(_) => "c_int".to_owned(),
            CType::Struct(name) | CType::Dict(name) | CType::Callback(name) => name.clone(),
            CType::Pointer(to) => format!("POINTER({})", to.name()),
            CType::Array(of, count) => format!("{} * {count}", of.name()),
            CType::Object(_) => "c_uint64".to_owned(),
        }
    }

    /// The type of a pointer to it: of an array, to its elements.
    pub fn pointer(&self) -> String {
        match self {
            CType::Char => "c_char_p".to_owned(),
            CType::Array(of, _) => format!("POINTER({})", of.name()),
            ctype => format!("POINTER({})", ctype.name()),
        }
    }

    /// The type hint of an argument: `int`, also for a named number, which is one.
    pub fn hint(&self) -> String {
        match self {
            CType::Bool => "bool".to_owned(),
            CType::Int(_) | CType::Address | CType::Enum(_) => "int".to_owned(),
            CType::Float(_) => "float".to_owned(),
            CType::Char => "bytes".to_owned(),
            CType::Text => "str".to_owned(),
            CType::Struct(name) | CType::Callback(name) => name.clone(),
            CType::Dict(_) => "Mapping[str, Any]".to_owned(),
            CType::Pointer(to) => format!("_Pointer[{}]", to.name()),
            CType::Array(of, _) => format!("list[{}]", of.hint()),
            CType::Object(hint) => (*hint).to_owned(),
        }
    }

    /// The type hint of a result: a named number is a member of its class.
    pub fn given(&self) -> String {
        match self {
            CType::Enum(name) => name.clone(),
            CType::Dict(_) => "dict[str, Any]".to_owned(),
            CType::Array(of, _) => format!("list[{}]", of.given()),
            ctype => ctype.hint(),
        }
    }

    /// The type hint of a field of a `Structure`, and of the value that a foreign function returns.
    pub fn raw(&self) -> String {
        match self {
            CType::Text => "bytes | None".to_owned(),
            CType::Address => "int | None".to_owned(),
            CType::Array(of, _) => format!("Array[{}]", of.name()),
            ctype => ctype.hint(),
        }
    }

    /// The Python value of an object of the ctypes type: `size.value`.
    pub fn read(&self, object: &str) -> String {
        match self {
            CType::Struct(_) | CType::Callback(_) | CType::Pointer(_) | CType::Object(_) => object.to_owned(),
            CType::Dict(_) => format!("unpacked({object})"),
            CType::Array(of, _) => of.read_list(object),
            ctype => ctype.cooked(&format!("{object}.value")),
        }
    }

    /// The Python value of what ctypes returns for such a type.
    pub fn cooked(&self, raw: &str) -> String {
        match self {
            CType::Address => format!("{raw} or 0"),
            CType::Text => format!("decode({raw})"),
            CType::Enum(name) => format!("{name}({raw})"),
            CType::Dict(_) => format!("unpacked({raw})"),
            _ => raw.to_owned(),
        }
    }

    /// The Python list of an array of such.
    pub fn read_list(&self, array: &str) -> String {
        match self {
            CType::Address | CType::Text | CType::Enum(_) => {
                format!("[{} for value in {array}]", self.cooked("value"))
            }
            CType::Dict(_) => format!("[{} for each in {array}]", self.cooked("each")),
            _ => format!("list({array})"),
        }
    }

    /// A description with the numbers that have a meaning, if the type hint is only `int`.
    pub fn named_in(&self, doc: &str) -> String {
        match self {
            CType::Enum(name) => format!("{doc} A ``{name}``."),
            _ => doc.to_owned(),
        }
    }

    /// The word for null in the text about a value.
    pub fn null(&self) -> &'static str {
        match self {
            CType::Address | CType::Int(_) | CType::Float(_) | CType::Bool | CType::Enum(_) => "0",
            _ => "None",
        }
    }
}
