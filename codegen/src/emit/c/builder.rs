//! The types of a header as data: comments, declarations, and the members of structs with their offsets.

use std::collections::BTreeSet;

use serde::Serialize;

use super::doxygen::Comments;
use super::names::Names;
use super::types::{self, Dialect, Speller};
use crate::model::abi::{self, StructLayout};
use crate::model::*;
use crate::sdk::SdkApi;

#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum TypeItem {
    Plain {
        comment: Vec<String>,
        declaration: String,
    },
    Enum {
        comment: Vec<String>,
        name: String,
        form: &'static str,
        representation: &'static str,
        values: Vec<ValueItem>,
        size: u64,
    },
    Struct(StructItem),
}

#[derive(Debug, Serialize)]
pub(super) struct ValueItem {
    pub(super) comment: Vec<String>,
    pub(super) name: String,
    pub(super) value: i64,
}

#[derive(Debug, Serialize)]
pub(super) struct StructItem {
    pub(super) comment: Vec<String>,
    /// `struct` or `union`.
    pub(super) word: &'static str,
    pub(super) name: String,
    pub(super) anonymous: bool,
    pub(super) fields: Vec<FieldItem>,
    pub(super) size: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct FieldItem {
    pub(super) comment: Vec<String>,
    pub(super) declaration: String,
    pub(super) name: String,
    pub(super) offset: u64,
    /// Of a union without a name: its members, which C declares in place of the field.
    pub(super) members: Vec<FieldItem>,
}

/// Prepares the parts of a header. The other files add methods for tables, releases and functions.
pub(super) struct Builder<'a> {
    pub(super) spec: &'a Spec,
    pub(super) interface: &'a Interface,
    pub(super) names: Names<'a>,
    pub(super) comments: Comments<'a>,
    pub(super) newest: Speller<'a>,
    /// The SDK's view, if the types are those of the SDK.
    pub(super) sdk_api: Option<SdkApi<'a>>,
}

impl<'a> Builder<'a> {
    /// Prepares what an interface declares itself, without the view of its SDK.
    pub(super) fn new(spec: &'a Spec, interface: &'a Interface) -> Self {
        Builder {
            spec,
            interface,
            names: Names::new(spec, interface),
            comments: Comments::new(spec, interface),
            newest: Speller::new(spec, interface, interface.newest(), Dialect::C),
            sdk_api: None,
        }
    }
}

impl Builder<'_> {
    /// Sorts types so that each comes after the types that it uses.
    pub(super) fn types_in_order(&self) -> Vec<usize> {
        fn visit(builder: &Builder, index: usize, seen: &mut BTreeSet<usize>, order: &mut Vec<usize>) {
            if !seen.insert(index) {
                return;
            }
            for needed in builder.named_by(&builder.interface.types[index]) {
                visit(builder, needed, seen, order);
            }
            order.push(index);
        }
        let (mut seen, mut order) = (BTreeSet::new(), Vec::new());
        for index in 0..self.interface.types.len() {
            visit(self, index, &mut seen, &mut order);
        }
        order
    }

    /// Returns the types of this interface that a type uses.
    fn named_by(&self, ty: &Type) -> Vec<usize> {
        let is_own = |id: &TypeId| std::ptr::eq(&self.spec.interfaces[id.interface.0], self.interface);
        ty.names().filter(is_own).map(|id| id.index).collect()
    }

    /// Returns the names of a type and of its struct, if it has one.
    fn type_names(&self, ty: &Type) -> (String, String) {
        let tag = match &ty.kind {
            TypeKind::Handle { form, .. } => form.tag().unwrap_or_default().to_owned(),
            TypeKind::Id { tag, .. } => tag.clone(),
            TypeKind::Enum { .. } | TypeKind::Struct { .. } | TypeKind::Callback { .. } => String::new(),
        };
        match self.sdk_api.map(|sdk_api| sdk_api.ty(ty)) {
            Some(name) => (name.clone(), format!("{name}_st")),
            None => (ty.c_name.clone(), tag),
        }
    }

    pub(super) fn typedef(&self, typedef: &Typedef) -> TypeItem {
        TypeItem::Plain {
            comment: vec![format!("@brief {}", typedef.summary)],
            declaration: format!("typedef {} {};", self.newest.base(typedef.ty), typedef.c_name),
        }
    }

    pub(super) fn ty(&self, ty: &Type) -> TypeItem {
        let comment = self.comments.ty(ty);
        let (name, tag) = &self.type_names(ty);
        let plain = |declaration| TypeItem::Plain { comment: comment.clone(), declaration };
        match &ty.kind {
            TypeKind::Handle { form, const_name, .. } => {
                plain(types::handle(form, name, tag, const_name.as_deref()))
            }
            TypeKind::Id { field, ty, .. } => {
                let member = format!("{} {}", self.newest.base(*ty), self.names.variable(field));
                plain(format!("typedef struct {tag} {{\n  {member};\n}}* {name};"))
            }
            TypeKind::Callback { params, result, .. } => {
                plain(format!("typedef {};", self.newest.callback(params, result.as_deref(), name)))
            }
            TypeKind::Enum { values, form, representation, .. } => TypeItem::Enum {
                name: name.clone(),
                // The SDK's header declares each enum by its name.
                form: match self.sdk_api.map_or(*form, |_| EnumForm::Named).in_c(*representation) {
                    EnumForm::Named => "named",
                    EnumForm::Int => "int",
                    EnumForm::Macros => "macros",
                },
                representation: representation.c_name(),
                values: values
                    .iter()
                    .map(|value| ValueItem {
                        comment: self.comments.value(value),
                        name: self
                            .sdk_api
                            .map_or_else(|| value.c_name.clone(), |sdk_api| sdk_api.value(ty, value)),
                        value: value.value,
                    })
                    .collect(),
                size: 4,
                comment,
            },
            TypeKind::Struct { anonymous, is_union, fields, .. } => {
                let layout = match is_union {
                    true => abi::union_layout(self.spec, fields, self.interface.newest()),
                    false => abi::struct_layout(self.spec, fields, self.interface.newest()),
                };
                TypeItem::Struct(StructItem {
                    word: if *is_union { "union" } else { "struct" },
                    name: name.clone(),
                    anonymous: *anonymous && self.sdk_api.is_none(),
                    fields: self.fields(ty, fields, &layout, self.interface.newest()),
                    size: layout.size,
                    comment,
                })
            }
        }
    }

    pub(super) fn fields(
        &self,
        ty: &Type,
        fields: &[Param],
        layout: &StructLayout,
        release: Option<ReleaseId>,
    ) -> Vec<FieldItem> {
        let place = |(index, offset, _): &(usize, u64, u64)| {
            let field = &fields[*index];
            let (spelled, brackets) = self.newest.field(field);
            let name = self.names.field(field);
            // The params struct points to the table, which is not a type of the spec.
            let spelled = match self.table_behind(ty, field) {
                Some(table) => format!("{}*", self.table_name(table, release)),
                None => spelled,
            };
            FieldItem {
                comment: self.comments.field(field, fields),
                declaration: format!("{spelled} {name}{brackets};"),
                name,
                offset: *offset,
                members: self.unnamed_members(field, *offset, release),
            }
        };
        layout.fields.iter().map(place).collect()
    }

    /// Returns the members of a union without a name, with their offsets in the struct around it.
    fn unnamed_members(&self, field: &Param, offset: u64, release: Option<ReleaseId>) -> Vec<FieldItem> {
        let Ty::Named(id) = field.ty else { return Vec::new() };
        let ty = self.spec.ty(id);
        let TypeKind::Struct { fields, is_unnamed: true, .. } = &ty.kind else { return Vec::new() };
        let layout = abi::union_layout(self.spec, fields, release);
        let mut members = self.fields(ty, fields, &layout, release);
        members.iter_mut().for_each(|member| member.offset += offset);
        members
    }

    fn table_behind(&self, ty: &Type, field: &Param) -> Option<&Table> {
        let table = self.interface.table()?;
        let plugin = table.plugin()?;
        let is_params = std::ptr::eq(self.spec.ty(plugin.params), ty);
        (is_params && plugin.table == field.name.value).then_some(table)
    }

    pub(super) fn table_name(&self, table: &Table, release: Option<ReleaseId>) -> String {
        match release {
            Some(release) if Some(release) != self.interface.newest() => {
                self.names.versioned(&table.c_name, release)
            }
            _ => table.c_name.clone(),
        }
    }
}
