//! How ctypes spells a C type, and what a reader and a type checker see of it.

use crate::model::*;

/// What a value of C is in Python.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// A truth value.
    Bool,
    /// A whole number; the name that ctypes has for it.
    Int(&'static str),
    /// A floating-point number; the name that ctypes has for it.
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
    /// A pointer to a function, by the name of its class.
    Callback(String),
    /// The address of something that Python may follow.
    Pointer(Box<Form>),
    /// A fixed number of values, one behind the other.
    Array(Box<Form>, u64),
}

impl Form {
    /// The form of a type of the spec, whatever its direction.
    pub fn of(spec: &Spec, ty: Ty) -> Form {
        match ty {
            Ty::Bool => Form::Bool,
            Ty::Int { bits, signed } => Form::Int(match (bits, signed) {
                (8, true) => "c_int8",
                (16, true) => "c_int16",
                (32, true) => "c_int32",
                (64, true) => "c_int64",
                (8, false) => "c_uint8",
                (16, false) => "c_uint16",
                (32, false) => "c_uint32",
                (_, false) => "c_uint64",
                (_, true) => "c_int64",
            }),
            Ty::F32 => Form::Float("c_float"),
            Ty::F64 => Form::Float("c_double"),
            Ty::Size => Form::Int("c_size_t"),
            Ty::ULongLong => Form::Int("c_ulonglong"),
            Ty::Char => Form::Char,
            Ty::String => Form::Text,
            Ty::Pointer => Form::Address,
            Ty::Named(id) => Form::of_type(spec.ty(id)),
        }
    }

    /// The form of a described type.
    pub fn of_type(ty: &Type) -> Form {
        let name = ty.name.value.clone();
        match &ty.kind {
            // C passes an id by the address of a struct, which is a handle to everybody but the plugin.
            TypeKind::Handle { .. } | TypeKind::Id { .. } => Form::Address,
            TypeKind::Enum { .. } => Form::Enum(name),
            TypeKind::Struct { .. } => Form::Struct(name),
            TypeKind::Callback { .. } => Form::Callback(name),
        }
    }

    /// `c_size_t`: the type itself, as `argtypes` and `_fields_` have it.
    pub fn ctype(&self) -> String {
        match self {
            Form::Bool => "c_bool".to_owned(),
            Form::Int(name) | Form::Float(name) => (*name).to_owned(),
            Form::Char => "c_char".to_owned(),
            Form::Address => "c_void_p".to_owned(),
            Form::Text => "c_char_p".to_owned(),
            Form::Enum(_) => "c_int".to_owned(),
            Form::Struct(name) | Form::Callback(name) => name.clone(),
            Form::Pointer(to) => format!("POINTER({})", to.ctype()),
            Form::Array(of, count) => format!("{} * {count}", of.ctype()),
        }
    }

    /// What a caller passes: `int`, also for a named number, which is one.
    pub fn hint(&self) -> String {
        match self {
            Form::Bool => "bool".to_owned(),
            Form::Int(_) | Form::Address | Form::Enum(_) => "int".to_owned(),
            Form::Float(_) => "float".to_owned(),
            Form::Char => "bytes".to_owned(),
            Form::Text => "str".to_owned(),
            Form::Struct(name) | Form::Callback(name) => name.clone(),
            Form::Pointer(to) => format!("_Pointer[{}]", to.ctype()),
            Form::Array(of, _) => format!("list[{}]", of.hint()),
        }
    }

    /// What a caller gets: a named number by its name.
    pub fn given(&self) -> String {
        match self {
            Form::Enum(name) => name.clone(),
            Form::Array(of, _) => format!("list[{}]", of.given()),
            form => form.hint(),
        }
    }

    /// What reading the field of a `Structure` gives.
    pub fn field(&self) -> String {
        match self {
            Form::Text => "bytes | None".to_owned(),
            Form::Address => "int | None".to_owned(),
            Form::Array(of, _) => format!("Array[{}]", of.ctype()),
            form => form.hint(),
        }
    }

    /// The Python value of an object of the ctypes type: `size.value`.
    pub fn read(&self, object: &str) -> String {
        match self {
            Form::Bool | Form::Int(_) | Form::Float(_) | Form::Char => format!("{object}.value"),
            Form::Address => format!("{object}.value or 0"),
            Form::Text => format!("decode({object}.value)"),
            Form::Enum(name) => format!("{name}({object}.value)"),
            Form::Struct(_) | Form::Callback(_) | Form::Pointer(_) => object.to_owned(),
            Form::Array(of, _) => of.read_list(object),
        }
    }

    /// The Python list of an array of such: what indexing a ctypes array has not yet made a Python value of.
    pub fn read_list(&self, array: &str) -> String {
        match self {
            Form::Address => format!("[value or 0 for value in {array}]"),
            Form::Text => format!("[decode(value) for value in {array}]"),
            Form::Enum(name) => format!("[{name}(value) for value in {array}]"),
            _ => format!("list({array})"),
        }
    }

    /// What ctypes makes of the result of a foreign function.
    pub fn answered(&self) -> String {
        match self {
            Form::Text => "bytes | None".to_owned(),
            Form::Address => "int | None".to_owned(),
            form => form.hint(),
        }
    }

    /// The Python value of that.
    pub fn read_answer(&self, answer: &str) -> String {
        match self {
            Form::Address => format!("{answer} or 0"),
            Form::Text => format!("decode({answer})"),
            Form::Enum(name) => format!("{name}({answer})"),
            _ => answer.to_owned(),
        }
    }

    /// A description that says which numbers have a meaning, where the type says no more than `int`.
    pub fn named_in(&self, doc: &str) -> String {
        match self {
            Form::Enum(name) => format!("{doc} A ``{name}``."),
            _ => doc.to_owned(),
        }
    }

    /// The word for null where such a value may be null.
    pub fn null(&self) -> &'static str {
        match self {
            Form::Address => "0",
            Form::Int(_) | Form::Float(_) | Form::Bool | Form::Enum(_) => "null",
            _ => "None",
        }
    }
}
