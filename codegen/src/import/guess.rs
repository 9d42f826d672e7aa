//! Guesses what a header does not say: lengths, directions, and who makes and destroys an object.

use super::header::{CType, FunctionDecl, ParamDecl};
use super::types::{Kind, KnownTypes};

/// A parameter of the spec: its keys in order, and what was guessed.
#[derive(Clone, Debug, Default)]
pub struct Guessed {
    /// Keys and values, as YAML.
    pub keys: Vec<(&'static str, String)>,
    /// Why a key is a guess.
    pub guesses: Vec<&'static str>,
}

impl Guessed {
    fn of(ty: &str) -> Self {
        Guessed { keys: vec![("type", ty.to_owned())], guesses: Vec::new() }
    }

    /// Returns the name of its type in the spec.
    pub fn ty(&self) -> &str {
        self.keys.first().map_or("pointer", |(_, ty)| ty)
    }

    fn with(mut self, key: &'static str, value: &str) -> Self {
        self.keys.push((key, value.to_owned()));
        self
    }

    fn guessing(mut self, why: &'static str) -> Self {
        self.guesses.push(why);
        self
    }
}

/// Guesses the parameters of a function, each with its name in the spec.
pub fn params(types: &KnownTypes, function: &FunctionDecl, names: &[String]) -> Vec<Guessed> {
    let params = &function.params;
    (0..params.len()).map(|index| param(types, function, params, names, index)).collect()
}

fn param(
    types: &KnownTypes,
    function: &FunctionDecl,
    params: &[ParamDecl],
    names: &[String],
    index: usize,
) -> Guessed {
    match &params[index].ty {
        CType::Pointer { is_const, target } => {
            let length = length(params, index).map(|index| names[index].as_str());
            pointer(types, function, target, *is_const, length)
                .unwrap_or_else(|| user_data(types, params, names, index))
        }
        ty => value(types, ty),
    }
}

/// Guesses a value, a field or a result.
pub fn value(types: &KnownTypes, ty: &CType) -> Guessed {
    match ty {
        CType::Primitive("char") => Guessed::of("i8").guessing("a `char` by itself is a number"),
        CType::Primitive(name) => Guessed::of(name),
        CType::Named(name) => match types.kind(name) {
            Some((Kind::ConstHandle, name)) => Guessed::of(name).with("const", "true"),
            Some((_, name)) => Guessed::of(name),
            None => Guessed::of("pointer").guessing("the type is not known"),
        },
        CType::Pointer { is_const, target } => match &**target {
            CType::Primitive("char") if *is_const => Guessed::of("string"),
            CType::Named(name) if matches!(types.kind(name), Some((Kind::Object, _))) => {
                let name = types.kind(name).map_or("pointer", |(_, name)| name);
                object(name, *is_const)
            }
            _ if *is_const => Guessed::of("pointer").with("const", "true"),
            _ => Guessed::of("pointer"),
        },
        CType::Array { element, count } if **element == CType::Primitive("char") => {
            Guessed::of("char").with("count", &count.to_string())
        }
        CType::Array { element, count } => value(types, element).with("count", &count.to_string()),
        CType::Function { .. } => Guessed::of("pointer").guessing("it is a pointer to a function"),
        CType::Void | CType::Other(_) => Guessed::of("pointer").guessing("the type cannot be described"),
    }
}

/// Describes a pointer to an object.
fn object(name: &str, is_const: bool) -> Guessed {
    let object = Guessed::of(name);
    if is_const { object } else { object.with("const", "false") }
}

/// Guesses what a pointer is; `None` for a `void*` without a length.
fn pointer(
    types: &KnownTypes,
    function: &FunctionDecl,
    target: &CType,
    is_const: bool,
    length: Option<&str>,
) -> Option<Guessed> {
    let direction = |guessed: Guessed| {
        if is_const { guessed } else { guessed.with("dir", "out").guessing("it may read them too") }
    };
    Some(match (target, length) {
        (CType::Primitive("char"), None) if is_const => Guessed::of("string"),
        (CType::Primitive("char"), Some(length)) => {
            direction(Guessed::of("char")).with("bytes", length).guessing("the length")
        }
        (CType::Void, Some(length)) => {
            let memory = Guessed::of("pointer").with("space", "host").with("bytes", length);
            direction(memory).guessing("the length")
        }
        (CType::Primitive(name), Some(length)) => {
            direction(Guessed::of(name)).with("count", length).guessing("the length")
        }
        (CType::Primitive("char"), None) => Guessed::of("pointer").guessing("a text without a known length"),
        (CType::Primitive(name), None) if !is_const => {
            Guessed::of(name).with("dir", "out").guessing("it may be read, or be an array")
        }
        (CType::Named(name), _) => match types.kind(name)? {
            (Kind::Object, name) => object(name, is_const),
            (Kind::Struct, name) if is_const => Guessed::of(name).with("by", "pointer"),
            (Kind::Struct, name) => Guessed::of(name).with("dir", "inout").guessing("it may only be written"),
            (Kind::Id, name) => Guessed::of(name),
            (Kind::Enum, name) if !is_const => Guessed::of(name).with("dir", "out"),
            (Kind::Handle, name) if !is_const => {
                let place = Guessed::of(name).with("dir", "out");
                if is_made(function) { made(function, place) } else { place }
            }

            _ => Guessed::of("pointer").with("const", if is_const { "true" } else { "false" }),
        },
        (CType::Pointer { is_const: is_object_const, target }, _) => match &**target {
            CType::Named(name) if matches!(types.kind(name), Some((Kind::Object, _))) => {
                let name = types.kind(name).map_or("pointer", |(_, name)| name);
                let place = Guessed::of(name).with("dir", "out");
                let place = if *is_object_const { place.with("const", "true") } else { place };
                if is_const {
                    Guessed::of("pointer").guessing("an array of objects")
                } else {
                    made(function, place)
                }
            }
            CType::Primitive("char") if !is_const && *is_object_const => {
                Guessed::of("string").with("dir", "out").with("lent", "true").guessing("who owns the text")
            }
            CType::Void if !is_const => Guessed::of("pointer")
                .with("dir", "out")
                .with("role", "creates")
                .guessing("who owns the memory"),
            _ => Guessed::of("pointer").guessing("a pointer to a pointer"),
        },
        (CType::Void, None) => return None,
        (_, _) if is_const => Guessed::of("pointer").with("const", "true").guessing("what it points to"),
        (_, _) => Guessed::of("pointer").guessing("what it points to"),
    })
}

/// Words of functions that make what they write.
const MAKES: [&str; 9] = ["alloc", "clone", "create", "dup", "init", "make", "new", "open", "ref"];

/// Guesses whether a function makes the object whose address it writes, or lends it.
fn made(function: &FunctionDecl, place: Guessed) -> Guessed {
    if is_made(function) {
        place.with("role", "creates").guessing("that it is made, by the name of the function")
    } else {
        place.with("lent", "true").guessing("that it is lent, by the name of the function")
    }
}

/// Returns true if the name of a function says that it makes something.
fn is_made(function: &FunctionDecl) -> bool {
    let name = function.name.to_lowercase();
    MAKES.iter().any(|word| name.contains(word))
}

/// Words of names that pass a length.
const LENGTHS: [&str; 9] = ["bytes", "cap", "count", "len", "length", "n", "num", "size", "sz"];

/// Returns the parameter with the length of a pointer: an integer behind it whose name tells so.
fn length(params: &[ParamDecl], index: usize) -> Option<usize> {
    let is_length = |index: &usize| {
        let param = &params[*index];
        let name = param.name.to_lowercase();
        let by_name = LENGTHS.iter().any(|word| name == *word || (word.len() > 1 && name.contains(word)));
        let is_integer = matches!(
            param.ty,
            CType::Primitive("size" | "u32" | "u64" | "i32" | "i64" | "u16" | "i16" | "ulonglong")
        );
        is_integer && (by_name || param.ty == CType::Primitive("size"))
    };
    Some(index + 1).filter(|next| *next < params.len()).filter(is_length)
}

/// Guesses a `void*`: the context of a callback, or an address.
fn user_data(types: &KnownTypes, params: &[ParamDecl], names: &[String], index: usize) -> Guessed {
    let is_callback = |other: &usize| match &params[*other].ty {
        CType::Named(name) => matches!(types.kind(name), Some((Kind::Callback, _))),
        _ => false,
    };
    let is_const = matches!(params[index].ty, CType::Pointer { is_const: true, .. });
    let callback = index.checked_sub(1).filter(is_callback);
    match callback {
        Some(callback) => Guessed::of("pointer")
            .with("context_of", &names[callback])
            .guessing("that the callback receives it"),
        None if is_const => Guessed::of("pointer").with("const", "true"),
        None => Guessed::of("pointer"),
    }
}

/// Returns true if the name of a function says that it ends its object.
pub fn ends(function: &FunctionDecl) -> bool {
    let name = function.name.to_lowercase();
    let words = ["free", "destroy", "close", "release", "unref", "delete", "exit"];
    words.iter().any(|word| name.ends_with(word) || name.contains(&format!("{word}_")))
}
