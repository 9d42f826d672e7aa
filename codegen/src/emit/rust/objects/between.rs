//! Descriptions and functions for layers between a host and objects: the objects that each function makes and releases, and a
//! function that puts others in front of them.

use proc_macro2::TokenStream;
use quote::quote;

use crate::emit::rust::context::Context;
use crate::emit::rust::names;
use crate::model::abi::{self, MemberKind, TableLayout};
use crate::model::{
    Direction, Extent, Function, FunctionId, Holds, Length, Need, Object, Param, ParamId, ReleaseId,
    ResultKind, Role, Ty, Type,
};

/// Emits the start of the module `between`, and its content.
pub fn emit(context: Context) -> (TokenStream, TokenStream) {
    let objects: Vec<(&Type, &Object)> = context.interface.objects().collect();
    let layouts: Vec<_> = objects.iter().map(|object| layout(context, *object)).collect();
    let infos = objects.iter().zip(&layouts).map(|((ty, object), layout)| info(context, ty, object, layout));
    let arms = objects.iter().zip(&layouts).enumerate().filter_map(|(kind, ((ty, object), layout))| {
        let (kind, raw) = (names::number(kind as u64), names::symbol(&ty.c_name));
        let all = functions(layout).map(|id| context.interface.function(id)).enumerate();
        // Another one cannot be told from those of other objects.
        let functions = all.filter(|(_, function)| function.is_of_object).map(|(index, function)| {
            let (index, member) = (names::number(index as u64), names::snake(&function.c_name));
            let inner = object.inner.as_ref().map(|inner| {
                let inner = names::snake(&inner.member);
                quote!(#inner.)
            });
            let place = quote!(&raw mut (*__object).#inner #member);
            let replace = quote!(replace::<At<B, #kind, #index>, _>(object, #place););
            match since(context, function) {
                0 => replace,
                since => {
                    let since = names::number(u64::from(since));
                    quote!(if release >= #since { #replace })
                }
            }
        });
        let functions: Vec<TokenStream> = functions.collect();
        (!functions.is_empty()).then(|| {
            quote! {
                #kind => {
                    let __object = object.cast::<ffi::#raw>();
                    #(#functions)*
                }
            }
        })
    });
    let count = names::number(objects.len() as u64);
    let has_younger = |layout| functions(layout).any(|id| since(context, context.interface.function(id)) > 0);
    let release = if layouts.iter().any(has_younger) { quote!(release) } else { quote!(_release) };
    let module = quote! {
        /// Descriptions and functions for layers between a host and objects.
        pub
    };
    let content = quote! {
        use ::tenon::support::between::{At, Between, ObjectFunction, ObjectInfo, ObjectPart, replace};

        /// All kinds of objects, in the order of the spec.
        pub static OBJECTS: [ObjectInfo; #count] = [#(#infos),*];

        /// Puts functions in front of those that an object has in a release.
        ///
        /// # Safety
        /// The object is of the kind with this position, can be written, and states the release. Nothing uses it meanwhile.
        #[allow(clippy::cognitive_complexity, reason = "it has a line for each function")]
        #[allow(clippy::too_many_lines, reason = "it has a line for each function")]
        pub unsafe fn put_in_front<B: Between>(kind: usize, object: *mut ::core::ffi::c_void, #release: u32) {
            __comment!("SAFETY: the caller's promise.");
            unsafe {
                match kind {
                    #(#arms)*
                    _ => {}
                }
            }
        }
    };
    (module, content)
}

fn layout(context: Context, object: (&Type, &Object)) -> TableLayout {
    abi::object_layout(context.spec, context.interface, object, context.interface.newest())
}

/// Returns the functions of an object in the order of the struct.
fn functions(layout: &TableLayout) -> impl Iterator<Item = FunctionId> {
    layout.members.iter().filter_map(|member| match member.kind {
        MemberKind::Function(id) => Some(id),
        _ => None,
    })
}

/// Returns the number of the oldest release that has a function; 0 for all.
fn since(context: Context, function: &Function) -> u32 {
    let since = function.availability.since;
    since.and_then(|ReleaseId(since)| context.interface.releases[since].number).unwrap_or_default()
}

fn info(context: Context, ty: &Type, object: &Object, layout: &TableLayout) -> TokenStream {
    let name = &ty.c_name;
    let states_release = |member: &&abi::Member| match member.kind {
        MemberKind::Field(block, index) => object.field(block, index).holds == Some(Holds::Release),
        _ => false,
    };
    let release_at = match layout.members.iter().find(states_release) {
        Some(member) => {
            let offset = names::number(member.offset);
            quote!(::core::option::Option::Some(#offset))
        }
        None => quote!(::core::option::Option::None),
    };
    let functions = functions(layout).map(|id| function(context, context.interface.function(id)));
    quote! {
        ObjectInfo { name: #name, release_at: #release_at, functions: &[#(#functions),*] }
    }
}

fn function(context: Context, function: &Function) -> TokenStream {
    let (name, since) = (&function.c_name, names::number(u64::from(since(context, function))));
    let required = (function.need == Need::Load).then(|| quote!(.required()));
    let status = matches!(function.result, ResultKind::Status).then(|| quote!(.with_status()));
    let is_made = |param: &&Param| param.role == Role::Creates && param.dir == Direction::Out;
    let made = (0..).zip(&function.params).filter(|(_, param)| is_made(param));
    let made: Vec<TokenStream> = made.filter_map(|(index, param)| part(context, index, param)).collect();
    let makes = (!made.is_empty()).then(|| quote!(.making(&[#(#made),*])));
    let released = function.releases.and_then(|id| part(context, id.0, function.param(id)));
    let releases = released.map(|part| quote!(.releasing(#part)));
    quote!(ObjectFunction::new(#name, #since) #required #status #makes #releases)
}

/// Emits which objects an argument has, if it has any.
fn part(context: Context, index: usize, param: &Param) -> Option<TokenStream> {
    let Ty::Named(id) = param.ty else { return None };
    let name = &context.spec.ty(id).name.value;
    let kind = context.interface.objects().position(|(ty, _)| ty.name.value == *name)?;
    let (kind, argument) = (names::number(kind as u64), names::number(index as u64));
    let part = quote!(ObjectPart::new(#kind, #argument));
    Some(match &param.length {
        Some(Length::Count(Extent::Param(ParamId(count)))) => {
            let count = names::number(*count as u64);
            quote!(#part.counted_by(#count))
        }
        _ => part,
    })
}
