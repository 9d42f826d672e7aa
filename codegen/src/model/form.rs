//! The form of each parameter in safe signatures, computed once for every emitter.
//!
//! In a safe signature, the length of a slice is not a parameter, outputs are the result, and a callback includes its
//! context.

use super::{
    Direction, Extent, Function, FunctionId, HandleForm, Holds, Length, Param, ParamId, Role, Space, Spec,
    Ty, TypeKind,
};

/// The form of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// Not a parameter of the signature: another one implies it.
    Carried(Carrier),
    /// A value: a scalar, a handle, an id, an enum, an address.
    Value,
    /// A value that the function reads and writes.
    InOut,
    /// Host memory with a length in bytes.
    Bytes {
        /// The number of bytes.
        len: Extent,
        /// True if the function writes them.
        mutable: bool,
    },
    /// Host memory with a number of elements.
    Slice {
        /// The number of elements.
        len: Extent,
        /// True if the function writes them.
        mutable: bool,
    },
    /// A struct of an address and a length in bytes.
    ByteBuffer {
        /// True if the function writes them.
        mutable: bool,
    },
    /// A NUL-terminated string.
    Text,
    /// The object whose function it is: the receiver of the method.
    Receiver {
        /// True if it is a parameter of the signature too, as an address.
        is_passed: bool,
    },
    /// An object that the implementer has made.
    Object,
    /// A value of the implementer's own, behind an address that it gave to the host.
    Own,
    /// A struct that is passed by address.
    StructRef {
        /// True if the function writes it.
        mutable: bool,
    },
    /// A callback, with the parameter that it implies.
    Callback {
        /// The pointer that is passed back to it.
        context: Option<ParamId>,
    },
    /// Part of the result.
    Output(Output),
}

/// The carrier of a parameter that is not in the signature: the value that implies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// The result: the parameter is the status of the call.
    Result,
    /// A callback: the parameter is the pointer that is passed back to it.
    Callback(ParamId),
    /// A slice: the parameter is its length. If several slices have this length, the first one.
    Slice(ParamId),
    /// A borrowed list: the parameter is its length.
    Lent(ParamId),
}

/// A result that a function writes through a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// A value.
    Value,
    /// An array of fixed length.
    Array(u64),
    /// A list whose length another function returns.
    Vec(FunctionId),
    /// A string in a buffer of fixed size.
    Text(u64),
    /// An object, which the callee makes.
    Object,
    /// A value of the implementer's own, which the host keeps.
    Own,
    /// As many objects as a parameter says, which the callee makes.
    Objects {
        /// The name of the parameter that has their number.
        count: String,
    },
    /// A list that the callee owns.
    Lent {
        /// The name of the parameter that has its length.
        count: String,
    },
}

impl Form {
    /// Returns the length that a slice of this form implies.
    pub fn length(&self) -> Option<&Extent> {
        match self {
            Form::Bytes { len, .. } | Form::Slice { len, .. } => Some(len),
            _ => None,
        }
    }
}

/// Returns the forms of all parameters of a function.
pub(super) fn forms(spec: &Spec, function: &Function) -> Vec<Form> {
    let params = || function.params.iter().enumerate().map(|(index, param)| (ParamId(index), param));
    let own: Vec<Form> = params().map(|(id, param)| form(spec, function, id, param)).collect();
    let carrier = |id: ParamId, param: &Param| {
        let counts = |length: Option<&Extent>| length == Some(&Extent::Param(id));
        let lent = own.iter().position(
            |form| matches!(form, Form::Output(Output::Lent { count }) if *count == param.name.value),
        );
        let slice = own.iter().position(|form| counts(form.length()));
        let slice = slice.filter(|_| param.dir == Direction::In).map(|index| Carrier::Slice(ParamId(index)));
        lent.map(|index| Carrier::Lent(ParamId(index))).or(slice)
    };
    params().map(|(id, param)| carrier(id, param).map_or_else(|| own[id.0].clone(), Form::Carried)).collect()
}

fn form(spec: &Spec, function: &Function, id: ParamId, param: &Param) -> Form {
    if param.is_status {
        return Form::Carried(Carrier::Result);
    }
    if let Some(callback) = param.context_of {
        return Form::Carried(Carrier::Callback(callback));
    }
    if function.is_of_object && id == ParamId(0) {
        return Form::Receiver { is_passed: function.receives_object };
    }
    let mutable = param.dir != Direction::In;
    if param.holds == Some(Holds::Value) {
        return if mutable { Form::Output(Output::Own) } else { Form::Own };
    }
    // A host takes and returns their addresses.
    if function.is_of_object && spec.object(param.ty).is_some() {
        return match &param.length {
            Some(Length::Count(Extent::Param(count))) if mutable => {
                Form::Output(Output::Objects { count: function.param(*count).name.value.clone() })
            }
            None if mutable => Form::Output(Output::Object),
            None => Form::Object,
            // Only a function that releases them takes several.
            Some(_) => Form::Value,
        };
    }
    if let (Ty::Named(ty), None) = (param.ty, &param.length) {
        match &spec.ty(ty).kind {
            TypeKind::Struct { fields, .. } if is_byte_buffer(fields) => return Form::ByteBuffer { mutable },
            TypeKind::Struct { .. } if param.dir != Direction::Out => return Form::StructRef { mutable },
            // C also passes values by address, so only a created object is a result.
            TypeKind::Handle { form: HandleForm::Pointee(_), .. }
                if param.role != Role::Creates && !param.lent =>
            {
                return Form::Value;
            }
            TypeKind::Callback { .. } => {
                let taken = function.params.iter().position(|other| other.context_of == Some(id));
                return Form::Callback { context: taken.map(ParamId) };
            }
            _ => {}
        }
    }
    if let (true, Some(Length::Count(Extent::Param(count)))) = (param.lent, &param.length) {
        return Form::Output(Output::Lent { count: function.param(*count).name.value.clone() });
    }
    if param.is_output() {
        return Form::Output(output(param));
    }
    match (&param.length, param.ty) {
        (Some(Length::Bytes(len)), Ty::Pointer)
            if param.space == Some(Space::Host) && param.held.is_none() && param.role == Role::Uses =>
        {
            Form::Bytes { len: len.clone(), mutable }
        }
        (Some(Length::Bytes(len) | Length::Count(len)), Ty::Char) => {
            Form::Bytes { len: len.clone(), mutable }
        }
        (Some(Length::Bytes(len)), Ty::String) if mutable => Form::Bytes { len: len.clone(), mutable },
        // The caller owns the array of addresses; `dir` applies to the memory that they point to.
        (Some(Length::Count(len)), Ty::Pointer) => Form::Slice { len: len.clone(), mutable: false },
        (Some(Length::Count(len)), _) => Form::Slice { len: len.clone(), mutable },
        (_, Ty::String) => Form::Text,
        (_, Ty::Pointer) => Form::Value,
        _ if param.dir == Direction::InOut => Form::InOut,
        _ => Form::Value,
    }
}

fn output(param: &Param) -> Output {
    match (&param.length, param.ty) {
        (Some(Length::Count(Extent::Number(count)) | Length::Bytes(Extent::Number(count))), Ty::Char)
        | (Some(Length::Bytes(Extent::Number(count))), Ty::String) => Output::Text(*count),
        (Some(Length::Count(Extent::Number(count))), _) => Output::Array(*count),
        (Some(Length::Count(Extent::Call(function))), _) => Output::Vec(*function),
        _ => Output::Value,
    }
}

/// Returns true for a struct that consists of an address and a length in bytes.
pub fn is_byte_buffer(fields: &[Param]) -> bool {
    matches!(fields, [size, data]
        if size.ty == Ty::Size
            && data.ty == Ty::Pointer
            && data.length == Some(Length::Bytes(Extent::Param(ParamId(0)))))
}
