//! The attributes of Tenon for `impl` blocks of its traits. They read a generated table of the traits' functions.

mod object;
mod operators;
mod traits;

use proc_macro::TokenStream;
use proc_macro2::Span;
use syn::ItemImpl;
use tenon_macros_core::{Attribute, Purpose, Specs, expand};

/// Turns an `impl` of a device trait into a plugin: fills a slot for each function in it, and exports the entry
/// point.
///
/// ```text
/// #[tenon::plugin(device_type = "my_npu")]
/// impl Device for MyNpu { … }
/// ```
///
/// Arguments: `device_type` names the device and exports the entry point; `fallbacks = true` fills the slots of
/// missing optional functions with the spec's fallbacks; `since = "3.0"` names the oldest release of the host that the
/// plugin is made for, and refuses functions that came later; `operators = tenon_paddle_operators` registers the operators
/// of [`macro@operators`] with PaddlePaddle; `collectives = tenon_gloo` adds collectives to a device that has none; `new = …` is the expression that makes the instance, `Default::default()` if
/// left out; `module = …` names an interface module outside `tenon`. For interfaces of another spec, use the crate
/// `tenon-spec-macros`.
#[proc_macro_attribute]
pub fn plugin(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand_attribute(Purpose::Plugin, arguments, item)
}

/// Works like [`macro@plugin`] without an entry point, for a device that another library exposes.
#[proc_macro_attribute]
pub fn device(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand_attribute(Purpose::Device, arguments, item)
}

/// Implements the trait of an object: a host sees exactly the methods that the `impl` has.
///
/// ```text
/// #[tenon::object]
/// impl Stream for MyStream { … }
/// ```
///
/// It adds the method `provides`, so that the pointers of other optional functions are null.
#[proc_macro_attribute]
pub fn object(arguments: TokenStream, item: TokenStream) -> TokenStream {
    if !arguments.is_empty() {
        return refuse_arguments("tenon::object");
    }
    let item = syn::parse_macro_input!(item as ItemImpl);
    object::expand(item).unwrap_or_else(|error| error.into_compile_error()).into()
}

/// Implements the traits of operators for a device: those methods that the `impl` has.
///
/// ```text
/// #[tenon_operators::operators]
/// impl Operators for MyNpu {
///     #[data_types(FLOAT32, FLOAT16)]
///     fn relu(&self, launch: Launch, out: &mut TensorMut<'_>, x: &TensorRef<'_>) -> Result<()> { … }
/// }
/// ```
///
/// The methods may be of any group. `data_types` lists the types of elements that a method accepts; without it the method
/// accepts all types that the spec lists.
#[proc_macro_attribute]
pub fn operators(arguments: TokenStream, item: TokenStream) -> TokenStream {
    if !arguments.is_empty() {
        return refuse_arguments("tenon_operators::operators");
    }
    let item = syn::parse_macro_input!(item as ItemImpl);
    operators::expand(traits::OPERATORS, item).unwrap_or_else(|error| error.into_compile_error()).into()
}

fn refuse_arguments(attribute: &str) -> TokenStream {
    let message = format!("`#[{attribute}]` has no arguments");
    syn::Error::new(Span::call_site(), message).into_compile_error().into()
}

fn expand_attribute(purpose: Purpose, arguments: TokenStream, item: TokenStream) -> TokenStream {
    let item = syn::parse_macro_input!(item as ItemImpl);
    Attribute::parse(Specs::Own, arguments.into())
        .and_then(|attribute| expand(traits::TRAITS, purpose, &attribute, &item))
        .unwrap_or_else(|error| error.into_compile_error())
        .into()
}
