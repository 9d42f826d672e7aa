//! Lists of declarations for macros. Formatters leave the arguments of a macro as they are, so a list is a foreign block
//! with the attribute `#[__list(name)]` until it is printed or compiled: then it is a call of the macro `name` with the
//! block.
//!
//! No name of a spec begins with `__`, so such an attribute is always a marker.

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;

use super::comments::map_group;
use crate::emit::rustfmt::WIDTH;

/// The margin of a declaration.
const MARGIN: &str = "        ";

/// Returns the name of the macro if a line is the marker of a list.
pub fn marker(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("#[__list(")?.strip_suffix(")]")
}

/// Makes calls of macros of the lists in some code, for a compiler.
pub fn expand(tokens: TokenStream) -> TokenStream {
    let mut expanded = TokenStream::new();
    let mut rest = tokens.into_iter().peekable();
    while let Some(token) = rest.next() {
        match (&token, rest.peek()) {
            (TokenTree::Punct(hash), Some(TokenTree::Group(attribute))) if hash.as_char() == '#' => {
                let Some(name) = named(attribute.stream()) else {
                    expanded.extend([token]);
                    continue;
                };
                rest.next();
                // `unsafe extern "C" { … }`
                let block: TokenStream = rest.by_ref().take(4).collect();
                expanded.extend(quote! { ::#name! { #block } });
            }
            (TokenTree::Group(group), _) => expanded.extend([TokenTree::Group(map_group(group, expand))]),
            _ => expanded.extend([token]),
        }
    }
    expanded
}

/// Returns the name of the macro if the content of an attribute is the marker of a list.
fn named(attribute: TokenStream) -> Option<TokenStream> {
    let mut tokens = attribute.into_iter();
    match (tokens.next()?, tokens.next()?) {
        (TokenTree::Ident(marker), TokenTree::Group(name)) if marker == "__list" => Some(name.stream()),
        _ => None,
    }
}

/// Returns the lines of a list, given those of the formatted block.
pub fn lines<'a>(name: &str, block: &mut impl Iterator<Item = &'a str>) -> Vec<String> {
    let head = block.next().unwrap_or_default();
    let mut lines = vec![format!("{name}! {{"), format!("    {head}")];
    let mut declaration = Vec::new();
    for line in block.take_while(|line| *line != "}") {
        declaration.push(line);
        let is_attribute = declaration[0].trim_start().starts_with("#[");
        if line.ends_with(if is_attribute { ")]" } else { ";" }) {
            let whole = joined(&declaration);
            if whole.len() <= WIDTH {
                lines.push(whole);
            } else {
                lines.extend(declaration.iter().map(|line| format!("    {line}")));
            }
            declaration.clear();
        }
    }
    lines.extend(["    }".to_owned(), "}".to_owned()]);
    lines
}

/// Returns a declaration in one line.
fn joined(lines: &[&str]) -> String {
    let mut whole = MARGIN.to_owned();
    for line in lines.iter().map(|line| line.trim()) {
        if line.starts_with(')') {
            whole.truncate(whole.trim_end_matches(',').len());
        } else if !whole.ends_with(['(', ' ']) {
            whole.push(' ');
        }
        whole.push_str(line);
    }
    whole
}

#[cfg(test)]
mod tests {
    use proc_macro2::TokenStream;

    use super::{expand, lines, marker};

    #[test]
    fn declarations_are_lines_of_a_macro_call() {
        let long = format!("        second: {},", "T".repeat(100));
        let block = [
            "unsafe extern \"C\" {",
            "    fn none();",
            "    fn two(",
            "        a: i32,",
            "        b: u8,",
            "    ) -> S;",
        ];
        let block = block.into_iter().chain([
            "    fn wide(",
            "        first: i32,",
            &long,
            "    );",
            "}",
            "fn next() {}",
        ]);
        let mut block = block;
        assert_eq!(marker("#[__list(forward)]"), Some("forward"));
        let printed = lines("forward", &mut block);
        let [head @ .., first, second, last, close, end] = &*printed else { panic!("{printed:?}") };
        assert_eq!(
            head[..4],
            [
                "forward! {",
                "    unsafe extern \"C\" {",
                "        fn none();",
                "        fn two(a: i32, b: u8) -> S;"
            ]
        );
        assert_eq!([first, second, last], ["            first: i32,", &format!("    {long}"), "        );"]);
        assert_eq!([&**close, &**end], ["    }", "}"]);
        assert_eq!(block.next(), Some("fn next() {}"));
    }

    #[test]
    fn attribute_has_its_own_line() {
        let block = [
            "unsafe extern \"C\" {",
            "    #[refuse(",
            "        Status::NONE,",
            "        \"no (such) thing\"",
            "    )]",
            "    fn none();",
            "}",
        ];
        let printed = lines("refuse", &mut block.into_iter());
        assert_eq!(
            printed[2..4],
            ["        #[refuse(Status::NONE, \"no (such) thing\")]", "        fn none();"]
        );
    }

    #[test]
    fn list_in_a_module_is_a_call_of_the_macro_for_a_compiler() {
        let code: TokenStream =
            "mod m { #[doc = \"a\"] #[__list(kit::call)] unsafe extern \"C\" { fn f(); } }"
                .parse()
                .expect("valid tokens");
        let expected: TokenStream =
            "mod m { #[doc = \"a\"] ::kit::call! { unsafe extern \"C\" { fn f(); } } }"
                .parse()
                .expect("valid tokens");
        assert_eq!(expand(code).to_string(), expected.to_string());
    }
}
