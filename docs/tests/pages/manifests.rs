//! Manifests of plugins on the pages.

use std::fs;
use std::path::Path;

use tenon_loader::Manifest;

use crate::coverage;

#[test]
fn manifest_is_read_as_it_stands() {
    for block in coverage::manifests() {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
        fs::create_dir_all(&folder).expect("the folder can be made");
        let path = folder.join("manifest.json");
        fs::write(&path, &block.text).expect("the file can be written");
        if let Err(error) = Manifest::read(&path) {
            panic!("{}:{}: {error}", block.page, block.line);
        }
    }
}
