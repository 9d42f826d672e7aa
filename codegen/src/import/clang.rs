//! Reads a header with libclang, which is found at run time.

#![allow(non_upper_case_globals, reason = "the names are libclang's")]

use std::ffi::{CStr, CString, c_int, c_uint, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;

use clang_sys::*;

use super::header::{CType, CallbackDecl, EnumDecl, FunctionDecl, HandleDecl, Header, ParamDecl, StructDecl};

/// The reason for which a header cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is no libclang.
    #[error("libclang is not installed")]
    NoLibclang,
    /// libclang could not parse it.
    #[error("libclang cannot read `{}`{}", header.display(), reasons.iter().map(|reason| format!("\n{reason}")).collect::<String>())]
    Parse {
        /// The header.
        header: PathBuf,
        /// What it says.
        reasons: Vec<String>,
    },
}

impl ReadError {
    /// Returns what to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            ReadError::NoLibclang => {
                "install it with `apt-get install libclang1` or `pip install libclang`, or name the file in `LIBCLANG_PATH`"
            }
            ReadError::Parse { .. } => "`-I DIR` adds a folder that `#include` searches",
        }
    }
}

/// How a header is read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Folders that `#include` searches.
    pub include: Vec<PathBuf>,
    /// True for C++.
    pub cxx: bool,
}

/// A parsed file.
pub struct Unit {
    index: CXIndex,
    unit: CXTranslationUnit,
}

impl Drop for Unit {
    fn drop(&mut self) {
        // SAFETY: both are alive, and are disposed of once.
        unsafe {
            clang_disposeTranslationUnit(self.unit);
            clang_disposeIndex(self.index);
        }
    }
}

/// Finds and loads libclang: where the system has it, in `LIBCLANG_PATH`, or in the package `libclang` of a Python.
fn load_libclang() -> Result<(), ReadError> {
    if clang_sys::is_loaded() || clang_sys::load().is_ok() {
        return Ok(());
    }
    let code = "import clang, os; print(os.path.join(list(clang.__path__)[0], 'native'))";
    let output = Command::new("python3").args(["-c", code]).output().map_err(|_| ReadError::NoLibclang)?;
    let folder = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let library = Path::new(&folder).join("libclang.so");
    if !output.status.success() || !library.is_file() {
        return Err(ReadError::NoLibclang);
    }
    // SAFETY: no other thread of the command reads or writes the environment.
    unsafe { std::env::set_var("LIBCLANG_PATH", library) };
    clang_sys::load().map_err(|_| ReadError::NoLibclang)
}

impl Unit {
    /// Parses a text as if it were a file.
    ///
    /// # Errors
    /// If there is no libclang, or it cannot parse the text at all. Errors in the text are [`Unit::errors`].
    pub fn parse(name: &Path, text: &str, options: &ReadOptions) -> Result<Self, ReadError> {
        load_libclang()?;
        // A libclang with headers of its own must not see those of another compiler.
        let own = system_folders(options.cxx, false);
        let probe = Self::parse_with(Path::new("probe.c"), "#include <stddef.h>\n", options, &own)?;
        let folders = if probe.errors().is_empty() { own } else { system_folders(options.cxx, true) };
        Self::parse_with(name, text, options, &folders)
    }

    fn parse_with(
        name: &Path,
        text: &str,
        options: &ReadOptions,
        folders: &[String],
    ) -> Result<Self, ReadError> {
        let mut flags: Vec<String> = options
            .include
            .iter()
            .flat_map(|folder| ["-I".to_owned(), folder.to_string_lossy().into_owned()])
            .collect();
        flags.push("-ferror-limit=0".to_owned());
        let language: &[&str] =
            if options.cxx { &["-x", "c++", "-std=gnu++17"] } else { &["-x", "c", "-std=gnu11"] };
        flags.extend(language.iter().map(|&flag| flag.to_owned()));
        flags.extend(folders.iter().cloned());
        let text_of = |text: &str| CString::new(text.replace('\0', " ")).unwrap_or_default();
        let flags: Vec<CString> = flags.iter().map(|flag| text_of(flag)).collect();
        let flags: Vec<_> = flags.iter().map(|flag| flag.as_ptr()).collect();
        let (name_text, text) = (text_of(&name.to_string_lossy()), text_of(text));
        let mut file = CXUnsavedFile {
            Filename: name_text.as_ptr(),
            Contents: text.as_ptr(),
            Length: text.as_bytes().len() as _,
        };
        // SAFETY: all texts live until the unit is made; libclang is loaded.
        unsafe {
            let index = clang_createIndex(0, 0);
            let mut unit = std::ptr::null_mut();
            let code = clang_parseTranslationUnit2(
                index,
                name_text.as_ptr(),
                flags.as_ptr(),
                c_int::try_from(flags.len()).unwrap_or(c_int::MAX),
                &raw mut file,
                1,
                CXTranslationUnit_SkipFunctionBodies,
                &raw mut unit,
            );
            if code != CXError_Success || unit.is_null() {
                clang_disposeIndex(index);
                return Err(ReadError::Parse { header: name.to_owned(), reasons: Vec::new() });
            }
            Ok(Unit { index, unit })
        }
    }

    /// Returns the errors that libclang reports.
    pub fn errors(&self) -> Vec<String> {
        // SAFETY: the unit is alive; each diagnostic is disposed of once.
        unsafe {
            (0..clang_getNumDiagnostics(self.unit))
                .filter_map(|index| {
                    let diagnostic = clang_getDiagnostic(self.unit, index);
                    let severity = clang_getDiagnosticSeverity(diagnostic);
                    let text = string(clang_formatDiagnostic(diagnostic, CXDiagnostic_DisplaySourceLocation));
                    clang_disposeDiagnostic(diagnostic);
                    (severity >= CXDiagnostic_Error).then_some(text)
                })
                .collect()
        }
    }

    /// Returns what some files declare.
    pub fn declarations(&self, of: &dyn Fn(&Path) -> bool) -> Header {
        let mut header = Header::default();
        // SAFETY: the unit is alive.
        let root = unsafe { clang_getTranslationUnitCursor(self.unit) };
        visit(root, &mut |cursor| {
            if file_of(cursor).is_some_and(|file| of(&file)) {
                declare(cursor, &mut header);
            }
        });
        header
    }
}

/// Returns the folders of the system's headers, with or without those of the compiler, such as `stddef.h`.
fn system_folders(cxx: bool, with_compiler: bool) -> Vec<String> {
    let (compiler, language) = if cxx { ("c++", "c++") } else { ("cc", "c") };
    let output =
        Command::new(compiler).args(["-E", "-v", "-x", language, "/dev/null"]).env("LC_ALL", "C").output();
    let Ok(output) = output else { return Vec::new() };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let lines = said.lines().skip_while(|line| !line.starts_with("#include <...>")).skip(1);
    let folders = lines.take_while(|line| line.starts_with(' ')).map(str::trim);
    let is_compiler = |folder: &&str| Path::new(folder).join("stddef.h").is_file();
    let folders = folders.filter(|folder| with_compiler || !is_compiler(folder));
    folders.flat_map(|folder| ["-isystem".to_owned(), folder.to_owned()]).collect()
}

fn declare(cursor: CXCursor, header: &mut Header) {
    // SAFETY: the cursor belongs to a unit that is alive, here and below.
    match unsafe { clang_getCursorKind(cursor) } {
        CXCursor_LinkageSpec | CXCursor_UnexposedDecl => visit(cursor, &mut |inner| declare(inner, header)),
        CXCursor_FunctionDecl => {
            let name = spelling(cursor);
            if !header.functions.iter().any(|known| known.name == name) {
                let ty = unsafe { clang_getCursorType(cursor) };
                header.functions.push(FunctionDecl {
                    comment: comment(cursor),
                    params: params(cursor),
                    result: c_type(unsafe { clang_getResultType(ty) }),
                    is_variadic: unsafe { clang_isFunctionTypeVariadic(ty) } != 0,
                    name,
                });
            }
        }
        CXCursor_EnumDecl => push_enum(cursor, spelling(cursor), header),
        CXCursor_StructDecl => push_struct(cursor, spelling(cursor), header),
        CXCursor_TypedefDecl => typedef(cursor, header),
        _ => {}
    }
}

fn typedef(cursor: CXCursor, header: &mut Header) {
    let name = spelling(cursor);
    // SAFETY: the cursor belongs to a unit that is alive.
    let canonical = unsafe { clang_getCanonicalType(clang_getTypedefDeclUnderlyingType(cursor)) };
    let declaration = unsafe { clang_getTypeDeclaration(canonical) };
    match canonical.kind {
        CXType_Enum => {
            rename(spelling(declaration), &name, header);
            push_enum(declaration, name, header);
        }
        CXType_Record => {
            rename(spelling(declaration), &name, header);
            push_struct(declaration, name, header);
        }
        CXType_Pointer => {
            let target = unsafe { clang_getCanonicalType(clang_getPointeeType(canonical)) };
            match target.kind {
                CXType_FunctionProto | CXType_FunctionNoProto => {
                    let result = c_type(unsafe { clang_getResultType(target) });
                    let params = named_params(cursor, target);
                    header.callbacks.push(CallbackDecl { comment: comment(cursor), params, result, name });
                }
                // The name of a pointer to a struct that callers fill is a pointer to it, and no handle.
                CXType_Record if is_complete(target) => {}
                CXType_Record => {
                    let tag = spelling(unsafe { clang_getTypeDeclaration(target) });
                    let is_const =
                        unsafe { clang_isConstQualifiedType(clang_getPointeeType(canonical)) } != 0;
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

fn push_enum(cursor: CXCursor, name: String, header: &mut Header) {
    let name = listed(name, header);
    if !is_name(&name) || header.enums.iter().any(|known| known.name == name) {
        return;
    }
    let mut values = Vec::new();
    visit(cursor, &mut |value| {
        // SAFETY: the cursor belongs to a unit that is alive.
        if unsafe { clang_getCursorKind(value) } == CXCursor_EnumConstantDecl {
            values.push((spelling(value), unsafe { clang_getEnumConstantDeclValue(value) }, comment(value)));
        }
    });
    header.enums.push(EnumDecl { comment: comment(cursor), values, name });
}

fn push_struct(cursor: CXCursor, name: String, header: &mut Header) {
    let name = listed(name, header);
    if !is_name(&name) || header.structs.iter().any(|known| known.name == name) {
        return;
    }
    // SAFETY: the cursor belongs to a unit that is alive.
    let definition = unsafe { clang_getCursorDefinition(cursor) };
    if unsafe { clang_Cursor_isNull(definition) } != 0 {
        if !header.handles.iter().any(|known| known.name == name) {
            header.handles.push(HandleDecl {
                comment: comment(cursor),
                pointer_to: None,
                is_const: false,
                name,
            });
        }
        return;
    }
    header.handles.retain(|known| known.name != name);
    let (mut fields, mut is_opaque) = (Vec::new(), false);
    visit(definition, &mut |member| match unsafe { clang_getCursorKind(member) } {
        CXCursor_FieldDecl => {
            is_opaque |= unsafe { clang_Cursor_isBitField(member) } != 0;
            let ty = member_type(member);
            is_opaque |= matches!(ty, CType::Other(_));
            fields.push(ParamDecl { name: spelling(member), comment: comment(member), ty });
        }
        CXCursor_StructDecl | CXCursor_UnionDecl => {
            is_opaque |= !is_name(&spelling(member));
        }
        _ => {}
    });
    header.structs.push(StructDecl { comment: comment(definition), fields, is_opaque, name });
}

/// Returns the type of a member; a pointer to a function keeps the names of its parameters.
fn member_type(member: CXCursor) -> CType {
    // SAFETY: the cursor belongs to a unit that is alive.
    let ty = unsafe { clang_getCursorType(member) };
    match c_type(ty) {
        CType::Function { result, .. } => {
            let target = unsafe { clang_getCanonicalType(clang_getPointeeType(clang_getCanonicalType(ty))) };
            CType::Function { params: named_params(member, target), result }
        }
        ty => ty,
    }
}

/// Returns the parameters of a function.
fn params(cursor: CXCursor) -> Vec<ParamDecl> {
    // SAFETY: the cursor belongs to a unit that is alive.
    let count = unsafe { clang_Cursor_getNumArguments(cursor) };
    (0..c_uint::try_from(count).unwrap_or(0))
        .map(|index| {
            let param = unsafe { clang_Cursor_getArgument(cursor, index) };
            let ty = c_type(unsafe { clang_getCursorType(param) });
            ParamDecl { name: spelling(param), comment: String::new(), ty }
        })
        .collect()
}

/// Returns the parameters of the function that a declaration points to, with the names that it gives them.
fn named_params(declaration: CXCursor, function: CXType) -> Vec<ParamDecl> {
    let mut names = Vec::new();
    visit(declaration, &mut |inner| {
        // SAFETY: the cursor belongs to a unit that is alive.
        if unsafe { clang_getCursorKind(inner) } == CXCursor_ParmDecl {
            names.push((spelling(inner), unsafe { clang_getCursorType(inner) }));
        }
    });
    let count = c_uint::try_from(unsafe { clang_getNumArgTypes(function) }).unwrap_or(0);
    (0..count)
        .map(|index| {
            let named = names.get(index as usize).filter(|_| names.len() == count as usize);
            let ty = named.map_or_else(|| unsafe { clang_getArgType(function, index) }, |(_, ty)| *ty);
            let name = named.map(|(name, _)| name.clone()).unwrap_or_default();
            ParamDecl { name, comment: String::new(), ty: c_type(ty) }
        })
        .collect()
}

fn c_type(ty: CXType) -> CType {
    // SAFETY: the type belongs to a unit that is alive, here and below.
    let canonical = unsafe { clang_getCanonicalType(ty) };
    let declared = || string(unsafe { clang_getTypeSpelling(unqualified(ty)) });
    let name = || declared().trim_start_matches("struct ").trim_start_matches("enum ").to_owned();
    match canonical.kind {
        CXType_Void => CType::Void,
        CXType_Pointer => {
            let target = unsafe { clang_getPointeeType(ty_or(ty, canonical)) };
            let of_target = unsafe { clang_getCanonicalType(target) };
            let is_struct = of_target.kind == CXType_Record && is_complete(of_target);
            if is_typedef(ty) && !is_struct {
                return CType::Named(name());
            }
            if matches!(of_target.kind, CXType_FunctionProto | CXType_FunctionNoProto) {
                let count = c_uint::try_from(unsafe { clang_getNumArgTypes(of_target) }).unwrap_or(0);
                let param = |index| ParamDecl {
                    name: String::new(),
                    comment: String::new(),
                    ty: c_type(unsafe { clang_getArgType(of_target, index) }),
                };
                let result = Box::new(c_type(unsafe { clang_getResultType(of_target) }));
                return CType::Function { params: (0..count).map(param).collect(), result };
            }
            let is_const = unsafe { clang_isConstQualifiedType(target) } != 0;
            CType::Pointer { is_const, target: Box::new(c_type(target)) }
        }
        CXType_ConstantArray => {
            let count = u64::try_from(unsafe { clang_getArraySize(canonical) }).unwrap_or(0);
            // A member without a length, at the end of a struct.
            if count == 0 {
                return CType::Other(declared());
            }
            CType::Array { element: Box::new(c_type(unsafe { clang_getArrayElementType(ty) })), count }
        }
        CXType_IncompleteArray => {
            let target = unsafe { clang_getArrayElementType(ty) };
            let is_const = unsafe { clang_isConstQualifiedType(target) } != 0;
            CType::Pointer { is_const, target: Box::new(c_type(target)) }
        }
        CXType_Record | CXType_Enum if is_name(&name()) => CType::Named(name()),
        kind => {
            primitive(kind, &declared(), canonical).map_or_else(|| CType::Other(declared()), CType::Primitive)
        }
    }
}

/// Returns the type itself if it is a pointer as written, else its canonical form.
fn ty_or(ty: CXType, canonical: CXType) -> CXType {
    if ty.kind == CXType_Pointer { ty } else { canonical }
}

/// Returns true if the members of a struct are known.
fn is_complete(record: CXType) -> bool {
    // SAFETY: the type belongs to a unit that is alive.
    unsafe {
        let definition = clang_getCursorDefinition(clang_getTypeDeclaration(record));
        clang_Cursor_isNull(definition) == 0
    }
}

/// Returns true for a name of a pointer that a header declares.
fn is_typedef(ty: CXType) -> bool {
    // SAFETY: the type belongs to a unit that is alive.
    let declaration = unsafe { clang_getTypeDeclaration(ty) };
    let kind = unsafe { clang_getCursorKind(declaration) };
    kind == CXCursor_TypedefDecl
}

/// Returns the primitive of the spec language.
fn primitive(kind: CXTypeKind, declared: &str, canonical: CXType) -> Option<&'static str> {
    // SAFETY: the type belongs to a unit that is alive.
    let bytes = unsafe { clang_Type_getSizeOf(canonical) };
    let integer = |is_signed: bool| match (bytes, is_signed) {
        (1, true) => Some("i8"),
        (2, true) => Some("i16"),
        (4, true) => Some("i32"),
        (8, true) => Some("i64"),
        (1, false) => Some("u8"),
        (2, false) => Some("u16"),
        (4, false) => Some("u32"),
        (8, false) => Some("u64"),
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
fn unqualified(ty: CXType) -> CXType {
    // SAFETY: the type belongs to a unit that is alive.
    let declaration = unsafe { clang_getTypeDeclaration(ty) };
    let is_const = unsafe { clang_isConstQualifiedType(ty) } != 0;
    let has_name = unsafe { clang_getCursorKind(declaration) } != CXCursor_NoDeclFound;
    if is_const && has_name { unsafe { clang_getCursorType(declaration) } } else { ty }
}

/// Returns true for a name that C can refer to; libclang describes types without a name in words.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

fn spelling(cursor: CXCursor) -> String {
    // SAFETY: the cursor belongs to a unit that is alive.
    string(unsafe { clang_getCursorSpelling(cursor) })
}

/// Returns the comment of a declaration, without its marks.
fn comment(cursor: CXCursor) -> String {
    // SAFETY: the cursor belongs to a unit that is alive.
    let raw = string(unsafe { clang_Cursor_getRawCommentText(cursor) });
    let lines = raw.lines().map(|line| {
        let line = line.trim().trim_start_matches(['/', '*', '!', '<']).trim_end_matches(['/', '*']);
        line.trim().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

fn file_of(cursor: CXCursor) -> Option<PathBuf> {
    let mut file = std::ptr::null_mut();
    let null = std::ptr::null_mut;
    // SAFETY: the cursor belongs to a unit that is alive; null is allowed for what is not asked for.
    unsafe {
        clang_getExpansionLocation(clang_getCursorLocation(cursor), &raw mut file, null(), null(), null());
        (!file.is_null()).then(|| PathBuf::from(string(clang_getFileName(file))))
    }
}

/// Returns a text of libclang, and disposes of it.
fn string(text: CXString) -> String {
    // SAFETY: the text is of libclang and alive; null is possible.
    unsafe {
        let pointer = clang_getCString(text);
        let owned = if pointer.is_null() {
            String::new()
        } else {
            CStr::from_ptr(pointer).to_string_lossy().into_owned()
        };
        clang_disposeString(text);
        owned
    }
}

/// Calls a function for each child of a cursor.
fn visit(cursor: CXCursor, each: &mut dyn FnMut(CXCursor)) {
    extern "C" fn call(child: CXCursor, _: CXCursor, data: CXClientData) -> CXChildVisitResult {
        // SAFETY: the data is the pointer that `visit` passes, to a function that outlives the call.
        let each = unsafe { &mut *data.cast::<&mut dyn FnMut(CXCursor)>() };
        each(child);
        CXChildVisit_Continue
    }
    let mut each = each;
    // SAFETY: the function is called during this call only.
    unsafe { clang_visitChildren(cursor, call, (&raw mut each).cast::<c_void>()) };
}
