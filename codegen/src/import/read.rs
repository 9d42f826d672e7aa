//! Reads what a header declares from a file that libclang parsed.

#![allow(non_upper_case_globals, reason = "the names are libclang's")]

use std::path::Path;

use clang_sys::*;

use super::clang::{ClangType, Cursor, Unit};
use super::header::{CType, CallbackDecl, EnumDecl, FunctionDecl, HandleDecl, Header, ParamDecl, StructDecl};

/// Returns what some files of a unit declare.
pub fn declarations(unit: &Unit, of: &dyn Fn(&Path) -> bool) -> Header {
    let mut header = Header::default();
    for cursor in unit.root().children() {
        if cursor.file().is_some_and(|file| of(&file)) {
            declare(cursor, &mut header);
        }
    }
    header
}

fn declare(cursor: Cursor<'_>, header: &mut Header) {
    match cursor.kind() {
        CXCursor_LinkageSpec | CXCursor_UnexposedDecl => {
            cursor.children().into_iter().for_each(|inner| declare(inner, header));
        }
        CXCursor_FunctionDecl => {
            let name = cursor.spelling();
            if !header.functions.iter().any(|known| known.name == name) {
                let ty = cursor.ty();
                header.functions.push(FunctionDecl {
                    comment: comment(cursor),
                    params: params(cursor),
                    result: c_type(ty.result()),
                    is_variadic: ty.is_variadic(),
                    name,
                });
            }
        }
        CXCursor_EnumDecl => push_enum(cursor, cursor.spelling(), header),
        CXCursor_StructDecl => push_struct(cursor, cursor.spelling(), header),
        CXCursor_TypedefDecl => typedef(cursor, header),
        _ => {}
    }
}

fn typedef(cursor: Cursor<'_>, header: &mut Header) {
    let name = cursor.spelling();
    let canonical = cursor.underlying().canonical();
    let declaration = canonical.declaration();
    match canonical.kind() {
        CXType_Enum => {
            rename(declaration.spelling(), &name, header);
            push_enum(declaration, name, header);
        }
        CXType_Record => {
            rename(declaration.spelling(), &name, header);
            push_struct(declaration, name, header);
        }
        CXType_Pointer => {
            let target = canonical.pointee().canonical();
            match target.kind() {
                CXType_FunctionProto | CXType_FunctionNoProto => {
                    let result = c_type(target.result());
                    let params = named_params(cursor, target);
                    header.callbacks.push(CallbackDecl { comment: comment(cursor), params, result, name });
                }
                // The name of a pointer to a struct that callers fill is a pointer to it, and no handle.
                CXType_Record if is_complete(target) => {}
                CXType_Record => {
                    let tag = target.declaration().spelling();
                    let is_const = canonical.pointee().is_const();
                    let handle =
                        HandleDecl { comment: comment(cursor), pointer_to: Some(tag), is_const, name };
                    header.handles.push(handle);
                }
                CXType_Void => header.handles.push(HandleDecl {
                    comment: comment(cursor),
                    pointer_to: Some(String::new()),
                    is_const: false,
                    name,
                }),
                _ => {}
            }
        }
        _ => {}
    }
}

/// Returns the name by which a type is listed.
fn listed(name: String, header: &Header) -> String {
    let found = header.aliases.iter().find(|(known, _)| *known == name);
    found.map_or(name, |(_, listed)| listed.clone())
}

/// Lists a type by the name that a header gives it, and no longer by its tag. The first name counts.
fn rename(tag: String, name: &str, header: &mut Header) {
    if !is_name(&tag) {
        return;
    }
    // libclang calls a type without a tag by its first name.
    if tag == name {
        header.aliases.push((tag.clone(), tag));
        return;
    }
    if header.aliases.iter().any(|(known, _)| *known == tag) {
        let listed = header.aliases.iter().find(|(known, _)| *known == tag).map(|(_, listed)| listed.clone());
        header.aliases.push((name.to_owned(), listed.unwrap_or(tag)));
        return;
    }
    let enums = header.enums.iter_mut().map(|it| &mut it.name);
    let structs = header.structs.iter_mut().map(|it| &mut it.name);
    let handles = header.handles.iter_mut().filter(|it| it.pointer_to.is_none()).map(|it| &mut it.name);
    for known in enums.chain(structs).chain(handles).filter(|known| **known == tag) {
        name.clone_into(known);
    }
    header.aliases.push((tag, name.to_owned()));
}

fn push_enum(cursor: Cursor<'_>, name: String, header: &mut Header) {
    let name = listed(name, header);
    if !is_name(&name) || header.enums.iter().any(|known| known.name == name) {
        return;
    }
    let values = cursor.children().into_iter().filter(|child| child.kind() == CXCursor_EnumConstantDecl);
    let values = values.map(|value| (value.spelling(), value.enum_value(), member_comment(value))).collect();
    header.enums.push(EnumDecl { comment: comment(cursor), values, name });
}

fn push_struct(cursor: Cursor<'_>, name: String, header: &mut Header) {
    let name = listed(name, header);
    if !is_name(&name) || header.structs.iter().any(|known| known.name == name) {
        return;
    }
    let Some(definition) = cursor.definition() else {
        if !header.handles.iter().any(|known| known.name == name) {
            header.handles.push(HandleDecl {
                comment: comment(cursor),
                pointer_to: None,
                is_const: false,
                name,
            });
        }
        return;
    };
    header.handles.retain(|known| known.name != name);
    let (mut fields, mut is_opaque) = (Vec::new(), false);
    for member in definition.children() {
        match member.kind() {
            CXCursor_FieldDecl => {
                is_opaque |= member.is_bit_field();
                let ty = member_type(member);
                is_opaque |= matches!(ty, CType::Other(_));
                fields.push(ParamDecl { name: member.spelling(), comment: member_comment(member), ty });
            }
            CXCursor_StructDecl | CXCursor_UnionDecl => {
                is_opaque |= !is_name(&member.spelling());
            }
            _ => {}
        }
    }
    header.structs.push(StructDecl { comment: comment(definition), fields, is_opaque, name });
}

/// Returns the type of a member; a pointer to a function keeps the names of its parameters.
fn member_type(member: Cursor<'_>) -> CType {
    let ty = member.ty();
    match c_type(ty) {
        CType::Function { result, .. } => {
            let target = ty.canonical().pointee().canonical();
            CType::Function { params: named_params(member, target), result }
        }
        ty => ty,
    }
}

/// Returns the parameters of a function.
fn params(cursor: Cursor<'_>) -> Vec<ParamDecl> {
    cursor.params().into_iter().map(|param| param_of(param.spelling(), param.ty())).collect()
}

fn param_of(name: String, ty: ClangType<'_>) -> ParamDecl {
    ParamDecl { name, comment: String::new(), ty: c_type(ty) }
}

/// Returns the parameters of the function that a declaration points to, with the names that it gives them.
fn named_params(declaration: Cursor<'_>, function: ClangType<'_>) -> Vec<ParamDecl> {
    let named: Vec<Cursor<'_>> =
        declaration.children().into_iter().filter(|child| child.kind() == CXCursor_ParmDecl).collect();
    let types = function.params();
    if named.len() == types.len() {
        named.into_iter().map(|param| param_of(param.spelling(), param.ty())).collect()
    } else {
        types.into_iter().map(|ty| param_of(String::new(), ty)).collect()
    }
}

fn c_type(ty: ClangType<'_>) -> CType {
    let canonical = ty.canonical();
    let declared = || unqualified(ty).spelling();
    let name = || declared().trim_start_matches("struct ").trim_start_matches("enum ").to_owned();
    match canonical.kind() {
        CXType_Void => CType::Void,
        CXType_Pointer => {
            let target = (if ty.kind() == CXType_Pointer { ty } else { canonical }).pointee();
            let of_target = target.canonical();
            let is_struct = of_target.kind() == CXType_Record && is_complete(of_target);
            if is_typedef(ty) && !is_struct {
                return CType::Named(name());
            }
            if matches!(of_target.kind(), CXType_FunctionProto | CXType_FunctionNoProto) {
                let params = of_target.params().into_iter().map(|ty| param_of(String::new(), ty)).collect();
                let result = Box::new(c_type(of_target.result()));
                return CType::Function { params, result };
            }
            let is_const = target.is_const();
            CType::Pointer { is_const, target: Box::new(c_type(target)) }
        }
        CXType_ConstantArray => {
            let count = canonical.array_length();
            // A member without a length, at the end of a struct.
            if count == 0 {
                return CType::Other(declared());
            }
            CType::Array { element: Box::new(c_type(ty.element())), count }
        }
        CXType_IncompleteArray => {
            let target = ty.element();
            let is_const = target.is_const();
            CType::Pointer { is_const, target: Box::new(c_type(target)) }
        }
        CXType_Record | CXType_Enum if is_name(&name()) => CType::Named(name()),
        kind => {
            primitive(kind, &declared(), canonical).map_or_else(|| CType::Other(declared()), CType::Primitive)
        }
    }
}

/// Returns true if the members of a struct are known.
fn is_complete(record: ClangType<'_>) -> bool {
    record.declaration().definition().is_some()
}

/// Returns true for a name of a pointer that a header declares.
fn is_typedef(ty: ClangType<'_>) -> bool {
    ty.declaration().kind() == CXCursor_TypedefDecl
}

/// Returns the primitive of the spec language.
fn primitive(kind: CXTypeKind, declared: &str, canonical: ClangType<'_>) -> Option<&'static str> {
    let bytes = canonical.size();
    let integer = |is_signed: bool| match (bytes, is_signed) {
        (Some(1), true) => Some("i8"),
        (Some(2), true) => Some("i16"),
        (Some(4), true) => Some("i32"),
        (Some(8), true) => Some("i64"),
        (Some(1), false) => Some("u8"),
        (Some(2), false) => Some("u16"),
        (Some(4), false) => Some("u32"),
        (Some(8), false) => Some("u64"),
        _ => None,
    };
    match kind {
        _ if declared == "size_t" => Some("size"),
        CXType_Bool => Some("bool"),
        CXType_Char_S | CXType_Char_U => Some("char"),
        CXType_Float => Some("f32"),
        CXType_Double => Some("f64"),
        CXType_ULongLong => Some("ulonglong"),
        CXType_SChar | CXType_Short | CXType_Int | CXType_Long | CXType_LongLong => integer(true),
        CXType_UChar | CXType_UShort | CXType_UInt | CXType_ULong => integer(false),
        _ => None,
    }
}

/// Returns a type without `const`. libclang of version 10 has no function for it.
fn unqualified(ty: ClangType<'_>) -> ClangType<'_> {
    let declaration = ty.declaration();
    let is_const = ty.is_const();
    let has_name = declaration.kind() != CXCursor_NoDeclFound;
    if is_const && has_name { declaration.ty() } else { ty }
}

/// Returns true for a name that C can refer to; libclang describes types without a name in words.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// Returns the comment of a member or a value: the one before it, else the one after it in its line.
fn member_comment(cursor: Cursor<'_>) -> String {
    let before = comment(cursor);
    if before.is_empty() { without_marks(&cursor.comment_after()) } else { before }
}

/// Returns the comment of a declaration, without its marks.
fn comment(cursor: Cursor<'_>) -> String {
    without_marks(&cursor.comment())
}

fn without_marks(comment: &str) -> String {
    let lines = comment.lines().map(|line| {
        let line = line.trim().trim_start_matches(['/', '*', '!', '<']).trim_end_matches(['/', '*']);
        line.trim().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}
