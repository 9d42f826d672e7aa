//! A full regeneration of all outputs, beside reading the same spec and writing the same bytes without any thought.
//!
//! Both are done in turn, into an empty folder each time; the figures are medians of the rounds.

use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{fs, io};

use codegen::emit::{Inputs, emit};
use codegen::out::{Edits, FileMap, Target};
use codegen::source::Folder;

const ROUNDS: usize = 31;

/// Emits the outputs of the spec, and creates their target below a folder.
fn generate(root: &Path, out: &Path) -> (FileMap, Target) {
    let spec = root.join("spec");
    let loaded =
        codegen::load(&Folder::new(&spec)).unwrap_or_else(|mistakes| panic!("{}", mistakes.render(false)));
    let template = loaded
        .spec
        .outputs
        .place(&codegen::grammar::outputs::SUMMARY)
        .map(|place| root.join(place.read("template")));
    let summary = template.map(|path| fs::read_to_string(path).expect("the template of the summary"));
    let inputs = Inputs { loaded: &loaded, folder: "spec", summary: summary.as_deref(), exports: None };
    (
        emit(&inputs).expect("our own spec"),
        Target::new(out, &spec, &loaded.spec.project, &loaded.spec.command),
    )
}

/// Reads every file below a folder. Returns their size in bytes.
fn read_all(folder: &Path) -> io::Result<usize> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        bytes += if path.is_dir() { read_all(&path)? } else { fs::read(&path)?.len() };
    }
    Ok(bytes)
}

fn write_all(files: &FileMap, out: &Path) -> io::Result<()> {
    for output in files.outputs() {
        let path = out.join(&output.path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, &output.text)?;
    }
    Ok(())
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn main() -> io::Result<()> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let out = std::env::temp_dir().join(format!("tenon-bench-{}", std::process::id()));
    let (files, _) = generate(&root, &out);
    let (mut ours, mut copies) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        fs::create_dir_all(&out)?;
        let start = Instant::now();
        let (generated, target) = generate(&root, &out);
        generated.write(&target, Edits::Refuse).expect("an empty folder");
        ours.push(start.elapsed().as_secs_f64() * 1e3);
        fs::remove_dir_all(&out)?;

        fs::create_dir_all(&out)?;
        let start = Instant::now();
        read_all(&root.join("spec"))?;
        write_all(&files, &out)?;
        copies.push(start.elapsed().as_secs_f64() * 1e3);
        fs::remove_dir_all(&out)?;
    }
    let bytes: usize = files.outputs().iter().map(|output| output.text.len()).sum();
    let (ours, copies) = (median(ours), median(copies));
    println!("a full regeneration, beside reading and writing the same files ({ROUNDS} rounds)\n");
    println!("{:<28} {:>10}", "", "ms");
    println!("{:<28} {ours:>10.1}", "regenerate");
    println!("{:<28} {copies:>10.1}", "read and write only");
    println!("{:<28} {:>10.1}", "thinking", ours - copies);
    println!("\n{} outputs, {} KiB", files.outputs().len(), bytes / 1024);
    Ok(())
}
