//! The declarations of a C header, as far as the spec language can express them.

/// The declarations of a header, in its order.
#[derive(Debug, Default)]
pub struct Header {
    /// Functions.
    pub functions: Vec<FunctionDecl>,
    /// Enums.
    pub enums: Vec<EnumDecl>,
    /// Structs with their members.
    pub structs: Vec<StructDecl>,
    /// Names of pointers to functions.
    pub callbacks: Vec<CallbackDecl>,
    /// Names of incomplete structs, and of pointers to them.
    pub handles: Vec<HandleDecl>,
    /// Further names of types: each with the name by which the type is listed.
    pub aliases: Vec<(String, String)>,
}

/// A function, or a pointer to one that is a member of a struct.
#[derive(Clone, Debug)]
pub struct FunctionDecl {
    /// Its name in C.
    pub name: String,
    /// The comment before it, without its marks.
    pub comment: String,
    /// Its parameters.
    pub params: Vec<ParamDecl>,
    /// Its result.
    pub result: CType,
    /// True if callers may pass further arguments.
    pub is_variadic: bool,
}

/// A parameter, or a member of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamDecl {
    /// Its name; empty if the header has none.
    pub name: String,
    /// The comment of a member.
    pub comment: String,
    /// Its type.
    pub ty: CType,
}

/// An enum.
#[derive(Debug)]
pub struct EnumDecl {
    /// Its name in C.
    pub name: String,
    /// The comment before it.
    pub comment: String,
    /// Its values: names, numbers and comments.
    pub values: Vec<(String, i64, String)>,
}

/// A struct with its members.
#[derive(Debug)]
pub struct StructDecl {
    /// Its name in C.
    pub name: String,
    /// The comment before it.
    pub comment: String,
    /// Its members. Pointers to functions without a name are [`CType::Function`].
    pub fields: Vec<ParamDecl>,
    /// True if a member cannot be described: a bit field, or a struct without a name.
    pub is_opaque: bool,
}

/// A name of a pointer to a function.
#[derive(Debug)]
pub struct CallbackDecl {
    /// Its name in C.
    pub name: String,
    /// The comment before it.
    pub comment: String,
    /// Its parameters.
    pub params: Vec<ParamDecl>,
    /// Its result.
    pub result: CType,
}

/// An incomplete struct, or a name of a pointer to one.
#[derive(Debug)]
pub struct HandleDecl {
    /// Its name in C.
    pub name: String,
    /// The comment before it.
    pub comment: String,
    /// The tag of the struct, if the name is that of a pointer; empty: a `void*`.
    pub pointer_to: Option<String>,
    /// True if the name is that of a pointer to const.
    pub is_const: bool,
}

/// A type, with the names of the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CType {
    /// `void`.
    Void,
    /// A primitive, by its name in the spec language.
    Primitive(&'static str),
    /// A type that the header names.
    Named(String),
    /// A pointer.
    Pointer {
        /// True if it points to const.
        is_const: bool,
        /// The type that it points to.
        target: Box<CType>,
    },
    /// An array of fixed length.
    Array {
        /// The type of its elements.
        element: Box<CType>,
        /// Their number.
        count: u64,
    },
    /// A pointer to a function without a name.
    Function {
        /// Its parameters.
        params: Vec<ParamDecl>,
        /// Its result.
        result: Box<CType>,
    },
    /// A type that the spec language cannot describe, as C spells it.
    Other(String),
}

impl Header {
    /// Returns the name of a pointer to const that leads to the same struct as a handle.
    pub fn const_name(&self, handle: &HandleDecl) -> Option<&str> {
        let tag = handle.pointer_to.as_ref().filter(|tag| !tag.is_empty() && !handle.is_const)?;
        let found =
            self.handles.iter().find(|other| other.is_const && other.pointer_to.as_ref() == Some(tag));
        found.map(|other| other.name.as_str())
    }

    /// Returns true if a handle is the first name of what it leads to, and no name for const if there is another.
    pub fn is_first(&self, handle: &HandleDecl) -> bool {
        let Some(tag) = handle.pointer_to.as_ref().filter(|tag| !tag.is_empty()) else { return true };
        let others = || self.handles.iter().filter(|other| other.pointer_to.as_ref() == Some(tag));
        let first = others().find(|other| !other.is_const).or_else(|| others().next());
        first.is_some_and(|first| first.name == handle.name)
    }
}

impl CType {
    /// Returns what a pointer points to.
    pub fn target(&self) -> Option<(&CType, bool)> {
        match self {
            CType::Pointer { is_const, target } => Some((target, *is_const)),
            _ => None,
        }
    }
}
