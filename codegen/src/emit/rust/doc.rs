//! Doc attributes.

use proc_macro2::TokenStream;
use quote::quote;

use crate::model::Param;
use crate::text::sentence;

/// Emits the doc attributes of a field: the spec's documentation, or its name.
pub(super) fn field_doc(field: &Param) -> TokenStream {
    doc(&field_text(field), "")
}

/// Returns the spec's documentation of a field, or its name.
pub(super) fn field_text(field: &Param) -> String {
    if field.doc.trim().is_empty() {
        format!("The field `{}`.", field.name.value)
    } else {
        field.doc.to_string()
    }
}

/// Emits the doc attributes of a summary and further text.
pub(super) fn doc(summary: &str, more: &str) -> TokenStream {
    let mut text = summary.trim().to_owned();
    if !text.is_empty() && !text.ends_with(['.', '!', '?', ':']) {
        text.push('.');
    }
    if !more.trim().is_empty() {
        text.push_str("\n\n");
        text.push_str(more.trim());
    }
    let lines = text.lines().map(|line| format!(" {line}"));
    quote! { #(#[doc = #lines])* }
}

/// Emits lines of Markdown as doc attributes.
pub(super) fn markdown(text: &str) -> TokenStream {
    let lines = text.lines().map(|line| if line.is_empty() { String::new() } else { format!(" {line}") });
    quote!(#(#[doc = #lines])*)
}

/// Emits the documentation of a file: one sentence.
pub(super) fn of_file(summary: &str) -> TokenStream {
    let doc = format!(" {}", sentence(summary));
    quote!(#![doc = #doc])
}
