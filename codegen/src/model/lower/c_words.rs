//! Suggests the type in the spec language for a C type.

use super::Names;
use crate::model::{InterfaceId, Ty};

/// C types without `const` and `struct`, each with its type in the spec language.
const WORDS: &[(&str, &str)] = &[
    ("_Bool", "bool"),
    ("signed char", "i8"),
    ("int8_t", "i8"),
    ("unsigned char", "u8"),
    ("uint8_t", "u8"),
    ("short", "i16"),
    ("int16_t", "i16"),
    ("unsigned short", "u16"),
    ("uint16_t", "u16"),
    ("int", "i32"),
    ("signed", "i32"),
    ("signed int", "i32"),
    ("int32_t", "i32"),
    ("unsigned", "u32"),
    ("unsigned int", "u32"),
    ("uint32_t", "u32"),
    ("long", "i64"),
    ("long int", "i64"),
    ("long long", "i64"),
    ("int64_t", "i64"),
    ("ssize_t", "i64"),
    ("ptrdiff_t", "i64"),
    ("intptr_t", "i64"),
    ("unsigned long", "u64"),
    ("unsigned long int", "u64"),
    ("uint64_t", "u64"),
    ("uintptr_t", "u64"),
    ("unsigned long long", "ulonglong"),
    ("size_t", "size"),
    ("float", "f32"),
    ("double", "f64"),
    ("void*", "pointer"),
    ("char*", "string"),
];

impl Names {
    /// Describes how to write a C type in the spec, with the keys that it needs.
    pub(super) fn word_for_c(&self, written: &str, reach: &[InterfaceId]) -> Option<String> {
        let c_type = normalised(written);
        let word = |name: &str| self.word(name, reach);
        match (word(&c_type), c_type.strip_suffix('*')) {
            (Some(word), _) => Some(format!("`{word}`")),
            (None, None) if c_type == "void" => {
                Some("`pointer`, or `result: none` if nothing is returned".to_owned())
            }
            (None, None) => None,
            (None, Some(pointee)) => {
                let described = reach.iter().any(|id| self.types[id.0].contains_key(pointee));
                let primitive = Ty::primitive(pointee).is_some();
                let word = word(pointee).or_else(|| (described || primitive).then(|| pointee.to_owned()))?;
                Some(format!("`{word}`, with `dir: out` if it is written and with `count` if it is an array"))
            }
        }
    }

    fn word(&self, c_type: &str, reach: &[InterfaceId]) -> Option<String> {
        let known = WORDS.iter().find(|(name, _)| *name == c_type).map(|(_, word)| (*word).to_owned());
        known.or_else(|| reach.iter().find_map(|id| self.c_types[id.0].get(c_type).cloned()))
    }
}

/// Normalises a C type: `const struct  Foo *` → `Foo*`.
fn normalised(written: &str) -> String {
    let spaced = written.replace('*', " * ");
    let words = spaced.split_whitespace();
    let words = words.filter(|word| !["const", "volatile", "struct", "enum"].contains(word));
    let words: Vec<&str> = words.map(|word| word.trim_start_matches("std::")).collect();
    words.join(" ").replace(" *", "*")
}
