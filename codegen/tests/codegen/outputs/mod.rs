//! The outputs of the generator.

use std::path::Path;

use codegen::emit::{Inputs, emit};
use codegen::out::{Edits, FileMap, Target};
use codegen::source::Folder;

use crate::specs::load;

mod c_header;
mod export;
mod library;
mod names;
mod operators;
mod own_names;
mod python;
mod reference;
mod schema;
mod sdk;
mod statuses;

/// Emits the outputs of `spec` in a folder, and creates their target below another folder.
fn outputs(folder: &Path, root: &Path) -> (FileMap, Target) {
    let spec = folder.join("spec");
    let loaded = load(&Folder::new(&spec));
    let inputs = Inputs { loaded: &loaded, folder: "spec", summary: None, exports: None, last_run: None };
    let files = emit(&inputs).expect("the outputs can be emitted");
    (files, Target::new(root, &spec, &loaded.spec.project, &loaded.spec.command))
}

/// Checks the outputs of `spec` in a folder against those in `expected`, or updates these if `UPDATE_EXPECT` is set.
fn assert_expected(folder: &Path) {
    let (files, target) = outputs(folder, &folder.join("expected"));
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        files.write(&target, Edits::Replace).expect("the expected files can be written");
    }
    let differences = files.check(&target).expect("the expected files can be read");
    assert!(differences.is_empty(), "{differences:#?}");
}
