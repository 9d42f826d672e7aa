//! How the ABI passes parameters, fields and results. Each language with a C ABI spells the same decision.

use super::{Direction, HandleForm, Length, Param, Role, Spec, Ty, TypeKind};

/// How the ABI passes a value. `is_const` is true if the callee only reads what the address points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing {
    /// As a value.
    Value,
    /// By the address of a place for a value.
    Place {
        /// See [`Passing`].
        is_const: bool,
    },
    /// By the address of the first element. A language decides about `const` for the array and for what elements lead to.
    Array,
    /// By the address of a place for the address of a list that the callee owns.
    LentList,
    /// By an address of memory.
    Memory {
        /// See [`Passing`].
        is_const: bool,
    },
    /// By the address of a place for an address of memory.
    MemoryPlace {
        /// See [`Passing`].
        is_const: bool,
    },
    /// By the address of a character: a NUL-terminated text, or as many characters as another parameter says.
    Text {
        /// See [`Passing`].
        is_const: bool,
    },
    /// By the address of a place for the address of a text.
    TextPlace {
        /// See [`Passing`].
        is_const: bool,
    },
    /// By the address of an object of an incomplete type.
    Object {
        /// See [`Passing`].
        is_const: bool,
    },
    /// By the address of a place for the address of such an object.
    ObjectPlace {
        /// See [`Passing`]; of the object.
        is_const: bool,
    },
    /// By the address of a struct.
    Struct {
        /// See [`Passing`].
        is_const: bool,
    },
}

impl Spec {
    /// Returns how the ABI passes a parameter, a field or a result.
    pub fn passing(&self, param: &Param) -> Passing {
        let is_written = param.dir != Direction::In;
        let is_made = is_written && param.role == Role::Creates;
        let is_const = |by_default: bool| param.constness.unwrap_or(by_default);
        if param.is_lent_list() {
            return Passing::LentList;
        }
        if param.lent && is_written && param.ty == Ty::String {
            return Passing::TextPlace { is_const: is_const(true) };
        }
        if param.lent && is_written {
            return Passing::ObjectPlace { is_const: is_const(false) };
        }
        if matches!(param.length, Some(Length::Count(_))) {
            return Passing::Array;
        }
        match param.ty {
            Ty::Pointer if is_made => Passing::MemoryPlace { is_const: is_const(false) },
            Ty::Pointer => {
                let is_read = !is_written && param.length.is_some() && param.role != Role::Destroys;
                Passing::Memory { is_const: is_const(is_read) }
            }
            Ty::String if is_made => Passing::TextPlace { is_const: is_const(false) },
            Ty::String => Passing::Text { is_const: is_const(!is_written) },
            Ty::Char if param.length.is_some() => Passing::Text { is_const: is_const(!is_written) },
            Ty::Named(id) => match &self.ty(id).kind {
                // The ABI's type for them is an address.
                TypeKind::Id { .. } => Passing::Value,
                _ if self.const_handle_name(param).is_some() && is_written => {
                    Passing::Place { is_const: false }
                }
                _ if self.const_handle_name(param).is_some() => Passing::Value,
                TypeKind::Handle { form: HandleForm::Pointee(_), .. } if is_made => {
                    Passing::ObjectPlace { is_const: is_const(false) }
                }
                TypeKind::Handle { form: HandleForm::Pointee(_), .. } => {
                    Passing::Object { is_const: self.points_to_const(param) }
                }
                TypeKind::Struct { .. } if param.by_pointer => {
                    Passing::Struct { is_const: is_const(!is_written) }
                }
                _ if is_written => Passing::Place { is_const: is_const(false) },
                _ => Passing::Value,
            },
            _ if is_written => Passing::Place { is_const: is_const(false) },
            _ => Passing::Value,
        }
    }
}
