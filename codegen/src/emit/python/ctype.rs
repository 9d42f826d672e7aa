//! C types in ctypes, and their type hints.

use crate::model::python_form::Item;
use crate::model::*;

/// A C type in Python.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CType {
    /// A boolean.
    Bool,
    /// An integer, by its name in ctypes.
    Int(&'static str),
    /// A floating-point number, by its name in ctypes.
    Float(&'static str),
    /// One byte of a string.
    Char,
    /// An address or a handle: an integer, 0 for null.
    Address,
    /// A NUL-terminated string.
    Text,
    /// An enum, by the name of its class and its integer type.
    Enum(String, Representation),
    /// A struct, by the name of its class.
    Struct(String),
    /// A struct that callers pass as a dict of its fields, by the name of its class.
    Dict(String),
    /// A callback, by the name of its class.
    Callback(String),
    /// A pointer that Python may dereference.
    Pointer(Box<CType>),
    /// An array of fixed length.
    Array(Box<CType>, u64),
    /// The type hint of an object that only a hand-written body understands.
    Object(&'static str),
}

impl CType {
    /// Returns the type for a type of the spec, whatever its direction.
    pub fn of(spec: &Spec, ty: Ty) -> CType {
        match ty {
            Ty::Bool => CType::Bool,
            Ty::Int { bits, signed } => CType::Int(match (bits, signed) {
                (8, true) => "_C.c_int8",
                (16, true) => "_C.c_int16",
                (32, true) => "_C.c_int32",
                (_, true) => "_C.c_int64",
                (8, false) => "_C.c_uint8",
                (16, false) => "_C.c_uint16",
                (32, false) => "_C.c_uint32",
                (_, false) => "_C.c_uint64",
            }),
            Ty::F32 => CType::Float("_C.c_float"),
            Ty::F64 => CType::Float("_C.c_double"),
            Ty::Size => CType::Int("_C.c_size_t"),
            Ty::ULongLong => CType::Int("_C.c_ulonglong"),
            Ty::Char => CType::Char,
            Ty::String => CType::Text,
            Ty::Pointer => CType::Address,
            Ty::Named(id) => CType::of_type(spec.ty(id)),
        }
    }

    /// Returns the type for a described type.
    pub fn of_type(ty: &Type) -> CType {
        let name = ty.name.value.clone();
        match &ty.kind {
            // C passes an id by the address of a struct, which is an opaque handle for everything except the plugin.
            TypeKind::Handle { .. } | TypeKind::Id { .. } => CType::Address,
            TypeKind::Enum { representation, .. } => CType::Enum(name, *representation),
            TypeKind::Struct { .. } => CType::Struct(name),
            TypeKind::Callback { .. } => CType::Callback(name),
        }
    }

    /// Returns the type of a value in a package whose callers use plain integers: for addresses, which are never
    /// `None`, and for enums.
    pub fn plain(spec: &Spec, item: Item) -> CType {
        match item {
            Item::Address => CType::Int("_C.c_uint64"),
            Item::Number(Ty::Char) => CType::Int("_C.c_uint8"),
            Item::Number(Ty::Bool) => CType::Int("_C.c_bool"),
            Item::Number(ty) | Item::Float(ty) => CType::of(spec, spec.integer_of(ty).unwrap_or(ty)),
            Item::Dict(id) => CType::Dict(spec.ty(id).name.value.clone()),
        }
    }

    /// Returns the type for `argtypes` and `_fields_`: `c_size_t`.
    pub fn name(&self) -> String {
        match self {
            CType::Bool => "_C.c_bool".to_owned(),
            CType::Int(name) | CType::Float(name) => (*name).to_owned(),
            CType::Char => "_C.c_char".to_owned(),
            CType::Address => "_C.c_void_p".to_owned(),
            CType::Text => "_C.c_char_p".to_owned(),
            CType::Enum(_, Representation::Int) => "_C.c_int".to_owned(),
            CType::Enum(_, Representation::Unsigned) => "_C.c_uint".to_owned(),
            CType::Struct(name) | CType::Dict(name) | CType::Callback(name) => name.clone(),
            CType::Pointer(to) => format!("_C.POINTER({})", to.name()),
            CType::Array(of, count) => format!("{} * {count}", of.name()),
            CType::Object(_) => "_C.c_uint64".to_owned(),
        }
    }

    /// Returns the type of a pointer to it; for an array, to its elements.
    pub fn pointer(&self) -> String {
        match self {
            CType::Char => "_C.c_char_p".to_owned(),
            CType::Array(of, _) => format!("_C.POINTER({})", of.name()),
            ctype => format!("_C.POINTER({})", ctype.name()),
        }
    }

    /// Returns the type hint of an argument: `int`, also for an enum, which accepts integers.
    pub fn hint(&self) -> String {
        match self {
            CType::Bool => "bool".to_owned(),
            CType::Int(_) | CType::Address | CType::Enum(..) => "int".to_owned(),
            CType::Float(_) => "float".to_owned(),
            CType::Char => "bytes".to_owned(),
            CType::Text => "str".to_owned(),
            CType::Struct(name) | CType::Callback(name) => name.clone(),
            CType::Dict(_) => "_Abc.Mapping[str, _T.Any]".to_owned(),
            CType::Pointer(to) => format!("_C._Pointer[{}]", to.name()),
            CType::Array(of, _) => format!("list[{}]", of.hint()),
            CType::Object(hint) => (*hint).to_owned(),
        }
    }

    /// Returns the type hint of a result: for an enum, its class.
    pub fn given(&self) -> String {
        match self {
            CType::Enum(name, _) => name.clone(),
            CType::Dict(_) => "dict[str, _T.Any]".to_owned(),
            CType::Array(of, _) => format!("list[{}]", of.given()),
            ctype => ctype.hint(),
        }
    }

    /// Returns the type hint of a field of a `Structure`, and of the return value of a foreign function.
    pub fn raw(&self) -> String {
        match self {
            CType::Text => "bytes | None".to_owned(),
            CType::Address => "int | None".to_owned(),
            CType::Array(of, _) => format!("_C.Array[{}]", of.name()),
            ctype => ctype.hint(),
        }
    }

    /// Returns the Python expression for the value of a ctypes object: `size.value`.
    pub fn read(&self, object: &str) -> String {
        match self {
            CType::Struct(_) | CType::Callback(_) | CType::Pointer(_) | CType::Object(_) => object.to_owned(),
            CType::Dict(_) => format!("_Call.unpacked({object})"),
            CType::Array(of, _) => of.read_list(object),
            ctype => ctype.cooked(&format!("{object}.value")),
        }
    }

    /// Returns the Python expression for what ctypes returns for this type.
    pub fn cooked(&self, raw: &str) -> String {
        match self {
            CType::Address => format!("{raw} or 0"),
            CType::Text => format!("_Text.decode({raw})"),
            CType::Enum(name, _) => format!("{name}({raw})"),
            CType::Dict(_) => format!("_Call.unpacked({raw})"),
            _ => raw.to_owned(),
        }
    }

    /// Returns the Python expression for a list of an array's elements.
    pub fn read_list(&self, array: &str) -> String {
        match self {
            CType::Address | CType::Text | CType::Enum(..) => {
                format!("[{} for value in {array}]", self.cooked("value"))
            }
            CType::Dict(_) => format!("[{} for each in {array}]", self.cooked("each")),
            _ => format!("_B.list({array})"),
        }
    }

    /// Adds the enum's class to a description, because the type hint is only `int`.
    pub fn named_in(&self, doc: &str) -> String {
        match self {
            CType::Enum(name, _) => format!("{doc} A ``{name}``."),
            _ => doc.to_owned(),
        }
    }

    /// Returns the word for null in a text about a value.
    pub fn null(&self) -> &'static str {
        match self {
            CType::Address | CType::Int(_) | CType::Float(_) | CType::Bool | CType::Enum(..) => "0",
            _ => "None",
        }
    }
}
