//! Specs that tests load, and the headers of specs.

use std::path::{Path, PathBuf};

use codegen::emit::{Inputs, emit};
use codegen::out::{Edits, FileMap, Target};
use codegen::source::{Files, Folder};
use codegen::{CheckedSpec, model::Spec};

use crate::root;
use crate::texts::Texts;

/// Loads a spec; fails with its diagnostics.
pub fn load(files: &dyn Files) -> CheckedSpec {
    codegen::load(files).unwrap_or_else(|mistakes| panic!("{}", mistakes.render(false)))
}

/// Loads the project's spec.
pub fn project() -> Spec {
    load(&Folder::new(root().join("spec"))).spec
}

/// Loads the project's spec with one replacement in one file.
pub fn changed(path: &str, from: &str, to: &str) -> Spec {
    let mut texts = Texts::of_folder(&root().join("spec"));
    let text = texts.0.get_mut(path).expect("the file is part of the spec");
    assert!(text.contains(from), "`{path}` no longer says `{from}`");
    *text = text.replacen(from, to, 1);
    load(&texts).spec
}

/// Writes files to a folder for tests, without those of an earlier run.
pub fn write(files: &FileMap, target: &Target, folder: &Path) {
    if folder.exists() {
        std::fs::remove_dir_all(folder).expect("the folder for tests can be written");
    }
    files.write(target, Edits::Refuse).expect("the folder for tests can be written");
}

/// Writes the C headers of a spec to a folder for tests; returns the folder to include them from.
pub fn headers(mut spec: Spec, folder: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    spec.outputs.places.retain(|place| ["header", "c_operators"].contains(&place.key));
    let loaded = CheckedSpec { spec, sources: codegen::source::Sources::default() };
    let inputs = Inputs { loaded: &loaded, folder: "spec", summary: None, exports: None, last_run: None };
    let files = emit(&inputs).expect("the outputs can be emitted");
    write(
        &files,
        &Target::new(&folder, &root().join("spec"), &loaded.spec.project, &loaded.spec.command),
        &folder,
    );
    folder.join(
        &loaded
            .spec
            .outputs
            .place(&codegen::grammar::outputs::HEADER)
            .expect("the spec asks for headers")
            .path
            .value,
    )
}

/// Compiles a file without a result; returns the compiler's message if that fails.
pub fn compile(compiler: &str, flags: &[&str], include: &Path, file: &Path) -> Result<(), String> {
    let mut command = std::process::Command::new(compiler);
    let output =
        crate::tools::output(command.args(flags).args(["-fsyntax-only", "-I"]).arg(include).arg(file));
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}
