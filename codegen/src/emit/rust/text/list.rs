//! Lists of declarations for macros. Formatters leave the arguments of a macro as they are, so a list is a block of items
//! with the attribute `#[__list(name)]` until it is printed or compiled: then it is a call of the macro `name`.
//!
//! No name of a spec begins with `__`, so such an attribute is always a marker.

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;

use super::comments::map_group;

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
                expanded.extend(quote! { ::#name! });
                expanded.extend(rest.next());
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

/// The first words of the marker of a printed list.
pub const MARKER: &str = "#[__list(";

/// The line behind the marker of a printed list.
const MODULE: &str = "mod __list {";

/// Returns the name and the items of the list that begins here, and its number of tokens.
pub fn first(tokens: &[TokenTree]) -> Option<(String, TokenStream, usize)> {
    match tokens {
        [TokenTree::Punct(hash), TokenTree::Group(attribute), TokenTree::Group(items), ..]
            if hash.as_char() == '#' =>
        {
            let name = named(attribute.stream())?.to_string().replace(' ', "");
            Some((name, items.stream(), 3))
        }
        _ => None,
    }
}

/// Returns the items of the list that begins here if its macro defines each of them as a type of this name.
pub fn types(tokens: &[TokenTree]) -> Option<TokenStream> {
    let (name, items, _) = first(tokens)?;
    matches!(name.as_str(), "tenon::handle" | "tenon::numbers").then_some(items)
}

/// Returns the first lines of a printed list: a module, which formatters know.
pub fn open(name: &str) -> String {
    format!("{MARKER}{name})]\n{MODULE}")
}

/// Returns the line of the call of a macro if `line` and the one after it open a printed list.
pub fn called<'a>(line: &str, next: &mut impl Iterator<Item = &'a str>) -> Option<String> {
    let name = line.trim_start().strip_prefix(MARKER)?.strip_suffix(")]")?;
    next.next().map(|line| line.replace(MODULE, &format!("{name}! {{")))
}

#[cfg(test)]
mod tests {
    use proc_macro2::TokenStream;

    use super::{called, expand, open};

    #[test]
    fn opened_list_is_a_call_of_the_macro() {
        let text = open("kit::call");
        let mut lines = text.lines();
        let first = lines.next().expect("the marker");
        assert_eq!(called(first, &mut lines).as_deref(), Some("kit::call! {"));
        assert_eq!(called("#[list(kit)]", &mut lines), None);
    }

    #[test]
    fn list_in_a_module_is_a_call_of_the_macro_for_a_compiler() {
        let code: TokenStream =
            "mod m { #[doc = \"a\"] #[__list(kit::call)] { unsafe extern \"C\" { fn f(); } } }"
                .parse()
                .expect("valid tokens");
        let expected: TokenStream =
            "mod m { #[doc = \"a\"] ::kit::call! { unsafe extern \"C\" { fn f(); } } }"
                .parse()
                .expect("valid tokens");
        assert_eq!(expand(code).to_string(), expected.to_string());
    }
}
