//! The attribute on an `impl` of `Operators`: one `impl` for the trait of each group.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::punctuated::Punctuated;
use syn::{Error, Ident, ImplItem, ImplItemFn, ItemImpl, Path, Token};

/// The traits of operators, each with its methods.
type Groups = [(&'static str, &'static [&'static str])];

/// A method of the `impl`, and the types of elements that it accepts.
struct Method {
    item: ImplItemFn,
    types: Option<Vec<Ident>>,
}

/// Expands the attribute.
pub(crate) fn expand(groups: &Groups, mut item: ItemImpl) -> syn::Result<TokenStream> {
    let methods = methods(groups, std::mem::take(&mut item.items));
    let operators = trait_of(&item)?;
    let (target, generics) = (&item.self_ty, &item.generics);
    let (parameters, _, bounds) = generics.split_for_impl();
    let methods = methods?;
    let impls = groups.iter().map(|(name, names)| {
        let group = Ident::new(name, Span::call_site());
        let items = methods.iter().map(|method| &method.item);
        let items = items.filter(|item| names.iter().any(|name| item.sig.ident == name));
        quote! {
            impl #parameters ::tenon_operators::#group for #target #bounds {
                #(#items)*
            }
        }
    });
    let arms = methods.iter().map(|Method { item, types }| {
        let name = plain(&item.sig.ident);
        match types {
            None => quote!(#name => true,),
            Some(types) => quote!(#name => [#(::tenon::device::DataType::#types),*].contains(&ty),),
        }
    });
    let names = methods.iter().map(|method| format!("\"{}\"", plain(&method.item.sig.ident)));
    let manifest = format!(r#"{{"manifest":1,"operators":[{}]}}"#, names.collect::<Vec<_>>().join(","));
    Ok(quote! {
        ::tenon::__manifest_note!(#manifest);

        #(#impls)*

        impl #parameters #operators for #target #bounds {
            fn provides(&self, method: &str, ty: ::tenon::device::DataType) -> bool {
                let _ = ty;
                match method {
                    #(#arms)*
                    _ => false,
                }
            }
        }
    })
}

/// Returns the path of the trait, as the `impl` has it.
fn trait_of(item: &ItemImpl) -> syn::Result<&Path> {
    match &item.trait_ {
        Some((path, _)) if path.segments.last().is_some_and(|last| last.ident == "Operators") => Ok(path),
        _ => Err(Error::new_spanned(&item.self_ty, "this attribute is for `impl Operators for …`")),
    }
}

fn methods(groups: &Groups, items: Vec<ImplItem>) -> syn::Result<Vec<Method>> {
    let mut methods: Vec<Method> = Vec::new();
    let mut mistakes: Option<Error> = None;
    for item in items {
        let method = match item {
            ImplItem::Fn(item) => method(groups, item),
            other => Err(Error::new_spanned(other, "an `impl` of `Operators` has only methods")),
        };
        match (method, &mut mistakes) {
            (Ok(method), _) => methods.push(method),
            (Err(mistake), Some(mistakes)) => mistakes.combine(mistake),
            (Err(mistake), none) => *none = Some(mistake),
        }
    }
    mistakes.map_or(Ok(methods), Err)
}

fn method(groups: &Groups, mut item: ImplItemFn) -> syn::Result<Method> {
    let name = plain(&item.sig.ident);
    let known = || groups.iter().flat_map(|(_, names)| names.iter().copied());
    if !known().any(|known| known == name) {
        let nearest = known().min_by_key(|known| strsim::levenshtein(known, &name));
        let help =
            nearest.map(|nearest| format!("\n  help: the nearest name is `{nearest}`")).unwrap_or_default();
        return Err(Error::new_spanned(&item.sig.ident, format!("there is no operator `{name}`{help}")));
    }
    let mut types = None;
    for attribute in std::mem::take(&mut item.attrs) {
        if !attribute.path().is_ident("data_types") {
            item.attrs.push(attribute);
            continue;
        }
        let listed = attribute.parse_args_with(Punctuated::<Ident, Token![,]>::parse_terminated)?;
        if listed.is_empty() {
            return Err(Error::new_spanned(
                &attribute,
                "`data_types` lists at least one type of elements, such as `FLOAT32`",
            ));
        }
        types = Some(listed.into_iter().collect());
    }
    Ok(Method { item, types })
}

/// Returns the name of a method in the spec, which may be a keyword of Rust.
fn plain(name: &Ident) -> String {
    let name = name.to_string();
    name.strip_prefix("r#").unwrap_or(&name).to_owned()
}
