//! Manifests, and the folders in which plugins are found.

mod common;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use common::{compile, folder, refusal};
use tenon::device::Release;
use tenon_loader::{Candidate, LoadError, LoadOptions, Manifest, Plugin, Recognition, search_in};

/// Its release cannot be detected.
const UNKNOWN: [&str; 3] = ["CHECK_NONE", "CLEAR_NOTHING", "FILL_MOVED"];
const KNOWN: [&str; 2] = ["CHECK_UPSTREAM", "CLEAR_OWN"];

fn write(path: &Path, text: &str) {
    fs::write(path, text).expect("the folder for tests can be written");
}

fn search(paths: &[&Path]) -> Vec<Candidate> {
    let paths: OsString = std::env::join_paths(paths).expect("no path has a colon");
    search_in(&paths, &LoadOptions::default())
}

fn names(candidates: &[Candidate]) -> Vec<String> {
    let name = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
    candidates.iter().filter_map(|candidate| name(&candidate.path)).collect()
}

#[test]
fn a_manifest_says_what_the_library_does_not() {
    let folder = folder("manifest");
    fs::create_dir(folder.join("lib")).expect("the folder for tests can be written");
    compile(&folder.join("lib/npu.so"), Release::V3_0, &UNKNOWN);
    let path = folder.join("npu.json");
    write(
        &path,
        r#"{ "tenon_manifest": 1, "library": "lib/npu.so", "name": "vendor-npu", "release": "3.0",
             "description": "An NPU" }"#,
    );
    let manifest = Manifest::read(&path).expect("the manifest is right");
    assert_eq!(manifest.library, folder.join("lib/npu.so"));
    assert_eq!(manifest.description.as_deref(), Some("An NPU"));
    assert!(!manifest.lazy);

    let plugin = Plugin::load(&path, &LoadOptions::default()).expect("the manifest states the release");
    assert_eq!((plugin.name(), plugin.release()), ("vendor-npu", Some(Release::V3_0)));
    assert!(matches!(plugin.recognised_by(), Recognition::Declared { .. }));
    drop(plugin);
    let options = LoadOptions { name: Some("mine".into()), ..common::declared(Release::V3_3) };
    let plugin = Plugin::load(&path, &options).expect("what the caller states goes first");
    assert_eq!((plugin.name(), plugin.release()), ("mine", Some(Release::V3_3)));
}

#[test]
fn a_manifest_that_contradicts_the_library_is_refused() {
    let folder = folder("contradiction");
    compile(&folder.join("npu.so"), Release::V3_0, &KNOWN);
    let path = folder.join("npu.json");
    write(&path, r#"{ "tenon_manifest": 1, "library": "npu.so", "release": "3.3" }"#);
    let (error, text) = refusal(Plugin::load(&path, &LoadOptions::default()));
    assert!(matches!(error, LoadError::Contradicted { .. }), "{text}");
}

#[test]
fn a_wrong_manifest_says_what_is_wrong() {
    let folder = folder("wrong-manifests");
    for (index, (text, words)) in [
        ("", "EOF"),
        ("{ \"tenon_manifest\": 1,\n \"libary\": \"x.so\" }", "unknown field `libary`"),
        ("{ \"tenon_manifest\": 1,\n \"libary\": \"x.so\" }", "line 2"),
        (r#"{ "library": "x.so" }"#, "missing field `tenon_manifest`"),
        (r#"{ "tenon_manifest": 1 }"#, "missing field `library`"),
        (r#"{ "tenon_manifest": 2, "library": "x.so", "new": true }"#, "format 2"),
        (r#"{ "tenon_manifest": 1, "library": "" }"#, "`library` is empty"),
        (r#"{ "tenon_manifest": 1, "library": "x.so", "name": "" }"#, "`name` is empty"),
        (r#"{ "tenon_manifest": 1, "library": "wrong.json" }"#, "another manifest"),
        (r#"{ "tenon_manifest": 1, "library": "x.so", "release": "3.4" }"#, "2.6, 3.0, 3.1, 3.2, 3.3"),
        (r#"{ "tenon_manifest": 1, "library": "x.so", "release": 3.1 }"#, "expected a string"),
        (r#"{ "tenon_manifest": 1, "library": "x.so", "library": "y.so" }"#, "duplicate field `library`"),
        (r#"[1, 2]"#, "line 1"),
    ]
    .into_iter()
    .enumerate()
    {
        let path = folder.join(format!("{index}.json"));
        write(&path, text);
        let (error, message) = refusal(Plugin::load(&path, &LoadOptions::default()));
        assert!(matches!(error, LoadError::Manifest { .. }), "{message}");
        assert!(message.contains(words), "`{words}` is not in: {message}");
    }
    let path = folder.join("missing-library.json");
    write(&path, r#"{ "tenon_manifest": 1, "library": "missing.so" }"#);
    let (error, text) = refusal(Plugin::load(&path, &LoadOptions::default()));
    assert!(matches!(error, LoadError::NotFound { .. }), "{text}");
    assert!(text.contains("missing.so"), "{text}");
}

#[test]
fn only_a_regular_file_of_some_size_is_read_as_a_manifest() {
    let folder = folder("odd-manifests");
    let fifo = folder.join("fifo.json");
    tenon_testing::make_pipe(&fifo);
    std::os::unix::fs::symlink("/dev/zero", folder.join("endless.json")).expect("a link can be made");
    write(&folder.join("long.json"), &format!("{{ \"tenon_manifest\": 1{} }}", " ".repeat(1 << 20)));

    let found = search(&[&folder]);
    assert_eq!(names(&found), ["endless.json", "fifo.json", "long.json"]);
    let text =
        |index: usize| found[index].outcome.as_ref().err().map(ToString::to_string).unwrap_or_default();
    assert!(matches!(found[0].outcome, Err(LoadError::NotAFile { .. })), "{}", text(0));
    assert!(matches!(found[1].outcome, Err(LoadError::NotAFile { .. })), "{}", text(1));
    assert!(text(2).ends_with("it has more than 65536 bytes"), "{}", text(2));
}

#[test]
fn a_folder_is_searched_in_the_order_of_names() {
    let folder = folder("searched");
    compile(&folder.join("b-good.so"), Release::V3_1, &KNOWN);
    compile(&folder.join("c-unknown.so"), Release::V3_2, &UNKNOWN);
    compile(&folder.join("d-named.so"), Release::V3_3, &UNKNOWN);
    compile(&folder.join("e-lacking.so"), Release::V3_3, &["CHECK_BOTH", "CLEAR_OWN", "LEAVE_OUT_EVENTS"]);
    write(&folder.join("z.json"), r#"{ "tenon_manifest": 1, "library": "./d-named.so", "release": "3.3" }"#);
    write(&folder.join("a-broken.json"), "{");
    write(&folder.join("f-words.so"), "words");
    write(&folder.join(".hidden.so"), "words");
    write(&folder.join("readme.txt"), "words");
    fs::create_dir(folder.join("g-folder.so")).expect("the folder for tests can be written");

    let found = search(&[&folder]);
    assert_eq!(
        names(&found),
        ["a-broken.json", "b-good.so", "c-unknown.so", "e-lacking.so", "f-words.so", "z.json"]
    );
    let outcome = |index: usize| &found[index].outcome;
    assert!(matches!(outcome(0), Err(LoadError::Manifest { .. })));
    assert!(outcome(1).as_ref().is_ok_and(|plugin| plugin.release() == Some(Release::V3_1)));
    assert!(matches!(outcome(2), Err(LoadError::UnknownRelease { .. })));
    assert!(matches!(outcome(3), Err(LoadError::MissingRequired { .. })));
    assert!(matches!(outcome(4), Err(LoadError::Open { .. })));
    assert!(outcome(5).as_ref().is_ok_and(|plugin| plugin.release() == Some(Release::V3_3)));
    assert!(outcome(5).as_ref().is_ok_and(|plugin| plugin.name() == "d-named"));
}

#[test]
fn a_path_is_searched_in_its_order_and_each_library_once() {
    let [first, second] = ["path-first", "path-second"].map(folder);
    compile(&first.join("z.so"), Release::V3_1, &KNOWN);
    compile(&second.join("a.so"), Release::V2_6, &KNOWN);
    let missing = second.join("missing");
    std::os::unix::fs::symlink(first.join("z.so"), second.join("again.so")).expect("a link can be made");
    let found = search(&[&missing, &first, Path::new(""), &second, &first.join("z.so")]);
    assert_eq!(names(&found), ["missing", "z.so", "a.so"]);
    assert!(matches!(found[0].outcome, Err(LoadError::NotFound { .. })));
    assert!(found[1].outcome.is_ok() && found[2].outcome.is_ok());
}
