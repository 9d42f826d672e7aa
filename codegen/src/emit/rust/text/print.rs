//! Prints tokens as Rust with the usual spaces. rustfmt lays it out later, so this only takes care that comments are on
//! lines of their own, and that what rustfmt leaves as it is can be read.

use proc_macro2::{Delimiter, Ident, Spacing, TokenStream, TokenTree};

use super::{comments, list};

/// Macros whose arguments are items.
const MACROS_OF_ITEMS: [&str; 1] = ["thread_local"];

/// Words before a type, a pattern or an expression.
const WORDS: [&str; 10] = ["as", "const", "dyn", "else", "if", "in", "let", "match", "mut", "return"];

/// Prints a module.
pub fn print(tokens: TokenStream) -> String {
    let mut printer = Printer::default();
    printer.print(tokens);
    printer.text
}

/// Prints a signature on one line.
pub fn print_signature(tokens: TokenStream) -> String {
    let mut printer = Printer { is_signature: true, ..Printer::default() };
    printer.print(tokens);
    printer.text
}

#[derive(Default)]
struct Printer {
    text: String,
    /// True if `<` and `>` are brackets. In expressions it does not matter: rustfmt puts the spaces.
    is_signature: bool,
    /// The last token and the one before it; none at the start of a line or a group.
    before: [Option<Last>; 2],
}

/// The kind of a token, as far as the space after it depends on it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    /// An identifier, a literal, or the end of a group.
    Value,
    /// A word of [`WORDS`], or a lifetime.
    Word,
    /// A symbol that the next one continues.
    Joint(char),
    /// Another symbol.
    Symbol(char),
}

impl Printer {
    fn print(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut rest = tokens.as_slice();
        while let [token, after @ ..] = rest {
            rest = match self.comment(rest).or_else(|| self.list(rest)) {
                Some(length) => &rest[length..],
                None => {
                    self.token(token);
                    after
                }
            };
        }
    }

    /// Prints the comment that begins here; returns its number of tokens.
    fn comment(&mut self, tokens: &[TokenTree]) -> Option<usize> {
        let (comment, length) = comments::first(tokens)?;
        self.new_line();
        let last = self.text.lines().next_back().unwrap_or_default();
        let is_item = comment.starts_with("///") && last.ends_with(';') && !last.starts_with("//");
        // rustfmt sorts modules and imports that no blank line separates.
        if is_item || !comment.starts_with("//") && self.text.ends_with("}\n") {
            self.text.push('\n');
        }
        comment.lines().for_each(|line| {
            self.text.push_str(line);
            self.text.push('\n');
        });
        Some(length)
    }

    /// Prints the list that begins here; returns its number of tokens.
    fn list(&mut self, tokens: &[TokenTree]) -> Option<usize> {
        let (name, items, length) = match tokens {
            [TokenTree::Ident(name), TokenTree::Punct(_), TokenTree::Group(items), ..]
                if MACROS_OF_ITEMS.iter().any(|known| name == known) =>
            {
                (name.to_string(), items.stream(), 3)
            }
            _ => list::first(tokens)?,
        };
        self.new_line();
        self.text.push_str(&list::open(&name));
        self.new_line();
        self.print(items);
        self.text.push('}');
        self.new_line();
        Some(length)
    }

    fn token(&mut self, token: &TokenTree) {
        if self.needs_space(token) {
            self.text.push(' ');
        }
        let last = match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                self.text.push_str(open);
                self.before = [None; 2];
                self.print(group.stream());
                self.text.push_str(close);
                Last::Value
            }
            TokenTree::Punct(punct) => {
                let symbol = punct.as_char();
                self.text.push(symbol);
                if punct.spacing() == Spacing::Joint { Last::Joint(symbol) } else { Last::Symbol(symbol) }
            }
            TokenTree::Ident(ident) => {
                self.text.push_str(&ident.to_string());
                let is_lifetime = self.before[0] == Some(Last::Joint('\''));
                if is_lifetime || is_word(ident) { Last::Word } else { Last::Value }
            }
            TokenTree::Literal(literal) => {
                self.text.push_str(&literal.to_string());
                Last::Value
            }
        };
        self.before = [Some(last), self.before[0]];
    }

    fn needs_space(&self, token: &TokenTree) -> bool {
        let symbol = match token {
            TokenTree::Punct(punct) => Some(punct.as_char()),
            _ => None,
        };
        let is_alone = matches!(token, TokenTree::Punct(punct) if punct.spacing() == Spacing::Alone);
        let opens = matches!(token, TokenTree::Group(group)
            if matches!(group.delimiter(), Delimiter::Parenthesis | Delimiter::Bracket));
        let is_bracket = |symbol| self.is_signature && matches!(symbol, '<' | '>');
        match self.before {
            [None | Some(Last::Joint(_) | Last::Symbol('.' | '#')), _] => false,
            _ if matches!(symbol, Some(',' | ';' | '.' | '?')) => false,
            [Some(Last::Symbol(':')), Some(Last::Joint(':'))] => false,
            // An arrow ends with `>`, too.
            [Some(Last::Symbol('<')), _] if self.is_signature => false,
            // A sign before its operand.
            [
                Some(Last::Symbol('&' | '*' | '-' | '!')),
                None | Some(Last::Symbol(_) | Last::Joint(_) | Last::Word),
            ] => false,
            [Some(Last::Symbol('!')), Some(Last::Value)] if opens => false,
            [Some(Last::Value), _] if opens || symbol == Some(':') => false,
            [Some(Last::Value), _] if symbol == Some('!') && is_alone => false,
            [Some(Last::Symbol('>')), Some(Last::Joint(_))] => true,
            [Some(last), _] => {
                let is_path = symbol == Some(':') || opens;
                let ends_types = last == Last::Symbol('>') && is_path;
                !(symbol.is_some_and(is_bracket) || self.is_signature && ends_types)
            }
        }
    }

    fn new_line(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.before = [None; 2];
    }
}

fn is_word(ident: &Ident) -> bool {
    WORDS.iter().any(|word| ident == word)
}

#[cfg(test)]
mod tests {
    use proc_macro2::TokenStream;
    use quote::quote;

    use super::{print, print_signature};

    #[test]
    fn tokens_have_the_usual_spaces() {
        let tokens: TokenStream = quote! {
            #[refuse(Status::NONE, "no", Type(-1))] let a = &mut [b[0], *c.d(), e ? .f, !g(&h)] as *const i; j!(k == l) != m
        };
        let text = "#[refuse(Status::NONE, \"no\", Type(-1))] let a = &mut [b[0], *c.d(), e?.f, !g(&h)] as *const i; \
             j!(k == l) != m";
        assert_eq!(print(tokens), text);
    }

    #[test]
    fn comments_and_items_have_lines_of_their_own() {
        let tokens = quote! {
            mod b; #[doc = " Does;"] #[doc = " well."] mod a; fn c() { __comment!("Why."); d() } __verbatim!("e! {\n    f\n}");
            thread_local! { static G: u8 = const { 0 }; }
        };
        let text = "mod b;\n\n/// Does;\n/// well.\nmod a; fn c() {\n//__comment Why.\nd()}\n\ne! {\n    f\n}\n\
            #[__list(thread_local)]\nmod __list {\nstatic G: u8 = const {0};}\n";
        assert_eq!(print(tokens), text);
    }

    #[test]
    fn types_in_a_signature_have_brackets() {
        let signature = quote! {
            unsafe fn f<'a>(&'a self, a: &'a ::core::ffi::CStr, b: &mut [*const u8], c: &dyn Fn(u8) -> bool) -> Result<Option<[u8; 2]>>
        };
        let text = "unsafe fn f<'a>(&'a self, a: &'a ::core::ffi::CStr, b: &mut [*const u8], c: &dyn Fn(u8) -> bool) \
             -> Result<Option<[u8; 2]>>";
        assert_eq!(print_signature(signature), text);
    }
}
