//! The modules of the generator import each other in one direction.

use std::path::{Path, PathBuf};

/// The modules, each behind those that it may import.
const ORDER: [&str; 17] = [
    "text",
    "output_path",
    "source",
    "diagnostic",
    "yaml",
    "grammar",
    "formula",
    "model",
    "language",
    "exports",
    "sdk",
    "check",
    "out",
    "emit",
    "import",
    "cli",
    "lib",
];

#[test]
fn modules_import_only_those_before_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    let mut arrows = 0;
    for file in files {
        let module = module_of(file.strip_prefix(&root).expect("it is below the root"));
        // The main file only calls the command.
        let Some(place) = ORDER.iter().position(|known| *known == module) else {
            assert_eq!(module, "main", "`{module}` is not in the order");
            continue;
        };
        let text = std::fs::read_to_string(&file).expect("it is readable");
        for imported in imports(&text).filter(|imported| *imported != module) {
            let Some(other) = ORDER.iter().position(|known| *known == imported) else { continue };
            assert!(other < place, "{}: `{module}` imports `{imported}`", file.display());
            arrows += 1;
        }
    }
    assert!(arrows > 100, "only {arrows} imports are found");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("it is a folder") {
        let path = entry.expect("it is readable").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// Returns the module of a file: its first folder, or its own name.
fn module_of(path: &Path) -> String {
    let first = path.components().next().expect("it has a name").as_os_str().to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

/// Returns the modules of the crate that a text names in code, not in comments.
fn imports(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| line.split("crate::").skip(1)).flat_map(|rest| {
        let end = |letter: char| !(letter.is_alphanumeric() || letter == '_');
        match rest.strip_prefix('{') {
            Some(list) => {
                list.split([',', '}']).map(|item| item.trim().split(end).next().unwrap_or("")).collect()
            }
            None => vec![rest.split(end).next().unwrap_or("")],
        }
    })
}
