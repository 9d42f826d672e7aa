//! Random runs of the generator beside foreign files: no foreign byte, file, link or folder ever changes, and
//! former outputs are removed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use codegen::emit::{Inputs, emit};
use codegen::out::{Edits, FileMap, Target};
use codegen::source::Folder;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

use super::project::{collect, copy};
use crate::data;
use crate::random::rounds;

/// Two specs that write to the same root. Each is a separate project.
const SPECS: [&str; 2] = ["first", "second"];

/// Places of foreign files: beside outputs, at the paths of outputs, and at the paths of their folders.
const PLACES: [&str; 16] = [
    "include/board.h",
    "include/kit.h",
    "include/mine.h",
    "include/.board.h.codegen-new",
    "include",
    "out",
    "out/deep/board.h",
    "reference/index.md",
    "reference/mine.md",
    "reference/board",
    "schema",
    "rust/board.rs",
    "rust",
    ".codegen/mine.txt",
    "board.h",
    "first/board.h",
];

/// Places of foreign links.
const LINKS: [&str; 6] = ["include", "out", "reference", "rust", "include/board.h", "docs"];

/// The outputs that a spec asks for.
#[derive(Clone, Debug)]
struct Settings {
    header: Option<&'static str>,
    reference: Option<&'static str>,
    schema: Option<&'static str>,
    rust: Option<&'static str>,
    both_interfaces: bool,
    kit_header: &'static str,
}

#[derive(Clone, Debug)]
enum Step {
    /// A run of one of the specs.
    Run { spec: usize, settings: Settings, edits: Edits },
    /// A user writes a file.
    Write { place: &'static str, text: u8 },
    /// A user changes an output.
    Edit(usize),
    /// A user removes an output.
    Remove(usize),
    /// A user creates a folder.
    Folder(&'static str),
    /// A user creates a link.
    Link { place: &'static str, to: &'static str },
}

fn settings() -> impl Strategy<Value = Settings> {
    let header = select(vec![
        None,
        Some("include"),
        Some("include"),
        Some("./out//deep/"),
        Some("Include"),
        Some("."),
        Some("first"),
        Some("../outside"),
    ]);
    let reference = select(vec![
        None,
        None,
        Some("reference"),
        Some("reference"),
        Some("docs/x/../pages"),
        Some("."),
        Some("include"),
    ]);
    let schema =
        select(vec![None, None, Some("schema"), Some("schema"), Some("docs"), Some("reference/schema")]);
    let rust = select(vec![None, None, Some("rust"), Some("rust"), Some("out"), Some("/tmp")]);
    let kit_header = select(vec!["kit.h", "kit.h", "Kit.h", "deep/kit.h", "board.h"]);
    (header, reference, schema, rust, any::<bool>(), kit_header).prop_map(
        |(header, reference, schema, rust, both_interfaces, kit_header)| Settings {
            header,
            reference,
            schema,
            rust,
            both_interfaces,
            kit_header,
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let place = || select(PLACES.to_vec());
    let edits = select(vec![Edits::Refuse, Edits::Replace]);
    prop_oneof![
        8 => (0..SPECS.len(), settings(), edits)
            .prop_map(|(spec, settings, edits)| Step::Run { spec, settings, edits }),
        3 => (place(), any::<u8>()).prop_map(|(place, text)| Step::Write { place, text }),
        1 => any::<usize>().prop_map(Step::Edit),
        1 => any::<usize>().prop_map(Step::Remove),
        1 => place().prop_map(Step::Folder),
        2 => (select(LINKS.to_vec()), select(vec!["outside", "outside", "root/out", "root/include/mine.h", "nowhere"]))
            .prop_map(|(place, to)| Step::Link { place, to }),
    ]
}

/// Everything below a folder: files with their bytes, links with their targets, empty folders.
type Tree = BTreeMap<String, Vec<u8>>;

/// A folder with outputs and foreign files, and a folder beside it that no run may touch.
struct World {
    folder: PathBuf,
    /// For each spec, the real paths of the outputs of its last run.
    owned: [Tree; 2],
    /// Runs that wrote their outputs.
    done: usize,
}

impl World {
    fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("foreign/{number}"));
        if folder.exists() {
            fs::remove_dir_all(&folder).expect("the folder for tests can be written");
        }
        let base = data("bad/base");
        SPECS.iter().for_each(|spec| copy(&base, &folder.join("root").join(spec)));
        fs::create_dir_all(folder.join("outside/reference")).expect("the folder for tests can be written");
        fs::write(folder.join("outside/board.h"), "outside").expect("the folder for tests can be written");
        World { folder, owned: Default::default(), done: 0 }
    }

    fn root(&self) -> PathBuf {
        self.folder.join("root")
    }

    fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        collect(&self.folder, &self.folder, &mut tree);
        tree
    }

    /// Resolves the links in a path; a dangling link stays as it is.
    fn real(&self, path: &str) -> PathBuf {
        let path = self.folder.join(path);
        path.canonicalize().unwrap_or(path)
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Run { spec, settings, edits } => self.run(*spec, settings, *edits),
            // Ignores failures: a file may be in the place of a folder.
            Step::Write { place, text } => self.put(place, |path| fs::write(path, format!("mine {text}\n"))),
            Step::Folder(place) => self.put(place, |path| fs::create_dir(path)),
            Step::Link { place, to } => {
                let to = self.folder.join(to);
                self.put(place, |path| link(&to, path));
            }
            Step::Edit(index) => {
                if let Some(path) = self.output(*index) {
                    drop(fs::write(path, "edited\n"));
                }
            }
            Step::Remove(index) => {
                if let Some(path) = self.output(*index) {
                    drop(fs::remove_file(path));
                }
            }
        }
    }

    /// Acts on a place that is empty or has a file.
    fn put(&self, place: &str, make: impl Fn(&Path) -> std::io::Result<()>) {
        let path = self.root().join(place);
        let Some(folder) = path.parent() else { return };
        let is_link = |path: &Path| path.starts_with(self.root()) && path.is_symlink();
        if !path.ancestors().any(is_link) && fs::create_dir_all(folder).is_ok() {
            drop(make(&path));
        }
    }

    /// Selects an output by number, modulo their count; returns `None` if it is not a file.
    fn output(&self, index: usize) -> Option<PathBuf> {
        let paths: Vec<&String> = self.owned.iter().flat_map(Tree::keys).collect();
        let path = self.folder.join(paths.get(index % paths.len().max(1))?);
        path.symlink_metadata().is_ok_and(|data| data.is_file()).then_some(path)
    }

    /// Emits the outputs of a spec; returns `None` if the spec is refused.
    fn outputs(&self, spec: usize, settings: &Settings) -> Option<(FileMap, Target)> {
        let folder = self.root().join(SPECS[spec]);
        let mut text = format!("project: {}\nsummary: A spec.\n", SPECS[spec]);
        text.push_str(if settings.both_interfaces {
            "interfaces: [board, kit]\n"
        } else {
            "interfaces: [board]\n"
        });
        text.push_str("outputs:\n  python: python\n");
        let outputs = [
            ("header", settings.header),
            ("reference", settings.reference),
            ("schema", settings.schema),
            ("rust", settings.rust),
        ];
        for (key, folder) in outputs.iter().filter_map(|(key, folder)| Some((key, (*folder)?))) {
            text.push_str(&format!("  {key}: {folder}\n"));
        }
        fs::write(folder.join("spec.yaml"), text).expect("the folder for tests can be written");
        let kit = folder.join("kit/interface.yaml");
        let text = fs::read_to_string(&kit).expect("the spec is there");
        let lines = text.lines().map(|line| {
            if line.starts_with("header: ") {
                format!("header: {}\n", settings.kit_header)
            } else {
                format!("{line}\n")
            }
        });
        fs::write(&kit, lines.collect::<String>()).expect("the folder for tests can be written");

        let loaded = codegen::load(&Folder::new(&folder)).ok()?;
        let inputs =
            Inputs { loaded: &loaded, folder: SPECS[spec], summary: None, exports: None, last_run: None };
        let files = emit(&inputs).expect("a spec that keeps every rule can be emitted");
        Some((files, Target::new(&self.root(), &folder, &loaded.spec.project, &loaded.spec.command)))
    }

    fn run(&mut self, spec: usize, settings: &Settings, edits: Edits) {
        let Some((files, target)) = self.outputs(spec, settings) else { return };
        let before = self.tree();
        let manifest = format!("root/.codegen/{}.manifest", SPECS[spec]);
        if files.write(&target, edits).is_err() {
            assert_eq!(self.tree(), before, "a refused run changed something");
            return;
        }
        let after = self.tree();
        let owned = &self.owned[spec];
        let other = &self.owned[1 - spec];
        let paths: BTreeSet<&str> = files.outputs().iter().map(|output| &*output.path).collect();
        // A link may lead from an output's folder to another folder in the root.
        let real: BTreeSet<PathBuf> = paths.iter().map(|name| self.real(&format!("root/{name}"))).collect();
        for (path, bytes) in &before {
            let is_changed = owned.get(path).is_some_and(|text| text != bytes);
            let ours = owned.contains_key(path) && !other.contains_key(path);
            if ours && !is_changed && !real.contains(&self.real(path)) {
                assert!(!after.contains_key(path), "`{path}` is no output any more, and still there");
            }
            let may_change =
                ours && (!is_changed || edits == Edits::Replace && real.contains(&self.real(path)));
            if path.ends_with('/') {
                assert!(self.folder.join(path).is_dir(), "the folder `{path}` is gone");
            } else if !may_change && *path != manifest {
                assert!(after.get(path) == Some(bytes), "`{path}` is foreign and was changed");
            }
        }
        for path in after.keys().filter(|path| !before.contains_key(*path) && !path.ends_with('/')) {
            let is_output = real.contains(&self.real(path));
            assert!(is_output || *path == manifest, "`{path}` came out of nothing");
        }
        for output in files.outputs() {
            let text = fs::read(self.root().join(&output.path)).expect("each output is there");
            assert_eq!(text, output.text.as_bytes(), "`{}` was not written", output.path);
        }
        let differences = files.check(&target).expect("what was written can be read");
        assert!(differences.is_empty(), "{differences:#?}");
        let owned = files.outputs().iter().map(|output| {
            let real = self.real(&format!("root/{}", output.path));
            let path = real.strip_prefix(self.real("")).expect("links lead to the inside").to_string_lossy();
            (path.into_owned(), output.text.clone().into_bytes())
        });
        self.owned[spec] = owned.collect();
        self.done += 1;
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // The folder of a failed case is kept for inspection.
        if !std::thread::panicking() {
            drop(fs::remove_dir_all(&self.folder));
        }
    }
}

#[cfg(unix)]
fn link(to: &Path, path: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(to, path)
}

#[cfg(not(unix))]
fn link(_to: &Path, _path: &Path) -> std::io::Result<()> {
    Ok(())
}

#[test]
fn foreign_files_never_change() {
    let cases = 96 * u32::try_from(rounds()).expect("it is small");
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let done = AtomicUsize::new(0);
    let mut runner = TestRunner::new_with_rng(config, random);
    let run = runner.run(&proptest::collection::vec(step(), 1..16), |steps| {
        let mut world = World::new();
        steps.iter().for_each(|step| world.take(step));
        done.fetch_add(world.done, Ordering::Relaxed);
        Ok(())
    });
    if let Err(failure) = run {
        panic!("{failure}");
    }
    let done = done.into_inner();
    assert!(done > cases as usize, "only {done} runs wrote anything: the settings are refused too often");
}
