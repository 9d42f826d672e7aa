//! Names in a spec for names in C.

use std::collections::BTreeSet;

use heck::{ToPascalCase, ToSnakeCase};

/// Makes names of one kind, each once.
#[derive(Debug, Default)]
pub struct Names {
    taken: BTreeSet<String>,
}

impl Names {
    /// Returns the name of a function, parameter or value: `snake_case`, without a prefix.
    pub fn snake(&mut self, c_name: &str, prefix: &str) -> String {
        self.unique(snake(without(c_name, prefix), "value"), "_")
    }

    /// Returns the name of a type: `PascalCase`, without a prefix and the ending `_t`.
    pub fn pascal(&mut self, c_name: &str, prefix: &str) -> String {
        let c_name = c_name.strip_suffix("_t").unwrap_or(c_name);
        let name = without(c_name, prefix).to_pascal_case();
        let is_name = name.starts_with(|letter: char| letter.is_ascii_alphabetic());
        // A generated module has its own `Error`, `Result` and `Release`.
        let is_free = !["Error", "Result", "Release", "Self", "D", "P"].contains(&name.as_str());
        let name = if is_name && is_free { name } else { c_name.to_pascal_case() };
        self.unique(if is_free || name.len() > 7 { name } else { format!("{name}Type") }, "")
    }

    /// Returns a name that is not taken yet: with a number if it is.
    fn unique(&mut self, name: String, joint: &str) -> String {
        let numbered = (2..).map(|number| format!("{name}{joint}{number}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !self.taken.contains(name));
        let free = free.unwrap_or(name);
        self.taken.insert(free.clone());
        free
    }
}

/// Returns a name in `snake_case`; `instead` if nothing is left of it.
pub fn snake(c_name: &str, instead: &str) -> String {
    let name = c_name.to_snake_case();
    match name.chars().next() {
        Some(first) if first.is_ascii_alphabetic() => name,
        Some(_) => format!("{instead}_{name}"),
        None => instead.to_owned(),
    }
}

/// Takes a prefix from a name, if something that can be a name is left.
fn without<'a>(name: &'a str, prefix: &str) -> &'a str {
    let rest = name.strip_prefix(prefix).map(|rest| rest.trim_start_matches('_'));
    rest.filter(|rest| rest.starts_with(|letter: char| letter.is_ascii_alphabetic())).unwrap_or(name)
}

/// Returns the longest beginning that all names share and that ends with a word: behind `_`, or before a capital letter.
pub fn common_prefix<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let Some((first, others)) = names.split_first().filter(|(_, others)| !others.is_empty()) else {
        return String::new();
    };
    let shared = others.iter().fold(first.len(), |length, other| {
        let same = first.bytes().zip(other.bytes()).take_while(|(left, right)| left == right).count();
        length.min(same)
    });
    let ends = |end: &usize| {
        let is_behind = first[..*end].ends_with('_');
        let next = first[*end..].chars().next();
        let is_before = next.is_some_and(char::is_uppercase) && !first[..*end].ends_with(char::is_uppercase);
        is_behind || (is_before && *end > 0)
    };
    let end = (0..=shared).rev().filter(|end| first.is_char_boundary(*end)).find(ends).unwrap_or(0);
    first[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Names, common_prefix};

    #[test]
    fn prefix_ends_with_a_word() {
        assert_eq!(common_prefix(["libusb_init", "libusb_exit"].into_iter()), "libusb_");
        assert_eq!(common_prefix(["GetName", "GetNode"].into_iter()), "Get");
        assert_eq!(common_prefix(["deflate", "inflate"].into_iter()), "");
    }

    #[test]
    fn names_are_those_of_a_spec_and_each_is_there_once() {
        let mut names = Names::default();
        assert_eq!(names.snake("libusb_getDevice", "libusb_"), "get_device");
        assert_eq!(names.snake("get_device", ""), "get_device_2");
        assert_eq!(names.pascal("libusb_error_t", "libusb_"), "LibusbError");
        assert_eq!(names.snake("X_1D", "X_"), "x_1d");
    }
}
