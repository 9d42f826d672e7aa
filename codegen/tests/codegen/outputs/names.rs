//! Checks that rule E075 covers every name that an expansion defines, so that no type of a spec has such a name.

use std::io;
use std::path::PathBuf;

use codegen::emit::rust::interface_text;
use codegen::load;
use codegen::model::Interface;
use codegen::source::{Files, Folder};

use crate::root;

/// A folder with one file replaced.
struct Patched<'a> {
    folder: &'a Folder,
    path: String,
    text: String,
}

impl Files for Patched<'_> {
    fn read(&self, path: &str) -> io::Result<String> {
        if path == self.path { Ok(self.text.clone()) } else { self.folder.read(path) }
    }

    fn display(&self, path: &str) -> PathBuf {
        self.folder.display(path)
    }

    fn list(&self, folder: &str) -> Vec<String> {
        self.folder.list(folder)
    }
}

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
    let folder = Folder::new(root().join("sdk-rs/tests/tiny/spec"));
    let loaded = load(&folder).unwrap_or_else(|mistakes| panic!("{}", mistakes.render(false)));
    let mut tried = 0;
    for interface in &loaded.spec.interfaces {
        let text = interface_text(&loaded.spec, interface).expect("the expansion is Rust");
        let path = format!("{}/all.yaml", interface.name.value);
        for name in own_names(&text, interface) {
            let entry = format!("types:\n  - {{ name: {name}, kind: handle, c: T_New, summary: New. }}\n");
            let text = folder.read(&path).expect("the file is there").replacen("types:\n", &entry, 1);
            let said = match load(&Patched { folder: &folder, path: path.clone(), text }) {
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
