//! Compiles the spec's files into the macros, so that a crate elsewhere needs no copy of them.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let manifest = env::var_os("CARGO_MANIFEST_DIR").ok_or(io::ErrorKind::NotFound)?;
    let out = env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    let root = Path::new(&manifest).join("../../spec");
    println!("cargo:rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    collect(&root, &root, &mut files)?;
    files.sort();
    let mut table = String::from("&[\n");
    for (name, path) in files {
        println!("cargo:rerun-if-changed={path}");
        let _ = writeln!(table, "    ({name:?}, include_str!({path:?})),");
    }
    table.push(']');
    fs::write(Path::new(&out).join("spec.rs"), table)
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<(String, String)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            println!("cargo:rerun-if-changed={}", path.display());
            collect(root, &path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            let name = path.strip_prefix(root).map_err(io::Error::other)?;
            files.push((
                name.to_string_lossy().into_owned(),
                path.canonicalize()?.to_string_lossy().into_owned(),
            ));
        }
    }
    Ok(())
}
