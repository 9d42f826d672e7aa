//! The SDK's API for a table: what its functions and types are called, which handle each takes, and what it
//! answers.
//!
//! The checks, the C headers, the Rust that exports the functions and the reference all ask here, so that
//! they agree.

use std::collections::BTreeSet;

use heck::ToSnakeCase;

use crate::model::*;

/// The API of one interface.
#[derive(Clone, Copy, Debug)]
pub struct SdkApi<'a> {
    /// The spec.
    pub spec: &'a Spec,
    /// The interface.
    pub interface: &'a Interface,
    pub(crate) sdk: &'a Sdk,
}

/// A status that a function of the SDK answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SdkStatus {
    /// Its name as the spec would have it: `invalid_argument`.
    pub name: String,
    /// Its number.
    pub value: i64,
    /// The meaning, on one line.
    pub summary: String,
}

/// Statuses of the SDK's own begin here, so that those of an interface stay as they are.
pub const FIRST_OWN: i64 = 16;

impl SdkStatus {
    /// Returns true if it is one of the SDK's own.
    pub fn is_own(&self) -> bool {
        self.value >= FIRST_OWN
    }
}

/// The statuses of the SDK's own. A number is never given again.
const OWN: [(&str, &str); 9] = [
    ("invalid_argument", "An argument is null, out of range, or does not fit the others"),
    ("invalid_handle", "A handle is null, closed, or invalid"),
    ("out_of_memory", "Out of memory"),
    ("unsupported", "The plugin does not have the function, and there is no fallback"),
    ("not_found", "No object has this name or number"),
    ("load_failed", "The plugin could not be loaded; the last error has the reason"),
    ("busy", "An object is still in use, or the call comes too late"),
    ("not_initialised", "The library is not initialised, or has been shut down"),
    ("refused", "A layer refused the call; the device has not seen it"),
];

/// The handle of the library's own that comes first in a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handle {
    /// A device, in the place of this parameter.
    Device(ParamId),
    /// A plugin, before the parameters of the spec.
    Plugin,
}

/// The parameter before those of the spec, in a function that names no device.
pub const PLUGIN: &str = "plugin";

/// The parameter behind those of the spec that takes the answer of a question.
pub const ANSWER: &str = "answer";

/// The headers of the SDK, beside that of the interface: types, functions, and the one that includes all.
pub const HEADERS: [&str; 3] = ["types.h", "functions.h", "tenon.h"];

/// The header of the functions written by hand, beside the others.
pub const CORE_HEADER: &str = "core.h";

impl<'a> SdkApi<'a> {
    /// Returns the API of an interface that has one.
    pub fn of(spec: &'a Spec, interface: &'a Interface) -> Option<Self> {
        interface.sdk.as_ref().map(|sdk| SdkApi { spec, interface, sdk })
    }

    /// Returns the C name of a function: `tenon_memory_copy_h2d`.
    pub fn function(self, function: &Function) -> String {
        format!("{}_{}", self.sdk.prefix, function.name.value)
    }

    /// Returns the C name of a type: `tenon_stream`. For the id that stands for a device, this is the library's own
    /// handle.
    pub fn ty(self, ty: &Type) -> String {
        if self.is(ty, Some(self.sdk.device)) {
            return self.handle("device");
        }
        if self.is(ty, self.interface.status) {
            return format!("{}_status", self.sdk.prefix);
        }
        format!("{}_{}", self.sdk.prefix, ty.name.value.to_snake_case())
    }

    /// Returns the C name of a handle of the library's own: `tenon_plugin`.
    pub fn handle(self, name: &str) -> String {
        format!("{}_{name}", self.sdk.prefix)
    }

    /// Returns the C name of an enum value: `TENON_DATA_TYPE_FLOAT32`.
    pub fn value(self, ty: &Type, value: &EnumValue) -> String {
        if self.is(ty, self.interface.status) {
            self.status(&value.name.value)
        } else {
            format!("{}_{}", self.ty(ty), value.name.value).to_uppercase()
        }
    }

    /// Returns the C name of a status: `TENON_INVALID_ARGUMENT`.
    pub fn status(self, name: &str) -> String {
        format!("{}_{name}", self.sdk.prefix).to_uppercase()
    }

    /// Returns every status: those of the interface as they are, then the library's own.
    pub fn statuses(self) -> Vec<SdkStatus> {
        let theirs = self.spec.status_values(self.interface).iter().map(|value| SdkStatus {
            name: value.name.value.clone(),
            value: value.value,
            summary: value.summary.callers(),
        });
        let own = (FIRST_OWN..).zip(OWN).map(|(value, (name, summary))| SdkStatus {
            name: name.to_owned(),
            value,
            summary: summary.to_owned(),
        });
        theirs.chain(own).collect()
    }

    /// Returns true if a parameter is a device, which C sees as a handle of the library.
    pub fn is_device(self, param: &Param) -> bool {
        param.ty == Ty::Named(self.sdk.device)
    }

    /// Returns true if a type is spelled by the library itself rather than after the spec.
    pub fn is_own(self, ty: &Type) -> bool {
        self.is(ty, Some(self.sdk.device)) || self.is(ty, self.interface.status)
    }

    /// Returns the handle that a function is called with.
    pub fn called_with(self, function: &Function) -> Handle {
        let first =
            function.params.iter().position(|param| self.is_device(param) && param.dir == Direction::In);
        first.map_or(Handle::Plugin, |index| Handle::Device(ParamId(index)))
    }

    /// Returns the callback that a parameter is, where its own parameters differ in the SDK: it is called through one
    /// of ours.
    pub fn translated(self, param: &Param) -> Option<&'a Type> {
        let Ty::Named(id) = param.ty else { return None };
        let ty = self.spec.ty(id);
        self.is_translated(ty).then_some(ty)
    }

    /// Returns true if a type is a callback that names a device or a status.
    pub fn is_translated(self, ty: &Type) -> bool {
        let TypeKind::Callback { params, .. } = &ty.kind else { return false };
        params.iter().any(|param| matches!(param.ty, Ty::Named(id) if self.is_own(self.spec.ty(id))))
    }

    /// Returns true if a function has no fallback, so that callers may get the status for unsupported functions.
    pub fn may_be_unsupported(self, function: &Function) -> bool {
        match &function.fallback {
            Some(fallback) => matches!(fallback.kind, FallbackKind::Refuse { .. }),
            None => function.is_optional(),
        }
    }

    /// Returns the length of what a function allocates: null for more than none of it means that there was no memory.
    pub fn allocates(self, param: &'a Param) -> Option<&'a Extent> {
        match &param.length {
            Some(Length::Bytes(extent))
                if param.ty == Ty::Pointer && param.role == Role::Creates && param.is_output() =>
            {
                Some(extent)
            }
            _ => None,
        }
    }

    /// Returns the described types that functions of the SDK name, in the order of the spec.
    pub fn types(self) -> Vec<&'a Type> {
        let mut needed = BTreeSet::new();
        let mut open: Vec<&Param> =
            self.interface.functions.iter().flat_map(|function| &function.params).collect();
        while let Some(param) = open.pop() {
            let Ty::Named(id) = param.ty else { continue };
            let ty = self.spec.ty(id);
            if !self.is_own(ty) && needed.insert(id) {
                open.extend(ty.params());
            }
        }
        needed.into_iter().map(|id| self.spec.ty(id)).collect()
    }

    /// Returns true if the SDK calls a function by itself.
    pub fn manages(self, function: &Function) -> bool {
        self.sdk.manages.iter().any(|id| std::ptr::eq(self.interface.function(*id), function))
    }

    fn is(self, ty: &Type, id: Option<TypeId>) -> bool {
        id.is_some_and(|id| std::ptr::eq(self.spec.ty(id), ty))
    }
}
