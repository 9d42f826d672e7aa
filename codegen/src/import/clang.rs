//! libclang, which is found at run time: parsed files, their cursors and their types.

use std::ffi::{CStr, CString, c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::process::Command;

use clang_sys::*;

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
        /// The errors that libclang reports.
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

/// Options for reading a header.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Folders that `#include` searches.
    pub include: Vec<PathBuf>,
    /// True for C++.
    pub cxx: bool,
}

/// A parsed file.
#[derive(Debug)]
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

/// An error in a text, and where it is.
#[derive(Clone, Debug)]
pub struct LocatedError {
    /// The file; empty for an error that is in none.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The message of libclang, with the place.
    pub text: String,
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

    /// Returns the errors that libclang reports, as texts.
    pub fn errors(&self) -> Vec<String> {
        self.located_errors().into_iter().map(|error| error.text).collect()
    }

    /// Returns the errors that libclang reports.
    pub fn located_errors(&self) -> Vec<LocatedError> {
        // SAFETY: the unit is alive; each diagnostic is disposed of once.
        unsafe {
            (0..clang_getNumDiagnostics(self.unit))
                .filter_map(|index| {
                    let diagnostic = clang_getDiagnostic(self.unit, index);
                    let severity = clang_getDiagnosticSeverity(diagnostic);
                    let text = string(clang_formatDiagnostic(diagnostic, CXDiagnostic_DisplaySourceLocation));
                    let (file, line) = place_of(clang_getDiagnosticLocation(diagnostic));
                    clang_disposeDiagnostic(diagnostic);
                    (severity >= CXDiagnostic_Error).then_some(LocatedError { file, line, text })
                })
                .collect()
        }
    }

    /// Returns the cursor of the whole file.
    pub fn root(&self) -> Cursor<'_> {
        // SAFETY: the unit is alive.
        Cursor { raw: unsafe { clang_getTranslationUnitCursor(self.unit) }, unit: PhantomData }
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

/// A declaration, or another part of a parsed file.
#[derive(Clone, Copy)]
pub struct Cursor<'u> {
    raw: CXCursor,
    unit: PhantomData<&'u Unit>,
}

// SAFETY of the calls below: a cursor is made by a function of libclang, from a unit that lives as long as `'u`.
impl<'u> Cursor<'u> {
    /// Returns what it is.
    pub fn kind(self) -> CXCursorKind {
        // SAFETY: as above.
        unsafe { clang_getCursorKind(self.raw) }
    }

    /// Returns its name.
    pub fn spelling(self) -> String {
        // SAFETY: as above.
        string(unsafe { clang_getCursorSpelling(self.raw) })
    }

    /// Returns the comment before it, with its marks.
    pub fn comment(self) -> String {
        // SAFETY: as above.
        string(unsafe { clang_Cursor_getRawCommentText(self.raw) })
    }

    /// Returns the comment after it that begins in its last line, with its marks.
    pub fn comment_after(self) -> String {
        let null = std::ptr::null_mut;
        let (mut file, mut offset, mut length) = (std::ptr::null_mut(), 0, 0);
        // SAFETY: as above; the text belongs to the unit, and is copied while it is alive.
        let text = unsafe {
            let end = clang_getRangeEnd(clang_getCursorExtent(self.raw));
            clang_getExpansionLocation(end, &raw mut file, null(), null(), &raw mut offset);
            if file.is_null() {
                return String::new();
            }
            let text =
                clang_getFileContents(clang_Cursor_getTranslationUnit(self.raw), file, &raw mut length);
            if text.is_null() {
                return String::new();
            }
            std::slice::from_raw_parts(text.cast::<u8>(), length)
        };
        let rest = String::from_utf8_lossy(text.get(offset as usize..).unwrap_or_default());
        let rest = rest.trim_start_matches([' ', '\t', ',', ';']);
        let end = match rest.get(..2) {
            Some("/*") => rest.find("*/").map(|end| end + 2),
            Some("//") => rest.find('\n'),
            _ => None,
        };
        end.map_or_else(String::new, |end| rest[..end].to_owned())
    }

    /// Returns its type.
    pub fn ty(self) -> ClangType<'u> {
        // SAFETY: as above.
        ClangType { raw: unsafe { clang_getCursorType(self.raw) }, unit: PhantomData }
    }

    /// Returns the type that a `typedef` names.
    pub fn underlying(self) -> ClangType<'u> {
        // SAFETY: as above.
        ClangType { raw: unsafe { clang_getTypedefDeclUnderlyingType(self.raw) }, unit: PhantomData }
    }

    /// Returns the definition of a struct, if the file has one.
    pub fn definition(self) -> Option<Cursor<'u>> {
        // SAFETY: as above.
        let (raw, is_null) = unsafe {
            let raw = clang_getCursorDefinition(self.raw);
            (raw, clang_Cursor_isNull(raw) != 0)
        };
        (!is_null).then_some(Cursor { raw, unit: PhantomData })
    }

    /// Returns the parameters of a function.
    pub fn params(self) -> Vec<Cursor<'u>> {
        // SAFETY: as above; the indices are below the count.
        unsafe {
            let count = c_uint::try_from(clang_Cursor_getNumArguments(self.raw)).unwrap_or(0);
            let raw = (0..count).map(|index| clang_Cursor_getArgument(self.raw, index));
            raw.map(|raw| Cursor { raw, unit: PhantomData }).collect()
        }
    }

    /// Returns the declarations within it.
    pub fn children(self) -> Vec<Cursor<'u>> {
        extern "C" fn push(child: CXCursor, _: CXCursor, data: CXClientData) -> CXChildVisitResult {
            // SAFETY: the data is the address of the list below, which nothing else uses during the call.
            unsafe { &mut *data.cast::<Vec<CXCursor>>() }.push(child);
            CXChildVisit_Continue
        }
        let mut found: Vec<CXCursor> = Vec::new();
        // SAFETY: as above; the function is called during this call only.
        unsafe { clang_visitChildren(self.raw, push, (&raw mut found).cast::<c_void>()) };
        found.into_iter().map(|raw| Cursor { raw, unit: PhantomData }).collect()
    }

    /// Returns the number of a value of an enum.
    pub fn enum_value(self) -> i64 {
        // SAFETY: as above.
        unsafe { clang_getEnumConstantDeclValue(self.raw) }
    }

    /// Returns true for a bit field.
    pub fn is_bit_field(self) -> bool {
        // SAFETY: as above.
        unsafe { clang_Cursor_isBitField(self.raw) != 0 }
    }

    /// Returns the file that contains it.
    pub fn file(self) -> Option<PathBuf> {
        // SAFETY: as above.
        let (file, _) = place_of(unsafe { clang_getCursorLocation(self.raw) });
        (!file.as_os_str().is_empty()).then_some(file)
    }
}

/// A type in a parsed file.
#[derive(Clone, Copy)]
pub struct ClangType<'u> {
    raw: CXType,
    unit: PhantomData<&'u Unit>,
}

// SAFETY of the calls below: a type is made by a function of libclang, from a unit that lives as long as `'u`.
impl<'u> ClangType<'u> {
    fn of(raw: CXType) -> Self {
        ClangType { raw, unit: PhantomData }
    }

    /// Returns what it is.
    pub fn kind(self) -> CXTypeKind {
        self.raw.kind
    }

    /// Returns it without names that a `typedef` gives.
    pub fn canonical(self) -> Self {
        // SAFETY: as above.
        Self::of(unsafe { clang_getCanonicalType(self.raw) })
    }

    /// Returns what declares it.
    pub fn declaration(self) -> Cursor<'u> {
        // SAFETY: as above.
        Cursor { raw: unsafe { clang_getTypeDeclaration(self.raw) }, unit: PhantomData }
    }

    /// Returns what a pointer points to.
    pub fn pointee(self) -> Self {
        // SAFETY: as above.
        Self::of(unsafe { clang_getPointeeType(self.raw) })
    }

    /// Returns the result of a function.
    pub fn result(self) -> Self {
        // SAFETY: as above.
        Self::of(unsafe { clang_getResultType(self.raw) })
    }

    /// Returns the types of the parameters of a function.
    pub fn params(self) -> Vec<Self> {
        // SAFETY: as above; the indices are below the count.
        unsafe {
            let count = c_uint::try_from(clang_getNumArgTypes(self.raw)).unwrap_or(0);
            (0..count).map(|index| Self::of(clang_getArgType(self.raw, index))).collect()
        }
    }

    /// Returns true for a function to which callers may pass further arguments.
    pub fn is_variadic(self) -> bool {
        // SAFETY: as above.
        unsafe { clang_isFunctionTypeVariadic(self.raw) != 0 }
    }

    /// Returns true for a `const` type.
    pub fn is_const(self) -> bool {
        // SAFETY: as above.
        unsafe { clang_isConstQualifiedType(self.raw) != 0 }
    }

    /// Returns the type of the elements of an array.
    pub fn element(self) -> Self {
        // SAFETY: as above.
        Self::of(unsafe { clang_getArrayElementType(self.raw) })
    }

    /// Returns the number of elements of an array; 0 if it has no length.
    pub fn array_length(self) -> u64 {
        // SAFETY: as above.
        u64::try_from(unsafe { clang_getArraySize(self.raw) }).unwrap_or(0)
    }

    /// Returns its size in bytes; `None` if it is not complete.
    pub fn size(self) -> Option<u64> {
        // SAFETY: as above.
        u64::try_from(unsafe { clang_Type_getSizeOf(self.raw) }).ok()
    }

    /// Returns it as C spells it.
    pub fn spelling(self) -> String {
        // SAFETY: as above.
        string(unsafe { clang_getTypeSpelling(self.raw) })
    }
}

/// Returns the file and the line of a place; an empty path for one that is in no file.
fn place_of(location: CXSourceLocation) -> (PathBuf, usize) {
    let (mut file, mut line) = (std::ptr::null_mut(), 0);
    let null = std::ptr::null_mut;
    // SAFETY: the place belongs to a unit that is alive; null is allowed for what is not asked for.
    unsafe {
        clang_getExpansionLocation(location, &raw mut file, &raw mut line, null(), null());
        let path = if file.is_null() { PathBuf::new() } else { string(clang_getFileName(file)).into() };
        (path, line as usize)
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
