//! The text of signatures, for documentation: on one line, or with a line for each parameter.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::print::print_signature;

/// The maximum length of a line.
const WIDTH: usize = 85;

/// The modules that the text leaves out of paths.
const MODULES: [&str; 9] = [
    "::core::option::",
    "::core::ffi::",
    "::std::borrow::",
    "::std::boxed::",
    "::std::ffi::",
    "::std::string::",
    "::std::vec::",
    "::tenon::",
    "device::",
];

/// Returns the text of a signature.
pub fn text(signature: TokenStream) -> String {
    let (mut head, mut parameters, mut tail) = (TokenStream::new(), None, TokenStream::new());
    for token in signature {
        match &token {
            TokenTree::Group(group)
                if parameters.is_none() && group.delimiter() == Delimiter::Parenthesis =>
            {
                parameters = Some(arguments(group.stream()));
            }
            _ => if parameters.is_none() { &mut head } else { &mut tail }.extend([token]),
        }
    }
    let parameters = parameters.unwrap_or_default();
    let (head, tail) = (spaced(head), spaced(tail));
    let after = if tail.is_empty() { "" } else { " " };
    let line = format!("{head}({}){after}{tail};", parameters.join(", "));
    if line.len() <= WIDTH {
        return line;
    }
    let lines: String = parameters.iter().map(|parameter| format!("    {parameter},\n")).collect();
    format!("{head}(\n{lines}){after}{tail};")
}

/// Returns the texts between commas that are not in angle brackets.
fn arguments(tokens: TokenStream) -> Vec<String> {
    let mut arguments = vec![TokenStream::new()];
    let (mut depth, mut is_arrow) = (0, false);
    for token in tokens {
        let symbol = match &token {
            TokenTree::Punct(punct) => Some(punct.as_char()),
            _ => None,
        };
        match symbol {
            Some('<') => depth += 1,
            Some('>') if !is_arrow => depth -= 1,
            Some(',') if depth == 0 => {
                arguments.push(TokenStream::new());
                continue;
            }
            _ => {}
        }
        is_arrow = symbol == Some('-');
        if let Some(last) = arguments.last_mut() {
            last.extend([token]);
        }
    }
    let texts = arguments.into_iter().map(spaced);
    texts.filter(|text| !text.is_empty()).collect()
}

/// Returns the text of tokens with short paths.
fn spaced(tokens: TokenStream) -> String {
    MODULES.iter().fold(print_signature(tokens), |text, module| text.replace(module, ""))
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::text;

    #[test]
    fn signature_has_short_paths_and_lines_that_fit() {
        let signature = quote! {
            unsafe fn find<'a>(&'a self, key: &'a ::core::ffi::CStr, all: &mut [*const u8]) -> ::tenon::Result<::core::option::Option<[u8; 2]>>
        };
        assert_eq!(
            text(signature),
            "unsafe fn find<'a>(\n    &'a self,\n    key: &'a CStr,\n    all: &mut [*const u8],\n) -> Result<Option<[u8; 2]>>;"
        );
        assert_eq!(text(quote!(fn none(&self))), "fn none(&self);");
        assert_eq!(
            text(quote!(fn call(&self, with: &dyn Fn(u8) -> bool, map: Map<A, B>))),
            "fn call(&self, with: &dyn Fn(u8) -> bool, map: Map<A, B>);"
        );
    }
}
