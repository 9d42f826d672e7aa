//! The attributes of Tenon on an `impl` of one of its traits, which a generated table describes.

#[rustfmt::skip]
mod traits;

use proc_macro::TokenStream;
use syn::ItemImpl;
use tenon_attribute::{Attribute, Purpose, Specs, expand};

/// Makes an `impl` of a device trait fill the slots of exactly the functions that it has, and a library a plugin.
///
/// ```text
/// #[tenon::plugin(device_type = "my_npu")]
/// impl Device for MyNpu { … }
/// ```
///
/// Arguments: `device_type` names the device and exports the entry point; `fallbacks = true` fills absent optional
/// functions with the spec's fallbacks; `new = …` makes the instance, `Default::default()` if left out; `module = …` is
/// for an interface whose module is not in `tenon`. For interfaces of another spec there is the crate `tenon-interface`.
#[proc_macro_attribute]
pub fn plugin(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand_attribute(Purpose::Plugin, arguments, item)
}

/// As [`macro@plugin`], without an entry point: for a device that another library passes on.
#[proc_macro_attribute]
pub fn device(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand_attribute(Purpose::Device, arguments, item)
}

fn expand_attribute(purpose: Purpose, arguments: TokenStream, item: TokenStream) -> TokenStream {
    let item = syn::parse_macro_input!(item as ItemImpl);
    Attribute::parse(Specs::Own, arguments.into())
        .and_then(|attribute| expand(traits::TRAITS, purpose, &attribute, &item))
        .unwrap_or_else(|error| error.into_compile_error())
        .into()
}
