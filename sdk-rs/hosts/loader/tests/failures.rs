//! A plugin that cannot be loaded yields an error with the reason, and the process continues; what loads stays
//! as long as it is used.

mod common;

use std::path::Path;

use common::{compile, folder, load, refusal};
use tenon::device::{DeviceId, Function, Release};
use tenon_loader::{Binding, LoadError, LoadOptions, Plugin};

fn load_path(path: &Path) -> (LoadError, String) {
    refusal(Plugin::load(path, &LoadOptions::default()))
}

fn load_with(test: &str, flags: &[&str]) -> (LoadError, String) {
    let flags: Vec<&str> = ["CHECK_BOTH", "CLEAR_OWN"].iter().chain(flags).copied().collect();
    refusal(load(test, Release::V3_2, &flags, &LoadOptions::default()))
}

#[test]
fn what_a_host_needs_is_named() {
    let (error, text) = load_with("missing", &["LEAVE_OUT_EVENTS"]);
    let LoadError::MissingRequired { functions, .. } = error else { panic!("{text}") };
    let events =
        [Function::CreateEvent, Function::DestroyEvent, Function::RecordEvent, Function::SynchronizeEvent];
    assert_eq!(functions.len(), events.len(), "{text}");
    for function in events {
        assert!(functions.contains(&function), "{text}");
        assert!(text.contains(&format!("`{}`", function.name())), "{text}");
    }
}

#[test]
fn an_old_version_is_refused() {
    let (error, text) = load_with("version", &["OLD_VERSION"]);
    assert!(matches!(error, LoadError::Version { version: [0, 1, 0], .. }), "{text}");
}

#[test]
fn a_device_needs_a_type() {
    let (error, text) = load_with("null-type", &["NO_TYPE"]);
    assert!(matches!(error, LoadError::NoDeviceType { empty: false, .. }), "{text}");
    let path = folder("empty-type").join("plugin.so");
    compile(&path, Release::V3_2, &["CHECK_BOTH", "CLEAR_OWN", "EMPTY_TYPE"]);
    let (error, text) = load_path(&path);
    assert!(matches!(error, LoadError::NoDeviceType { empty: true, .. }), "{text}");
}

#[test]
fn device_type_with_control_characters_is_refused_and_escaped() {
    let (error, text) = load_with("coloured-type", &["COLOURED_TYPE"]);
    assert!(matches!(error, LoadError::BadDeviceType { .. }), "{text}");
    assert!(text.contains(r"`\u{1b}[31mnpu`") && !text.contains('\u{1b}'), "{text:?}");
}

#[test]
fn one_that_fills_nothing_has_declined() {
    let (error, text) = load_with("nothing", &["FILL_NOTHING"]);
    assert!(matches!(error, LoadError::Declined { wrote: true, .. }), "{text}");
}

#[test]
fn a_library_without_the_entry_point_is_no_plugin() {
    let (error, text) = load_with("no-entry", &["NO_ENTRY"]);
    assert!(matches!(error, LoadError::NoEntry { symbol: "InitPlugin", help: "", .. }), "{text}");
    for (function, part) in [
        ("CreateEpFactories", "it is a provider of ONNX Runtime, which `tenon check LIBRARY --onnxruntime"),
        ("diopiGetVendorName", "it is a library of operators for DIOPI"),
    ] {
        let (error, text) = load_with(function, &["NO_ENTRY", &format!("OTHER_ENTRY={function}")]);
        assert!(matches!(error, LoadError::NoEntry { .. }) && text.contains(part), "{text}");
    }
}

#[test]
fn what_is_no_library_is_refused() {
    let folder = folder("no-library");
    let missing = folder.join("missing.so");
    let (error, text) = load_path(&missing);
    assert!(matches!(error, LoadError::NotFound { .. }), "{text}");
    assert!(text.contains("missing.so"), "{text}");
    let (error, text) = load_path(&folder);
    assert!(matches!(error, LoadError::NotAFile { .. }), "{text}");
    let (error, text) = load_path(&folder.join("missing.so/plugin.so"));
    assert!(matches!(error, LoadError::NotFound { .. }), "{text}");

    let words = folder.join("words.so");
    std::fs::write(&words, "this is no library").expect("the folder for tests can be written");
    let (error, text) = load_path(&words);
    assert!(matches!(error, LoadError::Open { .. }), "{text}");

    let whole = folder.join("whole.so");
    compile(&whole, Release::V3_3, &["CHECK_BOTH", "CLEAR_OWN"]);
    let bytes = std::fs::read(&whole).expect("the plugin was just compiled");
    let half = bytes.len() / 2;
    for length in [0, 1, 63, 64, 500, 1000, 4096, half] {
        let truncated = folder.join(format!("truncated-{length}.so"));
        std::fs::write(&truncated, &bytes[..length]).expect("the folder for tests can be written");
        let (error, text) = load_path(&truncated);
        assert!(matches!(error, LoadError::Open { .. } | LoadError::Truncated { .. }), "{text}");
        assert_eq!(text.matches("truncated-").count(), 1, "{text}");
    }
    Plugin::load(&whole, &LoadOptions::default()).expect("the whole plugin loads");
}

#[test]
fn symbols_of_another_host_may_stay_open_if_asked() {
    let path = folder("lazy").join("plugin.so");
    compile(&path, Release::V3_3, &["CHECK_BOTH", "CLEAR_OWN", "CALLS_ANOTHER_HOST"]);
    let (error, text) = load_path(&path);
    assert!(matches!(error, LoadError::Open { .. }), "{text}");
    for word in ["only_another_host_has_this", "`lazy`"] {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
    let options = LoadOptions { binding: Binding::Later, ..LoadOptions::default() };
    Plugin::load(&path, &options).expect("nobody calls what is missing");
}

#[test]
fn the_plugin_says_itself_what_failed() {
    let flags = ["CHECK_BOTH", "CLEAR_OWN", "TELLS"];
    let plugin = load("tells", Release::V3_0, &flags, &LoadOptions::default()).expect("it loads");
    let error = plugin.partial().set_device(DeviceId(-1)).expect_err("there is no such device");
    assert_eq!(error.message, "the fan is stuck");
}

fn is_mapped(path: &Path) -> bool {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("the system tells what is mapped");
    maps.lines().any(|line| line.ends_with(&*path.to_string_lossy()))
}

#[test]
fn the_library_is_open_as_long_as_anything_uses_it() {
    let path = folder("open").join("plugin.so");
    compile(&path, Release::V3_0, &["CHECK_BOTH", "CLEAR_OWN"]);
    let plugin = Plugin::load(&path, &LoadOptions::default()).expect("it loads");
    let path = plugin.path().expect("it is not built in").to_owned();
    assert!(is_mapped(&path));
    let (partial, device) = (plugin.partial(), plugin.device());
    let layered = plugin.layered(Vec::new());
    drop(plugin);
    for rest in [device, layered] {
        rest.set_device(DeviceId(0)).expect("the library is open");
    }
    assert!(is_mapped(&path));
    partial.set_device(DeviceId(0)).expect("the library is open");
    drop(partial);
    assert!(!is_mapped(&path), "nobody uses it any more");
    Plugin::load(&path, &LoadOptions::default()).expect("it loads again");
}
