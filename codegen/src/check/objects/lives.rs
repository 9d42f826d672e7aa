//! Lifetimes: creation and destruction of handles and memory, and parameters named after handles.

use std::collections::HashMap;

use heck::ToSnakeCase;

use crate::diagnostic::{Code, Diagnostic};
use crate::model::{
    Direction, ErrorObject, Function, Length, Param, Role, Space, Ty, Type, TypeId, TypeKind,
};

use crate::check::{Check, ParamsOf};

/// An object that a call creates or destroys.
#[derive(Clone, Copy)]
struct Life<'a> {
    function: &'a Function,
    param: &'a Param,
    owner: Option<Ty>,
}

impl Life<'_> {
    /// Returns true if the object that is created here can be destroyed there.
    fn can_end_in(self, end: Life) -> bool {
        let reaches = match (end.param.space, self.param.space) {
            (Some(Space::Any), Some(_)) | (Some(Space::Host | Space::Device), Some(Space::Unified)) => true,
            (end, begin) => end == begin,
        };
        reaches && self.owner == end.owner
    }

    /// Returns true if the destroying function exists for objects like this one: they have the same memory space, and
    /// it is not merely one of several spaces that the function accepts.
    fn is_meant_for(self, end: Life) -> bool {
        let is_any = end.param.space == Some(Space::Any);
        self.can_end_in(end) && (is_any || self.param.space == end.param.space)
    }

    /// Returns true if the object must be destroyed: a handle, or memory of a known length. False for a borrowed
    /// address.
    fn has_to_end(self) -> bool {
        self.param.ty != Ty::Pointer || matches!(self.param.length, Some(Length::Bytes(_)))
    }

    fn show(self, check: &Check) -> String {
        let what = match (self.param.ty, self.param.space) {
            (Ty::Pointer, Some(Space::Host)) => "host memory".to_owned(),
            (Ty::Pointer, Some(Space::Device)) => "device memory".to_owned(),
            (Ty::Pointer, Some(Space::Unified)) => "unified memory".to_owned(),
            (Ty::Pointer, Some(Space::Any) | None) => "memory".to_owned(),
            (ty, _) => check.show_a(ty),
        };
        match self.owner {
            Some(owner) => format!("{what} of {}", check.show_a(owner)),
            None => format!("{what} without an owner"),
        }
    }
}

/// Checks that each handle type that one function creates is destroyed by another one, and vice versa.
pub(crate) fn check_handles_live(check: &Check) {
    let lives = Lives::new(check);
    for (index, ty) in check.interface.types.iter().enumerate() {
        // Each failing call creates an error object.
        let is_error = |error: &ErrorObject| error.ty == TypeId { interface: check.id, index };
        let is_handle = matches!(ty.kind, TypeKind::Handle { .. })
            && !check.interface.error.as_ref().is_some_and(is_error);
        if !is_handle || !check.before.is_empty() {
            continue;
        }
        let handle = Ty::Named(TypeId { interface: check.id, index });
        let (begins, ends) = (lives.of(Role::Creates, handle), lives.of(Role::Destroys, handle));
        let (life, does, other, help) = match (begins, ends) {
            ([begin, ..], []) => (
                begin,
                "creates",
                "destroys",
                "a borrowed handle has no `role`; any other one needs a function with `role: destroys`",
            ),
            // A callback hands over such an object, or an exported function.
            ([], [_, ..]) if check.spec.object(handle).is_some_and(|object| object.is_by_hand) => continue,
            ([], [end, ..]) => (end, "destroys", "creates", "add a function with `role: creates` for it"),
            _ => continue,
        };
        let message = format!("no function {other} {}", check.show_a(handle));
        Diagnostic::new(Code::HandleLife, life.param.places.span("role"), message)
            .label(format!("`{}` {does} one", life.function.name.value))
            .help(help)
            .report(check);
    }
}

/// Checks that an object is destroyed with the same memory space and owner with which it was created.
pub(crate) fn check_ends_fit(check: &Check) {
    if !check.before.is_empty() {
        return;
    }
    let lives = Lives::new(check);
    for function in &check.interface.functions {
        for end in lives_in(function, Role::Destroys) {
            let begins = lives.of(Role::Creates, end.param.ty);
            if let Some(first) =
                begins.first().filter(|_| !begins.iter().any(|begin| begin.is_meant_for(end)))
            {
                let message = format!("no function creates {}", end.show(check));
                Diagnostic::new(Code::LifeDiffers, end.param.places.span("role"), message)
                    .label(format!("so `{}` has nothing to destroy", function.name.value))
                    .related(first.param.name.span, format!("this is {}", first.show(check)))
                    .report(check);
            }
        }
        for begin in lives_in(function, Role::Creates).into_iter().filter(|begin| begin.has_to_end()) {
            let ends = lives.of(Role::Destroys, begin.param.ty);
            let is_handle = begin.param.ty != Ty::Pointer;
            let begins = lives.of(Role::Creates, begin.param.ty);
            // A destroying function without a creating one is already reported, and is probably the one that is
            // meant.
            let is_told = |end: &Life| !begins.iter().any(|begin| begin.can_end_in(*end));
            let ends_here = |end: &Life| begin.can_end_in(*end) || is_told(end);
            if ends.iter().any(ends_here) || (is_handle && ends.is_empty()) {
                continue;
            }
            let message = format!("no function destroys {}", begin.show(check));
            let diagnostic = Diagnostic::new(Code::LifeDiffers, begin.param.places.span("role"), message)
                .label(format!("so objects that `{}` creates are never destroyed", function.name.value));
            match ends.first() {
                Some(end) => diagnostic.related(end.param.name.span, format!("this is {}", end.show(check))),
                None => diagnostic,
            }
            .report(check);
        }
    }
}

/// Checks that a function whose name contains `create`, `destroy` or `delete` has a parameter or result with that role.
pub(crate) fn check_roles_are_named(check: &Check) {
    if !check.before.is_empty() {
        return;
    }
    let lives = Lives::new(check);
    for function in &check.interface.functions {
        let Some(role) = role_of_name(&function.name.value) else { continue };
        let params = function.params.iter();
        let result = function.result.value();
        let is_callback = |param: &Param| matches!(check.kind(param.ty), Some(TypeKind::Callback { .. }));
        // A function with a callback may register it for the event that its name mentions.
        if params.clone().chain(result).any(|param| param.places.has("role") || is_callback(param)) {
            continue;
        }
        let mut candidates: Vec<&Param> = match role {
            Role::Creates => params.filter(|param| param.dir != Direction::In).chain(result).collect(),
            _ => params.filter(|param| param.dir != Direction::Out).collect(),
        };
        candidates.retain(|param| matches!(param.ty, Ty::Named(_)) && !lives.of(role, param.ty).is_empty());
        let [param, ..] = candidates[..] else { continue };
        let (verb, key) = match role {
            Role::Creates => ("create", "creates"),
            _ => ("destroy", "destroys"),
        };
        let other = lives.of(role, param.ty)[0].function;
        let message = format!("`{}` {key} nothing", function.name.value);
        Diagnostic::new(Code::RoleOfName, function.name.span, message)
            .label(format!("{} with `role: {key}` is expected", check.show_a(param.ty)))
            .related(other.name.span, format!("this {key} one"))
            .help(format!("write `role: uses` at the parameter if the call does not {verb} it"))
            .report(check);
    }
}

/// Returns the role that a function's name implies.
fn role_of_name(name: &str) -> Option<Role> {
    name.split('_').find_map(|word| match word {
        "create" => Some(Role::Creates),
        "destroy" | "delete" => Some(Role::Destroys),
        _ => None,
    })
}

/// Every creation and destruction in all interfaces, by type. An interface may create types of another one.
struct Lives<'a>(HashMap<(Role, Ty), Vec<Life<'a>>>);

impl<'a> Lives<'a> {
    fn new(check: &Check<'a>) -> Self {
        let mut lives: HashMap<_, Vec<_>> = HashMap::new();
        for function in check.spec.interfaces.iter().flat_map(|interface| &interface.functions) {
            for role in [Role::Creates, Role::Destroys] {
                for life in lives_in(function, role) {
                    lives.entry((role, life.param.ty)).or_default().push(life);
                }
            }
        }
        Lives(lives)
    }

    fn of(&self, role: Role, ty: Ty) -> &[Life<'a>] {
        self.0.get(&(role, ty)).map_or(&[], Vec::as_slice)
    }
}

fn lives_in(function: &Function, role: Role) -> Vec<Life<'_>> {
    let owner = |param: &Param| param.of.map(|id| function.param(id).ty);
    let value = function.result.value();
    let params = function.params.iter().map(|param| (param, owner(param)));
    let all = params.chain(value.map(|value| (value, None)));
    all.filter(|(param, _)| param.role == role)
        .map(|(param, owner)| Life { function, param, owner })
        .collect()
}

/// Checks that a parameter that is named after a handle type has this type.
pub(crate) fn check_handle_names(check: &Check) {
    let mut handles: HashMap<String, &Type> = HashMap::new();
    for ty in check.interface.types.iter().filter(|ty| matches!(ty.kind, TypeKind::Handle { .. })) {
        handles.entry(ty.name.value.to_snake_case()).or_insert(ty);
    }
    for (list, param) in check.params() {
        let name = &param.name.value;
        if let (ParamsOf::Struct(_), _) | (_, "") = (list.of, name.as_str()) {
            continue;
        }
        let Some(handle) = handles.get(name) else { continue };
        // A `tensor` may be a `MetaTensor`, and a `board` a `BoardId`.
        let own = match param.ty {
            Ty::Named(id) => check.spec.ty(id).name.value.to_snake_case(),
            _ => String::new(),
        };
        let is_kin = own.ends_with(&format!("_{name}")) || own.starts_with(&format!("{name}_"));
        if own != *name && !is_kin {
            let message = format!("`{name}` is {}", check.show_a(param.ty));
            Diagnostic::new(Code::HandleName, param.places.span("type"), message)
                .label(format!("`{}` is expected", handle.name.value))
                .related(handle.name.span, "the handle of this name")
                .report(check);
        }
    }
}
