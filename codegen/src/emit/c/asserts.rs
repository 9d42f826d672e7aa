//! C++ assertions that the ABI's own header agrees with the spec.
//!
//! The caller adds the includes before them. Whole function types are compared, so that a parameter that is missing
//! or has another type is found. Names of parameters are not part of a type.

use std::collections::BTreeSet;
use std::fmt;

use super::names::Names;
use super::types::{Dialect, Speller};
use crate::model::abi::{self, ArgsMember, MemberKind, StructLayout};
use crate::model::*;

/// An assertion that a compiler checks.
#[derive(Clone, Debug)]
pub struct Assertion {
    /// The condition that holds if the header agrees.
    pub condition: Condition,
    /// The property of the header that it states.
    pub claim: Claim,
}

/// The condition of an assertion, in C++.
#[derive(Clone, Debug)]
pub enum Condition {
    /// An expression is true.
    True(String),
    /// Two types are the same: that of the header and that of the spec.
    Same(String, String),
}

/// A property of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The size of a type.
    Size(String),
    /// The offset of a member of a struct.
    Offset(String, String),
    /// The type of a member of a struct.
    Member(String, String),
    /// The type or the value of a name.
    Other(String),
}

impl fmt::Display for Claim {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Claim::Size(of) => write!(out, "size of {of}"),
            Claim::Offset(of, member) => write!(out, "offset of {of}.{member}"),
            Claim::Member(of, member) => write!(out, "type of {of}.{member}"),
            Claim::Other(what) => out.write_str(what),
        }
    }
}

/// Writes the assertion in C++, in one line.
impl fmt::Display for Assertion {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let claim = &self.claim;
        match &self.condition {
            Condition::True(expression) => write!(out, "static_assert({expression}, \"{claim}\");"),
            Condition::Same(there, here) => {
                write!(out, "static_assert(std::is_same<{there}, {here}>::value, \"{claim}\");")
            }
        }
    }
}

/// Returns the assertions about an interface in a release. `declared` contains the names that the header declares: nothing is
/// asserted of an enum or a struct that it lacks; it may leave a callback type without a name; and a symbol that it does not
/// declare can only be looked up in a library.
pub fn assertions(
    spec: &Spec,
    interface: &Interface,
    release: Option<ReleaseId>,
    declared: &dyn Fn(&str) -> bool,
) -> Vec<Assertion> {
    let speller = Speller::new(spec, interface, release, Dialect::Upstream);
    let mut asserts = Asserts { spec, interface, release, speller, assertions: Vec::new() };
    let (used, used_ever) = (asserts.used_types(release), asserts.used_types(None));
    for (index, ty) in interface.types.iter().enumerate() {
        // A type exists from the first function on that uses it. A type that no function uses always existed.
        let came = used.contains(&index) || !used_ever.contains(&index);
        let is_there = || !ty.is_enum_or_struct() || declared(&ty.c_name);
        if came && ty.availability.is_in(release) && is_there() {
            asserts.ty(ty, declared);
        }
    }
    match &interface.kind {
        InterfaceKind::Table(table) => asserts.table(table),
        InterfaceKind::HostTable { c_name } => asserts.host_table(c_name),
        InterfaceKind::Objects => interface.objects().for_each(|(ty, object)| asserts.object(ty, object)),
        InterfaceKind::Export | InterfaceKind::Import { .. } => asserts.symbols(declared),
    }
    for function in interface.functions.iter().filter(|function| function.availability.is_in(release)) {
        if let Some(args) = &function.args {
            asserts.args(function, args);
        }
    }
    asserts.assertions
}

struct Asserts<'a> {
    spec: &'a Spec,
    interface: &'a Interface,
    release: Option<ReleaseId>,
    speller: Speller<'a>,
    assertions: Vec<Assertion>,
}

impl Asserts<'_> {
    /// Returns the types of this interface that its functions use, directly or indirectly, in a release; `None`: in
    /// any release.
    fn used_types(&self, release: Option<ReleaseId>) -> BTreeSet<usize> {
        let mut used = BTreeSet::new();
        for function in &self.interface.functions {
            if function.availability.is_in(release) {
                let result = function.result.value();
                function.params_in(release).chain(result).for_each(|param| self.follow(param.ty, &mut used));
            }
        }
        used
    }

    fn follow(&self, ty: Ty, used: &mut BTreeSet<usize>) {
        let Ty::Named(id) = ty else { return };
        if !std::ptr::eq(&self.spec.interfaces[id.interface.0], self.interface) || !used.insert(id.index) {
            return;
        }
        self.spec.ty(id).params().iter().for_each(|param| self.follow(param.ty, used));
    }

    fn assert(&mut self, expression: String, claim: Claim) {
        self.assertions.push(Assertion { condition: Condition::True(expression), claim });
    }

    fn same(&mut self, there: String, here: String, claim: Claim) {
        self.assertions.push(Assertion { condition: Condition::Same(there, here), claim });
    }

    /// Asserts the offset and the type of a member.
    fn member(&mut self, of: &str, member: &str, offset: u64, spelled: String) {
        let names = || (of.to_owned(), member.to_owned());
        let (name, field) = names();
        self.assert(format!("offsetof({of}, {member}) == {offset}"), Claim::Offset(name, field));
        let (name, field) = names();
        self.same(format!("decltype({of}::{member})"), spelled, Claim::Member(name, field));
    }

    fn size(&mut self, of: &str, size: u64) {
        self.assert(format!("sizeof({of}) == {size}"), Claim::Size(of.to_owned()));
    }

    fn ty(&mut self, ty: &Type, declared: &dyn Fn(&str) -> bool) {
        let name = &ty.c_name;
        match &ty.kind {
            TypeKind::Handle { form, const_name, .. } => {
                if let (Some(const_name), Some(tag)) = (const_name, form.tag()) {
                    self.same(
                        const_name.clone(),
                        format!("const {tag}*"),
                        Claim::Other(format!("handle {const_name}")),
                    );
                }
                let spelled = match form {
                    HandleForm::Void => "void*".to_owned(),
                    HandleForm::Tagged(tag) => format!("{tag}*"),
                    HandleForm::Pointee(tag) => tag.clone(),
                };
                self.same(name.clone(), spelled, Claim::Other(format!("handle {name}")));
            }
            TypeKind::Id { tag, field, ty } => {
                let (size, _) = abi::size_of(self.spec, *ty, self.release);
                self.same(name.clone(), format!("{tag}*"), Claim::Other(format!("id {name}")));
                self.same(
                    format!("decltype({tag}::{field})"),
                    self.speller.base(*ty),
                    Claim::Other(format!("{tag}::{field}")),
                );
                self.size(tag, size);
            }
            TypeKind::Enum { values, .. } => {
                self.assert(
                    format!("std::is_enum<{name}>::value && sizeof({name}) == 4"),
                    Claim::Other(format!("enum {name}")),
                );
                for EnumValue { c_name, value, availability, .. } in values {
                    if availability.is_in(self.release) {
                        self.same(
                            format!("decltype({c_name})"),
                            name.clone(),
                            Claim::Other(format!("{c_name} is of {name}")),
                        );
                        self.assert(
                            format!("static_cast<long long>({c_name}) == {value}"),
                            Claim::Other(c_name.clone()),
                        );
                    }
                }
            }
            // The structs that have a field of it assert its members.
            TypeKind::Struct { is_unnamed: true, .. } => {}
            TypeKind::Struct { fields, is_union: true, .. } => {
                self.fields(ty, fields, &abi::union_layout(self.spec, fields, self.release));
            }
            TypeKind::Struct { fields, .. } => {
                self.fields(ty, fields, &abi::struct_layout(self.spec, fields, self.release));
            }
            TypeKind::Callback { params, result, .. } => {
                if declared(name) {
                    let whole = self.speller.callback(params, result.as_deref(), "");
                    self.same(name.clone(), whole, Claim::Other(format!("callback {name}")));
                }
            }
        }
    }

    fn fields(&mut self, ty: &Type, fields: &[Param], layout: &StructLayout) {
        let name = &ty.c_name;
        self.size(name, layout.size);
        for (index, offset, _) in &layout.fields {
            let field = &fields[*index];
            let member = Names::new(self.spec, self.interface).field(field);
            let (spelled, brackets) = self.speller.field(field);
            if self.spec.is_unnamed(field.ty) {
                self.unnamed(name, field.ty, *offset);
                continue;
            }
            self.member(name, &member, *offset, format!("{spelled}{brackets}"));
        }
    }

    /// Asserts offset and type of each member of a union without a name, as members of the struct around it.
    fn unnamed(&mut self, name: &str, union: Ty, offset: u64) {
        let Ty::Named(id) = union else { return };
        for member in self.spec.ty(id).params() {
            let field = Names::new(self.spec, self.interface).field(member);
            let (spelled, brackets) = self.speller.field(member);
            self.member(name, &field, offset, format!("{spelled}{brackets}"));
        }
    }

    fn table(&mut self, table: &Table) {
        let layout = abi::table_layout(self.interface, table, self.release);
        let name = &table.c_name;
        self.size(name, layout.size);
        for member in &layout.members {
            let (field, spelled) = match &member.kind {
                MemberKind::Size => (table.size_field.clone(), "size_t".to_owned()),
                MemberKind::Function(id) => {
                    let function = self.interface.function(*id);
                    (function.c_name.clone(), self.speller.function_type(function))
                }
                MemberKind::Reserved(field, count) => (field.clone(), format!("void*[{count}]")),
                MemberKind::Field(block, field) => {
                    let field = &table.blocks[*block].fields[*field].param;
                    let (spelled, brackets) = self.speller.field(field);
                    (field.name.value.clone(), format!("{spelled}{brackets}"))
                }
            };
            self.member(name, &field, member.offset, spelled);
        }
        if let Some(plugin) = table.plugin() {
            let params = &self.spec.ty(plugin.params).c_name;
            let (entry, whole) = (format!("decltype(&{})", plugin.entry), format!("void (*)({params}*)"));
            self.same(entry, whole, Claim::Other(format!("type of {}", plugin.entry)));
        }
    }

    /// Asserts the struct of an object, and the one of its functions, if they have one.
    fn object(&mut self, ty: &Type, object: &Object) {
        if !ty.availability.is_in(self.release) {
            return;
        }
        let layout = abi::object_layout(self.spec, self.interface, (ty, object), self.release);
        self.size(&ty.c_name, layout.size);
        let start = layout.start_of_functions();
        for member in &layout.members {
            match &member.kind {
                MemberKind::Field(block, index) => {
                    let field = object.field(*block, *index);
                    let name = Names::new(self.spec, self.interface).field(field);
                    let (spelled, brackets) = self.speller.field(field);
                    self.member(&ty.c_name, &name, member.offset, format!("{spelled}{brackets}"));
                }
                MemberKind::Function(id) => {
                    let function = self.interface.function(*id);
                    let (of, offset) = match &object.inner {
                        None => (&ty.c_name, member.offset),
                        Some(inner) => (&inner.c_name, member.offset - start.unwrap_or_default()),
                    };
                    self.member(of, &function.c_name, offset, self.speller.function_type(function));
                }
                MemberKind::Size | MemberKind::Reserved(..) => {}
            }
        }
        if let (Some(inner), Some(first)) = (&object.inner, start) {
            self.member(&ty.c_name, &inner.member, first, inner.c_name.clone());
        }
    }

    /// Asserts the struct of arguments of a function. Its size is known for the newest release only.
    fn args(&mut self, function: &Function, args: &ArgsStruct) {
        let layout = abi::args_layout(self.spec, function, args);
        let name = &args.c_name;
        if self.release == self.interface.newest() {
            self.size(name, layout.size);
        }
        for (member, offset, _) in &layout.members {
            match member {
                ArgsMember::Size => self.member(name, &args.size_field, *offset, "size_t".to_owned()),
                // Hosts give the extension types of their own.
                ArgsMember::Extension => {
                    let field = args.extension.clone().unwrap_or_default();
                    let condition = format!("offsetof({name}, {field}) == {offset}");
                    self.assert(condition, Claim::Offset(name.clone(), field));
                }
                ArgsMember::Param(id) => {
                    let param = function.param(*id);
                    if param.availability.is_in(self.release) {
                        let is_written = self.spec.is_written_in_args(param);
                        let spelled =
                            if is_written { self.speller.written(param) } else { self.speller.param(param) };
                        let field = Names::new(self.spec, self.interface).variable(&param.name.value);
                        self.member(name, &field, *offset, spelled);
                    }
                }
            }
        }
    }

    /// Asserts the functions of a host that the spec describes. The table may have more.
    fn host_table(&mut self, name: &str) {
        for member in abi::host_table_layout(self.interface, self.release).members {
            if let MemberKind::Function(id) = member.kind {
                let function = self.interface.function(id);
                let whole = self.speller.function_type(function);
                self.member(name, &function.c_name, member.offset, whole);
            }
        }
    }

    fn symbols(&mut self, declared: &dyn Fn(&str) -> bool) {
        for function in &self.interface.functions {
            if function.availability.is_in(self.release) && declared(&function.c_name) {
                let (name, whole) = (&function.c_name, self.speller.function_type(function));
                self.same(format!("decltype(&{name})"), whole, Claim::Other(format!("type of {name}")));
            }
        }
    }
}
