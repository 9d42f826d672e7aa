//! C++ assertions that the ABI's own header agrees with the spec.
//!
//! The caller adds the includes before them. Whole function types are compared, so that a parameter that is missing
//! or has another type is found. Names of parameters are not part of a type.

use std::collections::BTreeSet;

use super::names::Names;
use super::types::{Dialect, Speller};
use crate::model::abi::{self, MemberKind, StructLayout};
use crate::model::*;

/// Writes the assertions about an interface in a release. `declared` contains the names that the header declares: a
/// header may leave a callback type without a name, and a symbol that it does not declare can only be looked up in a
/// library.
pub fn assertions(
    spec: &Spec,
    interface: &Interface,
    release: Option<ReleaseId>,
    declared: &dyn Fn(&str) -> bool,
) -> String {
    let speller = Speller::new(spec, interface, release, Dialect::Upstream);
    let mut asserts = Asserts { spec, interface, release, speller, lines: Vec::new() };
    let (used, used_ever) = (asserts.used_types(release), asserts.used_types(None));
    for (index, ty) in interface.types.iter().enumerate() {
        // A type exists from the first function on that uses it. A type that no function uses always existed.
        let came = used.contains(&index) || !used_ever.contains(&index);
        if came && ty.availability.is_in(release) {
            asserts.ty(ty, declared);
        }
    }
    match interface.table() {
        Some(table) => asserts.table(table),
        None => asserts.symbols(declared),
    }
    asserts.lines.join("\n") + "\n"
}

struct Asserts<'a> {
    spec: &'a Spec,
    interface: &'a Interface,
    release: Option<ReleaseId>,
    speller: Speller<'a>,
    lines: Vec<String>,
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

    fn assert(&mut self, condition: String, what: String) {
        self.lines.push(format!("static_assert({condition}, \"{what}\");"));
    }

    fn same(&mut self, left: String, right: String, what: String) {
        self.assert(format!("std::is_same<{left}, {right}>::value"), what);
    }

    fn ty(&mut self, ty: &Type, declared: &dyn Fn(&str) -> bool) {
        let name = &ty.c_name;
        match &ty.kind {
            TypeKind::Handle { form, const_name, .. } => {
                if let (Some(const_name), Some(tag)) = (const_name, form.tag()) {
                    self.same(const_name.clone(), format!("const {tag}*"), format!("handle {const_name}"));
                }
                let spelled = match form {
                    HandleForm::Void => "void*".to_owned(),
                    HandleForm::Tagged(tag) => format!("{tag}*"),
                    HandleForm::Pointee(tag) => tag.clone(),
                };
                self.same(name.clone(), spelled, format!("handle {name}"));
            }
            TypeKind::Id { tag, field, ty } => {
                let (size, _) = abi::size_of(self.spec, *ty, self.release);
                self.same(name.clone(), format!("{tag}*"), format!("id {name}"));
                self.same(
                    format!("decltype({tag}::{field})"),
                    self.speller.base(*ty),
                    format!("{tag}::{field}"),
                );
                self.assert(format!("sizeof({tag}) == {size}"), format!("size of {tag}"));
            }
            TypeKind::Enum { values, .. } => {
                self.assert(
                    format!("std::is_enum<{name}>::value && sizeof({name}) == 4"),
                    format!("enum {name}"),
                );
                for EnumValue { c_name, value, availability, .. } in values {
                    if availability.is_in(self.release) {
                        self.same(
                            format!("decltype({c_name})"),
                            name.clone(),
                            format!("{c_name} is of {name}"),
                        );
                        self.assert(format!("static_cast<long long>({c_name}) == {value}"), c_name.clone());
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
                    self.same(name.clone(), whole, format!("callback {name}"));
                }
            }
        }
    }

    fn fields(&mut self, ty: &Type, fields: &[Param], layout: &StructLayout) {
        let name = &ty.c_name;
        self.assert(format!("sizeof({name}) == {}", layout.size), format!("size of {name}"));
        for (index, offset, _) in &layout.fields {
            let field = &fields[*index];
            let member = Names::new(self.spec, self.interface).field(field);
            let (spelled, brackets) = self.speller.field(field);
            if self.spec.is_unnamed(field.ty) {
                self.unnamed(name, field.ty, *offset);
                continue;
            }
            self.assert(
                format!("offsetof({name}, {member}) == {offset}"),
                format!("offset of {name}.{member}"),
            );
            self.same(
                format!("decltype({name}::{member})"),
                format!("{spelled}{brackets}"),
                format!("type of {name}.{member}"),
            );
        }
    }

    /// Asserts offset and type of each member of a union without a name, as members of the struct around it.
    fn unnamed(&mut self, name: &str, union: Ty, offset: u64) {
        let Ty::Named(id) = union else { return };
        for member in self.spec.ty(id).params() {
            let field = Names::new(self.spec, self.interface).field(member);
            let whole = format!("{name}.{field}");
            self.assert(format!("offsetof({name}, {field}) == {offset}"), format!("offset of {whole}"));
            let (spelled, brackets) = self.speller.field(member);
            let spelled = format!("{spelled}{brackets}");
            self.same(format!("decltype({name}::{field})"), spelled, format!("type of {whole}"));
        }
    }

    fn table(&mut self, table: &Table) {
        let layout = abi::table_layout(self.interface, table, self.release);
        let name = &table.c_name;
        self.assert(format!("sizeof({name}) == {}", layout.size), format!("size of {name}"));
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
            let offset = member.offset;
            self.assert(
                format!("offsetof({name}, {field}) == {offset}"),
                format!("offset of {name}.{field}"),
            );
            self.same(format!("decltype({name}::{field})"), spelled, format!("type of {name}.{field}"));
        }
        if let Some(plugin) = table.plugin() {
            let params = &self.spec.ty(plugin.params).c_name;
            let (entry, whole) = (format!("decltype(&{})", plugin.entry), format!("void (*)({params}*)"));
            self.same(entry, whole, format!("type of {}", plugin.entry));
        }
    }

    fn symbols(&mut self, declared: &dyn Fn(&str) -> bool) {
        for function in &self.interface.functions {
            if function.availability.is_in(self.release) && declared(&function.c_name) {
                let (name, whole) = (&function.c_name, self.speller.function_type(function));
                self.same(format!("decltype(&{name})"), whole, format!("type of {name}"));
            }
        }
    }
}
