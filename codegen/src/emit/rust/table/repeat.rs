//! Calls with arguments as numbers: the inverse of what layers see. Tools repeat recorded calls with them.

use proc_macro2::TokenStream;
use quote::quote;

use super::layer::{reads_result, updates};
use crate::emit::c::sdk_call_types;
use crate::emit::rust::context::Context;
use crate::emit::rust::method::form::{Form, element, is_fallible};
use crate::emit::rust::names;
use crate::emit::rust::types::api_type::value;
use crate::model::{Carrier, Extent, Function, Param, Ty, TypeKind};
use crate::sdk::{Handle, SdkApi};

/// Emits the method that makes a call, and the functions of the SDK that make the same calls in C.
pub fn emit(context: Context) -> TokenStream {
    let name = names::trait_of(context.interface);
    let functions = &context.interface.functions;
    let arms: Vec<TokenStream> = functions
        .iter()
        .filter(|function| is_repeatable(context, function))
        .map(|function| arm(context, function))
        .collect();
    let rest = (arms.len() < functions.len()).then(|| quote! { _ => ::core::option::Option::None, });
    let body = if arms.is_empty() {
        quote! { let _ = (__below, __words); ::core::option::Option::None }
    } else {
        quote! {
            if __words.len() < self.info().params.len() {
                return ::core::option::Option::None;
            }
            __comment!("SAFETY: the caller promises the arguments.");
            unsafe {
                match self { #(#arms)* #rest }
            }
        }
    };
    let c_functions = SdkApi::of(context.spec, context.interface).map(|sdk_api| c_functions(sdk_api));
    quote! {
        impl Function {
            /// Calls the function with its arguments as numbers, in the form in which layers see them, and writes its
            /// results to them. A boolean result is returned; it is false for all other functions.
            ///
            /// Returns `None` if there are fewer arguments than parameters, or if numbers cannot represent the
            /// arguments.
            ///
            /// # Safety
            /// The method may be called with these arguments: addresses are valid for the given lengths, and handles
            /// belong to the implementation.
            #[allow(clippy::too_many_lines, reason = "one arm for each function")]
            #[allow(unused_unsafe, reason = "an interface may have only safe functions")]
            pub unsafe fn call_with(
                self,
                __below: &dyn #name,
                __words: &mut [u64],
            ) -> ::core::option::Option<Result<bool>> {
                #body
            }
        }

        #c_functions
    }
}

/// Emits the table of the SDK's functions.
fn c_functions(sdk_api: SdkApi) -> TokenStream {
    let functions = &sdk_api.interface.functions;
    let count = names::number(functions.len() as u64);
    let entries = functions.iter().map(|function| {
        let (name, params) = (sdk_api.function(function), sdk_call_types(sdk_api, function));
        let takes_plugin = sdk_api.called_with(function) == Handle::Plugin;
        let (answers, managed) = (function.question.is_some(), sdk_api.manages(function));
        quote! {
            ::tenon::reflect::CFunction {
                name: #name,
                params: &[#(#params),*],
                takes_plugin: #takes_plugin,
                answers: #answers,
                managed: #managed,
            }
        }
    });
    quote! {
        static C_FUNCTIONS: [::tenon::reflect::CFunction; #count] = [#(#entries),*];

        impl Function {
            /// Describes the function of the C SDK that makes this call.
            pub fn in_c(self) -> &'static ::tenon::reflect::CFunction {
                &C_FUNCTIONS[self as usize]
            }
        }
    }
}

/// Returns true if numbers represent all arguments.
fn is_repeatable(context: Context, function: &Function) -> bool {
    let is_struct = |param: &Param| matches!(context.spec.kind(param.ty), Some(TypeKind::Struct { .. }));
    let is_callback = |param: &Param| matches!(context.spec.kind(param.ty), Some(TypeKind::Callback { .. }));
    let in_words = |(param, form): (&Param, &Form)| match form {
        Form::Carried(_) | Form::Output(_) | Form::Text => true,
        Form::Value | Form::InOut => !is_struct(param) && !is_callback(param) && param.ty != Ty::String,
        Form::Bytes { len, .. } | Form::Slice { len, .. } => {
            !matches!(len, Extent::Call(_)) && !matches!(param.ty, Ty::String | Ty::Char)
        }
        Form::Callback { context } => context.is_some() && !param.nullable,
        Form::ByteBuffer { .. } | Form::StructRef { .. } => false,
    };
    let is_method = context.interface.methods().any(|method| std::ptr::eq(method, function));
    is_method && is_fallible(context, function) && function.formed().all(in_words)
}

/// Emits the arm of a function.
fn arm(context: Context, function: &Function) -> TokenStream {
    let (called, variant) = (names::method(context.interface, function), function.variant());
    let conversions =
        function.formed().enumerate().map(|(index, (param, form))| argument(context, index, param, form));
    let passed = function.formed().filter_map(|(param, form)| {
        let name = param.ident();
        match form {
            Form::Carried(_) | Form::Output(_) => None,
            Form::InOut => Some(quote!(&mut #name)),
            _ => Some(quote!(#name)),
        }
    });
    let call = quote!(#called(__below, #(#passed),*));
    let result = if function.question.is_some() {
        quote!(#call)
    } else {
        // The updates read changed arguments through references, as a method has them.
        let changed = function.formed().filter(|(_, form)| matches!(form, Form::InOut)).map(|(param, _)| {
            let name = param.ident();
            quote! { let #name = &#name; }
        });
        let updates = updates(context, function);
        let results = if reads_result(context, function) { quote!(__returned) } else { quote!(_) };
        if updates.is_empty() {
            quote! { #call.map(|_| false) }
        } else {
            quote! {
                match #call {
                    ::core::result::Result::Ok(#results) => {
                        #(#changed)*
                        #updates
                        ::core::result::Result::Ok(false)
                    }
                    ::core::result::Result::Err(__error) => ::core::result::Result::Err(__error),
                }
            }
        }
    };
    quote! {
        Function::#variant => {
            #(#conversions)*
            ::core::option::Option::Some(#result)
        }
    }
}

/// Emits the conversion of one argument from its number; nothing for what is not in the signature.
fn argument(context: Context, index: usize, param: &Param, form: &Form) -> TokenStream {
    let name = param.ident();
    let index = names::number(index as u64);
    let text = &param.name.value;
    let word = quote!(__words[#index]);
    let optional = |converted: TokenStream| {
        if param.nullable {
            quote! {
                if #word == 0 { ::core::option::Option::None } else { ::core::option::Option::Some(#converted) }
            }
        } else {
            converted
        }
    };
    let checked = |converted: TokenStream| {
        quote! {
            match #converted {
                ::core::result::Result::Ok(__value) => __value,
                ::core::result::Result::Err(__error) => {
                    return ::core::option::Option::Some(::core::result::Result::Err(__error));
                }
            }
        }
    };
    let slice = |mutable: bool, element: TokenStream, len: &Extent| {
        let len = extent(len);
        let function = names::symbol(if mutable { "slice_mut" } else { "slice" });
        let slice =
            quote!(::tenon::support::#function(#text, ::tenon::support::pointer::<#element>(#word), #len));
        optional(checked(slice))
    };
    match form {
        Form::Carried(Carrier::Slice(_) | Carrier::Callback(_) | Carrier::Result | Carrier::Lent(_))
        | Form::Output(_)
        | Form::ByteBuffer { .. }
        | Form::StructRef { .. } => TokenStream::new(),
        Form::Value => {
            let value = from_bits(context, param, &word);
            quote! { let #name = #value; }
        }
        Form::InOut => {
            let value = from_bits(context, param, &word);
            quote! { let mut #name = #value; }
        }
        Form::Bytes { len, mutable } => {
            let slice = slice(*mutable, quote!(u8), len);
            quote! { let #name = #slice; }
        }
        Form::Slice { len, mutable } => {
            let slice = slice(*mutable, element(context, param), len);
            quote! { let #name = #slice; }
        }
        Form::Text => {
            let text = checked(quote!(::tenon::support::text(#text, ::tenon::support::pointer(#word))));
            let text = optional(text);
            quote! { let #name = #text; }
        }
        Form::Callback { context: carried } => {
            let ty = value(context, param.ty, None);
            let user_data = match carried {
                Some(id) => {
                    let index = names::number(id.0 as u64);
                    quote!(::tenon::AnyPtr::from_addr(__words[#index] as usize))
                }
                None => quote!(::tenon::AnyPtr::NULL),
            };
            quote! {
                let #name = #ty::from_raw(
                    ::tenon::support::function(::tenon::support::pointer(#word)),
                    #user_data,
                );
            }
        }
    }
}

/// Emits the number of elements or bytes behind a pointer.
fn extent(extent: &Extent) -> TokenStream {
    match extent {
        Extent::Param(id) => {
            let index = names::number(id.0 as u64);
            quote!(__words[#index] as usize)
        }
        Extent::Number(number) => {
            let number = names::number(*number);
            quote!(#number)
        }
        Extent::Call(_) => quote!(0),
    }
}

/// Emits a value from its 64 bits.
fn from_bits(context: Context, param: &Param, word: &TokenStream) -> TokenStream {
    let ty = value(context, param.ty, param.space);
    match (param.ty, context.spec.kind(param.ty)) {
        (_, Some(TypeKind::Handle { .. })) | (Ty::Pointer, _) => quote!(#ty::from_addr(#word as usize)),
        (_, Some(_)) => quote!(#ty(#word as _)),
        (Ty::Bool, _) => quote!(#word != 0),
        (Ty::F32, _) => quote!(f64::from_bits(#word) as f32),
        (Ty::F64, _) => quote!(f64::from_bits(#word)),
        (Ty::Int { bits: 64, signed: false } | Ty::ULongLong, _) => quote!(#word),
        _ => quote!(#word as #ty),
    }
}
