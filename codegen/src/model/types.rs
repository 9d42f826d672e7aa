//! Types: their descriptions, and references to them.

use super::{Availability, ComputeKind, GroupId, Object, Param, Places, Prose, TypeId};
use crate::source::At;

/// A described type.
#[derive(Debug)]
pub struct Type {
    /// Its name in Rust, Python and the docs.
    pub name: At<String>,
    /// Its name in C.
    pub c_name: String,
    /// The kind.
    pub kind: TypeKind,
    /// One line.
    pub summary: String,
    /// Longer, in Markdown.
    pub doc: String,
    /// Its meaning in computations, if it has one.
    pub compute: Option<ComputeKind>,
    /// The releases that have it.
    pub availability: Availability,
    /// The group that describes it.
    pub group: GroupId,
    /// True if only functions that a library refuses take it.
    pub is_refused: bool,
    /// The spans of its keys.
    pub places: Places,
}

/// The kind of a type.
#[derive(Debug)]
pub enum TypeKind {
    /// An opaque pointer.
    Handle {
        /// The C type.
        form: HandleForm,
        /// True if a parameter that the function only reads is a pointer to const in C. Only for the form
        /// [`HandleForm::Pointee`].
        is_const: bool,
        /// The C name for a pointer to a read-only object.
        const_name: Option<String>,
        /// The meaning of null, if it is allowed.
        null: Option<String>,
        /// True if it is a stream: work runs in its order.
        orders: bool,
        /// The struct, if it is an object with functions, which the implementer makes.
        object: Option<Box<Object>>,
    },
    /// A number in a struct, passed by pointer.
    Id {
        /// The struct tag.
        tag: String,
        /// Name of the member.
        field: String,
        /// Type of the member.
        ty: Ty,
    },
    /// An enum.
    Enum {
        /// True if the values are bits.
        flags: bool,
        /// The C declaration.
        form: EnumForm,
        /// The integer type of its values.
        representation: Representation,
        /// The numbers.
        values: Vec<EnumValue>,
    },
    /// A struct.
    Struct {
        /// True if it has no tag.
        anonymous: bool,
        /// True if it is a union.
        is_union: bool,
        /// True if C has no name for it, and declares it in the structs that have a field of it.
        is_unnamed: bool,
        /// Its members.
        fields: Vec<Param>,
    },
    /// A pointer to a function.
    Callback {
        /// Its parameters.
        params: Vec<Param>,
        /// The result; `None`: it returns nothing.
        result: Option<Box<Param>>,
        /// True if it is called once each time it is passed to a function, and never if that call fails.
        once: bool,
    },
}

/// The integer type of an enum, in C and in all bindings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Representation {
    /// `int`
    Int,
    /// `unsigned int`: a value is 2^31 or more.
    Unsigned,
}

/// The C declaration of an enum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnumForm {
    /// `typedef enum { … } Name`
    Named,
    /// `typedef int Name`, and an unnamed enum with the values
    Int,
    /// `typedef int Name` or `typedef unsigned int Name`, and a macro for each value
    Macros,
}

impl Representation {
    /// Returns the type that has all values.
    pub fn of(values: &[EnumValue]) -> Self {
        let is_large = |value: &EnumValue| value.value > i64::from(i32::MAX);
        if values.iter().any(is_large) { Representation::Unsigned } else { Representation::Int }
    }

    /// Returns the primitive of the same size and sign.
    pub fn ty(self) -> Ty {
        Ty::Int { bits: 32, signed: self == Representation::Int }
    }

    /// Returns its name in C.
    pub fn c_name(self) -> &'static str {
        match self {
            Representation::Int => "int",
            Representation::Unsigned => "unsigned int",
        }
    }

    /// Returns true if it has a number.
    pub fn has(self, number: i64) -> bool {
        match self {
            Representation::Int => i32::try_from(number).is_ok(),
            Representation::Unsigned => u32::try_from(number).is_ok(),
        }
    }
}

impl EnumForm {
    /// Returns the form in plain C, where an enumerator is an `int`.
    pub fn in_c(self, representation: Representation) -> Self {
        match representation {
            Representation::Int => self,
            Representation::Unsigned => EnumForm::Macros,
        }
    }
}

/// The C declaration of a handle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandleForm {
    /// `typedef void* Name`
    Void,
    /// `typedef struct Tag* Name`
    Tagged(String),
    /// `typedef struct Tag Name`, passed as `Name*`
    Pointee(String),
}

impl Type {
    /// Returns the values of an enum; empty for other types.
    pub fn enum_values(&self) -> &[EnumValue] {
        match &self.kind {
            TypeKind::Enum { values, .. } => values,
            TypeKind::Handle { .. }
            | TypeKind::Id { .. }
            | TypeKind::Struct { .. }
            | TypeKind::Callback { .. } => &[],
        }
    }

    /// Returns true for an enum, and for a struct that has a name in C.
    pub fn is_enum_or_struct(&self) -> bool {
        matches!(self.kind, TypeKind::Enum { .. } | TypeKind::Struct { is_unnamed: false, .. })
    }
}

impl HandleForm {
    /// Returns the struct tag of the handle, if it has one.
    pub fn tag(&self) -> Option<&str> {
        match self {
            HandleForm::Void => None,
            HandleForm::Tagged(tag) | HandleForm::Pointee(tag) => Some(tag),
        }
    }
}

/// A named number.
#[derive(Debug)]
pub struct EnumValue {
    /// Its name.
    pub name: At<String>,
    /// Its name in C.
    pub c_name: String,
    /// The number.
    pub value: i64,
    /// The meaning.
    pub summary: Prose,
    /// True if it is a second name for the number of another value.
    pub alias: bool,
    /// The role in generated code.
    pub means: Option<Meaning>,
    /// The releases that have it.
    pub availability: Availability,
    /// The spans of its keys.
    pub places: Places,
}

/// The role of a status in generated code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// An argument is null, out of range or stale.
    InvalidArgument,
    /// The function is not implemented.
    Unsupported,
    /// The implementation panicked.
    Internal,
}

/// A reference to a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ty {
    /// `bool`
    Bool,
    /// An integer of fixed width.
    Int {
        /// 8, 16, 32 or 64.
        bits: u8,
        /// True if it is signed.
        signed: bool,
    },
    /// `float`
    F32,
    /// `double`
    F64,
    /// `size_t`
    Size,
    /// `unsigned long long`: as wide as `u64`, but a different type in C++.
    ULongLong,
    /// `char`
    Char,
    /// A NUL-terminated string.
    String,
    /// `void*`
    Pointer,
    /// A described type.
    Named(TypeId),
}
