//! Damaged specs: for any files the generator returns diagnostics that can be rendered, or a spec that every emitter can
//! write.
//!
//! An input is a text like those of `codegen/tests/bad`: files behind lines `# file: path`, laid over a good spec. A first
//! line `# over: spec` lays them over the real one rather than the small one.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use codegen::diagnostic::to_json;
use codegen::emit::{Inputs, emit, rust};
use codegen::source::{Files, Folder};

/// A spec in memory.
#[derive(Clone, Default)]
struct Texts(BTreeMap<String, String>);

impl Texts {
    fn of_folder(root: &Path) -> Self {
        let mut texts = Texts::default();
        texts.add(root, "");
        for entry in std::fs::read_dir(root).expect("the folder is part of the repository").flatten() {
            if entry.path().is_dir() {
                texts.add(root, &format!("{}/", entry.file_name().to_string_lossy()));
            }
        }
        texts
    }

    fn add(&mut self, root: &Path, folder: &str) {
        for name in Folder::new(root).list(folder) {
            let path = format!("{folder}{name}");
            let text = Folder::new(root).read(&path).expect("a listed file can be read");
            self.0.insert(path, text);
        }
    }

    fn lay_over(&mut self, input: &str) {
        let mut current = None;
        for line in input.lines() {
            if let Some(path) = line.strip_prefix("# file: ") {
                self.0.insert(path.to_owned(), String::new());
                current = Some(path);
            } else if let Some(path) = line.strip_prefix("# no file: ") {
                self.0.remove(path);
                current = None;
            } else if let Some(text) = current.and_then(|path| self.0.get_mut(path)) {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
}

impl Files for Texts {
    fn read(&self, path: &str) -> io::Result<String> {
        self.0.get(path).cloned().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    fn display(&self, path: &str) -> PathBuf {
        PathBuf::from(path)
    }

    fn list(&self, folder: &str) -> Vec<String> {
        let names = self.0.keys().filter_map(|path| path.strip_prefix(folder)?.strip_prefix('/'));
        names.map(str::to_owned).collect()
    }
}

fn read(folder: &str) -> Texts {
    Texts::of_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder))
}

fn is_over_real(input: &str) -> bool {
    input.starts_with("# over: spec\n")
}

fn base(input: &str) -> &'static Texts {
    static SMALL: OnceLock<Texts> = OnceLock::new();
    static REAL: OnceLock<Texts> = OnceLock::new();
    if is_over_real(input) {
        REAL.get_or_init(|| read("spec"))
    } else {
        SMALL.get_or_init(|| read("codegen/tests/bad/base"))
    }
}

/// Loads a spec, and shows its mistakes or writes its outputs.
pub fn run(data: &[u8]) {
    let input = String::from_utf8_lossy(data);
    let mut files = base(&input).clone();
    files.lay_over(&input);
    match codegen::load(&files) {
        // The outputs of the real spec would take most of the time, and its entries are of no other kind.
        Ok(_) if is_over_real(&input) => {}
        Ok(loaded) => {
            let inputs =
                Inputs { loaded: &loaded, folder: "spec", summary: None, exports: None, last_run: None };
            if let Err(error) = emit(&inputs) {
                panic!("a spec that keeps every rule cannot be written: {error}");
            }
            let is_touched = |name: &str| input.contains(&format!("file: {name}/"));
            for interface in
                loaded.spec.interfaces.iter().filter(|interface| is_touched(&interface.name.value))
            {
                if let Err(error) = rust::interface_text(&loaded.spec, interface) {
                    panic!("the expansion of `{}` is not Rust: {error}", interface.name.value);
                }
            }
        }
        Err(mistakes) => {
            assert!(!mistakes.diagnostics.is_empty(), "a refusal without a reason");
            for diagnostic in &mistakes.diagnostics {
                let spans = diagnostic.related.iter().map(|(span, _)| span).chain([&diagnostic.span]);
                for span in spans {
                    let text = &mistakes.sources.file(span.file).text;
                    assert!(text.get(span.start..span.end).is_some(), "{span:?} is not a part of the text");
                }
            }
            mistakes.render(false);
            mistakes.render(true);
            to_json(&mistakes.sources, &mistakes.diagnostics);
        }
    }
}
