//! The SDK's view of an interface: headers and exports agree, statuses keep their numbers, and docs fit the SDK's users.

use std::collections::BTreeMap;

use codegen::emit::rust::{FileForm, export_files};
use codegen::model::{Function, Spec};
use codegen::sdk::SdkApi;
use quote::ToTokens;

use crate::specs::project;

fn sdk_api(spec: &Spec) -> SdkApi<'_> {
    let interface = spec.interface("device").expect("the spec has the interface");
    SdkApi::of(spec, interface).expect("the SDK offers it")
}

/// Returns the types of each prototype's parameters, without names and `const`.
fn prototypes(sdk_api: SdkApi) -> BTreeMap<String, Vec<String>> {
    let prototype = |function: &Function| {
        let text = codegen::emit::c::sdk_prototype(sdk_api, function);
        let (head, rest) = text.split_once('(').expect("a prototype has parameters");
        let params = rest.strip_suffix(')').expect("a prototype ends with them").split(',');
        let params = params.map(|param| {
            let param = param.trim();
            let name = param.rfind(|c: char| !(c.is_alphanumeric() || c == '_')).map_or(0, |index| index + 1);
            param[..name].replace("const ", "").replace("unsigned long long", "uint64_t").replace(' ', "")
        });
        (head.replace("tenon_status ", ""), params.collect())
    };
    sdk_api.interface.functions.iter().map(prototype).collect()
}

/// Returns the types of each export's parameters, as C spells them.
fn exports(sdk_api: SdkApi) -> BTreeMap<String, Vec<String>> {
    let files = export_files(sdk_api.spec, sdk_api.interface, FileForm::One);
    let file: syn::File = syn::parse_file(&files[0].text).expect("the functions are Rust");
    let export = |item: syn::Item| {
        let syn::Item::Fn(function) = item else { return None };
        let is_public = matches!(function.vis, syn::Visibility::Public(_));
        let is_exported = is_public && function.sig.abi.is_some();
        let params = function.sig.inputs.iter().map(|input| match input {
            syn::FnArg::Typed(param) => spelled(sdk_api, &param.ty),
            syn::FnArg::Receiver(_) => panic!("an export takes no `self`"),
        });
        is_exported.then(|| (function.sig.ident.to_string(), params.collect()))
    };
    file.items.into_iter().filter_map(export).collect()
}

fn spelled(sdk_api: SdkApi, ty: &syn::Type) -> String {
    if let syn::Type::Ptr(pointer) = ty {
        return format!("{}*", spelled(sdk_api, &pointer.elem));
    }
    let text = ty.to_token_stream().to_string().replace(' ', "");
    let name = text.trim_start_matches("Option<").trim_end_matches('>');
    let name = name.rsplit("::").next().unwrap_or(name);
    let known = [
        ("DeviceHandle", "tenon_device"),
        ("PluginHandle", "tenon_plugin"),
        ("c_void", "void"),
        ("c_char", "char"),
        ("usize", "size_t"),
        ("i32", "int32_t"),
        ("i64", "int64_t"),
        ("u8", "uint8_t"),
        ("u32", "uint32_t"),
        ("u64", "uint64_t"),
        ("f32", "float"),
        ("bool", "bool"),
    ];
    if let Some((_, c)) = known.iter().find(|(rust, _)| *rust == name) {
        return (*c).to_owned();
    }
    let named = |ty: &&codegen::model::Type| {
        ty.c_name == name || ty.name.value == name || format!("{}Function", ty.name.value) == name
    };
    let ty = sdk_api.interface.types.iter().find(named).unwrap_or_else(|| panic!("what is `{text}`?"));
    sdk_api.ty(ty)
}

#[test]
fn each_function_has_a_prototype_and_an_export_with_the_same_parameters() {
    let spec = project();
    let (prototypes, exports) = (prototypes(sdk_api(&spec)), exports(sdk_api(&spec)));
    assert_eq!(prototypes.len(), sdk_api(&spec).interface.functions.len());
    assert_eq!(prototypes.keys().collect::<Vec<_>>(), exports.keys().collect::<Vec<_>>());
    for (name, params) in &prototypes {
        assert_eq!(params, &exports[name], "`{name}`");
    }
}

#[test]
fn statuses_keep_their_numbers() {
    let spec = project();
    let statuses = sdk_api(&spec).statuses();
    let known: Vec<(i64, &str)> = statuses.iter().map(|status| (status.value, &*status.name)).collect();
    let expected = [
        (0, "success"),
        (1, "warning"),
        (2, "failed"),
        (3, "error"),
        (4, "internal_error"),
        (16, "invalid_argument"),
        (17, "invalid_handle"),
        (18, "out_of_memory"),
        (19, "unsupported"),
        (20, "not_found"),
        (21, "load_failed"),
        (22, "busy"),
        (23, "not_initialised"),
        (24, "refused"),
    ];
    assert_eq!(known[..expected.len()], expected, "a number is never given anew");
}

/// Returns the SDK's docs of a function, by topic.
fn docs(function: &Function) -> impl Iterator<Item = (String, String)> {
    let params = function.params.iter().map(|param| (param.name.value.clone(), param.doc.callers()));
    std::iter::once((function.name.value.clone(), function.doc.callers())).chain(params)
}

#[test]
fn callers_read_nothing_of_the_host() {
    let spec = project();
    for function in &sdk_api(&spec).interface.functions {
        let returned = function.returns.iter().map(|(_, when)| (function.name.value.clone(), when.callers()));
        for (name, text) in docs(function).chain(returned) {
            let names_host = text.contains("PaddlePaddle") || text.contains("The host ");
            assert!(!names_host, "`{name}`: this belongs into `host`: {text}");
        }
    }
}

#[test]
fn callers_read_something_of_everything() {
    let spec = project();
    for function in &sdk_api(&spec).interface.functions {
        for (name, text) in docs(function) {
            assert!(!text.is_empty(), "nothing is left to say of `{name}` of `{}`", function.name.value);
        }
    }
}
