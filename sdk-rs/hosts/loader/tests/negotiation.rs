//! Plugins of every release, with every kind of check that is seen in the wild, in one process.

mod common;

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use common::{compile, compile_with, declared, folder, load, number, refusal, root};
use tenon::DevicePtr;
use tenon::device::{DeviceId, Function, Release};
use tenon_loader::{Availability, Clearing, LoadError, LoadOptions, Plugin, Recognition};

const EVERYTHING: [&str; 2] = ["FILL_MOVED", "FILL_PROFILER"];

/// Calls functions whose slot or signature differs in other releases.
fn works(plugin: &Plugin, release: Release) {
    assert_eq!(plugin.release(), Some(release), "{}", plugin.recognised_by());
    assert_eq!(plugin.device_type().to_str(), Ok(&*format!("device_{}", number(release))));
    let device = plugin.partial();
    let version = device.get_runtime_version(DeviceId(7)).expect("the function is filled");
    let id = if release >= Release::V3_1 { 7 } else { 0 };
    assert_eq!(version, number(release) * 100 + id);
    assert_eq!(device.xccl_get_unique_id_size().expect("the function is filled"), number(release));
    copies(plugin);
    assert_eq!(
        device.get_device_count().expect("the count is there"),
        1,
        "the table was filled more than once"
    );
}

fn copies(plugin: &Plugin) {
    let device = plugin.device();
    let id = DeviceId(0);
    let there: DevicePtr = device.device_memory_allocate(id, 5).expect("there is memory");
    device.memory_copy_h2d(id, there, b"tenon").expect("the copy works");
    let mut back = [0; 5];
    device.memory_copy_d2h(id, &mut back, there).expect("the copy works");
    device.device_memory_deallocate(id, there, 5).expect("the memory goes");
    assert_eq!(&back, b"tenon");
}

/// Returns the five releases, loaded at once and then called; how each was recognised.
fn all_five(test: &str, flags: &[&str]) -> Vec<Recognition> {
    let flags: Vec<&str> = flags.iter().chain(&["FILL_MOVED"]).copied().collect();
    let plugins = Release::ALL.map(|release| {
        let outcome = load(&format!("{test}-{}", release.name()), release, &flags, &LoadOptions::default());
        (outcome.unwrap_or_else(|error| panic!("{error}")), release)
    });
    for (plugin, release) in &plugins {
        works(plugin, *release);
    }
    plugins.iter().map(|(plugin, _)| plugin.recognised_by().clone()).collect()
}

#[test]
fn plugins_that_compare_both_sizes() {
    let found = all_five("both", &["CHECK_BOTH", "CLEAR_OWN"]);
    assert!(found.iter().all(|found| *found == Recognition::BothSizes), "{found:?}");
}

#[test]
fn plugins_that_promise_to_compare_both_sizes() {
    let found = all_five("promised", &["CHECK_BOTH", "CLEAR_OWN", "PROMISES"]);
    assert!(found.iter().all(|found| *found == Recognition::Promised), "{found:?}");
}

#[test]
fn plugins_that_use_the_upstream_macro() {
    for clear in ["CLEAR_OWN", "CLEAR_STATED", "CLEAR_NOTHING"] {
        let found = all_five(&format!("upstream-{clear}"), &["CHECK_UPSTREAM", clear]);
        assert!(found.iter().all(|found| *found == Recognition::TableSize), "{found:?}");
    }
}

#[test]
fn plugins_that_look_at_the_table_alone() {
    let found = all_five("table", &["CHECK_TABLE", "CLEAR_NOTHING"]);
    assert!(found.iter().all(|found| *found == Recognition::TableSize), "{found:?}");
}

#[test]
fn plugins_that_look_at_no_table_and_clear_it() {
    for check in ["CHECK_PARAMS", "CHECK_PARAMS_AT_LEAST", "CHECK_NONE", "CHECK_TABLE_AT_LEAST"] {
        for clear in ["CLEAR_OWN", "CLEAR_COPY"] {
            for found in all_five(&format!("{check}-{clear}"), &[check, clear]) {
                let Recognition::Evidence(evidence) = found else { panic!("{check} {clear}: {found:?}") };
                assert_eq!(evidence.clearing, Clearing::Own);
                assert_eq!(evidence.stated.is_some(), clear == "CLEAR_COPY");
                assert_eq!(evidence.params.is_some(), check == "CHECK_PARAMS");
            }
        }
    }
}

#[test]
fn plugins_that_look_at_nothing_and_show_themselves_by_what_they_fill() {
    for clear in ["CLEAR_NOTHING", "CLEAR_STATED"] {
        for found in all_five(&format!("shown-{clear}"), &["CHECK_NONE", clear, "FILL_PROFILER"]) {
            let Recognition::Evidence(evidence) = found else { panic!("{clear}: {found:?}") };
            assert_eq!(evidence.clearing == Clearing::Stated, clear == "CLEAR_STATED");
            assert_eq!(evidence.pointers, 13 + 2 + 6);
        }
    }
}

#[test]
fn plugins_that_look_at_nothing_and_state_their_size() {
    for found in all_five("stated", &["CHECK_NONE", "CLEAR_NOTHING", "STATES_SIZE"]) {
        let Recognition::Evidence(evidence) = found else { panic!("{found:?}") };
        assert!(evidence.stated.is_some());
    }
}

#[test]
fn a_plugin_that_cannot_be_known_is_asked_for() {
    for (clear, candidates) in [
        // The two slots may be functions of 2.6, 3.0, 3.2 or 3.3.
        ("CLEAR_NOTHING", [Release::V2_6, Release::V3_0, Release::V3_2, Release::V3_3]),
        ("CLEAR_STATED", [Release::V2_6, Release::V3_0, Release::V3_2, Release::V3_3]),
    ] {
        let test = format!("unknown-{clear}");
        let flags = ["CHECK_NONE", clear, "FILL_MOVED"];
        let (error, text) = refusal(load(&test, Release::V2_6, &flags, &LoadOptions::default()));
        let LoadError::UnknownRelease { candidates: found, .. } = error else { panic!("{text}") };
        assert_eq!(found, candidates);
        for word in ["2.6, 3.0, 3.2 or 3.3", "tenon_manifest", "plugin_26.so", "15 pointers"] {
            assert!(text.contains(word), "`{word}` is not in: {text}");
        }
        let plugin = load(&test, Release::V2_6, &flags, &declared(Release::V2_6)).expect("it is declared");
        assert!(matches!(plugin.recognised_by(), Recognition::Declared { .. }), "{}", plugin.recognised_by());
        works(&plugin, Release::V2_6);
    }
}

#[test]
fn what_means_the_same_in_all_releases_needs_no_answer() {
    for release in Release::ALL {
        let flags = ["CHECK_NONE", "CLEAR_NOTHING"];
        let plugin = load(&format!("same-{}", release.name()), release, &flags, &LoadOptions::default())
            .expect("all that it fills is the same everywhere");
        let Recognition::Indifferent { candidates, .. } = plugin.recognised_by() else {
            panic!("{}", plugin.recognised_by())
        };
        assert_eq!(*candidates, Release::ALL);
        let native = plugin.functions().filter(|(_, found)| matches!(found, Availability::Native));
        assert_eq!(native.count(), 13, "what it left alone counts as absent");
        copies(&plugin);
    }
}

/// The same slots, with other parameters before 3.1.
#[test]
fn a_signature_that_changed_is_a_difference() {
    let flags = ["CHECK_NONE", "CLEAR_NOTHING", "FILL_CAPABILITY"];
    let (error, text) = refusal(load("signature", Release::V3_0, &flags, &LoadOptions::default()));
    assert!(matches!(error, LoadError::UnknownRelease { .. }), "{text}");
    let flags = ["CHECK_PARAMS", "CLEAR_NOTHING", "FILL_CAPABILITY"];
    let plugin = load("signature", Release::V2_6, &flags, &LoadOptions::default());
    assert_eq!(plugin.expect("the params are 2.6's alone").release(), Some(Release::V2_6));
}

#[test]
fn a_wrong_declaration_is_refused() {
    for (flags, why) in [
        (["CHECK_BOTH", "CLEAR_OWN"], "declines that release's sizes"),
        (["CHECK_UPSTREAM", "CLEAR_NOTHING"], "accepts the table of another release"),
        (["CHECK_TABLE", "CLEAR_NOTHING"], "accepts the table of another release"),
        (["CHECK_PARAMS", "CLEAR_OWN"], "the first 976 bytes"),
        (["CHECK_NONE", "CLEAR_OWN"], "the first 976 bytes"),
        (["CHECK_NONE", "CLEAR_NOTHING"], "cleared nothing"),
    ] {
        let flags: Vec<&str> = flags.iter().chain(&EVERYTHING).copied().collect();
        for wrong in [Release::V2_6, Release::V3_0, Release::V3_2, Release::V3_3] {
            let test = format!("wrong-{}-{}", flags[0], wrong.name());
            let (error, text) = refusal(load(&test, Release::V3_1, &flags, &declared(wrong)));
            let LoadError::Contradicted { found, .. } = error else { panic!("{flags:?}: {text}") };
            assert_eq!(found, [Release::V3_1], "{text}");
            assert!(text.contains(why), "{text}");
        }
        let right = load(&format!("right-{}", flags[0]), Release::V3_1, &flags, &declared(Release::V3_1));
        works(&right.unwrap_or_else(|error| panic!("{flags:?}: {error}")), Release::V3_1);
    }
}

/// Returns the example in C, which serves every release by the size of the table.
fn example(test: &str) -> PathBuf {
    let path = folder(test).join("libc_plugin.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-shared", "-fPIC", "-I"]).arg(root().join("sdk-c/include"));
    compiler.arg("-o").arg(&path).arg(root().join("examples/c-plugin/plugin.c"));
    common::run(compiler);
    path
}

#[test]
fn one_that_serves_every_release_takes_the_declared_one() {
    let path = example("example");
    let mut plugin = Plugin::load(&path, &LoadOptions::default()).expect("the example loads");
    assert_eq!(plugin.release(), Some(Release::V3_3));
    for release in Release::ALL {
        drop(plugin);
        plugin = Plugin::load(&path, &declared(release)).expect("the example serves every release");
        assert_eq!(plugin.release(), Some(release));
        assert!(matches!(plugin.availability(Function::AsyncMemoryFill), Availability::Native));
        copies(&plugin);
    }
}

#[test]
fn a_preference_is_followed_where_there_is_a_choice() {
    let options = LoadOptions { preferred: Some(Release::V3_0), ..LoadOptions::default() };
    let path = example("preferred");
    let plugin = Plugin::load(&path, &options).expect("the example serves every release");
    assert_eq!(plugin.release(), Some(Release::V3_0));
    let same = load("preferred-same", Release::V3_1, &["CHECK_NONE", "CLEAR_NOTHING"], &options);
    assert_eq!(same.expect("all that it fills is the same everywhere").release(), Some(Release::V3_0));
    for check in ["CHECK_BOTH", "CHECK_UPSTREAM", "CHECK_PARAMS", "CHECK_NONE"] {
        let flags = [check, "CLEAR_OWN", "FILL_MOVED"];
        let plugin = load(&format!("preferred-{check}"), Release::V3_1, &flags, &options);
        works(&plugin.unwrap_or_else(|error| panic!("{check}: {error}")), Release::V3_1);
    }
    let unknown =
        load("preferred-unknown", Release::V2_6, &["CHECK_NONE", "CLEAR_NOTHING", "FILL_MOVED"], &options);
    let (error, text) = refusal(unknown);
    assert!(matches!(error, LoadError::UnknownRelease { .. }), "a wish tells nothing: {text}");
}

#[test]
fn what_is_newer_than_all_is_said_to_be() {
    let newest = Release::NEWEST;
    let flags = ["CHECK_NONE", "CLEAR_OWN", "TOO_FAR"];
    let (error, text) = refusal(load("newer", newest, &flags, &LoadOptions::default()));
    assert!(
        matches!(error, LoadError::Newer { bytes, known, .. } if bytes > known && known == newest.table_size()),
        "{text}"
    );
    let flags = ["CHECK_BOTH", "CLEAR_OWN", "PAST_THE_PARAMS"];
    let (error, text) = refusal(load("newer-params", newest, &flags, &LoadOptions::default()));
    assert!(
        matches!(error, LoadError::Newer { bytes, known, .. } if bytes > known && known == newest.params_size()),
        "{text}"
    );
    let flags = ["CHECK_UNKNOWN", "CLEAR_OWN"];
    let (error, text) = refusal(load("newer-check", newest, &flags, &LoadOptions::default()));
    assert!(
        matches!(&error, LoadError::Declined { offered, wrote: false, .. } if offered.len() == Release::ALL.len()),
        "{text}"
    );
    let names: Vec<&str> = Release::ALL.iter().rev().map(|release| release.name()).collect();
    let (oldest, newer) = names.split_last().expect("there is a release");
    assert!(text.contains(&format!("{} or {oldest}", newer.join(", "))), "{text}");
}

#[test]
fn one_that_writes_past_the_table_that_it_accepted_is_found() {
    for check in ["CHECK_BOTH", "CHECK_TABLE"] {
        let flags = [check, "CLEAR_OWN", "TOO_FAR"];
        let (error, text) =
            refusal(load(&format!("past-{check}"), Release::V3_0, &flags, &LoadOptions::default()));
        assert!(matches!(error, LoadError::PastTheEnd { release: Release::V3_0, bytes: 952, .. }), "{text}");
    }
}

#[test]
fn a_table_of_its_own_is_refused() {
    let flags = ["CHECK_BOTH", "CLEAR_OWN", "OWN_TABLE"];
    let (error, text) = refusal(load("own", Release::V3_3, &flags, &LoadOptions::default()));
    assert!(matches!(error, LoadError::ReplacedTable { .. }), "{text}");
}

/// A dependency of a library declares a release only for itself.
#[test]
fn the_promise_of_another_library_is_not_taken() {
    let folder = folder("others-promise");
    let other = folder.join("libother.so");
    compile(&other, Release::V3_3, &["NO_ENTRY", "PROMISES", "TELLS"]);
    let path = folder.join("plugin.so");
    let flags = ["CHECK_UPSTREAM", "CLEAR_OWN", "FILL_MOVED"];
    compile_with(&path, Release::V3_0, &flags, Some(&other));
    let plugin = Plugin::load(&path, &LoadOptions::default()).expect("it shows its release");
    assert_eq!(*plugin.recognised_by(), Recognition::TableSize);
    works(&plugin, Release::V3_0);
    let error = plugin.partial().set_device(DeviceId(-1)).expect_err("there is no such device");
    assert!(!error.message.contains("fan"), "{error}");
}

#[test]
fn a_library_is_asked_once() {
    let path = folder("once").join("plugin.so");
    compile(&path, Release::V3_1, &["CHECK_NONE", "CLEAR_OWN", "FILL_MOVED"]);
    let plugins: Vec<Arc<Plugin>> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..8).map(|_| scope.spawn(|| Plugin::load(&path, &LoadOptions::default()))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no thread panics").expect("it loads"))
            .collect()
    });
    assert!(plugins.iter().all(|plugin| Arc::ptr_eq(plugin, &plugins[0])));
    works(&plugins[0], Release::V3_1);
    let (error, text) = refusal(Plugin::load(&path, &declared(Release::V3_3)));
    assert!(matches!(error, LoadError::LoadedOtherwise { loaded: Release::V3_1, .. }), "{text}");
}
