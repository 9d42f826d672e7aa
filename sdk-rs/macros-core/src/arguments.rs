//! The arguments of the attributes.

use syn::parse::{ParseStream, Parser};
use syn::{LitBool, LitStr, Token};

/// The arguments of the attribute.
#[derive(Default)]
pub struct Attribute {
    /// The name of the device in the host. If it is given, the library exports the entry point.
    pub device_type: Option<LitStr>,
    /// True if absent optional functions are filled with the spec's fallbacks.
    pub fallbacks: bool,
    /// The oldest release of the host that the device is made for. Functions that came later are refused.
    pub since: Option<LitStr>,
    /// The spec of the trait: its folder, relative to the manifest.
    pub spec: Option<LitStr>,
    /// The module of the interface, if it is not Tenon's.
    pub module: Option<syn::Path>,
    /// An expression that creates the instance; the default is `Default::default()`.
    pub new: Option<syn::Expr>,
    /// The crate that registers the device's operators with the host, such as `tenon_paddle_operators`.
    pub operators: Option<syn::Path>,
    /// The crate that has collectives for devices without a library of their vendor, such as `tenon_gloo`.
    pub collectives: Option<syn::Path>,
    /// A function that completes a table of the plugin's own, such as its data members.
    pub complete: Option<syn::Path>,
}

/// The specs whose traits an attribute accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Specs {
    /// Those of Tenon's own spec.
    Own,
    /// Those of a spec that the argument `spec` names.
    Named,
}

impl Attribute {
    /// Reads the arguments.
    ///
    /// # Errors
    /// An argument that the attribute does not have, or a value of another kind.
    pub fn parse(specs: Specs, arguments: proc_macro2::TokenStream) -> syn::Result<Self> {
        (|input: ParseStream| Self::read(specs, input)).parse2(arguments)
    }

    fn read(specs: Specs, input: ParseStream) -> syn::Result<Self> {
        let mut attribute = Attribute::default();
        while !input.is_empty() {
            let name: syn::Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            match name.to_string().as_str() {
                "device_type" => attribute.device_type = Some(input.parse()?),
                "fallbacks" => attribute.fallbacks = input.parse::<LitBool>()?.value,
                "since" => attribute.since = Some(input.parse()?),
                "module" => attribute.module = Some(input.parse()?),
                "new" => attribute.new = Some(input.parse()?),
                "operators" if specs == Specs::Own => attribute.operators = Some(input.parse()?),
                "collectives" if specs == Specs::Own => attribute.collectives = Some(input.parse()?),
                "spec" if specs == Specs::Named => attribute.spec = Some(input.parse()?),
                "complete" if specs == Specs::Named => attribute.complete = Some(input.parse()?),
                other => return Err(syn::Error::new(name.span(), unknown(specs, other))),
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(attribute)
    }
}

/// Returns a message for an argument that an attribute does not have.
fn unknown(specs: Specs, name: &str) -> String {
    let known = match specs {
        Specs::Own => "`device_type`, `fallbacks`, `since`, `operators`, `collectives`, `new` or `module`",
        Specs::Named => "`spec`, `module`, `device_type`, `fallbacks`, `since`, `new` or `complete`",
    };
    let elsewhere = match (specs, name) {
        (Specs::Own, "spec" | "complete") => {
            "\n  help: the attributes for traits of other specs are in the crate `tenon-spec-macros`"
        }
        _ => "",
    };
    format!("there is no argument `{name}`; expected {known}{elsewhere}")
}
