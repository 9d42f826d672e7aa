//! Files of Rust, each with the marker of its source.

use proc_macro2::TokenStream;

use super::text::file;
use crate::out::Output;

/// Writes a Rust file with its marker.
pub fn output(path: String, text: String, marker: &str, note: String) -> Output {
    Output::new(path, format!("// {marker}\n\n{text}"), note)
}

/// Writes the file of a module, and one for each of its groups: the name, the note and the content.
pub fn group_files<'a>(
    marker: &str,
    note: String,
    root: TokenStream,
    groups: impl Iterator<Item = (&'a str, String, TokenStream)>,
) -> Vec<Output> {
    let group = |(name, note, module)| output(format!("{name}.rs"), file::text(module), marker, note);
    std::iter::once(output("mod.rs".to_owned(), file::text(root), marker, note))
        .chain(groups.map(group))
        .collect()
}
