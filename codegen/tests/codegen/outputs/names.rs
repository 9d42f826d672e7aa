//! Checks that rule E075 covers every name that an expansion defines, so that no type of a spec has such a name.

use codegen::emit::rust::interface_text;
use codegen::model::Interface;

use crate::root;
use crate::specs::load;
use crate::texts::Texts;

/// Finds the types and traits in the module of an interface that are not in the spec.
fn own_names(text: &str, interface: &Interface) -> Vec<String> {
    let file = syn::parse_file(text).expect("the generator wrote it");
    let names = file.items.iter().filter_map(|item| match item {
        syn::Item::Struct(item) => Some(item.ident.to_string()),
        syn::Item::Enum(item) => Some(item.ident.to_string()),
        syn::Item::Trait(item) => Some(item.ident.to_string()),
        syn::Item::Type(item) => Some(item.ident.to_string()),
        _ => None,
    });
    names.filter(|name| interface.types.iter().all(|ty| ty.name.value != *name)).collect()
}

#[test]
fn own_name_of_expansion_is_refused_as_type() {
    let texts = Texts::of_folder(&root().join("sdk-rs/tests/tiny/spec"));
    let loaded = load(&texts);
    let mut tried = 0;
    for interface in &loaded.spec.interfaces {
        let text = interface_text(&loaded.spec, interface).expect("the expansion is Rust");
        let path = format!("{}/all.yaml", interface.name.value);
        for name in own_names(&text, interface) {
            let entry = format!("types:\n  - {{ name: {name}, kind: handle, c: T_New, summary: New. }}\n");
            let mut changed = texts.clone();
            let text = changed.0.get_mut(&path).expect("the file is there");
            *text = text.replacen("types:\n", &entry, 1);
            let said = match codegen::load(&changed) {
                Ok(_) => "no diagnostic".to_owned(),
                Err(mistakes) => mistakes.render(false),
            };
            let expected = format!("`{name}` ");
            assert!(
                (said.contains("error[E075]") || said.contains("error[E076]")) && said.contains(&expected),
                "`{name}` in `{}`: {said}",
                interface.name.value
            );
            tried += 1;
        }
    }
    assert!(tried > 30, "only {tried} names were found");
}
