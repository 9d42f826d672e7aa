//! Reads a crate, from its root file on.

use std::path::{Path, PathBuf};

use heck::ToSnakeCase;
use syn::{Attribute, Expr, ExprLit, Fields, Item, Lit, LitInt, Meta, Visibility};

use super::{Constant, Doc, Exports, Field, Function, ReadError, Ty, Type, TypeKind};
use crate::source::LONGEST_FILE;

/// Reads what a crate exports: from its root, and from the modules that lie in files of their own.
///
/// # Errors
/// If a file cannot be read, is not Rust, or exports what C has no word for.
pub fn read(root: &Path) -> Result<Exports, ReadError> {
    file(root, &root.parent().map_or_else(PathBuf::new, Path::to_owned))
}

/// Returns true if cbindgen leaves a module out, such as the generated one: its documentation says
/// `cbindgen:ignore`.
fn is_left_out(attributes: &[Attribute]) -> bool {
    let docs = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(meta) if meta.path.is_ident("doc") => Some(&meta.value),
        _ => None,
    });
    docs.into_iter().any(|value| {
        matches!(value, Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if text.value().trim() == "cbindgen:ignore")
    })
}

/// Returns a file and the modules below it; `folder` is where those lie.
fn file(path: &Path, folder: &Path) -> Result<Exports, ReadError> {
    let text = tenon_files::read_text(path, LONGEST_FILE)
        .map_err(|source| ReadError::Read { path: path.to_owned(), source: source.into() })?;
    let mut found = Exports::default();
    // Parsing is most of what this takes, and few files export anything.
    if !["no_mangle", "#[repr(", "extern \"C\"", "pub const", "mod "].iter().any(|word| text.contains(word)) {
        return Ok(found);
    }
    let parsed =
        syn::parse_file(&text).map_err(|source| ReadError::Parse { path: path.to_owned(), source })?;
    let mut modules = Vec::new();
    for item in &parsed.items {
        if let Item::Mod(module) = item
            && module.content.is_none()
            && !is_for_tests(&module.attrs)
            && !is_left_out(&module.attrs)
        {
            modules.push(module.ident.to_string());
        }
        collect(item, &mut found).map_err(|(item, reason)| ReadError::Unknown {
            path: path.to_owned(),
            item,
            reason,
        })?;
    }
    for name in modules {
        let below = module(folder, &name)?;
        found.constants.extend(below.constants);
        found.types.extend(below.types);
        found.functions.extend(below.functions);
    }
    Ok(found)
}

fn module(folder: &Path, name: &str) -> Result<Exports, ReadError> {
    let below = folder.join(name);
    let flat = folder.join(format!("{name}.rs"));
    if flat.exists() { file(&flat, &below) } else { file(&below.join("mod.rs"), &below) }
}

type Mistake = (String, String);

fn collect(item: &Item, found: &mut Exports) -> Result<(), Mistake> {
    let named = |name: &syn::Ident| {
        let name = name.to_string();
        move |reason: String| (name, reason)
    };
    match item {
        Item::Fn(item) if has(&item.attrs, "no_mangle") => {
            let mistake = named(&item.sig.ident);
            found.functions.push(function(item).map_err(mistake)?);
        }
        Item::Const(item) if is_public(&item.vis) => {
            if let Some(value) = whole_number(&item.expr) {
                found.constants.push(Constant { name: item.ident.to_string(), value });
            }
        }
        Item::Struct(item) if is_public(&item.vis) && has(&item.attrs, "repr") => {
            let mistake = named(&item.ident);
            found.types.extend(structure(item).map_err(mistake)?);
        }
        Item::Enum(item) if is_public(&item.vis) && has(&item.attrs, "repr") => {
            let mistake = named(&item.ident);
            found.types.push(enumeration(item).map_err(mistake)?);
        }
        Item::Type(item) if is_public(&item.vis) => {
            let mistake = named(&item.ident);
            found.types.extend(callback(item).map_err(mistake)?);
        }
        _ => {}
    }
    Ok(())
}

fn function(item: &syn::ItemFn) -> Result<Function, String> {
    let params = item.sig.inputs.iter().map(|input| match input {
        syn::FnArg::Typed(param) => match &*param.pat {
            syn::Pat::Ident(pattern) => Ok((bare(&pattern.ident), ty(&param.ty)?)),
            _ => Err("a parameter has no name".to_owned()),
        },
        syn::FnArg::Receiver(_) => Err("an export takes no `self`".to_owned()),
    });
    Ok(Function {
        name: item.sig.ident.to_string(),
        params: params.collect::<Result<_, String>>()?,
        result: result(&item.sig.output)?,
        doc: Doc::parse(&lines(&item.attrs))?,
    })
}

fn structure(item: &syn::ItemStruct) -> Result<Option<Type>, String> {
    let kind = match &item.fields {
        Fields::Named(fields) => {
            let field = |field: &syn::Field| {
                let name = field.ident.as_ref().map(bare).unwrap_or_default();
                Ok(Field { name, ty: ty(&field.ty)?, doc: Doc::parse(&lines(&field.attrs))?.text() })
            };
            TypeKind::Struct(fields.named.iter().map(field).collect::<Result<_, String>>()?)
        }
        Fields::Unnamed(_) => TypeKind::Handle,
        Fields::Unit => return Ok(None),
    };
    Ok(Some(Type { name: item.ident.to_string(), kind, doc: Doc::parse(&lines(&item.attrs))? }))
}

fn enumeration(item: &syn::ItemEnum) -> Result<Type, String> {
    let value = |variant: &syn::Variant| {
        let number = variant.discriminant.as_ref().and_then(|(_, value)| whole_number(value));
        let number = number.and_then(|number| i64::try_from(number).ok());
        let number = number.ok_or_else(|| format!("`{}` has no number", variant.ident))?;
        Ok((variant.ident.to_string().to_snake_case(), number, Doc::parse(&lines(&variant.attrs))?.text()))
    };
    let values = item.variants.iter().map(value).collect::<Result<_, String>>()?;
    Ok(Type {
        name: item.ident.to_string(),
        kind: TypeKind::Enum(values),
        doc: Doc::parse(&lines(&item.attrs))?,
    })
}

/// Reads a callback type: `type Before = Option<unsafe extern "C" fn(…)>`. Returns `None` for another alias, which C
/// does not name.
fn callback(item: &syn::ItemType) -> Result<Option<Type>, String> {
    let Some(syn::Type::FnPtr(pointer)) = inside_option(&item.ty) else { return Ok(None) };
    let params = pointer.inputs.iter().map(|input| {
        let name = input.name.as_ref().map(|(name, _)| bare(name));
        Ok((name.ok_or("a parameter has no name")?, ty(&input.ty)?))
    });
    let kind = TypeKind::Callback {
        params: params.collect::<Result<_, String>>()?,
        result: result(&pointer.output)?,
    };
    Ok(Some(Type { name: item.ident.to_string(), kind, doc: Doc::parse(&lines(&item.attrs))? }))
}

fn inside_option(ty: &syn::Type) -> Option<&syn::Type> {
    let syn::Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first()? {
        syn::GenericArgument::Type(ty) if last.ident == "Option" => Some(ty),
        _ => None,
    }
}

fn result(output: &syn::ReturnType) -> Result<Option<Ty>, String> {
    match output {
        syn::ReturnType::Default => Ok(None),
        syn::ReturnType::Type(_, output) => ty(output).map(Some),
    }
}

fn ty(ty_: &syn::Type) -> Result<Ty, String> {
    match ty_ {
        syn::Type::Ptr(pointer) => Ok(Ty::Pointer(Box::new(ty(&pointer.elem)?))),
        syn::Type::Array(array) => {
            let count = whole_number(&array.len).ok_or("an array has a length that is not a number")?;
            Ok(Ty::Array(Box::new(ty(&array.elem)?), count))
        }
        syn::Type::Path(path) => {
            let last = path.path.segments.last().ok_or("a type has no name")?;
            Ok(Ty::Named(last.ident.to_string()))
        }
        _ => Err("a type is none that C has".to_owned()),
    }
}

fn whole_number(expr: &Expr) -> Option<u64> {
    let Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) = expr else { return None };
    LitInt::base10_parse(number).ok()
}

/// Removes the prefix of a raw identifier: `r#type` → `type`.
fn bare(ident: &syn::Ident) -> String {
    ident.to_string().trim_start_matches("r#").to_owned()
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Returns true if there is such an attribute, also as `#[unsafe(…)]`.
fn has(attributes: &[Attribute], name: &str) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("unsafe") => list.tokens.to_string() == name,
        meta => meta.path().is_ident(name),
    })
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        _ => false,
    })
}

/// Returns the lines of a documentation comment.
fn lines(attributes: &[Attribute]) -> Vec<String> {
    let text = |attribute: &Attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    };
    attributes.iter().filter_map(text).collect()
}
