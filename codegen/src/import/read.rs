//! Reads what a header declares from a file that libclang parsed.

#![allow(non_upper_case_globals, reason = "the names are libclang's")]

use std::path::Path;

use clang_sys::*;

use super::clang::{ClangType, Cursor, ReadError, ReadOptions, Unit};
use super::header::{CType, CallbackDecl, EnumDecl, FunctionDecl, HandleDecl, Header, ParamDecl, StructDecl};

/// Includes that assertions need, and that headers such as those of PaddlePaddle 2.6 lack.
pub const CXX_PRELUDE: &str = "#include <cstddef>\n#include <cstdint>\n#include <type_traits>\n";

/// Reads what some files declare that a text includes: as C, or as C++ if that is not possible.
///
/// # Errors
/// If libclang is not installed or can read the files in neither language.
pub fn read(
    text: &str,
    first: &Path,
    options: &ReadOptions,
    of: &dyn Fn(&Path) -> bool,
) -> Result<Header, ReadError> {
    let parse = |name: &str, prelude: &str, cxx| {
        let options = ReadOptions { cxx, ..options.clone() };
        Unit::parse(Path::new(name), &format!("{prelude}{text}"), &options)
    };
    let in_c = parse("import.c", "", false)?;
    let in_c_failed = in_c.errors();
    if in_c_failed.is_empty() {
        return Ok(declarations(&in_c, of));
    }
    let in_cxx = parse("import.cc", CXX_PRELUDE, true)?;
    let in_cxx_failed = in_cxx.errors();
    if in_cxx_failed.is_empty() {
        return Ok(declarations(&in_cxx, of));
    }
    // The language that is not the header's has more to say.
    let reasons = if in_cxx_failed.len() < in_c_failed.len() { in_cxx_failed } else { in_c_failed };
    Err(ReadError::Parse { header: first.to_owned(), reasons })
}

/// Returns what some files of a unit declare.
fn declarations(unit: &Unit, of: &dyn Fn(&Path) -> bool) -> Header {
    let mut reader = Reader { of, header: Header::default() };
    for cursor in unit.root().children() {
        if reader.is_own(cursor) {
            reader.declare(cursor);
        }
    }
    reader.header
}

struct Reader<'a> {
    of: &'a dyn Fn(&Path) -> bool,
    header: Header,
}

impl Reader<'_> {
    /// Returns true for a declaration in the files that are read.
    fn is_own(&self, cursor: Cursor<'_>) -> bool {
        cursor.file().is_some_and(|file| (self.of)(&file))
    }

    fn declare(&mut self, cursor: Cursor<'_>) {
        match cursor.kind() {
            CXCursor_LinkageSpec | CXCursor_UnexposedDecl => {
                cursor.children().into_iter().for_each(|inner| self.declare(inner));
            }
            CXCursor_FunctionDecl => {
                let name = cursor.spelling();
                if !self.header.functions.iter().any(|known| known.name == name) {
                    let ty = cursor.ty();
                    self.header.functions.push(FunctionDecl {
                        comment: comment(cursor),
                        params: self.params(cursor),
                        result: self.c_type(ty.result()),
                        is_variadic: ty.is_variadic(),
                        name,
                    });
                }
            }
            CXCursor_EnumDecl => self.push_enum(cursor, cursor.spelling()),
            CXCursor_StructDecl => self.push_struct(cursor, cursor.spelling()),
            CXCursor_TypedefDecl => self.typedef(cursor),
            _ => {}
        }
    }

    fn typedef(&mut self, cursor: Cursor<'_>) {
        let name = cursor.spelling();
        let canonical = cursor.underlying().canonical();
        let declaration = canonical.declaration();
        match canonical.kind() {
            CXType_Enum => {
                self.rename(declaration.spelling(), &name);
                self.push_enum(declaration, name);
            }
            CXType_Record => {
                self.rename(declaration.spelling(), &name);
                self.push_struct(declaration, name);
            }
            CXType_Pointer if names_handle(canonical.pointee()) => {
                let target = canonical.pointee().canonical();
                let comment = comment(cursor);
                if matches!(target.kind(), CXType_FunctionProto | CXType_FunctionNoProto) {
                    let result = self.c_type(target.result());
                    let params = self.named_params(cursor, target);
                    self.header.callbacks.push(CallbackDecl { comment, params, result, name });
                } else {
                    let is_void = target.kind() == CXType_Void;
                    let tag = if is_void { String::new() } else { target.declaration().spelling() };
                    let is_const = canonical.pointee().is_const();
                    self.header.handles.push(HandleDecl { comment, pointer_to: Some(tag), is_const, name });
                }
            }
            _ => {}
        }
    }

    /// Returns the name by which a type is listed.
    fn listed(&self, name: String) -> String {
        let found = self.header.aliases.iter().find(|(known, _)| *known == name);
        found.map_or(name, |(_, listed)| listed.clone())
    }

    /// Lists a type by the name that a header gives it, and no longer by its tag. The first name counts.
    fn rename(&mut self, tag: String, name: &str) {
        if !is_name(&tag) {
            return;
        }
        // libclang calls a type without a tag by its first name.
        if tag == name {
            self.header.aliases.push((tag.clone(), tag));
            return;
        }
        let listed =
            self.header.aliases.iter().find(|(known, _)| *known == tag).map(|(_, listed)| listed.clone());
        if let Some(listed) = listed {
            self.header.aliases.push((name.to_owned(), listed));
            return;
        }
        let enums = self.header.enums.iter_mut().map(|it| &mut it.name);
        let structs = self.header.structs.iter_mut().map(|it| &mut it.name);
        let handles =
            self.header.handles.iter_mut().filter(|it| it.pointer_to.is_none()).map(|it| &mut it.name);
        for known in enums.chain(structs).chain(handles).filter(|known| **known == tag) {
            name.clone_into(known);
        }
        self.header.aliases.push((tag, name.to_owned()));
    }

    fn push_enum(&mut self, cursor: Cursor<'_>, name: String) {
        let name = self.listed(name);
        if !is_name(&name) || self.header.enums.iter().any(|known| known.name == name) {
            return;
        }
        let values = cursor.children().into_iter().filter(|child| child.kind() == CXCursor_EnumConstantDecl);
        let values =
            values.map(|value| (value.spelling(), value.enum_value(), member_comment(value))).collect();
        self.header.enums.push(EnumDecl { comment: comment(cursor), values, name });
    }

    fn push_struct(&mut self, cursor: Cursor<'_>, name: String) {
        let name = self.listed(name);
        if !is_name(&name) || self.header.structs.iter().any(|known| known.name == name) {
            return;
        }
        let Some(definition) = cursor.definition() else {
            if !self.header.handles.iter().any(|known| known.name == name) {
                self.header.handles.push(HandleDecl {
                    comment: comment(cursor),
                    pointer_to: None,
                    is_const: false,
                    name,
                });
            }
            return;
        };
        self.header.handles.retain(|known| known.name != name);
        let (mut fields, mut is_opaque) = (Vec::new(), false);
        for member in definition.children() {
            match member.kind() {
                CXCursor_FieldDecl => {
                    is_opaque |=
                        member.is_bit_field() || member.ty().canonical().kind() == CXType_IncompleteArray;
                    let ty = self.member_type(member);
                    is_opaque |= matches!(ty, CType::Other(_));
                    fields.push(ParamDecl { name: member.spelling(), comment: member_comment(member), ty });
                }
                CXCursor_StructDecl | CXCursor_UnionDecl => {
                    is_opaque |= !is_name(&member.spelling());
                }
                _ => {}
            }
        }
        self.header.structs.push(StructDecl { comment: comment(definition), fields, is_opaque, name });
    }

    /// Returns the type of a member; a pointer to a function keeps the names of its parameters.
    fn member_type(&self, member: Cursor<'_>) -> CType {
        let ty = member.ty();
        match self.c_type(ty) {
            CType::Function { result, .. } => {
                let target = ty.canonical().pointee().canonical();
                CType::Function { params: self.named_params(member, target), result }
            }
            ty => ty,
        }
    }

    /// Returns the parameters of a function.
    fn params(&self, cursor: Cursor<'_>) -> Vec<ParamDecl> {
        cursor.params().into_iter().map(|param| self.param_of(param.spelling(), param.ty())).collect()
    }

    fn param_of(&self, name: String, ty: ClangType<'_>) -> ParamDecl {
        ParamDecl { name, comment: String::new(), ty: self.c_type(ty) }
    }

    /// Returns the parameters of the function that a declaration points to, with the names that it gives them.
    fn named_params(&self, declaration: Cursor<'_>, function: ClangType<'_>) -> Vec<ParamDecl> {
        let named: Vec<Cursor<'_>> =
            declaration.children().into_iter().filter(|child| child.kind() == CXCursor_ParmDecl).collect();
        let types = function.params();
        if named.len() == types.len() {
            named.into_iter().map(|param| self.param_of(param.spelling(), param.ty())).collect()
        } else {
            types.into_iter().map(|ty| self.param_of(String::new(), ty)).collect()
        }
    }

    fn c_type(&self, ty: ClangType<'_>) -> CType {
        let canonical = ty.canonical();
        let declared = || unqualified(ty).spelling();
        let name = || declared().trim_start_matches("struct ").trim_start_matches("enum ").to_owned();
        match canonical.kind() {
            CXType_Void => CType::Void,
            CXType_Pointer => {
                let target = (if ty.kind() == CXType_Pointer { ty } else { canonical }).pointee();
                let of_target = target.canonical();
                if is_typedef(ty) && names_handle(target) && self.is_own(ty.declaration()) {
                    return CType::Named(name());
                }
                if matches!(of_target.kind(), CXType_FunctionProto | CXType_FunctionNoProto) {
                    let params =
                        of_target.params().into_iter().map(|ty| self.param_of(String::new(), ty)).collect();
                    let result = Box::new(self.c_type(of_target.result()));
                    return CType::Function { params, result };
                }
                let is_const = target.is_const();
                CType::Pointer { is_const, target: Box::new(self.c_type(target)) }
            }
            CXType_ConstantArray => {
                let count = canonical.array_length();
                // A member without a length, at the end of a struct.
                if count == 0 {
                    return CType::Other(declared());
                }
                CType::Array { element: Box::new(self.c_type(ty.element())), count }
            }
            CXType_IncompleteArray => {
                let target = ty.element();
                let is_const = target.is_const();
                CType::Pointer { is_const, target: Box::new(self.c_type(target)) }
            }
            CXType_Record | CXType_Enum if is_name(&name()) => CType::Named(name()),
            kind => primitive(kind, &declared(), canonical)
                .map_or_else(|| CType::Other(declared()), CType::Primitive),
        }
    }
}

/// Returns true if the name of a pointer to this is that of a handle or a callback. The name of a pointer to a struct that
/// callers fill, or to a number, is only another way to write it.
fn names_handle(target: ClangType<'_>) -> bool {
    match target.canonical().kind() {
        CXType_FunctionProto | CXType_FunctionNoProto => true,
        CXType_Record => !is_complete(target.canonical()),
        CXType_Void => !target.is_const(),
        _ => false,
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
